//! Which scheme to use on a path, and what to warn of.

use super::path::NetworkPath;
use super::scheme::PlanScheme;

/// What the path is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficKind {
    /// Long transfers.
    #[default]
    Bulk,
    /// Small requests, calls, keystrokes.
    Interactive,
    /// Both at the same time.
    Mixed,
}

/// The congestion control of the hosts that send over the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostTcp {
    /// CUBIC, and nobody can change it.
    Cubic,
    /// BBR, and nobody can change it.
    Bbr,
    /// CUBIC, as most systems have by default. Every sending host can be set to another.
    #[default]
    Any,
}

impl HostTcp {
    /// Whether such hosts can use `scheme`.
    pub fn allows(self, scheme: PlanScheme) -> bool {
        match self {
            HostTcp::Any => true,
            HostTcp::Cubic => matches!(scheme, PlanScheme::Cubic | PlanScheme::TunnelCubic),
            HostTcp::Bbr => matches!(scheme, PlanScheme::Bbr | PlanScheme::TunnelBbr),
        }
    }

    /// Whether every sending host must be set up for `scheme`.
    pub fn must_change_for(self, scheme: PlanScheme) -> bool {
        self == HostTcp::Any && !matches!(scheme, PlanScheme::Cubic | PlanScheme::TunnelCubic)
    }

    /// How much has to be set up for `scheme`: nothing; every host; both ends of a tunnel; both.
    fn effort(self, scheme: PlanScheme) -> u32 {
        2 * u32::from(scheme.is_tunnel()) + u32::from(self.must_change_for(scheme))
    }
}

/// A scheme that can be used, and what it is expected to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The scheme.
    pub scheme: PlanScheme,
    /// Payload, bit/s.
    pub goodput_bps: f64,
    /// Bytes sent for each useful byte.
    pub sent_per_useful: f64,
    /// The 99th percentile of a small request on the idle path, s.
    pub request_p99: f64,
}

impl Candidate {
    /// Bytes sent beyond the useful ones, as a share of the useful ones.
    pub fn overhead(&self) -> f64 {
        self.sent_per_useful - 1.0
    }
}

/// What is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wishes {
    /// What the path is for.
    pub traffic: TrafficKind,
    /// What the hosts run. Candidates that the hosts do not allow must be left out by the caller.
    pub hosts: HostTcp,
    /// The most bytes that may be sent beyond the useful ones, as a share of the useful ones.
    pub budget: Option<f64>,
}

/// Why a candidate was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceReason {
    /// It brings the most.
    MostGoodput,
    /// It brings as much as the best within half a per cent, and less has to be set up.
    LessToSetUp,
    /// Requests wait least in it.
    LeastDelay,
    /// It keeps requests short beside transfers, and brings about as much as the best.
    Both,
    /// It brings the most of those within the budget.
    MostInBudget,
}

/// The advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Use a candidate.
    Use {
        /// The candidate's index.
        index: usize,
        /// Why.
        reason: ChoiceReason,
    },
    /// The budget is too small for anything useful.
    BudgetTooSmall {
        /// The index of the candidate that sends the least of those that bring at least half of the best.
        needs: usize,
    },
}

/// Candidates that bring this share of the best are as good: the errors of the closed forms are larger.
const PARITY: f64 = 0.995;
/// For mixed traffic: the share of the best goodput that a scheme with shorter requests must bring.
const ENOUGH_FOR_MIXED: f64 = 0.85;
/// A scheme with shorter requests must have a 99th percentile below this share of the other's.
const SHORTER: f64 = 0.95;
/// What stays within the budget must bring this share of what the best brings without it. At 40 % of loss CUBIC sends the least and brings a
/// thousandth.
const USEFUL_IN_BUDGET: f64 = 0.1;
/// What a larger budget is named for must bring this share of the best.
const WORTH_THE_BUDGET: f64 = 0.5;

/// The candidate to use; `None` where there are no candidates.
pub fn choose(candidates: &[Candidate], wishes: Wishes) -> Option<Choice> {
    let Wishes { traffic, hosts, budget } = wishes;
    let goodput = |k: usize| candidates[k].goodput_bps;
    let most =
        |among: &[usize]| among.iter().copied().reduce(|a, b| if goodput(b) > goodput(a) { b } else { a });
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
    // Of those as good as the best of `among`, the one with the least to set up.
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
        TrafficKind::Interactive if shorter => {
            Choice::Use { index: tunnel, reason: ChoiceReason::LeastDelay }
        }
        TrafficKind::Interactive => Choice::Use { index: plain, reason: ChoiceReason::LessToSetUp },
        TrafficKind::Mixed if shorter && enough => Choice::Use { index: tunnel, reason: ChoiceReason::Both },
        TrafficKind::Bulk | TrafficKind::Mixed => bulk,
    })
}

/// What to warn of on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caution {
    /// Nothing is lost: coding only costs its headers.
    NoLoss,
    /// Plain CUBIC fills the link in spite of its losses: coding shortens delays and brings no goodput.
    CubicFillsLink,
    /// The bandwidth-delay product is so small that repairs queue behind the packets that they should repair.
    SmallBdp {
        /// The product, packets.
        packets: f64,
    },
    /// The queue is so small that every TCP overruns it.
    SmallQueue {
        /// What the queue holds, packets.
        packets: f64,
    },
    /// Bursts of losses are so long that single connections differ more than schemes do.
    LongBursts,
    /// Losses that vanish when less is sent are congestion, which no code repairs.
    MayBeCongestion,
}

/// A share of C (1-p) less headers from which the link counts as full.
const FULL: f64 = 0.9;
/// A smaller bandwidth-delay product is warned of, packets.
const SMALL_BDP: f64 = 10.0;
/// A smaller queue is warned of if it is also less than half of the bandwidth-delay product, packets.
const SMALL_QUEUE: f64 = 20.0;
/// Loss and burst length above which single connections differ more than schemes do.
const LONG_BURSTS: (f64, f64) = (0.01, 6.0);

/// All warnings for a path on which plain CUBIC brings `cubic_bps`.
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
