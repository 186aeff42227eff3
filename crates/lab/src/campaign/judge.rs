//! Compares predictions with simulated results on the links of a campaign.
//!
//! This file computes the errors of the predicted quantities. It also counts the links on which the
//! planner recommends a scheme whose goodput is near the best scheme's. A scheme is a way to use
//! the link. `mod.rs` explains all terms of this folder.

use super::errors::{ALL_LINKS, PlanErrors, PlanHits, RelativeError};
use super::unfitted::Unfitted;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::advice::{self, Candidate, Choice, Wishes};
use ripstop_model::plan::campaign::{CampaignRecord, CampaignResults, LinkResult, SchemeResult};
use ripstop_model::plan::{LossPattern, NetworkPath, PlanScheme, Weights, delay, predict};
use ripstop_sim::engine::percentile;

/// The recommendation counts as good (a hit) when the goodput of the recommended scheme is at least
/// this fraction of the best scheme's goodput.
///
/// A higher value counts more links as misses, and a lower value counts fewer. The text of
/// docs/plan-report.md says "within 3 %", so it must change together with this value.
const NEAR_BEST: f64 = 0.97;

/// A link with its predicted and simulated results.
#[derive(Debug)]
pub struct JudgedLink<'a> {
    /// The link.
    pub link: &'a LinkResult,
    /// The predicted goodput of each scheme, in the order of [`PlanScheme::FITTED`], bit/s.
    pub predicted: Vec<f64>,
    /// The index in [`PlanScheme::FITTED`] of the recommended scheme.
    pub chosen: usize,
    /// The index in [`PlanScheme::FITTED`] of the scheme with the highest simulated goodput.
    pub best: usize,
    /// The simulated results of each scheme, in the order of [`PlanScheme::FITTED`].
    simulated: Vec<&'a SchemeResult>,
}

/// Judges the links on which every scheme was simulated, with `weights` for the predictions.
///
/// # Errors
/// The planner cannot predict a link, or a scheme was not simulated on a link.
pub fn judge<'a>(results: &'a CampaignResults, weights: &Weights) -> LabResult<Vec<JudgedLink<'a>>> {
    let whole = results.link.iter().take(results.campaign.links as usize);
    whole.map(|link| judge_link(link, weights)).collect()
}

/// The relative errors of all predicted quantities, for each kind of losses. The result also has
/// the numbers of good recommendations, over all links and for each kind of losses.
pub fn errors(campaign: CampaignRecord, judged: &[JudgedLink<'_>], weights: &Weights) -> PlanErrors {
    let mut errors = PlanErrors::new(campaign);
    errors.hits.insert(ALL_LINKS.to_owned(), hits(judged.iter()));
    for kind in LossPattern::ALL {
        let of_kind = || judged.iter().filter(move |one| LossPattern::of(&one.link.path) == kind);
        if of_kind().next().is_some() {
            errors.hits.insert(kind.name().to_owned(), hits(of_kind()));
        }
        for (index, scheme) in PlanScheme::FITTED.into_iter().enumerate() {
            if let Some(error) = relative_error(of_kind().map(|one| one.error(index)).collect()) {
                errors.set(scheme.name(), kind, error);
            }
        }
        for scheme in Unfitted::ALL {
            if let Some(error) = unfitted_error(scheme, of_kind()) {
                errors.set(scheme.name(), kind, error);
            }
        }
        for figure in FIGURES {
            if let Some(error) = figure_error(&figure, of_kind(), weights) {
                errors.set(figure.name, kind, error);
            }
        }
    }
    errors
}

/// Counts the links of `links` on which the recommended scheme, or its family, was near the best
/// scheme.
pub fn hits<'a, 'b: 'a>(links: impl Iterator<Item = &'a JudgedLink<'b>>) -> PlanHits {
    let mut hits = PlanHits { links: 0, scheme: 0, family: 0 };
    for one in links {
        hits.links += 1;
        hits.scheme += u64::from(one.is_near_best());
        hits.family += u64::from(one.is_family_near_best());
    }
    hits
}

/// The error of `figure` on `links`. `None` when no link has a simulated value.
pub fn figure_error<'a, 'b: 'a>(
    figure: &ErrorFigure,
    links: impl Iterator<Item = &'a JudgedLink<'b>>,
    weights: &Weights,
) -> Option<RelativeError> {
    let off = |one: &JudgedLink<'_>| {
        let simulated = (figure.simulated)(one.link)?;
        Some(((figure.predicted)(&one.link.path, weights) / simulated - 1.0).abs())
    };
    relative_error(links.filter_map(off).collect())
}

/// The error of an unfitted scheme's predicted goodput on `links`. Links on which the goodput is not predicted do not
/// count. `None` when no link is left.
pub fn unfitted_error<'a, 'b: 'a>(
    scheme: Unfitted,
    links: impl Iterator<Item = &'a JudgedLink<'b>>,
) -> Option<RelativeError> {
    let error = |one: &JudgedLink<'_>| {
        let found = one.link.scheme.get(scheme.name())?;
        Some(if found.mean_bps > 0.0 { (found.predicted_bps / found.mean_bps - 1.0).abs() } else { f64::INFINITY })
    };
    relative_error(links.filter_map(error).collect())
}

/// The `percent`-th percentile of `values`. Infinite when there are no values.
pub fn quantile(mut values: Vec<f64>, percent: f64) -> f64 {
    percentile(&mut values, percent).unwrap_or(f64::INFINITY)
}

/// A predicted quantity other than goodput. The data calls such a quantity a figure.
pub struct ErrorFigure {
    /// The figure's name in the data and in the report.
    pub name: &'static str,
    /// Reads the simulated value from the results on a link.
    simulated: fn(&LinkResult) -> Option<f64>,
    /// Computes the predicted value for a link.
    predicted: fn(&NetworkPath, &Weights) -> f64,
}

/// All figures: the predicted quantities other than goodput.
///
/// `sent-per-useful` is the number of bytes that the link sends for each byte of payload that
/// arrives. Packet delays are those of BBR, plain and inside the tunnel. Request delays are those
/// of CUBIC, plain and inside the tunnel.
pub const FIGURES: [ErrorFigure; 10] = [
    ErrorFigure {
        name: "sent-per-useful-bbr",
        simulated: |link| link.of(PlanScheme::Bbr)?.sent_per_useful,
        predicted: |path, weights| sent_per_useful(path, PlanScheme::Bbr, weights),
    },
    ErrorFigure {
        name: "sent-per-useful-tunnel",
        simulated: |link| link.of(PlanScheme::TunnelBbr)?.sent_per_useful,
        predicted: |path, weights| sent_per_useful(path, PlanScheme::TunnelBbr, weights),
    },
    ErrorFigure {
        name: "packet-p50-bbr",
        simulated: |link| link.of(PlanScheme::Bbr)?.packet_p50_s,
        predicted: |path, weights| delay::bulk(path, PlanScheme::Bbr, weights).p50,
    },
    ErrorFigure {
        name: "packet-p99-bbr",
        simulated: |link| link.of(PlanScheme::Bbr)?.packet_p99_s,
        predicted: |path, weights| delay::bulk(path, PlanScheme::Bbr, weights).p99,
    },
    ErrorFigure {
        name: "packet-p50-tunnel",
        simulated: |link| link.of(PlanScheme::TunnelBbr)?.packet_p50_s,
        predicted: |path, weights| delay::bulk(path, PlanScheme::TunnelBbr, weights).p50,
    },
    ErrorFigure {
        name: "packet-p99-tunnel",
        simulated: |link| link.of(PlanScheme::TunnelBbr)?.packet_p99_s,
        predicted: |path, weights| delay::bulk(path, PlanScheme::TunnelBbr, weights).p99,
    },
    ErrorFigure {
        name: "request-p50-plain",
        simulated: |link| link.plain_requests?.p50_s,
        predicted: |path, weights| delay::request(path, false, weights).p50,
    },
    ErrorFigure {
        name: "request-p99-plain",
        simulated: |link| link.plain_requests?.p99_s,
        predicted: |path, weights| delay::request(path, false, weights).p99,
    },
    ErrorFigure {
        name: "request-p50-tunnel",
        simulated: |link| link.tunnel_requests?.p50_s,
        predicted: |path, weights| delay::request(path, true, weights).p50,
    },
    ErrorFigure {
        name: "request-p99-tunnel",
        simulated: |link| link.tunnel_requests?.p99_s,
        predicted: |path, weights| delay::request(path, true, weights).p99,
    },
];

impl JudgedLink<'_> {
    /// The mean simulated goodput of a scheme, bit/s. In all methods here, `scheme` is an index in
    /// [`PlanScheme::FITTED`].
    pub fn mean(&self, scheme: usize) -> f64 {
        self.simulated[scheme].mean_bps
    }

    /// The mean simulated goodput for comparisons between schemes, bit/s. The value is at most the
    /// scheme's ceiling. The ceiling is the capacity of the link after losses, C (1-p), less the
    /// scheme's headers.
    ///
    /// A flow may be repairing a loss when the measurement begins. Data that arrived before the
    /// measurement is then delivered during the measurement, because delivery is in order. For this
    /// reason, Reno's measured goodput over long queues is up to 9 % above the ceiling. A longer
    /// transfer would not show this excess.
    fn comparable(&self, scheme: usize) -> f64 {
        comparable(&self.link.path, scheme, self.simulated[scheme])
    }

    /// The simulated results of the scheme with index `scheme`.
    pub fn simulated(&self, scheme: usize) -> &SchemeResult {
        self.simulated[scheme]
    }

    /// The error of a scheme's predicted goodput, relative to the simulated mean. Infinite when the
    /// mean is 0.
    pub fn error(&self, scheme: usize) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { (self.predicted[scheme] / mean - 1.0).abs() } else { f64::INFINITY }
    }

    /// The standard deviation of the runs' goodput, relative to the mean.
    pub fn deviation(&self, scheme: usize) -> f64 {
        self.relative(scheme, self.simulated[scheme].deviation_bps)
    }

    /// The standard error of the simulated mean, relative to the mean. Even a perfect prediction
    /// differs from the simulated mean by about the standard error.
    pub fn standard_error(&self, scheme: usize) -> f64 {
        self.relative(scheme, self.simulated[scheme].standard_error())
    }

    /// Whether the recommended scheme's goodput is within 3 % of the best scheme's.
    pub fn is_near_best(&self) -> bool {
        self.share_of_best() >= NEAR_BEST
    }

    /// The recommended scheme's goodput as a fraction of the best scheme's.
    pub fn share_of_best(&self) -> f64 {
        let best = self.comparable(self.best);
        if best > 0.0 { self.comparable(self.chosen) / best } else { 1.0 }
    }

    /// Whether any scheme of the recommended family (plain TCP or tunnel) has a goodput within 3 %
    /// of the best scheme's.
    fn is_family_near_best(&self) -> bool {
        let tunnel = PlanScheme::FITTED[self.chosen].is_tunnel();
        let family = (0..self.predicted.len()).filter(|k| PlanScheme::FITTED[*k].is_tunnel() == tunnel);
        family.map(|k| self.comparable(k)).fold(0.0, f64::max) >= NEAR_BEST * self.comparable(self.best)
    }

    /// `bps` relative to the simulated mean of `scheme`. Infinite when the mean is 0.
    fn relative(&self, scheme: usize, bps: f64) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { bps / mean } else { f64::INFINITY }
    }
}

/// Predicts the goodput of all schemes on `link`, and chooses a scheme as the planner does. Finds
/// the scheme with the highest simulated goodput.
fn judge_link<'a>(link: &'a LinkResult, weights: &Weights) -> LabResult<JudgedLink<'a>> {
    let path = &link.path;
    let mut predicted = Vec::with_capacity(PlanScheme::FITTED.len());
    let mut candidates = Vec::with_capacity(PlanScheme::FITTED.len());
    let mut simulated = Vec::with_capacity(PlanScheme::FITTED.len());
    for scheme in PlanScheme::FITTED {
        let got = predict(path, scheme, weights).map_err(|error| LabError::Work(error.to_string()))?;
        let missing = || LabError::Work(format!("link {}: {} was not simulated", link.number, scheme.name()));
        simulated.push(link.of(scheme).ok_or_else(missing)?);
        predicted.push(got.goodput_bps);
        candidates.push(Candidate {
            scheme,
            goodput_bps: got.goodput_bps,
            sent_per_useful: got.sent_per_useful,
            request_p99: delay::request(path, scheme.is_tunnel(), weights).p99,
        });
    }
    let chosen = match advice::choose(&candidates, Wishes::default()) {
        Some(Choice::Use { index, .. } | Choice::BudgetTooSmall { needs: index }) => index,
        None => 0,
    };
    let mean = |k: usize| comparable(path, k, simulated[k]);
    let best = (0..predicted.len()).reduce(|a, b| if mean(b) > mean(a) { b } else { a }).unwrap_or(0);
    Ok(JudgedLink { link, predicted, chosen, best, simulated })
}

/// The mean simulated goodput, capped at the scheme's ceiling. See [`JudgedLink::comparable`].
fn comparable(path: &NetworkPath, scheme: usize, simulated: &SchemeResult) -> f64 {
    simulated.mean_bps.min(path.capacity() * PlanScheme::FITTED[scheme].ceiling())
}

/// The predicted number of bytes that the link sends for each byte of payload that arrives.
fn sent_per_useful(path: &NetworkPath, scheme: PlanScheme, weights: &Weights) -> f64 {
    predict(path, scheme, weights).map_or(f64::NAN, |got| got.sent_per_useful)
}

/// The median and the 95th percentile of `errors`. The two numbers are rounded to three decimals
/// and capped at 1000, so that the data file has no infinite numbers.
fn relative_error(errors: Vec<f64>) -> Option<RelativeError> {
    let links = errors.len() as u64;
    let three = |x: f64| (x.min(1e3) * 1e3).round() / 1e3;
    let (median, p95) = (three(quantile(errors.clone(), 50.0)), three(quantile(errors, 95.0)));
    (links > 0).then_some(RelativeError { median, p95, links })
}
