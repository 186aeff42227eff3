//! Incidents: events outside of the protocol that happen to a node at a scheduled time. Troubles of a link, such as
//! blackouts, are settings of the link instead.

use super::World;
use super::fabric::Purpose;
use super::node::SessionId;
use super::observer::Observer;
use ripstop_base::Time;
use std::time::Duration;

/// An event that happens to an endpoint or a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// An endpoint restarts: it forgets everything except its keys.
    Restart {
        /// The number of the endpoint.
        endpoint: usize,
    },
    /// An endpoint changes its UDP port. Datagrams on their way to the old port are lost.
    Roam {
        /// The number of the endpoint.
        endpoint: usize,
    },
    /// A stranger sends an endpoint random bytes, and replays the last datagram and the recorded initiations that the
    /// endpoint has received.
    Nuisance {
        /// The number of the endpoint.
        endpoint: usize,
    },
    /// The clock of an endpoint jumps forward, as after a suspension of its host.
    ClockJump {
        /// The number of the endpoint.
        endpoint: usize,
        /// The length of the jump.
        by: Duration,
    },
    /// The wall clock of an endpoint's host is set. The endpoint notices at its next restart.
    WallClock {
        /// The number of the endpoint.
        endpoint: usize,
        /// The time since 1970 at the time zero of the world.
        wall_clock: Duration,
    },
    /// Both ends of a tunnel get the processor late from now on, as on a busy machine. Hosts are not late.
    ///
    /// From the moment when a packet arrives or a timer is due, a session waits for a random time before it runs. The
    /// time is drawn anew each time, evenly between zero and `most`.
    LateProcessor {
        /// The number of the tunnel.
        tunnel: usize,
        /// The longest delay. Zero ends the lateness.
        most: Duration,
    },
}

/// An incident that was scheduled.
#[derive(Debug)]
pub(super) struct Scheduled(Incident);

impl World {
    /// Schedules `incident` for the time `at`.
    ///
    /// # Panics
    /// If the endpoint or the tunnel was not added.
    pub fn schedule(&mut self, at: Time, incident: Incident) {
        match incident {
            Incident::Restart { endpoint }
            | Incident::Roam { endpoint }
            | Incident::Nuisance { endpoint }
            | Incident::ClockJump { endpoint, .. }
            | Incident::WallClock { endpoint, .. } => {
                assert!(endpoint < self.endpoints.len(), "the incident names an endpoint that was not added");
            }
            Incident::LateProcessor { tunnel, .. } => {
                assert!(tunnel < self.tunnels(), "the incident names a tunnel that was not added");
            }
        }
        let alarm = self.fabric.alarm(Purpose::Incident(self.incidents.len() as u32));
        self.incidents.push(Scheduled(incident));
        self.fabric.scheduler.set(alarm, at);
    }

    /// Carries out the incident with this number. The endpoint is called before the step ends.
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
            Incident::ClockJump { endpoint, by } => {
                self.endpoints[endpoint].end.session.ahead += by;
                endpoint
            }
            Incident::WallClock { endpoint, wall_clock } => {
                self.endpoints[endpoint].set_wall_clock(wall_clock);
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
