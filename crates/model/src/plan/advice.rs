//! Which scheme to use, and what is to be said of it.

use super::path::NetworkPath;
use super::scheme::PlanScheme;

/// What the link is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficKind {
    /// Long transfers.
    #[default]
    Bulk,
    /// Small requests, calls, keystrokes.
    Interactive,
    /// Both beside each other.
    Mixed,
}

/// A scheme that can be had, and what it is expected to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The scheme.
    pub scheme: PlanScheme,
    /// Payload, bit/s.
    pub goodput_bps: f64,
    /// Bytes sent for each useful one.
    pub sent_per_useful: f64,
    /// The 99th percentile of a small request on the quiet link, s.
    pub request_p99: f64,
}

/// Why a candidate was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceReason {
    /// It brings most.
    MostGoodput,
    /// Nothing brings noticeably more, and nothing has to be set up for it.
    AsGoodWithoutTunnel,
    /// Requests feel losses least in it.
    LeastDelay,
    /// It keeps requests short beside transfers and brings about as much.
    Both,
    /// It is the only kind within the budget.
    Budget,
    /// None is within the budget; it sends least.
    OverBudget,
}

/// A scheme and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Which candidate.
    pub index: usize,
    /// Why.
    pub reason: ChoiceReason,
}

/// What is less than this is no difference.
const PARITY: f64 = 0.99;
/// What mixed traffic may give of its goodput for short requests.
const FOR_DELAY: f64 = 0.85;

/// The one to use. None when there are no candidates.
///
/// `budget` is the most that may be sent beyond what is of use, as a share of it.
pub fn choose(candidates: &[Candidate], traffic: TrafficKind, budget: Option<f64>) -> Option<Choice> {
    let within = |one: &Candidate| budget.is_none_or(|budget| one.sent_per_useful - 1.0 <= budget);
    let allowed: Vec<usize> = (0..candidates.len()).filter(|&k| within(&candidates[k])).collect();
    let most = |among: &[usize]| {
        among
            .iter()
            .copied()
            .reduce(|a, b| if candidates[b].goodput_bps > candidates[a].goodput_bps { b } else { a })
    };
    let all: Vec<usize> = (0..candidates.len()).collect();
    let Some(best) = most(&allowed) else {
        let sends = |k: usize| candidates[k].sent_per_useful;
        let least = all.into_iter().reduce(|a, b| if sends(b) < sends(a) { b } else { a });
        return least.map(|index| Choice { index, reason: ChoiceReason::OverBudget });
    };
    let of_kind = |tunnel: bool| -> Vec<usize> {
        allowed.iter().copied().filter(|&k| candidates[k].scheme.is_tunnel() == tunnel).collect()
    };
    let (plain, tunnel) = (most(&of_kind(false)), most(&of_kind(true)));
    let unbound = most(&all) == Some(best);
    let bulk = match plain {
        Some(plain)
            if plain != best && candidates[plain].goodput_bps >= PARITY * candidates[best].goodput_bps =>
        {
            Choice { index: plain, reason: ChoiceReason::AsGoodWithoutTunnel }
        }
        _ => Choice {
            index: best,
            reason: if unbound { ChoiceReason::MostGoodput } else { ChoiceReason::Budget },
        },
    };
    let (Some(plain), Some(tunnel)) = (plain, tunnel) else { return Some(bulk) };
    let sooner = candidates[tunnel].request_p99 < 0.95 * candidates[plain].request_p99;
    Some(match traffic {
        TrafficKind::Interactive if sooner => Choice { index: tunnel, reason: ChoiceReason::LeastDelay },
        TrafficKind::Interactive => Choice { index: plain, reason: ChoiceReason::AsGoodWithoutTunnel },
        TrafficKind::Mixed
            if sooner && candidates[tunnel].goodput_bps >= FOR_DELAY * candidates[best].goodput_bps =>
        {
            Choice { index: tunnel, reason: ChoiceReason::Both }
        }
        TrafficKind::Bulk | TrafficKind::Mixed => bulk,
    })
}

/// What is to be said of a path plainly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caution {
    /// Nothing is lost: coding only costs its headers.
    NoLoss,
    /// So many plain connections fill the link in spite of its losses: coding brings shorter delays, not more goodput.
    FlowsFillIt,
    /// So few packets are on the way at a time that repairs queue behind what they are to mend.
    FewPackets {
        /// The bandwidth-delay product.
        packets: f64,
    },
    /// The queue holds so little that every TCP overruns it.
    ShallowQueue {
        /// What it holds.
        packets: f64,
    },
    /// Runs of losses are so long that single connections differ from each other by more than schemes do.
    LongRuns,
    /// If the losses go when less is sent, they are congestion, and no code helps.
    MayBeCongestion,
}

/// All that is to be said of a path.
pub fn cautions(path: &NetworkPath) -> Vec<Caution> {
    let mut all = Vec::new();
    if path.loss == 0.0 && path.loss_back == 0.0 {
        all.push(Caution::NoLoss);
    } else {
        all.push(Caution::MayBeCongestion);
        if path.loss > 0.0 && super::plain::cubic_by_losses(path) >= 0.9 * path.capacity() {
            all.push(Caution::FlowsFillIt);
        }
    }
    if path.packets() < 10.0 {
        all.push(Caution::FewPackets { packets: path.packets() });
    }
    if path.queue_packets() < 20.0 && path.queue_packets() < 0.5 * path.packets() {
        all.push(Caution::ShallowQueue { packets: path.queue_packets() });
    }
    if path.loss > 0.01 && path.burst > 6.0 {
        all.push(Caution::LongRuns);
    }
    all
}
