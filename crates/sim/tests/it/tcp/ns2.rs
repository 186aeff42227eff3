//! The exact order in which each sender sends packets when given packets are lost, compared with
//! ns-2.35.
//!
//! The network is one hop of 1 Gb/s and 52 ms each way. In ns-2 an `ErrorModel/List` drops the packets with the same
//! indices. `window` is 50, and all other settings are ns-2's defaults. The sender's clock is 0.418 of a tick ahead, as
//! it is in ns-2.

use ripstop_base::{Rate, Seed, Span, Time};
use ripstop_link::{LinkConfig, Loss};
use ripstop_sim::tcp::{Ack, Sender, SenderConfig, Variant, VegasConfig};
use ripstop_sim::world::{Body, Carrier, Happening, TcpConfig, World};
use std::time::Duration;

/// The seed that sets the sender's clock 0.418 of a tick ahead. Another seed gives another phase of the clock, and the
/// packets may then differ from ns-2's packets.
const SEED: u64 = 2520;

/// The first `count` packets that the sender sends. The transmissions in `lost`, counted from 0,
/// are lost.
fn sends(variant: Variant, config: SenderConfig, lost: &[u64], count: usize) -> Vec<u64> {
    let back = LinkConfig {
        rate: Rate::from_bps(1_000_000_000),
        delay: Span::from(Duration::from_millis(52)),
        ..LinkConfig::default()
    };
    let there = LinkConfig { loss: Loss::Indices { lost: lost.to_vec(), period: None }, ..back.clone() };
    let mut world = World::new(Seed::new(SEED));
    let links = [(&there, "there"), (&back, "back")].map(|(link, name)| world.add_link(link, name).unwrap());
    let flow = TcpConfig { variant, sender: config, ..TcpConfig::default() };
    world.add_tcp(flow, &Carrier::Links(&links[..1], &links[1..]), "flow").unwrap();
    let mut sent = Vec::new();
    while sent.len() < count && world.now() < Time::from_secs_f64(1000.0) {
        let until = world.now() + Duration::from_secs(1);
        world.run_until(until, &mut |_: Time, happening: Happening<'_>| {
            if let Happening::Offered { packet, .. } = happening
                && let Body::Data(number) = packet.body
            {
                sent.push(number);
            }
        });
    }
    sent.truncate(count);
    sent
}

/// Asserts that each variant sends the expected packets.
fn check(lost: &[u64], config: SenderConfig, expected: [(Variant, &[u64]); 5]) {
    for (variant, sequence) in expected {
        assert_eq!(sends(variant, config, lost, sequence.len()), sequence, "{variant:?}, {lost:?} lost");
    }
}

#[test]
fn after_an_idle_time_out_the_window_is_one_packet() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut sender = Sender::new(variant, SenderConfig::default(), &mut Seed::new(1).stream("tcp"));
        sender.offer(Time::ZERO, 5);
        for next in 1..=6 {
            sender.on_ack(Time::from_millis(100 * next), &Ack::new(next, []));
        }
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert!(sender.cwnd() > 2.0);
        // The timer expires one more time, with nothing in flight.
        sender.on_timeout(sender.timeout());
        assert_eq!((sender.timeout(), sender.cwnd(), sender.counts().timeouts), (Time::NEVER, 1.0, 0));
        sender.offer(Time::from_secs_f64(9.0), 5);
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit()).collect::<Vec<_>>(), [6], "{variant:?}");
    }
}

#[test]
fn sizes_on_the_wire_match_ns2() {
    assert_eq!([0, 1].map(|number| Variant::Reno.packet_bytes(number, 1000)), [40, 1040]);
    assert_eq!([0, 1].map(|number| Variant::Vegas.packet_bytes(number, 1000)), [1000, 1000]);
    let ack = Ack::new(3, [5..7, 9..10]);
    assert_eq!([Variant::NewReno, Variant::Sack].map(|variant| variant.ack_bytes(&ack)), [40, 56]);
}

#[test]
fn three_losses_in_a_window() {
    check(
        &[9, 11, 12],
        SenderConfig::default(),
        [
            (
                Variant::Tahoe,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 11, 12, 13, 14, 21,
                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
                ],
            ),
            (
                Variant::Reno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 21, 22, 11, 12, 13,
                    23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41,
                ],
            ),
            (
                Variant::NewReno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 21, 22, 11, 23, 24,
                    25, 12, 26, 27, 12, 13, 14, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
                ],
            ),
            (
                Variant::Sack,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 11, 12, 21, 22, 23,
                    24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
                ],
            ),
            (
                Variant::Vegas,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 9, 15, 16, 11, 17, 18, 19, 20, 12, 21, 22, 23,
                    24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
                ],
            ),
        ],
    );
}

#[test]
fn a_lost_syn_leaves_an_initial_window_of_one() {
    let config = SenderConfig { initial_window: 4, ..SenderConfig::default() };
    check(
        &[0],
        config,
        [
            (Variant::Tahoe, &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]),
            (Variant::Reno, &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]),
            (Variant::NewReno, &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]),
            (Variant::Sack, &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]),
            (Variant::Vegas, &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]),
        ],
    );
}

#[test]
fn retransmissions_are_lost_too() {
    check(
        &[8, 14, 15, 16, 17],
        SenderConfig::default(),
        [
            (
                Variant::Tahoe,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 8, 14, 15, 16, 17, 18, 19, 20,
                    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                ],
            ),
            (
                Variant::Reno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 8, 14, 15, 16, 17, 18, 19, 20,
                    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                ],
            ),
            (
                Variant::NewReno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 8, 14, 15, 19, 15, 16, 17, 18,
                    19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                ],
            ),
            (
                Variant::Sack,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 8, 14, 15, 16, 17, 19, 20, 21,
                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
                ],
            ),
            (
                Variant::Vegas,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 8, 14, 15, 16, 17, 18, 8, 14, 15, 16, 17, 19, 20, 21,
                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                ],
            ),
        ],
    );
}

#[test]
fn losses_in_congestion_avoidance() {
    check(
        &[9, 30, 31, 60, 62, 64, 90, 110, 111, 112],
        SenderConfig::default(),
        [
            (
                Variant::Tahoe,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 21, 22, 23, 24, 25,
                    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 29, 30, 31, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 56, 58, 59, 60, 61, 62, 63, 64, 65,
                    66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 79, 87, 88, 89,
                    90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 98, 99, 100, 101, 105, 106, 107,
                    108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
                    128, 129, 130, 131, 132, 133,
                ],
            ),
            (
                Variant::Reno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 21, 22, 23, 24, 25,
                    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 29, 37, 30, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
                    49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 57, 59, 61, 62, 65, 66, 67, 68, 69,
                    70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 83, 91, 92, 93,
                    94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 102, 103, 104, 105, 109, 110,
                    111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130,
                    131, 132, 133, 134, 135, 136, 137,
                ],
            ),
            (
                Variant::NewReno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 21, 22, 23, 24, 25,
                    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 29, 37, 30, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
                    49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 57, 59, 66, 61, 67, 68, 61, 67,
                    68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 81, 88, 89, 90, 91,
                    92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 100, 101, 102, 107, 102, 107,
                    108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
                    128, 129, 130, 131, 132, 133, 134,
                ],
            ),
            (
                Variant::Sack,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 9, 21, 22, 23, 24, 25,
                    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 29, 30, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
                    49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 57, 59, 61, 66, 67, 68, 69, 70,
                    71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 84, 93, 94,
                    95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 103, 104, 105, 106, 110, 111,
                    112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131,
                    132, 133, 134, 135, 136, 137, 138,
                ],
            ),
            (
                Variant::Vegas,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 9, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 29, 36, 37, 38, 39, 30, 40, 40, 41, 42, 43, 44, 45, 46, 47,
                    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 56, 63, 64, 65, 58, 66, 60, 61, 67, 68,
                    69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 82, 87, 88, 89, 90, 91, 92,
                    93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 101, 107, 108, 102, 109, 110, 111,
                    103, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130,
                    131, 132, 133, 134, 135, 136, 137,
                ],
            ),
        ],
    );
}

#[test]
fn a_window_of_ten_and_a_time_out_without_floor() {
    let mut config = SenderConfig { window: 10, ..SenderConfig::default() };
    config.rto.min = Duration::ZERO;
    check(
        &[7, 12, 13, 20, 22, 31, 32, 33, 45, 46],
        config,
        [
            (
                Variant::Tahoe,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 7, 12, 13, 14, 15, 17, 18, 19, 20, 21,
                    22, 17, 23, 24, 25, 26, 25, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 36,
                    37, 38, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
                ],
            ),
            (
                Variant::Reno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 7, 12, 13, 14, 17, 18, 19, 20, 18, 19,
                    21, 22, 23, 24, 25, 26, 27, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 36,
                    37, 38, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57,
                ],
            ),
            (
                Variant::NewReno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 7, 12, 17, 18, 13, 19, 20, 21, 22, 23,
                    18, 19, 24, 25, 26, 27, 28, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 37,
                    38, 39, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
                ],
            ),
            (
                Variant::Sack,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 7, 12, 13, 17, 18, 19, 20, 21, 22, 17,
                    19, 23, 24, 25, 26, 27, 28, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 37,
                    38, 39, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
                ],
            ),
            (
                Variant::Vegas,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 7, 12, 13, 14, 15, 16, 7, 12, 13, 17, 18, 19, 18, 19, 20, 21,
                    22, 23, 24, 25, 26, 27, 28, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 35, 36, 37, 39,
                    40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56,
                ],
            ),
        ],
    );
}

#[test]
fn sixteen_losses_in_sixty_packets() {
    check(
        &[3, 7, 11, 12, 19, 20, 21, 28, 33, 34, 41, 47, 48, 49, 50, 60],
        SenderConfig::default(),
        [
            (
                Variant::Tahoe,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 7, 8, 9, 10, 11, 12, 9, 13, 14, 15, 16, 15, 15, 16, 17, 18, 19, 20,
                    21, 22, 23, 24, 25, 21, 21, 21, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 31, 36, 37, 36, 36, 36, 37,
                    38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 45, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
                    62, 63,
                ],
            ),
            (
                Variant::Reno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 7, 9, 10, 9, 10, 11, 12, 13, 14, 15, 16, 17, 15, 16, 17, 18, 19, 20,
                    21, 22, 23, 24, 25, 21, 21, 21, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 31, 36, 37, 36, 36, 36, 37,
                    38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 45, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
                    62, 63,
                ],
            ),
            (
                Variant::NewReno,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 7, 9, 10, 9, 10, 11, 12, 13, 14, 15, 16, 17, 15, 16, 17, 18, 19, 20,
                    21, 22, 23, 24, 25, 21, 21, 21, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 31, 36, 37, 36, 36, 36, 37,
                    38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 45, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
                    62, 63,
                ],
            ),
            (
                Variant::Sack,
                &[
                    0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 7, 9, 10, 9, 10, 11, 12, 13, 14, 15, 16, 17, 15, 16, 17, 18, 19, 20,
                    21, 22, 23, 24, 25, 21, 21, 21, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 31, 36, 36, 36, 36, 36, 37,
                    38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 45, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
                    62, 63,
                ],
            ),
            (
                Variant::Vegas,
                &[
                    0, 1, 2, 3, 4, 5, 3, 6, 7, 8, 9, 10, 6, 11, 12, 13, 14, 15, 16, 6, 17, 18, 19, 20, 21, 22, 23, 24,
                    25, 26, 27, 28, 29, 30, 31, 6, 7, 10, 10, 11, 12, 17, 17, 18, 19, 25, 26, 30, 31, 30, 31,
                ],
            ),
        ],
    );
}

#[test]
fn vegas_with_high_thresholds_keeps_growing_after_losses() {
    let lost = [9, 30, 31, 60, 62, 64, 90, 110, 111, 112];
    let config = SenderConfig { vegas: VegasConfig::LOSSY, ..SenderConfig::default() };
    let sequence = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 9, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
        29, 30, 31, 32, 33, 34, 35, 29, 36, 37, 38, 39, 30, 40, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,
        54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 56, 64, 65, 66, 58, 60, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78,
        79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 83, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101,
    ];
    assert_eq!(sends(Variant::Vegas, config, &lost, sequence.len()), sequence);
    assert_ne!(sends(Variant::Vegas, SenderConfig::default(), &lost, sequence.len()), sequence);
}

#[test]
fn a_lost_syn_leaves_one_packet() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let config = SenderConfig { initial_window: 4, ..SenderConfig::default() };
        let mut sender = Sender::new(variant, config, &mut Seed::new(1).stream("tcp"));
        sender.offer(Time::ZERO, u64::MAX);
        sender.on_timeout(sender.timeout());
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit()).collect::<Vec<_>>(), [0, 0], "{variant:?}");
        sender.on_ack(Time::from_secs_f64(4.0), &Ack::new(1, []));
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit()).collect::<Vec<_>>(), [1], "{variant:?}");
    }
}
