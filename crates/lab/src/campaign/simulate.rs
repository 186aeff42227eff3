//! Runs a campaign: simulates every scheme on links that are drawn from a seed.
//!
//! The planner's weights are fitted to one campaign, and the planner's errors are measured on
//! another campaign. Each single result is kept in a store, so an interrupted campaign continues
//! where it stopped. A fitted scheme is a scheme whose predictions have such weights (see
//! `mod.rs`).

use super::behaviour::{behaviour, changed_schemes};
use super::draw;
use super::jobs::{self, Done, Job, Task};
use super::unfitted::Unfitted;
use crate::cell::whole_simulator;
use crate::error::{LabError, LabResult};
use crate::store::ResultStore;
use ripstop_model::plan::campaign::{CampaignRecord, CampaignResults, LinkResult};
use ripstop_model::plan::{NetworkPath, PlanScheme, Weights, predict};
use std::collections::BTreeMap;

/// Says which links a campaign draws, and which schemes it simulates.
#[derive(Clone, Copy, Debug)]
pub struct CampaignDraw {
    /// The seed of the draw.
    pub seed: u64,
    /// The number of links on which every scheme is simulated.
    pub links: u64,
    /// The number of links on which the plain TCPs are simulated. A value below `links` counts as
    /// `links`.
    pub plain_links: u64,
    /// The highest rate of a link, bit/s. Links with a higher rate are skipped. `None` skips no
    /// link.
    pub max_rate_bps: Option<u64>,
    /// Whether only the fitted schemes are simulated. The fit of the weights needs no others.
    pub fitted_only: bool,
}

/// Says that only some schemes are simulated. The requests belong to the schemes that carry them: CUBIC, plain and in
/// the tunnel.
#[derive(Clone, Copy, Debug)]
pub struct SomeSchemes<'a> {
    /// The names of the schemes that are simulated.
    pub simulated: &'a [String],
    /// The results from which all other schemes are taken over. Their seed, their links, and the behaviour of the schemes
    /// that are taken over must be those of the present campaign. `None`: the other schemes are left out.
    pub taken: Option<&'a CampaignResults>,
}

/// Simulates the schemes on the links of `draw`, on `threads` threads. The results do not depend on this number.
///
/// Results that are already in the store are not simulated again. `show` is called with a progress
/// message when a scheme begins on a link. With `some`, only some schemes are simulated.
///
/// # Errors
/// The store cannot be read or written, or the simulator or the planner refuses a link. With `some`, also if the results
/// to take over are not of this campaign, or if a name is not that of a scheme.
pub fn simulate(
    draw: CampaignDraw,
    some: Option<SomeSchemes<'_>>,
    weights: &Weights,
    store: &ResultStore,
    threads: usize,
    show: &(dyn Fn(String) + Sync),
) -> LabResult<CampaignResults> {
    let CampaignDraw { seed, links, plain_links, max_rate_bps, .. } = draw;
    let most = links.max(plain_links);
    let campaign = CampaignRecord {
        seed,
        links,
        plain_links: (plain_links > links).then_some(plain_links),
        max_rate_bps,
        simulator: whole_simulator().to_owned(),
        behaviour: behaviour_of(draw, some)?,
    };
    if let Some(some) = some {
        check_names(some.simulated)?;
        if let Some(taken) = some.taken {
            check_taken(taken, some.simulated, &campaign, most)?;
        }
    }
    let taken = some.and_then(|some| some.taken);
    let slow = |path: &NetworkPath| max_rate_bps.is_none_or(|max| path.rate <= max as f64);
    let drawn = (0..).map(|number| (number, draw::link(seed, number))).filter(|(_, path)| slow(path));
    let mut link = Vec::with_capacity(most as usize);
    let mut jobs = Vec::new();
    for (index, (number, path)) in (0..most as usize).zip(drawn) {
        let before = taken.map(|taken| taken_link(taken, number, &path, weights)).transpose()?;
        for task in tasks(draw, (index as u64) < links, some) {
            jobs.push(Job { index, number, path, task });
        }
        let none = || LinkResult { number, path, plain_requests: None, tunnel_requests: None, scheme: BTreeMap::new() };
        link.push(before.unwrap_or_else(none));
    }
    for (index, done) in jobs::simulate(jobs, seed, weights, store, threads, show)? {
        add(&mut link[index], done);
    }
    Ok(CampaignResults { campaign, link })
}

/// What is simulated on a link. If `all_schemes` is false, only the plain TCPs are simulated.
fn tasks(draw: CampaignDraw, all_schemes: bool, some: Option<SomeSchemes<'_>>) -> Vec<Task> {
    let is_due = |name: &str| is_due(some, name);
    let fitted = PlanScheme::FITTED.into_iter().filter(|scheme| all_schemes || !scheme.is_tunnel());
    let mut tasks: Vec<Task> = fitted.filter(|scheme| is_due(scheme.name())).map(Task::Fitted).collect();
    if all_schemes && !draw.fitted_only {
        tasks.extend(Unfitted::ALL.into_iter().filter(|scheme| is_due(scheme.name())).map(Task::Unfitted));
    }
    if all_schemes {
        let carriers = [PlanScheme::Cubic, PlanScheme::TunnelCubic].into_iter();
        tasks.extend(carriers.filter(|scheme| is_due(scheme.name())).map(Task::Requests));
    }
    tasks
}

/// Whether the scheme `name` is simulated.
fn is_due(some: Option<SomeSchemes<'_>>, name: &str) -> bool {
    some.is_none_or(|some| some.simulated.iter().any(|simulated| simulated == name))
}

/// This simulator's behaviour of the schemes in the results.
fn behaviour_of(draw: CampaignDraw, some: Option<SomeSchemes<'_>>) -> LabResult<BTreeMap<String, String>> {
    let is_fitted = |name: &str| PlanScheme::FITTED.iter().any(|fitted| fitted.name() == name);
    let takes_over = some.is_some_and(|some| some.taken.is_some());
    let there = |name: &str| (takes_over || is_due(some, name)) && (!draw.fitted_only || is_fitted(name));
    Ok(behaviour()?.iter().filter(|(name, _)| there(name)).map(|(name, hash)| (name.clone(), hash.clone())).collect())
}

/// Checks that `names` are names of schemes.
fn check_names(names: &[String]) -> LabResult<()> {
    let known: Vec<&str> =
        PlanScheme::FITTED.map(PlanScheme::name).into_iter().chain(Unfitted::ALL.map(Unfitted::name)).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(LabError::Input(format!("there is no scheme `{name}`; write one of {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// Adds a new result to those of its link.
fn add(link: &mut LinkResult, done: Done) {
    match done {
        Done::Scheme(name, Some(result)) => drop(link.scheme.insert(name.to_owned(), result)),
        Done::Scheme(name, None) => drop(link.scheme.remove(name)),
        Done::Requests(scheme, result) if scheme.is_tunnel() => link.tunnel_requests = Some(result),
        Done::Requests(_, result) => link.plain_requests = Some(result),
    }
}

/// Checks that the results `taken` are of the campaign `now` with `links` links, and that the schemes that are not
/// `simulated` behave as they did then.
fn check_taken(taken: &CampaignResults, simulated: &[String], now: &CampaignRecord, links: u64) -> LabResult<()> {
    let wrong = |problem: String| Err(LabError::Input(problem));
    let then = &taken.campaign;
    let mut changed = changed_schemes(&then.behaviour, &now.behaviour);
    changed.retain(|scheme| !simulated.contains(scheme));
    if !changed.is_empty() {
        return wrong(format!(
            "the results to take over were made with a simulator that gave other results for {0}; also simulate {0}",
            changed.join(", ")
        ));
    }
    if then.seed != now.seed {
        return wrong(format!("the results to take over are of seed {}, not of seed {}", then.seed, now.seed));
    }
    if (taken.link.len() as u64) < links || then.links < now.links {
        return wrong(format!("the results to take over have {} links; {links} are needed", taken.link.len()));
    }
    Ok(())
}

/// The result on link `number` of the draw that is taken over. The predictions are those of the present `weights`.
fn taken_link(taken: &CampaignResults, number: u64, path: &NetworkPath, weights: &Weights) -> LabResult<LinkResult> {
    let link = taken.link.iter().find(|link| link.number == number && link.path == *path);
    let missing = || LabError::Input(format!("the results to take over have another link {number} than the draw"));
    let mut link = link.ok_or_else(missing)?.clone();
    for scheme in PlanScheme::FITTED {
        if let Some(result) = link.scheme.get_mut(scheme.name()) {
            let predicted = predict(path, scheme, weights).map_err(|error| LabError::work("a drawn link", error))?;
            result.predicted_bps = predicted.goodput_bps;
        }
    }
    for scheme in Unfitted::ALL {
        match (scheme.plan(path, weights)?.goodput_bps(), link.scheme.get_mut(scheme.name())) {
            (Some(predicted), Some(result)) => result.predicted_bps = predicted,
            _ => drop(link.scheme.remove(scheme.name())),
        }
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::super::{CampaignStage, data, judge, measure, measure_scenario, page, run_seed};
    use super::*;

    /// The number of links of the report that are simulated again. The links that take the least
    /// time are chosen.
    const AGAIN: usize = 3;
    /// The number of runs of each scheme on these links. If the report has the results of fewer
    /// runs, only these runs are made again.
    const RUNS: usize = 8;

    #[test]
    fn the_report_has_what_the_closed_forms_predict() {
        if !data::refit_pending().unwrap().is_empty() {
            // The weights may be fitted anew before the report is made. `ripstop plan` says that its data are outdated.
            return;
        }
        let (report, weights) = (data::report().unwrap(), data::weights().unwrap());
        for link in &report.link {
            for scheme in PlanScheme::FITTED {
                let predicted = predict(&link.path, scheme, &weights).unwrap().goodput_bps;
                let kept = link.of(scheme).unwrap().predicted_bps;
                assert!(
                    predicted == kept,
                    "link {}, {}: the report has {kept} bit/s and the closed form gives {predicted}: run `make plan-report`",
                    link.number,
                    scheme.name()
                );
            }
        }
    }

    #[test]
    fn the_report_has_what_the_unfitted_closed_forms_predict() {
        // The data of these schemes are of another simulator, and `ripstop plan` says so.
        let pending = data::refit_pending().unwrap();
        let (report, weights) = (data::report().unwrap(), data::weights().unwrap());
        for scheme in Unfitted::ALL.into_iter().filter(|scheme| !pending.contains_key(scheme.name())) {
            for link in &report.link {
                let predicted = scheme.plan(&link.path, &weights).unwrap().goodput_bps();
                let kept = link.scheme.get(scheme.name()).map(|result| result.predicted_bps);
                assert!(
                    predicted == kept,
                    "link {}, {}: the report has {kept:?} and the closed form gives {predicted:?}: run `make plan-report`",
                    link.number,
                    scheme.name()
                );
            }
        }
    }

    #[test]
    fn links_of_the_report_are_simulated_again_with_the_same_results() {
        // The data of these schemes are of another simulator, and `ripstop plan` says so.
        let pending = data::refit_pending().unwrap();
        let report = data::report().unwrap();
        let mut links: Vec<&LinkResult> = report.link.iter().collect();
        links.sort_by(|a, b| CampaignStage::of(&a.path).bits().total_cmp(&CampaignStage::of(&b.path).bits()));
        assert!(links.len() >= AGAIN);
        for link in links.into_iter().take(AGAIN) {
            assert_eq!(
                draw::link(report.campaign.seed, link.number),
                link.path,
                "the draw gives another link than the report has: run `make plan-report`"
            );
            let stage = CampaignStage::of(&link.path);
            let seed = run_seed(report.campaign.seed, link.number);
            for scheme in Unfitted::ALL.into_iter().filter(|scheme| !pending.contains_key(scheme.name())) {
                let Some(kept) = link.scheme.get(scheme.name()) else { continue };
                let runs = RUNS.min(kept.first_bps.len());
                let plan = scheme.plan(&link.path, &data::weights().unwrap()).unwrap();
                let again = measure_scenario(&stage, &plan.scenario(&stage, runs as u32, seed), 1).unwrap();
                assert_eq!(
                    again.each_bps,
                    kept.first_bps[..runs],
                    "link {}, {}: the simulator's results have changed: run `make plan-report` and commit its results",
                    link.number,
                    scheme.name()
                );
            }
            for scheme in PlanScheme::FITTED.into_iter().filter(|scheme| !pending.contains_key(scheme.name())) {
                let kept = &link.of(scheme).unwrap().first_bps;
                let runs = RUNS.min(kept.len());
                let again = measure(&stage, scheme, runs as u32, seed, 1).unwrap();
                assert_eq!(
                    again.each_bps,
                    kept[..runs],
                    "link {}, {}: the simulator's results have changed: run `make plan-report` and commit its results",
                    link.number,
                    scheme.name()
                );
            }
        }
    }

    /// The committed results, as if this simulator had made them.
    fn report_of_today() -> CampaignResults {
        let mut report = data::report().unwrap();
        report.campaign.behaviour = behaviour().unwrap().clone();
        report
    }

    /// A campaign of one link, of which only TCP/LT is simulated.
    fn add_lt(results: &CampaignResults, seed: u64, simulated: &[&str]) -> LabResult<CampaignResults> {
        let folder = tempfile::tempdir().unwrap();
        let store = ResultStore::open_or_create(&folder.path().join("plan.redb")).unwrap();
        let draw = CampaignDraw { seed, links: 1, plain_links: 1, max_rate_bps: None, fitted_only: false };
        let names: Vec<String> = simulated.iter().map(|name| (*name).to_owned()).collect();
        let some = SomeSchemes { simulated: &names, taken: Some(results) };
        simulate(draw, Some(some), &data::weights().unwrap(), &store, 1, &|_| ())
    }

    #[test]
    fn results_of_the_same_campaign_are_taken_over() {
        let report = report_of_today();
        let seed = report.campaign.seed;
        let got = add_lt(&report, seed, &["lt"]).unwrap();
        assert_eq!(got.link, report.link[..1]);
        let mut other = report.clone();
        other.link[0].scheme.get_mut("bbr").unwrap().mean_bps = 1.0;
        other.link[0].scheme.remove("lt");
        let got = add_lt(&other, seed, &["lt"]).unwrap();
        assert_eq!(got.link[0].of(PlanScheme::Bbr).unwrap().mean_bps, 1.0, "BBR was not taken over");
        assert_eq!(got.link[0].scheme["lt"], report.link[0].scheme["lt"], "TCP/LT was not simulated");
    }

    #[test]
    fn results_of_another_campaign_are_refused() {
        let report = report_of_today();
        let seed = report.campaign.seed;
        let refusal =
            |results: &CampaignResults, seed, names: &[&str]| add_lt(results, seed, names).unwrap_err().to_string();
        let mut old = report.clone();
        old.campaign.behaviour.insert("bbr".to_owned(), "0".to_owned());
        let mut links = report.clone();
        links.link[0].path.rtt *= 2.0;
        let mut few = report.clone();
        few.link.clear();
        for (message, words) in [
            (refusal(&report, seed + 1, &["lt"]), "of seed"),
            (refusal(&report, seed, &["lt2"]), "no scheme `lt2`"),
            (refusal(&old, seed, &["lt"]), "other results for bbr; also simulate bbr"),
            (refusal(&links, seed, &["lt"]), "another link 0"),
            (refusal(&few, seed, &["lt"]), "1 are needed"),
        ] {
            assert!(message.contains(words), "`{words}` is missing in: {message}");
        }
    }

    /// A campaign of a slow link, and one more for plain TCP.
    fn slow_links(fitted_only: bool, threads: usize) -> CampaignResults {
        let store = ResultStore::in_memory().unwrap();
        let draw = CampaignDraw { seed: 3, links: 1, plain_links: 2, max_rate_bps: Some(1_000_000), fitted_only };
        simulate(draw, None, &data::weights().unwrap(), &store, threads, &|_| ()).unwrap()
    }

    #[test]
    fn neither_the_threads_nor_the_other_schemes_change_a_result() {
        let weights = data::weights().unwrap();
        let has_unfitted = |results: &CampaignResults| {
            let page = page::page(&results.campaign, &judge::judge(results, &weights).unwrap(), &weights);
            page.contains("| lt | all |")
        };
        let (mut all, fitted) = (slow_links(false, 1), slow_links(true, 3));
        assert!(has_unfitted(&all) && !has_unfitted(&fitted), "the report must have exactly the simulated schemes");
        assert!(all.link[0].scheme.len() > PlanScheme::FITTED.len(), "no unfitted scheme on the first link");
        let is_fitted = |name: &String| PlanScheme::FITTED.iter().any(|scheme| scheme.name() == name);
        for link in &mut all.link {
            link.scheme.retain(|name, _| is_fitted(name));
        }
        all.campaign.behaviour.retain(|name, _| is_fitted(name));
        assert_eq!(fitted, all);
        let counts: Vec<(usize, bool)> =
            fitted.link.iter().map(|link| (link.scheme.len(), link.tunnel_requests.is_some())).collect();
        assert_eq!(counts, [(PlanScheme::FITTED.len(), true), (3, false)], "only the plain TCPs on the second link");
    }
}
