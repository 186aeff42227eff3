//! The window that a gateway advertises to a TCP sender, and probes of a window that has closed.

use ripstop_base::Time;
use std::time::Duration;

/// The window that a gateway advertises to a sender. The sender gets data only as far as the window reaches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    /// The first packet that the sender may not send.
    edge: u64,
    /// How many packets with data the sender has got.
    given: u64,
    /// How many packets of data wait for the window.
    waiting: u64,
    /// When the sender sends one packet beyond a window that has closed. The update of the window may be lost.
    probe_at: Time,
    /// How many such packets were sent since the window last moved.
    probes: u32,
    /// How many such packets were sent in all.
    probes_sent: u64,
}

impl Grant {
    /// A window that only the SYN, packet 0, may leave.
    pub(super) fn new() -> Grant {
        Grant { edge: 1, given: 0, waiting: 0, probe_at: Time::NEVER, probes: 0, probes_sent: 0 }
    }

    /// When [`Grant::probe`] is due.
    pub(super) fn probe_at(&self) -> Time {
        self.probe_at
    }

    /// How many packets were sent beyond a closed window.
    pub(super) fn probes_sent(&self) -> u64 {
        self.probes_sent
    }

    /// Lets `packets` more packets of data wait for the window.
    pub(super) fn wait(&mut self, packets: u64) {
        self.waiting = self.waiting.saturating_add(packets);
    }

    /// Drops the data that waits.
    pub(super) fn stop(&mut self) {
        self.waiting = 0;
    }

    /// How many packets of the waiting data the window allows. They no longer wait afterwards. `acknowledged` is the
    /// first packet that is not acknowledged.
    pub(super) fn release(&mut self, now: Time, acknowledged: u64) -> u64 {
        // Packet 0, the SYN, has no data.
        let packets = (self.edge - 1).saturating_sub(self.given).min(self.waiting);
        self.given += packets;
        self.waiting -= packets;
        let is_closed = self.waiting > 0 && acknowledged > self.given;
        let wait = (FIRST_PROBE * (1 << self.probes.min(6))).min(LAST_PROBE);
        self.probe_at = if is_closed { now + wait } else { Time::NEVER };
        packets
    }

    /// Widens a window by one packet if it has been closed for long enough. Returns whether it did.
    pub(super) fn probe(&mut self, now: Time) -> bool {
        let is_due = self.probe_at <= now;
        if is_due {
            self.edge = self.edge.max(self.given + 1) + 1;
            self.probes += 1;
            self.probes_sent += 1;
        }
        is_due
    }

    /// Whether a window that ends at `edge` ends later than this one.
    pub(super) fn is_moved_by(&self, edge: u64) -> bool {
        edge > self.edge
    }

    /// Takes a window that the gateway has advertised. A window never shrinks (RFC 9293, section 3.8.6).
    pub(super) fn advertise(&mut self, edge: u64) {
        if self.is_moved_by(edge) {
            (self.edge, self.probes) = (edge, 0);
        }
    }
}

/// The time after which a sender probes a closed window for the first time. The times double up to [`LAST_PROBE`]
/// (RFC 9293, section 3.8.6.1). Half the value probes gateways that only send slowly. Double the value makes the pause
/// after a lost update twice as long.
const FIRST_PROBE: Duration = Duration::from_secs(1);
/// The longest time between two probes, the largest time-out of TCP (RFC 6298).
const LAST_PROBE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::super::flow::{TcpConfig, TcpFlow};
    use super::*;
    use crate::engine::Scheduler;
    use crate::world::node::Outlet;
    use ripstop_base::Seed;

    #[test]
    fn a_sender_probes_a_window_that_stays_closed_and_an_update_ends_the_probes() {
        let mut scheduler = Scheduler::new();
        let alarms = [scheduler.add(), scheduler.add()];
        let [mut random, draws] = ["tcp", "source"].map(|name| Seed::new(1).stream(name));
        let config = TcpConfig::default();
        let mut flow = TcpFlow::new(0, Outlet::Gateway(0), config, alarms, &mut random, draws).unwrap();
        flow.await_grant();
        let sent = |flow: &mut TcpFlow, now| {
            std::iter::from_fn(|| flow.transmit(now)).map(|(number, _)| number).collect::<Vec<_>>()
        };
        flow.wake(Time::ZERO);
        assert_eq!(sent(&mut flow, Time::ZERO), [0], "only the SYN leaves before the window is known");
        flow.on_granted(Time::from_millis(100), 1, 1);
        assert_eq!(sent(&mut flow, Time::from_millis(100)), [1]);
        flow.on_granted(Time::from_millis(200), 2, 0);
        assert_eq!(sent(&mut flow, Time::from_millis(200)), []);
        // The sender's idle timer may ring earlier.
        let mut now = Time::from_millis(1199);
        flow.wake(now);
        assert_eq!((sent(&mut flow, now), flow.window_probes()), (vec![], 0));
        now = Time::from_millis(1200);
        assert!(flow.due() <= now);
        flow.wake(now);
        assert_eq!((sent(&mut flow, now), flow.window_probes()), (vec![2], 1));
        flow.on_granted(Time::from_millis(1300), 3, 4);
        let now = Time::from_millis(1300);
        assert_eq!(sent(&mut flow, now).first(), Some(&3));
    }
}
