//! The log lines about what was restored.

use super::restore::Restored;
use ipnet::IpNet;
use std::time::Duration;

/// The least time between two lines, 10 s. A device that another program changes again and again causes at most six lines
/// a minute. With double the value, the lines say less about when something has happened.
const INTERVAL: Duration = Duration::from_secs(10);

/// The largest number of addresses, and of routes, that a line names. Half the value still names what a person has changed
/// by hand. With double the value, a line may have 600 characters.
const NAMED: usize = 4;

/// What was restored since the last line.
#[derive(Debug, Default)]
pub(super) struct Report {
    times: u64,
    brought_up: u64,
    mtu: u64,
    addresses: Named,
    routes: Named,
    recreated: u64,
    /// The earliest time of the next line.
    next: Duration,
}

/// Addresses or prefixes of routes: the number of all, and the first of them.
#[derive(Debug, Default)]
struct Named {
    count: u64,
    first: Vec<IpNet>,
}

impl Named {
    fn add(&mut self, nets: Vec<IpNet>) {
        self.count += nets.len() as u64;
        for net in nets {
            if self.first.len() < NAMED && !self.first.contains(&net) {
                self.first.push(net);
            }
        }
    }

    fn words(&self) -> String {
        let first: Vec<String> = self.first.iter().map(ToString::to_string).collect();
        let more = if self.count > first.len() as u64 { " ..." } else { "" };
        if first.is_empty() { String::new() } else { format!(" ({}{more})", first.join(" ")) }
    }
}

impl Report {
    pub(super) fn add(&mut self, restored: Restored) {
        self.times += 1;
        self.brought_up += u64::from(restored.brought_up);
        self.mtu += u64::from(restored.mtu);
        self.addresses.add(restored.addresses);
        self.routes.add(restored.routes);
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
        tracing::warn!(
            times = self.times,
            "another program has changed the device or its routes; restored: {}",
            self.words()
        );
        *self = Report { next: now + INTERVAL, ..Report::default() };
    }

    fn words(&self) -> String {
        let counted = [
            (self.recreated, "device", "devices", String::new()),
            (self.brought_up, "state \"up\"", "states \"up\"", String::new()),
            (self.mtu, "MTU", "MTUs", String::new()),
            (self.addresses.count, "address", "addresses", self.addresses.words()),
            (self.routes.count, "route", "routes", self.routes.words()),
        ];
        let counted = counted.into_iter().filter(|(count, ..)| *count > 0);
        let words =
            counted.map(|(count, one, many, names)| format!("{count} {}{names}", if count == 1 { one } else { many }));
        let words: Vec<String> = words.collect();
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn lines_are_limited_and_nothing_is_lost() {
        let mut report = Report::default();
        assert_eq!(report.due(), None);
        let addresses = nets(&["10.77.0.1/24", "fd77::1/64"]);
        report.add(Restored { brought_up: true, mtu: false, addresses, routes: nets(&["10.9.0.0/16"]) });
        assert_eq!(report.words(), "1 state \"up\", 2 addresses (10.77.0.1/24 fd77::1/64), 1 route (10.9.0.0/16)");
        let start = Duration::from_secs(100);
        report.flush(start);
        assert_eq!(report.due(), None);
        let routes = nets(&["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16", "10.5.0.0/16"]);
        report.add(Restored { routes, ..Restored::default() });
        report.add_recreated();
        report.flush(start + INTERVAL / 2);
        let words = "1 device, 5 routes (10.1.0.0/16 10.2.0.0/16 10.3.0.0/16 10.4.0.0/16 ...)";
        assert_eq!((report.due(), &*report.words()), (Some(start + INTERVAL), words));
        report.flush(start + INTERVAL);
        assert_eq!(report.due(), None);
    }
}
