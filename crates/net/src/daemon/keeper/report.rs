//! The log lines about what was restored.

use super::restore::Restored;
use std::time::Duration;

/// The least time between two lines, 10 s. A device that another program changes again and again causes at most six lines
/// a minute. With double the value, the lines say less about when something has happened.
const INTERVAL: Duration = Duration::from_secs(10);

/// What was restored since the last line.
#[derive(Debug, Default)]
pub(super) struct Report {
    times: u64,
    brought_up: u64,
    mtu: u64,
    addresses: u64,
    routes: u64,
    recreated: u64,
    /// The earliest time of the next line.
    next: Duration,
}

impl Report {
    pub(super) fn add(&mut self, restored: Restored) {
        self.times += 1;
        self.brought_up += u64::from(restored.brought_up);
        self.mtu += u64::from(restored.mtu);
        self.addresses += restored.addresses;
        self.routes += restored.routes;
    }

    pub(super) fn add_recreated(&mut self) {
        self.times += 1;
        self.recreated += 1;
    }

    /// When the next line is due; None: there is nothing to report.
    pub(super) fn due(&self) -> Option<Duration> {
        (self.times > 0).then_some(self.next)
    }

    /// Logs what was restored, if a line is due.
    pub(super) fn flush(&mut self, now: Duration) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        tracing::warn!(times = self.times, "another program has changed the device; restored: {}", self.words());
        *self = Report { next: now + INTERVAL, ..Report::default() };
    }

    fn words(&self) -> String {
        let counted = [
            (self.recreated, "device", "devices"),
            (self.brought_up, "state \"up\"", "states \"up\""),
            (self.mtu, "MTU", "MTUs"),
            (self.addresses, "address", "addresses"),
            (self.routes, "route", "routes"),
        ];
        let words: Vec<String> = counted
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
            .collect();
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_and_nothing_is_lost() {
        let mut report = Report::default();
        assert_eq!(report.due(), None);
        report.add(Restored { brought_up: true, mtu: false, addresses: 2, routes: 1 });
        assert_eq!(report.words(), "1 state \"up\", 2 addresses, 1 route");
        let start = Duration::from_secs(100);
        report.flush(start);
        assert_eq!(report.due(), None);
        report.add(Restored { routes: 3, ..Restored::default() });
        report.add_recreated();
        report.flush(start + INTERVAL / 2);
        assert_eq!((report.due(), report.words()), (Some(start + INTERVAL), "1 device, 3 routes".to_owned()));
        report.flush(start + INTERVAL);
        assert_eq!(report.due(), None);
    }
}
