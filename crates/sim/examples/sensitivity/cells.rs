//! A cell: a scenario, and the figures that are read from its report.

use ripstop_sim::scenario::{FlowReport, Scenario, ScenarioReport};
use std::fmt::Write;

/// Payload of a TCP segment in a tunnel whose path has an MTU of 1500, bytes.
pub(crate) const TUNNEL_PAYLOAD: f64 = 1384.0;
/// The size of a tunnel's datagram on such a path, bytes.
pub(crate) const TUNNEL_DATAGRAM: f64 = 1500.0;

/// The time of a file that does not arrive, s: twice the length of the run.
const NEVER: f64 = 60.0;

/// A figure of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// Goodput of the first flow, divided by [`Cell::carried`].
    Share,
    /// Bytes that the first tunnel offers, divided by what the policer passes.
    Waste,
    /// Bytes that the first tunnel sends for a useful byte, as a multiple of what headers and losses require.
    Sent,
    /// Goodput of the first flow, divided by the goodput of all flows.
    Part,
    /// Jain's fairness index of all flows.
    Jain,
    /// Goodput of the first flow in the k-th interval, divided by the rate that the link carries then, bit/s.
    Step(usize, f64),
    /// 99th percentile of the time from a request to its answer, s.
    Tail,
    /// Median time until a file has arrived, s.
    File,
}

impl Figure {
    /// The meaning and the unit.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Figure::Share => "goodput, as a share of the rate that the link or the policer carries after the losses",
            Figure::Waste => "bytes offered, divided by the policer's rate",
            Figure::Sent => "bytes sent for a useful byte, as a multiple of what headers and losses require",
            Figure::Part => "part of the tunnel's flow in the goodput of all flows",
            Figure::Jain => "Jain's fairness index",
            Figure::Step(..) => "goodput 4 to 10 s after a step, as a share of the rate after the step",
            Figure::Tail => "99th percentile of the time of a request, s",
            Figure::File => "median time until a file has arrived, s",
        }
    }
}

/// One simulation of the table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The groups to which the cell belongs, each with the figure that it gives them.
    pub(crate) figures: Vec<(&'static str, Figure)>,
    /// The name of the cell within its groups.
    pub(crate) name: String,
    /// The rate of the link or of its policer, times the share of packets that pass, bit/s.
    pub(crate) carried: f64,
    /// Share of packets that pass.
    pub(crate) passes: f64,
    pub(crate) scenario: String,
}

/// A link between `a` and `b`.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// bit/s.
    pub(crate) rate: f64,
    /// s.
    pub(crate) rtt: f64,
    pub(crate) loss: f64,
    /// Mean length of a run of losses, packets.
    pub(crate) burst: f64,
    /// Bandwidth-delay products.
    pub(crate) queue: f64,
    /// Further settings of the direction from `a` to `b`, as TOML.
    pub(crate) more: String,
}

impl Path {
    pub(crate) fn new(mbps: f64, rtt_ms: f64, loss: f64) -> Path {
        Path { rate: mbps * 1e6, rtt: rtt_ms / 1e3, loss, burst: 1.0, queue: 1.0, more: String::new() }
    }

    pub(crate) fn burst(self, burst: f64) -> Path {
        Path { burst, ..self }
    }

    pub(crate) fn queue(self, queue: f64) -> Path {
        Path { queue, ..self }
    }

    /// Adds settings of the direction from `a` to `b`, such as `jitter = "20ms"`.
    pub(crate) fn more(self, more: &str) -> Path {
        Path { more: format!("{}, {more}", self.more), ..self }
    }

    pub(crate) fn toml(&self) -> String {
        let queue = (self.queue * self.rate * self.rtt / 8.0).max(15_000.0).round();
        let loss = match (self.loss, self.burst) {
            (0.0, _) => String::new(),
            (p, 1.0) => format!(", loss = {p}"),
            (p, burst) => format!(", loss = {{ model = \"gilbert\", mean = {p}, burst = {burst} }}"),
        };
        let (rate, delay) = (self.rate, self.rtt / 2.0);
        let way = format!("rate = \"{rate}bit/s\", delay = \"{delay}s\"{loss}");
        format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nforth = {{ {way}, queue = \"{queue}B\"{} }}\nback = {{ {way}, queue = \"{queue}B\" }}\n",
            self.more
        )
    }

    /// The run: a warm-up of 20 round trips and at least 2 s, then `seconds` or 60 round trips.
    pub(crate) fn run(&self, seconds: f64, runs: u32) -> String {
        let warm = (20.0 * self.rtt).max(2.0);
        let length = warm + seconds.max(60.0 * self.rtt);
        format!("[run]\nduration = \"{length}s\"\nwarmup = \"{warm}s\"\nruns = {runs}\nseed = 3\n")
    }

    /// The cell `name` of `traffic` over this path for `seconds`, for one group and its figure.
    pub(crate) fn cell(
        &self,
        group: &'static str,
        name: &str,
        figure: Figure,
        seconds: f64,
        traffic: &Traffic,
        runs: u32,
    ) -> Cell {
        let scenario = format!("{}{}{}", self.run(seconds, runs), self.toml(), traffic.0);
        let passes = 1.0 - self.loss;
        Cell { figures: vec![(group, figure)], name: name.to_owned(), carried: self.rate * passes, passes, scenario }
    }
}

/// What goes over the path, as TOML.
pub(crate) struct Traffic(pub(crate) String);

impl Traffic {
    /// A tunnel with one flow. `more`: settings of the tunnel, as TOML.
    pub(crate) fn tunnel(name: &str, tcp: &str, more: &str) -> Traffic {
        Traffic(String::new()).and_tunnel(name, tcp, more)
    }

    /// Adds a tunnel with one flow.
    pub(crate) fn and_tunnel(mut self, name: &str, tcp: &str, more: &str) -> Traffic {
        let _ = write!(self.0, "[[tunnel]]\nname = \"{name}\"\nbetween = [\"a\", \"b\"]\n{more}\n");
        let tunnel = format!("tunnel = \"{name}\"\n");
        self.flow(name, tcp, 1384, &tunnel)
    }

    /// Adds a flow outside of the tunnels. `more`: settings of the flow, as TOML.
    pub(crate) fn and_plain(self, name: &str, tcp: &str, more: &str) -> Traffic {
        self.flow(name, tcp, 1448, more)
    }

    pub(crate) fn flow(mut self, name: &str, tcp: &str, packet: u32, more: &str) -> Traffic {
        let what = match tcp {
            "greedy" => "udp = { constant = \"40Mbit/s\" }\n".to_owned(),
            tcp => format!("tcp = \"{tcp}\"\nwindow = 40000\nack-every = 2\n"),
        };
        let _ = write!(
            self.0,
            "[[flow]]\nname = \"f-{name}\"\nfrom = \"a\"\nto = \"b\"\npacket = \"{packet}B\"\n{what}{more}"
        );
        self
    }
}

impl Cell {
    /// Whether the cell is `wanted`: a group, or a group and the name of a cell.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        self.figures.iter().any(|(group, _)| *group == wanted || format!("{group}/{}", self.name) == wanted)
    }

    /// Adds a group to which the cell belongs, with another figure.
    pub(crate) fn also(mut self, group: &'static str, figure: Figure) -> Cell {
        self.figures.push((group, figure));
        self
    }

    /// Changes the seed of the runs.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        assert!(self.scenario.contains("seed = 3\n"), "the scenario of each cell must have the line `seed = 3`");
        self.scenario = self.scenario.replacen("seed = 3\n", &format!("seed = {seed}\n"), 1);
    }

    /// Makes fewer runs: a third of them, and at least one.
    pub(crate) fn thin_out(&mut self) {
        let (before, after) = self.scenario.split_once("runs = ").expect("the scenario of each cell has runs");
        let (runs, after) = after.split_once('\n').expect("runs are a line");
        let runs = runs.parse::<u32>().expect("runs are a number").div_ceil(3);
        self.scenario = format!("{before}runs = {runs}\n{after}");
    }

    /// Runs the cell.
    ///
    /// # Errors
    /// The scenario is refused. The error is a sentence.
    pub(crate) fn run(&self) -> Result<ScenarioReport, String> {
        let sample = std::env::var("SAMPLE").map_or(String::new(), |sample| format!("[run]\nsample = \"{sample}\"\n"));
        let text =
            if sample.is_empty() { self.scenario.clone() } else { self.scenario.replacen("[run]\n", &sample, 1) };
        let scenario = Scenario::parse(&text).map_err(|error| format!("{error}\n{}", self.scenario))?;
        ripstop_sim::scenario::run(&scenario, 1, || {}).map_err(|error| error.to_string())
    }

    /// A figure of the cell.
    pub(crate) fn figure(&self, figure: Figure, report: &ScenarioReport) -> f64 {
        let rates = |flows: &[FlowReport]| -> Vec<f64> {
            flows.iter().map(|flow| flow.goodput_bps.mean.unwrap_or(0.0)).collect()
        };
        let each = rates(&report.flows);
        let sum: f64 = each.iter().sum();
        let sent = || report.tunnels[0].directions[0].sent_per_useful.mean.unwrap_or(0.0);
        match figure {
            Figure::Share => each[0] / self.carried,
            Figure::Waste => sent() * each[0] * self.passes / self.carried,
            Figure::Sent => sent() * self.passes * TUNNEL_PAYLOAD / TUNNEL_DATAGRAM,
            Figure::Part => each[0] / sum,
            Figure::Jain => sum * sum / (each.len() as f64 * each.iter().map(|rate| rate * rate).sum::<f64>()),
            Figure::Tail => {
                let tails = report.flows.iter().filter(|flow| flow.name.starts_with('q'));
                tails.filter_map(|flow| flow.completion_s.p99).sum::<f64>() / 4.0
            }
            Figure::File => report.flows[0].completion_s.p50.unwrap_or(NEVER),
            Figure::Step(k, carried) => rates(&report.intervals[k].flows)[0] / carried,
        }
    }
}
