//! The payload of each packet of a connection between kernels. Written data is a stream of bytes, which is cut into
//! packets.

use std::collections::VecDeque;

/// The payload of packets, by the packets' numbers. Only packets that are not acknowledged are kept.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// Payload of a full packet, bytes.
    full: u32,
    /// Runs of packets with equal payload, from packet `first` on: the number of packets, and the payload of each in
    /// bytes. Only full packets share a run.
    runs: VecDeque<(u64, u32)>,
    /// The first packet that is not acknowledged.
    first: u64,
    /// One past the last packet that has payload.
    end: u64,
    /// The first packet that was never sent.
    unsent: u64,
}

impl Segments {
    /// No data yet. A full packet has a payload of `full` bytes. Packet 0, the SYN, has no payload.
    pub(super) fn new(full: u32) -> Segments {
        Segments { full, runs: VecDeque::with_capacity(16), first: 1, end: 1, unsent: 0 }
    }

    /// Adds `bytes` bytes of data from the application. `u64::MAX` means data without end. If the last packet was not
    /// sent yet, it is filled up first.
    ///
    /// Returns the number of packets added.
    pub(super) fn write(&mut self, bytes: u64) -> u64 {
        if bytes == u64::MAX {
            self.runs.push_back((u64::MAX, self.full));
            self.end = u64::MAX;
            return u64::MAX;
        }
        let mut rest = bytes;
        if let Some((_, last)) = self.runs.back_mut().filter(|_| self.end > self.unsent) {
            let more = rest.min(u64::from(self.full - *last));
            *last += more as u32;
            rest -= more;
        }
        let (whole, part) = (rest / u64::from(self.full), (rest % u64::from(self.full)) as u32);
        if whole > 0 {
            self.runs.push_back((whole, self.full));
        }
        if part > 0 {
            self.runs.push_back((1, part));
        }
        let packets = whole + u64::from(part > 0);
        self.end = self.end.saturating_add(packets);
        packets
    }

    /// Records that packet `number` is sent.
    pub(super) fn leave(&mut self, number: u64) {
        self.unsent = self.unsent.max(number + 1);
    }

    /// Payload of packet `number`, bytes. The packet must not be acknowledged yet.
    pub(super) fn payload(&self, number: u64) -> u32 {
        let mut beyond = match number.checked_sub(self.first) {
            Some(beyond) if number > 0 => beyond,
            _ => return 0,
        };
        for (packets, payload) in &self.runs {
            if beyond < *packets {
                return *payload;
            }
            beyond -= packets;
        }
        0
    }

    /// Drops all packets before `number`, because they are acknowledged.
    pub(super) fn forget(&mut self, number: u64) {
        while self.first < number
            && let Some((packets, _)) = self.runs.front_mut()
        {
            let gone = (number - self.first).min(*packets);
            self.first += gone;
            *packets -= gone;
            if *packets == 0 {
                self.runs.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_ends_with_what_is_left_of_it() {
        let mut segments = Segments::new(1000);
        assert_eq!(segments.write(2_500), 3);
        assert_eq!([0, 1, 2, 3, 4].map(|number| segments.payload(number)), [0, 1000, 1000, 500, 0]);
        segments.forget(3);
        assert_eq!((segments.payload(3), segments.runs.len()), (500, 1));
    }

    #[test]
    fn without_end_all_are_full() {
        let mut segments = Segments::new(1384);
        assert_eq!(segments.write(u64::MAX), u64::MAX);
        segments.forget(1 << 40);
        assert_eq!([1 << 40, 1 << 50].map(|number| segments.payload(number)), [1384; 2]);
    }

    #[test]
    fn what_waits_goes_together() {
        let mut segments = Segments::new(250);
        segments.leave(0);
        assert_eq!(segments.write(100), 1);
        segments.leave(1);
        assert_eq!(
            [100, 100, 100].map(|bytes| segments.write(bytes)),
            [1, 0, 1],
            "packet 1 was sent, so it must not be filled up"
        );
        assert_eq!([1, 2, 3].map(|number| segments.payload(number)), [100, 250, 50]);
        segments.leave(3);
        segments.forget(3);
        assert_eq!((segments.write(10), segments.payload(3), segments.payload(4)), (1, 50, 10));
        segments.forget(5);
        assert_eq!((segments.write(20), segments.payload(5)), (1, 20));
    }
}
