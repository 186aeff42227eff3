//! A quantity that is fixed, or drawn from an exponential distribution.

use ripstop_base::Stream;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A quantity that is the same each time, or exponentially distributed with a mean. Scenario files write `2s` for a
/// fixed value, and `exp:2s` for a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution<T> {
    /// The same each time.
    Fixed(T),
    /// Exponentially distributed, with this mean.
    Exponential(T),
}

/// How long something lasts.
pub type Period = Distribution<Duration>;

impl<T> Distribution<T> {
    /// The mean.
    pub fn mean(&self) -> &T {
        match self {
            Distribution::Fixed(mean) | Distribution::Exponential(mean) => mean,
        }
    }

    /// The same kind of distribution, with `convert` applied to its value or mean.
    pub(crate) fn map<U>(self, convert: impl FnOnce(T) -> U) -> Distribution<U> {
        match self {
            Distribution::Fixed(value) => Distribution::Fixed(convert(value)),
            Distribution::Exponential(mean) => Distribution::Exponential(convert(mean)),
        }
    }
}

impl Period {
    /// Draws a period.
    pub fn draw(self, random: &mut Stream) -> Duration {
        match self {
            Period::Fixed(span) => span,
            Period::Exponential(mean) => {
                let span = random.exponential(mean.as_secs_f64());
                Duration::try_from_secs_f64(span).unwrap_or(Duration::MAX)
            }
        }
    }
}

impl Distribution<u64> {
    /// Draws a number of bytes. An exponentially distributed number is at least 1.
    pub(super) fn draw_bytes(self, random: &mut Stream) -> u64 {
        match self {
            Distribution::Fixed(bytes) => bytes,
            Distribution::Exponential(mean) => (random.exponential(mean as f64) as u64).max(1),
        }
    }
}

impl<T: FromStr<Err: fmt::Display>> FromStr for Distribution<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Distribution<T>, String> {
        let wrong = |error: T::Err| {
            format!("{error}; `exp:` before the value makes it the mean of an exponential distribution")
        };
        match text.strip_prefix("exp:") {
            Some(mean) => mean.parse().map(Distribution::Exponential).map_err(wrong),
            None => text.parse().map(Distribution::Fixed).map_err(wrong),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Distribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Fixed(value) => value.fmt(f),
            Distribution::Exponential(mean) => write!(f, "exp:{mean}"),
        }
    }
}
