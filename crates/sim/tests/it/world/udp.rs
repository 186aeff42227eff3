//! UDP sources and start times in scenario files.

use ripstop_sim::scenario::{Scenario, ScenarioReport, run, run_once};

/// The report of a scenario with one link of 4 Mbit/s and 20 ms. `link` adds settings to the link,
/// and `more` adds sections.
fn report(link: &str, more: &str) -> ScenarioReport {
    let text = format!(
        "[run]\nduration = \"200s\"\nruns = 4\n[[link]]\nbetween = [\"a\", \"b\"]\nforth = {{ rate = \"4Mbit/s\", delay = \"20ms\"{link} }}\n{more}"
    );
    run(&Scenario::parse(&text).expect(&text), 2, || ()).expect(&text)
}

/// The section of a UDP flow from a to b.
fn flow(udp: &str) -> String {
    format!("[[flow]]\nfrom = \"a\"\nto = \"b\"\nudp = {udp}\n")
}

/// The mean goodput of a flow, bit/s.
fn mean(report: &ScenarioReport, flow: usize) -> f64 {
    report.flows[flow].goodput_bps.mean.expect("the report has a goodput")
}

#[test]
fn a_constant_rate_is_constant() {
    let report = report("", &flow("{ constant = \"1Mbit/s\" }"));
    let flow = &report.flows[0];
    assert!((mean(&report, 0) / 1e6 - 1.0).abs() < 1e-3, "{flow:?}");
    // A packet of 1028 bytes needs 2.056 ms at 4 Mbit/s, plus the delay of 20 ms. No packet queues.
    assert_eq!((flow.delay_s.mean, flow.packets_sent.mean), (Some(0.022056), Some(25_000.0)));
    // Packets that are in flight at the end count as lost.
    assert!(
        flow.packets_lost.expect("the report counts the lost datagrams of UDP").mean.expect("the mean is known") < 4.0
    );
    assert_eq!((flow.cwnd_packets.mean, flow.timeouts.mean, flow.srtt_s.mean), (None, None, None));
}

#[test]
fn poisson_and_on_off_sources_keep_their_mean_rate() {
    let poisson = report("", &flow("{ poisson = \"1Mbit/s\" }"));
    assert!((mean(&poisson, 0) / 1e6 - 1.0).abs() < 0.02);
    // Some packets queue: the mean wait is the mean wait in an M/D/1 queue at a load of 0.257.
    let (service, load) = (0.002056, 0.257);
    let wait = service * load / (2.0 * (1.0 - load));
    let delay = poisson.flows[0].delay_s.mean.expect("the report has a delay") - 0.022056;
    assert!((delay / wait - 1.0).abs() < 0.05, "{delay} {wait}");

    let broken = report("", &flow("{ on-off = { on = \"1s\", off = \"3s\", rate = \"2Mbit/s\" } }"));
    assert!((mean(&broken, 0) / 0.5e6 - 1.0).abs() < 0.01);
    let drawn = report("", &flow("{ on-off = { on = \"exp:1s\", off = \"exp:3s\", rate = \"2Mbit/s\" } }"));
    assert!((mean(&drawn, 0) / 0.5e6 - 1.0).abs() < 0.2);
}

/// The report counts lost datagrams, and a tunnel repairs losses.
#[test]
fn datagrams_are_lost_on_links_and_repaired_in_tunnels() {
    let bare = report(", loss = \"10%\"", &flow("{ constant = \"1Mbit/s\" }"));
    let lost = |report: &ScenarioReport| {
        report.flows[0].packets_lost.and_then(|lost| lost.mean).expect("the report counts the lost datagrams of UDP")
    };
    assert!((lost(&bare) / 2500.0 - 1.0).abs() < 0.1, "{}", lost(&bare));
    let tunnel = "[[tunnel]]\nbetween = [\"a\", \"b\"]\n".to_owned();
    let through = report(", loss = \"10%\"", &(tunnel + &flow("{ constant = \"1Mbit/s\" }\ntunnel = \"tunnel\"")));
    assert!(lost(&through) < 0.01 * lost(&bare), "{}", lost(&through));
    assert!((mean(&through, 0) / 1e6 - 1.0).abs() < 0.01);
}

/// UDP does not slow down, so TCP gets the rest of the link.
#[test]
fn a_connection_shares_a_link_with_datagrams() {
    let tcp = "[[flow]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nwindow = 100\n";
    let both = report(", queue = 20", &(flow("{ constant = \"2Mbit/s\" }") + tcp));
    assert!(mean(&both, 0) > 1.8e6 && mean(&both, 1) > 1.2e6, "{:?}", both.flows);
    assert!(mean(&both, 0) * 1.028 + mean(&both, 1) * 1.04 < 4.0e6);
}

/// Without random losses, only the start times make runs differ.
#[test]
fn start_times_distinguish_runs() {
    let text = |jitter: &str| {
        let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\ncount = 2\nwindow = 60\n";
        format!(
            "[run]\nduration = \"30s\"\nruns = 8\n{jitter}\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             forth = {{ rate = \"4Mbit/s\", delay = \"20ms\", queue = 20 }}\n{flow}"
        )
    };
    let goodputs = |jitter: &str| {
        let scenario = Scenario::parse(&text(jitter)).expect("the scenario is valid");
        let one = |k| {
            let runs = [run_once(&scenario, k, &mut ()).expect("the run succeeds")];
            ScenarioReport::new(&scenario, &runs).flows[0].goodput_bps.mean.expect("the report has a goodput")
        };
        let mut all: Vec<u64> = (0..8).map(|k| one(k) as u64).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    assert_eq!(goodputs("start-jitter = \"0s\""), 1);
    let apart = goodputs("");
    assert!(apart > 2, "{apart}");
}
