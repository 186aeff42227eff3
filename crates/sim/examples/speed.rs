//! Compares the speed of the simulator with the speed of ns-2. `make bench` runs this program.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example speed [-- --json] [--repeats 3] [--case TEXT]
//! ```
//!
//! `--case` selects the cases whose names contain the text. For each case, the simulator and ns-2 run one after the
//! other, `--repeats` times, each time with another seed. A ratio is the median over these pairs of runs, so other load
//! on the machine has little effect. Times are CPU times of one thread.
//!
//! A comparison is void if ns-2's script makes fewer than 4 million events per CPU second. It is also void if both
//! simulators simulate the same network and their mean deliveries differ too much: by more than 5 %, and by more than 2
//! sqrt(a^2 + b^2). Here a and b are the half-widths of the 95 % intervals. Without ns-2 (Debian package `ns2`) only
//! the simulator's figures are printed.
//!
//! The second table has the events per CPU second by the number of flows. The last table has the
//! peak memory of runs of 1000 s and of runs 100 times as long, each in its own process.

use ripstop_sim::engine::{Sample, Statistic};
use ripstop_sim::scenario::{Scenario, run};
use serde::Serialize;
use std::process::{Command, ExitCode};

/// The fewest events per CPU second of ns-2 for a valid comparison. Fewer events mean that ns-2 or
/// the machine was slowed down. Half the value accepts slower runs of ns-2, which flatter the
/// simulator; double the value voids more comparisons.
const VALID: f64 = 4e6;

fn main() -> ExitCode {
    let (mut json, mut repeats, mut wanted) = (false, 3, String::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.len()) {
            ("--json", _) => json = true,
            ("--repeats", 1..) => match args.next().and_then(|n| n.parse().ok()) {
                Some(n) if n > 0 => repeats = n,
                _ => return usage(),
            },
            ("--case", 1..) => wanted = args.next().unwrap_or_default(),
            ("--memory", 2..) => {
                let found = args.next().zip(args.next()).and_then(|(case, span)| memory_of(&case, &span));
                return found.map_or_else(usage, |bytes| {
                    println!("{bytes}");
                    ExitCode::SUCCESS
                });
            }
            _ => return usage(),
        }
    }
    let say = |line: String| {
        if !json {
            println!("{line}");
        }
    };
    say(Comparison::head());
    let comparison = |case: &Case| {
        let comparison = case.compare(repeats);
        say(comparison.line());
        comparison
    };
    let comparisons: Vec<Comparison> =
        CASES.iter().filter(|case| case.name.contains(&wanted)).map(comparison).collect();
    if comparisons.iter().any(|c| c.ratio.is_none()) {
        eprintln!(
            "ns-2 (Debian package `ns2`) is not installed or does not run; printing only the simulator's figures"
        );
    }
    if !wanted.is_empty() {
        return ExitCode::SUCCESS;
    }
    say("\nflows over one chain: events (millions) per CPU second".into());
    let flows = [1, 10, 100, 1000, 10_000].map(|flows| {
        let measured = Flows::measure(flows);
        say(format!("{flows:30} {:>18.1}", measured.events_per_cpu_s * 1e-6));
        measured
    });
    say("\npeak memory of a run of 1000 s and of a run of 100 000 s, MB".into());
    let memory = |case: &&'static str| {
        let measured = Memory::measure(case)?;
        let [short, long] = [measured.peak_bytes_1000_s, measured.peak_bytes_100000_s].map(|bytes| bytes as f64 * 1e-6);
        say(format!("{case:30} {short:>10.1} {long:>7.1}"));
        Some(measured)
    };
    let memory = ["plain", "block code", "TCP/NC"].iter().filter_map(memory).collect();
    if json {
        match serde_json::to_string(&Report { comparisons, flows: flows.into(), memory }) {
            Ok(text) => println!("{text}"),
            Err(_) => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: speed [--json] [--repeats N] [--case TEXT], N at least 1");
    ExitCode::from(2)
}

/// Paper 000's chain, as in ns-2's case 000-T1.
fn chain(duration: &str, seed: u64, loss: &str, flow: &str) -> String {
    let link = |k: u32| {
        format!(
            "[[link]]\nbetween = [\"n{k}\", \"n{}\"]\n\
             forth = {{ rate = \"2Mbit/s\", delay = \"100ms\", queue = \"200\", loss = \"{loss}\" }}\n",
            k + 1
        )
    };
    let links: String = (0..4).map(link).collect();
    format!("{}{links}[[flow]]\nfrom = \"n0\"\nto = \"n4\"\n{flow}\n", head(duration, seed, ""))
}

/// Paper 003's link: 20 units and two repair units in each block.
fn coded_link(duration: &str, seed: u64) -> String {
    let link = "[[link]]\nbetween = [\"a\", \"b\"]\n\
        forth = { rate = \"1.272Mbit/s\", delay = \"280ms\", queue = \"100\", \
        fec = { k = 20, n = 22, unit = \"53B\", loss = \"1%\" } }\nback = { delay = \"280ms\" }\n";
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\ntcp = \"reno\"\nwindow = 100000\npacket = \"1020B\"\n";
    head(duration, seed, "unit = \"53B\"\nwarmup = \"100s\"\n") + link + flow
}

/// Paper 002's string: ten stations, one TCP with a window of 20, as in ns-2's case 002-W.
fn string(duration: &str, seed: u64) -> String {
    let station = |k: u32| format!("    {{ name = \"n{k}\", x = \"{}m\" }},\n", 200 * k);
    let stations: String = (0..10).map(station).collect();
    let medium = format!("[[medium]]\ncapture = 20\nstations = [\n{stations}]\n");
    let flow = "[[flow]]\nfrom = \"n0\"\nto = \"n9\"\npacket = \"1460B\"\nwindow = 20\n";
    head(duration, seed, "warmup = \"5s\"\n") + &medium + flow
}

/// The `[run]` section of a scenario.
fn head(duration: &str, seed: u64, more: &str) -> String {
    format!("[run]\nduration = \"{duration}\"\nruns = 1\nseed = {seed}\n{more}")
}

/// A case that both simulators run.
struct Case {
    name: &'static str,
    /// The ratio that must be reached. None if there is no requirement.
    need: Option<f64>,
    /// Virtual seconds that the simulator runs, and that ns-2 runs.
    spans: (u32, u32),
    /// Makes the simulator's scenario from a duration and a seed.
    ours: fn(&str, u64) -> String,
    /// The Tcl script of ns-2.
    script: &'static str,
    /// The arguments of the script.
    arguments: &'static [&'static str],
    /// Whether ns-2 simulates the same network, so that both must deliver the same amount.
    same: bool,
}

const RENO: &str = "count = 2\ntcp = \"reno\"";
const CODED: &str = "count = 2\ntcp = \"reno\"\nnc = { redundancy = 1.13 }";

const CASES: &[Case] = &[
    Case {
        name: "000-T1 q = 0",
        need: Some(2.0),
        spans: (20_000, 5_000),
        ours: |span, seed| chain(span, seed, "0%", RENO),
        script: "tandem.tcl",
        arguments: &["-variant", "Reno", "-q", "0"],
        same: true,
    },
    Case {
        name: "000-T1 q = .005",
        need: None,
        spans: (100_000, 25_000),
        ours: |span, seed| chain(span, seed, "0.5%", RENO),
        script: "tandem.tcl",
        arguments: &["-variant", "Reno", "-q", ".005"],
        same: true,
    },
    Case {
        name: "000-T1 q = .015",
        need: None,
        spans: (100_000, 25_000),
        ours: |span, seed| chain(span, seed, "1.5%", RENO),
        script: "tandem.tcl",
        arguments: &["-variant", "Reno", "-q", ".015"],
        same: true,
    },
    Case {
        name: "000-T1 q = .05",
        need: None,
        spans: (200_000, 50_000),
        ours: |span, seed| chain(span, seed, "5%", RENO),
        script: "tandem.tcl",
        arguments: &["-variant", "Reno", "-q", ".05"],
        same: true,
    },
    Case {
        name: "TCP/NC q = .025 / plain q = 0",
        need: Some(1.0),
        spans: (5_000, 5_000),
        ours: |span, seed| chain(span, seed, "2.5%", CODED),
        script: "tandem.tcl",
        arguments: &["-variant", "Reno", "-q", "0"],
        same: false,
    },
    Case {
        name: "003 K = 20 N = 22 p = .01",
        need: None,
        spans: (100_000, 50_000),
        ours: coded_link,
        script: "fec.tcl",
        arguments: &["-variant", "Reno", "-k", "20", "-n", "22", "-p", ".01"],
        same: true,
    },
    Case {
        name: "002-W n = 10 W = 20 capture 20",
        need: Some(6.0),
        spans: (2_000, 1_000),
        ours: string,
        script: "string.tcl",
        arguments: &["-n", "10", "-window", "20", "-capture", "20"],
        same: true,
    },
];

/// The measurements of one run of one simulator.
struct Done {
    /// Virtual seconds.
    simulated: f64,
    /// CPU seconds.
    cpu: f64,
    /// Events processed.
    events: f64,
    /// What was delivered. Case 003: throughput of all flows, units/s. Case 002: throughput of all flows, bit/s, with
    /// 1500 bytes for each packet. Other cases: mean goodput of a flow, bit/s.
    delivered: f64,
}

impl Done {
    fn speed(&self) -> f64 {
        self.simulated / self.cpu
    }

    fn rate(&self) -> f64 {
        self.events / self.cpu
    }
}

impl Case {
    fn compare(&self, repeats: u64) -> Comparison {
        let mut pairs = Vec::new();
        let mut alone = Vec::new();
        for seed in 1..=repeats {
            let ours = simulate(&(self.ours)(&format!("{}s", self.spans.0), seed));
            match self.ns2(seed) {
                Some(theirs) => pairs.push((ours, theirs)),
                None => alone.push(ours),
            }
        }
        let ours = |value: fn(&Done) -> f64| -> Vec<f64> {
            pairs.iter().map(|(ours, _)| ours).chain(&alone).map(value).collect()
        };
        let theirs =
            |value: fn(&Done) -> f64| -> Vec<f64> { pairs.iter().map(|(_, theirs)| theirs).map(value).collect() };
        let mut comparison = Comparison {
            case: self.name,
            need: self.need,
            ours_sim_s_per_cpu_s: median(ours(Done::speed)),
            ours_events_per_cpu_s: median(ours(Done::rate)),
            ours_delivered: statistic(ours(|done| done.delivered)),
            ns2_sim_s_per_cpu_s: median(theirs(Done::speed)),
            ns2_events_per_cpu_s: median(theirs(Done::rate)),
            ns2_delivered: statistic(theirs(|done| done.delivered)),
            ratio: median(pairs.iter().map(|(ours, theirs)| ours.speed() / theirs.speed()).collect()),
            void: None,
        };
        comparison.void = comparison.flaw(self.same);
        comparison
    }

    /// Runs ns-2. None if ns-2 is missing, or if it prints something unexpected.
    fn ns2(&self, seed: u64) -> Option<Done> {
        let script = format!("{}/../../tools/ns2/{}", env!("CARGO_MANIFEST_DIR"), self.script);
        let (seed, duration) = (seed.to_string(), self.spans.1.to_string());
        let mut command = Command::new("ns");
        command.arg(script).args(["-seed", &seed, "-duration", &duration]);
        let output = command.args(self.arguments).output().ok().filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let value = |key: &str| words.chunks_exact(2).find(|pair| pair[0] == key)?[1].parse::<f64>().ok();
        let string = value("thr1500").map(|kbit| 1e3 * kbit);
        let delivered = value("goodput").map(|mbit| 1e6 * mbit).or(value("throughput")).or(string)?;
        Some(Done { simulated: value("simulated")?, cpu: value("cpu")?.max(0.01), events: value("events")?, delivered })
    }
}

/// Runs a scenario in the simulator.
fn simulate(text: &str) -> Done {
    let scenario = Scenario::parse(text).expect("the scenario is valid");
    let began = cpu();
    let report = run(&scenario, 1, || ()).expect("the run succeeds");
    let cpu = cpu() - began;
    let units = report.throughput_units_per_s.as_ref().and_then(|units| units.mean);
    let string = report.summary.throughput_ip_bps.and_then(|throughput| throughput.mean);
    let delivered = units.or(string).or(report.goodput_bps.mean).unwrap_or(0.0);
    Done { simulated: report.sim_s, cpu, events: report.events as f64, delivered }
}

/// CPU time of this thread so far, s (proc(5), `schedstat`).
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn statistic(values: Vec<f64>) -> Statistic {
    values.into_iter().collect::<Sample>().statistic()
}

#[derive(Serialize)]
struct Report {
    comparisons: Vec<Comparison>,
    flows: Vec<Flows>,
    memory: Vec<Memory>,
}

/// The comparison of one case.
#[derive(Serialize)]
struct Comparison {
    case: &'static str,
    need: Option<f64>,
    ours_sim_s_per_cpu_s: Option<f64>,
    ours_events_per_cpu_s: Option<f64>,
    /// See [`Done::delivered`].
    ours_delivered: Statistic,
    ns2_sim_s_per_cpu_s: Option<f64>,
    ns2_events_per_cpu_s: Option<f64>,
    ns2_delivered: Statistic,
    /// Simulated seconds per CPU second of the simulator, divided by simulated seconds per CPU second of ns-2. This is
    /// the median of the pairs.
    ratio: Option<f64>,
    /// Why the ratio is void.
    void: Option<String>,
}

impl Comparison {
    fn head() -> String {
        format!(
            "simulated seconds and events (millions) per CPU second, one thread\n\
             {:30} {:>10} {:>7} {:>10} {:>7} {:>7} {:>6}",
            "case", "ours", "events", "ns-2", "events", "ratio", "need"
        )
    }

    fn line(&self) -> String {
        let whole = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.0}"));
        let millions = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.1}", x * 1e-6));
        let verdict = match (&self.void, self.ratio, self.need) {
            (Some(flaw), ..) => format!("void: {flaw}"),
            (None, Some(ratio), Some(need)) if ratio >= need => format!("{need:>6} reached"),
            (None, Some(_), Some(need)) => format!("{need:>6} NOT REACHED"),
            _ => format!("{:>6}", "-"),
        };
        format!(
            "{:30} {:>10} {:>7} {:>10} {:>7} {:>7} {verdict}",
            self.case,
            whole(self.ours_sim_s_per_cpu_s),
            millions(self.ours_events_per_cpu_s),
            whole(self.ns2_sim_s_per_cpu_s),
            millions(self.ns2_events_per_cpu_s),
            self.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        )
    }

    fn flaw(&self, same: bool) -> Option<String> {
        let rate = self.ns2_events_per_cpu_s?;
        if rate < VALID {
            return Some(format!(
                "ns-2 makes {:.1} million events per CPU second; at least {:.0} million are needed",
                rate * 1e-6,
                VALID * 1e-6
            ));
        }
        let (ours, theirs) = (self.ours_delivered.mean?, self.ns2_delivered.mean?);
        let wide = |s: &Statistic| s.ci95.unwrap_or(0.0);
        let both = wide(&self.ours_delivered).hypot(wide(&self.ns2_delivered));
        let apart = (ours - theirs).abs();
        (same && apart > (0.05 * theirs).max(2.0 * both))
            .then(|| format!("the simulator delivers {ours:.0}, and ns-2 delivers {theirs:.0}"))
    }
}

/// The chain with many flows.
#[derive(Serialize)]
struct Flows {
    flows: u32,
    events_per_cpu_s: f64,
}

impl Flows {
    fn measure(flows: u32) -> Flows {
        // At most 40 packets per flow are in flight, and the links' rate grows with the number of flows. Up to 5000
        // flows, the number of events therefore hardly depends on the number of flows.
        let seconds = (20_000 / flows).max(4);
        let rate = format!("{}Mbit/s", 2 * flows.max(1));
        let flow = format!("count = {flows}\ntcp = \"reno\"\nwindow = 40");
        let text = chain(&format!("{seconds}s"), 1, "0%", &flow);
        let text = text.replace("2Mbit/s", &rate).replace("\"200\"", &format!("\"{}\"", 200 * flows));
        Flows { flows, events_per_cpu_s: simulate(&text).rate() }
    }
}

/// The peak memory of a process.
#[derive(Serialize)]
struct Memory {
    case: &'static str,
    peak_bytes_1000_s: u64,
    peak_bytes_100000_s: u64,
}

impl Memory {
    fn measure(case: &'static str) -> Option<Memory> {
        let peak = |span: &str| -> Option<u64> {
            let own = std::env::current_exe().ok()?;
            let output = Command::new(own).args(["--memory", case, span]).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        Some(Memory { case, peak_bytes_1000_s: peak("1000s")?, peak_bytes_100000_s: peak("100000s")? })
    }
}

/// The peak memory of this process after a run, bytes (proc(5), `status`).
fn memory_of(case: &str, span: &str) -> Option<u64> {
    let text = match case {
        "plain" => chain(span, 1, "0%", RENO),
        "block code" => coded_link(span, 1),
        "TCP/NC" => chain(span, 1, "2.5%", "count = 2\ntcp = \"reno\"\nnc = { redundancy = 1.2 }"),
        _ => return None,
    };
    run(&Scenario::parse(&text).ok()?, 1, || ()).ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
