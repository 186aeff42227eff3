//! An axis of a figure: its range and its ticks.

/// The range of values along one side of a figure.
pub(super) struct Axis {
    /// The smallest value of the range.
    pub(super) low: f64,
    /// The largest value of the range.
    pub(super) high: f64,
    /// Whether the axis is logarithmic.
    log: bool,
}

impl Axis {
    /// The axis from the smallest to the largest of `values`. Values that the axis cannot show are
    /// ignored: values that are not finite and, on a logarithmic axis, values of 0 or less.
    ///
    /// With `from_zero`, a linear axis includes 0 unless all values are negative. `from_zero` also
    /// adds free space above the largest value: 5 % of the range. Both ends of a logarithmic axis
    /// are powers of ten.
    pub(super) fn over(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Axis {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (if log { 0.1 } else { 0.0 }, 1.0) } else { (low, high) };
        let low = if from_zero && !log { low.min(0.0) } else { low };
        let high = if high == low { low + 1.0 } else { high };
        if log {
            let high = 10f64.powf(high.log10().ceil());
            let low = 10f64.powf(low.log10().floor());
            return Axis { low, high: if high > low { high } else { low * 10.0 }, log };
        }
        Axis { low, high: high + if from_zero { 0.05 * (high - low) } else { 0.0 }, log }
    }

    /// The position of `value` along the axis, from 0 at `low` to 1 at `high`. A value outside the
    /// range is moved to the nearest end.
    pub(super) fn part(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    /// The values that have ticks: multiples of a round number, or powers of ten on a logarithmic
    /// axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            let (first, last) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            return (first..=last).map(|k| 10f64.powi(k)).collect();
        }
        // The step is the smallest round number that is at least a sixth of the range. So the axis
        // has at most six steps.
        let rough = (self.high - self.low) / 6.0;
        let scale = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * scale).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= self.high * (1.0 + 1e-12)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values() {
        let axis = Axis::over([0.2, 1.7].into_iter(), false, true);
        assert_eq!((axis.low, axis.part(axis.high), axis.part(-1.0)), (0.0, 1.0, 0.0));
        let ticks = axis.ticks();
        assert!((3..=8).contains(&ticks.len()) && ticks.windows(2).all(|pair| pair[1] > pair[0]), "{ticks:?}");
        let log = Axis::over([0.03, 900.0, 0.0].into_iter(), true, true);
        assert_eq!((log.low, log.high, log.ticks().len()), (0.01, 1000.0, 6));
        assert!((log.part(1.0) - 0.4).abs() < 1e-12);
        for empty in [Axis::over([].into_iter(), false, true), Axis::over([].into_iter(), true, true)] {
            assert!(empty.ticks().len() >= 2);
        }
        let one = Axis::over([5.0, 5.0].into_iter(), false, false);
        assert!(one.part(5.0).is_finite() && !one.ticks().is_empty());
        assert!(!Axis::over([10.0].into_iter(), true, false).ticks().is_empty());
    }
}
