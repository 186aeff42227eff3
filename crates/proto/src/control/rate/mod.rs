//! Rate controllers: how fast a path may be sent on, and how much may be in flight.
//!
//! Random loss is not congestion, and a controller must not take it for that; nor may it take
//! congestion for random loss. [`Fair`] tells them apart by measuring the *erasure floor*: the loss
//! of packets sent no faster than the path carries while its queue is short.
//!
//! A controller is driven by [`Report`]s, one a feedback, and answers with a pacing rate and a
//! window. Everything is in bytes (IP and UDP headers included) and seconds. Repairs count like
//! any other packet, so coding never adds load to a bottleneck: it displaces source packets.

mod erasure;
mod fair;
mod fixed;
mod queue;

pub use fair::{Fair, Mode};
pub use fixed::Fixed;

use super::loss::Losses;
use ripstop_base::Time;
use std::time::Duration;

/// What one feedback tells a controller.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When the feedback arrived.
    pub now: Time,
    /// The round-trip time it showed, the receiver's delay taken out; None when nothing new was acknowledged.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time (RFC 6298), this sample included.
    pub srtt: Duration,
    /// Mean one-way delay of the datagrams in this report, s, from an unknown but constant origin.
    pub one_way_delay: Option<f64>,
    /// Bytes in flight before this report was taken in.
    pub in_flight_before: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Datagrams whose fate this report settled, by the pacing gain they were sent at.
    pub settled: [Settled; 3],
    /// A delivery-rate sample, when one could be taken.
    pub rate: Option<RateSample>,
    /// Highest datagram number acknowledged.
    pub largest_acked: u64,
    /// The number that the next datagram will have.
    pub next_number: u64,
    /// How often the receiver reports.
    pub report_every: Duration,
    /// Datagrams newly reported with Congestion Experienced.
    pub ce: u64,
    /// What the path has lost of late, of whatever cause.
    pub losses: Losses,
}

impl Report {
    /// Datagrams settled, and how many of them were lost, over all gains.
    pub fn settled_total(&self) -> Settled {
        self.settled.iter().fold(Settled::default(), |sum, s| Settled {
            packets: sum.packets + s.packets,
            lost: sum.lost + s.lost,
        })
    }
}

/// Datagrams whose fate is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// How many.
    pub packets: u32,
    /// How many of them were lost.
    pub lost: u32,
}

/// Rates over the interval between the acknowledged datagram's sending and its acknowledgement, byte/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes received over the longer of the receiving and the sending interval (BBR's sample).
    pub delivered: f64,
    /// Bytes of all numbers passed (received or not) over the same interval.
    pub passed: f64,
    /// Bytes received over the receiving interval alone.
    pub received: f64,
    /// Too little was offered for the sample to show what the path can do.
    pub app_limited: bool,
}

/// The pacing gain a datagram was sent at. Losses of packets sent at up to 1 are not our doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GainClass {
    /// Below .95 of the estimated rate.
    Below,
    /// At the estimated rate.
    #[default]
    At,
    /// Above it: probing.
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
    /// Finds the path's rate and shares it.
    Fair(Box<Fair>),
    /// Sends at the rate the user vouches for.
    Fixed(Fixed),
}

impl RateControl {
    /// Takes in one feedback.
    pub fn on_report(&mut self, report: &Report) {
        match self {
            RateControl::Fair(fair) => fair.on_report(report),
            RateControl::Fixed(fixed) => fixed.on_report(report),
        }
    }

    /// The rate to pace at, byte/s, when `waiting` bytes wait to be sent; always positive.
    pub fn pacing_rate(&self, waiting: usize) -> f64 {
        match self {
            RateControl::Fair(fair) => fair.pacing_rate(waiting),
            RateControl::Fixed(fixed) => fixed.rate(),
        }
    }

    /// The pacing gain in force, for the record of each datagram.
    pub fn gain_class(&self) -> GainClass {
        match self {
            RateControl::Fair(fair) => GainClass::of(fair.pacing_gain()),
            RateControl::Fixed(_) => GainClass::At,
        }
    }

    /// How many bytes may be in flight.
    pub fn window(&self) -> u64 {
        match self {
            RateControl::Fair(fair) => fair.window(),
            RateControl::Fixed(fixed) => fixed.window(),
        }
    }

    /// What is known of the path, for status and metrics.
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
    /// Name of the state, for people.
    pub state: &'static str,
    /// Estimated rate of the bottleneck, byte/s.
    pub bandwidth: f64,
    /// Smallest round-trip time of late, s.
    pub min_rtt: f64,
    /// Queueing delay of late, s.
    pub queue: f64,
    /// Loss that is the path's own, not congestion: the erasure floor.
    pub erasure_floor: f64,
    /// Loss up to which parity is the answer; what goes beyond is congestion, and answered by the rate.
    pub codable: f64,
    /// Delays that looked like a queue, did not shrink while less was sent, and were taken for the path's own.
    pub delays_accepted: u64,
}
