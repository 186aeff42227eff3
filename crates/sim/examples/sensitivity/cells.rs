//! The cells of the table: a scenario and the figure that the table shows.

use ripstop_sim::scenario::{Scenario, ScenarioReport};
use std::fmt::Write;

/// What a cell's figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Goodput of the first flow, divided by C (1 - p).
    Share,
    /// Goodput of the first flow, divided by the goodput of all flows.
    Part,
    /// Jain's fairness index of all flows.
    Jain,
    /// Goodput of the first flow in the last interval, divided by C (1 - p) there.
    Step,
    /// 99th percentile of the time from a request to its answer, s.
    Tail,
    /// Median time until a file has arrived, s.
    File,
}

impl Figure {
    /// The meaning and the unit.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Figure::Share => "goodput, as a share of the rate that the link carries after its losses",
            Figure::Part => "part of the tunnel's flow in the goodput of all flows",
            Figure::Jain => "Jain's fairness index",
            Figure::Step => "goodput 4 to 10 s after a step, as a share of the rate after the step",
            Figure::Tail => "99th percentile of the time of a request, s",
            Figure::File => "median time of the first megabyte, s",
        }
    }
}

/// One cell of the table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The row.
    pub(crate) group: &'static str,
    /// The column.
    pub(crate) name: String,
    /// Link rate times the share of packets that pass, bit/s.
    pub(crate) carried: f64,
    /// Share of packets that pass.
    pub(crate) passes: f64,
    pub(crate) figure: Figure,
    pub(crate) scenario: String,
}

/// A link between `a` and `b`.
#[derive(Clone, Debug)]
struct Path {
    rate: f64,
    rtt: f64,
    loss: f64,
    burst: f64,
    /// Bandwidth-delay products.
    queue: f64,
    /// Further settings of the direction from `a` to `b`, as TOML.
    more: &'static str,
}

impl Path {
    fn new(mbps: f64, rtt_ms: f64, loss: f64) -> Path {
        Path { rate: mbps * 1e6, rtt: rtt_ms / 1e3, loss, burst: 1.0, queue: 1.0, more: "" }
    }

    fn queue(self, queue: f64) -> Path {
        Path { queue, ..self }
    }

    fn more(self, more: &'static str) -> Path {
        Path { more, ..self }
    }

    fn toml(&self) -> String {
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

    fn run(&self, seconds: f64, runs: u32) -> String {
        let warm = (20.0 * self.rtt).max(2.0);
        let length = warm + seconds.max(60.0 * self.rtt);
        format!("[run]\nduration = \"{length}s\"\nwarmup = \"{warm}s\"\nruns = {runs}\nseed = 3\n")
    }
}

/// What goes over the path.
struct Traffic(String);

impl Traffic {
    fn new() -> Traffic {
        Traffic(String::new())
    }

    fn tunnel(mut self, name: &str, tcp: &str, more: &str) -> Traffic {
        let _ = write!(self.0, "[[tunnel]]\nname = \"{name}\"\nbetween = [\"a\", \"b\"]\n{more}\n");
        let tunnel = format!("tunnel = \"{name}\"\n");
        self.flow(name, tcp, 1384, &tunnel)
    }

    fn plain(self, name: &str, tcp: &str) -> Traffic {
        self.flow(name, tcp, 1448, "")
    }

    fn flow(mut self, name: &str, tcp: &str, packet: u32, more: &str) -> Traffic {
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

fn cell(group: &'static str, name: String, path: &Path, figure: Figure, traffic: Traffic, runs: u32) -> Cell {
    let seconds = if figure == Figure::Share { 30.0 } else { 90.0 };
    let scenario = format!("{}{}{}", path.run(seconds, runs), path.toml(), traffic.0);
    Cell { group, name, carried: path.rate * (1.0 - path.loss), passes: 1.0 - path.loss, figure, scenario }
}

/// All cells. `tuning` is TOML for each tunnel, such as `tuning = { probe-gain = 1.2 }`.
pub(crate) fn cells(tuning: &str) -> Vec<Cell> {
    let mut all = Vec::new();
    shares(&mut all, tuning);
    beside_cubic(&mut all, tuning);
    steps(&mut all, tuning);
    tails(&mut all, tuning);
    files(&mut all, tuning);
    all
}

fn shares(all: &mut Vec<Cell>, tuning: &str) {
    let mut one = |group, path: &Path, tcp| {
        let traffic = Traffic::new().tunnel("t", tcp, tuning);
        all.push(cell(group, format!("{}%", path.loss * 100.0), path, Figure::Share, traffic, 3));
    };
    for loss in [0.0, 0.001, 0.01, 0.02, 0.05, 0.10, 0.20, 0.30] {
        one("cubic", &Path::new(20.0, 100.0, loss), "linux-cubic");
        one("bbr", &Path::new(20.0, 100.0, loss), "bbr");
    }
    for loss in [0.0, 0.01, 0.05, 0.10] {
        one("cubic-600ms", &Path::new(20.0, 600.0, loss), "linux-cubic");
    }
    for loss in [0.0, 0.02, 0.06, 0.10, 0.185] {
        one("cubic-2M-800ms", &Path::new(2.0, 800.0, loss), "linux-cubic");
    }
    one("cubic-50M-bursts", &Path { burst: 4.0, ..Path::new(50.0, 30.0, 0.05) }, "linux-cubic");
    one("bbr-50M-bursts", &Path { burst: 4.0, ..Path::new(50.0, 30.0, 0.05) }, "bbr");
    one(
        "cubic-policer",
        &Path::new(20.0, 100.0, 0.0).queue(2.0).more(", policer = { rate = \"10Mbit/s\" }"),
        "linux-cubic",
    );
    one("cubic-jitter", &Path::new(20.0, 100.0, 0.01).more(", jitter = \"20ms\""), "linux-cubic");
}

fn beside_cubic(all: &mut Vec<Cell>, tuning: &str) {
    let scavenge = format!("rate = \"scavenge\"\n{tuning}");
    for queue in [0.25, 0.5, 1.0, 2.0, 4.0] {
        let name = || format!("{queue} BDP");
        let path = Path::new(20.0, 100.0, 0.0).queue(queue);
        let pair = |more: &str| Traffic::new().tunnel("t", "linux-cubic", more).plain("c", "linux-cubic");
        all.push(cell("beside-cubic", name(), &path, Figure::Part, pair(tuning), 4));
        all.push(cell("scavenge", name(), &path, Figure::Part, pair(&scavenge), 4));
        let bbr = Traffic::new().tunnel("t", "linux-cubic", tuning).plain("c", "bbr");
        all.push(cell("beside-bbr", name(), &path, Figure::Part, bbr, 2));
        let two = Traffic::new().tunnel("t", "linux-cubic", tuning).tunnel("u", "linux-cubic", tuning);
        all.push(cell("two-tunnels", name(), &path, Figure::Jain, two, 3));
        let four = ["t", "u", "v", "w"].iter().fold(Traffic::new(), |t, name| t.tunnel(name, "linux-cubic", tuning));
        all.push(cell("four-tunnels", name(), &path, Figure::Jain, four, 3));
        for (group, mbps, rtt) in [("beside-cubic-20ms", 20.0, 20.0), ("beside-cubic-300ms", 20.0, 300.0)] {
            let path = Path::new(mbps, rtt, 0.0).queue(queue);
            all.push(cell(group, name(), &path, Figure::Part, pair(tuning), 3));
        }
    }
    for (name, more) in [
        ("codel", ", queue_discipline = \"codel\""),
        ("pie", ", queue_discipline = \"pie\""),
        ("fq", ", queue_discipline = \"fq\""),
    ] {
        let path = Path::new(20.0, 100.0, 0.0).queue(4.0).more(more);
        let pair = Traffic::new().tunnel("t", "linux-cubic", tuning).plain("c", "linux-cubic");
        all.push(cell("beside-cubic-aqm", name.to_owned(), &path, Figure::Part, pair, 4));
        let alone = Traffic::new().tunnel("t", "linux-cubic", tuning);
        all.push(cell("cubic-aqm", name.to_owned(), &path, Figure::Share, alone, 2));
    }
    let path = Path::new(20.0, 100.0, 0.02);
    let pair = Traffic::new().tunnel("t", "linux-cubic", tuning).plain("c", "linux-cubic");
    all.push(cell("beside-cubic-2%", "1 BDP".to_owned(), &path, Figure::Part, pair, 4));
    let alone = Traffic::new().tunnel("t", "linux-cubic", &scavenge);
    all.push(cell("scavenge-alone", "1 BDP".to_owned(), &Path::new(20.0, 100.0, 0.0), Figure::Share, alone, 3));
}

fn steps(all: &mut Vec<Cell>, tuning: &str) {
    let rates = ", schedule = [{ at = \"15s\", rate = \"5Mbit/s\" }, { at = \"30s\", rate = \"20Mbit/s\" }]";
    let losses = ", schedule = [{ at = \"10s\", loss = \"2%\" }, { at = \"20s\", loss = \"10%\" }, { at = \"30s\", loss = \"1%\" }]";
    let mut step = |group, more, tcp, from: f64, carried: f64| {
        let to = from + 6.0;
        let run = format!(
            "[run]\nduration = \"45s\"\nwarmup = \"2s\"\nruns = 3\nseed = 3\nintervals = [[\"{from}s\", \"{to}s\"]]\n"
        );
        let path = Path::new(20.0, 100.0, 0.0).more(more).toml();
        let scenario = format!("{run}{path}{}", Traffic::new().tunnel("t", tcp, tuning).0);
        all.push(Cell { group, name: format!("{from} s"), carried, passes: 1.0, figure: Figure::Step, scenario });
    };
    for tcp in [("step-greedy", "greedy"), ("step-cubic", "linux-cubic"), ("step-bbr", "bbr")] {
        step(tcp.0, rates, tcp.1, 19.0, 5e6);
        step(tcp.0, rates, tcp.1, 34.0, 20e6);
        step(tcp.0, losses, tcp.1, 14.0, 20e6 * 0.98);
        step(tcp.0, losses, tcp.1, 24.0, 20e6 * 0.9);
        step(tcp.0, losses, tcp.1, 34.0, 20e6 * 0.99);
    }
}

/// The first megabyte of a connection through a fresh tunnel.
fn files(all: &mut Vec<Cell>, tuning: &str) {
    for (group, tcp) in [("first-cubic", "linux-cubic"), ("first-bbr", "bbr")] {
        for loss in [0.0, 0.01, 0.02, 0.05, 0.1, 0.2] {
            let path = Path::new(20.0, 100.0, loss);
            let more = "start = \"3s\"\nsource = { file = \"1MB\" }\ntunnel = \"t\"\n";
            let tunnel = format!("[[tunnel]]\nname = \"t\"\nbetween = [\"a\", \"b\"]\n{tuning}\n");
            let traffic = Traffic(tunnel).flow("t", tcp, 1384, more);
            let run = "[run]\nduration = \"12s\"\nwarmup = \"0s\"\nruns = 40\nseed = 3\n";
            let scenario = format!("{run}{}{}", path.toml(), traffic.0);
            let name = format!("{}%", loss * 100.0);
            all.push(Cell { group, name, carried: 1.0, passes: 1.0 - loss, figure: Figure::File, scenario });
        }
    }
}

fn tails(all: &mut Vec<Cell>, tuning: &str) {
    for (group, tcp) in [("tail-cubic", "linux-cubic"), ("tail-bbr", "bbr")] {
        for (loss, bulk) in [(0.01, false), (0.02, false), (0.05, false), (0.1, false), (0.2, false), (0.05, true)] {
            let path = Path::new(20.0, 100.0, loss);
            let tcp_keys =
                format!("tcp = \"{tcp}\"\nwindow = 40000\nack-every = 2\npacket = \"1384B\"\ntunnel = \"t\"\n");
            let mut text = format!("{}{}", path.run(150.0, 4), path.toml());
            let _ = write!(
                text,
                "[[tunnel]]\nname = \"t\"\nbetween = [\"a\", \"b\"]\n{tuning}[[flow]]\nname = \"q\"\nfrom = \"a\"\nto = \"b\"\n\
                 count = 4\nsource = {{ requests = {{ length = \"100B\", think = \"exp:100ms\" }} }}\n{tcp_keys}[[flow]]\nname = \"r\"\n\
                 from = \"b\"\nto = \"a\"\ncount = 4\nsource = {{ answers = {{ to = \"q\", length = \"100B\" }} }}\n{tcp_keys}"
            );
            if bulk {
                let _ = write!(text, "[[flow]]\nname = \"bulk\"\nfrom = \"b\"\nto = \"a\"\n{tcp_keys}");
            }
            let name = format!("{}%{}", loss * 100.0, if bulk { " beside bulk" } else { "" });
            all.push(Cell { group, name, carried: 1.0, passes: 1.0 - loss, figure: Figure::Tail, scenario: text });
        }
    }
}

impl Cell {
    /// Changes the seed of the runs.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        let changed = self.scenario.replacen("seed = 3\n", &format!("seed = {seed}\n"), 1);
        assert_ne!(changed, self.scenario, "the scenario of each cell must have the line `seed = 3`");
        self.scenario = changed;
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

    /// The cell's figure.
    pub(crate) fn figure(&self, report: &ScenarioReport) -> f64 {
        let rates = |flows: &[ripstop_sim::scenario::FlowReport]| -> Vec<f64> {
            flows.iter().map(|flow| flow.goodput_bps.mean.unwrap_or(0.0)).collect()
        };
        let each = rates(&report.flows);
        let sum: f64 = each.iter().sum();
        match self.figure {
            Figure::Share => each[0] / self.carried,
            Figure::Part => each[0] / sum,
            Figure::Jain => sum * sum / (each.len() as f64 * each.iter().map(|rate| rate * rate).sum::<f64>()),
            Figure::Tail => {
                let tails = report.flows.iter().filter(|flow| flow.name.starts_with('q'));
                tails.filter_map(|flow| flow.completion_s.p99).sum::<f64>() / 4.0
            }
            Figure::File => report.flows[0].completion_s.p50.unwrap_or(f64::NAN),
            Figure::Step => rates(&report.intervals[0].flows)[0] / self.carried,
        }
    }
}
