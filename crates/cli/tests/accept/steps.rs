//! Point 5: steps of the loss and of the rate. The bound is 95 % of the share that point 1 asks for (.90), measured
//! from 3 s + 10 RTT after the step to the next step.

use super::path::{Path, lateness};
use super::report::{Bound, Report, Sample};
use ripstop_base::{Fraction, Rate, Seed, Span};
use ripstop_link::{Change, Loss};
use ripstop_net::testbed::{Testbed, TwoWayLink};
use ripstop_net::workload::bulk::Bulk;
use ripstop_proto::session::tunnel::TunnelConfig;
use std::time::Duration;

/// Time from one step to the next, s. The first step comes after one such time. Double the value doubles the time of
/// the cells. Half the value leaves 3 s in which the goodput is measured.
const PHASE: f64 = 14.0;
/// Time after a step from which the goodput counts, s: 3 s + 10 RTT.
const SETTLED: f64 = 4.0;
/// The least share: 95 % of .90.
const SHARE: f64 = 0.855;

/// The settings of the link in one phase.
#[derive(Clone, Copy, Debug)]
struct Phase {
    name: &'static str,
    rate_bps: u64,
    loss: f64,
}

/// Measures all cells.
pub(crate) fn measure(report: &mut Report) -> Result<(), String> {
    let loss = |name, loss| Phase { name, rate_bps: 20_000_000, loss };
    let losses = [loss("0 %", 0.0), loss("0 -> 2 %", 0.02), loss("2 -> 10 %", 0.10), loss("10 -> 1 %", 0.01)];
    steps(report, "loss", &losses)?;
    let rate = |name, rate_bps| Phase { name, rate_bps, loss: 0.0 };
    let rates = [rate("20 Mbit/s", 20_000_000), rate("20 -> 5 Mbit/s", 5_000_000), rate("5 -> 20 Mbit/s", 20_000_000)];
    steps(report, "rate", &rates)
}

/// Measures the share in each phase.
fn steps(report: &mut Report, what: &str, phases: &[Phase]) -> Result<(), String> {
    let runs = report.seeds().map(|seed| run(phases, seed)).collect::<Result<Vec<Vec<Sample>>, String>>()?;
    for (k, phase) in phases.iter().enumerate() {
        let samples: Vec<Sample> = runs.iter().map(|run| run[k]).collect();
        report.cell(&format!("share, {what} {}", phase.name), &samples, Bound::AtLeast(SHARE));
    }
    Ok(())
}

/// The share in each phase of one run, with CUBIC inside the tunnel.
fn run(phases: &[Phase], seed: u64) -> Result<Vec<Sample>, String> {
    let first = Path { rate_bps: phases[0].rate_bps, ..Path::usual(phases[0].loss) };
    let mut way = first.way();
    // The link's time begins with the emulator.
    way.schedule = phases.iter().enumerate().skip(1).map(|(k, phase)| change(phase, k as f64 * PHASE)).collect();
    let link = TwoWayLink { forth: way.clone(), back: way };
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut testbed = Testbed::bare(&link, Seed::new(seed), false).map_err(|error| text(&error))?;
    let address = testbed.add_tunnel(TunnelConfig::default()).map_err(|error| text(&error))?;
    let route = testbed.tunnel_route(address, "cubic");
    let bulk = Bulk::start(&route, Seed::new(seed), Duration::from_secs(10)).map_err(|error| text(&error))?;
    // Waits until a moment of the link, and returns the bytes and the moment.
    let at = |moment: f64| {
        let left = moment - testbed.snapshot().elapsed_s;
        std::thread::sleep(Duration::from_secs_f64(left.max(0.0)));
        (bulk.received() as f64, testbed.snapshot().elapsed_s)
    };
    let mut shares = Vec::new();
    for (k, phase) in phases.iter().enumerate() {
        let begin = k as f64 * PHASE;
        let ((before, from), (after, to)) = (at(begin + SETTLED), at(begin + PHASE));
        shares.push(8.0 * (after - before) / (to - from) / (phase.rate_bps as f64 * (1.0 - phase.loss)));
    }
    bulk.finish().map_err(|error| text(&error))?;
    let late_s = lateness(&testbed.tear_down().map_err(|error| text(&error))?);
    Ok(shares.into_iter().map(|value| Sample { value, late_s }).collect())
}

fn change(phase: &Phase, at_s: f64) -> Change {
    let loss = Fraction::new(phase.loss).expect("the loss is a fraction");
    Change {
        at: Span::from(Duration::from_secs_f64(at_s)),
        rate: Some(Rate::from_bps(phase.rate_bps)),
        loss: Some(if phase.loss > 0.0 { Loss::bernoulli(loss) } else { Loss::None }),
        ..Change::default()
    }
}
