//! `ripstop model tcp`: TCP over a path that loses packets at random.

use super::arguments::{Named, answer, count, number};
use super::print::{self, Lines};
use crate::failure::Outcome;
use crate::output;
use clap::ValueEnum;
use ripstop_base::{Bytes, Fraction, Span};
use ripstop_model::prediction::{ConnectionPrediction, TcpConnection};
use ripstop_model::tcp::{TimeOutDuration, WindowReading};
use serde::Serialize;

/// TCP's throughput over a lossy path (paper 000, equations (1) to (16))
///
/// The defaults of the flags are the values of the paper's table I. With these defaults, the mean window in equation
/// (13) is rounded down. The duration of time-outs is that of equation (15), as printed in the paper.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// p: loss probability
    #[arg(long, value_name = "SHARE")]
    loss: Fraction,
    /// RTT: length of a round
    #[arg(long, value_name = "TIME", default_value = "800ms")]
    rtt: Span,
    /// The first time-out (T_o in the paper, which counts T_o in rounds)
    #[arg(long, value_name = "TIME", default_value = "3s")]
    rto: Span,
    /// W_max: the largest window, in packets
    #[arg(long, value_name = "PACKETS", default_value = "50", value_parser = number)]
    wmax: f64,
    /// Payload of a packet
    #[arg(long, value_name = "SIZE", default_value = "1000B")]
    packet: Bytes,
    /// Number of packets that each acknowledgment acknowledges
    #[arg(long, value_name = "PACKETS", default_value = "1", value_parser = count)]
    ack_every: u32,
    /// Duration of time-outs. `printed`: equation (15). `conditional`: the mean duration of a series of time-outs,
    /// given that the first time-out of the series has occurred (Padhye and others)
    #[arg(long, value_name = "FORM", default_value = "printed")]
    timeout_duration: DurationForm,
    /// How equation (13) rounds the mean window. `floor` reproduces table I
    #[arg(long, value_name = "READING", default_value = "floor")]
    reading: Reading,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DurationForm {
    Printed,
    Conditional,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Reading {
    Floor,
    Nearest,
    Ceil,
    Continuous,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model tcp --loss 1.99% --rtt 800ms --rto 3s --wmax 50 --packet 1000B    table I, second row
  ripstop model tcp --loss 1% --rtt 100ms --ack-every 2 --json
  ripstop model tcp --loss 5% --timeout-duration conditional";

const NAMED: Named = &[
    ("the loss probability", "--loss"),
    ("the round-trip time in seconds", "--rtt"),
    ("the time-out in seconds", "--rto"),
    ("the largest window in packets", "--wmax"),
    ("the packet size in bytes", "--packet"),
    ("the number of packets for each acknowledgment", "--ack-every"),
];

#[derive(Serialize)]
struct Report {
    expected_window: f64,
    rounds_between_td: f64,
    timeout_probability: f64,
    timeout_duration_rounds: f64,
    throughput_td_only_pps: f64,
    throughput_pps: f64,
    throughput_bps: f64,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let connection = TcpConnection {
        loss: flags.loss.get(),
        rtt: flags.rtt.duration().as_secs_f64(),
        first_time_out: flags.rto.duration().as_secs_f64(),
        max_window: flags.wmax,
        packet_bytes: flags.packet.get() as f64,
        ack_every: flags.ack_every,
        window: match flags.reading {
            Reading::Floor => WindowReading::Floor,
            Reading::Nearest => WindowReading::Nearest,
            Reading::Ceil => WindowReading::Ceiling,
            Reading::Continuous => WindowReading::Continuous,
        },
        duration: match flags.timeout_duration {
            DurationForm::Printed => TimeOutDuration::AsPrinted,
            DurationForm::Conditional => TimeOutDuration::Conditional,
        },
    };
    let got = answer(connection.predict(), NAMED)?;
    if flags.json { output::json(&Report::of(got)) } else { output::print(&table(&connection, &got)) }
}

impl Report {
    fn of(got: ConnectionPrediction) -> Report {
        Report {
            expected_window: got.expected_window,
            rounds_between_td: got.rounds_between_td,
            timeout_probability: got.timeout_probability,
            timeout_duration_rounds: got.timeout_duration_rounds,
            throughput_td_only_pps: got.throughput_td_only_pps,
            throughput_pps: got.throughput_pps,
            throughput_bps: got.throughput_bps,
        }
    }
}

fn table(connection: &TcpConnection, got: &ConnectionPrediction) -> String {
    let mut lines = Lines::new();
    lines.line("throughput", print::rate(got.throughput_bps), "(16)");
    lines.line("", print::number(got.throughput_pps, "packets/s"), "");
    let capped = got.throughput_pps >= connection.max_window / connection.rtt;
    lines.line("limited by", if capped { "the window" } else { "losses" }, "");
    lines.line("mean window", print::number(got.expected_window, "packets"), "(10), without the limit --wmax");
    lines.line("rounds between losses", print::number(got.rounds_between_td, ""), "(9)");
    lines.line("losses that end in a time-out", print::percent(got.timeout_probability), "(13)");
    let source = match connection.duration {
        TimeOutDuration::AsPrinted => "(15)",
        TimeOutDuration::Conditional => "mean duration of a series, given its first time-out",
    };
    lines.line("time-outs last", print::number(got.timeout_duration_rounds, "rounds"), source);
    lines.line("without time-outs and --wmax", print::number(got.throughput_td_only_pps, "packets/s"), "(11)");
    lines.render()
}
