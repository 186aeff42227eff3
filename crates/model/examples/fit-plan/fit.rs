//! Fits the planner's weights to a campaign's results: efficiency factors, overheads and delays.

use crate::candidates::candidates;
use crate::least_squares::{Row, dot, robust};
use ripstop_model::plan::campaign::{CampaignRecord, CampaignResults, LinkResult, RequestResult, SchemeResult};
use ripstop_model::plan::efficiency::{Causes, Term};
use ripstop_model::plan::weights::{DelayWeights, TIMES};
use ripstop_model::plan::{NetworkPath, PlanScheme, SchemeWeights, Weights, delay, plain};

/// The weights that fit `results` best. A scheme that was not simulated keeps its weights of `before`.
///
/// # Errors
/// A scheme was not simulated, and there are no earlier weights, or they were fitted to other links.
pub(crate) fn weights(results: &CampaignResults, before: Option<&Weights>) -> Result<Weights, String> {
    let links = results.link.as_slice();
    let is_there = |scheme: PlanScheme| links.iter().any(|link| link.of(scheme).is_some());
    let mut campaign = results.campaign.clone();
    let missing: Vec<PlanScheme> = PlanScheme::FITTED.into_iter().filter(|scheme| !is_there(*scheme)).collect();
    let before = match (&missing[..], before) {
        ([], _) => None,
        ([first, ..], None) => return Err(format!("the campaign has no link with {}", first.name())),
        (_, Some(before)) => {
            let links = |campaign: &CampaignRecord| (campaign.seed, campaign.links, campaign.plain_links);
            if links(&before.campaign) != links(&campaign) {
                return Err("the earlier weights were fitted to other links; simulate all schemes".to_owned());
            }
            Some(before)
        }
    };
    for scheme in missing {
        let kept = before.and_then(|before| before.campaign.behaviour.get(scheme.name()));
        campaign.behaviour.extend(kept.map(|kept| (scheme.name().to_owned(), kept.clone())));
    }
    let scheme = |scheme| match before {
        Some(before) if !is_there(scheme) => before.of(scheme).clone(),
        _ => SchemeWeights {
            packets: packet_delays(scheme, links),
            efficiency: efficiency(scheme, links),
            overhead: overhead(scheme, links),
        },
    };
    let requests = |of: PlanScheme, results: fn(&LinkResult) -> Option<RequestResult>, kept: Option<&DelayWeights>| {
        if is_there(of) { request_delays(links, results) } else { kept.copied().unwrap_or(NO_DELAY) }
    };
    let (cubic, tunnel) = (PlanScheme::Cubic, PlanScheme::TunnelCubic);
    let plain_requests = requests(cubic, |link| link.plain_requests, before.map(|before| &before.plain_requests));
    let tunnel_requests = requests(tunnel, |link| link.tunnel_requests, before.map(|before| &before.tunnel_requests));
    Ok(Weights {
        campaign,
        plain_requests,
        tunnel_requests,
        reno: scheme(PlanScheme::Reno),
        cubic: scheme(PlanScheme::Cubic),
        bbr: scheme(PlanScheme::Bbr),
        tunnel_cubic: scheme(PlanScheme::TunnelCubic),
        tunnel_bbr: scheme(PlanScheme::TunnelBbr),
    })
}

/// The weights of a delay that is always 0.
const NO_DELAY: DelayWeights = DelayWeights { p50: [0.0; TIMES], p99: [0.0; TIMES] };

/// The smallest relative error of a link's goodput that the fit assumes. A larger value gives links
/// with many runs less weight.
const NOISE_FLOOR: f64 = 0.03;
/// The largest relative error of a link's goodput that the fit assumes. Because of this limit, a
/// link whose runs differ widely still counts. A larger value gives such links less weight.
const MOST_NOISE: f64 = 0.3;
/// The smallest ratio of a goodput to its bound in the fit. A smaller ratio counts as this value,
/// because the logarithm of 0 would be infinite. A smaller value gives failed links a larger
/// weight.
const LEAST_SHARE: f64 = 1e-3;
/// The smallest weight that is kept. A larger value gives fewer terms.
const SMALLEST_WEIGHT: f64 = 1e-4;
/// A scheme with a goodput below this share of C (1-p), the link's rate after losses, has too few
/// packets for percentiles of their delay. A larger value leaves more links out.
const ENOUGH_FOR_PERCENTILES: f64 = 1e-2;

/// The terms of the efficiency, fitted to the logarithm of the efficiency by least squares.
fn efficiency(scheme: PlanScheme, links: &[LinkResult]) -> Vec<Term> {
    let candidates = candidates();
    let row = |link: &LinkResult| {
        let simulated = link.of(scheme)?;
        let [by_losses, by_link] = plain::bounds(scheme, &link.path);
        let share = (simulated.mean_bps / by_losses.min(by_link)).clamp(LEAST_SHARE, 1.0);
        let left = -libm::log(share);
        let noise = (simulated.standard_error() / simulated.mean_bps.max(1.0)).min(MOST_NOISE);
        // The smaller the share of the bound, the less an error in the logarithm of this share
        // counts.
        let weight = 1.0 / (NOISE_FLOOR * NOISE_FLOOR + noise * noise + 0.01 * left.min(2.0).powi(2)).sqrt();
        Some(Row { products: products(&candidates, &link.path), left, weight })
    };
    let rows: Vec<Row> = links.iter().filter_map(row).collect();
    terms(&rows, candidates)
}

/// The terms of the overhead, fitted to the logarithm of the overhead by least squares. The
/// overhead is the number of bytes sent, divided by the number of bytes that headers and losses
/// require.
fn overhead(scheme: PlanScheme, links: &[LinkResult]) -> Vec<Term> {
    let candidates = candidates();
    let row = |link: &LinkResult| {
        let least = 1.0 / (scheme.ceiling() * (1.0 - link.path.loss));
        let left = libm::log((link.of(scheme)?.sent_per_useful? / least).clamp(1.0, 100.0));
        Some(Row { products: products(&candidates, &link.path), left, weight: 1.0 / (0.02 + 0.1 * left) })
    };
    let rows: Vec<Row> = links.iter().filter_map(row).collect();
    terms(&rows, candidates)
}

/// The weights of the times that make up a packet's delay.
fn packet_delays(scheme: PlanScheme, links: &[LinkResult]) -> DelayWeights {
    let fit = |of: fn(&SchemeResult) -> Option<f64>| {
        let row = |link: &LinkResult| {
            let simulated = link.of(scheme)?;
            let enough = simulated.mean_bps > ENOUGH_FOR_PERCENTILES * link.path.capacity();
            let whole = of(simulated).filter(|_| enough)?;
            let left = whole - link.path.rtt / 2.0;
            let products = delay::packet_times(&link.path).to_vec();
            Some(Row { products, left, weight: 1.0 / whole.max(1e-4) })
        };
        times(&links.iter().filter_map(row).collect::<Vec<Row>>())
    };
    DelayWeights { p50: fit(|one| one.packet_p50_s), p99: fit(|one| one.packet_p99_s) }
}

/// The weights of the times that make up a request's delay.
fn request_delays(links: &[LinkResult], requests: fn(&LinkResult) -> Option<RequestResult>) -> DelayWeights {
    let fit = |of: fn(RequestResult) -> Option<f64>, quantile: f64| {
        let row = |link: &LinkResult| {
            let whole = of(requests(link)?)?;
            let left = (whole - link.path.rtt).max(0.0);
            let products = delay::request_times(&link.path, quantile).to_vec();
            Some(Row { products, left, weight: 1.0 / whole.max(1e-4) })
        };
        times(&links.iter().filter_map(row).collect::<Vec<Row>>())
    };
    DelayWeights { p50: fit(|one| one.p50_s, 0.5), p99: fit(|one| one.p99_s, 0.99) }
}

/// The product of each candidate term on `path`.
fn products(candidates: &[Causes], path: &NetworkPath) -> Vec<f64> {
    let causes = Causes::of(path);
    candidates.iter().map(|powers| Term::product(powers, &causes)).collect()
}

/// The terms whose weighted sums are closest to the logarithms in `rows`. Weights have five digits
/// after the point.
fn terms(rows: &[Row], candidates: Vec<Causes>) -> Vec<Term> {
    let mut weights = vec![0.0; candidates.len()];
    robust(rows, 1.0, &mut weights);
    let kept = candidates.into_iter().zip(weights).filter(|(_, weight)| *weight > SMALLEST_WEIGHT);
    kept.map(|(powers, weight)| Term { weight: libm::round(weight * 1e5) / 1e5, powers }).collect()
}

/// The weights of the times that make up a delay. The weighted sum of the times is fitted to the
/// delay by ratio: a sum of twice the delay is as bad as a sum of half the delay. The weight of a
/// row is one over the whole delay. Weights have four digits after the point.
fn times(rows: &[Row]) -> [f64; TIMES] {
    let mut found = [0.0; TIMES];
    robust(rows, 0.5, &mut found);
    for _ in 0..10 {
        let weighed = rows.iter().map(|row| {
            let whole = 1.0 / row.weight;
            let predicted = (whole + dot(&row.products, &found) - row.left).max(0.1 * whole);
            Row { products: row.products.clone(), weight: 1.0 / (whole * predicted).sqrt(), ..*row }
        });
        robust(&weighed.collect::<Vec<Row>>(), 0.5, &mut found);
    }
    found.map(|weight| libm::round(weight * 1e4) / 1e4)
}
