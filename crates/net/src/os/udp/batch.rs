//! Datagrams that leave together.

use super::MAX_DATAGRAM;
use std::net::SocketAddr;

/// The largest number of bytes in one send call, all datagrams together: the largest UDP payload
/// over IPv4.
const MAX_BATCH: usize = 65_507;

/// Datagrams of one size to one address, collected for one system call.
#[derive(Debug)]
pub struct DatagramBatch {
    buffer: Box<[u8]>,
    /// Bytes collected.
    filled: usize,
    /// Bytes of the datagrams that need not be sent any more, because they were sent or refused one by one.
    done: usize,
    /// What all collected datagrams have in common; None if no datagram is collected.
    common: Option<BatchHeader>,
    /// A datagram that does not fit into this batch. Its bytes follow the first `filled` bytes.
    next: Option<(BatchHeader, usize)>,
}

/// What all datagrams of a batch have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchHeader {
    pub(super) to: SocketAddr,
    pub(super) ect: bool,
    /// The size of the datagrams, in bytes. The last datagram may be smaller.
    pub(super) segment: usize,
    /// Whether the batch has a single datagram.
    is_alone: bool,
}

impl Default for DatagramBatch {
    fn default() -> DatagramBatch {
        let buffer = vec![0; MAX_BATCH + MAX_DATAGRAM].into_boxed_slice();
        DatagramBatch { buffer, filled: 0, done: 0, common: None, next: None }
    }
}

impl DatagramBatch {
    /// Where to write the next datagram.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    /// The destination of the collected datagrams. None if no datagram is collected.
    pub fn destination(&self) -> Option<SocketAddr> {
        self.common.map(|common| common.to)
    }

    /// Whether no datagram is collected.
    pub fn is_empty(&self) -> bool {
        self.common.is_none()
    }

    /// Adds the datagram of `len` bytes that was written into [`DatagramBatch::room`]. `ect` marks
    /// the datagram as ECN-capable. A batch has at most `segments` datagrams ([`Udp::segments`](super::Udp::segments)); with
    /// 1, the datagram has a batch of its own.
    /// Returns false if the batch is complete: then call [`Udp::send`](super::Udp::send) before the next datagram is
    /// written.
    pub fn push(&mut self, to: SocketAddr, len: usize, ect: bool, segments: usize) -> bool {
        let fresh = BatchHeader { to, ect, segment: len, is_alone: segments <= 1 };
        let Some(common) = self.common else {
            self.common = Some(fresh);
            self.filled = len;
            return segments > 1 && len > 0;
        };
        let is_alone = common.is_alone || fresh.is_alone;
        let is_alike = !is_alone && common.to == to && common.ect == ect && len <= common.segment;
        let is_first_of_all = self.filled == 0;
        if !is_alike || is_first_of_all || self.filled + len > MAX_BATCH {
            self.next = Some((fresh, len));
            return false;
        }
        self.filled += len;
        // A shorter datagram must be the last of its batch.
        len == common.segment && self.filled / common.segment < segments
    }

    /// The collected datagrams, one after the other, and what they have in common. None if no datagram is collected.
    pub(super) fn collected(&self) -> Option<(&[u8], BatchHeader)> {
        Some((&self.buffer[self.done..self.filled], self.common?))
    }

    /// Drops the first `len` bytes of [`DatagramBatch::collected`]: whole datagrams.
    pub(super) fn skip(&mut self, len: usize) {
        self.done += len;
    }

    /// Whether a datagram did not fit into this batch.
    pub(super) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    /// Drops the collected datagrams, and starts a new batch with the datagram that did not fit.
    pub(super) fn advance(&mut self) {
        self.done = 0;
        match self.next.take() {
            Some((common, len)) => {
                self.buffer.copy_within(self.filled..self.filled + len, 0);
                self.common = Some(common);
                self.filled = len;
            }
            None => {
                self.common = None;
                self.filled = 0;
            }
        }
    }
}
