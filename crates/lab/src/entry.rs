//! One entry of a table of results: a number with its unit, a count, or a text.
//!
//! Column names carry the unit as a suffix, such as `goodput_bps`. This file converts texts such as
//! `2Mbit/s` into numbers in these units. The texts are parameters of presets (see `preset/mod.rs`)
//! or values in a scenario.

use crate::preset::ParameterKind;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};

/// One entry of a table of results.
#[derive(Clone, Debug, PartialEq)]
pub enum TableEntry {
    /// A number, and its unit.
    Number(f64, EntryUnit),
    /// A count, which is written without a decimal point.
    Count(u64),
    /// A text that is not a number.
    Text(String),
    /// No value: the value is unknown or was not given.
    Missing,
}

/// The unit of the numbers in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryUnit {
    /// No unit: a fraction, a count, or a number of unknown kind.
    None,
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
}

impl EntryUnit {
    /// The suffix of a column name or JSON key with this unit (docs/flags.md).
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            EntryUnit::None => "",
            EntryUnit::BitsPerSecond => "_bps",
            EntryUnit::Seconds => "_s",
            EntryUnit::Bytes => "_bytes",
            EntryUnit::Packets => "_packets",
        }
    }
}

impl EntryUnit {
    /// The unit as it is shown to people. Empty for [`EntryUnit::None`].
    pub(crate) fn word(self) -> &'static str {
        match self {
            EntryUnit::None => "",
            EntryUnit::BitsPerSecond => "bit/s",
            EntryUnit::Seconds => "s",
            EntryUnit::Bytes => "bytes",
            EntryUnit::Packets => "packets",
        }
    }
}

impl TableEntry {
    /// The entry for the value `text` of a preset's parameter. The entry is a text when `text` does
    /// not parse as `kind`.
    pub fn of_parameter(kind: ParameterKind, text: &str) -> TableEntry {
        let number = match kind {
            ParameterKind::Rate => text.parse().ok().map(|rate: Rate| (rate.bps() as f64, EntryUnit::BitsPerSecond)),
            ParameterKind::Span => text.parse().ok().map(seconds),
            ParameterKind::Fraction => text.parse().ok().map(|share: Fraction| (share.get(), EntryUnit::None)),
            ParameterKind::Bytes => text.parse().ok().map(|size: Bytes| (size.get() as f64, EntryUnit::Bytes)),
            ParameterKind::Queue => text.parse().ok().map(|queue: QueueLimit| match queue {
                QueueLimit::Packets(packets) => (packets as f64, EntryUnit::Packets),
                QueueLimit::Bytes(bytes) => (bytes as f64, EntryUnit::Bytes),
            }),
            ParameterKind::Switch => None,
            ParameterKind::Other | ParameterKind::Count => bare(text),
        };
        number.map_or_else(|| TableEntry::Text(text.to_owned()), |(number, unit)| TableEntry::Number(number, unit))
    }

    /// The entry for a value of a scenario in JSON.
    ///
    /// The unit is read from the text, because a scenario always writes a quantity with its unit.
    pub fn of_json(value: &serde_json::Value) -> TableEntry {
        match value {
            serde_json::Value::Null => TableEntry::Missing,
            serde_json::Value::Number(number) => {
                number.as_f64().map_or(TableEntry::Missing, |number| TableEntry::Number(number, EntryUnit::None))
            }
            serde_json::Value::String(text) => {
                let number = text.starts_with(|c: char| c.is_ascii_digit()).then(|| {
                    bare(text)
                        .or_else(|| text.parse().ok().map(|share: Fraction| (share.get(), EntryUnit::None)))
                        .or_else(|| text.parse().ok().map(seconds))
                        .or_else(|| text.parse().ok().map(|size: Bytes| (size.get() as f64, EntryUnit::Bytes)))
                        .or_else(|| text.parse().ok().map(|rate: Rate| (rate.bps() as f64, EntryUnit::BitsPerSecond)))
                });
                match number.flatten() {
                    Some((number, unit)) => TableEntry::Number(number, unit),
                    None => TableEntry::Text(text.clone()),
                }
            }
            other => TableEntry::Text(other.to_string()),
        }
    }

    /// The number, in its unit. `None` for texts and for missing values.
    pub fn number(&self) -> Option<f64> {
        match self {
            TableEntry::Number(number, _) => Some(*number),
            TableEntry::Count(count) => Some(*count as f64),
            TableEntry::Text(_) | TableEntry::Missing => None,
        }
    }

    /// The text of this entry in a CSV file, before quotes are added.
    pub fn text(&self) -> String {
        match self {
            // `Display` of `f64` gives the shortest text that reads back to the same number.
            TableEntry::Number(number, _) => format!("{number}"),
            TableEntry::Count(count) => count.to_string(),
            TableEntry::Text(text) => text.clone(),
            TableEntry::Missing => String::new(),
        }
    }
}

/// A finite number without a unit.
fn bare(text: &str) -> Option<(f64, EntryUnit)> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(|number| (number, EntryUnit::None))
}

fn seconds(span: Span) -> (f64, EntryUnit) {
    // The whole number of nanoseconds is exact, so the quotient is correctly rounded.
    (span.duration().as_nanos() as f64 / 1e9, EntryUnit::Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_become_numbers_in_the_unit_of_their_kind() {
        for (kind, text, want) in [
            (ParameterKind::Rate, "2Mbit/s", TableEntry::Number(2e6, EntryUnit::BitsPerSecond)),
            (ParameterKind::Span, "0.1", TableEntry::Number(0.1, EntryUnit::Seconds)),
            (ParameterKind::Span, "560ms", TableEntry::Number(0.56, EntryUnit::Seconds)),
            (ParameterKind::Fraction, "1.5%", TableEntry::Number(0.015, EntryUnit::None)),
            (ParameterKind::Queue, "200", TableEntry::Number(200.0, EntryUnit::Packets)),
            (ParameterKind::Queue, "3kB", TableEntry::Number(3000.0, EntryUnit::Bytes)),
            (ParameterKind::Other, "1.13", TableEntry::Number(1.13, EntryUnit::None)),
            (ParameterKind::Other, "auto", TableEntry::Text("auto".into())),
            (ParameterKind::Switch, "true", TableEntry::Text("true".into())),
            (ParameterKind::Span, "0s,350s", TableEntry::Text("0s,350s".into())),
        ] {
            assert_eq!(TableEntry::of_parameter(kind, text), want, "{text}");
        }
        for (text, want) in [
            ("\"100ms\"", TableEntry::Number(0.1, EntryUnit::Seconds)),
            ("\"2Mbit/s\"", TableEntry::Number(2e6, EntryUnit::BitsPerSecond)),
            ("\"1.5%\"", TableEntry::Number(0.015, EntryUnit::None)),
            ("\"1kB\"", TableEntry::Number(1000.0, EntryUnit::Bytes)),
            ("\"200\"", TableEntry::Number(200.0, EntryUnit::None)),
            ("3", TableEntry::Number(3.0, EntryUnit::None)),
            ("\"newreno\"", TableEntry::Text("newreno".into())),
            ("null", TableEntry::Missing),
        ] {
            assert_eq!(TableEntry::of_json(&serde_json::from_str(text).unwrap()), want, "{text}");
        }
    }
}
