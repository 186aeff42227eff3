//! The redundancy of a session in the daemon's status: for each direction and class the present number of repairs, and
//! why it is this number.

use super::status::Name;
use ripstop_base::counters;
use ripstop_proto::coding::ClassCounts;
use ripstop_proto::control::loss::PRESUMED_PACKETS;
use ripstop_proto::control::redundancy::{Explanation, Limit};
use ripstop_proto::packets::HintCounts;
use ripstop_proto::session::tunnel::{ClassStatus, Status};
use serde::{Deserialize, Serialize};

/// The redundancy of a session, by direction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedundancyStatus {
    /// What this host sends to the peer.
    pub to_peer: RedundancyToPeer,
    /// What the peer sends.
    pub from_peer: RedundancyFromPeer,
}

/// The redundancy towards the peer, by class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedundancyToPeer {
    /// Packets of flows that use little of the path's rate, or whose DSCP or ports say that delay matters.
    pub interactive: ClassRedundancy,
    /// All other packets.
    pub bulk: ClassRedundancy,
}

counters! {
    /// Repairs of one class that were left out.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct BudgetCounts {
        /// Repairs that were due but not sent, because of `max-overhead` or of the limit for interactive packets.
        pub over_budget: u64 => ("over_budget", "over_budget_total"),
    }
}

/// The redundancy of one class towards the peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClassRedundancy {
    /// Packets and their repairs.
    #[serde(flatten)]
    pub counts: ClassCounts,
    /// Hints of the class, and how often packets followed them.
    #[serde(flatten)]
    pub hints: HintCounts,
    /// Repairs that were left out.
    #[serde(flatten)]
    pub budget: BudgetCounts,
    /// The present R: packets sent for each source packet, exact repairs excluded.
    pub r: f64,
    /// Share of the packets that the repairs expect to be lost, congestion excluded. 0 on a clean path.
    pub expected_loss: f64,
    /// Mean length of a run of losses, in packets.
    pub mean_burst_packets: f64,
    /// Target of the residual loss: the largest probability that an interactive packet is lost with all its repairs, or
    /// that packets of a bulk flow wait for an exact repair. Null if no losses decide R.
    pub residual_loss_target: Option<f64>,
    /// By how much a backlog in the send queue relaxes the target, 0 to 1.
    pub backlog_relaxation: f64,
    /// Limit on repair bytes for each byte of packets (`max-overhead`).
    pub max_overhead: f64,
    /// What limits R: `setting`, `clean-path`, `useless`, `congestion`, `backlog`, `budget`, `most-repairs` or `target`.
    pub limit: Name,
    /// All of this in words.
    pub explanation: String,
}

/// The redundancy from the peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedundancyFromPeer {
    /// R of what arrived: source symbols and repairs, exact repairs included, for each source symbol. Null before the
    /// first source symbol.
    pub r: Option<f64>,
    /// Share of the peer's datagrams that were lost in this session.
    pub loss: f64,
    /// Mean length of a run of losses, in packets.
    pub mean_burst_packets: f64,
    /// All of this in words.
    pub explanation: String,
}

impl RedundancyStatus {
    pub(super) fn of(status: &Status) -> RedundancyStatus {
        let interactive = "may be lost together with all their repairs";
        let bulk = "of the flights may need a repair that the peer must ask for";
        let known = status.path.settled.0;
        RedundancyStatus {
            to_peer: RedundancyToPeer {
                interactive: ClassRedundancy::of(&status.interactive, interactive, known),
                bulk: ClassRedundancy::of(&status.bulk, bulk, known),
            },
            from_peer: RedundancyFromPeer::of(status),
        }
    }
}

impl ClassRedundancy {
    /// `aim` continues the sentence "at most x %". `known` is the number of datagrams to the peer whose fate is known.
    fn of(class: &ClassStatus, aim: &str, known: u64) -> ClassRedundancy {
        let ClassStatus { counts, hints, explanation, .. } = class;
        ClassRedundancy {
            counts: *counts,
            hints: *hints,
            budget: BudgetCounts { over_budget: class.over_budget },
            r: explanation.ratio,
            expected_loss: explanation.losses.share,
            mean_burst_packets: explanation.losses.burst,
            residual_loss_target: explanation.target,
            backlog_relaxation: explanation.relaxation,
            max_overhead: class.max_overhead,
            limit: explanation.limit.name().into(),
            explanation: in_words(explanation, aim, known),
        }
    }
}

impl RedundancyFromPeer {
    fn of(status: &Status) -> RedundancyFromPeer {
        let (received, losses) = (&status.received, status.path.losses_from_peer);
        let r = (received.sources > 0).then(|| 1.0 + received.repairs as f64 / received.sources as f64);
        let shown = r.map_or_else(|| "the peer has sent no packets".to_owned(), |r| format!("R = {r:.2}"));
        RedundancyFromPeer {
            r,
            loss: losses.share,
            mean_burst_packets: losses.burst,
            explanation: format!(
                "{shown}: {} of the peer's datagrams were lost, in runs of {:.1}; `ripstop status` on the peer says what limits R",
                percent(losses.share),
                losses.burst
            ),
        }
    }
}

/// An explanation as a sentence.
fn in_words(explanation: &Explanation, aim: &str, known: u64) -> String {
    let Explanation { ratio, losses, target, relaxation, limit } = explanation;
    let why = reason(*limit);
    let Some(target) = target else { return format!("R = {ratio:.2}: {why}") };
    let relaxed = if *relaxation > 0.0 {
        format!(" (relaxed by {}, because packets wait in the send queue)", percent(*relaxation))
    } else {
        String::new()
    };
    let guess = if (known as f64) < PRESUMED_PACKETS {
        format!(" (a guess in part, until the peer has reported {PRESUMED_PACKETS} datagrams; {known} so far)")
    } else {
        String::new()
    };
    format!(
        "R = {ratio:.2}: {} of the packets are expected to be lost, in runs of {:.1}{guess}; at most {} {aim}{relaxed}; {why}",
        percent(losses.share),
        losses.burst,
        percent(*target),
    )
}

fn reason(limit: Limit) -> &'static str {
    match limit {
        Limit::Setting => "the setting `redundancy` decides",
        Limit::CleanPath => "the path is clean, so no packets are protected in advance",
        Limit::Useless => "the peer reports that repairs recover nothing, so they are suspended",
        Limit::Congestion => "the rest of the loss counts as congestion, which the sender answers by slowing down",
        Limit::Backlog => "packets at the end of the send queue wait longer than a repair after a report takes",
        Limit::Budget => "the limit `max-overhead` is reached",
        Limit::MostRepairs => "each packet has the largest number of repairs",
        Limit::Target => "this number of repairs reaches the target",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_proto::control::loss::Losses;

    #[test]
    fn a_guess_is_called_a_guess() {
        let losses = Losses { share: 0.035, burst: 8.0 };
        let explanation =
            Explanation { ratio: 5.0, losses, target: Some(0.001), relaxation: 0.0, limit: Limit::MostRepairs };
        let words = |known| in_words(&explanation, "may be lost", known);
        assert!(words(59).contains(
            "in runs of 8.0 (a guess in part, until the peer has reported 60 datagrams; 59 so far); at most 0.1 %"
        ));
        assert!(!words(60).contains("guess"));
    }
}
