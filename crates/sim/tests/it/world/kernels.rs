//! The hosts of a connection between kernels, apart from congestion control: headers,
//! acknowledgements, payloads of packets, and connections of two flows.

use ripstop_base::{Fraction, Rate, Seed, Span, Time};
use ripstop_link::{LinkConfig, Loss};
use ripstop_sim::tcp::{Distribution, Pattern, SenderConfig, Variant};
use ripstop_sim::world::{Body, Carrier, Happening, Hosts, TcpConfig, World};
use std::collections::BTreeSet;
use std::time::Duration;

/// The seed of all tests here.
const SEED: u64 = 21;

/// Adds a link of 10 Mbit/s and 20 ms in each direction.
fn links(world: &mut World, loss: f64) -> [usize; 2] {
    let mut config = LinkConfig {
        rate: Rate::from_bps(10_000_000),
        delay: Span::from(Duration::from_millis(20)),
        ..LinkConfig::default()
    };
    if loss > 0.0 {
        config.loss = Loss::bernoulli(Fraction::new(loss).expect("a share from 0 to 1"));
    }
    ["link/0", "link/1"].map(|name| world.add_link(&config, name).expect("the link is valid"))
}

/// A CUBIC flow between kernels with this traffic pattern.
fn kernel(pattern: Pattern) -> TcpConfig {
    TcpConfig {
        variant: Variant::LinuxCubic,
        sender: SenderConfig { window: 100, ..SenderConfig::linux() },
        hosts: Hosts::Kernels,
        ack_every: 2,
        pattern,
        ..TcpConfig::default()
    }
}

#[test]
fn headers_have_time_stamps_and_the_last_packet_is_short() {
    let mut world = World::new(Seed::new(SEED));
    let [there, back] = links(&mut world, 0.03);
    let file = kernel(Pattern::File(1_234_567));
    let flow = world.add_tcp(file, &Carrier::Links(&[there], &[back]), "flow").expect("the flow is valid");
    let (mut data, mut acks, mut arrived) = (BTreeSet::new(), BTreeSet::new(), 0);
    world.run_until(Time::from_millis(60_000), &mut |_: Time, happening: Happening<'_>| match happening {
        Happening::Offered { packet, .. } => {
            match &packet.body {
                Body::Ack(ack) => acks.insert((packet.bytes, ack.blocks().count())),
                _ => data.insert(packet.bytes),
            };
        }
        Happening::Received { bytes, .. } => arrived = bytes,
        _ => {}
    });
    assert_eq!(Vec::from_iter(data), [52, 52 + 567, 1052], "seed {SEED}");
    assert!([(52, 0), (64, 1), (72, 2)].iter().all(|ack| acks.contains(ack)), "{acks:?}, seed {SEED}");
    let totals = world.totals(flow);
    assert_eq!((totals.bytes, arrived, totals.completed), (1_234_567, 1_234_567, 1), "seed {SEED}");
}

#[test]
fn an_odd_packet_is_acknowledged_after_40_ms() {
    for (hosts, wait) in [(Hosts::Kernels, 40), (Hosts::Agents, 100)] {
        let mut world = World::new(Seed::new(SEED));
        let [there, back] = links(&mut world, 0.0);
        let config = TcpConfig { hosts, ..kernel(Pattern::File(1000)) };
        world.add_tcp(config, &Carrier::Links(&[there], &[back]), "flow").expect("the flow is valid");
        let (mut arrived, mut answered) = (Vec::new(), Vec::new());
        world.run_until(Time::from_millis(5000), &mut |now: Time, happening: Happening<'_>| match happening {
            Happening::Received { .. } => arrived.push(now),
            Happening::Offered { link, .. } if link == back => answered.push(now),
            _ => {}
        });
        assert_eq!((arrived.len(), answered.len()), (2, 2), "{hosts:?}");
        let waits = [0, 1].map(|k: usize| answered[k].since(arrived[k]).as_millis());
        assert_eq!(waits, [0, wait], "{hosts:?}: waits of the SYN and of the odd packet");
    }
}

/// Runs two flows: 20 requests, one every 100 ms, and their answers. Returns the world, the
/// completed transfers, and the numbers of packets with data, with an acknowledgement, and with
/// both.
fn asking(joined: bool, loss: f64) -> (World, Vec<(usize, Duration)>, [u64; 3]) {
    let mut world = World::new(Seed::new(SEED));
    let [there, back] = links(&mut world, loss);
    let length = Distribution::Fixed(100);
    let ask = kernel(Pattern::Scheduled { length });
    let ask = world.add_tcp(ask, &Carrier::Links(&[there], &[back]), "ask").expect("the flow is valid");
    let answer = kernel(Pattern::Answers { length });
    let answer = world.add_tcp(answer, &Carrier::Links(&[back], &[there]), "answer").expect("the flow is valid");
    if joined {
        world.join(ask, answer);
    } else {
        world.pair(ask, answer);
    }
    let moments: Vec<Time> = (0..20).map(|k| Time::from_millis(500 + 100 * k)).collect();
    world.ask_at(ask, &moments);
    // Counts packets with data, with an acknowledgement, and with both.
    let (mut done, mut packets) = (Vec::new(), [0, 0, 0]);
    world.run_until(Time::from_millis(30_000), &mut |_: Time, happening: Happening<'_>| match happening {
        Happening::Completed { flow, completion } => {
            done.push((flow, completion.ended.since(completion.began)));
        }
        Happening::Offered { packet, .. } => match packet.body {
            Body::Data(_) => packets[0] += 1,
            Body::Ack(_) => packets[1] += 1,
            Body::Both(_) => packets[2] += 1,
            _ => panic!("seed {SEED}: {packet:?}"),
        },
        _ => {}
    });
    (world, done, packets)
}

#[test]
fn a_two_way_connection_acknowledges_with_its_data() {
    let (_, done, packets) = asking(true, 0.0);
    let took: Vec<Duration> = done.iter().filter(|(flow, _)| *flow == 0).map(|(_, took)| *took).collect();
    // A request takes the delay of both directions, 40 ms, and two times the serialisation of 152 bytes.
    let want = Duration::from_nanos(40_000_000 + 2 * 121_600);
    assert_eq!(took, vec![want; 20], "each request must take one round trip on an open connection");
    // There are 21 packets with data: the SYN and the requests. A request acknowledges nothing new, because the answer
    // before it was acknowledged after 40 ms. An answer carries the acknowledgement of its request, and the SYN-ACK
    // carries the acknowledgement of the SYN.
    assert_eq!(packets, [21, 21, 21], "wrong numbers of packets with data, with an acknowledgement, or with both");
    let (_, apart, [data, acks, both]) = asking(false, 0.0);
    assert_eq!(
        (apart.len(), data, acks, both),
        (40, 42, 42, 0),
        "two connections must not send data and acknowledgement in one packet"
    );
}

#[test]
fn lost_requests_are_retransmitted_and_waiting_ones_share_packets() {
    let (world, done, [_, _, both]) = asking(true, 0.2);
    let took = done.iter().filter(|(flow, _)| *flow == 0);
    assert_eq!(took.clone().count(), 20, "seed {SEED}: {done:?}");
    let (asks, answers) = (world.totals(0), world.totals(1));
    let slow = took.clone().filter(|(_, took)| *took > Duration::from_millis(200)).count();
    assert!(slow > 0 && both > 0, "seed {SEED}: {both}, {done:?}");
    assert!(asks.packets < 20 && answers.packets < 20, "seed {SEED}: {asks:?} {answers:?}");
    assert_eq!((asks.bytes, answers.bytes), (2000, 2000), "seed {SEED}");
    assert!(asks.retransmits > 0 && answers.retransmits > 0, "seed {SEED}: {asks:?} {answers:?}");
}

#[test]
#[should_panic(expected = "path of the other flow's acknowledgements")]
fn two_flows_of_one_direction_cannot_be_joined() {
    let mut world = World::new(Seed::new(SEED));
    let [there, back] = links(&mut world, 0.0);
    let length = Distribution::Fixed(100);
    for pattern in [Pattern::Scheduled { length }, Pattern::Answers { length }] {
        world.add_tcp(kernel(pattern), &Carrier::Links(&[there], &[back]), "flow").expect("the flow is valid");
    }
    world.join(0, 1);
}
