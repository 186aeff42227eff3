//! Times all cases in rounds. In each round every case is timed for a fraction of a millisecond.

use super::cases::{Case, Lap, cases};
use super::figures::FIGURES;
use std::time::{Duration, Instant};

/// Shortest time for which a case is timed in a round. Steps that are not timed do not count: a case with such steps
/// would otherwise run only once in a round, with caches and predictors that are full of the other cases. With half the
/// value, the figures are of colder code. With double the value, there are half as many rounds for the median.
const TURN: Duration = Duration::from_micros(200);

/// The measurements of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedResult {
    /// The figure's key.
    pub key: &'static str,
    /// Median over all rounds, in the figure's unit.
    pub value: f64,
    /// Ratio to the figure's anchor; None if the figure has no anchor.
    pub ratio: Option<f64>,
}

/// Measures the figures `wanted` (which include their anchors) for about `length`, but at least one round.
pub fn measure(length: Duration, wanted: &[&'static str]) -> Vec<SpeedResult> {
    let mut cases = cases(wanted);
    // The first round warms up caches, pools and branch predictors.
    round(&mut cases);
    let start = Instant::now();
    let mut rounds = Vec::new();
    while rounds.is_empty() || start.elapsed() < length {
        rounds.push(round(&mut cases));
    }
    wanted.iter().filter_map(|key| result(key, &rounds)).collect()
}

/// Seconds per byte for each figure.
type Round = Vec<(&'static str, f64)>;

fn round(cases: &mut [Case]) -> Round {
    let mut round = Round::new();
    for case in cases {
        let mut laps = vec![Lap::default(); case.keys.len()];
        while laps.iter().all(|lap| lap.spent < TURN) {
            (case.run)(&mut laps);
        }
        round.extend(case.keys.iter().zip(laps).filter_map(|(key, lap)| Some((*key, lap.per_byte()?))));
    }
    round
}

fn result(key: &'static str, rounds: &[Round]) -> Option<SpeedResult> {
    let figure = FIGURES.iter().find(|figure| figure.key == key)?;
    let seconds = median(rounds.iter().filter_map(|round| of(round, key)))?;
    let ratio = figure.anchor.and_then(|anchor| {
        median(rounds.iter().filter_map(|round| Some(of(round, anchor.key)? / of(round, key)? * anchor.over)))
    });
    Some(SpeedResult { key, value: figure.unit.of(seconds), ratio })
}

fn of(round: &Round, key: &str) -> Option<f64> {
    round.iter().find(|(name, _)| *name == key).map(|(_, seconds)| *seconds)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_medians_over_rounds() {
        let rounds: Vec<Round> = [(1.0, 2.0), (2.0, 4.0), (1.0, 100.0)]
            .map(|(xor, mac)| vec![("xor_1408_gbs", xor * 1e-9), ("mac_1408_gbs", mac * 1e-9)])
            .into();
        let result = result("mac_1408_gbs", &rounds).unwrap();
        assert!((result.value - 0.25).abs() < 1e-9 && (result.ratio.unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([3.0, 1.0].into_iter()), Some(2.0));
    }
}
