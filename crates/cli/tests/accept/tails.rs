//! Point 3: the 99th percentile of requests and replies of 100 bytes, at an RTT of 100 ms.

use super::path::{BBR_INSIDE, CUBIC_INSIDE, Path};
use super::report::{Bound, Report, Sample};
use ripstop_net::workload;

/// The number of requests in a run: 12 s. Half the number leaves one request above the 99th percentile. Double the
/// number adds two minutes.
const REQUESTS: usize = 240;
/// The length of the stream beside which requests are measured, s.
const SECONDS: u64 = 16;
/// The largest 99th percentile on the idle link, s.
const QUIET: f64 = 0.106;
/// The largest 99th percentile beside bulk, s.
const BESIDE: f64 = 0.130;

/// Measures all cells.
pub(crate) fn measure(report: &mut Report) -> Result<(), String> {
    let has_bbr = workload::check_congestion("bbr").is_ok();
    let carriages = if has_bbr { &[CUBIC_INSIDE, BBR_INSIDE][..] } else { &[CUBIC_INSIDE][..] };
    for carriage in carriages {
        for (name, loss) in [("1 %", 0.01), ("2 %", 0.02), ("5 %", 0.05), ("10 %", 0.10), ("20 %", 0.20)] {
            let seeds = report.seeds();
            let samples = seeds.map(|seed| Path::usual(loss).quiet_p99(*carriage, seed, REQUESTS));
            let samples = samples.collect::<Result<Vec<Sample>, String>>()?;
            report.cell(&format!("quiet p99, s, {}, {name}", carriage.name), &samples, Bound::AtMost(QUIET));
        }
        let seeds = report.seeds();
        let samples = seeds.map(|seed| Ok(Path::usual(0.05).bulk(*carriage, seed, SECONDS, REQUESTS)?.beside_p99));
        let samples = samples.collect::<Result<Vec<Sample>, String>>()?;
        report.cell(&format!("p99 beside bulk, s, {}, 5 %", carriage.name), &samples, Bound::AtMost(BESIDE));
    }
    Ok(())
}
