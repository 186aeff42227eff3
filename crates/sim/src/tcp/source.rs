//! What a connection has to send, and when: without end, a file, bursts, requests and their answers.
//!
//! A source has no clock. [`TrafficSource::next_due`] says when [`TrafficSource::poll`] has something; what arrives is told to
//! [`TrafficSource::on_delivered`], and transfers that are complete come out of [`TrafficSource::poll_completion`].

use super::{Distribution, Period, Sender};
use ripstop_base::{Rate, Stream, Time};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// What there is to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Always more (FTP in ns-2).
    #[default]
    Endless,
    /// One file of so many bytes.
    File(u64),
    /// At a rate while on, nothing while off; the first period is on.
    OnOff {
        /// How long it is on.
        on: Period,
        /// How long it is off.
        off: Period,
        /// Payload while on.
        rate: Rate,
    },
    /// Requests: each a while after the answer to the one before has arrived ([`TrafficSource::on_arrival`]).
    Requests {
        /// Of a request.
        length: Distribution<u64>,
        /// From an answer to the next request.
        think: Period,
    },
    /// Requests at scheduled of their own ([`TrafficSource::schedule`]), whether or not those before are answered.
    Scheduled {
        /// Of a request.
        length: Distribution<u64>,
    },
    /// Answers: one for each request that has arrived ([`TrafficSource::on_arrival`]), at once.
    Answers {
        /// Of an answer.
        length: Distribution<u64>,
    },
}

/// What becomes of the last packet of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// It is filled up, and counted as if it were full.
    #[default]
    Whole,
    /// It carries what is left, and what is written while it waits.
    Exact,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// What there is to send.
    pub pattern: Pattern,
    /// Bytes of payload in a full packet.
    pub payload: u32,
    /// What becomes of the last packet of a transfer.
    pub packing: Packing,
    /// Nothing is sent before.
    pub start: Time,
    /// Nothing new is sent from then on; [`Time::NEVER`]: it goes on.
    pub stop: Time,
}

impl Default for SourceConfig {
    /// Without end, from the epoch on, 1000 bytes a packet.
    fn default() -> SourceConfig {
        let (start, stop) = (Time::ZERO, Time::NEVER);
        SourceConfig { pattern: Pattern::Endless, payload: 1000, packing: Packing::Whole, start, stop }
    }
}

/// A setting of a source that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    field: &'static str,
    problem: &'static str,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source: {}: {}", self.field, self.problem)
    }
}

impl std::error::Error for SourceError {}

/// What a sender is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Send so many bytes more ([`SourceConfig::packets`], [`Sender::offer`]); `u64::MAX`: without end.
    Offer(u64),
    /// Send nothing new any more ([`Sender::stop`]).
    Stop,
}

/// A transfer that is complete: a file, an answer; of requests, with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When it was due to begin.
    pub began: Time,
    /// When the last of it had arrived.
    pub ended: Time,
    /// Its payload.
    pub bytes: u64,
}

/// A source of data for one connection.
#[derive(Clone, Debug)]
pub struct TrafficSource {
    config: SourceConfig,
    random: Stream,
    /// When there is something to send next.
    due: Time,
    /// Of bursts: when this one ends.
    on_until: Time,
    stopped: bool,
    /// Bytes offered, packets that are filled up as if they were full.
    offered: u64,
    /// Transfers under way: the bytes offered by their ends, when they began, their own bytes.
    under_way: VecDeque<(u64, Time, u64)>,
    /// Of requests: what waits for its answer.
    unanswered: VecDeque<(Time, u64)>,
    /// Of answers: requests that have none yet.
    unanswered_requests: u32,
    /// Of requests at scheduled of their own: those to come.
    scheduled: VecDeque<Time>,
    completions: VecDeque<Completion>,
}

impl TrafficSource {
    /// A source that draws from `random`.
    ///
    /// # Errors
    /// A setting that cannot be.
    pub fn new(config: SourceConfig, random: Stream) -> Result<TrafficSource, SourceError> {
        config.check()?;
        let due = match config.pattern {
            Pattern::Answers { .. } | Pattern::Scheduled { .. } => Time::NEVER,
            _ => config.start,
        };
        let mut source = TrafficSource {
            config,
            random,
            due,
            on_until: Time::ZERO,
            stopped: false,
            offered: 0,
            under_way: VecDeque::with_capacity(8),
            unanswered: VecDeque::with_capacity(8),
            unanswered_requests: 0,
            scheduled: VecDeque::new(),
            completions: VecDeque::with_capacity(8),
        };
        if let Pattern::OnOff { on, .. } = config.pattern {
            source.on_until = config.start + source.draw(on);
        }
        Ok(source)
    }

    /// Requests are due at these `scheduled`, in their order: those of [`Pattern::Scheduled`]. None before the start.
    pub fn schedule(&mut self, scheduled: &[Time]) {
        self.scheduled.extend(scheduled);
        if self.due == Time::NEVER {
            self.due = self.next_scheduled();
        }
    }

    /// When [`TrafficSource::poll`] has something, [`Time::NEVER`] when nothing is known to come.
    pub fn next_due(&self) -> Time {
        if self.stopped { Time::NEVER } else { self.due.min(self.config.stop) }
    }

    /// What the sender is to do at `now`; to be called until it answers None.
    pub fn poll(&mut self, now: Time) -> Option<Demand> {
        if self.stopped || now < self.next_due() {
            return None;
        }
        if now >= self.config.stop {
            self.stopped = true;
            self.due = Time::NEVER;
            return Some(Demand::Stop);
        }
        let began = std::mem::replace(&mut self.due, Time::NEVER);
        let bytes = match self.config.pattern {
            Pattern::Endless => u64::MAX,
            Pattern::File(bytes) => self.begin(began, bytes),
            Pattern::OnOff { on, off, rate } => {
                self.due = began + rate.time_for(self.config.payload as usize).max(Duration::from_nanos(1));
                if self.due >= self.on_until {
                    self.due = self.on_until + self.draw(off);
                    self.on_until = self.due + self.draw(on);
                }
                u64::from(self.config.payload)
            }
            Pattern::Requests { length, .. } | Pattern::Scheduled { length } => {
                self.due = self.next_scheduled();
                let bytes = length.draw_bytes(&mut self.random);
                self.unanswered.push_back((began, bytes));
                self.begin(began, bytes)
            }
            Pattern::Answers { length } => {
                self.unanswered_requests -= 1;
                if self.unanswered_requests > 0 {
                    self.due = began;
                }
                let bytes = length.draw_bytes(&mut self.random);
                self.begin(began, bytes)
            }
        };
        self.offered = self.offered.saturating_add(bytes);
        Some(Demand::Offer(bytes))
    }

    /// Polls, and lets `sender` do what is unanswered_requests.
    pub fn feed(&mut self, now: Time, sender: &mut Sender) {
        while let Some(demand) = self.poll(now) {
            match demand {
                Demand::Offer(bytes) => sender.offer(now, self.config.packets(bytes)),
                Demand::Stop => sender.stop(),
            }
        }
    }

    /// The receiver has so many bytes in order. Answers how many transfers that completes.
    pub fn on_delivered(&mut self, now: Time, bytes: u64) -> u32 {
        let mut arrived = 0;
        while let Some((_, began, bytes)) = self.under_way.front().copied().filter(|(end, ..)| *end <= bytes)
        {
            self.under_way.pop_front();
            arrived += 1;
            if !matches!(self.config.pattern, Pattern::Requests { .. } | Pattern::Scheduled { .. }) {
                self.completions.push_back(Completion { began, ended: now, bytes });
            }
        }
        arrived
    }

    /// A transfer of the other end has arrived whole here: an answer to a request, or a request to be answered.
    pub fn on_arrival(&mut self, now: Time) {
        match self.config.pattern {
            Pattern::Requests { .. } | Pattern::Scheduled { .. } => {
                let Some((began, bytes)) = self.unanswered.pop_front() else { return };
                self.completions.push_back(Completion { began, ended: now, bytes });
                if let Pattern::Requests { think, .. } = self.config.pattern {
                    self.due = now + self.draw(think);
                }
            }
            Pattern::Answers { .. } => {
                self.unanswered_requests += 1;
                self.due = self.config.start.max(now);
            }
            Pattern::Endless | Pattern::File(_) | Pattern::OnOff { .. } => {}
        }
    }

    /// The next transfer that is complete.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Bytes offered so far; `u64::MAX` of a source without end.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    fn next_scheduled(&mut self) -> Time {
        self.scheduled.pop_front().map_or(Time::NEVER, |at| at.max(self.config.start))
    }

    /// A transfer of `bytes`: what it takes of the stream.
    fn begin(&mut self, began: Time, bytes: u64) -> u64 {
        let taken = match self.config.packing {
            Packing::Whole => self.config.packets(bytes).saturating_mul(u64::from(self.config.payload)),
            Packing::Exact => bytes,
        };
        self.under_way.push_back((self.offered.saturating_add(taken), began, bytes));
        taken
    }

    fn draw(&mut self, period: Period) -> Duration {
        period.draw(&mut self.random)
    }
}

impl SourceConfig {
    /// How many packets `bytes` make that are not joined with others; `u64::MAX` without end.
    pub fn packets(&self, bytes: u64) -> u64 {
        if bytes == u64::MAX { bytes } else { bytes.div_ceil(u64::from(self.payload)) }
    }

    /// Checks every setting; [`TrafficSource::new`] does so too.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<(), SourceError> {
        let wrong = |field, problem| Err(SourceError { field, problem });
        if self.payload == 0 {
            return wrong("payload", "a packet carries at least 1 byte");
        }
        if self.stop <= self.start {
            return wrong("stop", "must be later than start");
        }
        match self.pattern {
            Pattern::File(0) => wrong("file", "0 bytes are no file; write at least 1"),
            Pattern::OnOff { rate, .. } if rate.bps() == 0 => wrong("rate", "0 sends nothing; write a rate"),
            Pattern::OnOff { on, .. } if on.mean().is_zero() => {
                wrong("on", "0 s sends nothing; write a longer time")
            }
            Pattern::Requests { length, .. } | Pattern::Scheduled { length } if *length.mean() == 0 => {
                wrong("requests", "a request has at least 1 byte")
            }
            Pattern::Answers { length } if *length.mean() == 0 => {
                wrong("answers", "an answer has at least 1 byte")
            }
            _ => Ok(()),
        }
    }
}
