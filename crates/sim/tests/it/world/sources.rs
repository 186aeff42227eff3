//! The traffic sources of flows over every TCP variant: files, bursts, requests and answers.

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Stream};
use ripstop_link::{LinkConfig, Loss};
use ripstop_sim::scenario::{
    FlowReport, FlowSpec, NcSpec, RunSpec, Scenario, ScenarioReport, SourceSpec, Tandem, TunnelSpec, run,
};
use ripstop_sim::tcp::{Distribution, Reassembly, Variant};
use std::time::Duration;

fn span(ms: u64) -> Span {
    Span::from(Duration::from_millis(ms))
}

/// A link of 4 Mbit/s and 20 ms with this share of random losses.
fn link(loss: f64) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(4_000_000),
        delay: span(20),
        queue: Some(QueueLimit::Packets(50)),
        loss: if loss > 0.0 { Loss::bernoulli(Fraction::new(loss).expect("a share from 0 to 1")) } else { Loss::None },
        ..LinkConfig::default()
    }
}

/// A scenario of these flows over a chain of two links.
fn chain(seconds: u64, seed: u64, loss: f64, flows: Vec<FlowSpec>) -> Scenario {
    let run = RunSpec { duration: span(1000 * seconds), runs: 1, seed, ..RunSpec::default() };
    let (forth, back) = (link(loss), link(loss));
    Tandem { run, hops: 2, forth, back, flows, tunnel: None }.scenario()
}

/// A flow with a window of 200 packets.
fn spec() -> FlowSpec {
    FlowSpec { window: 200, ..FlowSpec::new("", "") }
}

/// The report of a scenario.
fn done(scenario: &Scenario) -> ScenarioReport {
    run(scenario, 2, || ()).expect("the scenario is valid")
}

/// A random element of a list.
fn pick<T: Copy>(random: &mut Stream, of: &[T]) -> T {
    of[(random.unit() * of.len() as f64) as usize]
}

#[test]
fn every_file_arrives_whole_over_every_tcp() {
    for (variant, name) in Variant::NAMES {
        for seed in 0..12 {
            let mut random = Seed::new(seed).stream(name);
            let coded = seed % 4 == 3;
            let bytes = 1 + (random.exponential(100_000.0) as u64);
            let flow = FlowSpec {
                tcp: variant,
                source: SourceSpec::File(ripstop_base::Bytes::new(bytes)),
                ack_every: if coded { 1 } else { pick(&mut random, &[1, 2, 5]) },
                receiver: match seed % 4 {
                    1 => Reassembly::GoBackN,
                    _ => Reassembly::Buffer,
                },
                nc: coded.then(|| NcSpec {
                    redundancy: pick(&mut random, &["1", "1.2", "rule", "auto"])
                        .parse()
                        .expect("the redundancy is valid"),
                    ..NcSpec::default()
                }),
                ..spec()
            };
            let loss = pick(&mut random, &[0.0, 0.01, 0.05, 0.1]);
            let scenario = chain(20_000, seed, loss, vec![flow.clone()]);
            let report = done(&scenario);
            let flow_ = &report.flows[0];
            let at = || format!("{name}, seed {seed}, loss {loss}: {flow:?}\n{flow_:?}");
            let count = |s: Option<ripstop_sim::engine::Statistic>| s.and_then(|s| s.mean);
            assert_eq!((count(flow_.completed), count(flow_.unfinished)), (Some(1.0), Some(0.0)), "{}", at());
            // Every byte arrives once and in order. With ns-2's agents, and with TCP/NC, the last
            // packet counts as full.
            let whole = if variant.is_modern() && !coded { bytes } else { bytes.next_multiple_of(1000) } as f64;
            let arrived = flow_.goodput_bps.mean.expect("the report has this figure") * 20_000.0 / 8.0;
            assert!((arrived - whole).abs() < 1e-3, "{arrived} of {whole}, {}", at());
            // The flow ends when its file is complete. Its active rate is therefore the file's size divided by the
            // duration of the transfer.
            let took = flow_.completion_s.mean.expect("the report has this figure");
            let rate = flow_.active_goodput_bps.and_then(|s| s.mean).expect("the report has this figure");
            assert!((rate * took / (8.0 * whole) - 1.0).abs() < 1e-9, "{}", at());
            let p50 = flow_.completion_s.p50.expect("the report has this figure");
            assert!((p50 - took).abs() < 1e-9 && took > 0.08, "{}", at());
        }
    }
}

#[test]
fn a_file_takes_its_time() {
    // The SYN, the SYN-ACK, and then a burst of ten packets take 1.5 round trips of 80 ms and the serialisation.
    let file = SourceSpec::File("10kB".parse().expect("the size is valid"));
    let flow = FlowSpec { tcp: Variant::Cubic, source: file, start: span(500), ..spec() };
    let report = done(&chain(10, 1, 0.0, vec![flow]));
    let took = report.flows[0].completion_s.mean.expect("the report has this figure");
    let want = 0.120 + 4.0 * 52.0 * 8.0 / 4e6 + 11.0 * 1052.0 * 8.0 / 4e6;
    assert!((took - want).abs() < 1e-6, "{took} {want}");
    let cwnd = report.flows[0].cwnd_packets.mean.expect("the report has this figure");
    assert!((1.0..10.5).contains(&cwnd), "the mean covers only the active time: {cwnd}");
}

#[test]
fn on_off_sources_keep_their_rate() {
    let source = |on, off| SourceSpec::OnOff { on, off, rate: Rate::from_bps(800_000) };
    let fixed = source(Distribution::Fixed(span(500)), Distribution::Fixed(span(1500)));
    let drawn = source(Distribution::Exponential(span(500)), Distribution::Exponential(span(1500)));
    for (source, slack) in [(fixed, 0.01), (drawn, 0.2)] {
        let flow = FlowSpec { source, tcp: Variant::LinuxCubic, ..spec() };
        let report = done(&chain(1_000, 3, 0.0, vec![flow]));
        let goodput = report.flows[0].goodput_bps.mean.expect("the report has this figure");
        assert!((goodput / 200_000.0 - 1.0).abs() < slack, "{goodput}, seed 3");
        assert!(report.flows[0].completed.is_none() && report.flows[0].active_goodput_bps.is_none());
    }
}

/// Two flows that send requests, and two flows that answer them.
fn pair(request: &str, answer: &str, think: &str) -> Vec<FlowSpec> {
    let asks = SourceSpec::Requests {
        length: request.parse().expect("the size is valid"),
        think: think.parse().expect("the time is valid"),
    };
    let answers = SourceSpec::Answers { to: "ask".to_owned(), length: answer.parse().expect("the size is valid") };
    let of = |name: &str, source| FlowSpec { name: name.to_owned(), source, count: 2, ..spec() };
    vec![of("ask", asks), of("answer", answers)]
}

#[test]
fn a_request_and_its_answer_take_a_round_trip() {
    let report = done(&chain(100, 1, 0.0, pair("500B", "500B", "1s")));
    let [ask, answer] = [&report.flows[0], &report.flows[2]];
    // After the connection has opened, a request and its answer take 80 ms and the serialisation of four packets. Two
    // pairs share the links.
    let p50 = ask.completion_s.p50.expect("the report has this figure");
    assert!((0.08 + 4.0 * 0.00208 - 1e-3..0.1).contains(&p50), "{p50}");
    assert!((0.04..0.05).contains(&answer.completion_s.p50.expect("the report has this figure")), "{answer:?}");
    let count = |flow: &FlowReport| flow.completed.and_then(|s| s.mean).expect("the report has this figure");
    // One request is sent every 1.09 s. The first request is sent after a round trip. The total is 91 or 92 requests.
    assert!((90.0..93.0).contains(&count(ask)) && (count(answer) - count(ask)).abs() < 1.5, "{report:?}");
    // With losses some requests wait for a time-out. The 99th percentile shows this.
    let lossy = done(&chain(2_000, 1, 0.03, pair("500B", "exp:20kB", "exp:1s")));
    let ask = &lossy.flows[0].completion_s;
    assert!(ask.p99 > ask.p50.map(|p50| 3.0 * p50) && lossy.flows[0].unfinished.is_some(), "{ask:?}, seed 1");
    assert!(count(&lossy.flows[0]) > 300.0, "{lossy:?}, seed 1");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut flows = pair("exp:500B", "exp:30kB", "exp:300ms");
    flows.push(FlowSpec { tcp: Variant::Bbr, name: "bbr".into(), ..spec() });
    let (on, off) = (Distribution::Exponential(span(200)), Distribution::Exponential(span(400)));
    let bursts = SourceSpec::OnOff { on, off, rate: Rate::from_bps(1_000_000) };
    flows.push(FlowSpec { source: bursts, name: "bursts".into(), ..spec() });
    let mut scenario = chain(30, 9, 0.01, flows);
    scenario.run.runs = 6;
    scenario.run.intervals = vec![[span(5_000), span(20_000)], [span(10_000), span(30_000)]];
    let report = run(&scenario, 1, || ()).expect("the scenario is valid");
    for threads in [2, 5] {
        assert_eq!(report, run(&scenario, threads, || ()).expect("the scenario is valid"), "seed 9");
    }
    // Another run has other random numbers.
    let once = |k| format!("{:?}", ripstop_sim::scenario::run_once(&scenario, k, &mut ()).expect("a valid run"));
    assert!(once(0) == once(0) && once(0) != once(1), "seed 9");
}

#[test]
fn intervals_have_their_own_percentiles() {
    let flow = FlowSpec { stop: Some(span(50_000)), ..spec() };
    let mut scenario = chain(100, 2, 0.02, vec![flow]);
    scenario.run.intervals = [[0, 50], [50, 100], [0, 100]].map(|pair| pair.map(|s| span(1000 * s))).to_vec();
    let report = done(&scenario);
    let delay = |k: usize| report.intervals[k].flows[0].delay_s;
    assert_eq!(delay(2), report.flows[0].delay_s);
    // Few packets are in flight when the flow stops.
    assert!(delay(0).p99 > delay(0).p50 && delay(0).p50 > Some(0.04), "{:?}, seed 2", delay(0));
    let active = report.flows[0].active_goodput_bps.and_then(|s| s.mean).expect("the flow stops halfway");
    assert!((active / report.flows[0].goodput_bps.mean.expect("the report has this figure") - 2.0).abs() < 1e-3);
    assert_eq!(report.intervals[1].flows[0].cwnd_packets.n, 0, "the flow had stopped");
}

#[test]
fn the_mechanisms_of_modern_senders_act() {
    let run_of = |tcp: Variant, source: SourceSpec, loss: f64| {
        let mut scenario = chain(300, 4, loss, vec![FlowSpec { tcp, source, ..spec() }]);
        scenario.link[1].forth.jitter = span(40);
        done(&scenario).flows.remove(0).mechanisms
    };
    let did = |tcp, source, loss, names: &[&str]| {
        let mechanisms = run_of(tcp, source, loss).expect("the sender has modern mechanisms");
        for name in names {
            assert!(mechanisms[name].mean > Some(0.0), "{tcp:?} {name}: {mechanisms:?}, seed 4");
        }
    };
    let pages = || SourceSpec::OnOff {
        on: Distribution::Exponential(span(300)),
        off: Distribution::Exponential(span(3000)),
        rate: Rate::from_bps(3_000_000),
    };
    let cubic = ["rack_losses", "proportional", "fast_convergences", "reno_friendly"];
    did(Variant::Cubic, SourceSpec::Endless, 0.01, &cubic);
    let tails = ["rack_losses", "tail_probes", "app_limited", "idle_restarts"];
    did(Variant::LinuxCubic, pages(), 0.03, &tails);
    let bbr = ["rack_losses", "paced", "full_pipes", "drains", "gain_phases", "rtt_probes"];
    did(Variant::Bbr, SourceSpec::Endless, 0.01, &bbr);
    assert_eq!(run_of(Variant::Sack, SourceSpec::Endless, 0.01), None);
}

#[test]
fn links_are_reported() {
    let mut scenario = chain(100, 5, 0.02, vec![FlowSpec { tcp: Variant::Bbr, count: 3, ..spec() }]);
    scenario.run.warmup = span(10_000);
    let report = done(&scenario);
    let mean = |s: ripstop_sim::engine::Statistic| s.mean.expect("the report has this figure");
    let [first, second] = [&report.links[0], &report.links[2]];
    assert_eq!((first.name.as_str(), second.name.as_str(), report.links.len()), ("n0>n1", "n1>n2", 4));
    let sum = mean(first.dropped_queue_packets) + mean(first.lost_packets) + mean(first.delivered_packets);
    assert!((mean(first.offered_packets) - sum).abs() < 0.5 && mean(first.dropped_queue_packets) > 0.0);
    let lost = mean(first.lost_packets) / (mean(first.lost_packets) + mean(first.delivered_packets));
    assert!((0.015..0.025).contains(&lost), "{lost}, seed 5");
    // The rate carried matches the utilisation, except for packets that are on the link at an edge of
    // the span.
    let carried = mean(first.delivered_bps) / (1.0 - lost) / 4e6;
    assert!((mean(first.utilisation) - carried).abs() < 0.005 && carried > 0.9, "{first:?}");
    // Little's law ties the queue to the wait.
    let passed = mean(first.lost_packets) + mean(first.delivered_packets);
    assert!((mean(first.queue_packets) * 90.0 / passed / mean(first.queue_s) - 1.0).abs() < 1e-9);
    assert!(mean(first.queue_packets) > 1.0 && mean(second.queue_packets) < 1.0, "{first:?} {second:?}");
}

#[test]
fn tunnels_are_reported() {
    let of = |loss: f64| {
        let mut scenario = chain(60, 6, loss, vec![FlowSpec { tcp: Variant::LinuxCubic, ..spec() }]);
        scenario.tunnel = vec![TunnelSpec::new("t", "n0", "n2")];
        scenario.flow[0].tunnel = Some("t".to_owned());
        scenario.run.warmup = span(10_000);
        done(&scenario)
    };
    let (clean, lossy) = (of(0.0), of(0.03));
    let mean = |s: ripstop_sim::engine::Statistic| s.mean.expect("the report has this figure");
    let way = |report: &ScenarioReport, k: usize| report.tunnels[0].directions[k].clone();
    let (forth, back) = (way(&lossy, 0), way(&lossy, 1));
    assert_eq!((forth.from.as_str(), forth.to.as_str(), back.from.as_str()), ("n0", "n2", "n2"));
    // The ratio is at least 1.17. This is the result of 1.04 for TCP's headers, 56 bytes for the tunnel's headers, and
    // 1/(1 - .06) for the losses.
    assert!((1.15..1.5).contains(&mean(forth.sent_per_useful)), "{forth:?}, seed 6");
    assert!((1.08..1.2).contains(&mean(way(&clean, 0).sent_per_useful)), "{clean:?}, seed 6");
    assert!(back.sent_per_useful.n == 0 && mean(back.delivered_packets) > 100.0, "{back:?}");
    assert!(mean(forth.repairs_exact) + mean(forth.repairs_ahead) > 100.0, "{forth:?}, seed 6");
    assert!(mean(forth.recovered) > 100.0 && mean(forth.residual_loss) < 0.01, "{forth:?}, seed 6");
    let repairs = way(&clean, 0).repairs_ahead.mean.expect("the report has this figure");
    assert!(mean(way(&clean, 0).recovered) == 0.0 && repairs < 50.0, "{clean:?}, seed 6");
    assert!((0.03..0.09).contains(&mean(forth.loss)) && mean(forth.rtt_s) > 0.08, "{forth:?}, seed 6");
    assert!((2e6..6e6).contains(&mean(forth.rate_bps)), "{forth:?}, seed 6");
}
