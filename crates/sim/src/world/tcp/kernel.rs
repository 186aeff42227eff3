//! The behaviour of a connection's hosts besides congestion control: header sizes, delayed and merged acknowledgements,
//! and how written data is cut into packets.
//!
//! Hosts behave like the agents of ns-2, or like the kernels of today.

use super::flow::TcpFlow;
use super::segments::Segments;
use crate::tcp::{Ack, MAX_BLOCKS, Variant};
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// IPv4 and TCP headers with time stamps, bytes: 12 more than without (RFC 7323, section 3.2 and appendix A).
pub const STAMPED_HEADERS: u32 = 52;
/// A SACK option without its blocks, padded to 4 bytes (RFC 2018, section 3).
const SACK_OPTION: u32 = 4;
/// One block of a SACK option, bytes (RFC 2018, section 3).
const SACK_BLOCK: u32 = 8;

/// The behaviour of the hosts at both ends of a connection, besides congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Like the one-way agents of ns-2.
    ///
    /// - Sizes are those of [`Variant::packet_bytes`] and [`Variant::ack_bytes`], and every data packet is full.
    /// - Each acknowledgement is sent on its own, and is delayed for at most 100 ms.
    #[default]
    Agents,
    /// Like Linux.
    ///
    /// - Every header has time stamps ([`STAMPED_HEADERS`]).
    /// - A packet carries only the data that is there. Small writes that wait to be sent share a packet.
    /// - A receiver delays an acknowledgement for at most 40 ms (Linux's `TCP_DELACK_MIN`). RFC 1122, section 4.2.3.2,
    ///   and RFC 5681, section 4.2, allow 500 ms.
    /// - Packets that come out of a tunnel in order at one moment are merged by receive offload, and one
    ///   acknowledgement acknowledges all of them.
    Kernels,
}

impl Hosts {
    /// Size of packet `number` on the network, bytes. `payload` is the payload of this packet for [`Hosts::Kernels`],
    /// and of a full packet for [`Hosts::Agents`]. Packet 0, the SYN, has no payload.
    pub fn packet_bytes(self, variant: Variant, number: u64, payload: u32) -> u32 {
        match (self, number) {
            (Hosts::Agents, _) => variant.packet_bytes(number, payload as usize) as u32,
            (Hosts::Kernels, 0) => STAMPED_HEADERS,
            (Hosts::Kernels, _) => STAMPED_HEADERS + payload,
        }
    }

    /// An acknowledgement as the sender receives it, and its size in bytes. SACK blocks are left out for a `variant`
    /// that ignores them.
    pub(super) fn acknowledgement(self, variant: Variant, ack: Ack) -> (Ack, u32) {
        let bare = variant.ack_bytes(&Ack::new(ack.next, [])) as u32;
        let blocks = (variant.ack_bytes(&ack) as u32 - bare) / SACK_BLOCK;
        debug_assert!(blocks as usize <= MAX_BLOCKS);
        let told = if blocks > 0 { ack } else { Ack::new(ack.next, []).with_echo(ack.echo) };
        let bytes = match self {
            Hosts::Agents => bare + SACK_BLOCK * blocks,
            Hosts::Kernels if blocks > 0 => STAMPED_HEADERS + SACK_OPTION + SACK_BLOCK * blocks,
            Hosts::Kernels => STAMPED_HEADERS,
        };
        (told, bytes)
    }

    /// How long an acknowledgement may be delayed.
    pub(super) fn ack_delay(self) -> Duration {
        match self {
            // The default of `interval_` in ns-2's Agent/TCPSink/DelAck.
            Hosts::Agents => Duration::from_millis(100),
            Hosts::Kernels => Duration::from_millis(40),
        }
    }
}

/// The state of the kernels at both ends of a connection.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The payload of the packets that are not acknowledged.
    pub(super) segments: Segments,
    /// Acknowledgements that are ready to be sent.
    ready: VecDeque<Ack>,
    /// When the delayed acknowledgement is due. [`Time::NEVER`] if there is none.
    pub(super) delayed: Time,
    /// Whether the paired flow is the other direction of the same connection. The data of each flow then carries the
    /// other flow's acknowledgements.
    pub(super) joined: bool,
    /// Whether the sender had input since it was last asked for packets.
    pub(super) has_input: bool,
    /// Acknowledgements that were never sent, because the following acknowledgement covered everything that they
    /// covered.
    pub(super) merged: u64,
}

impl Kernel {
    /// Kernels without data. A full packet has a payload of `payload` bytes.
    pub(super) fn new(payload: u32) -> Kernel {
        Kernel {
            segments: Segments::new(payload),
            ready: VecDeque::with_capacity(16),
            delayed: Time::NEVER,
            joined: false,
            has_input: false,
            merged: 0,
        }
    }

    /// Makes an acknowledgement ready. It replaces the last ready acknowledgement if both are plain ([`is_plain`]).
    fn acknowledge(&mut self, ack: Ack) {
        // An acknowledgement that begins or ends the echo of a mark is not lost.
        let replaces = |last: &Ack| is_plain(last) && last.echo == ack.echo;
        if is_plain(&ack) && self.ready.back().is_some_and(replaces) {
            self.ready.pop_back();
            self.merged += 1;
        }
        self.ready.push_back(ack);
        // This acknowledgement covers everything that the delayed acknowledgement would have covered.
        self.delayed = Time::NEVER;
    }
}

/// Whether an acknowledgement is plain: it has no SACK blocks, and it reports no duplicate.
fn is_plain(ack: &Ack) -> bool {
    ack.duplicate().is_none() && ack.blocks().next().is_none()
}

/// The receiving host of a flow between kernels.
impl TcpFlow {
    /// Handles the arrival of packet `number` at a kernel. Returns true if the packet is the first SYN, which opens the
    /// connection.
    pub(super) fn take_packet(&mut self, now: Time, number: u64) -> bool {
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

    /// Makes the delayed acknowledgement ready, because it is due.
    pub(super) fn release_delayed_ack(&mut self) {
        let ack = self.flush();
        if let Some(kernel) = &mut self.kernel {
            kernel.delayed = Time::NEVER;
            kernel.ready.extend(ack);
        }
    }

    /// The next acknowledgement to send without data.
    pub(super) fn poll_ack(&mut self) -> Option<Ack> {
        if self.kernel.as_ref()?.ready.is_empty() {
            return None;
        }
        // If an acknowledgement is delayed, it is sent now with the other acknowledgements.
        let odd = self.flush();
        let kernel = self.kernel.as_mut()?;
        odd.into_iter().for_each(|ack| kernel.acknowledge(ack));
        kernel.ready.pop_front()
    }

    /// The acknowledgement to send with data, if there is anything to acknowledge. An acknowledgement with SACK blocks
    /// is sent alone, because a full packet has no room for the blocks.
    pub(super) fn piggyback_ack(&mut self) -> Option<Ack> {
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
        assert_eq!((told(Hosts::Agents, Variant::Sack), told(Hosts::Agents, Variant::Reno)), ((2, 56), (0, 40)));
    }

    #[test]
    fn plain_acknowledgements_are_merged_and_others_are_not() {
        let mut kernel = Kernel::new(1000);
        let blocks = Ack::new(4, std::iter::once(6..7));
        assert!(Hosts::Kernels.acknowledgement(Variant::Cubic, Ack::new(5, []).with_echo(true)).0.echo);
        for ack in [Ack::new(2, []), Ack::new(4, []), blocks, Ack::new(7, []), Ack::new(9, [])] {
            kernel.acknowledge(ack);
        }
        assert_eq!((Vec::from(kernel.ready), kernel.merged), (vec![Ack::new(4, []), blocks, Ack::new(9, [])], 2));
    }
}
