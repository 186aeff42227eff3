//! The last sentence of a demonstration: which contender won, by how much, and why. Every figure in the sentence
//! comes from the run.

use super::ContenderReport;
use crate::output;
use serde::Serialize;

/// Two goodputs that differ by less than this share count as equal. The goodput of one contender differs by about this
/// share from run to run.
const EQUAL: f64 = 0.03;

/// From this share on, BBR has kept its rate. BBR reaches .93 on most paths and about .5 at 20 % losses. With half the value,
/// the sentence denies that BBR has lost half its rate. With double the value, BBR would never have kept its rate.
const KEPT: f64 = 0.75;

/// Which contender won, by how much, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// The contender with the highest goodput in the measured interval.
    pub(crate) winner: &'static str,
    /// The contender with which the winner is compared. If the winner used the tunnel, this is the best contender
    /// without the tunnel. If the winner used no tunnel, this is the best contender with the tunnel. If no such
    /// contender received anything, this is the second best contender. If only the winner received anything, this is
    /// the first other contender. Null if the winner ran alone.
    pub(crate) compared_with: Option<&'static str>,
    /// Goodput of the winner, divided by the goodput of `compared_with`. Null if `compared_with` is
    /// null or received nothing.
    pub(crate) goodput_ratio: Option<f64>,
    /// The whole verdict as one sentence for people.
    pub(crate) sentence: String,
}

impl Verdict {
    /// None when no contender received anything.
    pub(crate) fn of(contenders: &[ContenderReport]) -> Option<Verdict> {
        let winner = best(contenders.iter())?;
        let others = || contenders.iter().filter(|c| c.name != winner.name);
        let rival = best(others().filter(|c| c.tunnel.is_some() != winner.tunnel.is_some())).or(best(others()));
        let slower = rival.or(others().next());
        let goodput = winner.bulk.goodput_bps;
        let ratio = rival.map(|rival| goodput / rival.bulk.goodput_bps);
        let name = winner.name;
        let rate = output::rate(goodput);
        let lead = match (slower, ratio) {
            (None, _) => format!("{name} ran alone and reached {rate}"),
            (Some(slower), None) => format!("{name} wins with {rate}; {} received nothing", slower.name),
            (Some(slower), Some(ratio)) => {
                let other = output::rate(slower.bulk.goodput_bps);
                match ratio {
                    r if r < 1.0 + EQUAL => {
                        format!("{name} ({rate}) and {} ({other}) are equal within {:.0} %", slower.name, 100.0 * EQUAL)
                    }
                    r if r < 2.0 => {
                        format!(
                            "{name} wins with {rate}, {:.0} % more than {} ({other})",
                            100.0 * (r - 1.0),
                            slower.name
                        )
                    }
                    r => format!("{name} wins with {rate}, {r:.1} times {} ({other})", slower.name),
                }
            }
        };
        Some(Verdict {
            winner: name,
            compared_with: slower.map(|slower| slower.name),
            goodput_ratio: ratio,
            sentence: format!("{lead}: {}.", reason(winner, slower)),
        })
    }
}

/// The contender with the highest goodput above zero. If several contenders are equal, the first of these.
fn best<'a>(contenders: impl Iterator<Item = &'a ContenderReport>) -> Option<&'a ContenderReport> {
    contenders
        .filter(|c| c.bulk.goodput_bps > 0.0)
        .reduce(|best, c| if c.bulk.goodput_bps > best.bulk.goodput_bps { c } else { best })
}

fn reason(winner: &ContenderReport, slower: Option<&ContenderReport>) -> String {
    let Some(slower) = slower else { return alone(winner) };
    match (winner.tunnel.is_some(), slower.tunnel.is_some()) {
        (true, false) => format!("{}, while {}", at_losses(slower), repaired(winner)),
        (false, true) => format!("{}; {}", at_losses(winner), overheads(winner, slower)),
        (false, false) if has_losses(winner) => format!("{}, while {}", at_losses(slower), at_losses(winner)),
        (false, false) => {
            format!(
                "{}, so the difference comes from how the two congestion controls start and fill the queue",
                lost(winner)
            )
        }
        (true, true) => format!("{}, and for {} {}", repaired(winner), slower.name, repaired(slower)),
    }
}

fn alone(contender: &ContenderReport) -> String {
    match contender.tunnel {
        Some(_) => repaired(contender),
        None if has_losses(contender) => format!("{}, and {}", lost(contender), at_losses(contender)),
        None => lost(contender),
    }
}

/// How many packets the tunnel recovered.
fn repaired(contender: &ContenderReport) -> String {
    let losses = contender.tunnel.unwrap_or_default();
    let all = losses.recovered_packets + losses.given_up_packets;
    if all == 0 {
        return "the tunnel had no lost packet to recover".to_owned();
    }
    let recovered = format!("the tunnel recovered {} of {all} lost packets", losses.recovered_packets);
    match (contender.inner_cc.map(title), contender.bulk.tcp_retransmitted_packets) {
        (Some(tcp), Some(0)) => format!("{recovered} before {tcp} could see them"),
        (Some(tcp), Some(again)) => format!("{recovered} and {tcp} retransmitted {again}"),
        _ => recovered,
    }
}

/// How many of the contender's packets the link lost. If there are several runs, the counts are from the first run.
fn lost(contender: &ContenderReport) -> String {
    let wire = &contender.wire;
    let lost = if wire.lost_packets == 0 { "none".to_owned() } else { wire.lost_packets.to_string() };
    let run = if contender.over_runs.is_some_and(|runs| runs.goodput_bps.n > 1) { " in the first run" } else { "" };
    format!("the link lost {lost} of {}'s {} packets{run}", contender.name, wire.offered_packets)
}

fn has_losses(contender: &ContenderReport) -> bool {
    contender.wire.lost_packets > 0
}

/// What the contender's TCP does when the TCP sees a loss. If there was no loss or the contender has no TCP: how many
/// packets the link lost.
fn at_losses(contender: &ContenderReport) -> String {
    if !has_losses(contender) {
        return lost(contender);
    }
    let reaction = match contender.inner_cc {
        // RFC 9438, section 4.6: the window is multiplied by .7.
        Some("cubic") => "CUBIC cuts its window by 30 % at every loss it sees".to_owned(),
        Some("bbr") if contender.share.is_some_and(|share| share < KEPT) => {
            "BBR estimates its rate from what arrives, and this estimate falls when many packets are lost".to_owned()
        }
        Some("bbr") => "BBR keeps its rate at a loss".to_owned(),
        Some(name) => format!("{} halves its window at every loss it sees", title(name)),
        None => return lost(contender),
    };
    match contender.bulk.tcp_retransmitted_packets {
        Some(again) => format!("{reaction} (it retransmitted {again} packets)"),
        None => reaction,
    }
}

/// How many bytes each of the two contenders sent for each useful byte.
fn overheads(plain: &ContenderReport, tunnelled: &ContenderReport) -> String {
    let shown = |c: &ContenderReport| output::or_dash(c.bulk.sent_per_useful, |s| format!("{s:.3}"));
    format!(
        "with its headers, repairs and reports the tunnel of {} sent {} bytes for each useful byte, {} sent {}",
        tunnelled.name,
        shown(tunnelled),
        plain.name,
        shown(plain)
    )
}

/// The usual spelling of a congestion control's name.
fn title(cc: &'static str) -> &'static str {
    match cc {
        "cubic" => "CUBIC",
        "bbr" => "BBR",
        "reno" => "Reno",
        "newreno" => "NewReno",
        "sack" => "SACK Reno",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::report::{BulkFacts, RequestStats, Requests, TunnelFacts, Wire};

    fn contender(name: &'static str, cc: &'static str, mbps: f64, lost: u64) -> ContenderReport {
        let bulk = BulkFacts {
            goodput_bps: mbps * 1e6,
            sent_per_useful: Some(1.05),
            goodput_whole_run_bps: mbps * 1e6,
            first_100kb_s: None,
            first_1mb_s: None,
            cpu_s_per_gb: None,
            tcp_retransmitted_packets: Some(lost),
        };
        let beside_bulk = RequestStats { n: 0, unanswered: 0, p50_s: None, p90_s: None, p99_s: None };
        let wire = Wire { offered_packets: 1000, lost_packets: lost, ..Wire::default() };
        let requests = Requests { quiet: None, beside_bulk };
        ContenderReport::new(name, Some(cc), bulk, requests, None, wire, None)
    }

    fn tunnel(name: &'static str, cc: &'static str, mbps: f64, recovered: u64, given_up: u64) -> ContenderReport {
        let facts = TunnelFacts { recovered_packets: recovered, given_up_packets: given_up };
        let mut contender = contender(name, cc, mbps, recovered + given_up);
        contender.bulk.tcp_retransmitted_packets = Some(0);
        ContenderReport { tunnel: Some(facts), ..contender }
    }

    fn sentence(contenders: &[ContenderReport]) -> String {
        Verdict::of(contenders).expect("a verdict").sentence
    }

    #[test]
    fn the_tunnel_wins_over_the_best_plain_tcp() {
        let all = [
            contender("cubic", "cubic", 1.5, 50),
            contender("reno", "reno", 1.0, 50),
            tunnel("ripstop", "cubic", 17.0, 412, 18),
            tunnel("ripstop+bbr", "bbr", 16.9, 400, 0),
        ];
        let verdict = Verdict::of(&all).expect("a verdict");
        assert_eq!((verdict.winner, verdict.compared_with), ("ripstop", Some("cubic")));
        assert!((verdict.goodput_ratio.unwrap() - 17.0 / 1.5).abs() < 1e-12);
        assert_eq!(
            verdict.sentence,
            "ripstop wins with 17.0 Mbit/s, 11.3 times cubic (1.50 Mbit/s): CUBIC cuts its window by 30 % at every \
             loss it sees (it retransmitted 50 packets), while the tunnel recovered 412 of 430 lost packets before CUBIC could see them."
        );
    }

    #[test]
    fn losses_that_the_tcp_inside_saw_are_told() {
        let mut seen = tunnel("ripstop", "cubic", 17.0, 412, 18);
        seen.bulk.tcp_retransmitted_packets = Some(18);
        assert!(repaired(&seen).ends_with("recovered 412 of 430 lost packets and CUBIC retransmitted 18"));
        seen.inner_cc = None;
        seen.bulk.tcp_retransmitted_packets = None;
        assert!(repaired(&seen).ends_with("recovered 412 of 430 lost packets"));
    }

    #[test]
    fn a_plain_tcp_may_win() {
        let all = [contender("bbr", "bbr", 18.9, 0), tunnel("ripstop", "cubic", 17.0, 0, 0)];
        assert_eq!(
            sentence(&all),
            "bbr wins with 18.9 Mbit/s, 11 % more than ripstop (17.0 Mbit/s): the link lost none of bbr's 1000 packets; \
             with its headers, repairs and reports the tunnel of ripstop sent 1.050 bytes for each useful byte, bbr sent 1.050."
        );
        let mut slow = contender("bbr", "bbr", 8.0, 200);
        slow.share = Some(0.5);
        assert!(at_losses(&slow).starts_with("BBR estimates its rate from what arrives"), "{}", at_losses(&slow));
        let plain = [contender("cubic", "cubic", 1.5, 50), contender("bbr", "bbr", 18.0, 50)];
        assert!(sentence(&plain).ends_with(
            "CUBIC cuts its window by 30 % at every loss it sees (it retransmitted 50 packets), while BBR keeps its rate at a \
             loss (it retransmitted 50 packets)."
        ));
    }

    #[test]
    fn small_differences_are_no_victory() {
        let all = [contender("bbr", "bbr", 18.0, 50), tunnel("ripstop", "cubic", 18.1, 50, 0)];
        let said = sentence(&all);
        assert!(said.starts_with("ripstop (18.1 Mbit/s) and bbr (18.0 Mbit/s) are equal within 3 %: "), "{said}");
    }

    #[test]
    fn one_contender_and_none_have_a_verdict() {
        let alone = Verdict::of(&[tunnel("ripstop", "cubic", 18.1, 0, 0)]).expect("a verdict");
        assert_eq!((alone.compared_with, alone.goodput_ratio), (None, None));
        let words = "ripstop ran alone and reached 18.1 Mbit/s: the tunnel had no lost packet to recover.";
        assert_eq!(alone.sentence, words);
        assert_eq!(Verdict::of(&[]), None);
        assert_eq!(Verdict::of(&[contender("cubic", "cubic", 0.0, 9)]), None);
        let starved = [contender("cubic", "cubic", 0.0, 9), contender("reno", "reno", 1.0, 9)];
        let said = sentence(&starved);
        assert!(said.starts_with("reno wins with 1.00 Mbit/s; cubic received nothing: "), "{said}");
    }

    #[test]
    fn every_pair_has_a_reason() {
        let all = [
            contender("newreno", "newreno", 1.0, 0),
            contender("sack", "sack", 2.0, 5),
            tunnel("ripstop", "cubic", 3.0, 5, 1),
            tunnel("ripstop+bbr", "bbr", 4.0, 0, 0),
        ];
        for winner in &all {
            for slower in &all {
                let words = reason(winner, Some(slower));
                assert!(!words.is_empty() && !words.contains("None"), "{words}");
            }
        }
    }
}
