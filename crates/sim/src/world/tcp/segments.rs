//! What is in the packets of a connection between kernels: a stream of bytes, cut where the application's writes left it.

use std::collections::VecDeque;

/// The payload of packets by their numbers.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// Payload of a full packet, bytes.
    full: u32,
    /// How many packets have which payload, from number `first` on. Only full ones are counted together.
    runs: VecDeque<(u64, u32)>,
    first: u64,
    /// One past the last packet that something was written into.
    end: u64,
    /// The first packet that was never sent.
    unsent: u64,
}

impl Segments {
    /// Nothing is written yet; a packet has room for `full` bytes. The first one, the SYN, carries none.
    pub(super) fn new(full: u32) -> Segments {
        Segments { full, runs: VecDeque::with_capacity(16), first: 1, end: 1, unsent: 0 }
    }

    /// The application writes so many bytes (`u64::MAX`: without end): how many packets more that makes. What waits already is
    /// filled up first.
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

    /// Packet `number` leaves.
    pub(super) fn leave(&mut self, number: u64) {
        self.unsent = self.unsent.max(number + 1);
    }

    /// Payload of packet `number`, which is not acknowledged yet.
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

    /// Everything before packet `number` is acknowledged.
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
        assert_eq!([100, 100, 100].map(|bytes| segments.write(bytes)), [1, 0, 1], "packet 1 has left");
        assert_eq!([1, 2, 3].map(|number| segments.payload(number)), [100, 250, 50]);
        segments.leave(3);
        segments.forget(3);
        assert_eq!((segments.write(10), segments.payload(3), segments.payload(4)), (1, 50, 10));
        segments.forget(5);
        assert_eq!((segments.write(20), segments.payload(5)), (1, 20));
    }
}
