//! `ripstop model mesh`: the capacity of paths through a mesh's gateway, and each flow's share of the capacity.

use super::arguments::{Named, answer, count, number};
use super::print::{self, Lines};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Table};
use clap::ValueEnum;
use ripstop_base::{Bytes, Fraction, Rate, Span};
use ripstop_model::domain::EquationForm;
use ripstop_model::mesh::path::{JointCapacity, MeshFrames};
use ripstop_model::mesh::shares::{BlocksInFlight, GatewayFlow, shares};
use ripstop_model::prediction::path_loss;
use serde::Serialize;

/// The capacity of 802.11 paths through a gateway, and each flow's share of the capacity (paper 004)
///
/// Computes equations (1), (2) and (12). Computes the shares by equations (3) to (7). The weights and caps of flows are
/// not in the paper. Gateways are independent: run the command separately for each gateway.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// h: number of hops of the path [default: the largest number in --paths, or 3]
    #[arg(long, value_name = "HOPS", value_parser = count)]
    hops: Option<u32>,
    /// P: loss probability of a packet on each hop
    #[arg(long, visible_alias = "link-loss", value_name = "SHARE", default_value = "0")]
    loss: Fraction,
    /// Rate of data frames and of the MAC's acknowledgments
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s")]
    rate: Rate,
    /// Rate of RTS and CTS
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s")]
    basic_rate: Rate,
    /// L_Data: payload of a packet
    #[arg(long, value_name = "SIZE", default_value = "1000B")]
    packet: Bytes,
    /// Number of flows through the gateway [default: the number of values in --weights or --caps, or 1]
    #[arg(long, value_name = "N", value_parser = count)]
    flows: Option<u32>,
    /// Weights of the flows, one value for each flow. A flow's share is proportional to the flow's weight [default:
    /// equal weights]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = number)]
    weights: Vec<f64>,
    /// Highest rates of the flows, one value for each flow. `inf`: only the gateway limits the flow
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = cap)]
    caps: Vec<f64>,
    /// Number of hops of each path, if several paths lead through the gateway
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    paths: Vec<u32>,
    /// How paths of different lengths share the channel. `longest-path`: as if all paths were as long as the longest
    /// path (the paper). `equal-airtime`: each path gets the same time. `equal-rates`: each path gets the same rate
    #[arg(long, value_name = "HOW", default_value = "longest-path", requires = "paths")]
    joint: Sharing,
    /// T_s: mean time from the first packet of a block to the acknowledgment of the block. With this flag, the command
    /// also prints how many blocks the first flow may have in flight, by equation (11)
    #[arg(long, value_name = "TIME")]
    block_time: Option<Span>,
    /// L: number of packets in a block
    #[arg(long, value_name = "PACKETS", default_value = "16", requires = "block_time", value_parser = count)]
    block: u32,
    /// Use equation (11) as printed. As printed, equation (11) may allow a flow no block at all
    #[arg(long, requires = "block_time")]
    as_printed: bool,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sharing {
    LongestPath,
    EqualAirtime,
    EqualRates,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model mesh --hops 3                                       section 3
  ripstop model mesh --hops 3 --loss 20% --flows 4             figs. 6 and 8
  ripstop model mesh --paths 3,2,3 --joint equal-rates --weights 1,2,1 --json
  ripstop model mesh --hops 3 --loss 10% --block-time 2s";

const NAMED: Named = &[
    ("the number of hops", "--hops"),
    ("the loss probability of a link", "--loss"),
    ("the packet in bytes", "--packet"),
    ("the data rate in bits a second", "--rate"),
    ("the basic rate in bits a second", "--basic-rate"),
    ("the number of flows", "--flows"),
    ("the weight of a flow", "--weights"),
    ("the sum of the flows' weights", "--weights"),
    ("the cap of a flow", "--caps"),
    ("the number of paths", "--paths"),
    ("the rate of the flow in bits a second", "--loss"),
    ("the time of a block in seconds", "--block-time"),
    ("the block in packets", "--block"),
    ("the number of blocks", "--block-time"),
];

/// The largest number of flows that the command accepts. The number is limited because the command lists the share of
/// each flow.
const MOST_FLOWS: usize = 100_000;

#[derive(Serialize)]
struct Report {
    capacity_bps: f64,
    shares_bps: Vec<f64>,
    /// Number of packets sent for each packet that arrives: 1/(1-P). P is the loss probability of
    /// the whole path, or of the longest of several paths. Null if nothing arrives.
    redundancy: f64,
    packet_time_s: f64,
    paths: Vec<Path>,
    /// Largest number of blocks that the first flow may have in flight: N_s-MAX of equation (11) of
    /// paper 004. Null without --block-time.
    blocks_max: Option<f64>,
}

#[derive(Serialize)]
struct Path {
    hops: u32,
    loss: f64,
    capacity_bps: f64,
    redundancy: f64,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let frames = MeshFrames {
        data_bytes: flags.packet.get() as f64,
        data_bps: flags.rate.bps() as f64,
        basic_bps: flags.basic_rate.bps() as f64,
        ..MeshFrames::default()
    };
    let link_loss = flags.loss.get();
    let hops = flags.paths()?;
    let mut paths = Vec::new();
    for &hops in &hops {
        let capacity_bps = answer(frames.path_capacity(hops, link_loss), NAMED)?;
        let loss = answer(path_loss(link_loss, hops), NAMED)?;
        paths.push(Path { hops, loss, capacity_bps, redundancy: 1.0 / (1.0 - loss) });
    }
    let joint = match flags.joint {
        Sharing::LongestPath => JointCapacity::LongestPath,
        Sharing::EqualAirtime => JointCapacity::EqualAirtime,
        Sharing::EqualRates => JointCapacity::EqualRates,
    };
    let capacity_bps = answer(frames.joint_capacity(&hops, link_loss, joint), NAMED)?;
    let shares_bps = answer(shares(capacity_bps, &flags.flows()?), NAMED)?;
    let longest = paths.iter().fold(
        (1.0, 0.0),
        |most: (f64, f64), path| if path.loss >= most.1 { (path.redundancy, path.loss) } else { most },
    );
    let blocks_max = match flags.block_time {
        None => None,
        Some(time) => {
            let blocks = BlocksInFlight {
                rate_bps: shares_bps.first().copied().unwrap_or(0.0),
                loss: longest.1,
                block_time: time.duration().as_secs_f64(),
                packet_bytes: frames.data_bytes,
                block: flags.block,
            };
            Some(answer(
                blocks.most(if flags.as_printed { EquationForm::AsPrinted } else { EquationForm::Corrected }),
                NAMED,
            )?)
        }
    };
    let report = Report {
        capacity_bps,
        shares_bps,
        redundancy: longest.0,
        packet_time_s: answer(frames.packet_time(), NAMED)?,
        paths,
        blocks_max,
    };
    if flags.json { output::json(&report) } else { output::print(&table(&report, flags)) }
}

impl Flags {
    /// The number of hops of each path.
    fn paths(&self) -> Outcome<Vec<u32>> {
        let longest = self.paths.iter().copied().max();
        match (self.hops, longest) {
            (Some(hops), Some(longest)) if hops != longest => {
                let problem =
                    format!("{hops} is not the longest of --paths ({longest} hops); leave out --hops or --paths");
                Err(Failure::flag("--hops", problem))
            }
            (_, Some(_)) => Ok(self.paths.clone()),
            (hops, None) => Ok(vec![hops.unwrap_or(3)]),
        }
    }

    fn flows(&self) -> Outcome<Vec<GatewayFlow>> {
        let given = [("--weights", self.weights.len()), ("--caps", self.caps.len())];
        let listed = given.iter().map(|list| list.1).find(|n| *n > 0);
        let flows = self.flows.map(|n| n as usize).or(listed).unwrap_or(1);
        for (flag, n) in given {
            if n > 0 && n != flows {
                return Err(Failure::flag(flag, format!("{n} values for {flows} flows; give one value for each flow")));
            }
        }
        if flows > MOST_FLOWS {
            return Err(Failure::flag(
                "--flows",
                format!("{flows} flows are too many to list; write at most {MOST_FLOWS}"),
            ));
        }
        let flow = |i: usize| GatewayFlow {
            weight: self.weights.get(i).copied().unwrap_or(1.0),
            cap: self.caps.get(i).copied().unwrap_or(f64::INFINITY),
        };
        Ok((0..flows).map(flow).collect())
    }
}

fn cap(text: &str) -> Result<f64, String> {
    if text.trim() == "inf" {
        return Ok(f64::INFINITY);
    }
    text.parse::<Rate>().map(|rate| rate.bps() as f64).map_err(|error| format!("{error}, or `inf`"))
}

fn table(report: &Report, flags: &Flags) -> String {
    let mut lines = Lines::new();
    let source = if report.paths.len() > 1 { "of all paths together" } else { "(12)" };
    lines.line("capacity", print::rate(report.capacity_bps), source);
    lines.line("redundancy that the losses need", print::number(report.redundancy, ""), "R = 1/(1-P)");
    lines.line("time of a packet on one hop", output::time(report.packet_time_s), "T_pkt, (2)");
    if let Some(blocks) = report.blocks_max {
        lines.line("blocks in flight", print::number(blocks, ""), "N_s-MAX of the first flow, (11)");
    }
    let mut text = lines.render();
    if report.paths.len() > 1 {
        let mut table = Table::titled(["path", "hops", "loss", "alone", "redundancy"]);
        for (i, path) in report.paths.iter().enumerate() {
            let cells = [
                path.hops.to_string(),
                print::percent(path.loss),
                print::rate(path.capacity_bps),
                print::number(path.redundancy, ""),
            ];
            table.row([(i + 1).to_string()].into_iter().chain(cells));
        }
        text += &format!("\n{}", table.render());
    }
    if report.shares_bps.len() > 1 {
        let mut table = Table::titled(["flow", "share"]);
        for (i, bps) in report.shares_bps.iter().enumerate().take(20) {
            table.row([(i + 1).to_string(), print::rate(*bps)]);
        }
        if report.shares_bps.len() > 20 {
            table.row([format!("and {} more", report.shares_bps.len() - 20)]);
        }
        text += &format!("\n{}", table.render());
    }
    // If every packet is lost, the last line of the output says so.
    if flags.loss.get() >= 1.0 {
        text += "\nEvery packet is lost.\n";
    }
    text
}
