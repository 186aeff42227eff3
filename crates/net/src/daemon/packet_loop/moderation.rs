//! Moderation: while much traffic flows, the packet thread pauses between two turns. The next turn then finds several
//! packets, which share the cost of the wake-up. Network cards moderate their interrupts for the same reason.

use ripstop_base::Time;
use ripstop_proto::endpoint::ActivePaths;
use std::time::Duration;

/// The pause on a path without loss is the round-trip time divided by this number. A pause delays datagrams by at most
/// 5 % of the round-trip time, and by 2.5 % on average. Half the value doubles the delay. Double the value halves the
/// delay, and takes 1.6 times the CPU time at 20 Mbit/s and 100 ms (`make bench`).
const RTT_PARTS: u32 = 20;
/// Longest pause, 5 ms. The limit applies to round-trip times above 100 ms. Double the value makes longer bursts on
/// long paths. Half the value doubles the number of wake-ups on long paths.
const LONGEST: Duration = Duration::from_millis(5);
/// From this loss on, pauses are half as long. Below this loss, the length falls linearly. The report of a loss and the
/// exact repair wait for pauses. A TCP with a window of two bandwidth-delay products (BBR) has nothing to send in this
/// time. At 20 Mbit/s and 100 ms, half the pause raises the share of BBR from .81 to .83 at 20 % loss, and from .79 to
/// .81 at 30 %. Without pauses BBR gets .83 and .81 too. With double the value, pauses at 5 % loss are 1.5 times as
/// long. With half the value, pauses at 2 % loss are .75 times as long, which takes more CPU time.
const HALVING_LOSS: f64 = 0.05;
/// The largest number of packets that may come in a pause. 64 packets of 1400 bytes are about as many bytes as one send
/// call takes. At 1 Gbit/s this limits the pause to 0.7 ms. A longer pause would make larger bursts, which queues of fast
/// bottlenecks may not hold. Half the value doubles the number of wake-ups above 150 Mbit/s. Double the value doubles the
/// bursts there.
const MOST_PACKETS: f64 = 64.0;
/// Shortest pause, 100 µs: on paths with a round-trip time below 2 ms there are no pauses. A timer and a wake-up cost
/// up to 50 µs, so a shorter pause would cost more than it saves. Double the value gives up the gain on paths below
/// 4 ms. Half the value hardly matters: fast senders on such paths fill the buffers without a pause.
const SHORTEST: Duration = Duration::from_micros(100);
/// The traffic is measured over this time, 20 ms, before it decides on the pauses. With half the value, single bursts
/// start pauses more often. With double the value, pauses start and end later.
const WINDOW: Duration = Duration::from_millis(20);
/// Pauses are made if at least this number of bytes, one full packet, is expected in a pause. So only bulk traffic
/// starts pauses. A request of 100 bytes with its repairs and acknowledgements does not: pauses would delay the request
/// and space the repairs of a lost packet by 5 ms instead of 1 ms. Double the value restricts pauses to twice the rate,
/// 4.8 Mbit/s at 100 ms. With half the value, requests that follow each other closely start pauses.
const LEAST_BYTES: f64 = 1_500.0;

/// Decides on the pauses from the packets that the thread moves.
#[derive(Debug)]
pub(super) struct Moderation {
    /// Start of the current window.
    since: Time,
    /// Packets moved in the current window.
    packets: u64,
    /// The bytes of these packets.
    bytes: u64,
    /// The pause after each turn; None: no pauses.
    pause: Option<Duration>,
}

impl Moderation {
    pub(super) fn new(now: Time) -> Moderation {
        Moderation { since: now, packets: 0, bytes: 0, pause: None }
    }

    /// Counts packets that were read from the socket or the device, and their bytes.
    pub(super) fn count(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }

    /// The pause before the next turn; None: wait for the next packet. `paths` gives the paths of the peers that were
    /// active since its last call.
    pub(super) fn pause(&mut self, now: Time, paths: impl FnOnce() -> Option<ActivePaths>) -> Option<Duration> {
        let window = now.since(self.since);
        if window >= WINDOW {
            // Seconds from one packet to the next.
            let spacing = window.as_secs_f64() / self.packets.max(1) as f64;
            let few = Duration::from_secs_f64(MOST_PACKETS * spacing);
            let pause = paths().map_or(Duration::ZERO, |paths| longest(paths).min(few));
            let expected = self.bytes as f64 * pause.as_secs_f64() / window.as_secs_f64();
            self.pause = (pause >= SHORTEST && expected >= LEAST_BYTES).then_some(pause);
            (self.since, self.packets, self.bytes) = (now, 0, 0);
        }
        self.pause
    }
}

/// The longest pause that the paths allow.
fn longest(paths: ActivePaths) -> Duration {
    let losing = (paths.highest_loss / HALVING_LOSS).min(1.0);
    (paths.shortest_rtt / RTT_PARTS).min(LONGEST).mul_f64(1.0 - losing / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(rtt_ms: u64, highest_loss: f64) -> Option<ActivePaths> {
        Some(ActivePaths { shortest_rtt: Duration::from_millis(rtt_ms), highest_loss })
    }

    /// The pause after 1 s with a packet of `bytes` every `spacing` microseconds.
    fn pause_with(bytes: u64, spacing: u64, rtt_ms: u64, loss: f64) -> Option<Duration> {
        let mut moderation = Moderation::new(Time::ZERO);
        let mut last = None;
        for packet in 0..1_000_000 / spacing {
            moderation.count(1, bytes);
            last = moderation.pause(Time::from_micros(packet * spacing), || paths(rtt_ms, loss));
        }
        last
    }

    fn pause_at(spacing: u64, rtt_ms: u64) -> Option<Duration> {
        pause_with(1_400, spacing, rtt_ms, 0.0)
    }

    #[test]
    fn requests_make_no_pauses() {
        assert_eq!(pause_with(200, 1_000, 100, 0.0), None, "requests with their repairs and acknowledgements");
        assert!(pause_with(1_400, 1_000, 100, 0.0).is_some(), "bulk traffic with as many packets");
    }

    #[test]
    fn only_busy_paths_pause_and_never_for_long() {
        let us = |n| Some(Duration::from_micros(n));
        assert_eq!(pause_at(600, 100), us(5_000), "20 Mbit/s over 100 ms");
        assert_eq!(pause_at(600, 800), us(5_000), "20 Mbit/s over 800 ms");
        assert_eq!(pause_at(100, 10), us(500), "120 Mbit/s over 10 ms");
        assert_eq!(pause_at(10, 100).map(|pause| pause.as_micros() / 10), Some(64), "1.1 Gbit/s over 100 ms");
        assert_eq!(pause_at(20_000, 100), None, "a telephone call");
        assert_eq!(pause_at(600, 10), None, "packets that are further apart than the pause");
        assert_eq!(pause_at(10, 1), None, "a local network");
    }

    #[test]
    fn losses_halve_the_pause() {
        let pause = |loss| pause_with(1_400, 600, 100, loss).unwrap().as_micros();
        assert_eq!([0.0, 0.01, 0.05, 0.3].map(pause), [5_000, 4_500, 2_500, 2_500]);
    }

    #[test]
    fn pauses_end_when_the_traffic_ends() {
        let mut moderation = Moderation::new(Time::ZERO);
        let rtt = || paths(100, 0.0);
        moderation.count(100, 140_000);
        assert!(moderation.pause(Time::from_millis(25), rtt).is_some());
        assert!(moderation.pause(Time::from_millis(35), rtt).is_some());
        assert_eq!(moderation.pause(Time::from_millis(50), rtt), None);
        moderation.count(100, 140_000);
        assert_eq!(moderation.pause(Time::from_millis(80), || None), None);
    }
}
