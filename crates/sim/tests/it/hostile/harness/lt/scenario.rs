//! Random hostile scenarios of TCP/LT: settings, paths, traffic and restarts, all drawn from a seed.

use super::super::links::{log_uniform, random_link};
use super::tcp::SourceConfig;
use ripstop_base::{Rate, Seed, Span, Stream, Time};
use ripstop_codes::lt::{LtCode, RobustSoliton};
use ripstop_link::{Blackout, LinkConfig};
use ripstop_schemes::lt::{BlockCode, BlockSize, FirstRound, LtConfig, LtMode};
use ripstop_schemes::nc::Factor;
use std::time::Duration;

/// One of the two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The end that sends symbols.
    Sender,
    /// The end that receives symbols.
    Receiver,
}

/// A restart of one end: the end forgets everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restart {
    /// When the end stops.
    pub(crate) at: Time,
    /// Which end it is.
    pub(crate) end: End,
    /// How long the end is down. Packets to it are lost.
    pub(crate) down: Duration,
}

/// A random scenario: one TCP connection at a time through a sender and a receiver, one link in each direction, and
/// restarts.
#[derive(Clone, Debug)]
pub(crate) struct LtScenario {
    /// The settings of both ends.
    pub(crate) config: LtConfig,
    /// The link of the symbols, and the link of the LT-ACKs.
    pub(crate) links: [LinkConfig; 2],
    /// x_s, bit/s. None: the rate is not limited.
    pub(crate) rate: Option<u64>,
    /// Whether the client sends. The gateway, which is the receiver then, tells the sender the rate in LT-ACKs.
    pub(crate) is_upload: bool,
    /// The TCP source.
    pub(crate) source: SourceConfig,
    /// The restarts, in order of time.
    pub(crate) restarts: Vec<Restart>,
}

impl LtScenario {
    /// The scenario of `seed`.
    ///
    /// Rates are 0.1 to 50 Mbit/s, round trips 2 to 800 ms, and losses 0 to 60 % (bursts of up to 8 packets). Some
    /// scenarios have reordering, duplication, corruption, jitter, rate changes, blackouts, restarts, or losses between
    /// TCP and the sender.
    pub(crate) fn random(seed: Seed) -> LtScenario {
        let mut r = seed.stream("hostile/lt");
        let rate = Rate::from_bps(log_uniform(&mut r, 0.1e6, 50e6) as u64);
        let delay = Duration::from_secs_f64(log_uniform(&mut r, 0.001, 0.4));
        let heavy = r.chance(0.3);
        let blackout = r.chance(0.3);
        let config = random_config(&mut r);
        let source = random_source(&mut r);
        // How long the transfer takes about: the path's rate and the window are the limits.
        let window = f64::from(config.window.min(source.window as u32));
        let per_second = (rate.bps() as f64 / 8_400.0).min(window / (2.0 * delay.as_secs_f64()));
        let length = (2.0 * source.packets as f64 / per_second).clamp(0.5, 60.0);
        let mut links = [0, 1].map(|_| random_link(&mut r, rate, delay, heavy, blackout, length));
        if blackout && r.chance(0.5) {
            long_blackout(&mut r, &mut links, length);
        }
        let gives_rate = r.chance(0.7);
        let share = 0.3 + 0.8 * r.unit();
        let rate = gives_rate.then_some((rate.bps() as f64 * share) as u64);
        let mut restarts = Vec::new();
        for end in [End::Sender, End::Receiver] {
            while r.chance(0.2) {
                let at = Time::from_secs_f64(length * r.unit());
                let down = if r.chance(0.5) { Duration::ZERO } else { Duration::from_secs_f64(2.0 * r.unit()) };
                restarts.push(Restart { at, end, down });
            }
        }
        restarts.sort_by_key(|restart| restart.at);
        LtScenario { config, links, rate, is_upload: r.chance(0.5), source, restarts }
    }

    /// Whether the mode is the improved one.
    pub(crate) fn is_improved(&self) -> bool {
        self.config.mode == LtMode::Improved
    }

    /// The longest time that a packet may spend on its way in one direction: in the queue, on the way, and held back.
    pub(crate) fn packet_lifetime(&self) -> Duration {
        self.links.iter().map(lifetime).max().unwrap_or_default()
    }

    /// The delay of the path there and back, jitter included.
    pub(crate) fn round_trip(&self) -> Duration {
        self.links.iter().map(|link| link.delay.duration() + link.jitter.duration()).sum()
    }

    /// The end of the last blackout or restart that began at or before `now`.
    pub(crate) fn last_interruption_end(&self, now: Time) -> Time {
        let cuts = self.links.iter().flat_map(|link| &link.blackouts);
        let cuts = cuts.map(|cut| (Time::ZERO + cut.at.duration(), cut.length.duration()));
        let restarts = self.restarts.iter().map(|restart| (restart.at, restart.down));
        cuts.chain(restarts).filter(|(at, _)| *at <= now).map(|(at, length)| at + length).max().unwrap_or(Time::ZERO)
    }
}

/// The longest time that a packet may spend on this link.
fn lifetime(link: &LinkConfig) -> Duration {
    let slowest = link.schedule.iter().filter_map(|change| change.rate).chain([link.rate]).min().unwrap_or(link.rate);
    let queue = match link.queue {
        Some(ripstop_base::QueueLimit::Bytes(bytes)) => bytes as usize,
        _ => 0,
    };
    let held_back = link.reorder.map_or(Duration::ZERO, |reorder| reorder.extra_delay.duration());
    let copied = link.duplicate.map_or(Duration::ZERO, |duplicate| duplicate.extra_delay.duration());
    let waits = slowest.time_for(queue + 2 * 1500);
    waits + link.delay.duration() + link.jitter.duration() + held_back + copied
}

fn random_config(r: &mut Stream) -> LtConfig {
    let mode = if r.chance(0.7) { LtMode::Improved } else { LtMode::Repaired };
    let code = match r.below(6) {
        0 | 1 => BlockCode::Lt(LtCode::Systematic),
        2 => BlockCode::Lt(LtCode::Optimised),
        3 => BlockCode::Lt(LtCode::Soliton(RobustSoliton::default())),
        4 => BlockCode::Rlnc,
        _ => BlockCode::Mds,
    };
    let block = match mode {
        LtMode::Improved if r.chance(0.3) => BlockSize::Auto,
        _ => BlockSize::Fixed(log_uniform(r, 1.0, 64.9) as u8),
    };
    let first_round = match r.chance(0.2) {
        true => FirstRound::Fixed(Factor::new(1.0 + 2.0 * r.unit()).unwrap_or(Factor::ONE)),
        false => FirstRound::Measured,
    };
    let buffer = log_uniform(r, 1.0, 200.0) as u32;
    LtConfig {
        code,
        block,
        first_round,
        first: [0, 1, 1 << 33][r.below(3) as usize],
        buffer,
        most_held: buffer + log_uniform(r, 64.0, 500.0) as u32,
        most_blocks: log_uniform(r, 1.0, 200.0) as u32,
        window: log_uniform(r, 1.0, 300.0) as u32,
        ..LtConfig::new(mode)
    }
}

fn random_source(r: &mut Stream) -> SourceConfig {
    let pause = r.chance(0.3).then(|| (1 + r.below(60), Duration::from_secs_f64(1.5 * r.unit())));
    SourceConfig {
        packets: log_uniform(r, 20.0, 600.0) as u64,
        window: log_uniform(r, 2.0, 200.0) as u64,
        wired_loss: if r.chance(0.3) { 0.1 * r.unit() } else { 0.0 },
        most_bytes: if r.chance(0.2) { 40 } else { 1000 },
        pause,
    }
}

/// Gives both links the same blackout of up to 30 s, which is longer than every timer of the session.
fn long_blackout(r: &mut Stream, links: &mut [LinkConfig; 2], length: f64) {
    let at = Span::from(Duration::from_secs_f64(0.5 * length * r.unit()));
    let blackout = Blackout { at, length: Span::from(Duration::from_secs_f64(2.0 + 28.0 * r.unit())), every: None };
    for link in links {
        link.blackouts = vec![blackout];
    }
}
