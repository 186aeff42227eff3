//! The wire format can carry every packet that a tunnel session sends, whatever the links do. Simulated and real
//! tunnels therefore exchange the same packets.

use crate::common::{LINKS, TUNNEL, add_source, tunnel};
use proptest::prelude::*;
use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Blackout, Duplicate, LinkConfig, Loss, Reorder};
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_proto::wire::Packet as TunnelPacket;
use ripstop_sim::world::{Body, Happening, LabelledPacket, Observer, UdpConfig, UdpPattern};
use std::time::Duration;

/// Checks every datagram that is offered to a link, and counts datagrams by kind.
#[derive(Debug, Default)]
struct Checked {
    sources: u64,
    repairs: u64,
    reports: u64,
    windows: u64,
    probes: u64,
    /// Descriptions of the packets that the wire format would change.
    changed: Vec<String>,
}

impl Checked {
    fn add(&mut self, packet: &TunnelPacket<LabelledPacket>) {
        *match packet {
            TunnelPacket::Source { .. } => &mut self.sources,
            TunnelPacket::Repair { .. } | TunnelPacket::BlockRepair { .. } => &mut self.repairs,
            TunnelPacket::Feedback(_) => &mut self.reports,
            TunnelPacket::Window(_) => &mut self.windows,
            TunnelPacket::Probe { .. }
            | TunnelPacket::Close
            | TunnelPacket::Challenge { .. }
            | TunnelPacket::Answer { .. } => &mut self.probes,
        } += 1;
        self.changed.extend(packet.check_carried(None).err());
    }
}

impl Observer for Checked {
    fn note(&mut self, _: Time, happening: Happening<'_>) {
        if let Happening::Offered { packet, first: true, .. } = happening
            && let Body::Datagram(datagram) = &packet.body
        {
            self.add(&datagram.packet);
        }
    }
}

fn share(value: f64) -> Fraction {
    Fraction::new(value).expect("a share from 0 to 1")
}

fn ms(n: u64) -> Span {
    Span::from(Duration::from_millis(n))
}

/// Random hostile links: loss bursts, jitter, reordering, duplication, corruption, and a blackout.
fn link() -> impl Strategy<Value = LinkConfig> {
    let path = (500_000u64..40_000_000, 1u64..300, 0.0..0.5, 1.0..8.0f64, 4u64..2000);
    let troubles = (0u64..30, 0.0..0.1, 0.0..0.1, 0.0..0.05, 100u64..2000);
    (path, troubles).prop_map(|((rate, delay, loss, burst, queue), (jitter, reorder, duplicate, corrupt, blackout))| {
        LinkConfig {
            queue: Some(QueueLimit::Packets(queue)),
            loss: Loss::Gilbert { mean: share(loss), burst: burst.max(1.0 / (1.0 - loss)) },
            jitter: ms(jitter),
            reorder: Some(Reorder { probability: share(reorder), extra_delay: ms(delay / 2 + 1) }),
            duplicate: Some(Duplicate { probability: share(duplicate), extra_delay: ms(3) }),
            corrupt: share(corrupt),
            blackouts: vec![Blackout { at: ms(1_500), length: ms(blackout), every: None }],
            ..LinkConfig::path(Rate::from_bps(rate), Duration::from_millis(2 * delay), Fraction::ZERO)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_wire_format_carries_every_packet(there in link(), back in link(), seed: u64, backlog in 1usize..60) {
        let config = TunnelConfig::default();
        let mut world = tunnel(&config, [&there, &back], Seed::new(seed)).expect("the links are valid");
        add_source(&mut world, UdpConfig::new(UdpPattern::Greedy { backlog }, config.inner_mtu()));
        add_source(&mut world, UdpConfig { len: (20, config.inner_mtu()), ..UdpConfig::poisson(20, 40.0) });
        let mut checked = Checked::default();
        world.run_until(Time::from_millis(5_000), &mut checked);
        prop_assert!(checked.changed.is_empty(), "{:?}", checked.changed);
        prop_assert!(checked.sources > 0 && checked.windows > 0, "{checked:?}");
        prop_assert_eq!(world.strays(), 0);
    }
}

/// On a fast lossy path a report may be too long for one datagram. The receiver then shortens the report.
#[test]
fn reports_that_do_not_fit_are_cut_by_the_receiver() {
    let link = LinkConfig {
        loss: Loss::Gilbert { mean: share(0.13), burst: 2.5 },
        ..LinkConfig::path(Rate::from_bps(900_000_000), Duration::from_millis(200), Fraction::ZERO)
    };
    let config = TunnelConfig { rate: RateMode::Fixed(Rate::from_bps(800_000_000)), ..TunnelConfig::default() };
    let mut world = tunnel(&config, [&link; 2], Seed::new(1)).expect("the links are valid");
    add_source(&mut world, UdpConfig::greedy(config.inner_mtu()));
    let mut checked = Checked::default();
    world.run_until(Time::from_millis(1_000), &mut checked);
    let [_, right] = world.tunnel(TUNNEL);
    assert!(right.path.received.cut_reports > 0, "seed 1: no report of {} was cut", right.path.received.reports);
    assert!(checked.changed.is_empty(), "seed 1: {:?}", checked.changed);
    assert!(checked.repairs > 0 && checked.probes + checked.reports > 0, "seed 1: {checked:?}");
    assert!(world.link(LINKS[0]).lost_channel > 0, "seed 1");
}
