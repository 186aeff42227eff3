//! Builds the world of a scenario for one run.

use super::routes::{Leg, Topology};
use super::{FlowSpec, Scenario, ScenarioError, SourceSpec};
use crate::world::{Carrier, FlowError, TcpConfig, World};
use ripstop_base::{Seed, Time};
use ripstop_proto::session::tunnel::TunnelConfig;
use std::time::Duration;

/// The initial round-trip time of a tunnel over a path without delay: 100 us. A tunnel needs a value above 0. The
/// tunnel replaces the value with its first measurement, so half or double the value changes little.
const SHORTEST_RTT: Duration = Duration::from_micros(100);

/// Builds the world of `scenario` for the run with this `seed`.
///
/// # Errors
/// If a setting is invalid.
pub(super) fn build(scenario: &Scenario, seed: Seed) -> Result<World, ScenarioError> {
    let mut world = World::new(seed);
    let wired = add_links(scenario, &mut world)?;
    let topology = Topology::of(scenario);
    let radio = add_media(scenario, &topology, &mut world)?;
    let number = |leg: &Leg| match leg {
        Leg::Wired(k) => wired[*k],
        Leg::Radio { .. } => radio.iter().find(|(known, _)| known == leg).map(|(_, number)| *number),
    };
    let links =
        |routes: &[Vec<Leg>; 2]| routes.each_ref().map(|way| way.iter().filter_map(&number).collect::<Vec<_>>());
    for (k, tunnel) in scenario.tunnel.iter().enumerate() {
        let named = topology.of_tunnel(scenario, k)?;
        // The session starts with the round-trip time that a handshake over the idle path measures.
        let delay = |leg: &Leg| match leg {
            Leg::Wired(k) => scenario.direction(*k).delay.duration(),
            Leg::Radio { hops, .. } => airtime(scenario, *leg, tunnel.mtu.get()) * *hops,
        };
        let rtt: Duration = named.iter().flatten().map(delay).sum();
        let [there, back] = links(&named);
        let config = TunnelConfig { initial_rtt: Some(rtt.max(SHORTEST_RTT)), ..tunnel.config() };
        let names = [0, 1].map(|side| format!("tunnel/{}/{side}", tunnel.name));
        world.add_tunnel(&config, &there, &back, names.each_ref().map(String::as_str));
    }
    let gateways: Vec<Option<usize>> = scenario
        .gateway
        .iter()
        .map(|gateway| gateway.capacity.map(|capacity| world.add_gateway(capacity.bps())))
        .collect();
    // The number of the first connection of each flow in the scenario.
    let mut first_numbers = Vec::with_capacity(scenario.flow.len());
    for (k, flow) in scenario.flow.iter().enumerate() {
        first_numbers.push(world.flows());
        let tunnel = flow.tunnel.as_ref().map(|name| scenario.tunnel_of(k, name)).transpose()?;
        let named = scenario.flow_links(&topology, k, tunnel)?;
        let coding = scenario.nc_config(k, if tunnel.is_some() { &[] } else { &named[0] })?;
        let [there, back] = links(&named);
        let path = scenario.gateway_path(k, &named)?;
        let blocks = path.as_ref().map(|path| {
            let layer = scenario.gateway_layer(flow, path, gateways[path.gateway]);
            (links(&path.wired), links(&path.lossy), layer)
        });
        let carrier = match (tunnel, &coding, &blocks) {
            (Some((tunnel, backwards)), ..) => Carrier::Tunnel { tunnel, backwards },
            (None, Some(coding), _) => Carrier::Coded(&there, &back, coding),
            (None, None, Some((wired, lossy, layer))) => {
                let [wired, lossy] = [wired, lossy].map(|ways| ways.each_ref().map(Vec::as_slice));
                Carrier::Gateway { wired, lossy, layer }
            }
            (None, None, None) => Carrier::Links(&there, &back),
        };
        let jitter = [start_jitter(scenario, flow, &named[0]), scenario.run.duration.duration()];
        for name in flow.names() {
            let name = format!("flow/{name}");
            add_flow(&mut world, flow, &carrier, &name, start_time(seed, flow, jitter, &name)).map_err(|error| {
                let field = match error {
                    FlowError::Coding(_) => "nc",
                    FlowError::Blocks(_) => "gateway",
                    FlowError::Source(_) => "source",
                };
                ScenarioError::new(format!("flow[{k}].{field}"), error.to_string())
            })?;
        }
    }
    for (asks, answers) in scenario.request_answer_pairs()? {
        for k in 0..scenario.flow[asks].count as usize {
            world.pair(first_numbers[asks] + k, first_numbers[answers] + k);
        }
    }
    Ok(world)
}

/// Adds both directions of every link, and returns their numbers in the world. A one-way link has None in the place of
/// its way back.
fn add_links(scenario: &Scenario, world: &mut World) -> Result<Vec<Option<usize>>, ScenarioError> {
    let mut numbers = Vec::with_capacity(2 * scenario.link.len());
    for (k, link) in scenario.link.iter().enumerate() {
        let back = link.back.as_ref().unwrap_or(&link.forth);
        for (name, config) in [("forth", Some(&link.forth)), ("back", (!link.one_way).then_some(back))] {
            let stream = link_name(scenario, numbers.len(), name);
            let number = config.map(|config| world.add_link(config, &stream)).transpose();
            numbers.push(
                number
                    .map_err(|error| ScenarioError::new(format!("link[{k}].{name}.{}", error.field), error.problem))?,
            );
        }
    }
    Ok(numbers)
}

/// Adds every medium, and the ways over media that flows and tunnels take. Returns these ways with their numbers as
/// links in the world.
fn add_media(
    scenario: &Scenario,
    topology: &Topology<'_>,
    world: &mut World,
) -> Result<Vec<(Leg, usize)>, ScenarioError> {
    for (k, medium) in scenario.medium.iter().enumerate() {
        let (places, name) = (medium.places(), format!("medium/{k}"));
        match medium.ideal_config() {
            Some(config) => world.add_ideal_medium(config, &places, &name),
            None => world.add_medium(medium.config(), &places, &name),
        };
    }
    let legs = scenario.radio_legs(topology)?.into_iter();
    Ok(legs
        .filter_map(|leg| match leg {
            Leg::Radio { medium, ends: [from, to], .. } => Some((leg, world.add_radio_link(medium, from, to))),
            Leg::Wired(_) => None,
        })
        .collect())
}

/// The time of one exchange with a packet of `bytes` bytes on a medium. Zero for a wired link.
fn airtime(scenario: &Scenario, leg: Leg, bytes: u64) -> Duration {
    match leg {
        Leg::Radio { medium, .. } => scenario.medium[medium].config().exchange(bytes as u32),
        Leg::Wired(_) => Duration::ZERO,
    }
}

/// The name of the random streams of link direction `number`. If the scenario has a single link, or names the link's
/// stream `link`, the names are the same as in the real-time emulator. With the same seed, the k-th packet therefore meets the same fate in the simulator and
/// in the emulator.
fn link_name(scenario: &Scenario, number: usize, direction: &str) -> String {
    match (&scenario.link[number / 2].stream, scenario.link.len()) {
        (Some(stream), _) => format!("{stream}/{}", number % 2),
        (None, 1) => format!("link/{number}"),
        (None, _) => format!("link/{}/{direction}", number / 2),
    }
}

/// Adds one TCP connection or one source of datagrams, which starts at `start`.
fn add_flow(
    world: &mut World,
    flow: &FlowSpec,
    carrier: &Carrier<'_>,
    name: &str,
    start: Time,
) -> Result<(), FlowError> {
    match &flow.udp {
        Some(udp) => {
            let config = udp.config(flow.packet.get() as u32, start, flow.stop());
            world.add_udp(config, carrier, name);
        }
        None => {
            world.add_tcp(TcpConfig { start, ..flow.config() }, carrier, name)?;
        }
    }
    Ok(())
}

/// The longest delay of a flow's start. The default is the time of a full packet on the slowest link of the way
/// `there`, or of one exchange on a medium. A flow of answers has no delay, because it starts with the first request.
fn start_jitter(scenario: &Scenario, flow: &FlowSpec, there: &[Leg]) -> Duration {
    if matches!(flow.source, SourceSpec::Answers { .. }) {
        return Duration::ZERO;
    }
    let slowest = || {
        let time = |leg: &Leg| match leg {
            Leg::Wired(k) => scenario.direction(*k).mean_rate().time_for(flow.packet_bytes() as usize),
            Leg::Radio { .. } => airtime(scenario, *leg, flow.packet_bytes()),
        };
        there.iter().map(time).max().unwrap_or_default()
    };
    scenario.run.start_jitter.map_or_else(slowest, |jitter| jitter.duration())
}

/// When the connection `name` of `flow` starts: at the start in the file plus a random delay of at most `jitter`. The
/// delay is also at most half of the time from the start in the file until the flow stops or the run ends. `duration`
/// is the length of the run.
fn start_time(seed: Seed, flow: &FlowSpec, [jitter, duration]: [Duration; 2], name: &str) -> Time {
    let written = flow.start.duration();
    let end = flow.stop.map_or(duration, |stop| stop.duration().min(duration));
    let most = jitter.min(end.saturating_sub(written) / 2);
    Time::ZERO + written + most.mul_f64(seed.stream(&format!("{name}/start")).unit())
}
