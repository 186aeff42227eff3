//! Writes the report of a campaign as a Markdown page: `docs/plan-report.md`.
//!
//! A campaign compares the planner's predictions with simulations on random links. `mod.rs`
//! explains the terms of this folder, such as scheme, family, kind of losses and C (1-p).

use super::draw;
use super::judge::{FIGURES, JudgedLink, figure_error, hits, quantile, unfitted_error};
use super::unfitted::Unfitted;
use ripstop_model::plan::campaign::CampaignRecord;
use ripstop_model::plan::{LossPattern, PlanScheme, Weights};
use std::fmt::Write;

/// The page about the links of `campaign`. The predictions were made with `weights`.
pub fn page(campaign: &CampaignRecord, judged: &[JudgedLink<'_>], weights: &Weights) -> String {
    let mut text = heading(campaign, judged, weights);
    text.push_str(&hits_by_kind(judged));
    text.push_str(&errors_by_kind(judged));
    text.push_str(&errors_by_scheme(judged));
    text.push_str(&errors_by_unfitted(judged));
    text.push_str(&errors_by_figure(judged, weights));
    text.push_str(&worst_links(judged));
    text.push_str(&wrong_choices(judged));
    text
}

/// The largest number of single runs that the page shows for a listed link. The shown runs tell how
/// much the goodput differs between runs. The campaign's data has the goodput of only the first 8
/// runs, so double the value changes nothing. Half the value shortens the list items. The page's
/// text says "at most eight".
const SHOWN_RUNS: usize = 8;
/// The largest number of links in each list. The text of the page says "ten", so the text must
/// change with this value. Half or double the value changes only the length of the lists.
const LISTED: usize = 10;
/// A number of packets. If a link's queue is smaller than this value, [`possible_cause`] names the queue as the likely
/// cause of a large error. Half or double the value changes only which remark a link gets.
const SMALL_QUEUE: f64 = 20.0;
/// A number of packets. If a link's bandwidth-delay product is smaller than this value, [`possible_cause`] names this
/// product as the likely cause of a large error. Half or double the value changes only which remark a link gets.
const SMALL_BDP: f64 = 10.0;

/// The title, the origin of the links, and the share of good recommendations (hits) among all
/// links.
fn heading(campaign: &CampaignRecord, judged: &[JudgedLink<'_>], weights: &Weights) -> String {
    let fitted = &weights.campaign;
    let fitted_to = if fitted.seed == campaign.seed {
        "links of this very seed".to_owned()
    } else {
        format!("other links, drawn from seed {}", fitted.seed)
    };
    let slow = campaign.max_rate_bps.map_or(String::new(), |rate| format!(" (only links of at most {rate} bit/s)"));
    let all = hits(judged.iter());
    let behaviour: Vec<String> =
        campaign.behaviour.iter().map(|(scheme, hash)| format!("{hash} for {scheme}")).collect();
    format!(
        "# Errors of the planner\n\n\
         This page is for readers who want to know how far to trust the predictions of `ripstop plan`. \
         `make plan-report` writes this page.\n\n\
         A *scheme* is a way to use a link: a plain TCP (`reno`, `cubic`, `bbr`), or a TCP in the tunnel \
         (`tunnel-cubic`, `tunnel-bbr`). The *named scheme* is the one that `plan` recommends. \
         The *best scheme* has the highest simulated goodput.\n\n\
         {} links were drawn from seed {}{slow}. The planner's closed forms (formulas) have weights, which were fitted \
         to {fitted_to}. The simulator was {}: the names of its parts, and a hash of their code. \
         The hashes of its results on a fixed set of scenarios were {}.\n\n\
         - **The goodput of the scheme that `plan` names is within 3 % of the best scheme's on {} of the links.**\n\
         - The named scheme belongs to a family: plain TCPs, or TCPs in the tunnel. \
         The goodput of the family's best scheme is within 3 % of the best scheme's on {} of the links.\n\n\
         The tables below list the links by their losses. A *burst* is a run of consecutive losses. Links \
         with losses are in three classes by the mean length of their bursts: up to 2 packets, more than 2 and up to \
         6, and more than 6.\n\n",
        campaign.links,
        campaign.seed,
        campaign.simulator,
        behaviour.join(", "),
        percent(share(all.scheme, all.links)),
        percent(share(all.family, all.links)),
    )
}

/// The table of good recommendations (hits) for each kind of losses.
fn hits_by_kind(judged: &[JudgedLink<'_>]) -> String {
    let mut text =
        "| links | number | named scheme within 3 % of the best | best scheme of its family within 3 % of the best |\n\
         |---|---|---|---|\n"
            .to_owned();
    by_kind(judged, |name, some| {
        let hits = hits(some.iter().copied());
        let (scheme, family) = (share(hits.scheme, hits.links), share(hits.family, hits.links));
        let _ = writeln!(text, "| {name} | {} | {} | {} |", hits.links, percent(scheme), percent(family));
    });
    text
}

/// The table of goodput errors for each kind of losses.
fn errors_by_kind(judged: &[JudgedLink<'_>]) -> String {
    let mut text = "\nThe next table is about the goodput of the named scheme. The *error* of this goodput is \
                    |P/S - 1|, where P is the predicted goodput and S is the mean of the simulated runs. \
                    The *standard error* of S and the *deviation* (standard deviation) of single runs are divided \
                    by S.\n\n\
                    | links | median error | 95th percentile of the error | median standard error | \
                    95th percentile of the standard error | median deviation |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    by_kind(judged, |name, some| {
        let of = |figure: &dyn Fn(&JudgedLink<'_>) -> f64, at: f64| {
            percent(quantile(some.iter().map(|one| figure(one)).collect(), at))
        };
        let error = |one: &JudgedLink<'_>| one.error(one.chosen);
        let standard_error = |one: &JudgedLink<'_>| one.standard_error(one.chosen);
        let deviation = |one: &JudgedLink<'_>| one.deviation(one.chosen);
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            of(&error, 50.0),
            of(&error, 95.0),
            of(&standard_error, 50.0),
            of(&standard_error, 95.0),
            of(&deviation, 50.0),
        );
    });
    text
}

/// Calls `line` for all links together, then one time for each kind of losses that occurs.
fn by_kind<'a>(judged: &'a [JudgedLink<'a>], mut line: impl FnMut(&str, Vec<&JudgedLink<'a>>)) {
    line("all", judged.iter().collect());
    for kind in LossPattern::ALL {
        let some: Vec<&JudgedLink<'_>> = judged.iter().filter(|one| LossPattern::of(&one.link.path) == kind).collect();
        if !some.is_empty() {
            line(kind.words(), some);
        }
    }
}

/// The table of goodput errors for each scheme.
fn errors_by_scheme(judged: &[JudgedLink<'_>]) -> String {
    let mut text = "\nThe next table counts the links on which each scheme is the named scheme, and the links on \
                    which it is the best scheme. The error columns are the errors of each scheme's predicted \
                    goodput over all links, not only over those on which the scheme is named.\n\n\
                    | scheme | named on links | best on links | median error | 95th percentile of the error |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for (index, scheme) in PlanScheme::FITTED.into_iter().enumerate() {
        let errors: Vec<f64> = judged.iter().map(|one| one.error(index)).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            scheme.name(),
            judged.iter().filter(|one| one.chosen == index).count(),
            judged.iter().filter(|one| one.best == index).count(),
            percent(quantile(errors.clone(), 50.0)),
            percent(quantile(errors, 95.0))
        );
    }
    text
}

/// The table of errors of the schemes without fitted weights. Empty if none of these schemes was
/// simulated on any link.
fn errors_by_unfitted(judged: &[JudgedLink<'_>]) -> String {
    if Unfitted::ALL.into_iter().all(|scheme| unfitted_error(scheme, judged.iter()).is_none()) {
        return String::new();
    }
    let mut text = "\nThe next table has the goodput errors of the schemes without fitted weights. *tcpnc* is \
                    TCP/NC, which puts a coding layer below TCP. *block* is CUBIC in the tunnel with a block code. \
                    *lt* is TCP/LT, a gateway that carries TCP in blocks. On some links, the goodput is not \
                    predicted, because the closed form is known to fail there. These links count as refused, and have \
                    no error.\n\n\
                    | scheme | losses | links | refused | median error | 95th percentile of the error |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for scheme in Unfitted::ALL {
        by_kind(judged, |name, some| {
            let links = some.len() as u64;
            let error = unfitted_error(scheme, some.into_iter());
            let predicted = error.map_or(0, |error| error.links);
            let words = |value: Option<f64>| value.map_or("-".to_owned(), percent);
            let _ = writeln!(
                text,
                "| {} | {name} | {predicted} | {} | {} | {} |",
                scheme.name(),
                links - predicted,
                words(error.map(|error| error.median)),
                words(error.map(|error| error.p95))
            );
        });
    }
    text
}

/// The table of errors of the other predicted quantities: [`FIGURES`].
fn errors_by_figure(judged: &[JudgedLink<'_>], weights: &Weights) -> String {
    let mut text = "\nThe next table has the errors of other predicted quantities. *sent-per-useful* is the \
                    number of bytes sent for each useful byte. \
                    *packet* is the delay of a packet of a long transfer. *request* is the delay of a small request \
                    and its answer on the idle link. \
                    *p50* and *p99* are percentiles. *bbr* is plain BBR, and *plain* is plain CUBIC. For requests, \
                    *tunnel* is CUBIC in the tunnel. For the other quantities, *tunnel* is BBR in the tunnel.\n\n\
                    | quantity | links | median error | 95th percentile of the error |\n|---|---|---|---|\n"
        .to_owned();
    for figure in &FIGURES {
        if let Some(error) = figure_error(figure, judged.iter(), weights) {
            let (median, p95) = (percent(error.median), percent(error.p95));
            let _ = writeln!(text, "| {} | {} | {median} | {p95} |", figure.name, error.links);
        }
    }
    text
}

/// The links with the largest errors of the recommended scheme's goodput.
fn worst_links(judged: &[JudgedLink<'_>]) -> String {
    let mut text = "\n## The ten largest errors of the named scheme\n\n\
                    Goodputs are shares of C (1-p), where C is the link's rate and p is its loss probability. *runs* \
                    lists the goodputs of the first runs, at most eight. \
                    *best* is the best scheme. The remark after the best scheme is a possible cause of the error.\n\n"
        .to_owned();
    let mut worst: Vec<&JudgedLink<'_>> = judged.iter().collect();
    worst.sort_by(|a, b| b.error(b.chosen).total_cmp(&a.error(a.chosen)));
    for one in worst.into_iter().take(LISTED) {
        let _ = writeln!(text, "{}; {}. `{}`", item(one), possible_cause(one), draw::command(&one.link.path));
    }
    text
}

/// The links on which the goodput of the recommended scheme is more than 3 % below the best
/// scheme's. The link with the largest gap comes first. Links with long bursts are left out.
fn wrong_choices(judged: &[JudgedLink<'_>]) -> String {
    let mut text = "\n## Links on which another scheme has more goodput\n\n\
                    On these links, the goodput of the named scheme is less than 97 % of the best scheme's. The list \
                    has at most ten links. \
                    The link with the largest gap comes first. \
                    Links that lose packets in bursts of more than 6 packets are left out.\n\n"
        .to_owned();
    let mut wrong: Vec<&JudgedLink<'_>> = judged
        .iter()
        .filter(|one| !one.is_near_best() && LossPattern::of(&one.link.path) != LossPattern::LongBursts)
        .collect();
    wrong.sort_by(|a, b| a.share_of_best().total_cmp(&b.share_of_best()));
    for one in wrong.into_iter().take(LISTED) {
        let capacity = one.link.path.capacity();
        let _ = writeln!(
            text,
            "{}, which gets {:.3} (predicted {:.3}). `{}`",
            item(one),
            one.mean(one.best) / capacity,
            one.predicted[one.best] / capacity,
            draw::command(&one.link.path)
        );
    }
    text
}

/// A list item about a link. Goodputs are shown as fractions of C (1-p).
fn item(one: &JudgedLink<'_>) -> String {
    let scheme = one.chosen;
    let (capacity, simulated) = (one.link.path.capacity(), one.simulated(scheme));
    let shown = simulated.first_bps.iter().take(SHOWN_RUNS);
    let mut runs: Vec<String> = shown.map(|run| format!("{:.3}", run / capacity)).collect();
    if simulated.runs as usize > runs.len() {
        runs.push(format!("and {} more", simulated.runs as usize - runs.len()));
    }
    format!(
        "- link {}, {}: predicted {:.3}, simulated {:.3} (runs {}); best: {}",
        one.link.number,
        PlanScheme::FITTED[scheme].name(),
        one.predicted[scheme] / capacity,
        one.mean(scheme) / capacity,
        runs.join(", "),
        PlanScheme::FITTED[one.best].name()
    )
}

/// A remark on a possible cause of a large error on a link.
///
/// The remark is only a hint. Only a trace of the link can show why the prediction is wrong.
fn possible_cause(one: &JudgedLink<'_>) -> &'static str {
    let path = &one.link.path;
    let (deviation, error) = (one.deviation(one.chosen), one.error(one.chosen));
    let (predicted, mean) = (one.predicted[one.chosen], one.mean(one.chosen));
    if deviation > 0.5 * error || deviation > 0.5 {
        "single runs differ much: their standard deviation is more than half of the error, or more than half of the mean"
    } else if mean < 0.5 * predicted && path.burst > 2.0 {
        "losses in bursts, and the mean of the runs is less than half of the prediction"
    } else if path.queue_packets() < SMALL_QUEUE {
        "a queue of a few packets"
    } else if path.packets() < SMALL_BDP {
        "a bandwidth-delay product of a few packets"
    } else if mean < predicted {
        "the simulated goodput is lower than the predicted goodput"
    } else {
        "the simulated goodput is higher than the predicted goodput"
    }
}

/// `some` divided by `of`; 0 when `some` and `of` are 0.
fn share(some: u64, of: u64) -> f64 {
    some as f64 / of.max(1) as f64
}

/// A fraction as a percentage with one decimal; `-` when the fraction is not finite.
fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { "-".to_owned() }
}
