//! Rate controllers: how fast to send on a path, and how many bytes may be in flight.
//!
//! Random loss is not congestion. A controller must not mistake random loss for congestion, or
//! congestion for random loss. [`Fair`] distinguishes the two by measuring the *erasure floor*. The
//! erasure floor is the share of packets lost while the path's queue is short and the sender sends
//! no faster than the path carries.
//!
//! Each report of the peer gives the controller one [`Report`]. The controller sets a pacing rate
//! and a window. The pacing rate is the estimated rate of the path times the *pacing gain*. A gain
//! above 1 probes for more rate. A datagram is *settled* when it is known whether it arrived.
//!
//! All sizes are in bytes, IP and UDP headers included. Times are in seconds unless they are a
//! `Duration`. Repairs count like any other packet. So coding never adds load to a bottleneck;
//! repairs displace source packets.

mod erasure;
mod fair;
mod fixed;
mod queue;
mod setting;
mod tuning;

pub use fair::{Fair, Mode};
pub use fixed::Fixed;
pub use setting::RateMode;
pub use tuning::{Tuning, TuningField};

use super::loss::Losses;
use ripstop_base::Time;
use std::time::Duration;

/// What one report of the peer tells a controller.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When the report arrived.
    pub now: Time,
    /// The round-trip time sample, without the time that the receiver waited before it reported.
    /// `None`: the report acknowledged no new highest number.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time (RFC 6298), the sample in `rtt` included.
    pub srtt: Duration,
    /// The one-way delay of the datagrams in this report.
    pub one_way_delay: Option<OneWayDelay>,
    /// Bytes in flight before this report was handled.
    pub in_flight_before: u64,
    /// Bytes in flight after this report was handled.
    pub in_flight: u64,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Datagrams that this report settled, by their [`GainClass`].
    pub settled: [Settled; 3],
    /// Number of datagrams that arrived although earlier reports had declared them lost.
    pub spurious: u32,
    /// A delivery-rate sample. `None`: no sample could be taken.
    pub rate: Option<RateSample>,
    /// Highest datagram number acknowledged.
    pub largest_acked: u64,
    /// The number that the next datagram will have.
    pub next_number: u64,
    /// Interval between the receiver's reports.
    pub report_every: Duration,
    /// Number of datagrams newly reported as marked Congestion Experienced.
    pub ce: u64,
    /// Recent losses of the path, from all causes.
    pub losses: Losses,
    /// Recent losses of the direction in which the reports come.
    pub losses_back: Losses,
}

/// The one-way delay of the datagrams of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWayDelay {
    /// The mean, s. An unknown constant is added, because the clocks of the two ends differ.
    pub mean: f64,
    /// Mean time from the departure of the datagrams to the arrival of the report, s, on the clock of this end. No mean
    /// delay is longer.
    pub most: f64,
}

impl Report {
    /// Sum of `settled` over all gain classes.
    pub fn settled_total(&self) -> Settled {
        self.settled.iter().fold(Settled::default(), |mut sum, settled| {
            sum += *settled;
            sum
        })
    }
}

/// Datagrams whose fate is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Number of datagrams.
    pub packets: u32,
    /// Number of datagrams among them that were lost.
    pub lost: u32,
}

impl std::ops::AddAssign for Settled {
    fn add_assign(&mut self, more: Settled) {
        self.packets += more.packets;
        self.lost += more.lost;
    }
}

/// Rates over the interval between two datagrams that arrived, byte/s.
///
/// The interval ends with the newest acknowledged datagram. Consider the moment when this last
/// datagram was sent. The interval begins with the datagram that was the newest acknowledged one at
/// that moment. If no datagram was acknowledged at that moment, the interval begins with the newest
/// datagram of the first report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes received between the two datagrams, divided by the longer of the receiving and the
    /// sending interval. This is BBR's rate sample.
    pub delivered: f64,
    /// Bytes sent between the two datagrams (received or not), divided by the same interval as for
    /// `delivered`.
    pub passed: f64,
    /// Bytes received, divided by the receiving interval.
    pub received: f64,
    /// Bytes sent (received or not), divided by the sending interval.
    pub sent: f64,
    /// Whether too little was sent for the sample to show the path's rate.
    pub app_limited: bool,
}

/// The class of the pacing gain at which a datagram was sent.
///
/// A packet sent at a gain of at most about 1 does not overload the path. So this sender does not
/// cause the loss of such a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GainClass {
    /// Gain below 0.95: slower than the estimated rate.
    Below,
    /// Gain from 0.95 to 1.01: at the estimated rate.
    #[default]
    At,
    /// Gain above 1.01: probing for more rate.
    Above,
}

impl GainClass {
    /// The class of a pacing gain.
    pub fn of(gain: f64) -> GainClass {
        match gain {
            g if g < 0.95 => GainClass::Below,
            g if g <= 1.01 => GainClass::At,
            _ => GainClass::Above,
        }
    }
}

/// A rate controller: one for each path and direction.
#[derive(Clone, Debug)]
pub enum RateControl {
    /// Finds the path's rate and shares it with other traffic.
    Fair(Box<Fair>),
    /// Sends at the rate that the user has set.
    Fixed(Fixed),
}

impl RateControl {
    /// Takes in one report.
    pub fn on_report(&mut self, report: &Report) {
        match self {
            RateControl::Fair(fair) => fair.on_report(report),
            RateControl::Fixed(fixed) => fixed.on_report(report),
        }
    }

    /// Sets the length of a full datagram, bytes, because the path's MTU has changed.
    pub fn set_packet(&mut self, packet: u32) {
        match self {
            RateControl::Fair(fair) => fair.set_packet(packet),
            RateControl::Fixed(_) => {}
        }
    }

    /// The pacing rate, byte/s, when `waiting` bytes wait to be sent. The rate is always positive.
    pub fn pacing_rate(&self, waiting: usize) -> f64 {
        match self {
            RateControl::Fair(fair) => fair.pacing_rate(waiting),
            RateControl::Fixed(fixed) => fixed.rate(),
        }
    }

    /// The class of the present pacing gain. The sent-packet history stores the class for each
    /// datagram.
    pub fn gain_class(&self) -> GainClass {
        match self {
            RateControl::Fair(fair) => GainClass::of(fair.pacing_gain()),
            RateControl::Fixed(_) => GainClass::At,
        }
    }

    /// Limit on the bytes in flight.
    pub fn window(&self) -> u64 {
        match self {
            RateControl::Fair(fair) => fair.window(),
            RateControl::Fixed(fixed) => fixed.window(),
        }
    }

    /// What the controller knows about the path.
    pub fn view(&self) -> View {
        match self {
            RateControl::Fair(fair) => fair.view(),
            RateControl::Fixed(fixed) => fixed.view(),
        }
    }
}

/// A controller's view of its path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Name of the controller's state, for people.
    pub state: &'static str,
    /// Whether the start-up lasts: nothing shows yet that the path is full.
    pub starting: bool,
    /// Estimated rate of the bottleneck, byte/s.
    pub bandwidth: f64,
    /// Recent minimum of the round-trip time, s.
    pub min_rtt: f64,
    /// Recent queueing delay, s.
    pub queue: f64,
    /// The erasure floor: the share of packets lost for reasons other than congestion, 0 to 1.
    /// [`Fair`] measures the floor.
    pub erasure_floor: f64,
    /// The largest share of lost packets that repairs should make up for, 0 to 1. Loss beyond this
    /// share is congestion, and the controller must lower the rate.
    pub codable: f64,
    /// Number of times that a queueing delay was reclassified as a delay of the path, because the
    /// delay did not shrink while less was sent.
    pub delays_accepted: u64,
    /// Number of times that the delays began anew because a clock of one of the ends had jumped: the one-way delay rose
    /// by more than the round trip allows.
    pub clock_jumps: u64,
    /// Number of times that the controller began to compete with others that keep a queue.
    pub competitions: u64,
    /// Number of loss tests that found that losses grow with the rate.
    pub overloads: u64,
    /// Number of losses in a long queue that proved spurious, so that the controller took them back.
    pub forgiven: u64,
}
