//! The sentences that `ripstop plan` prints.
//!
//! Each function turns one decision or warning of [`ripstop_model::plan`] into text. The sentences
//! name the flags of `ripstop plan`. A scheme is a way to use the link, such as a plain TCP or a
//! TCP through the tunnel. The budget is the largest overhead that the user allows (`--budget`).

use crate::campaign::unfitted::Unfitted;
use ripstop_base::readable;
use ripstop_model::plan::advice::{Caution, ChoiceReason, HostTcp};
use ripstop_model::plan::block::BlockUnpredictable;
use ripstop_model::plan::lt::LtUnpredictable;
use ripstop_model::plan::nc::NcUnpredictable;
use ripstop_model::plan::validity::Extrapolated;
use ripstop_model::plan::{NetworkPath, PlanScheme};
use ripstop_sim::scenario::TunnelSpec;
use std::collections::BTreeMap;
use std::time::Duration;

/// The caution while the planner's data of some schemes, the keys of `behaviour`, are of an earlier simulator.
pub(super) fn outdated(behaviour: &BTreeMap<String, String>) -> String {
    let schemes: Vec<&str> = behaviour.keys().map(String::as_str).collect();
    format!(
        "{} changed since the predictions were compared with simulations; `make plan-report` compares them anew",
        match &schemes[..] {
            [one] => format!("{one} has"),
            many => format!("{} have", many.join(", ")),
        }
    )
}

/// The domain of validity in words: the range of links on which predictions were compared with
/// simulations.
pub(super) const DOMAIN: &str = "rate 0.5 Mbit/s to 1 Gbit/s, RTT 5 to 800 ms, loss 0 to 30 %, bursts of 1 to 20 packets, queue 0.1 to 4 \
                                 bandwidth-delay products, one connection";

/// The name of the model that predicts the goodput of `scheme`.
pub(super) fn model(scheme: PlanScheme) -> &'static str {
    match scheme {
        PlanScheme::Reno => "plan: the lower of (16) of paper 000 and the link's rate, times fitted efficiency factors",
        PlanScheme::Cubic => "plan: the lower of RFC 9438 5.1 and the link's rate, times fitted efficiency factors",
        PlanScheme::Bbr => "plan: the link's rate, times fitted efficiency factors",
        PlanScheme::TunnelCubic | PlanScheme::TunnelBbr => {
            "plan: the link's rate less the tunnel's headers, times fitted efficiency factors"
        }
    }
}

/// Why `scheme` is recommended.
pub(super) fn reason(reason: ChoiceReason, scheme: PlanScheme) -> &'static str {
    match reason {
        ChoiceReason::MostGoodput if scheme.is_tunnel() => {
            "it has the most goodput: the tunnel repairs losses, and the TCP inside does not take them for congestion"
        }
        ChoiceReason::MostGoodput => "it has the most goodput",
        ChoiceReason::LessToSetUp => "no scheme has noticeably more goodput, and this one needs less to be set up",
        ChoiceReason::LeastDelay => "its requests wait least when packets are lost",
        ChoiceReason::Both => {
            "it answers requests fast during transfers, and has about as much goodput as the best scheme"
        }
        ChoiceReason::MostInBudget => "it has the most goodput of the schemes within --budget",
    }
}

/// The goodput of the scheme that is best without a budget, and the budget that it needs.
pub(super) fn more_with_budget(scheme: PlanScheme, goodput_bps: f64, overhead: f64) -> String {
    format!(
        "; {} would have a goodput of {} with --budget {}%",
        scheme.name(),
        readable::rate(goodput_bps),
        percent_up(overhead)
    )
}

/// Why nothing is recommended: the budget is too small for every useful scheme.
pub(super) fn budget_too_small(scheme: PlanScheme, goodput_bps: f64, overhead: f64, path: &NetworkPath) -> String {
    let lost = path.loss / (1.0 - path.loss);
    format!(
        "--budget is too small for this link. The cheapest useful scheme, {}, sends {} % beyond the useful bytes and \
         has a goodput of {}; the link's losses alone take {} %. Give --budget {}% or more",
        scheme.name(),
        percent_up(overhead),
        readable::rate(goodput_bps),
        (100.0 * lost).round(),
        percent_up(overhead)
    )
}

/// The steps to set up a scheme.
pub(super) fn setup(scheme: PlanScheme, hosts: HostTcp) -> Vec<String> {
    let mut all = Vec::new();
    if scheme.is_tunnel() {
        all.push("set up a tunnel: `ripstop up` at both ends of the link".to_owned());
    }
    if hosts.must_change_for(scheme) {
        let (name, module) = match scheme {
            PlanScheme::Reno => ("Reno", "reno"),
            _ => ("BBR", "bbr"),
        };
        all.push(format!(
            "set up {name} on every host that sends over the link (Linux: sysctl net.ipv4.tcp_congestion_control={module})"
        ));
    }
    all
}

/// The best scheme if the hosts keep CUBIC, and its goodput.
pub(super) fn hosts_stay(scheme: PlanScheme, goodput_bps: f64) -> String {
    format!(
        "or leave the hosts with CUBIC (--hosts cubic) and use {}, which has a goodput of {}",
        scheme.name(),
        readable::rate(goodput_bps)
    )
}

/// The name of the model that predicts the goodput of a scheme whose closed form has no weights of its own.
pub(super) fn unfitted_model(scheme: Unfitted) -> &'static str {
    match scheme {
        Unfitted::TcpNc => "paper 000, (20) and VI-C",
        Unfitted::Block => "plan: the tunnel's model on the link that the block code leaves (paper 003, section 3)",
        Unfitted::Lt => "plan: the lowest of the link's rate, the window, the LT-ACKs and the blocks in flight",
    }
}

/// Why CUBIC over a block code is not predicted.
pub(super) fn block_not_predicted(why: BlockUnpredictable) -> &'static str {
    match why {
        BlockUnpredictable::Queue => {
            "over a queue of less than 8 packets, or less than .4 of the bandwidth-delay product, the tunnel's rate control \
             loses packets that the code does not send again"
        }
        BlockUnpredictable::Long => {
            "on a lossy path of more than 1000 packets, CUBIC needs longer than a simulated run after a block has failed"
        }
        BlockUnpredictable::Losses => {
            "no block code of up to 64 packets and 64 repairs leaves so few losses that CUBIC fills the link, and time-outs \
             decide the goodput"
        }
        BlockUnpredictable::Acks => {
            "bursts of losses take all acknowledgements of a window too often, and CUBIC then waits for time-outs"
        }
    }
}

/// Why TCP/LT is not predicted.
pub(super) fn lt_not_predicted(why: LtUnpredictable) -> &'static str {
    match why {
        LtUnpredictable::Window => "the path holds more packets than the largest window, 65536 packets",
        LtUnpredictable::Round => {
            "a round trip through the queue takes 1.9 s or more, and the gateway takes packets for lost after 2 s"
        }
    }
}

/// What a scheme that is not available would carry beyond the recommended scheme. `more` is a share.
pub(super) fn outlook(scheme: &str, more: f64, recommended: &str) -> String {
    format!("{scheme} would carry {:.0} % more than {recommended}; not available on the wire yet", 100.0 * more)
}

/// Why TCP/NC is not predicted.
pub(super) fn nc_not_predicted(why: NcUnpredictable) -> &'static str {
    match why {
        NcUnpredictable::Loss => {
            "above 3.5 % of loss, single connections stall in simulations, which the equation does not predict"
        }
        NcUnpredictable::Queue => {
            "in simulations, TCP/NC overflows a queue of this size, which the equation does not predict"
        }
        NcUnpredictable::Bursts => {
            "bursts of losses hit whole windows, so that TCP times out, which the equation does not predict"
        }
    }
}

/// The name of a property that is outside the domain of validity.
pub(super) fn extrapolated(quantity: Extrapolated) -> &'static str {
    match quantity {
        Extrapolated::Rate => "rate",
        Extrapolated::Rtt => "RTT",
        Extrapolated::Loss => "loss",
        Extrapolated::Burst => "bursts",
        Extrapolated::Queue => "queue",
        Extrapolated::Flows => "connections",
    }
}

/// The warning that the link is outside the domain of validity, so that the predictions
/// extrapolate.
pub(super) fn outside(quantities: &[&str]) -> String {
    format!(
        "this link is outside the range in which predictions were compared with simulations ({}): the \
         predictions extrapolate, and their errors are not known. --verify simulates this link",
        quantities.join(", ")
    )
}

/// The text of a warning.
pub(super) fn caution(caution: Caution) -> String {
    match caution {
        Caution::NoLoss => {
            "no loss: coding will not help. A tunnel would only add its headers to TCP's: another 4 % of the rate"
                .to_owned()
        }
        Caution::CubicFillsLink => {
            "plain CUBIC fills the link in spite of the losses: coding shortens delays, but adds no goodput".to_owned()
        }
        Caution::SmallBdp { packets } => format!(
            "the path holds {packets:.1} packets in flight: repairs queue behind the packets that they should repair, and little can be \
             measured"
        ),
        Caution::SmallQueue { packets } => format!(
            "the queue holds {packets:.0} packets: every TCP overflows the queue, and no code repairs what the queue drops"
        ),
        Caution::LongBursts => {
            "losses in long bursts: single connections of one scheme differ more than schemes do".to_owned()
        }
        Caution::MayBeCongestion => {
            "the plan holds for losses of the link itself. Losses that vanish when less is sent are congestion, and \
                                     coding will not help"
                .to_owned()
        }
    }
}

/// The text for the tunnel's configuration file. The text sets the rate and the redundancy. If the
/// user gave a budget, the text also sets a limit on overhead. If the default deadline is too short
/// for this link, the text also sets a deadline.
pub(super) fn config(path: &NetworkPath, budget: Option<f64>) -> String {
    let mut text = "[interface]\n# add private-key-file, address and [[peer]]: docs/operators/\nrate = \"fair\"\nredundancy = \"adaptive\"\n"
        .to_owned();
    if let Some(budget) = budget {
        let percent = (budget.min(1.0) * 100.0).round();
        text.push_str(&format!("max-overhead = {{ bulk = \"{percent}%\", interactive = \"{percent}%\" }}\n"));
    }
    // The deadline must be set if a burst and its repair take longer than the default deadline.
    let session = TunnelSpec::new("tunnel", "a", "b").config();
    let default = session.deadline(Duration::from_secs_f64(path.rtt), path.rate / 8.0, 0.0).as_secs_f64();
    let burst = 20.0 * path.burst * path.packet_time() + 4.0 * path.rtt;
    if burst > default {
        text.push_str(&format!("deadline = \"{burst:.1}s\"\n"));
    }
    text
}

fn percent_up(share: f64) -> f64 {
    (100.0 * share).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_model::plan::validity::{BURST_PACKETS, FLOWS, LOSS, QUEUE_BDPS, RATE_BPS, RTT_S};

    #[test]
    fn a_deadline_is_advised_only_where_the_default_is_too_short() {
        let path = |rate: f64, rtt: f64, burst: f64| NetworkPath {
            rate,
            rtt,
            loss: 0.1,
            loss_back: 0.1,
            burst,
            queue: 1e5,
            flows: 1,
        };
        let advised = |path| config(&path, None).contains("deadline = ");
        assert!(!advised(path(20e6, 0.1, 20.0)), "1 s covers the burst");
        assert!(advised(path(2e6, 0.01, 20.0)), "a burst of 20 packets and its repair take 2.4 s");
        assert!(!advised(path(0.5e6, 0.01, 2.0)), "the default is 2.4 s, the time of 100 packets");
    }

    #[test]
    fn the_domain_in_words_is_that_of_the_campaign() {
        let words = format!(
            "rate {} Mbit/s to {} Gbit/s, RTT {} to {} ms, loss {} to {} %, bursts of {} to {} packets, queue {} to {} bandwidth-delay products, \
             one connection",
            RATE_BPS.start() / 1e6,
            RATE_BPS.end() / 1e9,
            RTT_S.start() * 1e3,
            RTT_S.end() * 1e3,
            LOSS.start() * 1e2,
            LOSS.end() * 1e2,
            BURST_PACKETS.start(),
            BURST_PACKETS.end(),
            QUEUE_BDPS.start(),
            QUEUE_BDPS.end()
        );
        assert_eq!((words.as_str(), FLOWS), (DOMAIN, 1));
    }
}
