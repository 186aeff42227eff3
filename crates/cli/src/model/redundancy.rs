//! `ripstop model redundancy`: the redundancy that TCP/NC needs.

use super::arguments::{Named, answer, count};
use super::print::{self, Lines};
use crate::failure::Outcome;
use crate::output;
use clap::ValueEnum;
use ripstop_base::Fraction;
use ripstop_model::redundancy::{RedundancyRounding, mask_probability, redundancy};
use serde::Serialize;

/// The redundancy that masks the losses of a round (paper 000, section VI-B)
///
/// For W packets of data, R W packets are sent in a round, so a round tolerates W lost packets. The command
/// computes the smallest R, in steps of 0.01, for which the losses stay within this limit with a probability of at least
/// --target.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// p: loss probability
    #[arg(long, value_name = "SHARE")]
    loss: Fraction,
    /// W: number of data packets in a round
    #[arg(long, value_name = "PACKETS", default_value = "50", value_parser = count)]
    window: u32,
    /// The required probability that the losses of a round are masked; less than 1
    #[arg(long, value_name = "SHARE", default_value = "0.8")]
    target: Fraction,
    /// How R W (packets sent) and W (R-1) (tolerated losses) are rounded. `ceil`: both up. `floor`: both down.
    /// `continuous`: no rounding. `gamma`: only W is rounded, down, and gamma functions extend the binomial
    /// coefficients to a real R W
    #[arg(long, value_name = "READING", default_value = "ceil")]
    reading: Reading,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Reading {
    Ceil,
    Floor,
    Continuous,
    Gamma,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model redundancy --loss 9.63% --window 50 --target 0.8
  ripstop model redundancy --loss 18.55% --reading floor
  ripstop model redundancy --loss 1% --window 200 --target 99% --json";

const NAMED: Named = &[
    ("the loss probability", "--loss"),
    ("the window in packets", "--window"),
    ("the target probability", "--target"),
];

#[derive(Serialize)]
struct Report {
    redundancy: f64,
    mask_probability: f64,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let (loss, window) = (flags.loss.get(), flags.window);
    let rounding = match flags.reading {
        Reading::Ceil => RedundancyRounding::Ceil,
        Reading::Floor => RedundancyRounding::Floor,
        Reading::Continuous => RedundancyRounding::Continuous,
        Reading::Gamma => RedundancyRounding::Gamma,
    };
    let chosen = answer(redundancy(loss, window, flags.target.get(), rounding), NAMED)?;
    let masked = answer(mask_probability(loss, window, chosen, rounding), NAMED)?;
    if flags.json {
        return output::json(&Report { redundancy: chosen, mask_probability: masked });
    }
    let mut lines = Lines::new();
    lines.line("redundancy", print::number(chosen, ""), "R");
    lines.line("losses of a round are masked", print::percent(masked), "in this share of all rounds");
    // A loss of 1 was refused above, so the quotient is finite.
    lines.line("redundancy for the mean loss", print::number(1.0 / (1.0 - loss), ""), "1/(1-p)");
    output::print(&lines.render())
}
