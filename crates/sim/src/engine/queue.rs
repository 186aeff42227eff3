//! The virtual clock and the events to come.

use ripstop_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// A virtual clock and the events that will move it. `E` is the user's closed enum of events.
///
/// The heap holds small keys only; the events lie still in slots, which are used again. So the cost
/// of an event does not grow with its size, and in the steady state nothing is allocated.
#[derive(Clone, Debug)]
pub struct Engine<E> {
    now: Time,
    /// Moment, then order of scheduling: unique, so equal moments keep a fixed order.
    heap: BinaryHeap<Reverse<(Time, u64, usize)>>,
    slots: Vec<Slot<E>>,
    free: Vec<usize>,
    /// Number of events ever scheduled; the order among equals.
    scheduled: u64,
    /// Events taken out by [`Engine::next`].
    processed: u64,
    /// Keys in the heap whose event was cancelled.
    cancelled: usize,
}

/// The name of a scheduled event, for [`Engine::cancel`]. It stays good when the event has come or
/// was cancelled: it then names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    order: u64,
    slot: usize,
}

#[derive(Clone, Debug)]
struct Slot<E> {
    /// Whose event lies here: tells an [`EventId`] from an older one of the same slot.
    order: u64,
    event: Option<E>,
}

/// The slot of events at [`Time::NEVER`], which are not kept.
const NOWHERE: usize = usize::MAX;

impl<E> Engine<E> {
    /// An engine at [`Time::ZERO`] with nothing to come.
    pub fn new() -> Engine<E> {
        Engine {
            now: Time::ZERO,
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            scheduled: 0,
            processed: 0,
            cancelled: 0,
        }
    }

    /// The virtual time: that of the event that came last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Schedules `event` for `when`; for now, when that is past. At [`Time::NEVER`] it never comes,
    /// and is dropped at once.
    pub fn at(&mut self, when: Time, event: E) -> EventId {
        let order = self.scheduled;
        self.scheduled += 1;
        if when == Time::NEVER {
            return EventId { order, slot: NOWHERE };
        }
        let kept = Slot { order, event: Some(event) };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = kept;
                slot
            }
            None => {
                self.slots.push(kept);
                self.slots.len() - 1
            }
        };
        self.heap.push(Reverse((when.max(self.now), order, slot)));
        EventId { order, slot }
    }

    /// Schedules `event` for `span` from now.
    pub fn after(&mut self, span: Duration, event: E) -> EventId {
        self.at(self.now + span, event)
    }

    /// Takes back an event that has not come yet and returns it; None when it has, or was taken
    /// back before.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        let slot = self.slots.get_mut(id.slot).filter(|slot| slot.order == id.order)?;
        let event = slot.event.take()?;
        self.cancelled += 1;
        // Timers that are moved again and again must not fill the heap with dead keys.
        if self.cancelled > 64 && self.cancelled * 2 > self.heap.len() {
            let (slots, free) = (&self.slots, &mut self.free);
            self.heap.retain(|Reverse((_, _, slot))| {
                let alive = slots[*slot].event.is_some();
                if !alive {
                    free.push(*slot);
                }
                alive
            });
            self.cancelled = 0;
        }
        Some(event)
    }

    /// The next event; the clock moves to its moment. None when nothing is to come.
    #[expect(clippy::should_implement_trait, reason = "the loop schedules new events between calls")]
    pub fn next(&mut self) -> Option<E> {
        self.next_until(Time::NEVER)
    }

    /// The next event at or before `end`; None when there is none, and then the clock moves to
    /// `end` (it stays where it is when `end` is past, or is [`Time::NEVER`]).
    pub fn next_until(&mut self, end: Time) -> Option<E> {
        let Some(when) = self.peek().filter(|when| *when <= end) else {
            if end != Time::NEVER {
                self.now = self.now.max(end);
            }
            return None;
        };
        let Reverse((_, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.now = when;
        self.processed += 1;
        self.slots[slot].event.take()
    }

    /// When the next event comes; None when nothing is to come.
    pub fn peek(&mut self) -> Option<Time> {
        loop {
            let Reverse((when, _, slot)) = *self.heap.peek()?;
            if self.slots[slot].event.is_some() {
                return Some(when);
            }
            self.heap.pop();
            self.free.push(slot);
            self.cancelled -= 1;
        }
    }

    /// How many events are to come.
    pub fn len(&self) -> usize {
        self.heap.len() - self.cancelled
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events have come so far.
    pub fn processed(&self) -> u64 {
        self.processed
    }
}

impl<E> Default for Engine<E> {
    fn default() -> Engine<E> {
        Engine::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_come_in_order_of_time_then_of_scheduling() {
        let mut engine = Engine::new();
        for (millis, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b'), (5, 'e')] {
            engine.at(Time::from_millis(millis), name);
        }
        assert_eq!(engine.peek(), Some(Time::from_millis(1)));
        let order: String = std::iter::from_fn(|| engine.next()).collect();
        assert_eq!(order, "abcde");
        assert_eq!((engine.now(), engine.processed()), (Time::from_millis(5), 5));
        assert!(engine.is_empty() && engine.next().is_none());
        assert_eq!(engine.now(), Time::from_millis(5));
    }

    #[test]
    fn the_past_is_now_and_never_does_not_come() {
        let mut engine = Engine::new();
        assert_eq!(engine.next_until(Time::from_millis(10)), None);
        assert_eq!(engine.now(), Time::from_millis(10));
        engine.at(Time::from_millis(2), 'x');
        let never = engine.at(Time::NEVER, 'n');
        engine.after(Duration::MAX, 'm');
        assert_eq!(engine.len(), 1);
        assert_eq!(engine.next(), Some('x'));
        assert_eq!(engine.now(), Time::from_millis(10));
        assert_eq!((engine.next(), engine.cancel(never)), (None, None));
        assert_eq!(engine.next_until(Time::from_millis(3)), None);
        assert_eq!(engine.now(), Time::from_millis(10), "the clock never goes back");
    }

    #[test]
    fn the_end_is_part_of_the_interval() {
        let mut engine = Engine::new();
        engine.at(Time::from_millis(5), ());
        assert_eq!(engine.next_until(Time::from_millis(4)), None);
        assert_eq!(engine.next_until(Time::from_millis(5)), Some(()));
    }

    #[test]
    fn a_cancelled_event_does_not_come_and_its_name_names_nothing() {
        let mut engine = Engine::new();
        let a = engine.at(Time::from_millis(1), 'a');
        let b = engine.at(Time::from_millis(2), 'b');
        assert_eq!(engine.cancel(a), Some('a'));
        assert_eq!((engine.cancel(a), engine.len()), (None, 1));
        assert_eq!(engine.next(), Some('b'));
        // The slots are used again; the old names do not reach the new events.
        engine.at(Time::from_millis(3), 'c');
        engine.at(Time::from_millis(3), 'd');
        assert_eq!((engine.cancel(a), engine.cancel(b), engine.len()), (None, None, 2));
    }

    #[test]
    fn a_timer_moved_for_ever_takes_no_memory() {
        let mut engine = Engine::new();
        let mut timer = engine.after(Duration::from_secs(3600), 0);
        for k in 1..100_000 {
            engine.at(Time::from_micros(k), -1);
            assert_eq!(engine.next(), Some(-1));
            engine.cancel(timer).unwrap();
            timer = engine.after(Duration::from_secs(3600), 0);
        }
        assert!(engine.slots.len() < 300 && engine.heap.len() < 300, "{}", engine.slots.len());
        assert_eq!((engine.len(), engine.next()), (1, Some(0)));
    }

    proptest! {
        /// Against a list searched through each time.
        #[test]
        fn behaves_as_a_sorted_list(steps in prop::collection::vec((0u8..4, 0u64..50), 1..400)) {
            let mut engine = Engine::new();
            let mut list: Vec<(Time, u32, EventId)> = Vec::new();
            for (number, (what, value)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => {
                        let when = engine.now() + Duration::from_nanos(value);
                        let id = engine.at(when, number as u32);
                        list.push((when, number as u32, id));
                    }
                    2 if !list.is_empty() => {
                        let (_, event, id) = list.remove(value as usize % list.len());
                        prop_assert_eq!(engine.cancel(id), Some(event));
                    }
                    _ => {
                        let first = list.iter().enumerate().min_by_key(|(_, (when, n, _))| (*when, *n));
                        let expected = first.map(|(at, _)| at).map(|at| list.remove(at));
                        prop_assert_eq!(engine.next(), expected.map(|(_, event, _)| event));
                        prop_assert!(expected.is_none_or(|(when, _, _)| engine.now() == when));
                    }
                }
                prop_assert_eq!(engine.len(), list.len());
            }
        }
    }
}
