//! Chooses the scheme to use on a path, and lists warnings about the path. A scheme is a TCP
//! congestion control, with or without the tunnel.
//!
//! The caller predicts each scheme (see [`predict`](super::predict)) and passes the results as
//! [`Candidate`]s. `ripstop plan` prints the [`Choice`] and the [`Caution`]s.

use super::path::NetworkPath;
use super::scheme::PlanScheme;

/// The traffic that the path will carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficKind {
    /// Long transfers.
    #[default]
    Bulk,
    /// Small requests, calls, keystrokes.
    Interactive,
    /// Long transfers and small requests at the same time.
    Mixed,
}

/// The congestion control of the hosts that send over the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostTcp {
    /// CUBIC, which the user cannot change.
    Cubic,
    /// BBR, which the user cannot change.
    Bbr,
    /// CUBIC at present, the default of most systems. The user can switch every sending host to
    /// another congestion control.
    #[default]
    Any,
}

impl HostTcp {
    /// Whether these hosts can use `scheme`.
    pub fn allows(self, scheme: PlanScheme) -> bool {
        match self {
            HostTcp::Any => true,
            HostTcp::Cubic => matches!(scheme, PlanScheme::Cubic | PlanScheme::TunnelCubic),
            HostTcp::Bbr => matches!(scheme, PlanScheme::Bbr | PlanScheme::TunnelBbr),
        }
    }

    /// Whether every sending host must change its congestion control for `scheme`. A scheme with
    /// CUBIC needs no change.
    pub fn must_change_for(self, scheme: PlanScheme) -> bool {
        self == HostTcp::Any && !matches!(scheme, PlanScheme::Cubic | PlanScheme::TunnelCubic)
    }

    /// The effort to set up `scheme`: 0 for nothing, 1 for a change on every sending host, 2 for a
    /// tunnel between two ends, 3 for a tunnel and a change on every sending host.
    fn effort(self, scheme: PlanScheme) -> u32 {
        2 * u32::from(scheme.is_tunnel()) + u32::from(self.must_change_for(scheme))
    }
}

/// A scheme that the hosts can use, with its predicted results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The scheme.
    pub scheme: PlanScheme,
    /// Predicted goodput: payload delivered, bit/s.
    pub goodput_bps: f64,
    /// Bytes sent on the path for each byte of payload delivered.
    pub sent_per_useful: f64,
    /// The 99th percentile of the response time of a small request on the idle path, s.
    pub request_p99: f64,
}

impl Candidate {
    /// Bytes sent beyond the payload, as a share of the payload.
    pub fn overhead(&self) -> f64 {
        self.sent_per_useful - 1.0
    }
}

/// The user's requirements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wishes {
    /// The traffic that the path will carry.
    pub traffic: TrafficKind,
    /// The congestion control of the hosts. The caller must leave out candidates that the hosts do
    /// not allow.
    pub hosts: HostTcp,
    /// The largest acceptable [`Candidate::overhead`], a share of the payload. `None`: no limit.
    pub budget: Option<f64>,
}

/// Why a candidate was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceReason {
    /// The candidate has the highest goodput of all candidates.
    MostGoodput,
    /// The candidate's goodput is within half a per cent of the best goodput within the budget, and
    /// the candidate needs less set-up. For interactive traffic: requests in the tunnel would not
    /// be answered clearly sooner than with plain TCP.
    LessToSetUp,
    /// For interactive traffic: requests in the tunnel are answered clearly sooner than with plain
    /// TCP.
    LeastDelay,
    /// For mixed traffic: requests in the tunnel are answered clearly sooner than with plain TCP.
    /// The tunnel's goodput is close to the best goodput within the budget.
    Both,
    /// The candidate has the highest goodput of the candidates within the budget.
    MostInBudget,
}

/// The advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Use this candidate.
    Use {
        /// The candidate's index.
        index: usize,
        /// Why the candidate was chosen.
        reason: ChoiceReason,
    },
    /// The budget is too small for any useful candidate.
    BudgetTooSmall {
        /// The index of the candidate whose overhead a useful budget must allow. This candidate has
        /// the smallest overhead of all candidates with at least half of the best goodput.
        needs: usize,
    },
}

/// A candidate with at least this share of the best goodput counts as equal to the best. The
/// difference of half a per cent is smaller than the errors of the closed forms.
///
/// The campaign of seed 1 has 52 links of up to 40 Mbit/s. With twice the margin (0.99), the choice
/// was wrong on one more of these links. A smaller margin names schemes that need more set-up for a
/// gain that nobody can measure.
const PARITY: f64 = 0.995;
/// For mixed traffic: a scheme that answers requests sooner must have at least this share of the
/// best goodput. A smaller value gives up more goodput for shorter response times.
const ENOUGH_FOR_MIXED: f64 = 0.85;
/// The tunnel counts as answering requests sooner if the 99th percentile of its response times is
/// below this share of the same percentile of plain TCP. With a value closer to 1, a smaller
/// difference is enough.
const SHORTER: f64 = 0.95;
/// A candidate within the budget must have at least this share of the best goodput without a
/// budget. Otherwise the answer is [`Choice::BudgetTooSmall`]. Without this limit, a small budget
/// at 40 % of loss would choose CUBIC, which has a thousandth of the best goodput.
///
/// A smaller value recommends slower schemes before it asks for a larger budget.
const USEFUL_IN_BUDGET: f64 = 0.1;
/// When the budget is too small, the planner names the smallest overhead of all candidates that
/// have at least this share of the best goodput. A larger value names a larger budget.
const WORTH_THE_BUDGET: f64 = 0.5;

/// Chooses the candidate to use. Returns `None` if there are no candidates.
pub fn choose(candidates: &[Candidate], wishes: Wishes) -> Option<Choice> {
    let Wishes { traffic, hosts, budget } = wishes;
    let goodput = |k: usize| candidates[k].goodput_bps;
    let most = |among: &[usize]| among.iter().copied().reduce(|a, b| if goodput(b) > goodput(a) { b } else { a });
    let all: Vec<usize> = (0..candidates.len()).collect();
    let unbound = most(&all)?;
    let within = |k: &usize| budget.is_none_or(|budget| candidates[*k].overhead() <= budget);
    let allowed: Vec<usize> = all.iter().copied().filter(within).collect();
    let best = match most(&allowed) {
        Some(best) if goodput(best) >= USEFUL_IN_BUDGET * goodput(unbound) => best,
        _ => {
            let worth = all.into_iter().filter(|&k| goodput(k) >= WORTH_THE_BUDGET * goodput(unbound));
            let sends = |k: usize| candidates[k].sent_per_useful;
            let needs = worth.reduce(|a, b| if sends(b) < sends(a) { b } else { a })?;
            return Some(Choice::BudgetTooSmall { needs });
        }
    };
    // The candidate with the least set-up, among the candidates whose goodput counts as equal to
    // the best goodput in `among`.
    let simplest = |among: &[usize]| -> Option<usize> {
        let best = most(among)?;
        let as_good = among.iter().copied().filter(|&k| goodput(k) >= PARITY * goodput(best));
        let effort = |k: usize| hosts.effort(candidates[k].scheme);
        as_good.reduce(|a, b| match effort(b).cmp(&effort(a)) {
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal if goodput(b) > goodput(a) => b,
            _ => a,
        })
    };
    let family = |tunnel: bool| -> Vec<usize> {
        allowed.iter().copied().filter(|&k| candidates[k].scheme.is_tunnel() == tunnel).collect()
    };
    let index = simplest(&allowed)?;
    let for_bulk = match index == best {
        true if best == unbound => ChoiceReason::MostGoodput,
        true => ChoiceReason::MostInBudget,
        false => ChoiceReason::LessToSetUp,
    };
    let bulk = Choice::Use { index, reason: for_bulk };
    let (Some(plain), Some(tunnel)) = (simplest(&family(false)), simplest(&family(true))) else {
        return Some(bulk);
    };
    let shorter = candidates[tunnel].request_p99 < SHORTER * candidates[plain].request_p99;
    let enough = goodput(tunnel) >= ENOUGH_FOR_MIXED * goodput(best);
    Some(match traffic {
        TrafficKind::Interactive if shorter => Choice::Use { index: tunnel, reason: ChoiceReason::LeastDelay },
        TrafficKind::Interactive => Choice::Use { index: plain, reason: ChoiceReason::LessToSetUp },
        TrafficKind::Mixed if shorter && enough => Choice::Use { index: tunnel, reason: ChoiceReason::Both },
        TrafficKind::Bulk | TrafficKind::Mixed => bulk,
    })
}

/// A warning about a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caution {
    /// The path loses nothing, so coding would only add headers.
    NoLoss,
    /// Plain CUBIC fills the link in spite of the losses. Coding shortens delays but adds no
    /// goodput.
    CubicFillsLink,
    /// The bandwidth-delay product is so small that a repair queues behind the packets that it
    /// protects.
    SmallBdp {
        /// The bandwidth-delay product, packets.
        packets: f64,
    },
    /// The queue is so small that every TCP overflows the queue.
    SmallQueue {
        /// The size of the queue, packets.
        packets: f64,
    },
    /// Bursts of losses are so long that two connections of one scheme differ more than two schemes
    /// do.
    LongBursts,
    /// The losses may come from congestion. Coding does not help against congestion: such losses
    /// end only if the senders slow down.
    MayBeCongestion,
}

/// CUBIC fills the link if its goodput is at least this share of C (1-p) less headers. A smaller
/// value gives [`Caution::CubicFillsLink`] on more paths.
const FULL: f64 = 0.9;
/// The planner warns of a bandwidth-delay product below this value, packets. With twice the value,
/// the planner also warns on paths with up to twice the product.
const SMALL_BDP: f64 = 10.0;
/// The planner warns of a queue below this value, packets, if the queue also holds less than half
/// of the bandwidth-delay product. With half the value, the planner warns only of queues half as
/// long.
const SMALL_QUEUE: f64 = 20.0;
/// The planner warns of long bursts if a path exceeds both values. The first is the loss
/// probability, the second the mean burst length in packets. With lower values, the planner warns
/// on more paths.
const LONG_BURSTS: (f64, f64) = (0.01, 6.0);

/// All warnings for a path. `cubic_bps` is plain CUBIC's predicted goodput on the path, bit/s.
pub fn cautions(path: &NetworkPath, cubic_bps: f64) -> Vec<Caution> {
    let mut all = Vec::new();
    if path.loss == 0.0 && path.loss_back == 0.0 {
        all.push(Caution::NoLoss);
    } else {
        all.push(Caution::MayBeCongestion);
        if path.loss > 0.0 && cubic_bps >= FULL * PlanScheme::Cubic.ceiling() * path.capacity() {
            all.push(Caution::CubicFillsLink);
        }
    }
    if path.packets() < SMALL_BDP {
        all.push(Caution::SmallBdp { packets: path.packets() });
    }
    if path.queue_packets() < SMALL_QUEUE && path.queue_packets() < 0.5 * path.packets() {
        all.push(Caution::SmallQueue { packets: path.queue_packets() });
    }
    if path.loss > LONG_BURSTS.0 && path.burst > LONG_BURSTS.1 {
        all.push(Caution::LongBursts);
    }
    all
}
