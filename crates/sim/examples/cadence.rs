//! Compares Cadence with the standard MAC and with the schemes of paper 002, on the same seeds.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example cadence [-- RUNS [SECONDS]]
//! ```
//!
//! Each line is a string of 802.11 stations. It shows the throughput of the standard MAC, of the best of four schemes
//! (standard MAC and adaptive back-off, each with and without XOR coding), and of Cadence with XOR coding. Then follows
//! the mean of the paired difference between Cadence and the best scheme, with its 95 % half-width. Cadence loses if it
//! is worse by more than 2 % and by more than two half-widths. The exit status is 1 if Cadence loses anywhere, or if two
//! flows share unfairly: if the smaller one gets less than a third of the sum.

use ripstop_sim::engine::{Sample, Statistic};
use ripstop_sim::scenario::{Scenario, run};
use std::process::ExitCode;

/// The schemes that Cadence is compared with: name, and the settings of the medium.
const OTHERS: [(&str, &str); 4] = [
    ("standard", ""),
    ("XOR", "xor = true\n"),
    ("adaptive", "backoff = \"adaptive\"\n"),
    ("XOR + adaptive", "xor = true\nbackoff = \"adaptive\"\n"),
];
/// The settings of the medium with Cadence.
const CADENCE: &str = "xor = true\nbackoff = \"cadence\"\n";

/// A string, and the flows over it.
#[derive(Clone, Copy)]
struct Case {
    nodes: u32,
    window: u32,
    capture: u32,
    flows: Flows,
    routing: &'static str,
    /// Distances between neighbours in m, repeated along the string.
    spacing: &'static [u32],
}

/// The TCP flows over a string.
#[derive(Clone, Copy, PartialEq)]
enum Flows {
    One,
    /// One flow in each direction.
    Opposite,
    /// Two flows in the same direction.
    Same,
}

/// The cases: lengths, windows, two flows, unequal spacing, and AODV.
fn cases() -> Vec<Case> {
    let usual = Case { nodes: 10, window: 20, capture: 20, flows: Flows::One, routing: "static", spacing: &[200] };
    let mut cases = Vec::new();
    for capture in [10, 20] {
        let usual = Case { capture, ..usual };
        cases.extend([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50].map(|window| Case { window, ..usual }));
        cases.extend([3, 4, 5, 6, 7, 8, 12, 15, 20].map(|nodes| Case { nodes, ..usual }));
        cases.extend([(3, 2), (5, 3), (20, 5), (20, 10), (20, 50)].map(|(nodes, window)| Case {
            nodes,
            window,
            ..usual
        }));
        for flows in [Flows::Opposite, Flows::Same] {
            let shapes = [(3, 20), (5, 20), (10, 2), (10, 5), (10, 20), (10, 50), (20, 20)];
            cases.extend(shapes.map(|(nodes, window)| Case { nodes, window, flows, ..usual }));
        }
        let spacings: [&[u32]; 4] = [&[200, 150, 240, 100], &[240, 110, 200], &[120], &[240]];
        for spacing in spacings {
            cases.push(Case { spacing, ..usual });
            cases.push(Case { spacing, window: 5, ..usual });
        }
        cases.push(Case { spacing: &[200, 150, 240, 100], flows: Flows::Opposite, ..usual });
        for (nodes, window) in [(5, 20), (10, 3), (10, 20), (20, 20)] {
            cases.push(Case { nodes, window, routing: "aodv", ..usual });
        }
        cases.push(Case { flows: Flows::Opposite, routing: "aodv", ..usual });
    }
    cases
}

impl Case {
    /// The scenario with these settings of the medium.
    fn scenario(&self, medium: &str, seconds: u32, seed: u32) -> String {
        let mut x = 0;
        let stations: String = (0..self.nodes as usize)
            .map(|k| {
                let line = format!("    {{ name = \"n{k}\", x = \"{x}m\" }},\n");
                x += self.spacing[k % self.spacing.len()];
                line
            })
            .collect();
        let flow = |name: &str, from: u32, to: u32| {
            format!(
                "[[flow]]\nname = \"{name}\"\ntcp = \"newreno\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n\
                 packet = \"1460B\"\nwindow = {}\n",
                self.window
            )
        };
        let last = self.nodes - 1;
        let second = match self.flows {
            Flows::One => String::new(),
            Flows::Opposite => flow("back", last, 0),
            Flows::Same => flow("second", 0, last),
        };
        format!(
            "[run]\nduration = \"{seconds}s\"\nruns = 1\nseed = {seed}\nwarmup = \"5s\"\n\
             [[medium]]\ncapture = {}\nrouting = \"{}\"\n{medium}stations = [\n{stations}]\n{}{second}",
            self.capture,
            self.routing,
            flow("there", 0, last)
        )
    }

    /// The throughput in kbit/s of each flow, for each seed.
    fn measure(&self, medium: &str, runs: u32, seconds: u32) -> Vec<Vec<f64>> {
        let one = |seed| {
            let text = self.scenario(medium, seconds, seed);
            let scenario = Scenario::parse(&text).expect("the scenario is valid");
            let report = run(&scenario, 1, || ()).expect("the scenario runs");
            // 1500 bytes for each packet of 1460.
            report.flows.iter().map(|flow| flow.goodput_bps.mean.unwrap_or(0.0) * 1500.0 / 1460.0 / 1e3).collect()
        };
        (1..=runs).map(one).collect()
    }

    fn words(&self) -> String {
        let flows = match self.flows {
            Flows::One => "",
            Flows::Opposite => ", both ways",
            Flows::Same => ", two flows",
        };
        let routing = if self.routing == "aodv" { ", AODV" } else { "" };
        let spacing = if self.spacing == [200] { String::new() } else { format!(", spacing {:?} m", self.spacing) };
        format!("capture {}, n {}, W {}{flows}{routing}{spacing}", self.capture, self.nodes, self.window)
    }
}

fn sums(runs: &[Vec<f64>]) -> Vec<f64> {
    runs.iter().map(|flows| flows.iter().sum()).collect()
}

fn statistic(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let mut sample = Sample::default();
    values.into_iter().for_each(|value| sample.push(value));
    let Statistic { mean, ci95, .. } = sample.statistic();
    (mean.unwrap_or(0.0), ci95.unwrap_or(0.0))
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u32>());
    let (Ok(runs @ 2..), Ok(seconds @ 10..), None) =
        (numbers.next().unwrap_or(Ok(30)), numbers.next().unwrap_or(Ok(50)), numbers.next())
    else {
        eprintln!("usage: cadence [RUNS [SECONDS]], at least 2 runs and 10 seconds");
        return ExitCode::from(2);
    };
    println!(
        "{:60} {:>8} {:>8} {:>8}  {:>14}  {:>6}  best other",
        "kbit/s", "standard", "best", "cadence", "difference", "share"
    );
    let (mut losses, mut unfair) = (0, 0);
    for case in cases() {
        let others: Vec<Vec<f64>> =
            OTHERS.iter().map(|(_, medium)| sums(&case.measure(medium, runs, seconds))).collect();
        let means: Vec<f64> = others.iter().map(|values| statistic(values.iter().copied()).0).collect();
        let best = (0..means.len()).max_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0);
        let own = case.measure(CADENCE, runs, seconds);
        let own_sums = sums(&own);
        let (mean, _) = statistic(own_sums.iter().copied());
        let (difference, half) = statistic(own_sums.iter().zip(&others[best]).map(|(own, other)| own - other));
        let loses = difference < -0.02 * means[best] && difference < -2.0 * half;
        losses += u32::from(loses);
        let smaller =
            |flows: &Vec<f64>| flows.iter().copied().fold(f64::INFINITY, f64::min) / flows.iter().sum::<f64>();
        let (share, _) = statistic(own.iter().map(smaller));
        let is_unfair = case.flows != Flows::One && share < 1.0 / 3.0;
        unfair += u32::from(is_unfair);
        println!(
            "{:60} {:8.0} {:8.0} {mean:8.0}  {difference:+7.0} ± {half:4.0}  {:>6}  {}{}{}",
            case.words(),
            means[0],
            means[best],
            if case.flows == Flows::One { "-".to_owned() } else { format!("{share:.2}") },
            OTHERS[best].0,
            if loses { "  LOSES" } else { "" },
            if is_unfair { "  UNFAIR" } else { "" },
        );
    }
    println!("{losses} cases lost, {unfair} cases unfair");
    if losses + unfair == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
