//! The cells: figures, bounds, and which bounds hold.

use std::fmt;
use std::time::Instant;

/// The limit of lateness, in seconds. If 1 packet in 100 is later than this, the machine gives no valid result. In
/// virtual time, hosts that wait up to 15 ms for a processor (1 % of packets later than 6 ms) carry 1 to 4 % less.
pub(crate) const LATE: f64 = 2e-3;

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// From the first to the second value.
    Within(f64, f64),
}

/// A figure of one run, with the lateness of the emulator in this run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) value: f64,
    /// The 99th percentile of how late the emulator's packets were, s.
    pub(crate) late_s: f64,
}

/// All cells so far.
#[derive(Debug)]
pub(crate) struct Report {
    runs: u64,
    start: Instant,
    subject: String,
    held: usize,
    /// The lines of the cells that miss their bounds, and of the subjects that failed.
    misses: Vec<String>,
}

impl Bound {
    /// Whether the value meets the bound. NaN meets no bound.
    pub(crate) fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtLeast(least) => value >= least,
            Bound::AtMost(most) => value <= most,
            Bound::Within(least, most) => value >= least && value <= most,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtLeast(least) => write!(f, "at least {least:.3}"),
            Bound::AtMost(most) => write!(f, "at most {most:.3}"),
            Bound::Within(least, most) => write!(f, "{least:.3} to {most:.3}"),
        }
    }
}

impl Report {
    pub(crate) fn new(runs: u64) -> Report {
        Report { runs, start: Instant::now(), subject: String::new(), held: 0, misses: Vec::new() }
    }

    /// The seeds of the runs.
    pub(crate) fn seeds(&self) -> std::ops::RangeInclusive<u64> {
        1..=self.runs
    }

    /// Begins a subject.
    pub(crate) fn begin(&mut self, subject: &str) {
        println!("\n{subject} ({} s since the start)", self.start.elapsed().as_secs());
        subject.clone_into(&mut self.subject);
    }

    /// Adds a cell: the median of the samples, and the bound.
    pub(crate) fn cell(&mut self, name: &str, samples: &[Sample], bound: Bound) {
        let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        let late = samples.iter().map(|sample| sample.late_s).fold(0.0, f64::max);
        self.value(name, median(&values), bound, late);
    }

    /// Adds a cell with one figure. `late_s` is the lateness of the emulator; 0 without an emulator.
    pub(crate) fn value(&mut self, name: &str, value: f64, bound: Bound, late_s: f64) {
        let holds = bound.holds(value);
        let busy = if late_s > LATE && !holds {
            format!("; INCONCLUSIVE, the machine is too busy: 1 packet in 100 is {:.1} ms late", 1e3 * late_s)
        } else {
            String::new()
        };
        let line = format!("{name:58} {value:8.3}  {bound}{busy}");
        println!("  {} {line}", if holds { "holds " } else { "MISSES" });
        if holds {
            self.held += 1;
        } else {
            self.misses.push(format!("{}: {line}", self.subject));
        }
    }

    /// Prints a figure without a bound.
    pub(crate) fn note(&self, text: &str) {
        println!("         {text}");
    }

    /// Adds a subject that could not be measured to the end.
    pub(crate) fn failed(&mut self, error: &str) {
        println!("  FAILED {error}");
        self.misses.push(format!("{}: failed: {error}", self.subject));
    }

    /// Prints the count. Returns whether all cells hold.
    pub(crate) fn finish(&self) -> bool {
        println!(
            "\n{} of {} cells hold, {} miss ({} runs, {} s)",
            self.held,
            self.held + self.misses.len(),
            self.misses.len(),
            self.runs,
            self.start.elapsed().as_secs()
        );
        for line in &self.misses {
            println!("  {line}");
        }
        self.misses.is_empty()
    }
}

/// The median. If a value is missing (NaN), the result is NaN, which meets no bound.
pub(crate) fn median(values: &[f64]) -> f64 {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
