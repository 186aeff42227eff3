//! A source of UDP datagrams in a scenario.

use super::FlowSpec;
use crate::tcp::Distribution;
use crate::world::{UDP_IP_HEADERS, UdpConfig, UdpPattern};
use ripstop_base::{Rate, Span, Time, word};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When a source of UDP datagrams sends. Every datagram has the flow's `packet` bytes of payload, and rates count
/// payload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum UdpSpec {
    /// Datagrams at equal intervals.
    Constant(Rate),
    /// Datagrams at exponentially distributed intervals.
    Poisson(Rate),
    /// On periods and off periods alternate. Datagrams are sent at equal intervals in on periods, and not at all in off
    /// periods. The first period is on.
    OnOff {
        /// Length of an on period.
        #[serde(with = "word")]
        on: Distribution<Span>,
        /// Length of an off period.
        #[serde(with = "word")]
        off: Distribution<Span>,
        /// Payload rate while on.
        rate: Rate,
    },
}

/// The least time between two datagrams that a scenario may ask for. For datagrams of 1000 bytes, this interval means
/// 80 Gbit/s. A faster source would exceed any realistic link, and would slow the simulator down.
const LEAST_INTERVAL: Duration = Duration::from_nanos(100);

impl UdpSpec {
    /// The payload rate of the source while it is on.
    fn rate(&self) -> Rate {
        match self {
            UdpSpec::Constant(rate) | UdpSpec::Poisson(rate) | UdpSpec::OnOff { rate, .. } => *rate,
        }
    }

    /// Checks the source, and that `flow` sets no field of a TCP. An error has the field and the problem.
    pub(in crate::scenario) fn check(&self, flow: &FlowSpec) -> Result<(), (&'static str, String)> {
        let usual = FlowSpec::new(&flow.from, &flow.to);
        let of_tcp = [
            ("tcp", flow.tcp != usual.tcp),
            ("ecn", flow.ecn),
            ("nc", flow.nc.is_some()),
            ("window", flow.window != usual.window),
            ("initial-window", flow.initial_window.is_some()),
            ("rto-min", flow.rto_min.is_some()),
            ("rto-max", flow.rto_max.is_some()),
            ("tick", flow.tick.is_some()),
            ("vegas", flow.vegas.is_some()),
            ("ack-every", flow.ack_every != usual.ack_every),
            ("receiver", flow.receiver != usual.receiver),
            ("source", flow.source != usual.source),
        ];
        if let Some((field, _)) = of_tcp.iter().find(|(_, given)| *given) {
            return Err((field, "the field belongs to TCP, and the flow is `udp`; remove one of the two".into()));
        }
        if self.rate().bps() == 0 {
            return Err(("udp", "a rate of 0 sends nothing; write for example `1Mbit/s`".into()));
        }
        let interval = self.rate().time_for(flow.packet.get() as usize);
        if interval < LEAST_INTERVAL {
            let problem = format!(
                "{} in packets of {} is one packet every {interval:?}, but the shortest interval is {LEAST_INTERVAL:?}; write a lower rate or larger packets",
                self.rate(),
                flow.packet
            );
            return Err(("udp", problem));
        }
        match self {
            UdpSpec::OnOff { on, .. } if on.mean().duration() < interval => {
                let problem = format!("{on} is shorter than the {interval:?} between two packets; write a longer time");
                Err(("udp.on-off.on", problem))
            }
            _ => Ok(()),
        }
    }

    /// The configuration of the simulated source. The source sends from `start` to `stop`. Each datagram has `payload`
    /// bytes of payload.
    pub(in crate::scenario) fn config(&self, payload: u32, start: Time, stop: Time) -> UdpConfig {
        let every = self.rate().time_for(payload as usize);
        let pattern = match self {
            UdpSpec::Constant(_) => UdpPattern::Periodic { every, burst: 1 },
            UdpSpec::Poisson(_) => UdpPattern::Poisson { per_second: 1.0 / every.as_secs_f64() },
            UdpSpec::OnOff { on, off, .. } => {
                UdpPattern::OnOff { on: on.map(Span::duration), off: off.map(Span::duration), every }
            }
        };
        let config = UdpConfig::new(pattern, payload + UDP_IP_HEADERS);
        UdpConfig { header: UDP_IP_HEADERS, start, stop, ..config }
    }
}
