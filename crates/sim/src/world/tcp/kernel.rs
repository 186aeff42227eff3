//! What the hosts of a connection do besides congestion control, where they are kernels of today: which headers they write, how
//! they put off and merge acknowledgements, where they cut what an application writes.

use super::flow::TcpFlow;
use super::segments::Segments;
use crate::tcp::{Ack, MAX_BLOCKS, Variant};
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of the headers of IPv4 and TCP with time stamps: 12 more than without (RFC 7323, section 3.2 and appendix A).
pub const STAMPED_HEADERS: u32 = 52;
/// Bytes of a SACK option without its blocks, aligned, and of a block (RFC 2018, section 3).
const SACK_OPTION: u32 = 4;
const SACK_BLOCK: u32 = 8;

/// What the hosts at both ends of a connection do besides congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// As ns-2's one-way agents: packets and acknowledgements take what [`Variant::packet_bytes`] and [`Variant::ack_bytes`]
    /// say, every packet of data is full, each acknowledgement leaves on its own, and waits 100 ms at most.
    #[default]
    Agents,
    /// As Linux has them. Time stamps are in every header ([`STAMPED_HEADERS`]); packets carry what there is to send and no
    /// more, and what an application writes while nothing may leave goes together. A receiver puts an acknowledgement off for
    /// 40 ms at most (Linux's `TCP_DELACK_MIN`; RFC 1122, section 4.2.3.2, and RFC 5681, section 4.2, allow 500 ms), and what
    /// comes out of a tunnel in order at one moment is merged by receive offload and acknowledged once.
    Kernels,
}

impl Hosts {
    /// Bytes of packet `number` on the way, of a flow whose packets, or this one, carry `payload` bytes of data. The first one,
    /// the SYN, carries none.
    pub fn packet_bytes(self, variant: Variant, number: u64, payload: u32) -> u32 {
        match (self, number) {
            (Hosts::Agents, _) => variant.packet_bytes(number, payload as usize) as u32,
            (Hosts::Kernels, 0) => STAMPED_HEADERS,
            (Hosts::Kernels, _) => STAMPED_HEADERS + payload,
        }
    }

    /// Bytes of an acknowledgement on the way, and how it is told: blocks to a `variant` that heeds them only.
    pub(super) fn acknowledgement(self, variant: Variant, ack: Ack) -> (Ack, u32) {
        let bare = variant.ack_bytes(&Ack::new(ack.next, [])) as u32;
        let blocks = (variant.ack_bytes(&ack) as u32 - bare) / SACK_BLOCK;
        debug_assert!(blocks as usize <= MAX_BLOCKS);
        let told = if blocks > 0 { ack } else { Ack::new(ack.next, []) };
        let bytes = match self {
            Hosts::Agents => bare + SACK_BLOCK * blocks,
            Hosts::Kernels if blocks > 0 => STAMPED_HEADERS + SACK_OPTION + SACK_BLOCK * blocks,
            Hosts::Kernels => STAMPED_HEADERS,
        };
        (told, bytes)
    }

    /// How long an acknowledgement may be put off.
    pub(super) fn ack_delay(self) -> Duration {
        match self {
            // Agent/TCPSink/DelAck's interval_.
            Hosts::Agents => Duration::from_millis(100),
            Hosts::Kernels => Duration::from_millis(40),
        }
    }
}

/// What kernels at both ends of a connection keep of it.
#[derive(Debug)]
pub(super) struct Kernel {
    /// What is in the packets that are not acknowledged.
    pub(super) segments: Segments,
    /// Acknowledgements that leave next.
    ready: VecDeque<Ack>,
    /// When one that was put off leaves.
    pub(super) delayed: Time,
    /// Whether the flow's peer is the other direction of the same connection, whose data takes acknowledgements with it.
    pub(super) joined: bool,
    /// Whether the sender was told something since it was asked what leaves.
    pub(super) told: bool,
    /// Acknowledgements that said no more than the one after them, and did not leave.
    pub(super) merged: u64,
}

impl Kernel {
    pub(super) fn new(payload: u32) -> Kernel {
        Kernel {
            segments: Segments::new(payload),
            ready: VecDeque::with_capacity(16),
            delayed: Time::NEVER,
            joined: false,
            told: false,
            merged: 0,
        }
    }

    /// The receiver answers.
    fn acknowledge(&mut self, ack: Ack) {
        if is_plain(&ack) && self.ready.back().is_some_and(is_plain) {
            self.ready.pop_back();
            self.merged += 1;
        }
        self.ready.push_back(ack);
        // It says what a delayed one would have said.
        self.delayed = Time::NEVER;
    }
}

/// Whether an acknowledgement says no more than what arrived in order.
fn is_plain(ack: &Ack) -> bool {
    ack.duplicate.is_none() && ack.blocks().next().is_none()
}

/// The receiving host of a flow between kernels.
impl TcpFlow {
    /// Packet `number` has arrived at a kernel; whether it opens the connection.
    pub(super) fn hear(&mut self, now: Time, number: u64) -> bool {
        let opens = number == 0 && self.delivered() == 0;
        let ack = self.on_packet(now, number);
        let delay = self.config.hosts.ack_delay();
        if let Some(kernel) = &mut self.kernel {
            match ack {
                Some(ack) => kernel.acknowledge(ack),
                None => kernel.delayed = kernel.delayed.min(now + delay),
            }
        }
        opens
    }

    /// The acknowledgement that was put off is due.
    pub(super) fn stop_waiting(&mut self) {
        let ack = self.flush();
        if let Some(kernel) = &mut self.kernel {
            kernel.delayed = Time::NEVER;
            kernel.ready.extend(ack);
        }
    }

    /// The next acknowledgement that leaves alone.
    pub(super) fn poll_ack(&mut self) -> Option<Ack> {
        if self.kernel.as_ref()?.ready.is_empty() {
            return None;
        }
        // The odd one of what came at this moment goes with it.
        let odd = self.flush();
        let kernel = self.kernel.as_mut()?;
        odd.into_iter().for_each(|ack| kernel.acknowledge(ack));
        kernel.ready.pop_front()
    }

    /// The acknowledgement that leaves with data, if there is anything to acknowledge. What has blocks leaves alone: a full
    /// packet has no room for them.
    pub(super) fn ride_along(&mut self) -> Option<Ack> {
        let ready = &mut self.kernel.as_mut()?.ready;
        if let Some(next) = ready.front() {
            return if is_plain(next) { ready.pop_front() } else { None };
        }
        let ack = self.flush();
        self.kernel.as_mut()?.delayed = Time::NEVER;
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_time_stamps_and_blocks() {
        let kernels = Hosts::Kernels;
        assert_eq!([0, 1].map(|k| kernels.packet_bytes(Variant::Cubic, k, 1384)), [52, 1436]);
        let ack = Ack::new(5, [7..9, 11..12]);
        let told = |hosts: Hosts, variant| {
            let (told, bytes) = hosts.acknowledgement(variant, ack);
            (told.blocks().count(), bytes)
        };
        assert_eq!(told(kernels, Variant::Cubic), (2, 52 + 4 + 16));
        assert_eq!(told(kernels, Variant::NewReno), (0, 52));
        assert_eq!(
            (told(Hosts::Agents, Variant::Sack), told(Hosts::Agents, Variant::Reno)),
            ((2, 56), (0, 40))
        );
    }

    #[test]
    fn plain_acknowledgements_are_merged_and_others_are_not() {
        let mut kernel = Kernel::new(1000);
        let blocks = Ack::new(4, std::iter::once(6..7));
        for ack in [Ack::new(2, []), Ack::new(4, []), blocks, Ack::new(7, []), Ack::new(9, [])] {
            kernel.acknowledge(ack);
        }
        assert_eq!(
            (Vec::from(kernel.ready), kernel.merged),
            (vec![Ack::new(4, []), blocks, Ack::new(9, [])], 2)
        );
    }
}
