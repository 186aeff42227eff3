//! Rates that change over time, from a list of steps or from a file.

use crate::error::LinkConfigError;
use ripstop_base::{Rate, Span};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The rate of a link as a step function of time, which may repeat.
///
/// A configuration writes `{ steps = [["0s", "20Mbit/s"], ["2s", "5Mbit/s"]], period = "10s" }`, or
/// `{ file = "lte.down" }`. The owner of the configuration reads the file ([`RateTrace::parse`]),
/// because this crate reads no files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateTrace {
    /// Each rate in bit/s, with the moment from which it applies. The first moment is 0 s. In a
    /// trace, a rate of 0 means that nothing is sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Span, Rate)>,
    /// The steps repeat after this time. None: the last rate applies for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// A file with the steps, which has not been read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The shortest period of repeated settings. Half the value allows twice as many steps per second,
/// which no trace has.
pub(crate) const LEAST_PERIOD: Duration = Duration::from_millis(1);
/// Bytes of one delivery opportunity of a Mahimahi trace, a full packet (mm-link(1)).
const OPPORTUNITY_BYTES: u64 = 1500;
/// Opportunities of a Mahimahi trace are counted in intervals of this length, ms. The rate is
/// constant in each interval. Half the value makes the rate burstier than a base station's
/// scheduling of several users. Double the value smooths fades of 40 ms.
const BIN_MS: u64 = 20;
/// The latest time in a file, ms: 32 years, as for all times in a configuration.
const LATEST_MS: u64 = 1_000_000_000_000;

impl RateTrace {
    /// Reads a trace from the text of a file. `#` begins a comment.
    ///
    /// - A file of Mahimahi has one whole number in each line. The number is the time in ms at which
    ///   1500 bytes can be sent. The trace repeats after the last time.
    /// - In another file, each line has a time and a rate, such as `2s 5Mbit/s`. A last line such as
    ///   `10s repeat` repeats the trace after this time.
    ///
    /// # Errors
    /// The line that is wrong, and what would be right.
    pub fn parse(text: &str) -> Result<RateTrace, String> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let lines: Vec<(usize, &str)> = lines.enumerate().filter(|(_, line)| !line.is_empty()).collect();
        let Some((_, first)) = lines.first() else {
            return Err("the trace is empty; write a time and a rate in each line".to_owned());
        };
        let trace = if first.contains(char::is_whitespace) { stepwise(&lines) } else { mahimahi(&lines) }?;
        trace.check("").map_err(|error| format!("{} ({})", error.problem, error.field.trim_start_matches('.')))?;
        Ok(trace)
    }

    /// The mean rate over a period. Without a period, the mean of the rates by the times for which
    /// they apply, the last rate not counted if there are others.
    pub fn mean(&self) -> Rate {
        let last = self.steps.last().map_or(Duration::ZERO, |(at, _)| at.duration());
        let end = self.period.map_or(last, Span::duration);
        let ends = self.steps.iter().skip(1).map(|(at, _)| at.duration()).chain([end]);
        let bits = self
            .steps
            .iter()
            .zip(ends)
            .map(|((at, rate), end)| u128::from(rate.bps()) * end.saturating_sub(at.duration()).as_nanos());
        match bits.sum::<u128>().checked_div(end.as_nanos()) {
            Some(mean) => Rate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX)),
            None => self.steps.first().map_or(Rate::from_bps(0), |(_, rate)| *rate),
        }
    }

    /// Checks the trace. `field` names it in the error.
    pub(crate) fn check(&self, field: &str) -> Result<(), LinkConfigError> {
        let wrong = |part: &str, problem: String| Err(LinkConfigError::new(format!("{field}.{part}"), problem));
        if let Some(file) = &self.file {
            let problem = format!("`{file}` has not been read; write the steps into `steps` here");
            return wrong("file", problem);
        }
        let Some(((first, _), (last, _))) = self.steps.first().zip(self.steps.last()) else {
            return wrong(
                "steps",
                "there are none; write for example `[[\"0s\", \"20Mbit/s\"], [\"2s\", \"5Mbit/s\"]]`".into(),
            );
        };
        if !first.duration().is_zero() {
            return wrong("steps", format!("the first step is at {first}; begin with a step at `0s`"));
        }
        if let Some(pair) = self.steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return wrong("steps", format!("{} follows {}; list the steps in order of time", pair[1].0, pair[0].0));
        }
        if self.steps.iter().all(|(_, rate)| rate.bps() == 0) {
            return wrong("steps", "no step has a rate above 0, so nothing is ever sent".to_owned());
        }
        check_period(self.period, *last).map_or(Ok(()), |problem| wrong("period", problem))
    }
}

/// What is wrong with a period, if anything. `last` is the time of the last step.
pub(crate) fn check_period(period: Option<Span>, last: Span) -> Option<String> {
    let period = period?;
    if period <= last {
        return Some(format!("{period} is not later than the last step at {last}; write a longer time"));
    }
    (period.duration() < LEAST_PERIOD).then(|| format!("{period} is too short; write at least `1ms`"))
}

/// Reads lines of a time and a rate.
fn stepwise(lines: &[(usize, &str)]) -> Result<RateTrace, String> {
    let mut trace = RateTrace::default();
    for (k, line) in lines {
        let wrong = |problem: String| format!("line {}: {problem}", k + 1);
        if let Some(period) = trace.period {
            return Err(wrong(format!("nothing may follow the end at {period}")));
        }
        let Some((at, rate)) = line.split_once(char::is_whitespace) else {
            return Err(wrong(format!("`{line}` has no rate; write for example `2s 5Mbit/s`")));
        };
        let at: Span = at.parse().map_err(|error| wrong(format!("{error}")))?;
        match rate.trim() {
            "repeat" => trace.period = Some(at),
            rate => trace.steps.push((at, rate.parse().map_err(|error| wrong(format!("{error}")))?)),
        }
    }
    Ok(trace)
}

/// Reads lines of whole numbers, the times of delivery opportunities in ms.
fn mahimahi(lines: &[(usize, &str)]) -> Result<RateTrace, String> {
    let mut times = Vec::with_capacity(lines.len());
    for (k, line) in lines {
        let wrong = |problem: &str| format!("line {}: `{line}` {problem}", k + 1);
        let time: u64 = line.parse().map_err(|_| {
            wrong("is neither a time in whole ms (Mahimahi) nor a time and a rate such as `2s 5Mbit/s`")
        })?;
        if times.last().is_some_and(|last| *last > time) {
            return Err(wrong("is earlier than the time before it; list the times in ascending order"));
        }
        if time > LATEST_MS {
            return Err(wrong("is later than 32 years"));
        }
        times.push(time);
    }
    let Some(end) = times.last().copied().filter(|end| *end > 0) else {
        return Err("the last time is 0 ms; the trace repeats after the last time, which must be above 0".to_owned());
    };
    let mut steps: Vec<(Span, Rate)> = Vec::new();
    let mut next = 0;
    let mut begin = 0;
    while begin < end {
        // An opportunity at time t belongs to the millisecond that ends at t.
        let until = if next < times.len() { (begin + BIN_MS).min(end) } else { end };
        let many = times[next..].iter().take_while(|time| **time <= until).count();
        next += many;
        let rate = Rate::from_bps(many as u64 * OPPORTUNITY_BYTES * 8 * 1000 / (until - begin));
        if steps.last().is_none_or(|(_, last)| *last != rate) {
            steps.push((Span::from(Duration::from_millis(begin)), rate));
        }
        // Long pauses are skipped in one step.
        begin = match times.get(next) {
            Some(time) if many == 0 => until.max((time - 1) / BIN_MS * BIN_MS),
            _ => until,
        };
    }
    Ok(RateTrace { steps, period: Some(Span::from(Duration::from_millis(end))), file: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(trace: &RateTrace) -> Vec<(u128, u64)> {
        trace.steps.iter().map(|(at, rate)| (at.duration().as_millis(), rate.bps())).collect()
    }

    #[test]
    fn opportunities_are_counted_in_intervals() {
        // Two packets in the first 20 ms, none in the next 60 ms, four in the last 5 ms.
        let trace = RateTrace::parse("0\n20 # the end of the first interval\n\n81\n82\n83\n85\n").unwrap();
        assert_eq!(steps(&trace), [(0, 1_200_000), (20, 0), (80, 9_600_000)]);
        assert_eq!(trace.period.unwrap().duration(), Duration::from_millis(85));
        // Six packets of 1500 bytes in 85 ms.
        assert_eq!(trace.mean().bps(), 6 * 12_000 * 1000 / 85);
        let sparse = RateTrace::parse("1\n900000000000\n").unwrap();
        assert_eq!(sparse.steps.len(), 3);
    }

    #[test]
    fn lines_of_times_and_rates_are_steps() {
        let trace = RateTrace::parse("# a comment\n0s 20Mbit/s\n2s\t5Mbit/s\n10s repeat\n").unwrap();
        assert_eq!(steps(&trace), [(0, 20_000_000), (2000, 5_000_000)]);
        assert_eq!((trace.period.unwrap().duration(), trace.mean().bps()), (Duration::from_secs(10), 8_000_000));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, words) in [
            ("", "empty"),
            ("5\n4\n", "line 2: `4` is earlier"),
            ("5\nx\n", "line 2: `x` is neither"),
            ("0\n", "the last time is 0 ms"),
            ("0s 5Mbit/s\n3s\n", "line 2: `3s` has no rate"),
            ("0s fast\n", "line 1"),
            ("0s 0\n", "nothing is ever sent"),
            ("1s 5Mbit/s\n", "begin with a step at `0s`"),
            ("0s 5Mbit/s\n0s 6Mbit/s\n", "in order of time"),
            ("0s 5Mbit/s\n5s repeat\n6s 1Mbit/s", "line 3: nothing may follow"),
            ("0s 5Mbit/s\n5s 6Mbit/s\n5s repeat\n", "not later than the last step"),
        ] {
            let error = RateTrace::parse(text).expect_err(text);
            assert!(error.contains(words), "{text:?} gives `{error}`");
        }
    }
}
