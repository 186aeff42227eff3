//! Compares what was predicted on the links of a campaign with what was simulated.

use super::errors::{ALL_LINKS, PlanErrors, PlanHits, RelativeError};
use super::simulate::TCPNC;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::advice::{self, Candidate, Choice, Wishes};
use ripstop_model::plan::campaign::{CampaignRecord, CampaignResults, LinkResult, SchemeResult};
use ripstop_model::plan::{LossPattern, NetworkPath, PlanScheme, Weights, delay, predict};
use ripstop_sim::engine::percentile;

/// A scheme that brings this share of the best scheme's goodput counts as a hit.
const NEAR_BEST: f64 = 0.97;

/// A link with what was predicted on it.
#[derive(Debug)]
pub struct JudgedLink<'a> {
    /// The link.
    pub link: &'a LinkResult,
    /// The predicted goodput of each scheme, in the order of [`PlanScheme::FITTED`], bit/s.
    pub predicted: Vec<f64>,
    /// The index of the recommended scheme.
    pub chosen: usize,
    /// The index of the scheme that is best by simulation.
    pub best: usize,
    simulated: Vec<&'a SchemeResult>,
}

/// Judges the links on which every scheme was simulated.
///
/// # Errors
/// A link that no plan can be made for.
pub fn judge<'a>(results: &'a CampaignResults, weights: &Weights) -> LabResult<Vec<JudgedLink<'a>>> {
    let whole = results.link.iter().take(results.campaign.links as usize);
    whole.map(|link| judge_link(link, weights)).collect()
}

/// The relative errors of all figures, and how often the choice was right.
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
        if let Some(error) = tcpnc_error(of_kind()) {
            errors.set(TCPNC, kind, error);
        }
        for figure in FIGURES {
            if let Some(error) = figure_error(&figure, of_kind(), weights) {
                errors.set(figure.name, kind, error);
            }
        }
    }
    errors
}

/// How often the choice was right on `links`.
pub fn hits<'a, 'b: 'a>(links: impl Iterator<Item = &'a JudgedLink<'b>>) -> PlanHits {
    let mut hits = PlanHits { links: 0, scheme: 0, family: 0 };
    for one in links {
        hits.links += 1;
        hits.scheme += u64::from(one.is_near_best());
        hits.family += u64::from(one.is_family_near_best());
    }
    hits
}

/// The error of `figure` on `links`; `None` where the figure was simulated on none of them.
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

/// The error of TCP/NC's predicted goodput on `links`; `None` where TCP/NC was simulated on none of them.
pub fn tcpnc_error<'a, 'b: 'a>(links: impl Iterator<Item = &'a JudgedLink<'b>>) -> Option<RelativeError> {
    let error = |one: &JudgedLink<'_>| {
        let found = one.link.scheme.get(TCPNC)?;
        Some(if found.mean_bps > 0.0 {
            (found.predicted_bps / found.mean_bps - 1.0).abs()
        } else {
            f64::INFINITY
        })
    };
    relative_error(links.filter_map(error).collect())
}

/// The `percent`-th percentile of `values`; infinite where there are none.
pub fn quantile(mut values: Vec<f64>, percent: f64) -> f64 {
    percentile(&mut values, percent).unwrap_or(f64::INFINITY)
}

/// A figure that is predicted beside the goodput.
pub struct ErrorFigure {
    /// Its name in the data and in the report.
    pub name: &'static str,
    simulated: fn(&LinkResult) -> Option<f64>,
    predicted: fn(&NetworkPath, &Weights) -> f64,
}

/// All of them. DelayQuantiles of packets are those of BBR, plain and inside the tunnel; delays of requests those of CUBIC, plain and inside.
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
    /// The mean simulated goodput of a scheme, bit/s.
    pub fn mean(&self, scheme: usize) -> f64 {
        self.simulated[scheme].mean_bps
    }

    /// The mean simulated goodput for comparisons between schemes, at most what headers leave of C (1-p), bit/s.
    ///
    /// A flow that repairs a loss when the measurement begins delivers, in order, data that arrived before. Over long queues Reno's goodput is
    /// then up to 9 % above what headers leave. Nobody would get that from a longer transfer.
    fn comparable(&self, scheme: usize) -> f64 {
        comparable(&self.link.path, scheme, self.simulated[scheme])
    }

    /// What was simulated of a scheme.
    pub fn simulated(&self, scheme: usize) -> &SchemeResult {
        self.simulated[scheme]
    }

    /// The error of a scheme's predicted goodput, relative to the simulated mean.
    pub fn error(&self, scheme: usize) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { (self.predicted[scheme] / mean - 1.0).abs() } else { f64::INFINITY }
    }

    /// The standard deviation of a single run, relative to the mean.
    pub fn deviation(&self, scheme: usize) -> f64 {
        self.relative(scheme, self.simulated[scheme].deviation_bps)
    }

    /// The standard error of the simulated mean, relative to the mean. A perfect prediction is off by that much.
    pub fn standard_error(&self, scheme: usize) -> f64 {
        self.relative(scheme, self.simulated[scheme].standard_error())
    }

    /// Whether the recommended scheme brings about as much as the best one.
    pub fn is_near_best(&self) -> bool {
        self.share_of_best() >= NEAR_BEST
    }

    /// What the recommended scheme brings, as a share of what the best scheme brings.
    pub fn share_of_best(&self) -> f64 {
        let best = self.comparable(self.best);
        if best > 0.0 { self.comparable(self.chosen) / best } else { 1.0 }
    }

    fn is_family_near_best(&self) -> bool {
        let tunnel = PlanScheme::FITTED[self.chosen].is_tunnel();
        let family = (0..self.predicted.len()).filter(|k| PlanScheme::FITTED[*k].is_tunnel() == tunnel);
        family.map(|k| self.comparable(k)).fold(0.0, f64::max) >= NEAR_BEST * self.comparable(self.best)
    }

    fn relative(&self, scheme: usize, bps: f64) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { bps / mean } else { f64::INFINITY }
    }
}

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

fn comparable(path: &NetworkPath, scheme: usize, simulated: &SchemeResult) -> f64 {
    simulated.mean_bps.min(path.capacity() * PlanScheme::FITTED[scheme].ceiling())
}

fn sent_per_useful(path: &NetworkPath, scheme: PlanScheme, weights: &Weights) -> f64 {
    predict(path, scheme, weights).map_or(f64::NAN, |got| got.sent_per_useful)
}

/// The median and the 95th percentile of `errors`, three digits after the point, at most 1000.
fn relative_error(errors: Vec<f64>) -> Option<RelativeError> {
    let links = errors.len() as u64;
    let three = |x: f64| (x.min(1e3) * 1e3).round() / 1e3;
    let (median, p95) = (three(quantile(errors.clone(), 50.0)), three(quantile(errors, 95.0)));
    (links > 0).then_some(RelativeError { median, p95, links })
}
