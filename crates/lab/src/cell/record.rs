//! Records the window of the first flow, and the number of lost packets, during one run.
//!
//! The first run of a traced cell is recorded this way (see `mod.rs`).

use ripstop_base::Time;
use ripstop_link::Fate;
use ripstop_sim::scenario::Scenario;
use ripstop_sim::world::{Happening, Observer};
use serde_json::{Value, json};

/// Observes a run. Records the first flow's window and the number of lost packets.
pub(crate) struct RunRecorder {
    /// The receiver's window of the first flow, packets. No recorded window is larger.
    most: f64,
    /// The time of each change of the window, seconds, and the new window, packets.
    window: Vec<(f64, f64)>,
    /// The number of packets and acknowledgements that links have lost.
    lost: u64,
}

impl Observer for RunRecorder {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        match happening {
            Happening::Offered { fate: Some(Fate::Lost { .. }), .. }
            | Happening::Decided { fate: Fate::Lost { .. }, .. } => self.lost += 1,
            Happening::Window { flow: 0, cwnd, .. } => {
                let cwnd = cwnd.min(self.most);
                if self.window.last().is_none_or(|(_, before)| *before != cwnd) {
                    self.window.push((now.as_secs_f64(), cwnd));
                }
            }
            _ => {}
        }
    }
}

impl RunRecorder {
    /// A recorder for one run of `scenario`.
    pub(crate) fn new(scenario: &Scenario) -> RunRecorder {
        let most = scenario.flow.first().map_or(f64::INFINITY, |flow| f64::from(flow.window));
        RunRecorder { most, window: Vec::new(), lost: 0 }
    }

    /// The record as JSON.
    ///
    /// - `window`: pairs of time, seconds, and new window, packets, one for each change. The window
    ///   is the smaller of the congestion window and the receiver's window.
    /// - `falls`: the number of times that the window shrank.
    /// - `window_before`: the window before it first shrank, or the largest window if the window
    ///   never shrank.
    /// - `window_least`, `window_most`: the smallest and largest window after it first shrank.
    /// - `lost`: the number of packets and acknowledgements that links have lost.
    pub(crate) fn summary(&self) -> Value {
        let windows: Vec<f64> = self.window.iter().map(|(_, window)| *window).collect();
        let shrinks = |k: &usize| windows[k + 1] < windows[*k];
        let falls: Vec<usize> = (0..windows.len().saturating_sub(1)).filter(shrinks).collect();
        let largest = || windows.iter().copied().fold(0.0, f64::max);
        let after = &windows[falls.first().map_or(0, |k| k + 1)..];
        json!({
            "window": self.window,
            "falls": falls.len(),
            "window_before": falls.first().map_or_else(largest, |k| windows[*k]),
            "window_least": after.iter().copied().fold(f64::INFINITY, f64::min),
            "window_most": after.iter().copied().fold(0.0, f64::max),
            "lost": self.lost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_are_counted_and_what_is_around_the_first() {
        let window = [2.0, 8.0, 4.0, 5.0, 1.0, 6.0].iter().enumerate().map(|(k, w)| (k as f64, *w)).collect();
        let summary = RunRecorder { most: 50.0, window, lost: 3 }.summary();
        let numbers = ["falls", "window_before", "window_least", "window_most", "lost"];
        assert_eq!(numbers.map(|name| summary[name].as_f64()), [2.0, 8.0, 1.0, 6.0, 3.0].map(Some));
    }
}
