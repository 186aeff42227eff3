//! The maximum over a sliding window, in constant amortised time per value.
//!
//! The rate controllers use this maximum to estimate the path's rate. From negated delays they get
//! the least delay.

use std::collections::VecDeque;

/// The largest value offered within the last `span` units of a clock that never goes back. The
/// newest value counts until the next value is offered, even if it is older than `span`.
///
/// The unit is the caller's choice, such as rounds or nanoseconds. For the smallest value, offer
/// negated values.
#[derive(Clone, Debug)]
pub struct WindowedMax {
    span: u64,
    /// The times and values that may still become the maximum: ascending in time, descending in
    /// value.
    candidates: VecDeque<(u64, f64)>,
}

impl WindowedMax {
    /// Creates an empty window of `span` units.
    pub fn new(span: u64) -> WindowedMax {
        WindowedMax { span, candidates: VecDeque::new() }
    }

    /// Takes `value` at the time `at`, and returns the maximum over the window that ends at `at`.
    pub fn offer(&mut self, at: u64, value: f64) -> f64 {
        while self.candidates.back().is_some_and(|(_, v)| *v <= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((at, value));
        self.expire(at);
        self.candidates[0].1
    }

    /// Removes values older than the window that ends at `at`. The newest value always stays.
    pub fn expire(&mut self, at: u64) {
        while self.candidates.len() > 1 && self.candidates[0].0.saturating_add(self.span) < at {
            self.candidates.pop_front();
        }
    }

    /// The maximum. `None`: no value was offered.
    pub fn get(&self) -> Option<f64> {
        self.candidates.front().map(|(_, v)| *v)
    }

    /// Forgets all values, and takes `value` as if it were offered at `at`.
    pub fn reset(&mut self, at: u64, value: f64) {
        self.candidates.clear();
        self.candidates.push_back((at, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn agrees_with_a_search_of_the_window() {
        let mut random = Seed::new(1).stream("windowed max");
        let mut filter = WindowedMax::new(10);
        let mut all: Vec<(u64, f64)> = Vec::new();
        let mut at = 0;
        for _ in 0..2_000 {
            at += random.below(4);
            let value = random.unit();
            all.push((at, value));
            let expected = all.iter().filter(|(t, _)| t + 10 >= at).map(|(_, v)| *v).fold(0.0, f64::max);
            assert_eq!(filter.offer(at, value), expected);
        }
        filter.reset(at, 0.25);
        assert_eq!(filter.get(), Some(0.25));
    }
}
