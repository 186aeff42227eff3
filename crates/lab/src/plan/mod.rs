//! The planner, which answers `ripstop plan` about one link before the link is used.
//!
//! A scheme is a way to use the link: a plain TCP, a TCP through the tunnel, TCP/NC, a block code, or
//! TCP/LT. [`plan()`] predicts every scheme with the closed forms of [`ripstop_model::plan`]. The
//! planner also simulates some schemes. The planner recommends one scheme, and warns if coding will
//! not help. [`mod@answer`] holds the result as data. The sentences of the result name the flags of
//! `ripstop plan`.
//!
//! The closed forms have weights that were fitted to simulations of random links, called a campaign
//! (see `campaign/mod.rs`). The errors of the closed forms were measured on another campaign. The
//! domain of validity is the range of links that these campaigns cover.

pub mod answer;
mod schemes;
mod words;

use crate::campaign::errors::{ALL_LINKS, PlanErrors, PlanHits};
use crate::campaign::unfitted::Unfitted;
use crate::campaign::{CampaignStage, data};
use crate::error::LabError;
use answer::{Accuracy, LinkFacts, PlanAnswer, SchemePlan, Stations};
use ripstop_model::domain::DomainError;
use ripstop_model::plan::advice::{self, Candidate, Choice, ChoiceReason, HostTcp, TrafficKind, Wishes};
use ripstop_model::plan::{LossPattern, NetworkPath, PlanScheme, validity};
use ripstop_model::stations::{CellularNetwork, Protocol};
use schemes::Planner;

/// Power of a base station, W. Paper 000, section VII, gives 2 to 3 kW; this value is the middle.
/// Half the value halves the saved power, and double the value doubles it.
const STATION_W: f64 = 2500.0;

/// A question to the planner.
#[derive(Clone, Copy, Debug)]
pub struct PlanQuestion {
    /// What the link is for, which TCP the hosts can run, and the largest overhead allowed.
    pub wishes: Wishes,
    /// Number of users of base stations. Each user has a link like the planned one. If None, the
    /// answer has no number of base stations.
    pub users: Option<u32>,
    /// Whether every scheme is simulated (`--verify`).
    pub verify: bool,
}

/// The reason why there is no plan.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlanError {
    /// A property of the link, or the number of users, is outside the range of the models.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The weights or errors in `crates/model/data` cannot be read, or a simulation failed.
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Makes the plan for `path`.
///
/// # Errors
/// Fails when `path` or the number of users is outside the range of the models. Also fails when the
/// planner's data cannot be read, or when a simulation fails.
pub fn plan(path: &NetworkPath, question: &PlanQuestion) -> Result<PlanAnswer, PlanError> {
    path.check()?;
    let (weights, errors) = (data::weights()?, data::errors()?);
    let wishes = question.wishes;
    let extrapolated: Vec<&'static str> = validity::extrapolated(path).into_iter().map(words::extrapolated).collect();
    let known = extrapolated.is_empty();
    let planner = Planner {
        path,
        stage: CampaignStage::of(path),
        weights: &weights,
        errors: known.then_some(&errors),
        verify: question.verify,
    };
    let mut schemes = Vec::new();
    for scheme in PlanScheme::FITTED {
        schemes.push(planner.scheme(scheme, wishes.hosts.allows(scheme))?);
    }
    let candidates: Vec<Candidate> = PlanScheme::FITTED.into_iter().zip(&schemes).map(candidate).collect();
    let advised = advise(path, &candidates, wishes)?;
    let cubic = candidates.iter().find(|one| one.scheme == PlanScheme::Cubic).map_or(0.0, |one| one.goodput_bps);
    for scheme in Unfitted::ALL {
        schemes.push(planner.unfitted(scheme, wishes.hosts)?);
    }
    let mut cautions: Vec<String> = Vec::new();
    if !known {
        cautions.push(words::outside(&extrapolated));
    }
    cautions.extend(advice::cautions(path, cubic).into_iter().map(words::caution));
    let outdated = data::refit_pending()?;
    if !outdated.is_empty() {
        cautions.push(words::outdated(&outdated));
    }
    let tunnel = advised.scheme.is_some_and(PlanScheme::is_tunnel);
    Ok(PlanAnswer {
        link: facts(path),
        traffic: match wishes.traffic {
            TrafficKind::Bulk => "bulk",
            TrafficKind::Interactive => "interactive",
            TrafficKind::Mixed => "mixed",
        },
        hosts: match wishes.hosts {
            HostTcp::Cubic => "cubic",
            HostTcp::Bbr => "bbr",
            HostTcp::Any => "any",
        },
        budget: wishes.budget,
        recommended: advised.scheme.map(PlanScheme::name),
        reason: advised.reason,
        budget_needed: advised.budget_needed,
        setup: advised.setup,
        coding_helps: tunnel,
        outlook: advised.scheme.map_or_else(Vec::new, |scheme| outlook(scheme, &candidates, &schemes)),
        cautions,
        accuracy: known.then(|| accuracy(&errors, path)).flatten(),
        domain: words::DOMAIN,
        extrapolated,
        config: tunnel.then(|| words::config(path, wishes.budget)),
        schemes,
        stations: question.users.map(|users| stations(path, users)).transpose()?,
    })
}

/// The recommendation in words.
struct Advised {
    scheme: Option<PlanScheme>,
    reason: String,
    budget_needed: Option<f64>,
    setup: Vec<String>,
}

/// What the schemes that are not available would carry beyond the recommended scheme. A difference within the 95th
/// percentile of a scheme's errors is left out, and so are schemes without measured errors.
fn outlook(recommended: PlanScheme, candidates: &[Candidate], schemes: &[SchemePlan]) -> Vec<String> {
    let Some(best) = candidates.iter().find(|one| one.scheme == recommended) else { return Vec::new() };
    let more = |plan: &SchemePlan| {
        let (goodput, error) = (plan.goodput_bps?, plan.error_p95?);
        let more = goodput / best.goodput_bps - 1.0;
        (more.is_finite() && more > error).then(|| words::outlook(plan.scheme, more, recommended.name()))
    };
    schemes.iter().filter(|plan| !plan.available).filter_map(more).collect()
}

fn candidate((scheme, plan): (PlanScheme, &SchemePlan)) -> Candidate {
    Candidate {
        scheme,
        goodput_bps: plan.expected_bps(),
        sent_per_useful: plan.sent_per_useful.unwrap_or(f64::INFINITY),
        request_p99: plan.request_p99_s.unwrap_or(f64::INFINITY),
    }
}

fn advise(path: &NetworkPath, all: &[Candidate], wishes: Wishes) -> Result<Advised, PlanError> {
    let allowed: Vec<Candidate> = all.iter().copied().filter(|one| wishes.hosts.allows(one.scheme)).collect();
    let choice = advice::choose(&allowed, wishes)
        .ok_or_else(|| LabError::Work("there is no scheme to choose from".to_owned()))?;
    let (index, reason) = match choice {
        Choice::Use { index, reason } => (index, reason),
        Choice::BudgetTooSmall { needs } => {
            let Candidate { scheme, goodput_bps, .. } = allowed[needs];
            let overhead = allowed[needs].overhead();
            return Ok(Advised {
                scheme: None,
                reason: words::budget_too_small(scheme, goodput_bps, overhead, path),
                budget_needed: Some(overhead),
                setup: Vec::new(),
            });
        }
    };
    let scheme = allowed[index].scheme;
    let mut text = words::reason(reason, scheme).to_owned();
    let unbound = advice::choose(&allowed, Wishes { budget: None, ..wishes });
    if let (ChoiceReason::MostInBudget, Some(Choice::Use { index, .. })) = (reason, unbound) {
        let best = &allowed[index];
        text.push_str(&words::more_with_budget(best.scheme, best.goodput_bps, best.overhead()));
    }
    let mut setup = words::setup(scheme, wishes.hosts);
    if wishes.hosts.must_change_for(scheme) {
        let cubic: Vec<Candidate> = all.iter().copied().filter(|one| HostTcp::Cubic.allows(one.scheme)).collect();
        if let Some(Choice::Use { index, .. }) = advice::choose(&cubic, wishes) {
            setup.push(words::hosts_stay(cubic[index].scheme, cubic[index].goodput_bps));
        }
    }
    Ok(Advised { scheme: Some(scheme), reason: text, budget_needed: None, setup })
}

fn accuracy(errors: &PlanErrors, path: &NetworkPath) -> Option<Accuracy> {
    let pattern = LossPattern::of(path);
    let (all, some) = (errors.hits.get(ALL_LINKS)?, errors.hits.get(pattern.name())?);
    let share = |hits: &PlanHits, of: u64| of as f64 / hits.links.max(1) as f64;
    Some(Accuracy {
        seed: errors.campaign.seed,
        links: all.links,
        scheme: share(all, all.scheme),
        family: share(all, all.family),
        pattern: pattern.words(),
        pattern_links: some.links,
        pattern_scheme: share(some, some.scheme),
    })
}

fn facts(path: &NetworkPath) -> LinkFacts {
    LinkFacts {
        rate_bps: path.rate,
        rtt_s: path.rtt,
        loss: path.loss,
        loss_back: path.loss_back,
        burst_packets: path.burst,
        queue_bytes: path.queue,
        flows: path.flows,
        capacity_bps: path.capacity(),
        bdp_packets: path.packets(),
    }
}

fn stations(path: &NetworkPath, users: u32) -> Result<Stations, PlanError> {
    let network = |protocol| CellularNetwork {
        users,
        user_bps: path.rate,
        station_bps: CellularNetwork::default().station_bps.max(path.rate),
        loss: path.loss,
        protocol,
        ..CellularNetwork::default()
    };
    let count = |protocol: Protocol| {
        let needed = network(protocol.with_rtt(path.rtt)).predict();
        needed.map(|needed| needed.whole_stations)
    };
    let (tcp, tcpnc) = (count(Protocol::PAPER_TCP)?, count(Protocol::paper_tcp_nc(path.loss))?);
    Ok(Stations { users, tcp, tcpnc, saved: tcp - tcpnc, saved_power_w: (tcp - tcpnc) * STATION_W })
}
