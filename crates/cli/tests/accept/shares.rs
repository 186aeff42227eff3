//! Points 1 and 2: the share of the link, the waste, and the first megabyte.

use super::path::{BBR_INSIDE, BulkFigures, CUBIC_INSIDE, PLAIN_BBR, Path};
use super::report::{Bound, Report, Sample};
use ripstop_net::testbed::Carriage;
use ripstop_net::workload;

/// A link, and the bounds of the tunnel on the link.
struct Cell {
    name: &'static str,
    path: Path,
    share: f64,
    /// The largest waste; None where no bound is set.
    waste: Option<f64>,
    /// The largest time of the first megabyte, s.
    first_1mb: Option<f64>,
    /// Whether BBR inside is measured too. It must reach the same share.
    bbr: bool,
}

/// The length of a bulk stream at 100 ms, s. Longer round trips have at least 120 RTT. Half the length doubles the
/// variance. Double the length adds four minutes.
const SECONDS: u64 = 14;

/// The least share of plain BBR without loss on an idle machine (it reaches .935).
const CONTROL: f64 = 0.85;

fn cells() -> Vec<Cell> {
    let usual = |name, loss, share, waste, first_1mb| Cell {
        name,
        path: Path::usual(loss),
        share,
        waste: Some(waste),
        first_1mb,
        bbr: true,
    };
    let long = |name, loss, bbr| Cell {
        name,
        path: Path::new(20_000_000, 600, loss),
        share: 0.87,
        waste: Some(1.02),
        first_1mb: None,
        bbr,
    };
    let slow = |name, loss, share| Cell {
        name,
        path: Path::new(2_000_000, 800, loss),
        share,
        waste: None,
        first_1mb: None,
        bbr: false,
    };
    vec![
        usual("0 %", 0.0, 0.90, 1.02, None),
        usual("1 %", 0.01, 0.90, 1.02, None),
        usual("2 %", 0.02, 0.90, 1.02, None),
        usual("5 %", 0.05, 0.90, 1.02, Some(1.0)),
        usual("10 %", 0.10, 0.90, 1.02, None),
        usual("20 %", 0.20, 0.885, 1.03, None),
        usual("30 %", 0.30, 0.87, 1.03, None),
        long("600 ms, 0 %", 0.0, false),
        long("600 ms, 5 %", 0.05, true),
        long("600 ms, 10 %", 0.10, false),
        slow("2 Mbit/s, 800 ms, 6 %", 0.06, 0.86),
        slow("2 Mbit/s, 800 ms, 10 %", 0.10, 0.86),
        slow("2 Mbit/s, 800 ms, 18.5 %", 0.185, 0.82),
        Cell {
            name: "50 Mbit/s, 30 ms, 5 % in bursts of 4",
            path: Path { burst: 4.0, ..Path::new(50_000_000, 30, 0.05) },
            share: 0.86,
            waste: Some(1.02),
            first_1mb: None,
            bbr: true,
        },
    ]
}

/// Measures all cells.
pub(crate) fn measure(report: &mut Report) -> Result<(), String> {
    let has_bbr = workload::check_congestion("bbr").is_ok();
    if has_bbr {
        let control = runs(report, &Path::usual(0.0), PLAIN_BBR)?;
        let shares: Vec<Sample> = control.iter().map(|figures| figures.share).collect();
        report.cell("control: share of plain BBR, 0 %", &shares, Bound::AtLeast(CONTROL));
    } else {
        report.note("this kernel has no BBR: cells with BBR are left out");
    }
    for cell in cells() {
        let carriages = [CUBIC_INSIDE, BBR_INSIDE];
        for carriage in carriages.into_iter().take(if cell.bbr && has_bbr { 2 } else { 1 }) {
            let figures = runs(report, &cell.path, carriage)?;
            let samples = |figure: fn(&BulkFigures) -> Sample| figures.iter().map(figure).collect::<Vec<Sample>>();
            let name = |what| format!("{what}, {}, {}", carriage.name, cell.name);
            report.cell(&name("share"), &samples(|f| f.share), Bound::AtLeast(cell.share));
            if let Some(most) = cell.waste {
                report.cell(&name("waste"), &samples(|f| f.waste), Bound::AtMost(most));
            }
            if let Some(most) = cell.first_1mb {
                report.cell(&name("first megabyte, s"), &samples(|f| f.first_1mb), Bound::AtMost(most));
            }
        }
    }
    Ok(())
}

fn runs(report: &Report, path: &Path, carriage: Carriage<'_>) -> Result<Vec<BulkFigures>, String> {
    report.seeds().map(|seed| path.bulk(carriage, seed, SECONDS, 0)).collect()
}
