//! TCP over links with queue disciplines: how long the queue is, and how flows share the link.

use ripstop_base::{Fraction, QueueLimit, Rate, Span};
use ripstop_link::{Discipline, LinkConfig, Mark};
use ripstop_sim::scenario::{
    FlowSpec, LinkReport, LinkSpec, NcSpec, RunSpec, Scenario, ScenarioReport, TunnelSpec, UdpSpec, run,
};
use ripstop_sim::tcp::Variant;
use std::time::Duration;

/// A path of 20 Mbit/s and 40 ms with a queue of 1000 packets, for one run of 40 s. The first 10 s are not measured.
fn scenario(discipline: Discipline, flows: Vec<FlowSpec>) -> Scenario {
    let delay = Span::from(Duration::from_millis(20));
    let forth = LinkConfig {
        rate: Rate::from_bps(20_000_000),
        delay,
        queue: Some(QueueLimit::Packets(1000)),
        queue_discipline: discipline,
        ..LinkConfig::default()
    };
    let back = LinkConfig { delay, ..LinkConfig::default() };
    Scenario {
        run: RunSpec {
            duration: Span::from(Duration::from_secs(40)),
            warmup: Span::from(Duration::from_secs(10)),
            runs: 1,
            seed: 7,
            ..RunSpec::default()
        },
        link: vec![LinkSpec::new(["a".into(), "b".into()], forth, Some(back))],
        flow: flows,
        ..Scenario::default()
    }
}

fn flow(name: &str, tcp: Variant) -> FlowSpec {
    FlowSpec {
        name: name.into(),
        tcp,
        window: 10_000,
        packet: ripstop_base::Bytes::new(1448),
        ..FlowSpec::new("a", "b")
    }
}

fn result(scenario: &Scenario) -> ScenarioReport {
    run(scenario, 1, || ()).expect("the scenario is valid")
}

/// The mean wait in the queue, ms.
fn queue_ms(link: &LinkReport) -> f64 {
    1e3 * link.queue_s.mean.expect("packets were sent")
}

fn goodput(report: &ScenarioReport, k: usize) -> f64 {
    report.flows[k].goodput_bps.mean.expect("the flow ran")
}

#[test]
fn codel_and_pie_keep_the_queue_of_cubic_near_their_targets() {
    let [fifo, codel, pie] = [Discipline::Fifo, Discipline::codel(), Discipline::pie()].map(|discipline| {
        let report = result(&scenario(discipline, vec![flow("cubic", Variant::LinuxCubic)]));
        let (queue, link) = (queue_ms(&report.links[0]), &report.links[0]);
        assert!(link.unfired.is_empty(), "{discipline:?} did nothing: {:?}", link.unfired);
        assert_eq!(link.dropped_aqm_packets.mean > Some(0.0), discipline.is_aqm());
        assert!(link.utilisation.mean > Some(0.9), "{discipline:?}: {:?}", link.utilisation);
        queue
    });
    assert!(fifo > 100.0, "drop-tail: {fifo} ms");
    assert!((1.0..8.0).contains(&codel), "CoDel: {codel} ms, seed 7");
    assert!((5.0..20.0).contains(&pie), "PIE: {pie} ms, seed 7");
}

#[test]
fn fq_shares_the_link_equally_and_fifo_does_not() {
    // BBR ignores single losses, so it takes most of a short drop-tail queue from CUBIC.
    let flows = || vec![flow("cubic", Variant::LinuxCubic), flow("bbr", Variant::Bbr)];
    let shares = |discipline, queue| {
        let mut scenario = scenario(discipline, flows());
        scenario.link[0].forth.queue = Some(QueueLimit::Packets(queue));
        let report = result(&scenario);
        assert!(report.links[0].unfired.is_empty());
        goodput(&report, 0) / (goodput(&report, 0) + goodput(&report, 1))
    };
    let (fq, fifo) = (shares(Discipline::fq(), 1000), shares(Discipline::Fifo, 20));
    assert!((fq - 0.5).abs() < 0.03, "CUBIC has a share of {fq} under FQ, seed 7");
    assert!(fifo < 0.35, "CUBIC has a share of {fifo} in a short drop-tail queue, seed 7");
}

/// Ten packets each 100 ms of a light flow do not wait behind the bulk.
#[test]
fn fq_lets_a_light_flow_pass() {
    let light = FlowSpec {
        name: "light".into(),
        udp: Some(UdpSpec::Constant(Rate::from_bps(100_000))),
        packet: ripstop_base::Bytes::new(200),
        ..FlowSpec::new("a", "b")
    };
    let delay = |discipline| {
        let report = result(&scenario(discipline, vec![flow("cubic", Variant::LinuxCubic), light.clone()]));
        report.flows[1].delay_s.p99.expect("packets arrived")
    };
    let (fifo, fq) = (delay(Discipline::Fifo), delay(Discipline::fq()));
    assert!(fifo > 0.1, "drop-tail: {fifo} s");
    assert!(fq < 0.0225, "FQ: {fq} s, but the path takes 20 ms and a full packet 0.6 ms, seed 7");
}

/// The number of times that a mechanism of flow 0 acted.
fn acted(report: &ScenarioReport, mechanism: &str) -> f64 {
    let mechanisms = report.flows[0].mechanisms.as_ref().expect("the flow is modern");
    mechanisms[mechanism].mean.expect("there are runs")
}

#[test]
fn marks_slow_tcp_down_without_losses() {
    for discipline in [Discipline::codel(), Discipline::fq(), Discipline::pie()] {
        for tcp in [Variant::LinuxCubic, Variant::LinuxReno, Variant::Cubic] {
            // A slow start that overshoots raises PIE's drop probability above 10 %, and PIE then drops capable packets
            // too. Linux's HyStart ends slow start early enough.
            if discipline == Discipline::pie() && tcp != Variant::LinuxCubic {
                continue;
            }
            let mut scenario = scenario(discipline, vec![FlowSpec { ecn: true, ..flow("ecn", tcp) }]);
            scenario.link[0].forth.ecn = true;
            scenario.run.warmup = Span::from(Duration::ZERO);
            let report = result(&scenario);
            let (link, flow) = (&report.links[0], &report.flows[0]);
            let why = format!("{discipline:?}, {tcp:?}, seed 7: {link:?} {flow:?}");
            assert!(link.unfired.is_empty(), "{why}");
            assert_eq!(link.dropped_aqm_packets.mean, Some(0.0), "{why}");
            assert_eq!(flow.retransmits.mean, Some(0.0), "{why}");
            // The receiver has seen all marks but those on their way, and each reduction answers one or more marks.
            let [told, marked] = [flow.marked_packets.mean, link.marked_packets.mean].map(|n| n.expect("runs"));
            assert!(marked > 5.0 && marked - told <= 2.0, "{why}");
            let reductions = acted(&report, "ecn_reductions");
            assert!(reductions > 2.0 && reductions <= marked, "{reductions} reductions, {why}");
            // Reno halves its window, so the short queue of CoDel runs empty after each mark.
            assert!(link.utilisation.mean > Some(0.75), "{why}");
            assert!(queue_ms(link) < 20.0, "{why}");
        }
    }
}

/// A link that marks every packet stops the growth of the window. BBR version 1 ignores the marks, and a TCP without
/// ECN is not marked.
#[test]
fn a_link_that_marks_every_packet_halts_cubic() {
    let of = |tcp, ecn| {
        let mut scenario = scenario(Discipline::Fifo, vec![FlowSpec { ecn, ..flow("flow", tcp) }]);
        scenario.link[0].forth.mark = Some(Mark::Share(Fraction::new(1.0).expect("a share")));
        let report = result(&scenario);
        (goodput(&report, 0) / 20e6, report.links[0].marked_packets.mean, report.flows[0].retransmits.mean)
    };
    let (cubic, marked, retransmits) = of(Variant::LinuxCubic, true);
    assert!(cubic < 0.1 && marked > Some(100.0) && retransmits == Some(0.0), "{cubic} {marked:?} {retransmits:?}");
    let (plain, marked, _) = of(Variant::LinuxCubic, false);
    assert!(plain > 0.9 && marked == Some(0.0), "{plain} {marked:?}");
    let (bbr, marked, _) = of(Variant::Bbr, true);
    assert!(bbr > 0.9 && marked > Some(1000.0), "{bbr} {marked:?}");
}

#[test]
fn ecn_is_for_modern_tcps_without_coding_layers() {
    let refused = |flow: FlowSpec| {
        let error = scenario(Discipline::codel(), vec![flow]).check().expect_err("the flow is not valid");
        assert_eq!(error.field, "flow[0].ecn");
        error.problem
    };
    assert!(refused(FlowSpec { ecn: true, ..flow("f", Variant::NewReno) }).contains("linux-cubic"));
    let nc =
        FlowSpec { nc: Some(NcSpec::default()), packet: ripstop_base::Bytes::new(1000), ..flow("f", Variant::Cubic) };
    assert!(refused(FlowSpec { ecn: true, ..nc }).contains("coding layer"));
    let udp = FlowSpec { udp: Some(UdpSpec::Constant(Rate::from_bps(1000))), ..FlowSpec::new("a", "b") };
    assert!(refused(FlowSpec { ecn: true, ..udp }).len() > 5);
}

/// The send queue of a tunnel marks the packets of an ECN-capable inner TCP instead of dropping them. The mark reaches
/// the receiver, and the sender slows down.
#[test]
fn a_tunnel_marks_capable_inner_packets() {
    let of = |ecn| {
        let inner = FlowSpec {
            ecn,
            tunnel: Some("tunnel".into()),
            packet: ripstop_base::Bytes::new(1384),
            ..flow("inner", Variant::LinuxCubic)
        };
        let mut scenario = scenario(Discipline::Fifo, vec![inner]);
        scenario.tunnel = vec![TunnelSpec::new("tunnel", "a", "b")];
        let report = result(&scenario);
        let sent = &report.tunnels[0].directions[0];
        let counts = [sent.marked_aqm, sent.dropped_aqm, report.flows[0].retransmits, report.flows[0].marked_packets];
        (counts.map(|n| n.mean.expect("runs")), goodput(&report, 0))
    };
    let ([marked, dropped, retransmits, told], goodput) = of(true);
    assert!(marked > 0.0 && (marked - told).abs() <= 2.0, "{marked} marks, {told} arrived, seed 7");
    assert_eq!((dropped, retransmits), (0.0, 0.0), "seed 7");
    assert!(goodput > 0.85 * 20e6, "{goodput} bit/s, seed 7");
    let ([marked, dropped, ..], _) = of(false);
    assert!(marked == 0.0 && dropped > 0.0, "{marked} marks, {dropped} drops, seed 7");
}

/// A tunnel with ECN slows down for marks, without losses. A tunnel with a fixed rate is not ECN-capable.
#[test]
fn marks_slow_a_tunnel_down() {
    let of = |ecn, rate: &str| {
        let inner = FlowSpec {
            tunnel: Some("tunnel".into()),
            packet: ripstop_base::Bytes::new(1384),
            ..flow("inner", Variant::LinuxCubic)
        };
        let mut scenario = scenario(Discipline::codel(), vec![inner]);
        scenario.link[0].forth.ecn = true;
        let rate = rate.parse().expect("a rate");
        scenario.tunnel = vec![TunnelSpec { ecn, rate, ..TunnelSpec::new("tunnel", "a", "b") }];
        let report = result(&scenario);
        let link = &report.links[0];
        [link.marked_packets, link.dropped_aqm_packets].map(|n| n.mean.expect("runs"))
    };
    let [marked, dropped] = of(true, "fair");
    assert!(marked > 0.0 && dropped == 0.0, "{marked} marks, {dropped} drops, seed 7");
    let [marked, dropped] = of(true, "25Mbit/s");
    assert!(marked == 0.0 && dropped > 100.0, "{marked} marks, {dropped} drops, seed 7");
}
