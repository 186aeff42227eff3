//! A fixed set of alarms, and which of them rings next.

use ripstop_base::Time;

/// The name of an alarm on an [`Agenda`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm(u32);

impl Alarm {
    /// How many alarms were added before it.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A virtual clock and alarms that are set, moved and cleared again and again.
///
/// Where [`crate::engine::Engine`] keeps any number of events, this keeps one moment for each of a number of things that is
/// known from the start: a link rings when the next packet arrives, a sender when its timer runs out. A tournament over the
/// alarms finds the next one: setting costs a comparison for each level, moving a timer leaves no dead entry behind, and
/// nothing is ever allocated. Alarms at the same moment ring in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    now: Time,
    /// Moment and order of each alarm; padded to a power of two.
    keys: Vec<(Time, u64)>,
    /// The winner of each match, as an index into `keys`. The root is 1; the match of leaves 2k and 2k + 1 is at
    /// `keys.len() / 2 + k`.
    winners: Vec<u32>,
    alarms: usize,
    /// Orders handed out.
    set: u64,
    rung: u64,
    /// The alarm that rang last, if its key was not replayed: most are set again at once.
    stale: Option<Alarm>,
}

/// The key of an alarm that is not set.
const NEVER: (Time, u64) = (Time::NEVER, u64::MAX);

impl Agenda {
    /// An agenda at [`Time::ZERO`] without alarms.
    pub fn new() -> Agenda {
        Agenda::default()
    }

    /// One more alarm, which is not set.
    pub fn add(&mut self) -> Alarm {
        self.alarms += 1;
        let leaves = self.alarms.next_power_of_two().max(2);
        if leaves > self.keys.len() {
            self.keys.resize(leaves, NEVER);
            self.winners = vec![0; leaves];
            for at in (1..leaves).rev() {
                self.winners[at] = self.play(at);
            }
        }
        Alarm(self.alarms as u32 - 1)
    }

    /// The virtual time: when the last alarm rang.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many alarms have rung.
    pub fn rung(&self) -> u64 {
        self.rung
    }

    /// A place in the order of alarms that are set to the same moment, for [`Agenda::set_in_order`].
    pub fn order(&mut self) -> u64 {
        self.set += 1;
        self.set
    }

    /// Sets `alarm` to `when` (now, when that is past; [`Time::NEVER`] clears it), wherever it stood before.
    pub fn set(&mut self, alarm: Alarm, when: Time) {
        let order = self.order();
        self.set_in_order(alarm, when, order);
    }

    /// As [`Agenda::set`], with a place in the order that was taken before: a queue's next entry keeps its own.
    pub fn set_in_order(&mut self, alarm: Alarm, when: Time, order: u64) {
        let key = if when == Time::NEVER { NEVER } else { (when.max(self.now), order) };
        self.keys[alarm.0 as usize] = key;
        if self.stale.is_some_and(|stale| stale != alarm) {
            self.settle();
        }
        self.stale = None;
        self.replay(alarm);
    }

    /// When `alarm` rings; [`Time::NEVER`] when it is not set.
    pub fn when(&self, alarm: Alarm) -> Time {
        self.keys[alarm.0 as usize].0
    }

    /// The next alarm that rings at or before `end`, which is then not set any more; the clock moves to its moment. None when
    /// there is none; the clock then moves to `end`.
    pub fn next_until(&mut self, end: Time) -> Option<Alarm> {
        self.settle();
        let first = *self.winners.get(1)?;
        let (when, _) = self.keys[first as usize];
        if when > end || when == Time::NEVER {
            if end != Time::NEVER {
                self.now = self.now.max(end);
            }
            return None;
        }
        self.keys[first as usize] = NEVER;
        self.stale = Some(Alarm(first));
        self.now = when;
        self.rung += 1;
        Some(Alarm(first))
    }

    fn settle(&mut self) {
        if let Some(stale) = self.stale.take() {
            self.replay(stale);
        }
    }

    /// Plays the matches on the way from `alarm` to the root again.
    fn replay(&mut self, alarm: Alarm) {
        let mut at = (self.keys.len() + alarm.0 as usize) / 2;
        while at > 0 {
            self.winners[at] = self.play(at);
            at /= 2;
        }
    }

    /// Who wins match `at`.
    fn play(&self, at: usize) -> u32 {
        let leaves = self.keys.len();
        let entrant = |at: usize| if at >= leaves { (at - leaves) as u32 } else { self.winners[at] };
        let (a, b) = (entrant(2 * at), entrant(2 * at + 1));
        if self.keys[b as usize] < self.keys[a as usize] { b } else { a }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alarms_ring_in_order_of_time_then_of_setting() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.next_until(Time::NEVER), None);
        let alarms: Vec<Alarm> = (0..5).map(|_| agenda.add()).collect();
        for (index, millis) in [(3, 5), (0, 1), (4, 5), (1, 3), (2, 5)] {
            agenda.set(alarms[index], Time::from_millis(millis));
        }
        let rung: Vec<Alarm> = std::iter::from_fn(|| agenda.next_until(Time::from_millis(1000))).collect();
        assert_eq!(rung, [0, 1, 3, 4, 2].map(|k| alarms[k]));
        assert_eq!((agenda.now(), agenda.rung()), (Time::from_millis(1000), 5));
        // What is past is now, and the clock never goes back.
        agenda.set(alarms[0], Time::from_millis(7));
        assert_eq!(agenda.when(alarms[0]), Time::from_millis(1000));
        assert_eq!(agenda.next_until(Time::from_millis(1)), None);
        assert_eq!(agenda.next_until(Time::from_millis(1000)), Some(alarms[0]));
    }

    proptest! {
        /// Against a list searched through each time.
        #[test]
        fn behaves_as_a_list(steps in prop::collection::vec((0u8..4, 0usize..7, 0u64..50), 1..400)) {
            let mut agenda = Agenda::new();
            let alarms: Vec<Alarm> = (0..7).map(|_| agenda.add()).collect();
            let mut list = [None; 7];
            for (number, (what, which, nanos)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => {
                        let when = agenda.now() + std::time::Duration::from_nanos(nanos);
                        agenda.set(alarms[which], when);
                        list[which] = Some((when, number));
                    }
                    2 => {
                        agenda.set(alarms[which], Time::NEVER);
                        list[which] = None;
                    }
                    _ => {
                        let first = (0..7).filter(|k| list[*k].is_some()).min_by_key(|k| list[*k]);
                        let when = first.and_then(|k| list[k].take()).map(|(when, _)| when);
                        prop_assert_eq!(agenda.next_until(Time::NEVER), first.map(|k| alarms[k]));
                        prop_assert!(when.is_none_or(|when| when == agenda.now()));
                    }
                }
                prop_assert!((0..7).all(|k| agenda.when(alarms[k]) == list[k].map_or(Time::NEVER, |(when, _)| when)));
            }
        }
    }
}
