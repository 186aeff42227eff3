//! Runs a scenario: as often as it says, on as many cores as there are.

use super::routes::Topology;
use super::{Report, RunTotals, Scenario, ScenarioError};
use crate::engine::replicate;
use crate::world::{Carrier, FlowError, Observer, World};
use ripstop_base::Seed;
use ripstop_proto::session::tunnel::Config as TunnelConfig;
use std::time::Duration;

/// Runs `scenario` and says what was measured. `threads` at most work on it; the result does not depend on how many.
/// `progress` is told of each run that is done.
///
/// # Errors
/// The setting that cannot be.
pub fn run(scenario: &Scenario, threads: usize, progress: impl Fn() + Sync) -> Result<Report, ScenarioError> {
    Ok(Report::new(scenario, &run_all(scenario, threads, progress)?))
}

/// As [`run`]; what each run did, in their order.
///
/// # Errors
/// The setting that cannot be.
pub fn run_all(
    scenario: &Scenario,
    threads: usize,
    progress: impl Fn() + Sync,
) -> Result<Vec<RunTotals>, ScenarioError> {
    scenario.check()?;
    let runs = replicate(u64::from(scenario.run.runs), threads, |k| {
        let totals = run_once(scenario, k, &mut ());
        progress();
        totals
    });
    runs.into_iter().collect()
}

/// Makes the `k`-th run of `scenario` with somebody looking on.
///
/// # Errors
/// The setting that cannot be.
pub fn run_once(
    scenario: &Scenario,
    k: u64,
    observer: &mut impl Observer,
) -> Result<RunTotals, ScenarioError> {
    let mut world = build(scenario, Seed::new(scenario.run.seed).run(k))?;
    Ok(RunTotals::of(scenario, &mut world, observer))
}

/// The round-trip time over a path without delay.
const SHORTEST_RTT: Duration = Duration::from_micros(100);

/// What the random streams of the `number`-th direction of links are named after. A link that is alone has the emulator's
/// names: under the same seed the k-th packet meets the same fate on both.
fn link_name(scenario: &Scenario, number: usize, direction: &str) -> String {
    match scenario.link.len() {
        1 => format!("link/{number}"),
        _ => format!("link/{}/{direction}", number / 2),
    }
}

/// The world of a scenario.
fn build(scenario: &Scenario, seed: Seed) -> Result<World, ScenarioError> {
    let mut world = World::new(seed);
    // A one-way link keeps the number of its way back free.
    let mut numbers = Vec::with_capacity(2 * scenario.link.len());
    for (k, link) in scenario.link.iter().enumerate() {
        let back = link.back.as_ref().unwrap_or(&link.forth);
        for (name, config) in [("forth", Some(&link.forth)), ("back", (!link.one_way).then_some(back))] {
            let stream = link_name(scenario, numbers.len(), name);
            let number = config.map(|config| world.add_link(config, &stream)).transpose();
            numbers.push(number.map_err(|error| {
                ScenarioError::new(format!("link[{k}].{name}.{}", error.field), error.problem)
            })?);
        }
    }
    let topology = Topology::of(scenario);
    let links = |routes: [Vec<usize>; 2]| {
        routes.map(|way| way.into_iter().filter_map(|k| numbers[k]).collect::<Vec<_>>())
    };
    for (k, tunnel) in scenario.tunnel.iter().enumerate() {
        let named = topology.of_tunnel(scenario, k)?;
        // As after a handshake over the idle path.
        let rtt: Duration = named.iter().flatten().map(|k| scenario.direction(*k).delay.duration()).sum();
        let [there, back] = links(named);
        let config = TunnelConfig { initial_rtt: rtt.max(SHORTEST_RTT), ..tunnel.config() };
        let names = [0, 1].map(|side| format!("tunnel/{}/{side}", tunnel.name));
        world.add_tunnel(&config, &there, &back, names.each_ref().map(String::as_str));
    }
    // Of each kind, the number of its first flow.
    let mut firsts = Vec::with_capacity(scenario.flow.len());
    for (k, flow) in scenario.flow.iter().enumerate() {
        firsts.push(world.flows());
        let named = match &flow.tunnel {
            None => topology.of_flow(scenario, k)?,
            Some(_) => Default::default(),
        };
        let coding = scenario.coding_of(k, &named[0])?;
        let [there, back] = links(named);
        let carrier = match (&flow.tunnel, &coding) {
            (Some(name), _) => {
                let (tunnel, backwards) = scenario.tunnel_of(k, name)?;
                Carrier::Tunnel { tunnel, backwards }
            }
            (None, Some(coding)) => Carrier::Coded(&there, &back, coding),
            (None, None) => Carrier::Links(&there, &back),
        };
        for name in flow.names() {
            let added = world.add_tcp(flow.config(), &carrier, &format!("flow/{name}"));
            added.map_err(|error| {
                let field = if matches!(error, FlowError::Coding(_)) { "nc" } else { "source" };
                ScenarioError::new(format!("flow[{k}].{field}"), error.to_string())
            })?;
        }
    }
    for (asks, answers) in scenario.pairs()? {
        for k in 0..scenario.flow[asks].count as usize {
            world.pair(firsts[asks] + k, firsts[answers] + k);
        }
    }
    Ok(world)
}
