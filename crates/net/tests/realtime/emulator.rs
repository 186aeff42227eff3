//! The emulated link between two namespaces: real sockets, the kernel's own TCP, and the equality of real
//! time and virtual time.

use crate::common::with_namespaces;
use crate::transfer::transfer;
use ripstop_base::{Fraction, Rate, Seed, Span, Stream, Time};
use ripstop_link::{Duplicate, Fec, Link, LinkConfig, Loss};
use ripstop_net::emulate::{EmulateError, Emulator, EmulatorConfig, EmulatorSide, EmulatorSnapshot, LEFT_TO_RIGHT};
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use std::net::UdpSocket;
use std::time::Duration;

const SEED: u64 = 7;

fn ms(millis: u64) -> Span {
    Span::from(Duration::from_millis(millis))
}

fn share(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn config(left_to_right: LinkConfig, right_to_left: LinkConfig, v6: bool) -> EmulatorConfig {
    let side = |n: u8| EmulatorSide {
        device: "wire0".into(),
        addresses: [Some(format!("10.0.0.{n}/24")), v6.then(|| format!("fd00::{n}/64"))]
            .into_iter()
            .flatten()
            .map(|a| a.parse().unwrap())
            .collect(),
    };
    EmulatorConfig {
        left: side(1),
        right: side(2),
        left_to_right,
        right_to_left,
        mtu: 1500,
        seed: Seed::new(SEED),
        fates: false,
    }
}

fn start(config: &EmulatorConfig) -> (Emulator, Namespace, Namespace) {
    let (left, right) = (Namespace::create("left").unwrap(), Namespace::create("right").unwrap());
    (Emulator::start(config, &left, &right).unwrap(), left, right)
}

/// Checks what must hold after every run: only the link lost packets.
fn check(snapshot: &EmulatorSnapshot) {
    assert_eq!(snapshot.error, None);
    for direction in [&snapshot.left_to_right, &snapshot.right_to_left] {
        let (d, link) = (direction, &direction.link);
        let json = serde_json::to_string(d).unwrap();
        assert_eq!((d.not_ip, d.too_large, d.no_room, d.overflowed), (0, 0, 0, Some(0)), "{json}");
        assert_eq!(d.handed_over + d.refused_by_device + d.in_flight, link.delivered + link.duplicated, "{json}");
    }
}

#[test]
fn datagrams_echo_over_both_families() {
    with_namespaces(|| {
        let path = LinkConfig { delay: ms(20), ..LinkConfig::default() };
        let (emulator, left, right) = start(&config(path.clone(), path, true));
        for (client, server) in [("10.0.0.1:0", "10.0.0.2:7"), ("[fd00::1]:0", "[fd00::2]:7")] {
            let echo = right.run(|| UdpSocket::bind(server)).unwrap().unwrap();
            let socket = left.run(|| UdpSocket::bind(client)).unwrap().unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let answering = std::thread::spawn(move || {
                let mut packet = [0; 2000];
                let (len, from) = echo.recv_from(&mut packet).unwrap();
                echo.send_to(&packet[..len], from).unwrap();
            });
            let message = [0xAB; 1400];
            socket.send_to(&message, server).unwrap();
            let mut answer = [0; 2000];
            let len = socket.recv(&mut answer).unwrap();
            assert_eq!(answer[..len], message);
            answering.join().unwrap();
        }
        let snapshot = emulator.stop();
        assert!(!snapshot.running);
        check(&snapshot);
    });
}

#[test]
fn kernel_tcp_arrives_whole_over_a_lossy_link() {
    with_namespaces(|| {
        let lossy = LinkConfig {
            corrupt: share(0.005),
            duplicate: Some(Duplicate { probability: share(0.005), extra_delay: ms(0) }),
            ..LinkConfig::path(Rate::from_bps(200_000_000), Duration::from_millis(4), share(0.005))
        };
        let (emulator, left, right) = start(&config(lossy.clone(), lossy, false));
        let mut sent = vec![0; 3_000_000];
        Seed::new(SEED).stream("file").fill(&mut sent);
        let before = emulator.snapshot();
        transfer(&left, &right, &sent);
        let after = emulator.snapshot();
        assert!(after.running && emulator.is_running());
        check(&after);
        let (forth, back) = (&after.left_to_right, &after.right_to_left);
        let offered = forth.link.offered_bytes - before.left_to_right.link.offered_bytes;
        assert!(offered > sent.len() as u64 && offered < 2 * sent.len() as u64, "{offered}");
        assert!(forth.damaged > 0 && forth.link.lost_channel > 0 && back.link.offered > 0);
        assert_eq!(forth.unfired, [""; 0]);
        assert!(forth.lateness.n == forth.handed_over + forth.refused_by_device);
    });
}

/// Sends the same packets through the link in virtual time and through the emulator. The same packets must be
/// lost, duplicated and damaged.
#[test]
fn the_emulator_loses_what_the_simulator_loses() {
    with_namespaces(|| {
        for loss in [Loss::bernoulli(share(0.2)), Loss::Gilbert { mean: share(0.2), burst: 4.0 }] {
            let snapshot = parity(loss, None);
            assert_eq!(snapshot.left_to_right.coding.blocks_encoded, 0);
        }
    });
}

/// The same with a block code: packets arrive although units of them are lost, and a packet that the simulator loses
/// cannot be decoded.
#[test]
fn the_block_code_restores_what_the_simulator_says() {
    with_namespaces(|| {
        let fec = Fec::new(24, 20, Loss::bernoulli(share(0.1)));
        let snapshot = parity(Loss::bernoulli(share(0.05)), Some(fec));
        let (coding, link) = (snapshot.left_to_right.coding, snapshot.left_to_right.link);
        assert!(coding.blocks_restored > 500 && coding.units_recovered > coding.blocks_restored, "{coding:?}");
        assert!(link.lost_fec > 100 && link.lost_channel > link.lost_fec, "{link:?}");
        assert_eq!((24 * coding.blocks_encoded, coding.blocks_not_restored), (link.units_sent, link.blocks_lost));
        assert_eq!(coding.disagreements, 0);
    });
}

fn parity(loss: Loss, fec: Option<Fec>) -> EmulatorSnapshot {
    const PACKETS: u32 = 2000;
    let lossy = LinkConfig {
        rate: Rate::from_bps(100_000_000),
        delay: ms(2),
        loss,
        fec,
        duplicate: Some(Duplicate { probability: share(0.1), extra_delay: ms(0) }),
        corrupt: share(0.1),
        ..LinkConfig::default()
    };
    let sizes = || -> Stream { Seed::new(SEED).stream("sizes") };
    let payload = |sizes: &mut Stream| 4 + sizes.below(1400) as usize;
    // The number of a packet, and bytes that follow from the number.
    let content = |k: u32, len: usize| -> Vec<u8> {
        let mut bytes = k.to_be_bytes().to_vec();
        bytes.resize(len, 0);
        Seed::new(k.into()).stream("content").fill(&mut bytes[4..]);
        bytes
    };

    // In virtual time: how many times each packet arrives. The kernel's checksums drop damaged
    // packets.
    let (mut link, mut stream) = (Link::new(&lossy, Seed::new(SEED), LEFT_TO_RIGHT).unwrap(), sizes());
    let expected: Vec<u32> = (0..PACKETS)
        .map(|k| {
            let fate = link.offer(Time::from_millis(k.into()), 28 + payload(&mut stream));
            fate.delivery().filter(|d| d.corruption.is_none()).map_or(0, |d| d.arrivals().count() as u32)
        })
        .collect();

    let (emulator, left, right) = start(&config(lossy, LinkConfig::default(), false));
    // With fixed ports the checksums, and so the whole run, are the same each time.
    let receiver = right.run(|| UdpSocket::bind("10.0.0.2:4000")).unwrap().unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let sender = left.run(|| UdpSocket::bind("10.0.0.1:4001")).unwrap().unwrap();
    let mut arrived = vec![0; PACKETS as usize];
    let (mut stream, mut buffer) = (sizes(), [0; 1500]);
    // The packets are sent in groups that fit into the receiver's socket buffer. So only the link
    // loses packets.
    for lot in (0..PACKETS).collect::<Vec<_>>().chunks(50) {
        let mut missing: u32 = lot.iter().map(|k| expected[*k as usize]).sum();
        for k in lot {
            let packet = content(*k, payload(&mut stream));
            sender.send_to(&packet, "10.0.0.2:4000").unwrap();
        }
        while missing > 0 {
            let len = receiver.recv(&mut buffer).unwrap_or_else(|e| {
                panic!("{missing} packets of {lot:?} did not arrive ({e}); seed {SEED}");
            });
            assert!(len >= 4);
            let k = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
            assert_eq!(buffer[..len], content(k, len), "packet {k} was changed; seed {SEED}");
            arrived[k as usize] += 1;
            missing -= 1;
        }
    }
    assert_eq!(arrived, expected, "seed {SEED}");
    let snapshot = emulator.stop();
    check(&snapshot);
    let (real, ideal) = (&snapshot.left_to_right.link, link.counters());
    assert_eq!(
        (real.offered, real.offered_bytes, real.lost_channel, real.duplicated, real.corrupted),
        (ideal.offered, ideal.offered_bytes, ideal.lost_channel, ideal.duplicated, ideal.corrupted),
    );
    snapshot
}

#[test]
fn stopping_takes_the_devices_away() {
    with_namespaces(|| {
        let late = LinkConfig { delay: ms(60_000), ..LinkConfig::default() };
        let (emulator, left, right) = start(&config(late, LinkConfig::default(), false));
        let socket = left.run(|| UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
        socket.send_to(b"never read", "10.0.0.2:9").unwrap();
        while emulator.snapshot().left_to_right.in_flight == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(emulator.stop().left_to_right.in_flight, 1);
        for side in [&left, &right] {
            assert!(ip(side, &["link", "show", "wire0"]).is_err());
        }
    });
}

#[test]
fn a_device_taken_away_is_an_error_with_a_reason() {
    with_namespaces(|| {
        let (emulator, left, _right) = start(&config(LinkConfig::default(), LinkConfig::default(), false));
        ip(&left, &["link", "del", "wire0"]).unwrap();
        while emulator.is_running() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let snapshot = emulator.snapshot();
        assert!(snapshot.error.is_some() && snapshot.left_to_right.overflowed.is_none(), "{snapshot:?}");
    });
}

#[test]
fn wrong_settings_are_refused_by_name() {
    with_namespaces(|| {
        let here = Namespace::create("here").unwrap();
        let wrong = LinkConfig { loss: Loss::Sequence { pattern: String::new() }, ..LinkConfig::default() };
        let error = Emulator::start(&config(LinkConfig::default(), wrong, false), &here, &here).unwrap_err();
        assert!(matches!(error, EmulateError::Link { .. }));
        assert!(error.to_string().contains("right to left") && error.to_string().contains("loss.pattern"), "{error}");
        // Two devices in one namespace would need different names.
        let same = config(LinkConfig::default(), LinkConfig::default(), false);
        let error = Emulator::start(&same, &here, &here).unwrap_err();
        assert!(matches!(error, EmulateError::Tun(_)) && error.to_string().contains("wire0"), "{error}");
    });
}
