//! Quantities as people write them in files and on the command line: `20Mbit/s`, `100ms`, `5%`,
//! `1000B` or `3.2MB`. Prefixes are decimal. A rate without a unit is in bit/s, a time in seconds,
//! a size in bytes, a distance in metres and a queue in packets. A share without `%` is a fraction
//! of 1.

use crate::written::text_or_number;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A text could not be read as a quantity. The message says what was written, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not {wanted}; write for example {example}")]
pub struct QuantityError {
    /// The text that was written.
    pub written: String,
    /// The kind of quantity that is expected.
    pub wanted: &'static str,
    /// Examples of valid texts.
    pub example: &'static str,
}

/// Splits `5.5Mbit/s` into (5.5, `Mbit/s`). None if the text does not begin with a finite,
/// non-negative number.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // An `e` is part of the number only in texts such as `1e6`; otherwise it begins the unit.
    let mut end = 0;
    let bytes = text.as_bytes();
    while end < bytes.len() {
        let digit = bytes[end].is_ascii_digit() || bytes[end] == b'.';
        let exponent = matches!(bytes[end], b'e' | b'E')
            && end > 0
            && bytes.get(end + 1).is_some_and(|b| b.is_ascii_digit() || *b == b'-');
        let sign = bytes[end] == b'-' && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
        if !(digit || exponent || sign) {
            break;
        }
        end += 1;
    }
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

/// The factor of the unit's decimal prefix (`k` or `K`, `M`, `G` or none) and the rest of the unit.
fn prefix(unit: &str) -> (f64, &str) {
    match unit.as_bytes().first() {
        Some(b'k' | b'K') => (1e3, &unit[1..]),
        Some(b'M') => (1e6, &unit[1..]),
        Some(b'G') => (1e9, &unit[1..]),
        _ => (1.0, unit),
    }
}

/// Makes a quantity readable and writable in files. `$wanted` and `$example` describe the quantity
/// in error messages.
macro_rules! text_forms {
    ($name:ident, $wanted:literal, $example:literal) => {
        impl $name {
            fn wrong(written: &str) -> QuantityError {
                QuantityError { written: written.trim().to_owned(), wanted: $wanted, example: $example }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                text_or_number(from, &concat!($wanted, ", for example ", $example), str::parse)
            }
        }
    };
}

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

text_forms!(Rate, "a rate", "`20Mbit/s`, `512kbit/s` or `2000000` (bit/s)");

impl Rate {
    /// A rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// The rate in bit/s.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// The time that `bytes` bytes take at this rate, rounded to the nearest nanosecond. Rate zero
    /// means "unlimited" wherever a rate is optional. At rate zero the time is therefore zero.
    pub fn time_for(self, bytes: usize) -> Duration {
        if self.0 == 0 {
            return Duration::ZERO;
        }
        let bit_nanos = bytes as u128 * 8_000_000_000;
        let rate = u128::from(self.0);
        Duration::from_nanos(u64::try_from((bit_nanos + rate / 2) / rate).unwrap_or(u64::MAX))
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Rate, QuantityError> {
        let (number, unit) = split(s).ok_or_else(|| Rate::wrong(s))?;
        let (scale, rest) = prefix(unit);
        let bits = match rest {
            "bit/s" | "bit" | "bps" | "b/s" => 1.0,
            "B/s" | "Bps" => 8.0,
            "" if unit.is_empty() => 1.0,
            _ => return Err(Rate::wrong(s)),
        };
        let bps = number * scale * bits;
        if bps > 1e15 { Err(Rate::wrong(s)) } else { Ok(Rate(bps.round() as u64)) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0;
        let (scale, unit) = match bps {
            1_000_000_000.. => (1e9, "Gbit/s"),
            1_000_000.. => (1e6, "Mbit/s"),
            1_000.. => (1e3, "kbit/s"),
            _ => (1.0, "bit/s"),
        };
        write!(f, "{}{unit}", bps as f64 / scale)
    }
}

/// A span of time, written `100ms`, `1.5s`, `20us` or `2min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

text_forms!(Span, "a time", "`100ms`, `1.5s`, `20us` or `0.1` (s)");

impl Span {
    /// The span as a [`Duration`].
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl From<Duration> for Span {
    fn from(span: Duration) -> Span {
        Span(span)
    }
}

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Span, QuantityError> {
        let (number, unit) = split(s).ok_or_else(|| Span::wrong(s))?;
        let nanos = number
            * match unit {
                "s" | "" => 1e9,
                "ms" => 1e6,
                "us" | "µs" => 1e3,
                "ns" => 1.0,
                "min" => 60e9,
                "h" => 3600e9,
                _ => return Err(Span::wrong(s)),
            };
        // The limit is about 32 years. A longer span must be a typing error. More than 584 years do
        // not fit into 64-bit nanoseconds.
        if nanos > 1e18 { Err(Span::wrong(s)) } else { Ok(Span(Duration::from_nanos(nanos.round() as u64))) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos() as f64;
        let (scale, unit) = match nanos {
            n if n >= 1e9 || n == 0.0 => (1e9, "s"),
            n if n >= 1e6 => (1e6, "ms"),
            n if n >= 1e3 => (1e3, "us"),
            _ => (1.0, "ns"),
        };
        write!(f, "{}{unit}", nanos / scale)
    }
}

/// A share of a whole between 0 and 1: `5%` or `0.05`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Fraction(f64);

text_forms!(Fraction, "a share between 0 and 1", "`5%` or `0.05`");

impl Fraction {
    /// The share 0.
    pub const ZERO: Fraction = Fraction(0.0);

    /// The share `value`; None for NaN and outside [0, 1].
    pub fn new(value: f64) -> Option<Fraction> {
        (0.0..=1.0).contains(&value).then_some(Fraction(value))
    }

    /// The share as a number in [0, 1].
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Fraction {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Fraction, QuantityError> {
        let (number, unit) = split(s).ok_or_else(|| Fraction::wrong(s))?;
        let value = match unit {
            // Divides by 100 in the decimal text, not in binary. `23.38%` therefore gives exactly
            // the same number as `0.2338`.
            "%" => {
                let digits = s.trim().trim_end_matches('%').trim_end();
                format!("{digits}e-2").parse().unwrap_or(number / 100.0)
            }
            "" => number,
            _ => return Err(Fraction::wrong(s)),
        };
        Fraction::new(value).ok_or_else(|| Fraction::wrong(s))
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Percent, rounded to nine decimals. Without the rounding, 0.07 would be written as
        // 7.000000000000001%. The rounded percentage is exact for all values that people write. If
        // parsing the text gives another number, the fraction is written without `%` instead.
        let text = format!("{}%", (self.0 * 1e11).round() / 1e9);
        match text.parse::<Fraction>() {
            Ok(same) if same == *self => f.write_str(&text),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// A number of bytes with decimal prefixes: `1000B`, `3.2MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(u64);

text_forms!(Bytes, "a size", "`1000B`, `300kB`, `3.2MB` or `1500` (bytes)");

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Bytes, QuantityError> {
        let (number, unit) = split(s).ok_or_else(|| Bytes::wrong(s))?;
        let (scale, rest) = prefix(unit);
        let bytes = match rest {
            "B" => number * scale,
            "" if unit.is_empty() => number,
            _ => return Err(Bytes::wrong(s)),
        };
        if bytes > 1e18 { Err(Bytes::wrong(s)) } else { Ok(Bytes(bytes.round() as u64)) }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        let (scale, unit) = match n {
            1_000_000_000.. => (1e9, "GB"),
            1_000_000.. => (1e6, "MB"),
            1_000.. => (1e3, "kB"),
            _ => (1.0, "B"),
        };
        write!(f, "{}{unit}", n as f64 / scale)
    }
}

/// A distance, written `200m` or `1.5km`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Distance(f64);

text_forms!(Distance, "a distance", "`200m`, `1.5km` or `200` (m)");

impl Distance {
    /// A distance of `meters` metres. Negative numbers and NaN give 0.
    pub fn from_meters(meters: f64) -> Distance {
        Distance(meters.max(0.0))
    }

    /// The distance in metres.
    pub const fn meters(self) -> f64 {
        self.0
    }
}

impl FromStr for Distance {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<Distance, QuantityError> {
        let (number, unit) = split(s).ok_or_else(|| Distance::wrong(s))?;
        let meters = match unit {
            "m" | "" => number,
            "km" => number * 1e3,
            _ => return Err(Distance::wrong(s)),
        };
        // The limit is above any distance on Earth.
        if meters > 1e8 { Err(Distance::wrong(s)) } else { Ok(Distance(meters)) }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m", self.0)
    }
}

/// The capacity of a queue: `200` (packets) or `300kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

text_forms!(QueueLimit, "a queue length", "`200` (packets) or `300kB`");

impl FromStr for QueueLimit {
    type Err = QuantityError;
    fn from_str(s: &str) -> Result<QueueLimit, QuantityError> {
        if let Ok(packets) = s.trim().parse::<u64>() {
            return Ok(QueueLimit::Packets(packets));
        }
        match s.parse::<Bytes>() {
            Ok(bytes) if s.contains('B') => Ok(QueueLimit::Bytes(bytes.get())),
            _ => Err(QueueLimit::wrong(s)),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Packets(n) => write!(f, "{n}"),
            QueueLimit::Bytes(n) => write!(f, "{}", Bytes(*n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("20Mbit/s".parse(), Ok(Rate(20_000_000)));
        assert_eq!(" 1.5 Mbit/s ".parse(), Ok(Rate(1_500_000)));
        assert_eq!("2e6".parse(), Ok(Rate(2_000_000)));
        assert_eq!("1kB/s".parse(), Ok(Rate(8_000)));
        assert_eq!("100ms".parse(), Ok(Span(Duration::from_millis(100))));
        assert_eq!("0.1".parse(), Ok(Span(Duration::from_millis(100))));
        assert_eq!("2min".parse(), Ok(Span(Duration::from_secs(120))));
        assert_eq!("5%".parse(), Ok(Fraction(0.05)));
        assert_eq!("0.05".parse(), Ok(Fraction(0.05)));
        assert_eq!("3.2MB".parse(), Ok(Bytes(3_200_000)));
        assert_eq!("200".parse(), Ok(QueueLimit::Packets(200)));
        assert_eq!("300kB".parse(), Ok(QueueLimit::Bytes(300_000)));
    }

    #[test]
    fn errors_show_a_valid_example() {
        for bad in ["", "fast", "-1Mbit/s", "20 furlongs", "20M", "1e300Gbit/s", "inf", "NaN"] {
            let error = bad.parse::<Rate>().unwrap_err();
            assert!(error.to_string().contains("20Mbit/s"), "{error}");
        }
        for bad in ["101%", "1.5", "-5%", "5 percent", ""] {
            assert!(bad.parse::<Fraction>().is_err(), "{bad}");
        }
        for bad in ["1.5", "10ms", "-3"] {
            assert!(bad.parse::<QueueLimit>().is_err(), "{bad}");
        }
        assert!("1e30s".parse::<Span>().is_err());
    }

    #[test]
    fn configuration_takes_text_and_numbers() {
        assert_eq!(serde_json::from_str::<Rate>("\"20Mbit/s\"").unwrap(), Rate(20_000_000));
        assert_eq!(serde_json::from_str::<Rate>("2000000").unwrap(), Rate(2_000_000));
        assert_eq!(serde_json::from_str::<Span>("0.25").unwrap(), Span(Duration::from_millis(250)));
        let error = serde_json::from_str::<Fraction>("\"7 %%\"").unwrap_err().to_string();
        assert!(error.contains("`5%`"), "{error}");
    }

    #[test]
    fn time_for_rounds_to_the_nanosecond() {
        assert_eq!(Rate(20_000_000).time_for(1500), Duration::from_micros(600));
        assert_eq!(Rate(3).time_for(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(Rate(0).time_for(1500), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn printed_quantities_read_back(bps in 0u64..1_000_000_000_000, nanos in 0u64..1_000_000_000_000, parts in 0u32..=10_000, any in 0.0f64..=1.0) {
            prop_assert_eq!(Rate(bps).to_string().parse(), Ok(Rate(bps)));
            prop_assert_eq!(Bytes(bps).to_string().parse(), Ok(Bytes(bps)));
            let span = Span(Duration::from_nanos(nanos));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            for share in [Fraction(f64::from(parts) / 1e4), Fraction(any)] {
                prop_assert_eq!(share.to_string().parse(), Ok(share));
            }
            prop_assert!(Fraction(f64::from(parts) / 1e4).to_string().ends_with('%'));
        }

        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Span>();
            let _ = text.parse::<Fraction>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<QueueLimit>();
        }
    }
}
