//! Settings as step functions of time, which may repeat.

use ripstop_base::Time;
use std::time::Duration;

/// A step function of time. Without a period, the last step applies for ever. With a period, all
/// steps repeat: the value at time t is the value at time t modulo the period.
///
/// A step has an *index*. The indices go on through all repetitions: with three steps, step 1 of the
/// second cycle has the index 4.
#[derive(Clone, Debug)]
pub(crate) struct Timeline<T> {
    /// Each value, with the moment from which it applies. The first moment is [`Time::ZERO`], and
    /// the moments ascend. There is at least one step.
    steps: Vec<(Time, T)>,
    /// The length of a cycle, ns; later than the last step. None: the steps do not repeat.
    period: Option<u64>,
}

impl<T> Timeline<T> {
    /// The step function with these steps. The first step counts from the start.
    pub(crate) fn new(steps: Vec<(Time, T)>, period: Option<Duration>) -> Timeline<T> {
        debug_assert!(!steps.is_empty() && steps.is_sorted_by_key(|(at, _)| *at));
        let nanos = |period: Duration| u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        Timeline { steps, period: period.map(nanos) }
    }

    /// The index of the step that applies at `at`. `hint` is the index of an earlier or the same
    /// step; the search begins there.
    #[inline]
    pub(crate) fn index(&self, hint: usize, at: Time) -> usize {
        match self.period {
            None => {
                let mut step = hint;
                while self.steps.get(step + 1).is_some_and(|(from, _)| *from <= at) {
                    step += 1;
                }
                step
            }
            Some(period) => {
                let phase = Time::from_nanos(at.as_nanos() % period);
                let step = self.steps.partition_point(|(from, _)| *from <= phase).max(1) - 1;
                (at.as_nanos() / period) as usize * self.steps.len() + step
            }
        }
    }

    /// The value of the step with this index. Without a period, None beyond the last step.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let place = if self.period.is_some() { index % self.steps.len() } else { index };
        self.steps.get(place).map(|(_, value)| value)
    }

    /// When the step with this index ends; [`Time::NEVER`] for the last step.
    pub(crate) fn end(&self, index: usize) -> Time {
        let Some(period) = self.period else {
            return self.steps.get(index + 1).map_or(Time::NEVER, |(from, _)| *from);
        };
        let (cycle, place) = ((index / self.steps.len()) as u64, index % self.steps.len());
        let within = self.steps.get(place + 1).map_or(period, |(from, _)| from.as_nanos());
        Time::from_nanos(cycle.saturating_mul(period).saturating_add(within))
    }

    /// The length of a cycle; None if the steps do not repeat.
    pub(crate) fn period(&self) -> Option<Duration> {
        self.period.map(Duration::from_nanos)
    }

    /// The steps of one cycle: for each step, the moment from which it applies, and its value.
    pub(crate) fn steps(&self) -> &[(Time, T)] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn the_last_step_stays_and_a_period_begins_again() {
        let steps = vec![(ms(0), 'a'), (ms(10), 'b'), (ms(15), 'c')];
        let once = Timeline::new(steps.clone(), None);
        let again = Timeline::new(steps, Some(Duration::from_millis(20)));
        for (at, first, repeated, end) in [
            (0, (0, 'a'), (0, 'a'), 10),
            (9, (0, 'a'), (0, 'a'), 10),
            (10, (1, 'b'), (1, 'b'), 15),
            (19, (2, 'c'), (2, 'c'), 20),
            (20, (2, 'c'), (3, 'a'), 30),
            (55, (2, 'c'), (8, 'c'), 60),
        ] {
            for (timeline, (index, value)) in [(&once, first), (&again, repeated)] {
                assert_eq!(timeline.index(0, ms(at)), index, "at {at} ms");
                assert_eq!(timeline.get(index), Some(&value));
            }
            assert_eq!(again.end(repeated.0), ms(end));
        }
        assert_eq!((once.end(2), once.get(3)), (Time::NEVER, None));
    }
}
