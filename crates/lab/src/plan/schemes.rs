//! Predicts one scheme on the planned link by closed forms, and simulates the scheme on request.
//!
//! A scheme is a way to use the link, such as a plain TCP or a TCP through the tunnel. The closed
//! forms have weights that were fitted to simulations. The errors of the closed forms were measured
//! with other simulations, and are recorded in `crates/model/data`.

use super::PlanError;
use super::answer::{SchemePlan, Simulated};
use super::words;
use crate::campaign::errors::PlanErrors;
use crate::campaign::unfitted::{Unfitted, UnfittedPlan};
use crate::campaign::{self, CampaignStage, MeasuredScheme};
use ripstop_base::readable;
use ripstop_model::plan::advice::HostTcp;
use ripstop_model::plan::block::{BlockCode, BlockUnpredictable};
use ripstop_model::plan::lt::LtBound;
use ripstop_model::plan::{Bound, NetworkPath, PlanScheme, Weights, delay, predict};

/// The inputs that the predictions of all schemes share.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    pub(super) path: &'a NetworkPath,
    pub(super) stage: CampaignStage,
    pub(super) weights: &'a Weights,
    /// The recorded errors of the closed forms. `None` if the link is outside the range of links on
    /// which the errors were measured (the domain of validity).
    pub(super) errors: Option<&'a PlanErrors>,
    /// Whether every scheme is simulated (`--verify`).
    pub(super) verify: bool,
}

impl Planner<'_> {
    /// The plan for a scheme that this program implements on real networks.
    ///
    /// # Errors
    /// Fails when the closed forms or the simulator refuse the link.
    pub(super) fn scheme(&self, scheme: PlanScheme, allowed: bool) -> Result<SchemePlan, PlanError> {
        let path = self.path;
        let got = predict(path, scheme, self.weights)?;
        let packet = delay::bulk(path, scheme, self.weights);
        let request = delay::request(path, scheme.is_tunnel(), self.weights);
        let error = self.errors.and_then(|errors| errors.of(scheme.name(), path));
        let median = |figure| self.errors.and_then(|errors| errors.of(figure, path)).map(|error| error.median);
        let packet_error = match scheme {
            PlanScheme::Bbr => median("packet-p99-bbr"),
            PlanScheme::TunnelBbr => median("packet-p99-tunnel"),
            _ => None,
        };
        let request_error = match scheme {
            PlanScheme::Cubic => median("request-p99-plain"),
            PlanScheme::TunnelCubic => median("request-p99-tunnel"),
            _ => None,
        };
        Ok(SchemePlan {
            scheme: scheme.name(),
            available: true,
            allowed,
            goodput_bps: Some(got.goodput_bps),
            share: Some(got.share),
            bound: Some(match got.bound {
                Bound::Losses => "losses",
                Bound::Link => "link",
            }),
            not_predicted: None,
            sent_per_useful: Some(got.sent_per_useful),
            packet_p50_s: Some(packet.p50),
            packet_p99_s: Some(packet.p99),
            request_p50_s: Some(request.p50),
            request_p99_s: Some(request.p99),
            model: words::model(scheme),
            error_median: error.map(|error| error.median),
            error_p95: error.map(|error| error.p95),
            packet_p99_error_median: packet_error,
            request_p99_error_median: request_error,
            settings: None,
            simulated: self.simulate(scheme, got.goodput_bps)?,
        })
    }

    /// The plan for a scheme whose closed form has no weights of its own, with settings chosen for this link.
    ///
    /// # Errors
    /// Fails when the closed forms or the simulator refuse the link.
    pub(super) fn unfitted(&self, scheme: Unfitted, hosts: HostTcp) -> Result<SchemePlan, PlanError> {
        let plan = scheme.plan(self.path, self.weights)?;
        let goodput = plan.goodput_bps();
        let error = self.errors.and_then(|errors| errors.of(scheme.name(), self.path));
        let simulated = match self.verify {
            true => {
                let scenario = plan.scenario(&self.stage, self.verify_runs(), SEED);
                let measured = campaign::measure_scenario(&self.stage, &scenario, cores())?;
                Some(Simulated::of(&measured, goodput))
            }
            false => None,
        };
        let known = SchemePlan {
            error_median: error.map(|error| error.median),
            error_p95: error.map(|error| error.p95),
            simulated,
            ..self.on_paper(scheme.name(), words::unfitted_model(scheme), goodput)
        };
        Ok(match plan {
            UnfittedPlan::TcpNc(settings, goodput) => SchemePlan {
                bound: goodput.is_ok().then_some("window"),
                not_predicted: goodput.err().map(words::nc_not_predicted),
                sent_per_useful: goodput.is_ok().then(|| settings.redundancy / settings.ceiling()),
                settings: Some(format!("R = {}, W = {} packets", settings.redundancy, settings.window)),
                ..known
            },
            UnfittedPlan::Block(code, goodput) => SchemePlan {
                available: true,
                allowed: hosts.allows(PlanScheme::TunnelCubic),
                ..self.block(code, goodput, known)
            },
            UnfittedPlan::Lt(settings, prediction) => SchemePlan {
                bound: prediction.ok().map(|prediction| match prediction.bound {
                    LtBound::Link => "link",
                    LtBound::Window => "window",
                    LtBound::Blocks => "blocks",
                }),
                not_predicted: prediction.err().map(words::lt_not_predicted),
                sent_per_useful: prediction.ok().map(|prediction| prediction.sent_per_useful),
                settings: Some(format!(
                    "K = {}, window = {} packets, buffer = {} packets, capacity = {}",
                    settings.block,
                    settings.window,
                    settings.buffer,
                    readable::rate(settings.capacity_bps)
                )),
                ..known
            },
        })
    }

    /// Completes the plan for CUBIC in a tunnel with the block code `code`. `known` has what all schemes share.
    fn block(&self, code: BlockCode, goodput: Result<f64, BlockUnpredictable>, known: SchemePlan) -> SchemePlan {
        let delay = delay::bulk(&code.coded, PlanScheme::TunnelCubic, self.weights);
        let is_known = goodput.is_ok();
        SchemePlan {
            bound: is_known.then_some(if code.bounds[0] < code.bounds[1] { "losses" } else { "link" }),
            not_predicted: goodput.err().map(words::block_not_predicted),
            sent_per_useful: is_known.then(|| code.sent_per_useful()),
            packet_p50_s: is_known.then_some(delay.p50),
            packet_p99_s: is_known.then_some(delay.p99),
            settings: Some(format!("K = {}, N = {}", code.k, code.n)),
            ..known
        }
    }

    /// A plan with only the prediction, for a scheme that this program does not implement on real
    /// networks.
    fn on_paper(&self, scheme: &'static str, model: &'static str, goodput_bps: Option<f64>) -> SchemePlan {
        SchemePlan {
            scheme,
            available: false,
            allowed: false,
            goodput_bps,
            share: goodput_bps.map(|bps| bps / self.path.capacity()),
            bound: None,
            not_predicted: None,
            sent_per_useful: None,
            packet_p50_s: None,
            packet_p99_s: None,
            request_p50_s: None,
            request_p99_s: None,
            model,
            error_median: None,
            error_p95: None,
            packet_p99_error_median: None,
            request_p99_error_median: None,
            settings: None,
            simulated: None,
        }
    }

    /// Simulates a scheme. `predicted` is its predicted goodput, bit/s.
    ///
    /// With `--verify`, both long transfers and requests are simulated. Without `--verify`, no
    /// requests are simulated, and only plain CUBIC and plain BBR are simulated. The link must then
    /// be slow enough for a quick simulation ([`QUICK_BITS`]).
    fn simulate(&self, scheme: PlanScheme, predicted: f64) -> Result<Option<Simulated>, PlanError> {
        let stage = &self.stage;
        if self.verify {
            let measured = campaign::measure(stage, scheme, self.verify_runs(), SEED, cores())?;
            let requests = stage.requests(scheme, VERIFY_REQUEST_RUNS, SEED);
            let requests = campaign::measure_requests(&requests, cores())?;
            let simulated = Simulated::of(&measured, Some(predicted));
            return Ok(Some(Simulated { request_p50_s: requests.p50_s, request_p99_s: requests.p99_s, ..simulated }));
        }
        let quick = matches!(scheme, PlanScheme::Cubic | PlanScheme::Bbr);
        if !quick || f64::from(QUICK_RUNS.0) * stage.bits() > QUICK_BITS {
            return Ok(None);
        }
        let runs = ((QUICK_BITS / stage.bits()) as u32).clamp(QUICK_RUNS.0, QUICK_RUNS.1);
        let measured = campaign::measure(stage, scheme, runs, SEED, 1)?;
        Ok(Some(Simulated::of(&measured, Some(predicted))))
    }

    fn verify_runs(&self) -> u32 {
        ((VERIFY_BITS / self.stage.bits()) as u32).clamp(2, VERIFY_RUNS)
    }
}

impl SchemePlan {
    /// Goodput used to compare schemes, bit/s: the weighted mean of prediction and simulation.
    ///
    /// The weights are the inverse squares of the uncertainties:
    ///
    /// - The uncertainty of the simulation is half the width of the 95 % confidence interval of its
    ///   runs.
    /// - The uncertainty of the prediction is the predicted goodput, times [`MEDIANS_IN_INTERVAL`],
    ///   times the recorded median relative error. The recorded 95th percentile would be too large.
    ///   That percentile comes from links on which almost nothing arrives, where no scheme is worth
    ///   choosing.
    ///
    /// If the median error is not known, only the simulation counts.
    pub(super) fn expected_bps(&self) -> f64 {
        let predicted = self.goodput_bps.unwrap_or(0.0);
        let Some(simulated) = self.simulated else { return predicted };
        match (simulated.ci95_bps, self.error_median) {
            (Some(interval), Some(median)) if interval > 0.0 => {
                let error = MEDIANS_IN_INTERVAL * median * predicted;
                let weight = interval * interval / (interval * interval + error * error);
                simulated.goodput_bps + weight * (predicted - simulated.goodput_bps)
            }
            _ => simulated.goodput_bps,
        }
    }
}

impl Simulated {
    fn of(measured: &MeasuredScheme, predicted: Option<f64>) -> Simulated {
        let mean = measured.mean();
        Simulated {
            goodput_bps: mean,
            ci95_bps: measured.interval(),
            runs: measured.each_bps.len() as u32,
            error: predicted.filter(|_| mean > 0.0).map(|predicted| predicted / mean - 1.0),
            sent_per_useful: measured.sent_per_useful,
            packet_p50_s: measured.delay_p50_s,
            packet_p99_s: measured.delay_p99_s,
            request_p50_s: None,
            request_p99_s: None,
        }
    }
}

/// The largest number of bits that a quick simulation moves for one scheme, in all runs together.
/// With this value, simulating two schemes takes less than 1.5 s. Half the value halves this time,
/// but fewer links are slow enough to be simulated. Twice the value doubles the time, and more
/// links are simulated.
const QUICK_BITS: f64 = 12e9;
/// The smallest and the largest number of runs of a quick simulation. A link is not simulated if
/// the smallest number of runs would move more than [`QUICK_BITS`]. With half the limits,
/// confidence intervals are wider. With twice the limits, simulations take longer, and fewer links
/// are simulated.
const QUICK_RUNS: (u32, u32) = (4, 32);
/// The largest number of runs of each scheme with `--verify`. With half the value, the confidence
/// intervals are at least 1.4 times as wide. With twice the value, slow links take twice as long.
const VERIFY_RUNS: u32 = 8;
/// The largest number of bits that all runs of one scheme together move with `--verify`. At least
/// two runs are made, even if two runs move more bits. Half the value makes half as many runs on
/// fast links. Twice the value makes twice as many runs, up to [`VERIFY_RUNS`].
const VERIFY_BITS: f64 = 20e9;
/// Number of runs with requests, with `--verify`. Each run has 500 requests. Half the value makes
/// the percentiles less certain; twice the value takes twice as long.
const VERIFY_REQUEST_RUNS: u32 = 4;
/// Seed of all simulations of a plan. Another seed gives other samples of the same links; no seed
/// is better than another.
const SEED: u64 = 1;
/// The uncertainty of a prediction, as a multiple of its median relative error. For errors with a
/// normal distribution, half the width of a 95 % interval is 2.9 times the median error. With half
/// the value, the prediction counts up to four times as much in comparison with the simulation.
/// With twice the value, the prediction counts at least a quarter as much.
const MEDIANS_IN_INTERVAL: f64 = 3.0;

/// Number of threads for simulations: one per core.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::data;

    #[test]
    fn the_more_certain_figure_counts_for_more() {
        let (weights, errors) = (data::weights().unwrap(), data::errors().unwrap());
        let path = NetworkPath { rate: 1e9, ..NetworkPath::default() };
        let planner = Planner {
            path: &path,
            stage: CampaignStage::of(&path),
            weights: &weights,
            errors: Some(&errors),
            verify: false,
        };
        let mut one = planner.scheme(PlanScheme::Bbr, true).unwrap();
        (one.goodput_bps, one.error_median) = (Some(10e6), Some(0.1 / 3.0));
        assert!(one.simulated.is_none() && one.expected_bps() == 10e6);
        let simulated = |ci95_bps| Simulated {
            ci95_bps,
            ..Simulated::of(&MeasuredScheme { each_bps: vec![8e6], ..MeasuredScheme::default() }, None)
        };
        // Columns: half the width of the simulation's 95 % interval, and the expected result. In
        // the first row, the simulation is as certain as the closed form. In the second row, the
        // simulation is three times less certain. In the third row, the simulation is exact.
        for (interval, expected) in [(Some(1e6), 9e6), (Some(3e6), 9.8e6), (Some(0.0), 8e6)] {
            one.simulated = Some(simulated(interval));
            assert!((one.expected_bps() - expected).abs() < 1.0, "{interval:?}: {}", one.expected_bps());
        }
        // If the median error of the closed form is not known, only the simulation counts.
        one.simulated = Some(simulated(Some(1e6)));
        one.error_median = None;
        assert_eq!(one.expected_bps(), 8e6);
    }
}
