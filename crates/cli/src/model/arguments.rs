//! Functions for the flags of all models. Some functions parse numbers, times, powers and distances.
//! Others turn a model's error about an argument into a message that names the flag.

use crate::failure::{Failure, Outcome};
use ripstop_model::domain::DomainError;

/// Pairs of an argument's name and the flag that sets the argument. The name is spelled as in the model's errors.
pub(crate) type Named = &'static [(&'static str, &'static str)];

/// The failure for an argument that a model refused. The message names the flag that set the argument.
pub(super) fn refused(error: DomainError, named: Named) -> Failure {
    match named.iter().find(|(what, _)| *what == error.what) {
        Some((_, flag)) => Failure::flag(flag, error),
        None => Failure::Usage(error.to_string()),
    }
}

/// Returns a model's result. If the model refused an argument, returns a failure that names the flag.
pub(crate) fn answer<T>(result: Result<T, DomainError>, named: Named) -> Outcome<T> {
    result.map_err(|error| refused(error, named))
}

/// Parses a number without a unit, such as a window in packets. The models check the range of the number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a finite number; write for example `50` or `1.13`"))
}

/// Parses a whole number.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a whole number from 0 to {}; write for example `50`", u32::MAX))
}

/// A duration: a number of seconds, or infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Length {
    Seconds(f64),
    Infinite,
}

/// Parses a time, or `inf`.
pub(super) fn length(text: &str) -> Result<Length, String> {
    if matches!(text.trim(), "inf" | "infinite") {
        return Ok(Length::Infinite);
    }
    let span = text.parse::<ripstop_base::Span>().map_err(|error| format!("{error}, or `inf`"))?;
    Ok(Length::Seconds(span.duration().as_secs_f64()))
}

/// Parses a power such as `2.5kW`, and returns watts.
pub(super) fn watts(text: &str) -> Result<f64, String> {
    scaled(text, "W").ok_or_else(|| format!("`{text}` is not a power; write for example `2.5kW` or `2500` (W)"))
}

/// Parses a distance such as `200m` or `1.2km`, and returns metres.
pub(super) fn metres(text: &str) -> Result<f64, String> {
    scaled(text, "m")
        .ok_or_else(|| format!("`{text}` is not a distance; write for example `200m`, `1.2km` or `200` (m)"))
}

/// Parses a number, optionally followed by `unit` with a decimal prefix.
fn scaled(text: &str, unit: &str) -> Option<f64> {
    let text = text.trim();
    let (number, scale) = match text.strip_suffix(unit) {
        None => (text, 1.0),
        Some(front) => match front.strip_suffix(['k', 'M']) {
            Some(number) => (number, if front.ends_with('k') { 1e3 } else { 1e6 }),
            None => (front, 1.0),
        },
    };
    let value = number.trim().parse::<f64>().ok()? * scale;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        assert_eq!([number("50"), number("1.13"), number("1e3")], [Ok(50.0), Ok(1.13), Ok(1000.0)]);
        assert_eq!([watts("2.5kW"), watts("2500"), watts("3 MW")], [Ok(2500.0), Ok(2500.0), Ok(3e6)]);
        assert_eq!([metres("200m"), metres("1.2km"), metres("80")], [Ok(200.0), Ok(1200.0), Ok(80.0)]);
        assert_eq!([length("inf"), length("10s")], [Ok(Length::Infinite), Ok(Length::Seconds(10.0))]);
        assert_eq!(count("7"), Ok(7));
        for wrong in ["", "x", "inf", "NaN", "5 W", "5 kg"] {
            assert!(number(wrong).is_err() && metres(wrong).is_err() && count(wrong).is_err(), "{wrong}");
        }
        assert!(watts("2.5 k").is_err() && watts("kW").is_err() && length("x").unwrap_err().contains("`inf`"));
    }
}
