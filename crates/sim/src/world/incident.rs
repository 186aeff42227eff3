//! What can befall a node while the world runs. A link's own troubles, such as blackouts, are settings of the link.

use super::World;
use super::fabric::Purpose;
use super::node::SessionId;
use super::observer::Observer;
use ripstop_base::Time;
use std::time::Duration;

/// Something that befalls a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// An endpoint loses its memory, except for its keys, and starts anew.
    Restart {
        /// The number of the endpoint.
        endpoint: usize,
    },
    /// An endpoint's datagrams come from another address from now on. Those that are still on their way to the old one are lost.
    Roam {
        /// The number of the endpoint.
        endpoint: usize,
    },
    /// A stranger sends an endpoint random bytes, and its peer's last datagram once more.
    Nuisance {
        /// The number of the endpoint.
        endpoint: usize,
    },
    /// Both ends of a tunnel get the processor late from now on, as on a busy machine. From when a packet comes, or a timer
    /// is due, until the session runs passes a time between nothing and `most`, drawn anew each time. Hosts are not late.
    LateProcessor {
        /// The number of the tunnel.
        tunnel: usize,
        /// The longest delay.
        most: Duration,
    },
}

/// An incident of a world.
#[derive(Debug)]
pub(super) struct Scheduled(Incident);

impl World {
    /// Lets `incident` happen at `at`.
    ///
    /// # Panics
    /// On an endpoint or a tunnel that was not added.
    pub fn schedule(&mut self, at: Time, incident: Incident) {
        match incident {
            Incident::Restart { endpoint }
            | Incident::Roam { endpoint }
            | Incident::Nuisance { endpoint } => {
                assert!(endpoint < self.endpoints.len(), "an endpoint that was not added");
            }
            Incident::LateProcessor { tunnel, .. } => {
                assert!(tunnel < self.tunnels(), "a tunnel that was not added");
            }
        }
        let alarm = self.fabric.alarm(Purpose::Incident(self.incidents.len() as u32));
        self.incidents.push(Scheduled(incident));
        self.fabric.scheduler.set(alarm, at);
    }

    /// The incident of this number happens.
    pub(super) fn happen(&mut self, number: u32, _observer: &mut impl Observer) {
        let now = self.fabric.now();
        let Scheduled(incident) = self.incidents[number as usize];
        let endpoint = match incident {
            Incident::Restart { endpoint } => {
                self.endpoints[endpoint].restart(now);
                endpoint
            }
            Incident::Roam { endpoint } => {
                self.endpoints[endpoint].roam();
                endpoint
            }
            Incident::Nuisance { endpoint } => {
                self.endpoints[endpoint].disturb(now, &mut self.strangers);
                endpoint
            }
            Incident::LateProcessor { tunnel, most } => {
                for end in &mut self.tunnels[2 * tunnel..2 * tunnel + 2] {
                    if let Some(clock) = &mut end.end.clock {
                        clock.lateness = most;
                    }
                }
                return;
            }
        };
        self.make_ready(SessionId::Endpoint(endpoint as u32));
    }
}
