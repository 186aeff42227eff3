//! `ripstop sim fec`: a block code below TCP.

use super::measure::{self, MeasureFlags};
use super::tandem::variant;
use crate::failure::{Outcome, WrongFlag};
use crate::fec_flags::unit_loss;
use ripstop_base::{Bytes, Fraction, QueueLimit, Span};
use ripstop_link::{Fec, Loss};
use ripstop_sim::scenario::{FecPath, FlowSpec, RunSpec, Scenario};
use ripstop_sim::tcp::Variant;

/// Simulate TCP over a link that sends each block of K units as N (paper 003)
///
/// A packet fills --packet-blocks blocks, its 40 bytes of headers included, and is lost when a block loses more than N - K units.
/// Acknowledgements come back without loss.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// K: units of a block
    #[arg(long, value_name = "UNITS", default_value = "20", help_heading = "The link")]
    k: u32,
    /// N: units sent for a block
    #[arg(long, value_name = "UNITS", default_value = "22", help_heading = "The link")]
    n: u32,
    /// Share of units lost
    #[arg(long, value_name = "SHARE", default_value = "1%", help_heading = "The link")]
    unit_loss: Fraction,
    /// Probability that the unit after a lost one is lost: Gilbert's channel, which goes on while the link idles
    /// [default: as --unit-loss, independent losses]
    #[arg(long, value_name = "SHARE", help_heading = "The link")]
    stay_bad: Option<Fraction>,
    /// Units that the link carries in a second
    #[arg(long, value_name = "UNITS", default_value = "3000", help_heading = "The link")]
    mu: u64,
    /// What a unit carries
    #[arg(long, value_name = "SIZE", default_value = "53B", help_heading = "The link")]
    unit: Bytes,
    /// Round-trip time without queueing and serialisation
    #[arg(long, value_name = "TIME", default_value = "560ms", help_heading = "The link")]
    rtt: Span,
    /// What may wait for the link
    #[arg(long, value_name = "QUEUE", default_value = "100", help_heading = "The link")]
    queue: QueueLimit,
    /// Share of packets lost elsewhere on the path
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = "The link")]
    other_loss: Fraction,
    /// How many flows there are
    #[arg(long, value_name = "N", default_value = "1", help_heading = "The flows")]
    flows: u32,
    /// Congestion control
    #[arg(long, value_name = "NAME", default_value = "reno", value_parser = variant, help_heading = "The flows")]
    tcp: Variant,
    /// Blocks that a packet fills
    #[arg(long, value_name = "BLOCKS", default_value = "1", help_heading = "The flows")]
    packet_blocks: u32,
    /// The receiver's window, packets: so large that it never binds
    #[arg(long, value_name = "PACKETS", default_value = "100000", help_heading = "The flows")]
    wmax: u32,
    #[command(flatten)]
    measure: MeasureFlags,
}

const EXAMPLES: &str = "\
Examples:
  ripstop sim fec --k 20 --n 22 --unit-loss 1% --warmup 100s        paper 003, fig. 5
  ripstop sim fec --k 10 --n 12 --flows 4 --json                    fig. 9
  ripstop sim fec --k 20 --n 24 --stay-bad 0.5 --tcp sack           fig. 13";

/// Simulates and prints.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    measure::run(&scenario(flags)?, &flags.measure, flag)
}

/// The scenario that the flags stand for.
///
/// # Errors
/// A flag whose value cannot be; what the scenario cannot be, `Scenario::check` says.
pub(super) fn scenario(flags: &Flags) -> Result<Scenario, WrongFlag> {
    let loss = unit_loss(flags.unit_loss, flags.stay_bad)?;
    if flags.mu == 0 {
        return Err(WrongFlag::new("--mu", "0 units a second carry nothing; write for example 3000"));
    }
    if flags.packet_blocks == 0 {
        return Err(WrongFlag::new("--packet-blocks", "a packet fills at least 1 block"));
    }
    let mut run = RunSpec::default();
    flags.measure.apply(&mut run);
    let path = FecPath {
        run,
        fec: Fec { unit: flags.unit, ..Fec::new(flags.n, flags.k, loss) },
        units_per_s: flags.mu,
        rtt: flags.rtt,
        queue: flags.queue,
        other_loss: if flags.other_loss.get() > 0.0 { Loss::bernoulli(flags.other_loss) } else { Loss::None },
        packet_blocks: flags.packet_blocks,
        flow: FlowSpec { count: flags.flows, tcp: flags.tcp, window: flags.wmax, ..FlowSpec::new("", "") },
    };
    Ok(flags.measure.expect(path.scenario()))
}

/// The flag that a field of the scenario was given by.
pub(super) fn flag(field: &str) -> Option<&'static str> {
    [
        ("link[0].forth.fec.k", "--k"),
        ("link[0].forth.fec.n", "--n"),
        ("link[0].forth.fec.unit", "--unit"),
        ("link[0].forth.fec.loss", "--unit-loss"),
        ("link[0].forth.loss", "--other-loss"),
        ("run.unit", "--unit"),
        ("flow[0].packet", "--packet-blocks"),
        ("flow[0].count", "--flows"),
        ("flow[0].window", "--wmax"),
    ]
    .into_iter()
    .find_map(|(known, flag)| field.starts_with(known).then_some(flag))
    .or_else(|| measure::common_flag(field))
}
