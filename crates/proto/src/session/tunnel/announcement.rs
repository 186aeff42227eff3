//! Window announcements: packets in which the sender tells the receiver which symbols repairs may
//! still span.
//!
//! An announcement also carries the report interval and the deadline that the receiver shall use.
//! See `mod.rs` for the terms.

use super::{InnerPacket, Tunnel};
use crate::wire::{Window, whole_micros};
use std::time::Duration;

/// Bytes of reports, as a share of the bytes that the path carries in the reported direction: 0.4
/// %.
///
/// On slow paths this share sets the report interval, within the limits in `Tunnel::window_now`.
/// With half the share, reports are half as frequent on such paths, so losses are known later. With
/// double the share, reports cost twice as much.
const REPORT_SHARE: f64 = 0.004;
/// Assumed length of a report, bytes.
///
/// A report that lists a few gaps is about this long. The value serves only to estimate the cost of
/// reports. With double the value, reports on slow paths are half as frequent. With half the value,
/// they are twice as frequent.
pub(super) const REPORT_BYTES: f64 = 110.0;
/// If reports are lost in runs, there are more reports on slow paths, by this number times the mean length of a run.
///
/// A run of lost reports makes the sender blind: it neither repairs losses nor sends more than a window. More frequent
/// reports make a run shorter. A path of 3 Mbit/s and
/// 458 ms loses 20 % in runs of 7 in both directions: a greedy sender has .79 of its rate, .76 with half the value and .77
/// with double the value.
const REPORTS_OF_RUN: f64 = 0.5;
/// Limit on this increase. See [`REPORTS_OF_RUN`].
///
/// Half the value leaves longer blind times in runs of more than 4 reports. Double the value costs 3 % of what the path
/// carries in the reported direction.
const MOST_OFTEN: f64 = 4.0;
/// The shortest interval of reports that this end announces.
///
/// Rate control needs about ten reports per round trip. With half the value, reports come twice as often on paths of less
/// than 20 ms, and a hostile peer may send twice as many (`report_limit.rs`). With double the value, rate control reacts
/// later on such paths.
pub(super) const SHORTEST_INTERVAL: Duration = Duration::from_millis(2);
/// Datagrams between two reports on a fast path, if reports need not come more often than every [`SHORTEST_INTERVAL`].
///
/// A report repeats the numbers of the last eight intervals, and lists 8192 numbers. Double the value counts datagrams as
/// lost at 1 Gbit/s when five reports are lost in a row. Half the value doubles the reports above 600 Mbit/s.
const REPORT_PACKETS: f64 = 1000.0;

impl<P: InnerPacket> Tunnel<P> {
    /// Whether a new announcement must be sent to the receiver.
    ///
    /// An announcement must be sent for any of four reasons:
    ///
    /// - An announcement was requested, for instance because the last one was lost.
    /// - The reach (see `Tunnel::reach`) is larger than the announced reach.
    /// - The report interval is more than 1.25 times the announced value, or less than 1/1.25 of the
    ///   announced value.
    /// - The deadline is more than 1.25 times the announced value, or less than half of the announced
    ///   value. A deadline falls slowly, and an announcement for each step would be many.
    pub(super) fn announcement_due(&mut self) -> bool {
        if self.announce || self.reach() > self.announced.reach {
            return true;
        }
        if !std::mem::take(&mut self.window_outdated) {
            return false;
        }
        let (now, said) = (self.window_now(), self.announced);
        let differs = |now: Duration, said: Duration, fall: f64| now > said.mul_f64(1.25) || now < said.mul_f64(fall);
        differs(now.report_every, said.report_every, 0.8) || differs(now.deadline, said.deadline, 0.5)
    }

    /// The *reach* is a number of symbols. The receiver must keep every known symbol that is among
    /// the latest `reach` symbols, because a later repair may span this symbol.
    ///
    /// The reach is twice the number of outstanding symbols, rounded up to a power of two, and at
    /// least 1024. The power of two keeps announcements rare while the window grows.
    fn reach(&self) -> u32 {
        (2 * self.sources.len() as u32).next_power_of_two().max(1024)
    }

    /// The announcement that describes the window now.
    pub(super) fn window_now(&self) -> Window {
        let srtt = self.sent_history.srtt();
        let ms = Duration::from_millis;
        // Rate control needs about ten reports per round trip, 2 to 20 ms apart. On a slow path the
        // interval is longer, so that reports cost almost nothing. The longer interval is at most 1
        // s. The longer interval is also at most the larger of 20 ms and a quarter of a round trip.
        // Reports take the room of the peer's packets. So a direction that carries little beside a bulk flow of the
        // peer, such as acknowledgements, asks for fewer reports on a slow path: one in a round trip, or in 100 ms.
        let (carried, most) = match self.balance.peer_carries() {
            Some(rate) => (rate.min(self.rate.view().bandwidth), srtt.max(ms(100))),
            None => (self.rate.view().bandwidth, (srtt / 4).max(ms(20))),
        };
        let often = (REPORTS_OF_RUN * self.receiver.recent_losses().burst).clamp(1.0, MOST_OFTEN);
        let cheap = REPORT_BYTES / (often * REPORT_SHARE * carried.max(1_000.0));
        let dear = Duration::from_secs_f64(cheap.min(1.0)).min(most);
        let packets = self.rate.view().bandwidth / f64::from(self.config.path_mtu);
        let listed = Duration::from_secs_f64((REPORT_PACKETS / packets.max(1.0)).min(1.0)).max(SHORTEST_INTERVAL);
        let report_every = (srtt / 10).clamp(SHORTEST_INTERVAL, ms(20)).min(listed).max(dear);
        Window {
            base: self.sources.first(),
            reach: self.reach(),
            report_every: whole_micros(report_every),
            deadline: whole_micros(self.block_wait().map_or(self.deadline(), |wait| wait.min(self.deadline()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::session::tunnel::{RateMode, Tunnel, TunnelConfig};
    use ripstop_base::{Rate, Time};
    use ripstop_codes::Symbol;
    use std::time::Duration;

    #[test]
    fn a_fast_path_has_reports_that_list_all_datagrams() {
        let every = |mbps: u64| {
            let rate = RateMode::Fixed(Rate::from_bps(mbps * 1_000_000));
            let config =
                TunnelConfig { rate, initial_rtt: Some(Duration::from_millis(300)), ..TunnelConfig::default() };
            Tunnel::<Symbol>::new(Time::ZERO, config, 1).window_now().report_every
        };
        assert_eq!(every(100), Duration::from_millis(20));
        // 1000 datagrams of 1500 bytes, and at least 2 ms.
        assert_eq!([every(1_000), every(100_000)], [Duration::from_millis(12), Duration::from_millis(2)]);
    }
}
