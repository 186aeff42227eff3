//! The tunnel beside other flows on one link, and on links whose rate or delay changes. The figures are exact, because
//! time is virtual.

use ripstop_sim::scenario::{Scenario, ScenarioReport, run};

/// A scenario with one link of 20 Mbit/s and 100 ms between `a` and `b`. `forth` has further settings of the link.
fn link(seconds: u32, forth: &str) -> String {
    let way = "rate = \"20Mbit/s\", delay = \"50ms\"";
    format!(
        "[run]\nduration = \"{seconds}s\"\nwarmup = \"10s\"\nruns = 2\nseed = 5\n[[link]]\nbetween = [\"a\", \"b\"]\n\
         forth = {{ {way}, {forth} }}\nback = {{ {way}, queue = \"1MB\" }}\n"
    )
}

/// A tunnel with CUBIC inside. `more` has further settings of the tunnel.
fn tunnel(name: &str, more: &str) -> String {
    format!(
        "[[tunnel]]\nname = \"{name}\"\nbetween = [\"a\", \"b\"]\n{more}\n[[flow]]\nname = \"in-{name}\"\nfrom = \"a\"\n\
         to = \"b\"\ntcp = \"linux-cubic\"\nwindow = 40000\nack-every = 2\npacket = \"1384B\"\ntunnel = \"{name}\"\n"
    )
}

const CUBIC: &str = "[[flow]]\nname = \"plain\"\nfrom = \"a\"\nto = \"b\"\ntcp = \"linux-cubic\"\nwindow = 40000\n\
                     ack-every = 2\npacket = \"1448B\"\n";

fn report(parts: &[&str]) -> ScenarioReport {
    let text = parts.concat();
    let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, 2, || {}).expect("the scenario runs")
}

/// Goodput of each flow, Mbit/s.
fn rates(report: &ScenarioReport) -> Vec<f64> {
    report.flows.iter().map(|flow| flow.goodput_bps.mean.expect("there are runs") / 1e6).collect()
}

/// The part that the first flow has of all goodput.
fn part(report: &ScenarioReport) -> f64 {
    let rates = rates(report);
    rates[0] / rates.iter().sum::<f64>()
}

fn competitions(report: &ScenarioReport) -> f64 {
    report.tunnels[0].directions[0].competitions.mean.expect("there are runs")
}

/// One tunnel and one CUBIC flow that begin together. The measured interval is from 6 to 24 s, so it shows how soon the
/// two share the link.
fn beside_cubic(runs: u32, forth: &str) -> ScenarioReport {
    let link = link(24, forth).replace("warmup = \"10s\"\nruns = 2", &format!("warmup = \"6s\"\nruns = {runs}"));
    report(&[&link, &tunnel("t", ""), CUBIC])
}

#[test]
fn a_tunnel_and_cubic_share_queues_of_all_lengths() {
    // The narrow limits of 250 kB need more runs.
    for (queue, runs, least, most) in
        [("62500B", 8, 0.35, 0.65), ("125kB", 8, 0.35, 0.65), ("250kB", 24, 0.42, 0.55), ("1MB", 8, 0.33, 0.65)]
    {
        let report = beside_cubic(runs, &format!("queue = \"{queue}\""));
        let part = part(&report);
        assert!((least..most).contains(&part), "seed 5, queue {queue}: the tunnel has {part:.2}");
        // In front of the shortest queue, the controller cuts its rate for drops, and need not compete. The longest queue
        // is not full in this time.
        let competes = competitions(&report) > 0.0;
        assert!(competes || ["62500B", "1MB"].contains(&queue), "seed 5, queue {queue}: the tunnel never competed");
        assert!(rates(&report).iter().sum::<f64>() > 17.0, "seed 5, queue {queue}: {:.1?}", rates(&report));
    }
}

/// A tunnel that begins beside a CUBIC flow of full rate must not stay with the little that it found.
#[test]
fn a_tunnel_that_comes_later_gets_a_part() {
    for (queue, least) in [("125kB", 0.38), ("250kB", 0.28)] {
        let link =
            link(60, &format!("queue = \"{queue}\"")).replace("20Mbit/s", "10Mbit/s").replace("runs = 2", "runs = 6");
        let late = tunnel("t", "").replace("window = 40000", "window = 40000\nstart = \"6s\"");
        let report = report(&[&link, &late, CUBIC]);
        assert!(part(&report) > least, "seed 5, queue {queue}: {:.2?}", rates(&report));
    }
}

/// CoDel and PIE keep the queue short. Their drops show that others are there, and the tunnel's own probes must not
/// provoke drops that hold CUBIC down.
#[test]
fn a_tunnel_and_cubic_share_a_queue_that_an_aqm_keeps_short() {
    for aqm in ["codel", "pie"] {
        let report = beside_cubic(8, &format!("queue = \"1MB\", queue_discipline = \"{aqm}\""));
        assert!((0.35..0.67).contains(&part(&report)), "seed 5, {aqm}: {:.2?}", rates(&report));
        assert!(competitions(&report) > 0.0, "seed 5, {aqm}: the tunnel never competed");
    }
}

/// A policer drops four of five packets that leave at the link's rate. Its drops must not count as random loss.
#[test]
fn losses_that_grow_with_the_rate_lower_the_rate() {
    let policed = link(40, "queue = \"100kB\", policer = { rate = \"4Mbit/s\", burst = \"15kB\" }");
    let report = report(&[&policed.replace("warmup = \"10s\"", "warmup = \"0s\""), &tunnel("t", "")]);
    let ends = &report.tunnels[0].directions[0];
    assert!(ends.overloads.mean.is_some_and(|overloads| overloads > 0.0), "seed 5: no loss test found an overload");
    assert!(rates(&report)[0] > 3.4, "seed 5: {:.2?}", rates(&report));
    let waste = ends.sent_per_useful.mean.expect("there are runs");
    assert!(waste < 1.4, "seed 5: {waste:.2} bytes sent for a useful byte");
}

/// Single early packets must not make the usual delay of a path with jitter a queue.
#[test]
fn jitter_is_no_queue() {
    for (jitter, loss, least) in
        [("10ms", 0.002, 17.3), ("20ms", 0.0, 16.5), ("50ms", 0.0, 15.0), ("30ms", 0.01, 16.0), ("50ms", 0.05, 12.0)]
    {
        let forth = format!("queue = \"1MB\", jitter = \"{jitter}\", loss = {loss}");
        let rate = rates(&report(&[&link(30, &forth), &tunnel("t", "")]))[0];
        assert!(rate > least, "seed 5, jitter {jitter}, loss {loss}: {rate:.2} Mbit/s");
    }
}

/// On a slow path, a bulk transfer is slower than the rate below which flows of other paths are interactive.
#[test]
fn a_transfer_over_a_slow_path_is_bulk() {
    let slow = link(60, "queue = \"10kB\", loss = 0.05").replace("20Mbit/s", "200kbit/s");
    let report = report(&[&slow, &tunnel("t", "")]);
    let waste = report.tunnels[0].directions[0].sent_per_useful.mean.expect("there are runs");
    assert!(waste < 1.8, "seed 5: {waste:.2} bytes sent for a useful byte");
    assert!(rates(&report)[0] > 0.12, "seed 5: {:.3?} Mbit/s", rates(&report));
}

/// Jitter looks like a queue that is never short. The path's random losses must be learned nevertheless.
#[test]
fn random_losses_under_jitter_do_not_lower_the_rate() {
    let greedy = "[[tunnel]]\nname = \"t\"\nbetween = [\"a\", \"b\"]\n[[flow]]\nname = \"f\"\nfrom = \"a\"\n\
                  to = \"b\"\npacket = \"1384B\"\nudp = { constant = \"40Mbit/s\" }\ntunnel = \"t\"\n";
    let jittery = link(30, "queue = \"250kB\", loss = \"5%\", jitter = \"20ms\"").replace("runs = 2", "runs = 1");
    for seed in 0..6 {
        let seeded = jittery.replace("seed = 5", &format!("seed = {seed}"));
        let share = rates(&report(&[&seeded, greedy]))[0] / 19.0;
        assert!(share > 0.5, "seed {seed}: {share:.2} of the rate");
    }
}

/// An AQM drops more packets the more a flow sends. What the tunnel learned as random loss during a competition must not
/// grow with its own rate.
#[test]
fn drops_of_an_aqm_that_grow_are_no_random_loss() {
    let plain: String = (0..2).map(|flow| CUBIC.replace("plain", &format!("plain-{flow}"))).collect();
    let aqm = link(60, "queue = \"150kB\", loss = 0.001, queue_discipline = \"pie\", jitter = \"3ms\"");
    let aqm = aqm.replace("20Mbit/s", "10Mbit/s").replace("50ms", "15ms").replace("runs = 2", "runs = 6");
    let report = report(&[&aqm, &tunnel("t", ""), &plain]);
    let ends = &report.tunnels[0].directions[0];
    assert!(ends.overloads.mean.is_some_and(|overloads| overloads > 0.0), "seed 5: the losses never grew");
    let waste = ends.sent_per_useful.mean.expect("there are runs");
    assert!(waste < 1.25, "seed 5: {waste:.2} bytes sent for a useful byte");
    assert!(part(&report) < 0.7, "seed 5: {:.2?}", rates(&report));
}

/// Twenty small packets a second are few, but their repairs must not take a slow path from a transfer.
#[test]
fn repairs_of_small_packets_take_a_part_of_a_slow_path() {
    let slow = link(60, "queue = \"15kB\", loss = 0.02").replace("20Mbit/s", "500kbit/s");
    let small = "[[flow]]\nname = \"small\"\nfrom = \"a\"\nto = \"b\"\npacket = \"140B\"\n\
                 udp = { constant = \"22400bit/s\" }\ntunnel = \"t\"\n";
    let report = report(&[&slow, &tunnel("t", ""), small]);
    let ends = &report.tunnels[0].directions[0];
    assert!(ends.repairs_over_budget.mean.is_some_and(|refused| refused > 0.0), "seed 5: no repair was refused");
    let waste = ends.sent_per_useful.mean.expect("there are runs");
    assert!(waste < 1.25, "seed 5: {waste:.2} bytes sent for a useful byte");
}

/// A path that loses a packet now and then, at random, has no AQM: the losses do not depend on the queue.
#[test]
fn rare_random_losses_are_no_drops_of_a_queue() {
    for loss in ["0.03%", "0.1%", "0.2%"] {
        let link = link(30, &format!("queue = \"250kB\", loss = \"{loss}\"")).replace("runs = 2", "runs = 6");
        let report = report(&[&link, &tunnel("t", "")]);
        let rate = rates(&report)[0];
        assert!(rate > 17.9, "seed 5, {loss}: {rate:.2} Mbit/s");
        assert_eq!(competitions(&report), 0.0, "seed 5, {loss}");
    }
}

/// A packet that overtakes others makes them look lost. Such losses must not start a competition with nobody.
#[test]
fn late_packets_are_no_drops() {
    let late = "queue = \"250kB\", reorder = { probability = \"0.1%\", extra_delay = \"10ms\" }";
    let report = report(&[&link(60, late), &tunnel("t", "")]);
    let forgiven = report.tunnels[0].directions[0].forgiven.mean;
    assert!(forgiven.is_some_and(|forgiven| forgiven > 0.0), "seed 5: no loss was taken back");
    assert!(competitions(&report) == 0.0 && rates(&report)[0] > 18.0, "seed 5: {:.2?}", rates(&report));
}

/// Losses in runs vary by chance. A loss test must not take this chance for an overload.
#[test]
fn losses_in_runs_are_no_overload() {
    let runs = link(40, "queue = \"89kB\", loss = { model = \"gilbert\", mean = \"24.5%\", burst = 8.6 }");
    let slow = runs.replace("20Mbit/s", "4.5Mbit/s").replace("50ms", "84ms").replace("runs = 2", "runs = 8");
    let report = report(&[&slow, &tunnel("t", "")]);
    assert_eq!(report.tunnels[0].directions[0].overloads.mean, Some(0.0), "seed 5");
    assert!(rates(&report)[0] > 1.8, "seed 5: {:.2?}", rates(&report));
}

/// The start-up must not hold bursts of slow start back, or CUBIC leaves slow start at a tenth of the rate.
#[test]
fn slow_start_fills_a_long_fast_path() {
    let long = link(40, "queue = \"7500kB\"").replace("20Mbit/s", "100Mbit/s").replace("50ms", "300ms");
    let report = report(&[&long.replace("warmup = \"10s\"", "warmup = \"20s\""), &tunnel("t", "")]);
    assert!(rates(&report)[0] > 80.0, "seed 5: {:.2?}", rates(&report));
}

/// The rate with which a session begins is a guess. On a slow link it is ten times the link's rate, and a window-limited TCP
/// inside gives no sample above it. The queue that stands in front of the link shows that the guess is too high; it is no
/// queue of others.
#[test]
fn a_guessed_rate_yields_to_a_sample_in_a_long_queue() {
    let slow = link(40, "queue = \"100kB\"").replace("20Mbit/s", "1Mbit/s").replace("50ms", "2.5ms");
    let report = report(&[&slow.replace("runs = 2", "runs = 8"), &tunnel("t", "")]);
    assert_eq!(competitions(&report), 0.0, "seed 5");
    assert!(rates(&report)[0] > 0.9, "seed 5: {:.3?}", rates(&report));
}

/// In start-up, repairs must hide losses from the TCP inside, which would leave its slow start.
#[test]
fn the_first_megabyte_is_fast_on_a_lossy_link() {
    let lossy = link(12, "queue = \"250kB\", loss = \"5%\"")
        .replace("warmup = \"10s\"\nruns = 2", "warmup = \"0s\"\nruns = 20");
    let file =
        tunnel("t", "").replace("ack-every = 2\n", "ack-every = 2\nstart = \"3s\"\nsource = { file = \"1MB\" }\n");
    let report = report(&[&lossy, &file]);
    let seconds = report.flows[0].completion_s.p50.expect("the files arrive");
    assert!(seconds <= 1.0, "seed 5: the median is {seconds:.3} s");
}

#[test]
fn tunnels_share_with_each_other() {
    for queue in ["125kB", "250kB", "500kB"] {
        let ends = ["t", "u", "v", "w"].map(|name| tunnel(name, ""));
        for some in [2, 4] {
            let report = report(&[&link(60, &format!("queue = \"{queue}\"")), &ends[..some].concat()]);
            let rates = rates(&report);
            let sum: f64 = rates.iter().sum();
            let jain = sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>());
            assert!(jain > 0.93, "seed 5, queue {queue}: {rates:.2?}");
        }
    }
}

#[test]
fn scavenge_takes_only_what_cubic_leaves() {
    for queue in ["125kB", "250kB", "1MB"] {
        let scavenger = tunnel("t", "rate = \"scavenge\"");
        // In front of the shortest queue, single runs have up to 8 %.
        let link = link(60, &format!("queue = \"{queue}\"")).replace("runs = 2", "runs = 8");
        let report = report(&[&link, &scavenger, CUBIC]);
        assert!(part(&report) < 0.05, "seed 5, queue {queue}: {:.2?}", rates(&report));
        assert_eq!(competitions(&report), 0.0, "seed 5, queue {queue}");
    }
    let alone = report(&[&link(40, "queue = \"250kB\""), &tunnel("t", "rate = \"scavenge\"")]);
    assert!(rates(&alone)[0] > 17.0, "seed 5: {:.2?}", rates(&alone));
}

/// Random loss keeps CUBIC small. The tunnel takes what CUBIC leaves, and does not harm CUBIC.
#[test]
fn the_tunnel_takes_what_cubic_leaves_on_a_lossy_link() {
    let lossy = link(60, "queue = \"250kB\", loss = \"2%\"");
    let beside = report(&[&lossy, &tunnel("t", ""), CUBIC]);
    let other = CUBIC.replace("plain", "other");
    let two = report(&[&lossy, CUBIC, &other]);
    let (with, without) = (rates(&beside)[1], rates(&two)[1]);
    assert!(rates(&beside)[0] > 15.0, "seed 5: {:.2?}", rates(&beside));
    assert!(with > 0.8 * without, "seed 5: CUBIC has {with:.2} beside the tunnel and {without:.2} beside CUBIC");
}

#[test]
fn a_constant_of_the_controller_can_be_changed_in_a_scenario() {
    let with = |more: &str| {
        let report = report(&[&link(40, "queue = \"500kB\""), &tunnel("t", more), CUBIC]);
        (competitions(&report), rates(&report))
    };
    // Competitions begin before the measured time. Drops that no probe provoked may still begin one.
    let (default, rarely) = (with(""), with("tuning = { compete-after = 1e6, crowd-window = 1e-3 }"));
    assert!(default.1[0] > 3.0 * rarely.1[0], "seed 5: {default:?} {rarely:?}");
    let text = [&link(40, "queue = \"500kB\"")[..], &tunnel("t", "tuning = { probe = 1 }")].concat();
    let error = match Scenario::parse(&text) {
        Ok(scenario) => scenario.check().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("tuning") && error.contains("probe-gain"), "{error}");
}

/// The rate of the link falls to a quarter and rises again. The tunnel with an endless source follows within seconds.
#[test]
fn steps_of_the_rate_are_followed() {
    let steps =
        "queue = \"250kB\", schedule = [{ at = \"15s\", rate = \"5Mbit/s\" }, { at = \"30s\", rate = \"20Mbit/s\" }]";
    let base = link(40, steps).replacen("[run]\n", "[run]\nintervals = [[\"19s\", \"25s\"], [\"34s\", \"40s\"]]\n", 1);
    let greedy = "[[tunnel]]\nname = \"t\"\nbetween = [\"a\", \"b\"]\n[[flow]]\nname = \"in\"\nfrom = \"a\"\nto = \"b\"\n\
                  udp = { constant = \"30Mbit/s\" }\npacket = \"1384B\"\ntunnel = \"t\"\n";
    let report = report(&[&base, greedy]);
    let of = |k: usize| report.intervals[k].flows[0].goodput_bps.mean.expect("there are runs") / 1e6;
    assert!(of(0) > 4.3 && of(1) > 17.0, "seed 5: {:.2} {:.2}", of(0), of(1));
}
