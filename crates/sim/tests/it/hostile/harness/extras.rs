//! What a scenario has beyond a lossy path: queue disciplines, ECN marks, rate steps, changes of the path's MTU,
//! settings of both ends, pre-shared keys, moves of both ends, clocks that jump, and a hostile peer.
//!
//! All draws are from random streams of their own. So the paths and the traffic of a seed do not depend on them.

use super::attacker::AttackPlan;
use super::scenario::{HostileScenario, Mishap, Side};
use ripstop_base::{Bytes, Rate, Seed, Span, Stream, Time};
use ripstop_link::{Change, Discipline, Fec, LinkConfig, Mark};
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::control::rate::Mode;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::control::redundancy::Redundancy;
use ripstop_proto::secure::SecureConfig;
use std::time::Duration;

/// The wall clock of all ends at the start, since 1970: the year 2026.
pub(crate) const WALL_CLOCK: Duration = Duration::from_secs(1_790_000_000);

/// Adds extras to a scenario of `length` seconds.
pub(crate) fn add(scenario: &mut HostileScenario, length: f64, seed: Seed) {
    paths(scenario, length, &mut seed.stream("hostile/paths"));
    settings(scenario, &mut seed.stream("hostile/settings"));
    mishaps(scenario, length, &mut seed.stream("hostile/mishaps"));
    let mut r = seed.stream("hostile/attack");
    if r.chance(0.2) {
        scenario.attack = Some(AttackPlan {
            victim: Side::BOTH[r.below(2) as usize],
            per_step: 1 + r.below(5) as u32,
            memory: 4_000_000 << r.below(4),
        });
    }
    scenario.preshared = r.chance(0.3);
    let mut r = seed.stream("hostile/code");
    if r.chance(0.1) {
        let k = [4, 8, 16, 16, 32, 64][r.below(6) as usize];
        let fixed = BlockLength::Fixed(k + r.below(u64::from(k) + 1) as u8);
        let n = if r.chance(0.3) { fixed } else { BlockLength::Measured };
        scenario.config.code = Code::Block(BlockSettings { k, n });
    }
}

fn paths(scenario: &mut HostileScenario, length: f64, r: &mut Stream) {
    let at = |share: f64| Span::from(Duration::from_secs_f64(length * share));
    let marks = r.chance(0.15);
    let steps = r.chance(0.15);
    let shrinks = r.chance(0.15);
    for link in &mut scenario.links {
        if !has_code(link) {
            discipline(link, r);
        }
        if marks {
            link.mark = Some(Mark::Share(super::links::share(0.2 * r.unit() * r.unit())));
        }
        let mut changes = std::mem::take(&mut link.schedule);
        if steps && changes.is_empty() {
            for share in [0.2, 0.45, 0.7] {
                let rate = Rate::from_bps((link.rate.bps() as f64 * (0.2 + r.unit())) as u64);
                changes.push(Change { at: at(share), rate: Some(rate), ..Change::default() });
            }
        }
        if shrinks && r.chance(0.7) {
            let mtu = Some(Bytes::new(1280 + r.below(200)));
            changes.push(Change { at: at(0.15 + 0.2 * r.unit()), mtu, ..Change::default() });
            if r.chance(0.5) {
                changes.push(Change { at: at(0.6), mtu: Some(Bytes::new(1500)), ..Change::default() });
            }
        }
        changes.sort_by_key(|change| change.at.duration());
        link.schedule = changes;
    }
    scenario.interrupted |= shrinks;
}

/// Whether a link has a block code. Such a link decides at once, so it has a drop-tail queue.
fn has_code(link: &LinkConfig) -> bool {
    link.fec.as_ref().is_some_and(|fec: &Fec| fec.n > 0)
}

/// The part of a link's rate that packets of 1500 bytes get; the link's block code takes the rest.
fn uncoded_part(link: &LinkConfig) -> f64 {
    const PACKET: usize = 1500;
    let Some(fec) = link.fec.as_ref().filter(|_| has_code(link)) else { return 1.0 };
    let coded = fec.blocks(PACKET) * u64::from(fec.n) * fec.unit.get();
    PACKET as f64 / coded.max(1) as f64
}

fn discipline(link: &mut LinkConfig, r: &mut Stream) {
    link.queue_discipline = match r.below(10) {
        0 => Discipline::codel(),
        1 => Discipline::pie(),
        2 => Discipline::fq(),
        _ => Discipline::Fifo,
    };
    link.ecn = link.queue_discipline != Discipline::Fifo && r.chance(0.5);
}

fn settings(scenario: &mut HostileScenario, r: &mut Stream) {
    // A fixed rate does not follow the path, so it must stay below each rate of each link.
    let rates = scenario.links.iter().flat_map(|link| {
        let changed = link.schedule.iter().filter_map(|change| change.rate);
        let policed = link.policer.iter().map(|policer| policer.rate);
        let least = std::iter::once(link.rate).chain(changed).chain(policed).map(Rate::bps).min();
        Some(least? as f64 * uncoded_part(link))
    });
    let least = rates.reduce(f64::min).unwrap_or(0.0);
    let config = &mut scenario.config;
    config.rate = match r.below(10) {
        0 | 1 => RateMode::Adaptive(Mode::Scavenge),
        2 | 3 => RateMode::Adaptive(Mode::Strict),
        4 => RateMode::Fixed(Rate::from_bps((least * (0.2 + 0.6 * r.unit())).max(10_000.0) as u64)),
        _ => RateMode::Adaptive(Mode::Fair),
    };
    config.redundancy = match r.below(10) {
        0 => Redundancy::None,
        1 => Redundancy::Fixed(1.0 + r.unit()),
        _ => Redundancy::Adaptive,
    };
    config.ecn = r.chance(0.8);
}

fn mishaps(scenario: &mut HostileScenario, length: f64, r: &mut Stream) {
    let mut moment = || Time::from_secs_f64(length * (0.1 + 0.6 * r.unit()));
    let (right, both, jump, back) = (moment(), moment(), moment(), moment());
    let chances = [0.1, 0.1, 0.15, 0.1].map(|chance| r.chance(chance));
    let side = Side::BOTH[r.below(2) as usize];
    if chances[0] {
        scenario.mishaps.push((right, Side::Right, Mishap::Roam));
    }
    if chances[1] {
        scenario.mishaps.extend(Side::BOTH.map(|side| (both, side, Mishap::Roam)));
        scenario.both_move = Some(both);
    }
    if chances[2] {
        // From a tenth of a second to ten minutes: also longer than keys live.
        let by = Duration::from_secs_f64(super::links::log_uniform(r, 0.1, 600.0));
        scenario.mishaps.push((jump, side, Mishap::ClockJump(by)));
    }
    if chances[3] {
        let wall_clock = WALL_CLOCK - Duration::from_secs(1 + r.below(10_000_000));
        scenario.mishaps.push((back, side, Mishap::WallClock(wall_clock)));
        scenario.mishaps.push((back, side, Mishap::Restart));
    }
    scenario.interrupted |= chances.contains(&true);
}

/// The names under which the tally counts the extras. The soak fails if one of them never happened in many sessions.
pub(crate) const MECHANISMS: [&str; 26] = [
    "queue_discipline",
    "ecn",
    "mark",
    "mtu",
    "rate fair",
    "rate strict",
    "rate scavenge",
    "rate fixed",
    "redundancy adaptive",
    "redundancy fixed",
    "redundancy none",
    "code block",
    "preshared",
    "restart",
    "roam",
    "nuisance",
    "both move",
    "clock jump",
    "clock jump beyond the life of keys",
    "wall clock back",
    "attack",
    "attack.intruder",
    "attack.malformed",
    "attack.false_reports",
    "attack.sessions",
    "attack.delivered",
];

impl HostileScenario {
    /// Whether the scenario may show the mechanism `name`.
    pub(crate) fn may_show(&self, name: &str) -> bool {
        let link = |has: fn(&LinkConfig) -> bool| self.links.iter().any(has);
        let mishap = |is: fn(Mishap) -> bool| self.mishaps.iter().any(|(_, _, mishap)| is(*mishap));
        let life = SecureConfig::default().reject_after;
        match name {
            "queue_discipline" => link(|link| link.queue_discipline.is_aqm()),
            "ecn" => link(|link| link.ecn) && self.config.ecn,
            "mark" => link(|link| link.mark.is_some()),
            "mtu" => link(|link| link.schedule.iter().any(|change| change.mtu.is_some())),
            "code block" => self.has_block_code(),
            "preshared" => self.preshared,
            "restart" => mishap(|mishap| mishap == Mishap::Restart),
            "roam" => mishap(|mishap| mishap == Mishap::Roam),
            "nuisance" => mishap(|mishap| mishap == Mishap::Nuisance),
            "both move" => self.both_move.is_some(),
            "clock jump" => self.mishaps.iter().any(|(_, _, m)| matches!(m, Mishap::ClockJump(by) if *by <= life)),
            "clock jump beyond the life of keys" => {
                self.mishaps.iter().any(|(_, _, m)| matches!(m, Mishap::ClockJump(by) if *by > life))
            }
            "wall clock back" => mishap(|mishap| matches!(mishap, Mishap::WallClock(_))),
            "rate fair" | "rate strict" | "rate scavenge" | "rate fixed" => self.rate_name() == name,
            "redundancy adaptive" | "redundancy fixed" | "redundancy none" => self.redundancy_name() == name,
            _ => self.attack.is_some(),
        }
    }

    /// Whether both ends send in blocks, and so repeat nothing.
    pub(crate) fn has_block_code(&self) -> bool {
        matches!(self.config.code, Code::Block(_))
    }

    /// Whether both ends yield to other traffic.
    pub(crate) fn yields(&self) -> bool {
        matches!(self.config.rate, RateMode::Adaptive(Mode::Scavenge))
    }

    /// The name of the rate mode.
    pub(crate) fn rate_name(&self) -> &'static str {
        match self.config.rate {
            RateMode::Adaptive(Mode::Fair) => "rate fair",
            RateMode::Adaptive(Mode::Strict) => "rate strict",
            RateMode::Adaptive(Mode::Scavenge) => "rate scavenge",
            RateMode::Fixed(_) => "rate fixed",
        }
    }

    /// The name of the redundancy.
    pub(crate) fn redundancy_name(&self) -> &'static str {
        match self.config.redundancy {
            Redundancy::Adaptive => "redundancy adaptive",
            Redundancy::Fixed(_) => "redundancy fixed",
            Redundancy::None => "redundancy none",
        }
    }
}
