//! `ripstop model fec`: block FEC on a link under TCP.

use super::arguments::{Named, answer, count, number};
use super::print::{self, Lines};
use crate::failure::{Failure, Outcome};
use crate::output;
use clap::ValueEnum;
use ripstop_base::{Fraction, Span};
use ripstop_model::fec::block::block_loss;
use ripstop_model::fec::gilbert::{Gilbert, PacketSpacing};
use ripstop_model::fec::{CodedLink, TcpLaw, UnitLosses};
use serde::Serialize;

/// TCP's throughput over a link that sends each block of K units as N units, and the best N (paper 003)
///
/// Computes equations (3) to (6). With --stay-bad, losses come in bursts. The throughput is then computed in two ways:
/// by equation (7), and exactly by the Gilbert chain. Equation (7) is inaccurate for short bursts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// K: number of source units in a block
    #[arg(long, value_name = "UNITS", default_value = "20", value_parser = count)]
    k: u32,
    /// N: number of units sent for a block [default: with --optimise, the best N]
    #[arg(long, value_name = "UNITS", required_unless_present = "optimise", value_parser = count)]
    n: Option<u32>,
    /// p, L: loss probability of a unit
    #[arg(long, visible_alias = "unit-loss", value_name = "SHARE", default_value = "1%")]
    loss: Fraction,
    /// q: probability that the unit after a lost unit is lost [default: as --loss, independent losses]
    #[arg(long, value_name = "SHARE")]
    stay_bad: Option<Fraction>,
    /// Spacing of packets. `back-to-back`: packets follow each other directly, so a burst can continue in the next
    /// packet. `independent`: packets are far apart, so a burst cannot continue in the next packet
    #[arg(long, value_name = "SPACING", default_value = "back-to-back", requires = "stay_bad")]
    spacing: Gap,
    /// mu: the link's rate in units per second, redundant units included
    #[arg(long, value_name = "UNITS", default_value = "3000", value_parser = number)]
    mu: f64,
    /// RTT: round-trip time
    #[arg(long, value_name = "TIME", default_value = "560ms")]
    rtt: Span,
    /// C: the number of connections that share the link
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    flows: u32,
    /// Number of blocks in a packet
    #[arg(long, value_name = "BLOCKS", default_value = "1", value_parser = count)]
    packet_blocks: u32,
    /// Formula for TCP's throughput as a function of the loss rate. `sqrt`: the paper's square-root law. `timeout`:
    /// equation (16) of paper 000
    #[arg(long, value_name = "LAW", default_value = "sqrt")]
    formula: Formula,
    /// TCP's first time-out, for --formula timeout [default: 3s]
    #[arg(long, value_name = "TIME")]
    rto: Option<Span>,
    /// Find the N that gives the largest throughput
    #[arg(long)]
    optimise: bool,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Formula {
    Sqrt,
    Timeout,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Gap {
    BackToBack,
    Independent,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model fec --k 20 --n 22 --loss 1%                     fig. 2
  ripstop model fec --k 20 --loss 1% --optimise
  ripstop model fec --k 10 --n 11 --flows 9                          fig. 8
  ripstop model fec --k 20 --n 22 --loss 1% --stay-bad 0.5      fig. 10, and the chain itself
  ripstop model fec --k 20 --n 22 --formula timeout --json";

const NAMED: Named = &[
    ("the number of units K", "--k"),
    ("the number of units N", "--n"),
    ("the loss probability of a unit", "--loss"),
    ("the probability to stay bad", "--stay-bad"),
    ("the rate of the link in units a second", "--mu"),
    ("the round-trip time in seconds", "--rtt"),
    ("the number of flows", "--flows"),
    ("the number of blocks in a packet", "--packet-blocks"),
    ("the size of the blocks N x min(K, N-K+1)", "--n"),
    ("the time-out in seconds", "--rto"),
];

#[derive(Serialize)]
struct Report {
    n: u32,
    throughput_units_per_s: f64,
    clean_rate_units_per_s: f64,
    block_loss: f64,
    gain: Option<f64>,
    exact_gilbert_units_per_s: Option<f64>,
    n_real: Option<f64>,
    n_best: Option<u32>,
    best_units_per_s: Option<f64>,
    exact_n_best: Option<u32>,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let law = match (flags.formula, flags.rto) {
        (Formula::Sqrt, None) => TcpLaw::SquareRoot,
        (Formula::Sqrt, Some(_)) => {
            return Err(Failure::flag(
                "--rto",
                "--formula sqrt has no time-outs; write --formula timeout, or leave out --rto",
            ));
        }
        (Formula::Timeout, rto) => TcpLaw::TimeOuts(rto.map_or(3.0, |rto| rto.duration().as_secs_f64())),
    };
    let loss = flags.loss.get();
    let chain = flags.stay_bad.map(|stay_bad| Gilbert { loss, stay_bad: stay_bad.get() });
    let spacing = match flags.spacing {
        Gap::BackToBack => PacketSpacing::BackToBack,
        Gap::Independent => PacketSpacing::Independent,
    };
    let link = CodedLink {
        k: flags.k,
        losses: chain.map_or(UnitLosses::Independent(loss), UnitLosses::SingleBurst),
        rate: flags.mu,
        rtt: flags.rtt.duration().as_secs_f64(),
        flows: flags.flows,
        packet_blocks: flags.packet_blocks,
        law,
    };
    let exact = chain.map(|chain| CodedLink { losses: UnitLosses::Bursts(chain, spacing), ..link });
    let best = if flags.optimise { Some(answer(link.n_best(), NAMED)?) } else { None };
    // Clap ensures that `--n` or `--optimise` is given.
    let n = flags.n.or(best).unwrap_or(flags.k);
    let block_loss = match chain {
        Some(chain) => answer(chain.block_loss(n, flags.k), NAMED)?,
        None => answer(block_loss(n, flags.k, loss), NAMED)?.is,
    };
    let exact_n_best = match exact.filter(|_| flags.optimise) {
        Some(exact) => Some(answer(exact.n_best(), NAMED)?),
        None => None,
    };
    let report = Report {
        n,
        throughput_units_per_s: answer(link.throughput(n), NAMED)?,
        clean_rate_units_per_s: answer(link.clean_rate(n), NAMED)?,
        block_loss,
        gain: answer(link.gain(n), NAMED)?,
        exact_gilbert_units_per_s: exact.map(|exact| answer(exact.throughput(n), NAMED)).transpose()?,
        n_real: if flags.optimise { answer(link.n_real(), NAMED)? } else { None },
        n_best: best,
        best_units_per_s: best.map(|n| answer(link.throughput(n), NAMED)).transpose()?,
        exact_n_best,
    };
    if flags.json { output::json(&report) } else { output::print(&table(&report, flags)) }
}

fn table(report: &Report, flags: &Flags) -> String {
    let units = "units/s";
    let mut lines = Lines::new();
    let law = match (flags.stay_bad.is_some(), flags.flows) {
        (true, _) => "of data, (3) with (7)",
        (false, 1) => "of data, (3)",
        (false, _) => "of data, all connections, (6)",
    };
    lines.line(&format!("throughput, N = {}", report.n), print::number(report.throughput_units_per_s, units), law);
    if let Some(exact) = report.exact_gilbert_units_per_s {
        lines.line("", print::number(exact, units), "exactly, by the Gilbert chain");
    }
    let clean = report.clean_rate_units_per_s >= flags.mu;
    lines.line(
        "losses do not limit a link up to",
        print::number(report.clean_rate_units_per_s, units),
        "left side of (4)",
    );
    lines.line(
        "limited by",
        if clean { "the link" } else { "losses" },
        if clean { "losses do not limit TCP" } else { "" },
    );
    lines.line("blocks lost", print::percent(report.block_loss), "P(N,K)");
    lines.line("throughput gained / throughput paid", print::optional(report.gain, ""), "G, (5)");
    if let Some(best) = report.n_best {
        lines.line("losses do not limit TCP from N =", print::optional(report.n_real, ""), "(4), a real number");
        lines.line("best N", best.to_string(), "");
        lines.line("throughput with the best N", print::optional(report.best_units_per_s, units), "");
    }
    if let Some(best) = report.exact_n_best {
        lines.line("best N by the Gilbert chain, exactly", best.to_string(), "");
    }
    lines.render()
}
