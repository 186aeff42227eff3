//! Ideal CSMA: the model of Boorstyn et al. that paper 002 uses for its table III.
//!
//! A link with a packet attempts after an exponential back-off. When a link becomes active, all links in conflict with
//! it know this at once, and stop their back-offs. An exponential time has no memory. So it makes no difference whether
//! a stopped back-off is kept or drawn again. Here the stopped back-off is drawn again.

use super::link::Phase;
use super::medium::IdealMedium;
use crate::wifi::Packet;
use ripstop_base::Time;

impl<P: Packet> IdealMedium<P> {
    /// Lets every link that may attempt draw a back-off. Returns when the next back-off or exchange ends.
    pub(super) fn begin_backoffs(&mut self, now: Time) -> Time {
        self.links.iter_mut().for_each(|link| link.back_off(now));
        self.first_due().1
    }

    /// Handles the back-offs and exchanges that end by `now`, in the order of their times. If the back-offs of two
    /// links in conflict end in the same nanosecond, the first link of the list stops the back-off of the other link.
    /// So there are no collisions. Returns when the next back-off or exchange ends.
    pub(super) fn step_csma(&mut self, now: Time) -> Time {
        loop {
            let (link, due) = self.first_due();
            if due > now {
                return due;
            }
            match self.links[link].phase {
                Phase::BackingOff(_) => self.attempt(link, now),
                Phase::Active { .. } => self.end_csma(link, now),
                // An idle link is never due.
                Phase::Idle => return Time::NEVER,
            }
        }
    }

    /// The link whose back-off or exchange ends first, and the time of this end. The time is [`Time::NEVER`] if no link
    /// has a back-off or an exchange.
    fn first_due(&self) -> (usize, Time) {
        let due = self.links.iter().map(|link| link.due()).enumerate();
        due.min_by_key(|(_, due)| *due).unwrap_or((0, Time::NEVER))
    }

    /// The back-off of `link` has ended. The link becomes active, and blocks the links in conflict with it.
    fn attempt(&mut self, link: usize, now: Time) {
        self.begin_exchange(link, now);
        for at in 0..self.links[link].with.len() {
            let other = self.links[link].with[at] as usize;
            let other = &mut self.links[other];
            other.blockers += 1;
            if matches!(other.phase, Phase::BackingOff(_)) {
                other.phase = Phase::Idle;
                other.activity.deferrals += 1;
            }
        }
    }

    /// The exchange of `link` has ended. The link, and the links that it blocked, may attempt again. The link over
    /// which the packet goes on is one of the blocked links, because its transmitter was the receiver of `link`.
    fn end_csma(&mut self, link: usize, now: Time) {
        self.end_exchange(link, now);
        for at in 0..self.links[link].with.len() {
            let other = self.links[link].with[at] as usize;
            self.links[other].blockers -= 1;
            self.links[other].back_off(now);
        }
        self.links[link].back_off(now);
    }
}
