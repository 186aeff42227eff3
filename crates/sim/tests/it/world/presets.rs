//! Presets as scenario files. Writing a scenario as text and reading it back gives the same
//! scenario, and the text leaves defaults out.

use proptest::prelude::*;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use ripstop_link::{Duplicate, Fec, LinkConfig, Loss};
use ripstop_sim::scenario::{FecPath, FlowSpec, NcSpec, RunSpec, Scenario, SourceSpec, Tandem, TunnelSpec};
use ripstop_sim::tcp::{Distribution, Reassembly, Variant};
use std::time::Duration;

fn span() -> impl Strategy<Value = Span> {
    (1u64..2_000_000).prop_map(|us| Span::from(Duration::from_micros(us)))
}

fn drawn<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Distribution<T>> {
    (any::<bool>(), of)
        .prop_map(|(fixed, of)| if fixed { Distribution::Fixed(of) } else { Distribution::Exponential(of) })
}

fn bytes() -> impl Strategy<Value = Bytes> {
    (1u64..10_000_000).prop_map(Bytes::new)
}

fn share() -> impl Strategy<Value = Fraction> {
    (0.0f64..0.9999).prop_map(|share| Fraction::new(share).expect("a share from 0 to 1"))
}

fn link() -> impl Strategy<Value = LinkConfig> {
    let loss = prop_oneof![
        Just(Loss::None),
        share().prop_map(Loss::bernoulli),
        (share(), share()).prop_map(|(p, q)| Loss::gilbert(p, q)),
    ];
    let queue = prop_oneof![
        Just(None),
        (1u64..1000).prop_map(|n| Some(QueueLimit::Packets(n))),
        (1u64..100_000).prop_map(|n| Some(QueueLimit::Bytes(n))),
    ];
    let duplicate = proptest::option::of(
        (share(), span()).prop_map(|(probability, extra_delay)| Duplicate { probability, extra_delay }),
    );
    (0u64..50_000_000, span(), queue, loss, duplicate).prop_map(|(bps, delay, queue, loss, duplicate)| LinkConfig {
        rate: Rate::from_bps(bps),
        delay,
        queue,
        loss,
        duplicate,
        ..LinkConfig::default()
    })
}

fn source() -> impl Strategy<Value = SourceSpec> {
    let on = drawn((1_000u64..9_000).prop_map(|ms| Span::from(Duration::from_millis(ms))));
    prop_oneof![
        Just(SourceSpec::Endless),
        bytes().prop_map(SourceSpec::File),
        (on, drawn(span())).prop_map(|(on, off)| SourceSpec::OnOff { on, off, rate: Rate::from_bps(900_000) }),
    ]
}

fn flow() -> impl Strategy<Value = FlowSpec> {
    let variant = (0..Variant::NAMES.len()).prop_map(|k| Variant::NAMES[k].0);
    (
        variant,
        source(),
        proptest::option::of(1u32..100),
        proptest::option::of(span()),
        1u32..5,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(tcp, source, initial_window, rto_min, ack_every, go_back_n, coded)| FlowSpec {
            tcp,
            source,
            initial_window,
            rto_min,
            ack_every: if coded { 1 } else { ack_every },
            receiver: if go_back_n && !coded { Reassembly::GoBackN } else { Reassembly::Buffer },
            nc: coded.then(NcSpec::default),
            ..FlowSpec::new("", "")
        })
}

/// Writes the scenario, reads the text back, compares, and returns the text.
fn assert_round_trip(scenario: &Scenario) -> String {
    let text = scenario.to_toml().expect("the scenario fits TOML");
    let back = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&back, scenario, "{text}");
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn every_chain_survives_a_round_trip(forth in link(), back in link(), flow in flow(), hops in 1u32..5, through in any::<bool>()) {
        let tunnel = (through && flow.nc.is_none()).then(|| TunnelSpec::new("t", "", ""));
        let scenario = Tandem { run: RunSpec::default(), hops, forth, back, flows: vec![flow], tunnel }.scenario();
        if scenario.check().is_ok() {
            assert_round_trip(&scenario);
        }
    }

    #[test]
    fn every_block_code_survives_a_round_trip(k in 1u32..30, more in 0u32..10, loss in share(), flow in flow(), rtt in span(), blocks in 1u32..4) {
        let scenario = FecPath {
            run: RunSpec::default(),
            fec: Fec::new(k + more, k, Loss::bernoulli(loss)),
            units_per_s: 3000,
            rtt,
            queue: QueueLimit::Packets(100),
            other_loss: Loss::None,
            packet_blocks: blocks,
            flow,
        }
        .scenario();
        if scenario.check().is_ok() {
            assert_round_trip(&scenario);
        }
    }
}

#[test]
fn defaults_are_left_out() {
    let forth = LinkConfig { rate: Rate::from_bps(2_000_000), ..LinkConfig::default() };
    let flows = vec![FlowSpec { source: SourceSpec::File(Bytes::new(1_000_000)), ..FlowSpec::new("", "") }];
    let scenario =
        Tandem { run: RunSpec::default(), hops: 1, back: forth.clone(), forth, flows, tunnel: None }.scenario();
    let text = assert_round_trip(&scenario);
    for word in ["delay", "blackouts", "corrupt", "jitter", "rto-min", "tick", "back"] {
        assert!(!text.contains(word), "{word}\n{text}");
    }
    assert!(text.contains("rate = \"2Mbit/s\"") && text.contains("file = \"1MB\""), "{text}");
}
