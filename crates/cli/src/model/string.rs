//! `ripstop model string`: TCP over a string of 802.11 nodes with network coding.

use super::arguments::{Named, answer, count, metres, number};
use super::print::{self, Lines};
use crate::failure::{Failure, Outcome};
use crate::output;
use ripstop_model::string::airtime::Airtime;
use ripstop_model::string::bound::{Disturbance, StringNetwork, StringThroughput};
use ripstop_model::string::interference::{Interference, Radio};
use serde::Serialize;

/// The largest throughput of a string of wireless nodes that XOR acknowledgments with data (paper 002)
///
/// Computes the throughput for random access with a limit on attempts (table III), and for perfect scheduling (theorem
/// 3.1). The nodes use 802.11b at 11 Mbit/s, and segments of 1460 bytes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// n: the number of nodes, 2 or more
    #[arg(long, value_name = "N", default_value = "10", value_parser = count)]
    nodes: u32,
    /// k: number of hops over which a transmitter disturbs other nodes [default: 2, or computed from --spacing]
    #[arg(long, value_name = "HOPS", value_parser = count, conflicts_with = "spacing")]
    k: Option<u32>,
    /// The largest attempt ratio x_i of a data link: attempts per second, multiplied by the mean time of an exchange
    #[arg(long, value_name = "RATIO", default_value = "4.108", value_parser = number)]
    attempt_cap: f64,
    /// eta: time of an acknowledgment's exchange, divided by the time of a data exchange
    #[arg(long, value_name = "RATIO", default_value = "0.3027", value_parser = number)]
    ack_ratio: f64,
    /// Leave out the condition that acknowledgments must arrive too, as the printed optimisation does
    #[arg(long, conflicts_with = "ack_ratio")]
    as_printed: bool,
    /// W: number of packets in the network. Only the bound by scheduling depends on W [default: unlimited]
    #[arg(long, value_name = "PACKETS", value_parser = count)]
    window: Option<u32>,
    /// Distances between neighbouring nodes: a list with one value less than --nodes, or one value for all distances.
    /// The distances determine the k of each node
    #[arg(long, value_name = "DISTANCES", value_delimiter = ',', value_parser = metres)]
    spacing: Vec<f64>,
    /// Largest distance at which a transmitter is heard [default: 550m, as in ns-2]
    #[arg(long, value_name = "DISTANCE", requires = "spacing", value_parser = metres)]
    carrier_sense: Option<f64>,
    /// Determine k by the ratio of signal to interference, as the paper does. The value is the smallest ratio at which
    /// a frame is received (a factor, not dB)
    #[arg(long, value_name = "RATIO", requires = "spacing", conflicts_with = "carrier_sense", value_parser = number)]
    capture: Option<f64>,
    /// Exponent of the path loss, for --capture
    #[arg(long, value_name = "NUMBER", default_value = "4", requires = "capture", value_parser = number)]
    path_exponent: f64,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model string --nodes 10                                     table III, last row
  ripstop model string --nodes 5 --attempt-cap 4.108 --json           the example of section III-B
  ripstop model string --nodes 6 --spacing 200                        k by ns-2's carrier sense
  ripstop model string --nodes 4 --spacing 200,120,200 --capture 10   k by signal and interference";

const NAMED: Named = &[
    ("the number of nodes", "--nodes"),
    ("the interference range k", "--k"),
    ("the largest attempt ratio", "--attempt-cap"),
    ("the ratio of an acknowledgment's time to that of data", "--ack-ratio"),
    ("the number of spacings", "--spacing"),
    ("the spacing of two nodes in metres", "--spacing"),
    ("the carrier-sense range in metres", "--carrier-sense"),
    ("the capture ratio", "--capture"),
    ("the exponent of the path loss", "--path-exponent"),
    ("the number of links", "--nodes"),
    ("the number of independent sets", "--nodes"),
];

#[derive(Serialize)]
struct Report {
    rho: f64,
    throughput_bps: f64,
    attempts: Vec<f64>,
    scheduling_bound: f64,
    scheduling_bound_bps: f64,
    k: Vec<u32>,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    if flags.nodes == 1 {
        let problem = "the number of nodes is 1, but must be 2 or more: a single node sends nothing over the air \
                       (table III sets the rho of a single node to 1 by convention)";
        return Err(Failure::flag("--nodes", problem));
    }
    let spacing = match flags.spacing[..] {
        [one] => vec![one; (flags.nodes as usize).saturating_sub(1).min(1_000_000)],
        _ => flags.spacing.clone(),
    };
    let range = match flags.capture {
        None => Interference::CarrierSense(flags.carrier_sense.unwrap_or(550.0)),
        // There is no noise, as in ns-2.
        Some(capture) => {
            Interference::Sinr(Radio { capture, exponent: flags.path_exponent, noise: 0.0, reference: 1.0 })
        }
    };
    let network = StringNetwork {
        nodes: flags.nodes,
        disturbance: if flags.spacing.is_empty() {
            Disturbance::Hops(flags.k.unwrap_or(2))
        } else {
            Disturbance::Spacing(spacing, range)
        },
        attempt_cap: flags.attempt_cap,
        ack_ratio: if flags.as_printed { 0.0 } else { flags.ack_ratio },
        window: flags.window.unwrap_or(u32::MAX),
        airtime: Airtime::default(),
    };
    let got = answer(network.predict(), NAMED)?;
    let full_bps = answer(network.airtime.exchange(), NAMED)?.full_bps;
    let StringThroughput { rho, throughput_bps, attempts, scheduling_bound, k } = got;
    let scheduling_bound_bps = scheduling_bound * full_bps;
    let report = Report { rho, throughput_bps, attempts, scheduling_bound, scheduling_bound_bps, k };
    if flags.json { output::json(&report) } else { output::print(&table(&report)) }
}

fn table(report: &Report) -> String {
    let mut lines = Lines::new();
    lines.line("throughput, random access", print::rate(report.throughput_bps), "tau*, table III");
    lines.line("", print::percent(report.rho), "rho*: share of time in which each forward link is active");
    lines.line("by perfect scheduling", print::rate(report.scheduling_bound_bps), "theorem 3.1");
    lines.line("", print::percent(report.scheduling_bound), "of the link rate");
    let list = |all: Vec<String>| all.join(" ");
    lines.line("attempts", "", &list(report.attempts.iter().map(|x| print::number(*x, "")).collect()));
    lines.line("k", "", &list(report.k.iter().map(u32::to_string).collect()));
    lines.render()
}
