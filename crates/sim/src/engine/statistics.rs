//! Statistics over several independent runs: means with confidence intervals, and percentiles.

use serde::Serialize;

/// The mean over independent runs, with its confidence interval. In JSON, unknown values are `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Statistic {
    /// The mean, in the unit of the samples. None without samples, or if a sample was not finite.
    pub mean: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean, by Student's t with n - 1 degrees of freedom. None
    /// with fewer than two samples, or without a mean.
    pub ci95: Option<f64>,
    /// Number of samples.
    pub n: u64,
}

/// A [`Statistic`] of delays, with percentiles over the delays of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DelayStatistic {
    /// Mean of the runs' mean delays.
    pub mean: Option<f64>,
    /// Half the width of the mean's 95 % confidence interval, computed over the runs.
    pub ci95: Option<f64>,
    /// Number of runs that reported a delay.
    pub n: u64,
    /// Median of the delays of all runs together.
    pub p50: Option<f64>,
    /// 99th percentile of the delays of all runs together.
    pub p99: Option<f64>,
}

/// Collects one number per run. Mean and variance are updated by Welford's method, which keeps its precision when the
/// mean is large.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Number of samples.
    n: u64,
    /// Mean of the samples.
    mean: f64,
    /// Sum of the squared differences from the mean.
    squares: f64,
}

impl Sample {
    /// Adds the number of one run.
    ///
    /// A number that is not finite makes the whole statistic unknown. An infinite time-out, for example, must not
    /// vanish from a mean.
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let away = value - self.mean;
        self.mean += away / self.n as f64;
        self.squares += away * (value - self.mean);
    }

    /// Mean and confidence interval of the numbers added so far.
    pub fn statistic(&self) -> Statistic {
        let known = |x: f64| x.is_finite().then_some(x);
        let mean = if self.n > 0 { known(self.mean) } else { None };
        let ci95 = mean.filter(|_| self.n > 1).and_then(|_| {
            let n = self.n as f64;
            let variance = (self.squares / (n - 1.0)).max(0.0);
            known(student_t95(self.n - 1) * (variance / n).sqrt())
        });
        Statistic { mean, ci95, n: self.n }
    }
}

impl Extend<f64> for Sample {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sample {
        let mut sample = Sample::default();
        sample.extend(values);
        sample
    }
}

/// The `percent`-th percentile of `values` by nearest rank: the smallest value that is at least as large as `percent` %
/// of all values. The result is always one of the values.
///
/// Reorders `values`. None if `values` is empty, or if the result is not finite.
pub fn percentile(values: &mut [f64], percent: f64) -> Option<f64> {
    let rank = (percent / 100.0 * values.len() as f64).ceil() as usize;
    let index = rank.clamp(1, values.len().max(1)) - 1;
    if index >= values.len() {
        return None;
    }
    let (_, value, _) = values.select_nth_unstable_by(index, f64::total_cmp);
    value.is_finite().then_some(*value)
}

/// The 97.5 % quantile of Student's t distribution.
///
/// Up to 30 degrees of freedom the quantile comes from a table. Above 30 degrees of freedom, the quantile comes from an
/// expansion around the normal quantile (Abramowitz and Stegun, equation 26.7.5; error below 4e-8). The expansion uses
/// only additions, multiplications and divisions, so every machine computes the same result.
fn student_t95(freedom: u64) -> f64 {
    if let Some(t) = usize::try_from(freedom).ok().and_then(|n| n.checked_sub(1)).and_then(|i| T95.get(i)) {
        return *t;
    }
    let n = freedom.max(1) as f64;
    let (g1, g2, g3, g4) = (2.372271230298562, 2.82249861573961, 2.555849679507722, 1.589534053393823);
    1.959963984540054 + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n
}

/// The 97.5 % quantile of Student's t for 1 to 30 degrees of freedom. [`Statistic::ci95`] is proportional to this
/// quantile.
#[rustfmt::skip]
const T95: [f64; 30] = [
    12.706204736, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851, 2.364624252, 2.306004135,
    2.262157163, 2.228138852, 2.200985160, 2.178812830, 2.160368656, 2.144786688, 2.131449546, 2.119905299,
    2.109815578, 2.100922040, 2.093024054, 2.085963447, 2.079613845, 2.073873068, 2.068657610, 2.063898562,
    2.059538553, 2.055529439, 2.051830516, 2.048407142, 2.045229642, 2.042272456,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_smooth_where_the_table_ends() {
        for (freedom, t) in [(31, 2.039513446), (40, 2.021075390), (60, 2.000297822), (1000, 1.962339081)] {
            assert!((student_t95(freedom) - t).abs() < 4e-8, "{freedom}");
        }
        assert!((student_t95(u64::MAX) - 1.959963984540054).abs() < 1e-12);
        assert!((1..200).all(|n| student_t95(n) > student_t95(n + 1)));
    }
}
