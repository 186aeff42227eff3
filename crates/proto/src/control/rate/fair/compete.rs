//! Competition with flows that keep a queue, such as CUBIC. The controller then follows CUBIC's
//! window, because a sender that yields to every queue would be left with almost nothing.
//!
//! A *queue test* finds out to whom a long queue belongs. The sender withholds a part of its flight
//! for about a round trip and a half:
//!
//! * The queue becomes short: the queue was the sender's own.
//! * The queue hardly changes: the delay belongs to the path, for instance to a longer route.
//! * The queue shrinks by a part: others keep the rest, and the sender must compete.

use super::super::tuning::CompeteTuning;
use super::super::{Report, Settled, Tuning};
use super::cubic::CubicWindow;
use super::path::PathState;
use super::rounds::Round;
use ripstop_base::Time;

/// A queue test that is going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueTest {
    /// Queueing delay before the test, s.
    queue: f64,
    /// By how much the queueing delay rose before the test, and by how much it varied since it became long, s.
    rise: f64,
    range: f64,
    /// Least queueing delay since, s.
    least: f64,
    /// Largest queueing delay since, s.
    most: f64,
    /// The flight during the test, bytes.
    pub(super) flight: f64,
    /// Bytes withheld.
    withheld: f64,
    /// The rate that the sender's packets had before the test, byte/s.
    rate: f64,
    /// Length of the test, s.
    pub(super) length: f64,
}

/// To whom a long queue belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    /// The queue was the sender's own. The path is free.
    Own,
    /// The delay belongs to the path.
    Path,
    /// Others keep a queue. The path carries about this rate, byte/s.
    Others(f64),
}

impl QueueTest {
    /// Begins a test with `flight` bytes in flight.
    pub(super) fn new(flight: f64, path: &PathState, tuning: &Tuning) -> QueueTest {
        let kept = tuning.queue_test.keeps * flight * path.min_rtt / path.srtt.max(path.min_rtt);
        let queue = path.queue.delay();
        QueueTest {
            queue,
            rise: path.queue_rise(),
            range: path.queue_range(),
            least: queue,
            most: queue,
            flight: kept.max(2.0 * path.packet),
            withheld: (flight - kept).max(0.0),
            rate: flight / path.srtt.max(1e-6),
            length: tuning.queue_test.length * path.srtt + 2.0 * path.report_every,
        }
    }

    /// Takes the queueing delay of a report, `spent` seconds after the beginning. Returns the
    /// verdict when the test ends.
    pub(super) fn observe(&mut self, spent: f64, path: &PathState, tuning: &Tuning) -> Option<Owner> {
        self.least = self.least.min(path.queue.delay());
        self.most = self.most.max(path.queue.delay());
        if path.is_short(tuning) {
            return Some(Owner::Own);
        }
        if spent < self.length {
            return None;
        }
        let (shrunk, grown) = (self.queue - self.least, self.most - self.queue);
        // The queue shrinks at the rate of the path, and `rate` may be a small part of this rate.
        let expected = self.queue.min(self.withheld / self.rate.max(path.top));
        let noise = tuning.queue_test.path_delay * expected + tuning.queue_test.noise * path.queue.jitter();
        // A delay of the path does not rise steadily, but a queue of others may rise as fast as the test lowers it.
        if shrunk.max(grown).max(self.rise).max(self.range) < noise {
            return Some(Owner::Path);
        }
        // If the others grow during the test, the queue may hardly shrink.
        Some(Owner::Others(self.withheld / shrunk.max(noise)))
    }
}

/// A competition that is going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Competition {
    pub(super) cubic: CubicWindow,
    /// The window at the beginning, bytes.
    first_window: f64,
    /// Until the first congestion event, the window keeps this rate while the queue grows, byte/s. 0: there is no such
    /// rate, because an earlier competition goes on, or because there was an event.
    first_rate: f64,
    /// The queueing delay at the beginning, s, while the window doubles in each round trip. `None`: it does not.
    slow_start: Option<f64>,
    /// When the competition began, or the last queue test ended.
    since: Time,
    /// Time from `since` to the next queue test, s.
    interval: f64,
    /// When the last congestion event was.
    last_event: Time,
    /// Since when the queue has been short. `None`: it is long.
    short_since: Option<Time>,
    /// Packets settled while the queue was below and above half of the longest queue.
    halves: [Settled; 2],
    /// The share of packets lost when the erasure floor was first learned. `None`: it was not.
    first_share: Option<f64>,
    /// Whether an AQM keeps the queue short: drops that no probe provoked began the competition.
    pub(super) managed: bool,
}

/// What the losses during a competition show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erasures {
    /// Nothing yet.
    Unknown,
    /// The path itself loses packets: these show how many.
    Random(Settled),
    /// Losses have grown since the path's own losses were learned. So an AQM drops packets, and drops more the more this
    /// sender sends.
    Growing,
}

/// What a report means for a competition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The competition goes on.
    GoOn,
    /// A queue test is due.
    Test,
    /// The queue has become short: the others have gone.
    Leave,
}

impl Competition {
    /// Begins a competition with a window of `window` bytes.
    pub(super) fn new(now: Time, window: f64, path: &PathState, tuning: &Tuning) -> Competition {
        let first_rate = window / path.srtt.max(1e-3);
        let interval = first_interval(path, tuning);
        Competition { first_rate, ..Competition::with_interval(now, window, interval, path, tuning) }
    }

    /// Lets the window double in each round trip until the queue has grown by `slow-start`.
    pub(super) fn slow_start(&mut self, path: &PathState) {
        self.slow_start = Some(path.queue.delay());
    }

    fn with_interval(now: Time, window: f64, interval: f64, path: &PathState, tuning: &Tuning) -> Competition {
        let cubic = CubicWindow::new(now, window, path.packet);
        Competition {
            cubic,
            first_window: window,
            first_rate: 0.0,
            slow_start: None,
            since: now,
            interval,
            last_event: now + std::time::Duration::from_secs_f64(tuning.compete.grace * path.srtt),
            short_since: None,
            halves: <[Settled; 2]>::default(),
            first_share: None,
            managed: false,
        }
    }

    /// Takes a report. `round` has the counts of the present round. `floor`: whether the erasure
    /// floor explains losses (`Mode::Strict` does not ask the floor).
    pub(super) fn on_report(
        &mut self,
        report: &Report,
        round: &Round,
        path: &PathState,
        floor: bool,
        tuning: &Tuning,
    ) -> Turn {
        let now = report.now;
        // A window of which less than half is used does not grow (RFC 7661).
        if 2.0 * report.in_flight_before as f64 >= self.cubic.get() {
            let acked = report.acked_bytes as f64;
            let room = tuning.compete.slow_start * path.srtt;
            self.slow_start = self.slow_start.filter(|queue| path.queue.delay() - queue < room);
            match self.slow_start {
                Some(_) => self.cubic.raise(now, self.cubic.get() + acked),
                None => self.cubic.on_ack(now, acked, path.srtt, tuning),
            }
            // Others in slow start fill a deep queue. The sender would lose its part of the path if it only followed
            // CUBIC's plateau meanwhile.
            self.cubic.raise(now, self.first_rate * path.srtt);
        }
        let full = path.queue.delay() > tuning.compete.full_queue * path.longest_queue()
            && (!floor || path.exceeds(round.all, tuning.compete.event_deviations, 0.0));
        // CoDel drops from queues that are far from full. Then clearer evidence is needed.
        let managed = !path.is_short(tuning)
            && (!floor && round.queued.lost > 0
                || path.exceeds(round.queued, tuning.evidence.crowding_deviations, 0.002));
        let lost = report.settled_total().lost > 0 && (full || managed);
        let event = (lost || report.ce > 0) && self.on_congestion(now, path, tuning);
        let short_since = *self.short_since.get_or_insert(now);
        if !path.is_short(tuning) {
            self.short_since = None;
        } else if now.since(short_since).as_secs_f64() > tuning.compete.short_for * path.srtt
            && now.since(self.last_event).as_secs_f64()
                > if self.managed { tuning.compete.managed_quiet } else { tuning.compete.quiet }
        {
            return Turn::Leave;
        }
        let running = now.since(self.since).as_secs_f64();
        // The flight is smallest after an event, so a test costs least then.
        if running > self.interval && event || running > 2.0 * self.interval { Turn::Test } else { Turn::GoOn }
    }

    /// The rate of the window, byte/s.
    pub(super) fn rate(&self, path: &PathState) -> f64 {
        self.cubic.get() / path.srtt.max(1e-3)
    }

    /// Takes a congestion event: cuts the window, at most one time in a round trip. Returns whether the window was cut.
    pub(super) fn on_congestion(&mut self, now: Time, path: &PathState, tuning: &Tuning) -> bool {
        let due = now.since(self.last_event).as_secs_f64() >= path.srtt;
        if due {
            self.last_event = now;
            self.first_rate = 0.0;
            self.slow_start = None;
            self.cubic.on_congestion(now, tuning);
        }
        due
    }

    /// Counts the packets of a report, and says what the losses show.
    ///
    /// Others who fill a queue cause losses while the queue is nearly full. If the queue loses as
    /// much while it is at most half full, the path itself loses packets, or an AQM drops them.
    pub(super) fn erasures(&mut self, report: &Report, path: &PathState, tuning: &Tuning) -> Erasures {
        let CompeteTuning { half_packets, few_erasures, least_erasures, grown, .. } = tuning.compete;
        let full = path.queue.delay() > 0.5 * path.longest_queue();
        self.halves[usize::from(full)] += report.settled_total();
        let [low, high] = self.halves;
        let share = |settled: Settled| f64::from(settled.lost) / f64::from(settled.packets.max(1));
        let random =
            share(low) >= least_erasures && f64::from(low.lost) >= few_erasures && share(low) >= 0.5 * share(high);
        if random || f64::from(low.packets) >= half_packets {
            self.halves = <[Settled; 2]>::default();
        }
        match self.first_share {
            Some(first) if path.loses_more_than(grown * first + least_erasures, tuning) => Erasures::Growing,
            _ if random => {
                self.first_share.get_or_insert(path.loss_mean.max(share(low)));
                Erasures::Random(low)
            }
            _ => Erasures::Unknown,
        }
    }

    /// The losses that were learned are drops of an AQM: cuts the window.
    pub(super) fn distrust(&mut self, now: Time, path: &PathState, tuning: &Tuning) {
        self.first_share = None;
        self.on_congestion(now, path, tuning);
    }

    /// Undoes the cuts so far, because random losses caused them.
    pub(super) fn undo(&mut self, now: Time, path: &PathState) {
        self.cubic = CubicWindow::new(now, self.first_window.max(self.cubic.get()), path.packet);
    }

    /// Continues after a queue test of `spent` that found others. The curve pauses for the test.
    pub(super) fn go_on(&mut self, now: Time, spent: std::time::Duration, path: &PathState, tuning: &Tuning) {
        self.cubic.pause(spent);
        self.since = now;
        self.interval = next_interval(self.interval, path, tuning);
        self.short_since = None;
    }
}

/// The last competition, which a new one may continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    at: Time,
    /// The window at the end, bytes.
    window: f64,
    interval: f64,
    pub(super) managed: bool,
}

impl Left {
    pub(super) fn new(now: Time, competition: &Competition) -> Left {
        let Competition { interval, managed, .. } = *competition;
        Left { at: now, window: competition.cubic.get(), interval, managed }
    }

    /// The competition that continues the last one at `now`. `None`: the last one ended too long
    /// ago.
    pub(super) fn again(&self, now: Time, path: &PathState, tuning: &Tuning) -> Option<Competition> {
        let within = if self.managed { tuning.compete.managed_again } else { tuning.compete.again_within };
        (now.since(self.at).as_secs_f64() <= within + tuning.compete.again_rounds * path.min_rtt).then(|| {
            let interval = next_interval(self.interval, path, tuning);
            let again = Competition::with_interval(now, self.window, interval, path, tuning);
            Competition { managed: self.managed, ..again }
        })
    }
}

/// The first interval between queue tests, s.
fn first_interval(path: &PathState, tuning: &Tuning) -> f64 {
    tuning.queue_test.every.max(10.0 * path.srtt)
}

/// The interval that follows `interval`, s.
fn next_interval(interval: f64, path: &PathState, tuning: &Tuning) -> f64 {
    (2.0 * interval).min(tuning.queue_test.most_interval * first_interval(path, tuning))
}
