//! `acks = "seen"` with the kernel's own TCP inside: what is acknowledged early arrives, or there is an error.

use super::hosts::{End, Pair, lossy, noise, perfect, until};
use super::inside::{connected, tcp_both_ways};
use crate::common::with_namespaces;
use ripstop_base::{Fraction, Rate};
use ripstop_link::LinkConfig;
use ripstop_net::os::ip::ip;
use ripstop_net::os::tcp::unacknowledged;
use ripstop_proto::packets::early_acks::EarlyAckCounts;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SEEN: &str = "acks = \"seen\"";

fn early(end: &End) -> EarlyAckCounts {
    end.peer().early_acks
}

#[test]
fn streams_over_a_lossy_link_are_exact() {
    with_namespaces(|| {
        // A block code leaves losses that this module repairs: blocks that were seen, but cannot be restored.
        let block = format!("{SEEN}\ncode = {{ block = {{ k = 16, n = 18 }} }}");
        for (settings, is_seen) in [(SEEN, true), (block.as_str(), true), ("", false)] {
            let pair = Pair::raise(&lossy(0.05), 1500, settings);
            let (left, right) = (&pair.left.host, &pair.right.host);
            std::thread::scope(|scope| {
                for address in right.inside() {
                    scope.spawn(move || tcp_both_ways(left, right, address, 1_500_000));
                }
            });
            for end in pair.ends() {
                let counts = early(end);
                if !is_seen {
                    assert_eq!(counts, EarlyAckCounts::default());
                    continue;
                }
                assert!(counts.sent > 20 && counts.suppressed + counts.changed > 50, "{counts:?}");
                assert_eq!((counts.resets, counts.refused, counts.no_room), (0, 0, 0), "{counts:?}");
                assert!(end.session().received.recovered > 20, "{:?}", end.session());
            }
        }
    });
}

/// The receiving host cannot send: its acknowledgements get lost. The sending TCP is told nevertheless that its data has
/// arrived.
#[test]
fn the_sender_is_told_although_the_receiver_is_mute() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, SEEN);
        let (mut sender, mut receiver) = connected(&pair);
        sender.write_all(b"first").unwrap();
        receiver.read_exact(&mut [0; 5]).unwrap();
        until("the first bytes are acknowledged", || unacknowledged(&sender).unwrap() == 0);
        let before = early(&pair.left).sent;
        let to_left = format!("{}/32", pair.left.host.v4());
        ip(&pair.right.host.namespace, &["route", "add", "blackhole", &to_left]).unwrap();
        let content = noise("mute", 10_000);
        sender.write_all(&content).unwrap();
        until("the data is acknowledged early", || unacknowledged(&sender).unwrap() == 0);
        assert!(early(&pair.left).sent > before);
        // After a while, the tunnel sends the data again, because the receiver has not acknowledged it.
        until("segments are sent again", || early(&pair.left).resent > 0);
        ip(&pair.right.host.namespace, &["route", "del", "blackhole", &to_left]).unwrap();
        sender.shutdown(std::net::Shutdown::Write).unwrap();
        let mut got = Vec::new();
        receiver.read_to_end(&mut got).unwrap();
        assert!(got == content, "{} of {} bytes", got.len(), content.len());
        assert_eq!(early(&pair.left).resets, 0);
    });
}

/// A slow link, on which a transfer of some megabytes takes seconds.
fn slow() -> LinkConfig {
    LinkConfig::path(Rate::from_bps(10_000_000), Duration::from_millis(20), Fraction::new(0.02).unwrap())
}

/// The peer restarts in the middle of a transfer. What was acknowledged early is sent again: nothing is missing.
#[test]
fn a_restart_of_the_peer_leaves_no_hole() {
    with_namespaces(|| {
        let pair = Pair::raise(&slow(), 1500, SEEN);
        let (mut sender, mut receiver) = connected(&pair);
        let content = noise("restart", 4_000_000);
        let received = AtomicUsize::new(0);
        let Pair { left, right, link: _link } = pair;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.write_all(&content).unwrap();
                sender.shutdown(std::net::Shutdown::Write).unwrap();
            });
            scope.spawn(|| {
                let (mut got, mut part) = (Vec::new(), [0; 65_536]);
                loop {
                    let len = receiver.read(&mut part).unwrap();
                    if len == 0 {
                        break;
                    }
                    got.extend_from_slice(&part[..len]);
                    received.store(got.len(), Ordering::Relaxed);
                }
                assert!(got == content, "{} of {} bytes, or they differ", got.len(), content.len());
            });
            until("a part has arrived", || received.load(Ordering::Relaxed) > 500_000);
            let host = right.host.clone();
            right.daemon.stop();
            let before = received.load(Ordering::Relaxed);
            assert!(before < content.len(), "the transfer ended too soon");
            let again = host.up(SEEN, &[left.host.as_peer("")]);
            until("the transfer ends", || received.load(Ordering::Relaxed) == content.len());
            assert_eq!((left.peer().counts.sessions, again.peer().counts.sessions), (2, 1));
        });
        let counts = early(&left);
        assert!(counts.sent > 0 && counts.resent > 0 && counts.resets == 0, "{counts:?}");
    });
}

/// The daemon of the sending host stops while it keeps data that it has acknowledged. Both TCPs get an error.
#[test]
fn an_end_that_stops_resets_its_connections() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, SEEN);
        let (mut sender, mut receiver) = connected(&pair);
        sender.write_all(b"first").unwrap();
        receiver.read_exact(&mut [0; 5]).unwrap();
        let to_left = format!("{}/32", pair.left.host.v4());
        ip(&pair.right.host.namespace, &["route", "add", "blackhole", &to_left]).unwrap();
        sender.write_all(&noise("stop", 10_000)).unwrap();
        until("the data is acknowledged early", || unacknowledged(&sender).unwrap() == 0);
        let Pair { left, right, link: _link } = pair;
        let last = left.daemon.stop().expect("the last state");
        assert_eq!(last.peers[0].early_acks.resets, 1, "{:?}", last.peers[0].early_acks);
        ip(&right.host.namespace, &["route", "del", "blackhole", &to_left]).unwrap();
        let error = sender.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
    });
}
