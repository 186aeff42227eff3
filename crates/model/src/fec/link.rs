//! TCP's throughput over a link with block FEC, and the best amount of FEC (paper 003, equations
//! (3) to (7)).
//!
//! A block of N units carries K units of data, and any K units suffice to decode it. Redundancy
//! hides losses from TCP and takes a share of the link. The throughput is the smaller of two rates:
//! TCP's rate at the residual loss (the losses that FEC does not repair), and K/N of the link's
//! rate.
//!
//! The throughput rises with N until the two rates are equal. For larger N, the throughput falls as
//! K/N. From the N at which the rates are equal, the link is *clean*: losses no longer limit TCP.
//!
//! T is the mean number of TCP packets between two loss events. A burst of lost packets is one
//! event.

use super::block::{loss_of_block, packet_of};
use super::gilbert::{Gilbert, LARGEST_BLOCK, PacketSpacing};
use crate::domain::{DomainError, at_least, positive, require, share};
use crate::tcp::Tcp;

/// A link with block FEC, and the TCP connections that share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedLink {
    /// K: the number of data units in a block.
    pub k: u32,
    /// The process by which units are lost.
    pub losses: UnitLosses,
    /// mu: the rate of the link, units/s, redundancy included.
    pub rate: f64,
    /// The round-trip time, s.
    pub rtt: f64,
    /// C: the number of TCP connections, equation (6).
    pub flows: u32,
    /// The number of blocks in a packet of TCP. The packet is lost if one of its blocks is lost.
    pub packet_blocks: u32,
    /// TCP's throughput as a function of its loss rate.
    pub law: TcpLaw,
}

/// The process by which units are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnitLosses {
    /// Units are lost independently, each with this probability: section 4.
    Independent(f64),
    /// Units are lost in bursts, by the approximation of equation (7).
    SingleBurst(Gilbert),
    /// Units are lost in bursts, exactly by the chain.
    Bursts(Gilbert, PacketSpacing),
}

/// TCP's throughput as a function of its loss rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TcpLaw {
    /// sqrt(3 T / 2) / RTT packets/s for T packets between losses: the law that paper 003 uses.
    #[default]
    SquareRoot,
    /// Equation (16) of paper 000, with a first time-out of this length in s and no limit on the
    /// window. Simulations of paper 003 are partly below the square-root law. The paper blames
    /// time-outs and invites other formulas.
    TimeOuts(f64),
}

impl Default for CodedLink {
    /// The values of fig. 2: 3000 units/s, a round-trip time of 0.56 s, one connection, p = 0.01, K
    /// = 20.
    fn default() -> CodedLink {
        CodedLink {
            k: 20,
            losses: UnitLosses::Independent(0.01),
            rate: 3000.0,
            rtt: 0.56,
            flows: 1,
            packet_blocks: 1,
            law: TcpLaw::SquareRoot,
        }
    }
}

impl CodedLink {
    /// Thrp(N, K), the throughput of all connections in data units/s: equation (3), or equation (6)
    /// with several connections.
    ///
    /// # Errors
    /// An argument is outside its domain, for example N < K.
    pub fn throughput(&self, n: u32) -> Result<f64, DomainError> {
        self.check(f64::from(n))?;
        self.throughput_of(n)
    }

    /// The left side of equation (4), units/s: the highest rate of a link that is clean with N =
    /// `n`, redundancy included. `self` is clean if its [`rate`](CodedLink::rate) is not above the
    /// result. The result is infinite without loss.
    ///
    /// # Errors
    /// The same as for [`throughput`](CodedLink::throughput).
    pub fn clean_rate(&self, n: u32) -> Result<f64, DomainError> {
        self.check(f64::from(n))?;
        Ok(self.free(self.events(n)?) * f64::from(n) / f64::from(self.k))
    }

    /// 1/T: the mean number of loss events for each packet of TCP.
    ///
    /// # Errors
    /// The same as for [`throughput`](CodedLink::throughput).
    pub fn events_per_packet(&self, n: u32) -> Result<f64, DomainError> {
        self.check(f64::from(n))?;
        self.events(n)
    }

    /// G: the throughput that FEC gains, divided by the throughput that FEC costs: equation (5). G
    /// is negative if the link is clean without FEC. The result is `None` at N = K, where FEC costs
    /// nothing.
    ///
    /// # Errors
    /// The same as for [`throughput`](CodedLink::throughput).
    pub fn gain(&self, n: u32) -> Result<Option<f64>, DomainError> {
        let (with, without) = (self.throughput(n)?, self.throughput(self.k)?);
        let k = f64::from(self.k);
        // If all units are lost, TCP gets nothing with or without FEC, so the gain is 0.
        let gained = if with > 0.0 { 1.0 - without / with } else { 0.0 };
        Ok((n > self.k).then(|| gained * k / (f64::from(n) - k)))
    }

    /// The real N that solves equation (4): the smallest N for which the link is clean. The result
    /// is K if the link is clean without FEC. The result is `None` if no N up to 2^32 makes the
    /// link clean. The result is also `None` for [`UnitLosses::Bursts`], which is defined only for
    /// integers.
    ///
    /// # Errors
    /// The same as for [`throughput`](CodedLink::throughput).
    pub fn n_real(&self) -> Result<Option<f64>, DomainError> {
        let k = f64::from(self.k);
        self.check(k)?;
        let Some(events) = self.smooth_events() else { return Ok(None) };
        let clean = |n: f64| self.free(events(n)) * n / k >= self.rate;
        if clean(k) {
            return Ok(Some(k));
        }
        let mut step = 1.0;
        while !clean(k + step) {
            step *= 2.0;
            if k + step > f64::from(u32::MAX) {
                return Ok(None);
            }
        }
        let (mut low, mut high) = (k + (step / 2.0) * f64::from(u8::from(step > 1.0)), k + step);
        // Bisect until the two bounds are neighbouring doubles, or almost.
        for _ in 0..100 {
            let middle = low.midpoint(high);
            if middle <= low || middle >= high {
                break;
            }
            if clean(middle) { high = middle } else { low = middle }
        }
        Ok(Some(low.midpoint(high)))
    }

    /// The integer N with the largest throughput. If several N have the same largest throughput,
    /// the result is the smallest of them. The search goes up to 2^32 - 1, or up to
    /// [`LARGEST_BLOCK`] for the exact chain.
    ///
    /// # Errors
    /// The same as for [`throughput`](CodedLink::throughput).
    pub fn n_best(&self) -> Result<u32, DomainError> {
        self.check(f64::from(self.k))?;
        let most = if matches!(self.losses, UnitLosses::Bursts(..)) { LARGEST_BLOCK } else { u32::MAX };
        require(self.k <= most, "the number of units K", f64::from(self.k), "at most 1048576")?;
        // The smallest N from K to `most` for which `right` holds, or `most` if `right` never
        // holds.
        let first = |right: &dyn Fn(u32) -> Result<bool, DomainError>, most: u32| {
            // Double the redundancy until it is enough, then bisect.
            let mut high = self.k;
            while high < most && !right(high)? {
                high = self.k.saturating_add((high - self.k).saturating_mul(2).max(1)).min(most);
            }
            let mut low = self.k.max(self.k.saturating_add((high - self.k) / 2));
            while low < high {
                let middle = low.midpoint(high);
                if right(middle)? { high = middle } else { low = middle + 1 }
            }
            Ok(high)
        };
        let clean = |n: u32| Ok(self.free(self.events(n)?) >= self.share_of(n));
        let cleaned = first(&clean, most)?;
        // Below `cleaned` the throughput rises with N. Above `cleaned` the throughput falls. So the
        // best N is `cleaned` or the N before it.
        let mut best = self.throughput_of(cleaned)?;
        if cleaned > self.k {
            best = best.max(self.throughput_of(cleaned - 1)?);
        }
        // If several N have the same throughput (p near 1), choose the smallest.
        first(&|n| Ok(self.throughput_of(n)? >= best), cleaned)
    }

    fn check(&self, n: f64) -> Result<(), DomainError> {
        at_least("the number of units K", self.k, 1, "1 or more")?;
        require(n >= f64::from(self.k), "the number of units N", n, "at least K")?;
        match self.losses {
            UnitLosses::Independent(p) => share("the loss probability of a unit", p)?,
            UnitLosses::SingleBurst(chain) => drop(chain.become_bad()?),
            UnitLosses::Bursts(chain, _) => {
                chain.become_bad()?;
                let most = f64::from(LARGEST_BLOCK);
                require(n <= most, "the number of units N", n, "at most 1048576 for losses in bursts")?;
            }
        }
        positive("the rate of the link in units a second", self.rate)?;
        positive("the round-trip time in seconds", self.rtt)?;
        at_least("the number of flows", self.flows, 1, "1 or more")?;
        at_least("the number of blocks in a packet", self.packet_blocks, 1, "1 or more")?;
        match self.law {
            TcpLaw::SquareRoot => Ok(()),
            TcpLaw::TimeOuts(first) => positive("the time-out in seconds", first),
        }
    }

    fn throughput_of(&self, n: u32) -> Result<f64, DomainError> {
        Ok(self.free(self.events(n)?).min(self.share_of(n)))
    }

    /// K/N mu: the rate that FEC leaves for data, units/s.
    fn share_of(&self, n: u32) -> f64 {
        f64::from(self.k) / f64::from(n) * self.rate
    }

    /// 1/T, the loss events for each packet of TCP.
    fn events(&self, n: u32) -> Result<f64, DomainError> {
        match self.losses {
            UnitLosses::Bursts(chain, spacing) => chain.exact(n, self.k, self.packet_blocks, spacing),
            // For all other kinds of losses, `smooth_events` is not `None`.
            _ => Ok(self.smooth_events().map_or(0.0, |events| events(f64::from(n)))),
        }
    }

    /// 1/T as a function of a real N, if the losses allow a real N. The caller must have checked
    /// the arguments.
    fn smooth_events(&self) -> Option<impl Fn(f64) -> f64 + use<>> {
        let (losses, k, blocks) = (self.losses, self.k, self.packet_blocks);
        let smooth = !matches!(losses, UnitLosses::Bursts(..));
        smooth.then_some(move |n: f64| match losses {
            UnitLosses::Independent(p) => packet_of(blocks, loss_of_block(n, f64::from(k), p)).is,
            UnitLosses::SingleBurst(chain) | UnitLosses::Bursts(chain, _) => {
                // Equation (7) gives the events for each packet of one block. As printed the result
                // can exceed 1, although a packet has at most one event.
                let event = chain.single_burst(n, k).unwrap_or(1.0).min(1.0);
                packet_of(blocks, crate::special::Tail { is: event, is_not: 1.0 - event }).is
            }
        })
    }

    /// The throughput of all connections together if only losses limit TCP, in data units/s.
    /// `events` is the number of loss events for each packet.
    fn free(&self, events: f64) -> f64 {
        if events == 0.0 {
            return f64::INFINITY;
        }
        let packets = match self.law {
            TcpLaw::SquareRoot => (1.5 / events).sqrt() / self.rtt,
            TcpLaw::TimeOuts(first) => {
                let tcp = Tcp { rtt: self.rtt, time_out: first / self.rtt, window: f64::INFINITY };
                tcp.throughput(events)
            }
        };
        packets * f64::from(self.flows) * f64::from(self.packet_blocks) * f64::from(self.k)
    }
}

#[cfg(test)]
mod tests;
