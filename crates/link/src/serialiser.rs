//! The transmitter: it sends one packet at a time, at a rate that may change while a packet is
//! being sent.
//!
//! Work is counted in nanobits (10^-9 bit): a rate in bit/s times a time in ns gives nanobits.

use crate::timeline::Timeline;
use ripstop_base::Time;
use std::time::Duration;

/// A FIFO server whose rate is a step function of time, integrated exactly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serialiser {
    /// When the last bit accepted so far will have left, rounded up to a nanosecond.
    free_at: Time,
    /// Rounding a packet's time up to a nanosecond leaves time in which the link could have sent
    /// this many nanobits. If the next packet follows without a pause, this credit counts as sent
    /// already. So rounding errors never add up, and a full link runs at its exact rate.
    credit: u128,
    /// The index of the rate step that applies at `free_at`.
    step: usize,
    /// The last packet served at a constant rate without credit. Most packets have the same size as
    /// the packet before, so the last result is used again.
    last: Served,
}

/// A packet that was served without credit.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    /// The packet's work, nanobits.
    work: u64,
    /// The time that the packet took, ns.
    nanos: u64,
    /// The credit that the packet left over (see `Serialiser::credit`), nanobits.
    credit: u64,
}

/// The interval in which a packet is on the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// When the first bit leaves, rounded up to a nanosecond.
    pub(crate) start: Time,
    /// When the last bit has left.
    pub(crate) end: Time,
}

impl Serialiser {
    /// The moment from which the transmitter has nothing left to send.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// The index of the step of the rate that applied when the last packet was sent.
    pub(crate) fn step(&self) -> usize {
        self.step
    }

    /// The work that the idle transmitter could have done between `free_at` and `now`, in nanobits.
    /// Time at an unlimited rate counts as no work.
    pub(crate) fn idle_work(&self, now: Time, rates: &Rates) -> u128 {
        let mut at = self.free_at;
        let mut work: u128 = 0;
        if rates.steps.period().is_some() && rates.cycle().is_none() {
            return 0;
        }
        if let Some((period, cycle_work)) = rates.cycle() {
            let cycles = now.since(at).as_nanos() / period.as_nanos();
            work = cycle_work.saturating_mul(cycles);
            at += Duration::from_nanos((cycles * period.as_nanos()) as u64);
        }
        let mut step = rates.steps.index(self.step, at);
        while at < now {
            let rate = u128::from(rates.at(step).unwrap_or(0));
            let until = now.min(rates.steps.end(step));
            work = work.saturating_add(until.since(at).as_nanos() * rate);
            (at, step) = (until, step + 1);
        }
        work
    }

    /// Like [`Serialiser::serve`], for a rate of `rate` bit/s that never changes. Returns the end
    /// of the slot. `bytes` is at most 2^30, and `rate` at most 2^60. `now` and `free_at` are at
    /// most 2^63 ns.
    #[inline]
    pub(crate) fn serve_steadily(&mut self, now: Time, bytes: u64, rate: u64) -> Time {
        let (start, credit) = if now < self.free_at { (self.free_at, self.credit as u64) } else { (now, 0) };
        let work = bytes * 8_000_000_000;
        let nanos = if credit == 0 && work == self.last.work {
            self.credit = u128::from(self.last.credit);
            self.last.nanos
        } else {
            self.serve_work(work, credit, rate)
        };
        self.free_at = Time::from_nanos(start.as_nanos().saturating_add(nanos));
        self.free_at
    }

    /// The time that `work` takes at `rate` after using up `credit`, in ns. Stores the new credit.
    fn serve_work(&mut self, work: u64, credit: u64, rate: u64) -> u64 {
        let used = credit.min(work);
        let rest = work - used;
        // A packet of zero bytes does not use up the credit. At an unlimited rate nothing is
        // rounded, so no credit arises.
        let nanos = if rate == 0 { 0 } else { rest.div_ceil(rate) };
        let left = match rest {
            0 => credit - used,
            _ => nanos * rate - rest.min(nanos * rate),
        };
        if credit == 0 {
            self.last = Served { work, nanos, credit: left };
        }
        self.credit = u128::from(left);
        nanos
    }

    /// Serves a packet of `bytes` bytes that is offered at `now`.
    pub(crate) fn serve(&mut self, now: Time, bytes: u128, rates: &Rates) -> Slot {
        let waits = now < self.free_at;
        let start = now.max(self.free_at);
        let credit = if waits { self.credit } else { 0 };
        let mut work = bytes * 8_000_000_000;
        // A packet of zero bytes does not use up the credit.
        let used = credit.min(work);
        work -= used;
        self.credit = credit - used;

        let mut at = start;
        if let Some((period, cycle_work)) = rates.cycle()
            && !rates.unlimited
        {
            // Whole cycles are passed in one step, so the work of this function is bounded.
            let cycles = work.saturating_sub(1) / cycle_work;
            let nanos = cycles.saturating_mul(period.as_nanos());
            at += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            work -= cycles * cycle_work;
        }
        self.step = rates.steps.index(self.step, at);
        while work > 0 {
            let Some(rate) = rates.at(self.step).map(u128::from) else {
                self.credit = 0;
                break;
            };
            let until = rates.steps.end(self.step);
            let capacity = until.since(at).as_nanos() * rate;
            if work <= capacity {
                let nanos = work.div_ceil(rate);
                self.credit = nanos * rate - work;
                at += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
                break;
            }
            at = until;
            if until == Time::NEVER {
                break; // The packet is never sent completely.
            }
            work -= capacity;
            self.step += 1;
        }
        self.free_at = at;
        Slot { start, end: at }
    }
}

/// The rate of a link as a function of time, in bit/s. A step is None while the rate is unlimited,
/// and 0 while nothing is sent.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    steps: Timeline<Option<u64>>,
    /// The work of one cycle in nanobits, unlimited steps not counted. 0 without a period.
    cycle_work: u128,
    /// Whether a step is unlimited.
    unlimited: bool,
}

impl Rates {
    /// Rates with these steps, which may repeat.
    pub(crate) fn new(steps: Vec<(Time, Option<u64>)>, period: Option<Duration>) -> Rates {
        let unlimited = steps.iter().any(|(_, rate)| rate.is_none());
        let steps = Timeline::new(steps, period);
        let mut cycle_work: u128 = 0;
        if period.is_some() {
            for (k, (from, rate)) in steps.steps().iter().enumerate() {
                let nanos = steps.end(k).since(*from).as_nanos();
                cycle_work = cycle_work.saturating_add(nanos * u128::from(rate.unwrap_or(0)));
            }
        }
        Rates { steps, cycle_work, unlimited }
    }

    /// The rate of the step with this index.
    fn at(&self, step: usize) -> Option<u64> {
        // Beyond the last step there is no time, so its rate does not matter.
        self.steps.get(step).copied().flatten()
    }

    /// The length of a cycle and the work that can be done in it; None if the rates do not repeat,
    /// or if no work is done.
    fn cycle(&self) -> Option<(Duration, u128)> {
        self.steps.period().map(|period| (period, self.cycle_work)).filter(|(_, work)| *work > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(s: &mut Serialiser, now: u64, bytes: usize, rates: &[(u64, u64)]) -> (u64, u64) {
        let slot = s.serve(Time::from_nanos(now), bytes as u128, &steps(rates, None));
        (slot.start.as_nanos(), slot.end.as_nanos())
    }

    /// Rates in bit/s from times in ns on. 0 is unlimited.
    fn steps(rates: &[(u64, u64)], period: Option<Duration>) -> Rates {
        let rate = |bps: u64| Some(bps).filter(|bps| *bps > 0);
        Rates::new(rates.iter().map(|(t, r)| (Time::from_nanos(*t), rate(*r))).collect(), period)
    }

    /// A walk through the cycles of this time would not end.
    #[test]
    fn cycles_without_work_are_not_walked() {
        let rates = steps(&[(0, 0)], Some(Duration::from_nanos(1)));
        assert_eq!(Serialiser::default().idle_work(Time::from_nanos(u64::MAX - 1), &rates), 0);
    }

    #[test]
    fn back_to_back_packets_run_at_the_exact_rate() {
        // 3 bit/s: a byte takes 2.666... s. Three bytes take 8 s exactly.
        let mut s = Serialiser::default();
        assert_eq!(serve(&mut s, 0, 1, &[(0, 3)]), (0, 2_666_666_667));
        assert_eq!(serve(&mut s, 0, 1, &[(0, 3)]), (2_666_666_667, 5_333_333_334));
        assert_eq!(serve(&mut s, 0, 1, &[(0, 3)]), (5_333_333_334, 8_000_000_000));
    }

    #[test]
    fn an_idle_link_grants_no_credit() {
        let mut s = Serialiser::default();
        serve(&mut s, 0, 1, &[(0, 3)]);
        assert_eq!(serve(&mut s, 2_666_666_667, 1, &[(0, 3)]), (2_666_666_667, 5_333_333_334));
    }

    #[test]
    fn a_rate_change_under_way_is_integrated() {
        // 1000 bytes: the first 4000 bits take 4 ms at 1 Mbit/s, the other 4000 take 1 ms at 4
        // Mbit/s.
        let rates = [(0, 1_000_000), (4_000_000, 4_000_000), (20_000_000, 8_000)];
        let mut s = Serialiser::default();
        assert_eq!(serve(&mut s, 0, 1000, &rates), (0, 5_000_000));
        // A packet that spans two changes: 15 ms at 4 Mbit/s carry 60 000 bits, the last 4000 bits
        // take .5 s.
        assert_eq!(serve(&mut s, 0, 8000, &rates), (5_000_000, 520_000_000));
    }

    #[test]
    fn idle_time_is_counted_at_the_rate_it_had() {
        let rates = [(0, 1_000), (4_000_000_000, 0), (5_000_000_000, 10)];
        let rates = steps(&rates, None);
        let mut s = Serialiser::default();
        assert_eq!(s.idle_work(Time::ZERO, &rates), 0);
        // 125 bytes take 1 s. The idle time is 3 s at 1 kbit/s, 1 s without a limit and 2 s at 10
        // bit/s.
        s.serve(Time::ZERO, 125, &rates);
        assert_eq!(s.idle_work(Time::from_millis(7000), &rates), 3_020 * 1_000_000_000);
        s.serve(Time::from_millis(4500), 1, &rates);
        assert_eq!(s.idle_work(Time::from_millis(7000), &rates), 20 * 1_000_000_000);
        assert_eq!(s.idle_work(Time::ZERO, &rates), 0);
    }

    #[test]
    fn rates_repeat_and_a_rate_of_zero_in_a_trace_stops_the_link() {
        // In each 10 ms: 4 ms at 8 Mbit/s carry 4000 bytes, then 6 ms carry nothing.
        let ms = |millis| Time::from_millis(millis);
        let rates = Rates::new(vec![(ms(0), Some(8_000_000)), (ms(4), Some(0))], Some(Duration::from_millis(10)));
        let mut s = Serialiser::default();
        assert_eq!(s.serve(ms(0), 3000, &rates).end, ms(3));
        assert_eq!(s.serve(ms(0), 2000, &rates).end, ms(11));
        assert_eq!(s.step(), 2);
        // A packet that is offered in a pause waits for its end. 40 000 bytes take ten cycles.
        assert_eq!(s.serve(ms(25), 1000, &rates).end, ms(31));
        assert_eq!(s.serve(ms(0), 40_000, &rates).end, ms(131));
        assert_eq!(s.serve(ms(0), 3000, &rates).end, ms(134));
        assert_eq!(s.idle_work(ms(170), &rates), 3 * 32_000 * 1_000_000_000);
        assert_eq!(s.serve(ms(0), u128::from(u64::MAX), &rates).end, Time::NEVER);
    }

    #[test]
    fn unlimited_takes_no_time_and_the_endless_never_ends() {
        let mut s = Serialiser::default();
        assert_eq!(serve(&mut s, 7, usize::MAX, &[(0, 0)]), (7, 7));
        assert_eq!(serve(&mut s, 7, usize::MAX, &[(0, 1)]), (7, u64::MAX));
        assert_eq!(serve(&mut s, 9, 0, &[(0, 1)]), (u64::MAX, u64::MAX));
    }
}
