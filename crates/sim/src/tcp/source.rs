//! The traffic source of a connection decides what the connection has to send, and when. A source has data without end,
//! a file, bursts, requests, or answers to requests.
//!
//! A source has no clock. [`TrafficSource::next_due`] says when to call [`TrafficSource::poll`]. The caller reports
//! arrivals to [`TrafficSource::on_delivered`], and takes complete transfers from [`TrafficSource::poll_completion`].

use super::{Distribution, Period, Sender};
use ripstop_base::{Rate, Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// The pattern of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Data without end (FTP in ns-2).
    #[default]
    Endless,
    /// One file of this number of bytes.
    File(u64),
    /// On periods and off periods alternate. In an on period the source has data at a rate. In an off period it has no
    /// data. The first period is on.
    OnOff {
        /// Length of an on period.
        on: Period,
        /// Length of an off period.
        off: Period,
        /// Payload rate while on.
        rate: Rate,
    },
    /// Requests. A request is due when a think time has passed since the answer to the previous request arrived
    /// ([`TrafficSource::on_arrival`]).
    Requests {
        /// Bytes of a request.
        length: Distribution<u64>,
        /// Time from an answer to the next request.
        think: Period,
    },
    /// Requests at given times ([`TrafficSource::schedule`]), whether or not earlier requests are answered.
    Scheduled {
        /// Bytes of a request.
        length: Distribution<u64>,
    },
    /// Answers. Each request that arrives ([`TrafficSource::on_arrival`]) is answered without delay.
    Answers {
        /// Bytes of an answer.
        length: Distribution<u64>,
    },
}

/// How the last packet of a transfer is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// The last packet is padded and counts as full.
    #[default]
    Whole,
    /// The last packet carries the rest of the transfer. If more data is written before this packet is sent, the packet
    /// carries some of this data too.
    Exact,
}

/// The settings of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// The pattern of the data.
    pub pattern: Pattern,
    /// Payload bytes of a full packet.
    pub payload: u32,
    /// How the last packet of a transfer is filled.
    pub packing: Packing,
    /// Nothing is sent before this time.
    pub start: Time,
    /// Nothing new is sent from this time on; [`Time::NEVER`] for no end.
    pub stop: Time,
}

impl Default for SourceConfig {
    /// Data without end from time zero on, 1000 bytes a packet.
    fn default() -> SourceConfig {
        let (start, stop) = (Time::ZERO, Time::NEVER);
        SourceConfig { pattern: Pattern::Endless, payload: 1000, packing: Packing::Whole, start, stop }
    }
}

/// An invalid setting of a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct SourceError {
    pub(crate) field: &'static str,
    pub(crate) problem: &'static str,
}

/// An instruction of a source to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Send this number of bytes more ([`SourceConfig::packets`], [`Sender::offer`]); `u64::MAX` means data without
    /// end.
    Offer(u64),
    /// Send nothing new any more ([`Sender::stop`]).
    Stop,
}

/// A complete transfer: a file, an answer, or a request with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When the transfer was due to begin.
    pub began: Time,
    /// When the last byte of the transfer arrived.
    pub ended: Time,
    /// Payload bytes of the transfer. The bytes of the answer to a request do not count.
    pub bytes: u64,
}

/// A source of data for one connection.
#[derive(Clone, Debug)]
pub struct TrafficSource {
    config: SourceConfig,
    random: Stream,
    /// When the source next has something to send.
    due: Time,
    /// When the on period of an on-off source ends.
    on_until: Time,
    stopped: bool,
    /// Bytes offered to the sender. A padded packet counts as full.
    offered: u64,
    /// For each transfer in progress: the number of bytes offered up to its end, the time when it was due, and the
    /// number of its own bytes.
    under_way: VecDeque<(u64, Time, u64)>,
    /// For each request that waits for its answer: the time when the request was due, and the number of its bytes.
    unanswered: VecDeque<(Time, u64)>,
    /// Requests that an answering source has not answered yet.
    unanswered_requests: u32,
    /// Times of the scheduled requests still to come.
    scheduled: VecDeque<Time>,
    completions: VecDeque<Completion>,
}

impl TrafficSource {
    /// A source that takes its random numbers from `random`.
    ///
    /// # Errors
    /// An invalid setting.
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

    /// Adds times, in ascending order, at which requests of [`Pattern::Scheduled`] are due. Requests due before the
    /// start of the source are sent at the start.
    pub fn schedule(&mut self, scheduled: &[Time]) {
        self.scheduled.extend(scheduled);
        if self.due == Time::NEVER {
            self.due = self.next_scheduled();
        }
    }

    /// When [`TrafficSource::poll`] next has an instruction; [`Time::NEVER`] while no such time is known.
    pub fn next_due(&self) -> Time {
        if self.stopped { Time::NEVER } else { self.due.min(self.config.stop) }
    }

    /// The next instruction to the sender at `now`. The caller repeats the call until the result is None.
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

    /// Polls the source, and passes every demand to `sender`.
    pub fn feed(&mut self, now: Time, sender: &mut Sender) {
        while let Some(demand) = self.poll(now) {
            match demand {
                Demand::Offer(bytes) => sender.offer(now, self.config.packets(bytes)),
                Demand::Stop => sender.stop(),
            }
        }
    }

    /// Handles a delivery: the receiver now has `bytes` bytes in order. Returns how many transfers of this source have
    /// thereby arrived.
    pub fn on_delivered(&mut self, now: Time, bytes: u64) -> u32 {
        let mut arrived = 0;
        while let Some((_, began, bytes)) = self.under_way.front().copied().filter(|(end, ..)| *end <= bytes) {
            self.under_way.pop_front();
            arrived += 1;
            if !matches!(self.config.pattern, Pattern::Requests { .. } | Pattern::Scheduled { .. }) {
                self.completions.push_back(Completion { began, ended: now, bytes });
            }
        }
        arrived
    }

    /// Handles the arrival of a whole transfer from the other end: an answer to a request, or a request to answer.
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

    /// The next complete transfer.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Bytes offered so far; `u64::MAX` for a source without end.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    fn next_scheduled(&mut self) -> Time {
        self.scheduled.pop_front().map_or(Time::NEVER, |at| at.max(self.config.start))
    }

    /// Begins a transfer of `bytes`. Returns the bytes that it adds to the stream, padding included.
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
    /// The number of packets that `bytes` need. `u64::MAX`, for data without end, stays the same.
    pub fn packets(&self, bytes: u64) -> u64 {
        if bytes == u64::MAX { bytes } else { bytes.div_ceil(u64::from(self.payload)) }
    }

    /// Checks every setting, as [`TrafficSource::new`] does.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SourceError> {
        if self.payload == 0 {
            return Err(SourceError { field: "payload", problem: "0 bytes; a packet carries at least 1 byte" });
        }
        if self.stop <= self.start {
            return Err(SourceError { field: "stop", problem: "must be later than start" });
        }
        self.pattern.check()
    }
}

impl Pattern {
    /// Checks that the pattern sends something.
    ///
    /// # Errors
    /// The first invalid setting.
    pub(crate) fn check(&self) -> Result<(), SourceError> {
        let wrong = |field, problem| Err(SourceError { field, problem });
        match self {
            Pattern::File(0) => wrong("source.file", "the file has 0 bytes; write at least 1"),
            Pattern::OnOff { rate, .. } if rate.bps() == 0 => {
                wrong("source.on-off.rate", "a rate of 0 sends nothing; write for example `1Mbit/s`")
            }
            Pattern::OnOff { on, .. } if on.mean().is_zero() => {
                wrong("source.on-off.on", "a time of 0 s sends nothing; write a longer time")
            }
            Pattern::Requests { length, .. } | Pattern::Scheduled { length } if *length.mean() == 0 => {
                wrong("source.requests.length", "the request has 0 bytes; write at least 1")
            }
            Pattern::Answers { length } if *length.mean() == 0 => {
                wrong("source.answers.length", "the answer has 0 bytes; write at least 1")
            }
            _ => Ok(()),
        }
    }
}
