//! Checks of a scenario before it runs. Each error names the field and what would be right.

use super::error::{ScenarioError, refuse};
use super::routes::{Leg, Topology};
use super::spec::{FlowSpec, MediumSpec, Scenario, SourceSpec};
use crate::tcp::{Reassembly, Variant};
use crate::world::TCP_IP_HEADERS;
use ripstop_base::Span;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The largest number of connections of a scenario. With this number, the numbers of packets and alarms fit their
/// types. Half the value refuses large scenarios earlier. Double the value allows larger scenarios, which need more
/// memory.
const MOST_FLOWS: u32 = 100_000;
/// The largest number of pieces into which `run.sample` may cut a run. Each piece is kept in memory for every run.
/// Double the value allows twice the memory, and half the value allows half of the memory.
const MOST_SAMPLES: u128 = 100_000;
/// The largest number of runs. The results of all runs stay in memory until the last run ends. Double the value allows
/// twice the memory, and half the value allows half of the memory.
const MOST_RUNS: u32 = 1_000_000;
/// The allowed MTU of a tunnel's path in bytes: from the smallest MTU that IPv4 allows for a path (RFC 791) to the
/// largest IP packet.
const TUNNEL_MTU: RangeInclusive<u64> = 576..=65_535;
/// The largest IP packet, bytes (RFC 791).
const MOST_PACKET: u64 = 65_535;

impl Scenario {
    /// Checks every setting, as [`super::run()`] does.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_run()?;
        for (k, link) in self.link.iter().enumerate() {
            let field = format!("link[{k}]");
            if link.between[0] == link.between[1] {
                return refuse(format!("{field}.between"), "both ends are one node; name two different nodes");
            }
            if link.one_way && link.back.is_some() {
                return refuse(format!("{field}.back"), "a `one-way` link has no `back`; remove one of the two");
            }
            if let Some(stream) = &link.stream {
                let others = self.link.iter().enumerate().filter(|(other, _)| *other != k);
                if stream.is_empty() || others.into_iter().any(|(_, other)| other.stream.as_ref() == Some(stream)) {
                    let problem =
                        format!("`{stream}` is empty or names the stream of another link; write another name");
                    return refuse(format!("{field}.stream"), problem);
                }
            }
            for (name, config) in [("forth", Some(&link.forth)), ("back", link.back.as_ref())] {
                if let Some(Err(error)) = config.map(|config| config.check()) {
                    return refuse(format!("{field}.{name}.{}", error.field), error.problem);
                }
            }
        }
        for (k, medium) in self.medium.iter().enumerate() {
            medium.check().map_err(|(field, problem)| ScenarioError::new(format!("medium[{k}].{field}"), problem))?;
        }
        if self.flow.is_empty() && !self.medium.iter().any(MediumSpec::has_saturated_links) {
            return refuse("flow", "there is no flow; add a section [[flow]]");
        }
        let topology = Topology::of(self);
        self.check_tunnels(&topology)?;
        self.check_gateways()?;
        let mut names = std::collections::BTreeSet::new();
        for (k, flow) in self.flow.iter().enumerate() {
            check_flow(flow, self.run.duration.duration())
                .map_err(|(field, problem)| ScenarioError::new(format!("flow[{k}].{field}"), problem))?;
            let tunnel = flow.tunnel.as_ref().map(|name| self.tunnel_of(k, name)).transpose()?;
            let way = self.flow_links(&topology, k, tunnel)?;
            self.nc_config(k, if tunnel.is_some() { &[] } else { &way[0] })?;
            self.gateway_path(k, &way)?;
            self.check_time_passes(k, &way)?;
            if let Some(name) = flow.names().find(|name| !names.insert(name.clone())) {
                return refuse(
                    format!("flow[{k}].name"),
                    format!("`{name}` names another flow; give each flow its own name"),
                );
            }
        }
        self.request_answer_pairs()?;
        if names.len() > MOST_FLOWS as usize {
            return refuse("flow", format!("{} connections; write at most {MOST_FLOWS}", names.len()));
        }
        Ok(())
    }

    fn check_tunnels(&self, topology: &Topology<'_>) -> Result<(), ScenarioError> {
        for (k, tunnel) in self.tunnel.iter().enumerate() {
            let field = |name: &str| format!("tunnel[{k}].{name}");
            if self.tunnel[..k].iter().any(|other| other.name == tunnel.name) {
                return refuse(
                    field("name"),
                    format!("`{}` names another tunnel; give each tunnel its own name", tunnel.name),
                );
            }
            if !TUNNEL_MTU.contains(&tunnel.mtu.get()) {
                let (least, most) = (TUNNEL_MTU.start(), TUNNEL_MTU.end());
                return refuse(field("mtu"), format!("{} is out of range; write {least} to {most} bytes", tunnel.mtu));
            }
            if let Err(problem) = tunnel.controller_tuning() {
                return refuse(field("tuning"), problem);
            }
            topology.of_tunnel(self, k)?;
        }
        Ok(())
    }

    fn check_gateways(&self) -> Result<(), ScenarioError> {
        for (k, gateway) in self.gateway.iter().enumerate() {
            if self.gateway[..k].iter().any(|other| other.name == gateway.name) {
                let problem = format!("`{}` names another gateway; give each gateway its own name", gateway.name);
                return refuse(format!("gateway[{k}].name"), problem);
            }
            gateway.check().map_err(|(field, problem)| ScenarioError::new(format!("gateway[{k}].{field}"), problem))?;
        }
        Ok(())
    }

    /// Refuses a path on which no link has a rate limit or a delay. Packets and acknowledgements would take no time on
    /// such a path, so the virtual time would never advance. UDP outside tunnels may use such a path, because a UDP
    /// source has a clock of its own.
    fn check_time_passes(&self, index: usize, way: &[Vec<Leg>; 2]) -> Result<(), ScenarioError> {
        let takes_time = |leg: &Leg| match leg {
            Leg::Wired(k) => {
                let link = self.direction(*k);
                link.mean_rate().bps() > 0 || !link.delay.duration().is_zero()
            }
            Leg::Radio { .. } => true,
        };
        let flow = &self.flow[index];
        if way.iter().flatten().any(takes_time) || (flow.udp.is_some() && flow.tunnel.is_none()) {
            return Ok(());
        }
        let problem = format!(
            "no link on the way to `{}` and back has a `rate` or a `delay`, so virtual time would stand still; set one of the two on a link",
            flow.to
        );
        refuse(format!("flow[{index}]"), problem)
    }

    /// The links that the packets of flow `index` pass, there and back. `tunnel` is the result of
    /// [`Scenario::tunnel_of`].
    pub(super) fn flow_links(
        &self,
        topology: &Topology<'_>,
        index: usize,
        tunnel: Option<(usize, bool)>,
    ) -> Result<[Vec<Leg>; 2], ScenarioError> {
        let Some((tunnel, backwards)) = tunnel else {
            let [there, back] = topology.of_flow(self, index)?;
            return Ok([there, if self.flow[index].acks_out_of_band { Vec::new() } else { back }]);
        };
        let [there, back] = topology.of_tunnel(self, tunnel)?;
        Ok(if backwards { [back, there] } else { [there, back] })
    }

    /// The number of the tunnel that carries flow `index`, and whether the flow enters the tunnel at the tunnel's
    /// second end.
    pub(super) fn tunnel_of(&self, index: usize, name: &str) -> Result<(usize, bool), ScenarioError> {
        let flow = &self.flow[index];
        let field = |name: &str| format!("flow[{index}].{name}");
        let Some(k) = self.tunnel.iter().position(|tunnel| tunnel.name == name) else {
            return refuse(field("tunnel"), format!("there is no tunnel `{name}`; add a section [[tunnel]]"));
        };
        let tunnel = &self.tunnel[k];
        let most = tunnel.config().inner_mtu();
        if flow.packet_bytes() > u64::from(most) {
            let problem = format!(
                "{} does not fit the tunnel; write at most {} bytes",
                flow.packet,
                u64::from(most).saturating_sub(flow.header_bytes())
            );
            return refuse(field("packet"), problem);
        }
        if !flow.route.is_empty() {
            return refuse(field("route"), "the tunnel has its own route; remove `route` or `tunnel`");
        }
        let [a, b] = &tunnel.between;
        match (&flow.from, &flow.to) {
            (from, to) if from == a && to == b => Ok((k, false)),
            (from, to) if from == b && to == a => Ok((k, true)),
            _ => refuse(
                field("tunnel"),
                format!("the tunnel joins `{a}` and `{b}`, not `{}` and `{}`; name another tunnel", flow.from, flow.to),
            ),
        }
    }

    fn check_run(&self) -> Result<(), ScenarioError> {
        let run = &self.run;
        let wrong = |field: &str, problem: String| refuse(format!("run.{field}"), problem);
        if run.duration.duration().is_zero() {
            return wrong("duration", "a run of 0 s measures nothing; write for example `1000s`".into());
        }
        if run.warmup.duration() >= run.duration.duration() {
            return wrong(
                "warmup",
                format!("{} leaves nothing of a run of {}; write a shorter time", run.warmup, run.duration),
            );
        }
        if run.runs == 0 || run.runs > MOST_RUNS {
            return wrong("runs", format!("{} runs; write 1 to {MOST_RUNS}", run.runs));
        }
        if let Some(jitter) = run.start_jitter.filter(|jitter| jitter.duration() >= run.duration.duration()) {
            return wrong(
                "start-jitter",
                format!("{jitter} is not within the run of {}; write a shorter time", run.duration),
            );
        }
        if run.unit.is_some_and(|unit| unit.get() == 0) {
            return wrong("unit", "a unit of 0 bytes counts nothing; write for example `53B`".into());
        }
        if let Some(sample) = run.sample {
            let samples = run.duration.duration().as_nanos() / sample.duration().as_nanos().max(1);
            if sample.duration().is_zero() || samples > MOST_SAMPLES {
                let problem =
                    format!("{sample} cuts {} into more than {MOST_SAMPLES} pieces; write a longer time", run.duration);
                return wrong("sample", problem);
            }
        }
        for (k, [from, to]) in run.intervals.iter().enumerate() {
            if from.duration() >= to.duration() || to.duration() > run.duration.duration() {
                let problem = format!(
                    "{from} to {to}: an interval must end after it begins, and within the run of {}",
                    run.duration
                );
                return wrong(&format!("intervals[{k}]"), problem);
            }
        }
        Ok(())
    }
}

fn name_of(variant: Variant) -> &'static str {
    Variant::NAMES.iter().find(|(known, _)| *known == variant).map_or("", |(_, name)| name)
}

/// Checks one flow. An error has the field and the problem.
fn check_flow(flow: &FlowSpec, duration: Duration) -> Result<(), (&'static str, String)> {
    let wrong = |field, problem: &str| Err((field, problem.to_owned()));
    if flow.count == 0 || flow.count > MOST_FLOWS {
        return Err(("count", format!("{} connections; write 1 to {MOST_FLOWS}", flow.count)));
    }
    if flow.window == 0 {
        return wrong("window", "a window of 0 packets sends nothing; write at least 1");
    }
    if flow.initial_window == Some(0) {
        return wrong("initial-window", "a window of 0 packets sends nothing; write at least 1");
    }
    let most = MOST_PACKET - flow.header_bytes().max(u64::from(TCP_IP_HEADERS));
    if !(1..=most).contains(&flow.packet.get()) {
        return Err(("packet", format!("{} of payload; write 1 to {most} bytes", flow.packet)));
    }
    if let Some(udp) = &flow.udp {
        udp.check(flow)?;
    }
    if flow.ecn && !flow.tcp.is_modern() {
        return wrong(
            "ecn",
            "only `cubic`, `linux-cubic`, `bbr` and `linux-reno` have ECN; set `tcp`, or remove `ecn`",
        );
    }
    if flow.ecn && (flow.nc.is_some() || flow.gateway.is_some()) {
        return wrong("ecn", "the coding layer drops the ECN field; remove `ecn`, or `nc` or `gateway`");
    }
    check_timers(flow)?;
    check_acks(flow)?;
    check_share(flow)?;
    flow.source.check(flow.packet.get())?;
    if flow.start.duration() >= duration {
        return Err(("start", format!("{} is not within the run of {duration:?}; write an earlier time", flow.start)));
    }
    if flow.stop.is_some_and(|stop| stop.duration() <= flow.start.duration()) {
        return Err(("stop", format!("the flow stops before it starts, at {}; write a later time", flow.start)));
    }
    Ok(())
}

/// Checks a flow's timers, its clock and the thresholds of Vegas.
fn check_timers(flow: &FlowSpec) -> Result<(), (&'static str, String)> {
    let wrong = |field, problem: &str| Err((field, problem.to_owned()));
    let sender = flow.sender();
    if sender.rto.max.is_zero() {
        return wrong("rto-max", "a time-out of 0 s never waits; write for example `60s`");
    }
    if sender.rto.min > sender.rto.max {
        let [min, max] = [sender.rto.min, sender.rto.max].map(Span::from);
        // The error names the field that was written.
        return Err(match flow.rto_min {
            Some(_) => ("rto-min", format!("{min} is above `rto-max`, {max}; write a shorter time")),
            None => ("rto-max", format!("{max} is below `rto-min`, {min}; write a longer time")),
        });
    }
    match flow.tick {
        Some(tick) if flow.tcp.is_modern() => {
            let problem = format!("{tick} has no effect: {} measures time exactly; remove `tick`", name_of(flow.tcp));
            return Err(("tick", problem));
        }
        Some(tick) if tick.duration().is_zero() || tick.duration() > Duration::from_secs(3600) => {
            let problem = format!("{tick} is no tick of a clock; write for example `10ms`, at most one hour");
            return Err(("tick", problem));
        }
        _ => {}
    }
    match flow.vegas {
        Some(_) if flow.tcp != Variant::Vegas => {
            return Err(("vegas", format!("{} does not use the thresholds of Vegas; remove them", name_of(flow.tcp))));
        }
        Some(vegas) if vegas.alpha > vegas.beta => {
            let problem = format!("alpha, {}, is above beta, {}; write alpha at most beta", vegas.alpha, vegas.beta);
            return Err(("vegas", problem));
        }
        _ => {}
    }
    Ok(())
}

/// Checks how a flow's receiver acknowledges.
fn check_acks(flow: &FlowSpec) -> Result<(), (&'static str, String)> {
    let wrong = |field, problem: &str| Err((field, problem.to_owned()));
    if flow.acks_out_of_band && (flow.tunnel.is_some() || flow.nc.is_some() || flow.udp.is_some()) {
        let problem = "only a TCP flow without `tunnel` and `nc` can acknowledge outside the links; remove `acks-out-of-band`, or `tunnel`, `nc` or `udp`";
        return wrong("acks-out-of-band", problem);
    }
    if flow.ack_every == 0 {
        return wrong("ack-every", "0 acknowledges nothing; write 1 to acknowledge every packet");
    }
    if flow.nc.is_some() && flow.ack_every > 1 {
        return wrong("ack-every", "TCP/NC acknowledges every combination; remove `ack-every` or `nc`");
    }
    if flow.nc.is_some() && flow.receiver == Reassembly::GoBackN {
        return wrong("receiver", "TCP/NC delivers in order, so nothing is dropped; remove `receiver` or `nc`");
    }
    Ok(())
}

/// Checks a flow's share of a gateway.
fn check_share(flow: &FlowSpec) -> Result<(), (&'static str, String)> {
    let wrong = |field, problem: &str| Err((field, problem.to_owned()));
    for (field, is_written) in [("weight", flow.weight.is_some()), ("cap", flow.cap.is_some())] {
        if is_written && flow.gateway.is_none() {
            return Err((field, format!("only a gateway gives shares; set `gateway`, or remove `{field}`")));
        }
    }
    if let Some(weight) = flow.weight.filter(|weight| !(*weight > 0.0 && weight.is_finite())) {
        return Err(("weight", format!("a weight of {weight} has no share; write a number above 0")));
    }
    if flow.cap.is_some_and(|cap| cap.bps() == 0) {
        return wrong("cap", "a flow with a cap of 0 sends nothing; write for example `100kbit/s`");
    }
    Ok(())
}

impl Scenario {
    /// The pairs of a flow that sends requests and the flow that answers them, by their indices.
    ///
    /// # Errors
    /// A flow of requests without answers, or of answers without requests.
    pub(super) fn request_answer_pairs(&self) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let mut request_answer_pairs: Vec<(usize, usize)> = Vec::new();
        for (k, flow) in self.flow.iter().enumerate() {
            let SourceSpec::Answers { to, .. } = &flow.source else { continue };
            let wrong = |name: &str, problem: String| refuse(format!("flow[{k}].{name}"), problem);
            let asks = |other: &FlowSpec| other.name == *to && matches!(other.source, SourceSpec::Requests { .. });
            let Some(other) = self.flow.iter().position(asks) else {
                return wrong(
                    "source.answers.to",
                    format!("no flow `{to}` has `source.requests`; name a flow that has it"),
                );
            };
            let asking = &self.flow[other];
            if request_answer_pairs.iter().any(|(answered, _)| *answered == other) {
                return wrong("source.answers.to", format!("another flow answers `{to}`; name another flow"));
            }
            if asking.from != flow.to || asking.to != flow.from {
                let problem =
                    format!("the answers to `{to}` go the other way; write from `{}` to `{}`", asking.to, asking.from);
                return wrong("from", problem);
            }
            if asking.count != flow.count {
                let problem =
                    format!("{} connections, but `{to}` has {}; write equal numbers", flow.count, asking.count);
                return wrong("count", problem);
            }
            request_answer_pairs.push((other, k));
        }
        for (k, flow) in self.flow.iter().enumerate() {
            let asks = matches!(flow.source, SourceSpec::Requests { .. });
            if asks && !request_answer_pairs.iter().any(|(asking, _)| *asking == k) {
                let problem = format!(
                    "no flow answers these requests; add a flow in the other direction with `source = {{ answers = {{ to = \"{}\", length = \"10kB\" }} }}`",
                    flow.name
                );
                return refuse(format!("flow[{k}].source.requests"), problem);
            }
        }
        Ok(request_answer_pairs)
    }
}
