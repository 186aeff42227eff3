//! `ripstop sim tandem`: a chain of equal links.

use super::measure::{self, MeasureFlags};
use super::sources::SourceFlags;
use crate::failure::{Outcome, WrongFlag};
use crate::link_flags::{burst, loss_model};
use clap::ValueEnum;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use ripstop_link::{LinkConfig, Loss};
use ripstop_sim::scenario::{FlowSpec, NcRedundancy, NcSpec, Recode, RunSpec, Scenario, Tandem, TunnelSpec};
use ripstop_sim::tcp::{Reassembly, Variant, VegasConfig};
use std::time::Duration;

/// Simulate TCP over a chain of equal lossy links (paper 000, fig. 8)
///
/// All flows run from the first node to the last. --loss, --delay, --rate and --queue are those of each link and direction.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// How many links the chain has
    #[arg(long, value_name = "N", default_value = "4", help_heading = "The chain")]
    hops: u32,
    /// Bits that each link carries in a second, headers included
    #[arg(long, value_name = "RATE", default_value = "2Mbit/s", help_heading = "The chain")]
    rate: Rate,
    /// Propagation delay of each link
    #[arg(long, value_name = "TIME", default_value = "100ms", help_heading = "The chain")]
    delay: Span,
    /// What may wait for each link, in packets (200) or bytes (300kB)
    #[arg(long, value_name = "QUEUE", default_value = "200", help_heading = "The chain")]
    queue: QueueLimit,
    /// Share of packets that each link loses, after they took their slot on it
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = "The chain")]
    loss: Fraction,
    /// Mean length of a run of losses, in packets; above 1 the losses follow Gilbert's channel
    #[arg(long, value_name = "PACKETS", default_value = "1", value_parser = burst, help_heading = "The chain")]
    burst: f64,
    /// Whether acknowledgements are lost as well
    #[arg(long, value_name = "ON|OFF", default_value = "on", help_heading = "The chain")]
    ack_loss: Switch,
    /// How many flows there are
    #[arg(long, value_name = "N", default_value = "2", help_heading = "The flows")]
    flows: u32,
    /// Congestion control
    #[arg(long, value_name = "NAME", default_value = "reno", value_parser = variant, help_heading = "The flows")]
    tcp: Variant,
    /// The receiver's window, packets
    #[arg(long, value_name = "PACKETS", default_value = "50", help_heading = "The flows")]
    wmax: u32,
    /// Payload of a packet; 40 bytes of headers come on top (52 with CUBIC, BBR and linux-reno)
    #[arg(long, value_name = "SIZE", default_value = "1000B", help_heading = "The flows")]
    packet: Bytes,
    /// Floor of the retransmission time-out, before back-off [default: 200ms]
    #[arg(long, value_name = "TIME", help_heading = "The flows")]
    rto_min: Option<Span>,
    /// Cap of the retransmission time-out [default: 60s; of CUBIC, BBR and linux-reno 120s]
    #[arg(long, value_name = "TIME", help_heading = "The flows")]
    rto_max: Option<Span>,
    /// Granularity of the clock that measures round trips [default: 10ms; CUBIC, BBR and linux-reno measure exactly]
    #[arg(long, value_name = "TIME", help_heading = "The flows")]
    tick: Option<Span>,
    /// The congestion window at first, packets [default: 2; of CUBIC, BBR and linux-reno 10]
    #[arg(long, value_name = "PACKETS", help_heading = "The flows")]
    initial_window: Option<u32>,
    /// Packets that Vegas keeps in the path's queues: it grows below ALPHA, shrinks above BETA, and ends its slow start above
    /// GAMMA [default: 28,30,2, as paper 000's authors have it; ns-2's own are 1,3,1]
    #[arg(long, value_name = "ALPHA,BETA,GAMMA", value_parser = thresholds, help_heading = "The flows")]
    vegas: Option<VegasConfig>,
    /// Acknowledge every so many packets, or after 100 ms (40 ms with CUBIC, BBR and linux-reno)
    #[arg(long, value_name = "N", default_value = "1", help_heading = "The flows")]
    ack_every: u32,
    /// What the receiver does with packets that are out of order
    #[arg(long, value_name = "KIND", default_value = "buffer", help_heading = "The flows")]
    receiver: Receiver,
    /// When the flows begin: one moment for all, or one for each
    #[arg(
        long,
        value_name = "TIMES",
        value_delimiter = ',',
        default_value = "0s",
        help_heading = "The flows"
    )]
    start: Vec<Span>,
    /// When the flows stop: one moment for all, or one for each [default: at the end]
    #[arg(long, value_name = "TIMES", value_delimiter = ',', help_heading = "The flows")]
    stop: Vec<Span>,
    #[command(flatten)]
    sources: SourceFlags,
    /// Carry all flows through one tunnel from end to end: the session of `ripstop up`
    #[arg(long, help_heading = "The flows")]
    tunnel: bool,
    /// Put a coding layer below each TCP (TCP/NC, papers 000 and 001)
    #[arg(long, conflicts_with = "tunnel", help_heading = "TCP/NC")]
    nc: bool,
    /// Combinations sent for each segment: a number such as 1.13, `rule` (paper 000, section VI-B) or `auto`
    #[arg(long, value_name = "R", default_value = "1", value_parser = redundancy, requires = "nc", help_heading = "TCP/NC")]
    redundancy: NcRedundancy,
    /// What a coefficient takes in the header, bytes: 0 (as the paper charged) or 1
    #[arg(long, value_name = "BYTES", default_value = "0", requires = "nc", help_heading = "TCP/NC")]
    coef_bytes: u32,
    /// Code anew on the way: not at all, without more redundancy, or with what the next link loses
    #[arg(long, value_name = "HOW", default_value = "end-to-end", requires = "nc", help_heading = "TCP/NC")]
    recode: RecodeFlag,
    /// The nodes that code anew, by their numbers [default: all on the way]
    #[arg(long, value_name = "NODES", value_delimiter = ',', requires = "nc", help_heading = "TCP/NC")]
    recode_at: Vec<u32>,
    #[command(flatten)]
    measure: MeasureFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RecodeFlag {
    EndToEnd,
    Relay,
    PerHop,
}

fn redundancy(text: &str) -> Result<NcRedundancy, String> {
    text.parse()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Receiver {
    /// Keeps them
    Buffer,
    /// Drops them (the assumption of paper 000, section III)
    GoBackN,
}

const EXAMPLES: &str = "\
Examples:
  ripstop sim tandem --loss 1.5%                          paper 000, table I: Reno at q = .015
  ripstop sim tandem --loss 1.5% --nc --redundancy 1.09   the same with TCP/NC
  ripstop sim tandem --loss 5% --tcp sack --rto-min 1s --runs 50 --json
  ripstop sim tandem --rate 0.9Mbit/s --start 0s,350s --stop 1000s,650s --interval 350s,650s
  ripstop sim tandem --loss 2% --burst 5 --queue 20 --print-scenario > chain.toml";

fn thresholds(text: &str) -> Result<VegasConfig, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([alpha, beta, gamma]) => Ok(VegasConfig { alpha: *alpha, beta: *beta, gamma: *gamma }),
        _ => Err("three numbers of packets with commas between, such as `28,30,2`".to_owned()),
    }
}

/// Reads the name of a TCP.
pub(super) fn variant(name: &str) -> Result<Variant, String> {
    name.parse()
}

/// Simulates and prints.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    measure::run(&scenario(flags)?, &flags.measure, flag)
}

/// The scenario that the flags stand for.
///
/// # Errors
/// A flag whose value cannot be; what the scenario cannot be, `Scenario::check` says.
pub(super) fn scenario(flags: &Flags) -> Result<Scenario, WrongFlag> {
    if flags.hops == 0 || flags.hops > 1000 {
        return Err(WrongFlag::new("--hops", format!("{} links; from 1 to 1000", flags.hops)));
    }
    if !(flags.burst.is_finite() && flags.burst >= 1.0) {
        return Err(WrongFlag::new(
            "--burst",
            format!("{}; a run of losses has at least 1 packet", flags.burst),
        ));
    }
    let mut run = RunSpec::default();
    flags.measure.apply(&mut run);
    let forth = LinkConfig {
        rate: flags.rate,
        delay: flags.delay,
        queue: Some(flags.queue),
        loss: loss_model(flags.loss, flags.burst),
        ..LinkConfig::default()
    };
    let back = match flags.ack_loss {
        Switch::On => forth.clone(),
        Switch::Off => LinkConfig { loss: Loss::None, ..forth.clone() },
    };
    let tunnel = flags.tunnel.then(|| TunnelSpec::new("tunnel", "", ""));
    let flows = flags.sources.apply(flows(flags)?)?;
    let tandem = Tandem { run, hops: flags.hops, forth, back, flows, tunnel };
    Ok(flags.measure.expect(tandem.scenario()))
}

/// One kind of flow when all are alike, or each on its own.
fn flows(flags: &Flags) -> Result<Vec<FlowSpec>, WrongFlag> {
    let each = |flag: &'static str, times: &[Span]| match times.len() as u64 {
        0 | 1 => Ok(()),
        n if n == u64::from(flags.flows) => Ok(()),
        n => Err(WrongFlag::new(
            flag,
            format!("{n} moments for {} flows; write one, or one for each", flags.flows),
        )),
    };
    each("--start", &flags.start)?;
    each("--stop", &flags.stop)?;
    let spec = FlowSpec {
        count: flags.flows,
        tcp: flags.tcp,
        window: flags.wmax,
        initial_window: flags.initial_window,
        packet: flags.packet,
        rto_min: flags.rto_min,
        rto_max: flags.rto_max,
        tick: flags.tick,
        vegas: flags.vegas,
        ack_every: flags.ack_every,
        receiver: match flags.receiver {
            Receiver::Buffer => Reassembly::Buffer,
            Receiver::GoBackN => Reassembly::GoBackN,
        },
        start: flags.start.first().copied().unwrap_or_else(|| Span::from(Duration::ZERO)),
        stop: flags.stop.first().copied(),
        nc: flags.nc.then(|| NcSpec {
            redundancy: flags.redundancy,
            coef_bytes: flags.coef_bytes,
            recode: match flags.recode {
                RecodeFlag::EndToEnd => Recode::EndToEnd,
                RecodeFlag::Relay => Recode::Relay,
                RecodeFlag::PerHop => Recode::PerHop,
            },
            recode_at: flags.recode_at.iter().map(|node| format!("n{node}")).collect(),
            ..NcSpec::default()
        }),
        ..FlowSpec::new("", "")
    };
    if flags.start.len() <= 1 && flags.stop.len() <= 1 {
        return Ok(vec![spec]);
    }
    let of = |times: &[Span], k: u32| times.get(k as usize).or(times.first()).copied();
    Ok((0..flags.flows)
        .map(|k| FlowSpec {
            name: format!("{}{k}", spec.name),
            count: 1,
            start: of(&flags.start, k).unwrap_or(spec.start),
            stop: of(&flags.stop, k),
            ..spec.clone()
        })
        .collect())
}

/// The flag that a field of the scenario was given by.
pub(super) fn flag(field: &str) -> Option<&'static str> {
    let last = field.split('.').skip_while(|part| !part.starts_with("forth") && !part.starts_with("flow"));
    let name = last.skip(1).collect::<Vec<_>>().join(".");
    [
        ("rate", "--rate"),
        ("delay", "--delay"),
        ("queue", "--queue"),
        ("loss.burst", "--burst"),
        ("loss", "--loss"),
        ("count", "--flows"),
        ("window", "--wmax"),
        ("initial-window", "--initial-window"),
        ("vegas", "--vegas"),
        ("source.file", "--file"),
        ("source.on-off", "--on-off"),
        ("source", "--requests"),
        ("receiver", "--receiver"),
        ("packet", "--packet"),
        ("rto-min", "--rto-min"),
        ("rto-max", "--rto-max"),
        ("tick", "--tick"),
        ("ack-every", "--ack-every"),
        ("start", "--start"),
        ("stop", "--stop"),
        ("nc.recode-at", "--recode-at"),
        ("nc.coef-bytes", "--coef-bytes"),
        ("nc.redundancy", "--redundancy"),
    ]
    .into_iter()
    .find_map(|(field, flag)| name.starts_with(field).then_some(flag))
    .or_else(|| measure::common_flag(field))
}
