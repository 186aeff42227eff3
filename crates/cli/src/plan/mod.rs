//! `ripstop plan`: predicts the goodput of a link, recommends a scheme, and says when coding will
//! not help. A scheme is a way to use a link, such as plain CUBIC or the tunnel.
//!
//! [`ripstop_lab::plan`] makes the plan, and [`show`] formats the plan as text.
//! [`campaign_command`] runs a campaign of [`ripstop_lab::campaign`]. A campaign draws links,
//! simulates these links, and compares the results with the predictions.

mod campaign_command;
mod show;

use crate::failure::{Failure, Outcome};
use crate::link_flags::{burst, warn_of_long_rtt};
use crate::model::{Named, answer};
use crate::output;
use clap::{Args, Subcommand, ValueEnum};
use ripstop_base::{Fraction, QueueLimit, Rate, Span};
use ripstop_lab::plan::{PlanError, PlanQuestion};
use ripstop_model::plan::advice::{HostTcp, TrafficKind, Wishes};
use ripstop_model::plan::{NetworkPath, PATH_MTU};

/// Predict the goodput of a link, recommend a scheme, and say when coding will not help
///
/// Closed forms predict each scheme. Plain CUBIC and BBR are also simulated if the simulation takes less than 1.5 s.
/// Each goodput comes with the name of its model. If the model's error was measured, the error is given too
/// (docs/operators/plan.md, docs/plan-report.md).
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    ask: Option<Ask>,
}

#[derive(Subcommand)]
enum Command {
    Campaign(campaign_command::Flags),
}

/// The flags that describe the link and its use.
#[derive(Args)]
struct Ask {
    /// The link's rate, IP headers included
    #[arg(long, value_name = "RATE", help_heading = "The link")]
    rate: Rate,
    /// Round-trip time of the idle link, without serialisation
    #[arg(long, value_name = "TIME", help_heading = "The link")]
    rtt: Span,
    /// Loss probability of data packets
    #[arg(long, value_name = "SHARE", help_heading = "The link")]
    loss: Fraction,
    /// Loss probability of acknowledgements [default: as --loss]
    #[arg(long, value_name = "SHARE", help_heading = "The link")]
    loss_back: Option<Fraction>,
    /// Mean length of a run of losses, in packets. Above 1, the losses follow Gilbert's model
    #[arg(long, value_name = "PACKETS", default_value = "1", value_parser = burst, help_heading = "The link")]
    burst: f64,
    /// The queue in front of the link in each direction, in packets (200) or bytes (300kB)
    /// [default: one bandwidth-delay product, at least 10 packets]
    #[arg(long, value_name = "QUEUE", help_heading = "The link")]
    queue: Option<QueueLimit>,
    /// Number of connections at the same time
    #[arg(long, value_name = "N", default_value = "1", help_heading = "What the link is for")]
    flows: u32,
    /// Kind of traffic. `bulk`: long transfers. `interactive`: small requests. `mixed`: long transfers and small
    /// requests at the same time
    #[arg(long, value_name = "KIND", default_value = "bulk", help_heading = "What the link is for")]
    traffic: TrafficFlag,
    /// Congestion control of the sending hosts. `cubic` or `bbr`: the hosts use this one, and it cannot be changed.
    /// `any`: the hosts use CUBIC now, and can be switched to any other congestion control
    #[arg(long, value_name = "TCP", default_value = "any", help_heading = "What the link is for")]
    hosts: HostsFlag,
    /// The largest overhead (headers, repairs, retransmissions), as a share of the useful bytes
    #[arg(long, value_name = "SHARE", value_parser = overhead, help_heading = "What the link is for")]
    budget: Option<f64>,
    /// Print how many base stations and how much power TCP/NC saves for N users, each with the link given (paper 000,
    /// sections VII to X)
    #[arg(long, value_name = "N", help_heading = "What the link is for")]
    users: Option<u32>,
    /// Also simulate the schemes, and print the results beside the predictions. Small requests are not simulated over
    /// `tcpnc`, `block` and `lt`
    #[arg(long)]
    verify: bool,
    /// Print one JSON object (docs/schemas/plan.schema.json) instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TrafficFlag {
    Bulk,
    Interactive,
    Mixed,
}

impl TrafficFlag {
    fn kind(self) -> TrafficKind {
        match self {
            TrafficFlag::Bulk => TrafficKind::Bulk,
            TrafficFlag::Interactive => TrafficKind::Interactive,
            TrafficFlag::Mixed => TrafficKind::Mixed,
        }
    }
}

/// The congestion control of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HostsFlag {
    Cubic,
    Bbr,
    Any,
}

impl HostsFlag {
    fn kind(self) -> HostTcp {
        match self {
            HostsFlag::Cubic => HostTcp::Cubic,
            HostsFlag::Bbr => HostTcp::Bbr,
            HostsFlag::Any => HostTcp::Any,
        }
    }
}

/// The largest `--budget`: 100 bytes of overhead for each useful byte.
const MOST_OVERHEAD: f64 = 100.0;

/// Reads a share of 0 or more, which may exceed 1.
fn overhead(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not an overhead; write a percentage such as 40%, or a share such as 0.4");
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if (0.0..=MOST_OVERHEAD).contains(&share) { Ok(share) } else { Err(wrong()) }
}

const EXAMPLES: &str = "\
Examples:
  ripstop plan --rate 20Mbit/s --rtt 550ms --loss 4%
  ripstop plan --rate 20Mbit/s --rtt 550ms --loss 4% --burst 6 --hosts cubic --traffic mixed --json
  ripstop plan --rate 5Mbit/s --rtt 80ms --loss 15% --loss-back 0 --verify
  ripstop plan --rate 2Mbit/s --rtt 100ms --loss 2% --users 1000
  ripstop plan campaign --help                        compare predictions with simulations";

/// The names of the model's arguments, spelled as in the model's errors, and the flags that set these arguments.
const NAMED: Named = &[
    ("the rate in bits a second", "--rate"),
    ("the round-trip time in seconds", "--rtt"),
    ("the loss probability", "--loss"),
    ("the loss probability of the way back", "--loss-back"),
    ("the mean burst length in packets", "--burst"),
    ("the queue in bytes", "--queue"),
    ("the number of connections", "--flows"),
    ("the number of users", "--users"),
];

/// The smallest queue, in packets, that is assumed if `--queue` is missing. A router has a smaller
/// queue only if somebody chose a smaller queue.
const USUAL_QUEUE: f64 = 10.0;

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match (&flags.command, &flags.ask) {
        (Some(Command::Campaign(flags)), _) => campaign_command::run(flags),
        (None, Some(ask)) => plan(ask),
        (None, None) => Err(Failure::Usage("nothing to plan: give --rate, --rtt and --loss of the link".to_owned())),
    }
}

fn plan(ask: &Ask) -> Outcome<()> {
    warn_of_long_rtt(ask.rtt);
    let path = ask.path();
    let wishes = Wishes { traffic: ask.traffic.kind(), hosts: ask.hosts.kind(), budget: ask.budget };
    let question = PlanQuestion { wishes, users: ask.users, verify: ask.verify };
    let plan = match ripstop_lab::plan::plan(&path, &question) {
        Ok(plan) => plan,
        Err(PlanError::Domain(error)) => return answer(Err(error), NAMED),
        Err(PlanError::Lab(error)) => return Err(error.into()),
    };
    if ask.json { output::json(&plan) } else { output::print(&show::text(&plan)) }
}

impl Ask {
    fn path(&self) -> NetworkPath {
        let (rate, rtt) = (self.rate.bps() as f64, self.rtt.duration().as_secs_f64());
        let queue = match self.queue {
            Some(QueueLimit::Bytes(bytes)) => bytes as f64,
            Some(QueueLimit::Packets(packets)) => packets as f64 * PATH_MTU,
            None => (rate * rtt / 8.0).max(USUAL_QUEUE * PATH_MTU),
        };
        NetworkPath {
            rate,
            rtt,
            loss: self.loss.get(),
            loss_back: self.loss_back.unwrap_or(self.loss).get(),
            burst: self.burst,
            queue,
            flows: self.flows,
        }
    }
}
