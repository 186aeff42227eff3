//! `ripstop speed`: measures how fast this machine does the tunnel's computations, and compares the
//! figures with the speeds of simpler computations.

mod report;

use crate::failure::{Failure, Outcome};
use crate::output;
use report::Report;
use ripstop_base::Span;
use ripstop_gf256::Kernel;
use ripstop_net::speed::{self, FIGURES};
use std::time::Duration;

/// Measure this machine's GF(256) kernels, coders, AEAD and whole data path
///
/// The measured coders and session are the tunnel's own code. A figure is the speed of one computation. The figure's
/// anchor is the speed of a simpler computation. Each of many rounds measures the figure and the anchor, for a
/// fraction of a millisecond each. Other load on the machine therefore affects the figure and the anchor alike. The
/// ratio is figure / anchor, and the printed ratio is the median over all rounds. Uses one core.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "3s")]
    seconds: Span,
    /// Measure only these figures (keys of the JSON object, separated by commas) and their anchors
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop speed
  ripstop speed --json --seconds 10s
  ripstop speed --only rlnc_recover_gbps,rlnc_dense_decode_gbps
  RIPSTOP_GF256=avx2 ripstop speed    use the kernel avx2 instead of the fastest kernel; the kernels
                                      are gfni512, gfni256, avx2 and portable";

/// Runs the measurements and prints the figures.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let seconds = flags.seconds.duration();
    if seconds.is_zero() || seconds > Duration::from_secs(3600) {
        let problem = format!("{} is not a possible time; write more than 0s and at most 1h", flags.seconds);
        return Err(Failure::flag("--seconds", problem));
    }
    if let Some(unknown) = flags.only.iter().find(|name| !FIGURES.iter().any(|f| f.key == **name)) {
        let keys: Vec<&str> = FIGURES.iter().map(|figure| figure.key).collect();
        let problem = format!("there is no figure `{unknown}`; write one or more of {}", keys.join(", "));
        return Err(Failure::flag("--only", problem));
    }
    let wanted = |key: &str| flags.only.is_empty() || flags.only.iter().any(|name| name == key);
    let results = speed::measure(seconds, &speed::with_anchors(wanted));
    let report = Report::new(Kernel::chosen(), &results);
    if let Some(warning) = Kernel::warning() {
        output::note(format_args!("warning: RIPSTOP_GF256: {warning}; using {}", Kernel::chosen().name()));
    }
    if flags.json { output::json(&report.json()) } else { output::print(&report.table()) }
}
