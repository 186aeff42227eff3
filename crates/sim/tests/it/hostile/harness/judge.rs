//! Runs one hostile session past its end and judges it. Each property that does not hold becomes a
//! fault.

use super::allowances::SETTLING_TIME;
use super::attacker::{Attacker, STEP};
use super::findings::guarded;
use super::links::configured;
use super::scenario::{HostileScenario, HostileWorld, Mishap, Side};
use super::watch::Watch;
use ripstop_base::{Seed, Time};
use ripstop_proto::endpoint::{EndpointEvent, PeerStatus};
use ripstop_proto::path::silence_limit;
use ripstop_proto::secure::{PeerId, Rejected, SecureConfig};
use ripstop_proto::session::tunnel::Status;
use std::time::Duration;

/// The virtual time between two checks of a session's memory and progress. Half the value checks twice as often and
/// takes longer. Double the value may miss short violations.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The largest loss of a calm session, and of a session in which ends that have moved must find each other. Half the
/// value judges few sessions. Double the value demands what nobody can promise.
const CALM_LOSS: f64 = 0.3;

/// One hostile session: its seed, its scenario, and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct HostileSession {
    /// The master seed, which reproduces the session.
    pub(crate) seed: u64,
    /// The paths, traffic and mishaps.
    pub(crate) scenario: HostileScenario,
    /// The measurements and the faults.
    pub(crate) outcome: Outcome,
}

/// The measurements and the faults of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The faults in words. Empty if there are no faults.
    pub(crate) faults: Vec<String>,
    /// Packets sent into the tunnel, in both directions.
    pub(crate) sent: u64,
    /// Packets delivered.
    pub(crate) delivered: u64,
    /// Packets dropped at the entrance because the queue was full, by CoDel, or after their
    /// deadline.
    pub(crate) queue_drops: u64,
    /// Packets lost in the tunnel: they entered and were never delivered.
    pub(crate) residual: u64,
    /// Lost packets longer than the tunnel's MTU. Path MTU discovery had mistaken losses for a
    /// smaller MTU.
    pub(crate) too_long: u64,
    /// Lost packets that the receiver gave up.
    pub(crate) given_up: u64,
    /// Lost packets that arrived too late for their flow.
    pub(crate) late: u64,
    /// Packets that were not delivered because a later packet of their flow superseded them.
    pub(crate) excused: u64,
    /// Packets recovered from repairs.
    pub(crate) recovered: u64,
    /// Repairs and reports of an honest peer that were refused for the work that they cause.
    pub(crate) refused: u64,
    /// How many times an honest session was shrunk, because it held more than its share of the memory.
    pub(crate) shrunk: u64,
    /// Events processed.
    pub(crate) events: u64,
    /// Whether no handshake completed until shortly before the end, although both ends sent enough handshake messages.
    /// This is possible without a fault: a loss burst has a length in packets, so it can last long on an idle link.
    pub(crate) unconnected: bool,
    /// Whether both ends moved on a path with heavy loss, and an end stayed unreachable, although both ends sent enough
    /// handshake messages. In seed 151543, links that lose 31 and 55 % lose 11 responses in a row.
    pub(crate) unreachable: bool,
    /// Whether an end moved and then had nothing to send, so that the other end cannot learn the new address. In seed
    /// 159929, a clock jump makes an end forget its keys before it moves.
    pub(crate) hidden: bool,
    /// Whether both ends moved, and the left end, which alone could find the other one, then had nothing to send. What was
    /// on the way at that moment stays lost.
    pub(crate) parted: bool,
    /// Packets delivered to the honest peers under attack, and without the attack. Zeros if the session was not compared.
    pub(crate) attacked: (u64, u64),
    /// The longest time without a delivery although packets were waiting and the path was not interrupted. Time counts
    /// only if the path carried enough datagrams, or if the side offered no datagram.
    pub(crate) longest_stall: Duration,
    /// The configured impairments and mishaps, and whether each happened. A name appears one time for each link or end.
    pub(crate) impairments: Vec<(&'static str, bool)>,
}

impl HostileSession {
    /// Runs the session of the master seed `seed`. A panic becomes a fault.
    pub(crate) fn run(seed: u64) -> HostileSession {
        let scenario = HostileScenario::random(Seed::new(seed));
        let outcome = scenario.run_guarded(seed);
        let mut session = HostileSession { seed, scenario, outcome };
        session.compare_with_peace();
        session
    }

    /// Whether almost nothing may be lost: the session is calm and does not yield to others. What waits too long while a
    /// session yields is given up.
    pub(crate) fn must_not_lose(&self) -> bool {
        self.is_calm() && !self.scenario.yields()
    }

    /// Whether a session is calm: no blackout, restart or roaming interrupts the session, and each direction loses at most
    /// [`CALM_LOSS`]. A session with a block code is not calm, because the code repeats nothing. A session that needs more than its
    /// share of the victim's memory is not calm.
    pub(super) fn is_calm(&self) -> bool {
        !self.scenario.interrupted
            && self.scenario.loss <= CALM_LOSS
            && self.outcome.shrunk == 0
            && !self.scenario.has_block_code()
    }
}

impl HostileScenario {
    /// Runs the scenario with the master seed `seed`. A panic becomes a fault.
    pub(super) fn run_guarded(&self, seed: u64) -> Outcome {
        guarded(|| self.run(Seed::new(seed)))
            .unwrap_or_else(|fault| Outcome { faults: vec![fault], ..Outcome::default() })
    }

    /// Runs the scenario past its end. By then every packet must be delivered or given up.
    pub(crate) fn run(&self, seed: Seed) -> Outcome {
        let mut world = match self.world(seed) {
            Ok(world) => world,
            Err(error) => return Outcome { faults: vec![error.to_string()], ..Outcome::default() },
        };
        let mut outcome = Outcome::default();
        let mut watch = Watch::default();
        let mut attacker = self.attack.map(|plan| Attacker::new(plan, &mut world, seed));
        // The clock of a world stands at its last event, so the times of the checks are counted here.
        let (mut until, mut end) = (Time::ZERO, Time::NEVER);
        while until < end {
            if until >= self.stop && end == Time::NEVER {
                end = self.stop + self.settling_time(&world);
            }
            let mut step = until;
            until += CHECK_INTERVAL;
            if let Some(attacker) = attacker.as_mut().filter(|_| step < self.stop) {
                while step < until {
                    step = (step + STEP).min(until);
                    world.world.run_until(step, &mut ());
                    attacker.act(&mut world);
                }
            } else {
                world.world.run_until(until, &mut ());
            }
            self.look_up_names(&mut world);
            watch.check(self, &world, &mut outcome);
        }
        outcome.parted = self.both_move.is_some() && watch.tried.is_none();
        outcome.hidden = self.mishaps.iter().any(|(at, side, mishap)| {
            *mishap == Mishap::Roam && watch.waited[*side as usize].is_none_or(|last| last < *at)
        });
        self.judge(&world, &mut outcome);
        if let Some(attacker) = attacker {
            self.judge_attack(&world, &attacker, &mut outcome);
        }
        outcome
    }

    /// The left end knows the right end by name. As the daemon does, it looks the name up while the right end is
    /// unreachable, and after a restart.
    pub(crate) fn look_up_names(&self, world: &mut HostileWorld) {
        let [left, right] = Side::BOTH.map(|side| side as usize);
        let last = world.world.endpoint_events(left).iter().rev().find_map(|(at, event)| match event {
            EndpointEvent::Unreachable { .. } => Some((*at, true)),
            EndpointEvent::Reachable { .. } | EndpointEvent::Connected { .. } => Some((*at, false)),
            _ => None,
        });
        let now = world.world.now();
        let restarts = self.mishaps.iter().filter(|(at, side, mishap)| {
            (*side, *mishap) == (Side::Left, Mishap::Restart) && *at <= now && now.since(*at) < CHECK_INTERVAL
        });
        if last.is_some_and(|(_, unreachable)| unreachable) || restarts.count() > 0 {
            world.world.resolve(left, right);
        }
    }

    /// Adds what an attack did: to the memory of its victim, and whether somebody without a key got in.
    fn judge_attack(&self, world: &HostileWorld, attacker: &Attacker, outcome: &mut Outcome) {
        if attacker.let_in {
            outcome.faults.push("a host without a configured key got keys".to_owned());
        }
        let Some(plan) = self.attack else { return };
        let (counters, secure) = world.world.endpoint_counters(plan.victim as usize);
        let unknown = secure.datagrams.rejected[Rejected::UnknownPeer(world.world.public_key(0)).index()];
        let hurt = world.world.outside_status(plan.victim as usize, 0);
        outcome.impairments.extend([
            ("attack", attacker.sent > 0),
            ("attack.intruder", unknown > 0),
            ("attack.memory", counters.shrunk > 0),
            ("attack.malformed", counters.body_malformed > 0),
            ("attack.false_reports", counters.false_reports > 0),
            ("attack.sessions", hurt.as_ref().is_some_and(|(status, _)| status.sessions > 1)),
            ("attack.delivered", hurt.is_some_and(|(_, delivered)| delivered > 0)),
        ]);
    }

    /// Adds the faults of the whole session, and the totals of both sides.
    fn judge(&self, world: &HostileWorld, outcome: &mut Outcome) {
        let strays = world.world.strays();
        if strays > 0 {
            outcome.faults.push(format!("{strays} packets came out unknown, twice or out of order"));
        }
        outcome.events = world.world.events();
        let limit = self.longest_excusable_stall();
        if outcome.longest_stall > limit {
            outcome.faults.push(format!(
                "nothing came out for {:?} although packets were waiting; at most {limit:?} is allowed",
                outcome.longest_stall
            ));
        }
        outcome.impairments = self.impairments(world);
        outcome.unconnected = self.is_unconnected(world);
        outcome.unreachable = self.is_unreachable(world);
        let statuses = Side::BOTH.map(|side| world.status(side));
        let [Some(left), Some(right)] = &statuses else {
            outcome.faults.push("an end has no state of its peer".into());
            return;
        };
        for side in Side::BOTH {
            let (here, there) = if side == Side::Left { (left, right) } else { (right, left) };
            self.judge_side(world, side, here, there, outcome);
        }
        outcome.residual = outcome.sent.saturating_sub(outcome.delivered + outcome.queue_drops + outcome.excused);
    }

    /// Adds the faults and the totals of the packets that `side` sent. `here` is what this side
    /// knows of its peer, and `there` is what the peer knows of this side.
    fn judge_side(
        &self,
        world: &HostileWorld,
        side: Side,
        here: &PeerStatus,
        there: &PeerStatus,
        outcome: &mut Outcome,
    ) {
        let (into, out) = world.packets(side);
        if out == 0 && into > 200 && !outcome.unconnected && self.connects_during_traffic(world, side) {
            outcome.faults.push(format!("{side:?}: nothing was delivered of {into} packets"));
        }
        let (Some(mine), Some(theirs)) = (&here.tunnel, &there.tunnel) else {
            if !outcome.unconnected && !outcome.unreachable && !outcome.hidden {
                outcome.faults.push(format!("{side:?}: no session at the end"));
            }
            outcome.sent += into;
            return;
        };
        // Such a session began too late to be at rest, or its ends cannot reach each other.
        let apart = outcome.unconnected || outcome.unreachable || outcome.parted;
        if !apart && (mine.outstanding.0 != 0 || mine.backlog.0 != 0) {
            outcome
                .faults
                .push(format!("{side:?}: not at rest: {:?} outstanding, {:?} waiting", mine.outstanding, mine.backlog));
        }
        if theirs.receiving != (0, 0, 0) && !apart {
            outcome
                .faults
                .push(format!("{side:?}: at rest the peer still has {:?} (undecoded, rows, held)", theirs.receiving));
        }
        let drops = dropped(mine) + here.waited_in_vain;
        // A packet that travelled in pieces counts once, although each piece was delivered to the joiner.
        let delivered = theirs.order.delivered - theirs.pieces.taken + theirs.pieces.joined;
        let known = drops + delivered + theirs.order.superseded + theirs.order.late + theirs.received.given_up;
        // A packet that the receiver gave up may still come out, or come too late.
        let twice = theirs.received.given_up;
        if self.restarts() == 0
            && here.sessions == 1
            && there.sessions == 1
            && !(into..=into + twice + theirs.pieces.dropped).contains(&(known + theirs.pieces.dropped))
            && !apart
        {
            outcome.faults.push(format!("{side:?}: {into} packets went in, {known} are accounted for"));
        }
        let earlier: u64 =
            world.world.before_restart(side as usize).iter().filter_map(|s| s.tunnel.as_ref()).map(dropped).sum();
        outcome.sent += into;
        outcome.delivered += out;
        outcome.queue_drops += drops + earlier;
        outcome.excused += theirs.order.superseded;
        outcome.too_long += mine.taken.too_long;
        outcome.given_up += theirs.received.given_up;
        outcome.late += theirs.order.late;
        outcome.recovered += theirs.received.recovered;
        outcome.refused += here.over_work;
        if let Some(blocks) = mine.blocks {
            outcome.impairments.push(("code block", blocks.blocks > 0));
        }
        outcome.shrunk += here.shrunk;
    }

    /// See [`Outcome::unconnected`].
    fn is_unconnected(&self, world: &HostileWorld) -> bool {
        let late = self.stop + SETTLING_TIME - Duration::from_secs(20);
        let in_time = |side| {
            let connected = |event: &EndpointEvent| matches!(event, EndpointEvent::Connected { .. });
            world.status(side).is_some_and(|status| status.tunnel.is_some())
                && last_event(world, side, connected).is_some_and(|(at, _)| *at < late)
        };
        !Side::BOTH.into_iter().all(in_time) && tried_enough(world)
    }

    /// See [`Outcome::unreachable`].
    fn is_unreachable(&self, world: &HostileWorld) -> bool {
        use EndpointEvent::{Connected, Reachable, Unreachable};
        let state = |event: &EndpointEvent| matches!(event, Connected { .. } | Reachable { .. } | Unreachable { .. });
        let is_unreachable = |side| matches!(last_event(world, side, state), Some((_, Unreachable { .. })));
        let may_fail = self.both_move.is_some() && self.loss > CALM_LOSS;
        may_fail && Side::BOTH.into_iter().any(is_unreachable) && tried_enough(world)
    }

    /// Whether `side` had a session for long enough before its sources ended, and no end restarted meanwhile. Otherwise
    /// most packets are dropped at the entrance, after their deadline, and the few that are still waiting may all be lost
    /// on a bad link. Seed 1475 is an example: the links lose 60 % and 44 %, so the handshake takes 13 s.
    fn connects_during_traffic(&self, world: &HostileWorld, side: Side) -> bool {
        let restarts = self.mishaps.iter().filter(|(_, _, mishap)| *mishap == Mishap::Restart).map(|(at, ..)| *at);
        let ends: Vec<Time> = restarts.chain([self.stop]).collect();
        let events = world.world.endpoint_events(side as usize);
        let honest = PeerId::from_index(0);
        let connects =
            |event: &EndpointEvent| matches!(event, EndpointEvent::Connected { peer, .. } if *peer == honest);
        events.iter().filter(|(_, event)| connects(event)).any(|(begin, _)| {
            let end = ends.iter().copied().filter(|end| end > begin).min();
            let enough = LONG_ENOUGH.div_f64(1.0 - self.loss) + 20 * self.rtt();
            end.is_some_and(|end| end.since(*begin) > enough)
        })
    }

    /// The configured impairments and mishaps, and whether each happened.
    fn impairments(&self, world: &HostileWorld) -> Vec<(&'static str, bool)> {
        let mut all = Vec::new();
        for side in Side::BOTH {
            let unfired = world.world.unfired(side as usize);
            let configured = configured(&self.links[side as usize]);
            all.extend(configured.into_iter().map(|name| (name, !unfired.contains(&name))));
        }
        for (at, side, mishap) in &self.mishaps {
            let there = world.world.endpoint_events(side.other() as usize).iter();
            all.push(match mishap {
                Mishap::Restart => ("restart", !world.world.before_restart(*side as usize).is_empty()),
                Mishap::Roam => {
                    ("roam", there.map(|(_, event)| event).any(|e| matches!(e, EndpointEvent::Roamed { .. })))
                }
                Mishap::Nuisance => (
                    "nuisance",
                    world.world.endpoint_counters(*side as usize).1.datagrams.rejected.iter().sum::<u64>() > 0,
                ),
                Mishap::ClockJump(by) if *by > SecureConfig::default().reject_after => {
                    let secure = world.world.endpoint_counters(*side as usize).1;
                    (
                        "clock jump beyond the life of keys",
                        secure.datagrams.rejected[Rejected::Expired.index()] + secure.renewed > 0,
                    )
                }
                Mishap::ClockJump(_) => ("clock jump", world.world.now() > *at),
                Mishap::WallClock(_) => {
                    let corrected =
                        Side::BOTH.map(|side| world.world.endpoint_counters(side as usize).1.stamps_corrected);
                    ("wall clock back", corrected.iter().sum::<u64>() > 0)
                }
            });
        }
        for side in Side::BOTH {
            let events = world.world.endpoint_events(side as usize);
            let after = |at: Time| events.iter().filter(move |(moment, _)| *moment > at).map(|(_, event)| event);
            if self.links[side as usize].schedule.iter().any(|change| change.mtu.is_some()) {
                all.push(("mtu", after(Time::ZERO).any(|event| matches!(event, EndpointEvent::Mtu { .. }))));
            }
            if let Some(at) = self.both_move {
                let found =
                    |e: &EndpointEvent| matches!(e, EndpointEvent::Roamed { .. } | EndpointEvent::Connected { .. });
                all.push(("both move", after(at).any(found)));
            }
            if self.preshared {
                let connected = |e: &EndpointEvent| matches!(e, EndpointEvent::Connected { .. });
                all.push(("preshared", after(Time::ZERO).any(connected)));
            }
        }
        all.extend([(self.rate_name(), true), (self.redundancy_name(), true)]);
        all
    }

    /// The end of the last interruption that began at or before `now`. `tried`: when the left end first had something to
    /// send after both ends had moved.
    pub(crate) fn last_interruption_end(&self, now: Time, tried: Option<Time>) -> Time {
        let cuts = self.links.iter().flat_map(|link| &link.blackouts);
        let cuts = cuts.map(|cut| (Time::ZERO + cut.at.duration(), cut.length.duration()));
        // When the right end has moved, the left end must first notice that nobody answers, and then looks its name up.
        let moved = SecureConfig::default().unreachable_after + Duration::from_secs(3);
        let mishaps = self.mishaps.iter().map(|(at, side, mishap)| match (side, mishap) {
            (Side::Right, Mishap::Roam) => (*at, moved),
            _ => (*at, Duration::ZERO),
        });
        // When both ends have moved, only the left end can find the other one, and only when it has something to send.
        // It begins a handshake when it has heard nothing for a while, looks the name up when nobody has answered for
        // `unreachable_after`, and sends the next initiation to the new address.
        let secure = SecureConfig::default();
        let found =
            silence_limit(self.rtt()) + secure.unreachable_after + CHECK_INTERVAL + secure.max_retry.mul_f64(1.25);
        let lost = self.both_move.map(|at| match tried {
            Some(tried) => (at, tried.since(at) + found),
            None => (at, self.latest_end().since(at)),
        });
        cuts.chain(mishaps)
            .chain(lost)
            .filter(|(at, _)| *at <= now)
            .map(|(at, length)| at + length)
            .max()
            .unwrap_or(Time::ZERO)
    }
}

/// How long a session without losses must last, besides 20 round trips, until a side that delivers nothing has a fault. With
/// losses, the time grows with the number of attempts that a datagram needs. Half the value blames sessions for a loss of
/// 60 %. Double the value judges fewer sessions.
const LONG_ENOUGH: Duration = Duration::from_secs(2);
/// Handshake messages that an end must have sent before a session may count as unconnected. Half
/// the value excuses ends that give up early. Double the value may report sessions that have no
/// fault.
const TRIES: u64 = 10;

/// Packets that a session dropped at its entrance.
fn dropped(status: &Status) -> u64 {
    // Packets that were made before path MTU discovery ended can be too long.
    status.drops.full + status.drops.aqm + status.drops.expired + status.taken.too_long + status.taken.malformed
}

/// The last event of `side` that is `wanted`.
fn last_event(
    world: &HostileWorld,
    side: Side,
    wanted: impl Fn(&EndpointEvent) -> bool,
) -> Option<&(Time, EndpointEvent)> {
    world.world.endpoint_events(side as usize).iter().rfind(|(_, event)| wanted(event))
}

/// Whether both ends sent enough handshake messages.
fn tried_enough(world: &HostileWorld) -> bool {
    Side::BOTH.into_iter().all(|side| {
        let counters = world.world.endpoint_counters(side as usize).1;
        counters.initiations + counters.initiations_repeated >= TRIES
    })
}
