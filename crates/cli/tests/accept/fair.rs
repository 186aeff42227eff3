//! Point 4: tunnels and plain flows that share one link.

use super::path::{Path, lateness};
use super::report::{Bound, Report, Sample};
use ripstop_base::Seed;
use ripstop_link::{Discipline, Mark};
use ripstop_net::testbed::{Testbed, TwoWayLink};
use ripstop_net::workload::Route;
use ripstop_net::workload::bulk::{Bulk, PORT};
use ripstop_proto::control::rate::Mode;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::session::tunnel::TunnelConfig;
use std::time::Duration;

/// Start and end of the measured interval, counted from the start of all flows, s. Before the start, the flows find
/// their rates. With an end of half or double this value, the cells take half or double the time.
const INTERVAL: [u64; 2] = [6, 24];

/// The flows of a run.
#[derive(Clone, Copy, Debug)]
struct Flows {
    /// Number of tunnels, each with one CUBIC flow inside.
    tunnels: usize,
    /// Number of plain CUBIC flows.
    plain: usize,
    mode: Mode,
    /// Whether plain TCP negotiates ECN.
    ecn: bool,
}

/// The rates of the flows: tunnels first, then plain flows.
struct Rates {
    bps: Vec<f64>,
    late_s: f64,
}

const ONE_EACH: Flows = Flows { tunnels: 1, plain: 1, mode: Mode::Fair, ecn: false };

/// Measures all cells.
pub(crate) fn measure(report: &mut Report) -> Result<(), String> {
    beside_cubic(report)?;
    for tunnels in [2, 4] {
        let flows = Flows { tunnels, plain: 0, ..ONE_EACH };
        let samples = samples(report, &Path::usual(0.0).both(), flows, |rates| jain(&rates.bps))?;
        report.cell(&format!("Jain index of {tunnels} tunnels"), &samples, Bound::AtLeast(0.95));
    }
    scavenge(report)?;
    marked(report)
}

/// One tunnel beside one plain CUBIC flow.
fn beside_cubic(report: &mut Report) -> Result<(), String> {
    // What a CUBIC flow gets on average beside another one.
    let path = Path::usual(0.0);
    let two = Flows { tunnels: 0, plain: 2, ..ONE_EACH };
    let beside_cubic = median_of(&samples(report, &path.both(), two, |rates| rates.bps.iter().sum::<f64>() / 2.0)?);
    let wide = Bound::Within(0.35, 0.65);
    let discipline = |discipline| {
        let mut both = Path { queue: 4.0, ..path }.both();
        both.forth.queue_discipline = discipline;
        both
    };
    let cells: [(&str, TwoWayLink, Bound); 6] = [
        ("FIFO of 1 BDP", path.both(), Bound::Within(0.45, 0.55)),
        ("FIFO of 1/4 BDP", Path { queue: 0.25, ..path }.both(), wide),
        ("FIFO of 4 BDP", Path { queue: 4.0, ..path }.both(), wide),
        ("CoDel", discipline(Discipline::codel()), wide),
        ("PIE", discipline(Discipline::pie()), wide),
        ("FIFO of 1 BDP, 2 % loss", Path::usual(0.02).both(), wide),
    ];
    report.note(&format!("two plain CUBIC flows over a FIFO of 1 BDP get {:.2} Mbit/s each", 1e-6 * beside_cubic));
    for (name, link, bound) in cells {
        let mut plain = Vec::new();
        let shares = samples(report, &link, ONE_EACH, |rates| {
            plain.push(rates.bps[1]);
            rates.bps[0] / rates.bps.iter().sum::<f64>()
        })?;
        report.cell(&format!("share of the total beside CUBIC, {name}"), &shares, bound);
        report.note(&format!("harm to CUBIC: it keeps {:.2} Mbit/s", 1e-6 * super::report::median(&plain)));
    }
    Ok(())
}

/// A tunnel in the mode `scavenge`.
fn scavenge(report: &mut Report) -> Result<(), String> {
    let link = Path::usual(0.0).both();
    let flows = Flows { mode: Mode::Scavenge, ..ONE_EACH };
    let beside = samples(report, &link, flows, |rates| rates.bps[0] / rates.bps.iter().sum::<f64>())?;
    report.cell("share of the total of `scavenge` beside CUBIC", &beside, Bound::AtMost(0.03));
    let capacity = Path::usual(0.0).capacity_bps();
    let alone = samples(report, &link, Flows { plain: 0, ..flows }, |rates| rates.bps[0] / capacity)?;
    report.cell("share of the link of `scavenge` alone", &alone, Bound::AtLeast(0.90));
    Ok(())
}

/// Every ECN-capable packet is marked.
fn marked(report: &mut Report) -> Result<(), String> {
    let mut link = Path::usual(0.0).both();
    link.forth.mark = Some("100%".parse::<Mark>()?);
    let plain = Flows { tunnels: 0, plain: 1, ecn: true, ..ONE_EACH };
    let cubic = median_of(&samples(report, &link, plain, |rates| rates.bps[0])?);
    let tunnel = Flows { plain: 0, ..ONE_EACH };
    let ratio = samples(report, &link, tunnel, |rates| rates.bps[0] / cubic)?;
    report.cell("every datagram marked CE: rate over CUBIC's", &ratio, Bound::Within(0.9, 1.1));
    report.note(&format!("CUBIC with ECN keeps {:.3} Mbit/s", 1e-6 * cubic));
    Ok(())
}

/// A figure of each run.
fn samples(
    report: &Report,
    link: &TwoWayLink,
    flows: Flows,
    mut figure: impl FnMut(&Rates) -> f64,
) -> Result<Vec<Sample>, String> {
    report
        .seeds()
        .map(|seed| {
            let rates = run(link, flows, seed)?;
            Ok(Sample { value: figure(&rates), late_s: rates.late_s })
        })
        .collect()
}

/// Starts all flows at once, and measures their rates.
fn run(link: &TwoWayLink, flows: Flows, seed: u64) -> Result<Rates, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut testbed = Testbed::bare(link, Seed::new(seed), false).map_err(|error| text(&error))?;
    if flows.ecn {
        testbed.enable_tcp_ecn().map_err(|error| text(&error))?;
    }
    let mut routes: Vec<Route> = Vec::new();
    for _ in 0..flows.tunnels {
        let config = TunnelConfig { rate: RateMode::Adaptive(flows.mode), ..TunnelConfig::default() };
        let address = testbed.add_tunnel(config).map_err(|error| text(&error))?;
        routes.push(testbed.tunnel_route(address, "cubic"));
    }
    // The plain flows go to the same address, so they differ in their ports.
    routes.extend((0..flows.plain).map(|_| testbed.plain_route("cubic")));
    let limit = Duration::from_secs(INTERVAL[1]);
    let streams = routes
        .iter()
        .enumerate()
        .map(|(index, route)| {
            Bulk::start_on(route, PORT + index as u16, Seed::new(seed).child(&format!("flow/{index}")), limit)
        })
        .collect::<Result<Vec<Bulk>, _>>()
        .map_err(|error| text(&error))?;
    let received = || streams.iter().map(Bulk::received).collect::<Vec<u64>>();
    std::thread::sleep(Duration::from_secs(INTERVAL[0]));
    let first = received();
    std::thread::sleep(Duration::from_secs(INTERVAL[1] - INTERVAL[0]));
    let last = received();
    for stream in streams {
        stream.finish().map_err(|error| text(&error))?;
    }
    let snapshot = testbed.tear_down().map_err(|error| text(&error))?;
    let seconds = (INTERVAL[1] - INTERVAL[0]) as f64;
    let bps = first.iter().zip(&last).map(|(first, last)| 8.0 * (last - first) as f64 / seconds).collect();
    Ok(Rates { bps, late_s: lateness(&snapshot) })
}

/// Jain's index of fairness: 1 if all rates are equal, and 1/n if one flow has everything.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

fn median_of(samples: &[Sample]) -> f64 {
    super::report::median(&samples.iter().map(|sample| sample.value).collect::<Vec<f64>>())
}
