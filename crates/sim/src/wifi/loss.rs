//! Random losses of a medium, in addition to collisions.
//!
//! A loss happens in one of two places ([`Errors`]). Each station draws its losses from a random stream of its own. So
//! a loss changes no other random number of the medium.

use super::link_layer::Passing;
use super::medium::{DropReason, Medium};
use super::queue::{Packet, Queued};
use ripstop_base::{Stream, Time};
use serde::{Deserialize, Serialize};

/// Random losses, equal at all stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomLoss {
    /// The probability of each loss, from 0 to 1.
    pub probability: f64,
    /// What is lost.
    pub errors: Errors,
}

/// What a random loss destroys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Errors {
    /// A datagram that a station has received from a neighbour, after the MAC has acknowledged the frame. The neighbour
    /// does not send the datagram again. Each datagram has one trial on each hop.
    #[default]
    AboveMac,
    /// A frame of any kind, at one station that is near enough to decode the frame. Each such station has a trial of
    /// its own, also if the frame is for another station. The station waits for EIFS, as after any other frame in
    /// error.
    PerFrame,
}

/// Decides at one station what is lost.
#[derive(Clone, Debug)]
pub(super) struct LossDraws {
    /// The probability that a datagram is lost above the MAC.
    datagram: f64,
    /// The probability that a frame is lost.
    frame: f64,
    draws: Stream,
}

impl LossDraws {
    /// The losses of a station, drawn from the stream `draws`. Without `loss` nothing is lost.
    pub(super) fn new(loss: Option<RandomLoss>, draws: Stream) -> LossDraws {
        let probability = |errors| loss.filter(|loss| loss.errors == errors).map_or(0.0, |loss| loss.probability);
        LossDraws { datagram: probability(Errors::AboveMac), frame: probability(Errors::PerFrame), draws }
    }

    /// Whether the station loses the next frame that it could decode.
    #[inline]
    pub(super) fn loses_frame(&mut self) -> bool {
        self.frame > 0.0 && self.draws.chance(self.frame)
    }

    /// Whether the station loses the next datagram above the MAC.
    #[inline]
    fn loses_datagram(&mut self) -> bool {
        self.datagram > 0.0 && self.draws.chance(self.datagram)
    }
}

impl<P: Packet> Medium<P> {
    /// The MAC of station `k` passes a received datagram up, unless the datagram is lost above the MAC.
    pub(super) fn pass_up(&mut self, k: usize, packet: Queued<P>, now: Time) {
        if self.stations[k].losses.loses_datagram() {
            self.drop_packet(k, packet, DropReason::RandomLoss);
        } else {
            self.pass(k, Passing::Up(packet), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn only_the_chosen_thing_is_lost_and_about_as_often_as_asked() {
        for (errors, is_frame) in [(Errors::AboveMac, false), (Errors::PerFrame, true)] {
            let loss = RandomLoss { probability: 0.1, errors };
            let mut losses = LossDraws::new(Some(loss), Seed::new(1).stream("loss"));
            let [mut frames, mut datagrams] = [0, 0];
            for _ in 0..10_000 {
                frames += u32::from(losses.loses_frame());
                datagrams += u32::from(losses.loses_datagram());
            }
            let (lost, kept) = if is_frame { (frames, datagrams) } else { (datagrams, frames) };
            // 1000 losses on average, with a standard deviation of 30.
            assert!((880..=1120).contains(&lost), "{lost} of 10000, {errors:?}");
            assert_eq!(kept, 0, "{errors:?}");
        }
        let mut losses = LossDraws::new(None, Seed::new(1).stream("loss"));
        assert!(!losses.loses_frame() && !losses.loses_datagram());
    }
}
