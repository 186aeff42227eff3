//! `ripstop model tcpnc`: the window and throughput of TCP/NC, round by round.

use super::arguments::{Length, Named, answer, length, number};
use super::print::{self, Lines};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Table};
use ripstop_base::{Bytes, Fraction, Rate, Span};
use ripstop_model::domain::EquationForm;
use ripstop_model::redundancy::achievable;
use ripstop_model::tcpnc::{CodedFlow, CodedRound, CodedThroughput, FlowDuration};
use serde::Serialize;

/// TCP/NC's window and throughput (paper 000, equations (17) to (20))
///
/// In each round, the window grows by g = min{1, R (1-p)} packets, up to W_max. In each round, the share g of the
/// window is acknowledged.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// p: loss probability
    #[arg(long, value_name = "SHARE")]
    loss: Fraction,
    /// R: combinations sent for each packet, 1 or more
    #[arg(long, value_name = "R", default_value = "1", value_parser = number)]
    redundancy: f64,
    /// SRTT: length of a round
    #[arg(long, value_name = "TIME", default_value = "800ms")]
    srtt: Span,
    /// W_max: the largest window, in packets
    #[arg(long, value_name = "PACKETS", default_value = "50", value_parser = number)]
    wmax: f64,
    /// `E[W_1]`: the first window, in packets (the paper's table I was computed with 25)
    #[arg(long, value_name = "PACKETS", default_value = "1", value_parser = number)]
    w1: f64,
    /// Duration of the flow; `inf` for an endless flow
    #[arg(long, value_name = "TIME", default_value = "1000s", value_parser = length)]
    duration: Length,
    /// Payload of a packet
    #[arg(long, value_name = "SIZE", default_value = "1000B")]
    packet: Bytes,
    /// Use f(n) of equation (20) and the number of packets of equation (18) as printed
    #[arg(long)]
    as_printed: bool,
    /// C: the rate of a link that coded flows share. With this flag, the command also prints the rate that all these
    /// flows can use together (section VI-C)
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Also print the window and throughput of every round (not with --duration inf)
    #[arg(long)]
    series: bool,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model tcpnc --loss 9.63% --redundancy 1.13 --srtt 828ms
  ripstop model tcpnc --loss 0 --w1 25 --srtt 0.8256 --as-printed         table I, first row
  ripstop model tcpnc --loss 9.63% --redundancy 1.2 --rate 0.7Mbit/s      fig. 14
  ripstop model tcpnc --loss 0 --w1 30 --wmax 90 --duration 80s --series --json    fig. 5";

const NAMED: Named = &[
    ("the loss probability", "--loss"),
    ("the redundancy R", "--redundancy"),
    ("the round-trip time in seconds", "--srtt"),
    ("the largest window in packets", "--wmax"),
    ("the window in packets", "--wmax"),
    ("the first window in packets", "--w1"),
    ("the duration in seconds", "--duration"),
    ("the duration in rounds", "--duration"),
    ("the packet size in bytes", "--packet"),
    ("the rate", "--rate"),
];

/// The largest number of rounds in a series. Nobody could read a longer series.
const MOST_ROUNDS: f64 = 1e6;

#[derive(Serialize)]
struct Report {
    throughput_bps: f64,
    rounds: f64,
    window_final: f64,
    packets_to_wmax: f64,
    achievable_bps: Option<f64>,
    series: Option<Series>,
}

/// Window and throughput, round by round.
#[derive(Serialize)]
struct Series {
    window: Vec<f64>,
    throughput_bps: Vec<f64>,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let flow = CodedFlow {
        loss: flags.loss.get(),
        redundancy: flags.redundancy,
        srtt: flags.srtt.duration().as_secs_f64(),
        first_window: flags.w1,
        max_window: flags.wmax,
        packet_bytes: flags.packet.get() as f64,
        duration: match flags.duration {
            Length::Seconds(seconds) => FlowDuration::Seconds(seconds),
            Length::Infinite => FlowDuration::Infinite,
        },
        form: if flags.as_printed { EquationForm::AsPrinted } else { EquationForm::Corrected },
    };
    let got = answer(flow.predict(), NAMED)?;
    let of_link = |rate: Rate| answer(achievable(rate.bps() as f64, flow.loss, flow.redundancy), NAMED);
    let achievable_bps = flags.rate.map(of_link).transpose()?;
    let rounds = if flags.series { Some(rounds(&flow, got.rounds)?) } else { None };
    if !flags.json {
        return output::print(&table(&flow, &got, achievable_bps, rounds.as_deref()));
    }
    let series = rounds.map(|rounds| Series {
        window: rounds.iter().map(|round| round.window).collect(),
        throughput_bps: rounds.iter().map(|round| round.throughput_bps).collect(),
    });
    output::json(&Report {
        throughput_bps: got.throughput_bps,
        rounds: got.rounds,
        window_final: got.window_final,
        packets_to_wmax: got.packets_to_wmax,
        achievable_bps,
        series,
    })
}

/// All rounds that begin before the flow ends.
fn rounds(flow: &CodedFlow, rounds: f64) -> Outcome<Vec<CodedRound>> {
    if rounds > MOST_ROUNDS {
        let problem = format!(
            "a series of {} rounds is too long; write a --duration that holds at most {MOST_ROUNDS} rounds (a round lasts --srtt)",
            print::number(rounds, "")
        );
        return Err(Failure::flag("--series", problem));
    }
    // A flow of 1000 s has 1250 rounds of 0.8 s, even if rounding errors make the quotient larger than 1250.
    let begun = (rounds * (1.0 - 1e-12)).ceil() as usize;
    Ok(answer(flow.series(), NAMED)?.take(begun).collect())
}

fn table(
    flow: &CodedFlow,
    got: &CodedThroughput,
    achievable_bps: Option<f64>,
    rounds: Option<&[CodedRound]>,
) -> String {
    let mut lines = Lines::new();
    lines.line("throughput", print::rate(got.throughput_bps), "(20)");
    if let Some(bps) = achievable_bps {
        lines.line("rate that coded flows can use", print::rate(bps), "min{C (1-p), C/R}, all flows together");
    }
    lines.line(
        "a round acknowledges",
        print::percent((flow.redundancy * (1.0 - flow.loss)).min(1.0)),
        "of the window: g = min{1, R (1-p)}",
    );
    lines.line("rounds", print::number(got.rounds, ""), "");
    lines.line("window at the end", print::number(got.window_final, "packets"), "(17)");
    lines.line("sent until the window is full", print::number(got.packets_to_wmax, "packets"), "fig. 6, (18)");
    let mut text = lines.render();
    if let Some(rounds) = rounds {
        let mut table = Table::titled(["round", "window", "throughput"]);
        for (i, round) in rounds.iter().enumerate() {
            table.row([(i + 1).to_string(), print::number(round.window, ""), print::rate(round.throughput_bps)]);
        }
        text += &format!("\n{}", table.render());
    }
    text
}
