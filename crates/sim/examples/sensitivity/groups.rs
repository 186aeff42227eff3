//! The groups of cells.

use crate::cells::{Cell, Figure, Path, Traffic};
use std::fmt::Write;

/// All cells. `tuning` is TOML for each tunnel, such as `tuning = { probe-gain = 1.2 }`.
pub(crate) fn cells(tuning: &str) -> Vec<Cell> {
    let mut all = Vec::new();
    shares(&mut all, tuning);
    paths(&mut all, tuning);
    policers(&mut all, tuning);
    losses_that_come_and_go(&mut all, tuning);
    beside_cubic(&mut all, tuning);
    beside_bbr(&mut all, tuning);
    marks(&mut all, tuning);
    steps(&mut all, tuning);
    tails(&mut all, tuning);
    files(&mut all, tuning);
    all
}

/// A tunnel alone on a path with random loss.
fn shares(all: &mut Vec<Cell>, tuning: &str) {
    let mut runs = |group, path: &Path, tcp, runs| {
        let name = format!("{}%", path.loss * 100.0);
        all.push(path.cell(group, &name, Figure::Share, 30.0, &Traffic::tunnel("t", tcp, tuning), runs));
    };
    // Slow paths cost little time, and their runs differ much.
    runs("cubic-2M-long-runs", &Path::new(2.0, 782.0, 0.19).burst(18.0), "linux-cubic", 12);
    for (mbps, rtt, loss) in [(1.0, 50.0, 0.0), (1.0, 50.0, 0.3), (0.2, 100.0, 0.05)] {
        runs("cubic-slow", &Path::new(mbps, rtt, loss), "linux-cubic", 9);
    }
    let mut one = |group, path: &Path, tcp| runs(group, path, tcp, 3);
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
    one("cubic-50M-bursts", &Path::new(50.0, 30.0, 0.05).burst(4.0), "linux-cubic");
    one("bbr-50M-bursts", &Path::new(50.0, 30.0, 0.05).burst(4.0), "bbr");
}

/// A tunnel alone on a path whose delay varies.
fn paths(all: &mut Vec<Cell>, tuning: &str) {
    let mut one = |group, name, path: &Path, seconds| {
        all.push(path.cell(group, name, Figure::Share, seconds, &Traffic::tunnel("t", "linux-cubic", tuning), 6));
    };
    let path = |loss| Path::new(20.0, 100.0, loss);
    one("cubic-jitter", "20 ms, 1%", &path(0.01).more("jitter = \"20ms\""), 30.0);
    one("cubic-jitter-50ms", "50 ms, 5%", &path(0.05).more("jitter = \"50ms\""), 30.0);
    let reorder = "reorder = { probability = \"1%\", extra_delay = \"20ms\" }";
    one("cubic-reorder", "1%, 20 ms", &path(0.0).more(reorder), 30.0);
    let longer = "schedule = [{ at = \"12s\", delay = \"80ms\" }]";
    one("cubic-longer-path", "at 12 s, 50 to 80 ms", &path(0.0).more(longer), 58.0);
}

/// Token buckets in front of the link: a shallow one and a deep one, and one that begins on a path with random loss.
fn policers(all: &mut Vec<Cell>, tuning: &str) {
    const RATE: f64 = 10e6;
    let mut one = |groups: [&'static str; 2], name: &str, path: &Path, tcp| {
        let cell = path.cell(groups[0], name, Figure::Share, 30.0, &Traffic::tunnel("t", tcp, tuning), 6);
        let carried = RATE * cell.passes;
        all.push(Cell { carried, ..cell }.also(groups[1], Figure::Waste));
    };
    let policer = |burst: &str| format!("policer = {{ rate = \"{RATE}bit/s\", burst = \"{burst}\" }}");
    let path = |loss| Path::new(20.0, 100.0, loss).queue(2.0);
    one(["cubic-policer", "cubic-policer-waste"], "62.5 kB", &path(0.0).more(&policer("62.5kB")), "linux-cubic");
    for (groups, burst) in
        [(["policer-shallow", "policer-shallow-waste"], "15kB"), (["policer-deep", "policer-deep-waste"], "1MB")]
    {
        for (name, tcp) in [("cubic", "linux-cubic"), ("bbr", "bbr"), ("greedy", "greedy")] {
            one(groups, name, &path(0.0).more(&policer(burst)), tcp);
        }
        one(["policer-10%", "policer-10%-waste"], burst, &path(0.1).more(&policer(burst)), "linux-cubic");
    }
    for (name, tcp) in [("cubic", "linux-cubic"), ("greedy", "greedy")] {
        let path = path(0.1).more(&format!("schedule = [{{ at = \"12s\", {} }}]", policer("15kB")));
        let run = "[run]\nduration = \"44s\"\nwarmup = \"14s\"\nruns = 6\nseed = 3\n";
        let scenario = format!("{run}{}{}", path.toml(), Traffic::tunnel("t", tcp, tuning).0);
        let figures = vec![("policer-comes", Figure::Share), ("policer-comes-waste", Figure::Waste)];
        all.push(Cell { figures, name: name.to_owned(), carried: 0.9 * RATE, passes: 0.9, scenario });
    }
}

/// Random loss in the direction of the data that comes and goes.
fn losses_that_come_and_go(all: &mut Vec<Cell>, tuning: &str) {
    for (name, mean, schedule) in [
        ("10% for 4 of 8 s", 0.05, "schedule = [{ at = \"4s\", loss = \"10%\" }], schedule_period = \"8s\""),
        ("20% for 2 of 8 s", 0.05, "schedule = [{ at = \"6s\", loss = \"20%\" }], schedule_period = \"8s\""),
        (
            "10% in runs of 6 for 5 of 10 s",
            0.05,
            "schedule = [{ at = \"5s\", loss = { model = \"gilbert\", mean = 0.1, burst = 6 } }], schedule_period = \"10s\"",
        ),
    ] {
        for (group, sent, tcp) in [
            ("loss-comes-cubic", "loss-comes-cubic-sent", "linux-cubic"),
            ("loss-comes-bbr", "loss-comes-bbr-sent", "bbr"),
        ] {
            let path = Path::new(20.0, 100.0, 0.0).more(schedule);
            let cell = path.cell(group, name, Figure::Share, 40.0, &Traffic::tunnel("t", tcp, tuning), 3);
            let (carried, passes) = (path.rate * (1.0 - mean), 1.0 - mean);
            all.push(Cell { carried, passes, ..cell }.also(sent, Figure::Sent));
        }
    }
}

/// The queues in front of which flows share a link, bandwidth-delay products.
const QUEUES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// How long flows share a link, s.
const SHARING: f64 = 90.0;

fn beside_cubic(all: &mut Vec<Cell>, tuning: &str) {
    let scavenge = format!("rate = \"scavenge\"\n{tuning}");
    let pair = |more: &str| Traffic::tunnel("t", "linux-cubic", more).and_plain("c", "linux-cubic", "");
    for queue in QUEUES {
        let name = format!("{queue} BDP");
        let path = Path::new(20.0, 100.0, 0.0).queue(queue);
        all.push(path.cell("beside-cubic", &name, Figure::Part, SHARING, &pair(tuning), 4));
        all.push(path.cell("scavenge", &name, Figure::Part, SHARING, &pair(&scavenge), 4));
        let tunnels = |names: &[&str]| {
            names.iter().fold(Traffic(String::new()), |t, name| t.and_tunnel(name, "linux-cubic", tuning))
        };
        all.push(path.cell("two-tunnels", &name, Figure::Jain, SHARING, &tunnels(&["t", "u"]), 3));
        all.push(path.cell("four-tunnels", &name, Figure::Jain, SHARING, &tunnels(&["t", "u", "v", "w"]), 3));
        for (group, rtt) in [("beside-cubic-20ms", 20.0), ("beside-cubic-300ms", 300.0)] {
            let path = Path::new(20.0, rtt, 0.0).queue(queue);
            all.push(path.cell(group, &name, Figure::Part, SHARING, &pair(tuning), 3));
        }
    }
    for discipline in ["codel", "pie", "fq"] {
        let path = Path::new(20.0, 100.0, 0.0).queue(4.0).more(&format!("queue_discipline = \"{discipline}\""));
        all.push(path.cell("beside-cubic-aqm", discipline, Figure::Part, SHARING, &pair(tuning), 4));
        let alone = Traffic::tunnel("t", "linux-cubic", tuning);
        all.push(path.cell("cubic-aqm", discipline, Figure::Share, 30.0, &alone, 2));
    }
    let path = Path::new(20.0, 100.0, 0.02);
    all.push(path.cell("beside-cubic-2%", "1 BDP", Figure::Part, SHARING, &pair(tuning), 4));
    let alone = Traffic::tunnel("t", "linux-cubic", &scavenge);
    all.push(Path::new(20.0, 100.0, 0.0).cell("scavenge-alone", "1 BDP", Figure::Share, 30.0, &alone, 3));
}

/// One BBR flow keeps other queues than CUBIC: a queue of about one bandwidth-delay product where there is room.
fn beside_bbr(all: &mut Vec<Cell>, tuning: &str) {
    for queue in QUEUES {
        let group = match queue {
            q if q < 1.0 => "beside-bbr-short",
            1.0 => "beside-bbr-1",
            _ => "beside-bbr-deep",
        };
        let path = Path::new(20.0, 100.0, 0.0).queue(queue);
        let pair = Traffic::tunnel("t", "linux-cubic", tuning).and_plain("c", "bbr", "");
        all.push(path.cell(group, &format!("{queue} BDP"), Figure::Part, SHARING, &pair, 2));
    }
}

/// Links that mark packets with Congestion Experienced instead of dropping them.
fn marks(all: &mut Vec<Cell>, tuning: &str) {
    for (name, more) in [
        ("from 5 ms", "mark = \"5ms\""),
        ("from 30 ms", "mark = \"30ms\""),
        ("codel", "queue_discipline = \"codel\", ecn = true"),
        ("pie", "queue_discipline = \"pie\", ecn = true"),
    ] {
        let path = Path::new(20.0, 100.0, 0.0).queue(4.0).more(more);
        for (group, tcp) in [("ce-cubic", "linux-cubic"), ("ce-bbr", "bbr")] {
            all.push(path.cell(group, name, Figure::Share, 30.0, &Traffic::tunnel("t", tcp, tuning), 2));
        }
        let pair = Traffic::tunnel("t", "linux-cubic", tuning).and_plain("c", "linux-cubic", "ecn = true\n");
        all.push(path.cell("beside-cubic-ce", name, Figure::Part, SHARING, &pair, 3));
    }
}

fn steps(all: &mut Vec<Cell>, tuning: &str) {
    let rates = "schedule = [{ at = \"15s\", rate = \"5Mbit/s\" }, { at = \"30s\", rate = \"20Mbit/s\" }]";
    let losses = "schedule = [{ at = \"10s\", loss = \"2%\" }, { at = \"20s\", loss = \"10%\" }, { at = \"30s\", loss = \"1%\" }]";
    // Each interval, from 4 to 10 s after a step, with the rate that the link carries in it.
    let mut steps = |group, name: &str, more, tcp, intervals: &[(f64, f64)]| {
        let spans: Vec<String> =
            intervals.iter().map(|(from, _)| format!("[\"{from}s\", \"{}s\"]", from + 6.0)).collect();
        let run = format!(
            "[run]\nduration = \"45s\"\nwarmup = \"2s\"\nruns = 6\nseed = 3\nintervals = [{}]\n",
            spans.join(", ")
        );
        let path = Path::new(20.0, 100.0, 0.0).more(more).toml();
        let scenario = format!("{run}{path}{}", Traffic::tunnel("t", tcp, tuning).0);
        let figures =
            intervals.iter().enumerate().map(|(k, (_, carried))| (group, Figure::Step(k, *carried))).collect();
        all.push(Cell { figures, name: name.to_owned(), carried: 20e6, passes: 1.0, scenario });
    };
    for (group, tcp) in [("step-greedy", "greedy"), ("step-cubic", "linux-cubic"), ("step-bbr", "bbr")] {
        steps(group, "rate 19, 34 s", rates, tcp, &[(19.0, 5e6), (34.0, 20e6)]);
        steps(group, "loss 14, 24, 34 s", losses, tcp, &[(14.0, 20e6 * 0.98), (24.0, 20e6 * 0.9), (34.0, 20e6 * 0.99)]);
    }
}

/// The first bytes of a connection through a fresh tunnel: a megabyte, and 10 MB on a long, fast path.
fn files(all: &mut Vec<Cell>, tuning: &str) {
    let mut file = |group, path: &Path, tcp, size: &str, length: u32, runs: u32| {
        let more = format!("start = \"3s\"\nsource = {{ file = \"{size}\" }}\ntunnel = \"t\"\n");
        let tunnel = format!("[[tunnel]]\nname = \"t\"\nbetween = [\"a\", \"b\"]\n{tuning}\n");
        let traffic = Traffic(tunnel).flow("t", tcp, 1384, &more);
        let run = format!("[run]\nduration = \"{length}s\"\nwarmup = \"0s\"\nruns = {runs}\nseed = 3\n");
        let scenario = format!("{run}{}{}", path.toml(), traffic.0);
        let (name, figures) = (format!("{}%", path.loss * 100.0), vec![(group, Figure::File)]);
        all.push(Cell { figures, name, carried: 1.0, passes: 1.0 - path.loss, scenario });
    };
    for (group, tcp) in [("first-cubic", "linux-cubic"), ("first-bbr", "bbr")] {
        for loss in [0.0, 0.01, 0.02, 0.05, 0.1, 0.2] {
            file(group, &Path::new(20.0, 100.0, loss), tcp, "1MB", 12, 40);
        }
    }
    file("first-10M", &Path::new(50.0, 600.0, 0.0), "linux-cubic", "10MB", 30, 4);
}

fn tails(all: &mut Vec<Cell>, tuning: &str) {
    for (group, tcp) in [("tail-cubic", "linux-cubic"), ("tail-bbr", "bbr")] {
        for (loss, bulk) in [(0.01, false), (0.02, false), (0.05, false), (0.1, false), (0.2, false), (0.05, true)] {
            let path = Path::new(20.0, 100.0, loss);
            let tcp_keys =
                format!("tcp = \"{tcp}\"\nwindow = 40000\nack-every = 2\npacket = \"1384B\"\ntunnel = \"t\"\n");
            let mut text = format!("{}{}", path.run(150.0, 3), path.toml());
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
            let figures = vec![(group, Figure::Tail)];
            all.push(Cell { figures, name, carried: 1.0, passes: 1.0 - loss, scenario: text });
        }
    }
}
