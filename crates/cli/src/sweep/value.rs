//! One entry of the table of results: a number in the unit that its column names, or a text.

use crate::sim::FlagKind;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// In this unit.
    Number(f64, Unit),
    /// A count, which is written without a decimal point.
    Count(u64),
    Text(String),
    /// Nothing is known, or nothing was said.
    Missing,
}

/// What stands behind the name of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    None,
    BitsPerSecond,
    Seconds,
    Bytes,
    Packets,
}

impl Unit {
    /// As docs/flags.md says.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::BitsPerSecond => "_bps",
            Unit::Seconds => "_s",
            Unit::Bytes => "_bytes",
            Unit::Packets => "_packets",
        }
    }
}

impl Entry {
    /// The value of a flag that takes values of a kind; a text when it is not of that kind.
    pub(super) fn of_flag(kind: FlagKind, text: &str) -> Entry {
        let number = match kind {
            FlagKind::Rate => text.parse().ok().map(|rate: Rate| (rate.bps() as f64, Unit::BitsPerSecond)),
            FlagKind::Span => text.parse().ok().map(seconds),
            FlagKind::Fraction => text.parse().ok().map(|share: Fraction| (share.get(), Unit::None)),
            FlagKind::Bytes => text.parse().ok().map(|size: Bytes| (size.get() as f64, Unit::Bytes)),
            FlagKind::Queue => text.parse().ok().map(|queue: QueueLimit| match queue {
                QueueLimit::Packets(packets) => (packets as f64, Unit::Packets),
                QueueLimit::Bytes(bytes) => (bytes as f64, Unit::Bytes),
            }),
            FlagKind::Switch => None,
            FlagKind::Other => bare(text),
        };
        number.map_or_else(|| Entry::Text(text.to_owned()), |(number, unit)| Entry::Number(number, unit))
    }

    /// What stands in a scenario, where quantities always have their unit.
    pub(super) fn of_json(value: &serde_json::Value) -> Entry {
        match value {
            serde_json::Value::Null => Entry::Missing,
            serde_json::Value::Number(number) => {
                number.as_f64().map_or(Entry::Missing, |number| Entry::Number(number, Unit::None))
            }
            serde_json::Value::String(text) => {
                let number = text.starts_with(|c: char| c.is_ascii_digit()).then(|| {
                    bare(text)
                        .or_else(|| text.parse().ok().map(|share: Fraction| (share.get(), Unit::None)))
                        .or_else(|| text.parse().ok().map(seconds))
                        .or_else(|| text.parse().ok().map(|size: Bytes| (size.get() as f64, Unit::Bytes)))
                        .or_else(|| {
                            text.parse().ok().map(|rate: Rate| (rate.bps() as f64, Unit::BitsPerSecond))
                        })
                });
                match number.flatten() {
                    Some((number, unit)) => Entry::Number(number, unit),
                    None => Entry::Text(text.clone()),
                }
            }
            other => Entry::Text(other.to_string()),
        }
    }

    /// As it stands in a CSV file, without quotes.
    pub(super) fn text(&self) -> String {
        match self {
            // The shortest text that reads back to the same number.
            Entry::Number(number, _) => format!("{number}"),
            Entry::Count(count) => count.to_string(),
            Entry::Text(text) => text.clone(),
            Entry::Missing => String::new(),
        }
    }
}

fn bare(text: &str) -> Option<(f64, Unit)> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(|number| (number, Unit::None))
}

fn seconds(span: Span) -> (f64, Unit) {
    // Nanoseconds are exact, and so is what 1e9 divides correctly rounded.
    (span.duration().as_nanos() as f64 / 1e9, Unit::Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_become_numbers_in_the_unit_of_their_kind() {
        for (kind, text, want) in [
            (FlagKind::Rate, "2Mbit/s", Entry::Number(2e6, Unit::BitsPerSecond)),
            (FlagKind::Span, "0.1", Entry::Number(0.1, Unit::Seconds)),
            (FlagKind::Span, "560ms", Entry::Number(0.56, Unit::Seconds)),
            (FlagKind::Fraction, "1.5%", Entry::Number(0.015, Unit::None)),
            (FlagKind::Queue, "200", Entry::Number(200.0, Unit::Packets)),
            (FlagKind::Queue, "3kB", Entry::Number(3000.0, Unit::Bytes)),
            (FlagKind::Other, "1.13", Entry::Number(1.13, Unit::None)),
            (FlagKind::Other, "auto", Entry::Text("auto".into())),
            (FlagKind::Switch, "true", Entry::Text("true".into())),
            (FlagKind::Span, "0s,350s", Entry::Text("0s,350s".into())),
        ] {
            assert_eq!(Entry::of_flag(kind, text), want, "{text}");
        }
        for (text, want) in [
            ("\"100ms\"", Entry::Number(0.1, Unit::Seconds)),
            ("\"2Mbit/s\"", Entry::Number(2e6, Unit::BitsPerSecond)),
            ("\"1.5%\"", Entry::Number(0.015, Unit::None)),
            ("\"1kB\"", Entry::Number(1000.0, Unit::Bytes)),
            ("\"200\"", Entry::Number(200.0, Unit::None)),
            ("3", Entry::Number(3.0, Unit::None)),
            ("\"newreno\"", Entry::Text("newreno".into())),
            ("null", Entry::Missing),
        ] {
            assert_eq!(Entry::of_json(&serde_json::from_str(text).unwrap()), want, "{text}");
        }
    }
}
