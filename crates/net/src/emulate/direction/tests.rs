use super::*;
use ripstop_base::{Bytes, Fraction, Rate, Seed, Span};
use ripstop_link::{Discipline, Duplicate, LinkConfig, Loss};

fn direction(config: LinkConfig) -> Direction {
    Direction::new(Link::new(&config, Seed::new(1), "link/0").unwrap(), config.fec.as_ref(), 100, true).unwrap()
}

/// Offers packets, all at `now`.
fn feed(direction: &mut Direction, now: Time, packets: &[&[u8]]) {
    let mut rest = packets.iter();
    let more = direction.read_packets(
        1000,
        || now,
        |buffer| {
            let packet = rest.next().ok_or(io::ErrorKind::WouldBlock)?;
            let len = packet.len().min(buffer.len());
            buffer[..len].copy_from_slice(&packet[..len]);
            Ok(len)
        },
    );
    assert!(!more.unwrap());
}

/// The packets delivered by `now`.
fn drain(direction: &mut Direction, now: Time) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    direction.deliver_due(
        || now,
        |packet| {
            out.push(packet.to_vec());
            Ok(packet.len())
        },
    );
    out
}

fn packet(number: u8) -> [u8; 50] {
    let mut packet = [number; 50];
    packet[0] = 0x45;
    packet
}

#[test]
fn packets_come_out_when_the_link_says() {
    let mut d = direction(LinkConfig {
        rate: Rate::from_bps(400_000), // 50 bytes a millisecond
        delay: Span::from(Duration::from_millis(10)),
        loss: Loss::Indices { lost: vec![1], period: None },
        ..LinkConfig::default()
    });
    assert_eq!(d.next_due(), None);
    feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
    assert_eq!(d.next_due(), Some(Time::from_millis(11)));
    assert!(drain(&mut d, Time::from_micros(10_999)).is_empty());
    assert_eq!(drain(&mut d, Time::from_millis(11)), [packet(0)]);
    // Packet 1 is lost, but it used its time on the link. Packet 2 is 2 ms late and counted as late.
    assert_eq!(drain(&mut d, Time::from_millis(15)), [packet(2)]);
    let report = d.report();
    assert_eq!((report.handed_over, report.handed_over_bytes, report.in_flight), (2, 100, 0));
    assert_eq!((report.lateness.n, report.lateness.over_1ms), (2, 1));
    assert!((report.lateness.max_s.unwrap() / 2e-3 - 1.0).abs() < 0.01);
    assert_eq!(d.fates(), 3);
    let mut log = Vec::new();
    d.move_fates(&mut log);
    assert_eq!((log.as_slice(), d.fates()), (b".x.".as_slice(), 0));
    assert_eq!(d.slots.len(), 3, "the slot of a lost packet must be used again");
    for k in 0..100 {
        feed(&mut d, Time::from_millis(100 + k), &[&packet(3)]);
        drain(&mut d, Time::from_millis(100 + k));
    }
    assert!(d.slots.len() < 16, "{} slots", d.slots.len());
}

#[test]
fn packets_that_follow_at_once_come_together() {
    // 50 bytes at 10 Mbit/s take 40 us; three packets arrive at 40, 80 and 120 us.
    let mut d = direction(LinkConfig { rate: Rate::from_bps(10_000_000), ..LinkConfig::default() });
    feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
    assert_eq!(d.next_due(), Some(Time::from_micros(90)));
    assert_eq!(drain(&mut d, Time::from_micros(90)).len(), 2);
    assert_eq!(d.next_due(), Some(Time::from_micros(120)), "the last packet must not wait");
    assert_eq!(drain(&mut d, Time::from_micros(120)).len(), 1);
}

#[test]
fn capable_packets_are_marked_where_the_queue_is_long() {
    let mark = Some("1".parse().unwrap());
    let mut d = direction(LinkConfig { rate: Rate::from_bps(10_000_000), mark, ..LinkConfig::default() });
    // The two ECN bits of the IPv4 header's second byte (RFC 3168): 2 is ECT(0), 0 is Not-ECT.
    let with_ecn = |n: u8, ecn: u8| {
        let mut packet = packet(n);
        packet[1] = ecn;
        packet
    };
    // The first packet is sent immediately, the second waits alone, and the third and fourth
    // each find one packet waiting.
    feed(&mut d, Time::ZERO, &[&with_ecn(0, 2), &with_ecn(1, 2), &with_ecn(2, 2), &with_ecn(3, 0)]);
    let arrived = drain(&mut d, Time::from_millis(1));
    let marks: Vec<u8> = arrived.iter().map(|packet| packet[1] & 3).collect();
    assert_eq!(marks, [2, 2, 3, 0]);
    assert_eq!((d.report().marked, d.report().link.congested), (1, 2));
}

#[test]
fn packets_that_wait_come_out_in_the_order_of_the_discipline() {
    let mut d = direction(LinkConfig {
        rate: Rate::from_bps(400_000), // 50 bytes a millisecond
        delay: Span::from(Duration::from_millis(10)),
        queue: Some("3".parse().unwrap()),
        queue_discipline: Discipline::fq(),
        ..LinkConfig::default()
    });
    // The flow is the pair of addresses. Each packet has one byte of content that differs.
    let of_flow = |flow: u8, number: u8| {
        let mut packet = [0; 50];
        (packet[0], packet[3], packet[19], packet[30]) = (0x45, 50, flow, number);
        packet
    };
    let packets = [of_flow(1, 0), of_flow(1, 1), of_flow(1, 2), of_flow(2, 3), of_flow(1, 4)];
    feed(&mut d, Time::ZERO, &packets.each_ref().map(|packet| &packet[..]));
    // The first packet is sent. The other four exceed the queue, so the first of flow 1 is dropped.
    assert_eq!(d.next_due(), Some(Time::ZERO), "the link has dropped a packet, whose slot is free now");
    assert!(drain(&mut d, Time::ZERO).is_empty());
    assert_eq!(d.next_due(), Some(Time::from_millis(1)));
    let mut numbers = Vec::new();
    while let Some(due) = d.next_due() {
        numbers.extend(drain(&mut d, due).iter().map(|packet| (packet[30], due.as_nanos() / 1_000_000)));
    }
    // Flow 1 has its turn first, and both of its packets fit into one turn.
    assert_eq!(numbers, [(0, 11), (2, 12), (4, 13), (3, 14)]);
    let mut log = Vec::new();
    d.move_fates(&mut log);
    assert_eq!((log.as_slice(), d.free.len()), (b".q...".as_slice(), d.slots.len()));
    assert!(d.report().unfired.is_empty());
}

#[test]
fn a_queue_discipline_marks_capable_packets() {
    let mut d = direction(LinkConfig {
        rate: Rate::from_bps(400_000),
        queue_discipline: Discipline::codel(),
        ecn: true,
        ..LinkConfig::default()
    });
    let mut marks = 0;
    for ms in 0..400 {
        let mut capable = packet(0);
        (capable[1], capable[2], capable[3]) = (2, 0, 50);
        feed(&mut d, Time::from_millis(ms), &[&capable]);
        if ms % 10 == 0 {
            feed(&mut d, Time::from_millis(ms), &[&capable]);
        }
        marks += drain(&mut d, Time::from_millis(ms)).iter().filter(|packet| packet[1] & 3 == 3).count() as u64;
    }
    let report = d.report();
    assert!(marks > 3, "{marks} marks");
    assert_eq!((report.marked, report.link.marked_aqm, report.link.dropped_aqm), (marks, marks, 0));
}

#[test]
fn copies_and_damage_are_carried_out() {
    let always = Fraction::new(1.0).unwrap();
    let mut d = direction(LinkConfig {
        duplicate: Some(Duplicate { probability: always, extra_delay: Span::from(Duration::from_millis(1)) }),
        corrupt: always,
        ..LinkConfig::default()
    });
    feed(&mut d, Time::ZERO, &[&packet(9)]);
    let first = drain(&mut d, Time::ZERO);
    let second = drain(&mut d, Time::from_millis(1));
    assert_eq!(first, second);
    let flipped: u32 = first[0].iter().zip(packet(9)).map(|(a, b)| (a ^ b).count_ones()).sum();
    assert_eq!((first.len(), flipped), (1, 1));
    let report = d.report();
    assert_eq!((report.handed_over, report.damaged, report.link.delivered), (2, 2, 1));
}

#[test]
fn packets_are_coded_as_the_link_says() {
    // Blocks of 4 + 2 units of 10 bytes, so a packet of 50 bytes has two blocks. Packet 0 loses two source units
    // of each block, and packet 1 three units of its second block.
    let fec = Fec {
        unit: Bytes::new(10),
        ..Fec::new(6, 4, Loss::Indices { lost: vec![0, 1, 6, 8, 18, 22, 23], period: None })
    };
    let mut d = direction(LinkConfig { fec: Some(fec), ..LinkConfig::default() });
    let mixed = |first: u8| -> [u8; 50] { std::array::from_fn(|i| if i == 0 { 0x45 } else { first + i as u8 }) };
    feed(&mut d, Time::ZERO, &[&mixed(1), &mixed(2), &mixed(3), &[0x15; 30]]);
    assert_eq!(drain(&mut d, Time::ZERO), [mixed(1), mixed(3)]);
    let mut log = Vec::new();
    d.move_fates(&mut log);
    assert_eq!(log, b".f.");
    let report = d.report();
    assert_eq!((report.link.blocks_recovered, report.link.blocks_lost, report.link.delivered), (2, 1, 2));
    let coding = report.coding;
    assert_eq!((coding.blocks_encoded, coding.blocks_restored, coding.units_recovered), (6, 2, 4));
    assert_eq!((coding.blocks_not_restored, coding.disagreements), (1, 0));
}

#[test]
fn data_that_is_not_a_packet_is_counted() {
    let mut d = direction(LinkConfig { mtu: Some(Bytes::new(60)), ..LinkConfig::default() });
    let (long, v6) = ([0x45; 200], [0x60; 40]);
    feed(&mut d, Time::ZERO, &[&[], &[0x15; 30], &long, &long[..61], &v6]);
    assert_eq!(drain(&mut d, Time::ZERO), [v6]);
    let report = d.report();
    assert_eq!((report.not_ip, report.too_large, report.link.refused_mtu, report.link.offered), (2, 1, 1, 2));
}

#[test]
fn there_is_a_limit_and_refusals_are_counted() {
    let mut d = direction(LinkConfig { delay: Span::from(Duration::from_secs(1)), ..LinkConfig::default() });
    d.capacity = 2;
    feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
    assert_eq!((d.report().no_room, d.report().in_flight), (1, 2));
    d.deliver_due(|| Time::from_millis(2000), |_| Err(io::ErrorKind::InvalidInput.into()));
    assert_eq!((d.report().refused_by_device, d.report().handed_over), (2, 0));
    // Packets in the queue of CoDel count too.
    let rate = Rate::from_bps(400_000);
    let mut d = direction(LinkConfig { rate, queue_discipline: Discipline::codel(), ..LinkConfig::default() });
    d.capacity = 2;
    feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
    assert_eq!((d.report().no_room, d.report().in_flight, d.waiting), (1, 1, 1));
    assert_eq!(drain(&mut d, Time::from_millis(1)), [packet(0)]);
    assert_eq!(drain(&mut d, Time::from_millis(2)), [packet(1)]);
    assert_eq!(d.waiting, 0);
}

#[test]
fn a_broken_device_is_an_error_and_a_signal_is_not() {
    let mut d = direction(LinkConfig::default());
    assert!(d.read_packets(1, || Time::ZERO, |_| Err(io::ErrorKind::Interrupted.into())).unwrap());
    assert!(d.read_packets(1, || Time::ZERO, |_| Err(io::Error::other("gone"))).is_err());
}
