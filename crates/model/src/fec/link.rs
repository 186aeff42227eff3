//! TCP's throughput over a link with block FEC, and how much FEC is best (paper 003, equations (3) to (7)).
//!
//! Redundancy hides losses from TCP and takes a share of the link. The throughput is the smaller of what TCP
//! reaches with the losses that are left and of the K/N of the link that FEC leaves; it rises with N up to
//! where both are equal (the link is *clean*), and falls as K/N from there.

use super::block::{loss_of_block, packet_of};
use super::gilbert::{Gilbert, LARGEST_BLOCK, PacketSpacing};
use crate::domain::{DomainError, at_least, positive, require, share};
use crate::tcp::Tcp;

/// A link with block FEC, and the TCP connections that share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedLink {
    /// K: units of data in a block.
    pub k: u32,
    /// How units are lost.
    pub losses: UnitLosses,
    /// mu: the rate of the link, in units a second, redundancy included.
    pub rate: f64,
    /// RTT, in seconds.
    pub rtt: f64,
    /// C: the number of connections, equation (6).
    pub flows: u32,
    /// Blocks in a packet of TCP; the packet is lost when one of them is.
    pub packet_blocks: u32,
    /// How TCP's throughput follows from its losses.
    pub law: TcpLaw,
}

/// How units are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnitLosses {
    /// Each with this probability, independently: section 4.
    Independent(f64),
    /// In bursts, by the approximation of equation (7).
    SingleBurst(Gilbert),
    /// In bursts, by the chain itself.
    Bursts(Gilbert, PacketSpacing),
}

/// How TCP's throughput follows from its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TcpLaw {
    /// sqrt(3 T / 2) / RTT packets a second for T packets between losses: the paper's choice.
    #[default]
    SquareRoot,
    /// Equation (16) of paper 000 with a first time-out of so many seconds and no largest window: the paper
    /// blames time-outs for where its simulations fall short, and invites other formulas.
    TimeOuts(f64),
}

impl Default for CodedLink {
    /// Fig. 2: 3000 units a second, 0.56 s, one connection, p = 0.01, K = 20.
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
    /// Thrp(N, K) in units of data a second, over all connections: equation (3), or (6) with several.
    ///
    /// # Errors
    /// An argument outside its domain, such as N < K.
    pub fn throughput(&self, n: u32) -> Result<f64, DomainError> {
        self.check(f64::from(n))?;
        self.throughput_of(n)
    }

    /// The left side of equation (4): the rate, in units a second with the redundancy, of a link on which
    /// TCP's losses and the link's rate bind alike. [`rate`](CodedLink::rate) below it means that N units are
    /// enough. Infinite without loss.
    ///
    /// # Errors
    /// As [`throughput`](CodedLink::throughput).
    pub fn clean_rate(&self, n: u32) -> Result<f64, DomainError> {
        self.check(f64::from(n))?;
        Ok(self.free(self.events(n)?) * f64::from(n) / f64::from(self.k))
    }

    /// 1/T: loss events for each packet of TCP.
    ///
    /// # Errors
    /// As [`throughput`](CodedLink::throughput).
    pub fn events_per_packet(&self, n: u32) -> Result<f64, DomainError> {
        self.check(f64::from(n))?;
        self.events(n)
    }

    /// G: the throughput that FEC gains over the throughput that it costs, equation (5). Negative where the
    /// link is clean without it; None at N = K, where nothing is paid.
    ///
    /// # Errors
    /// As [`throughput`](CodedLink::throughput).
    pub fn gain(&self, n: u32) -> Result<Option<f64>, DomainError> {
        let (with, without) = (self.throughput(n)?, self.throughput(self.k)?);
        let k = f64::from(self.k);
        // TCP gets nothing with or without it where all units are lost: a gain of 0.
        let gained = if with > 0.0 { 1.0 - without / with } else { 0.0 };
        Ok((n > self.k).then(|| gained * k / (f64::from(n) - k)))
    }

    /// The real N that solves equation (4): the amount of FEC from which the link is clean. K where it is
    /// clean without FEC; None where the losses are not defined between whole numbers (the chain itself), or
    /// no N up to 2^32 cleans the link.
    ///
    /// # Errors
    /// As [`throughput`](CodedLink::throughput).
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
        // Until the two are neighbours, or all but.
        for _ in 0..100 {
            let middle = low.midpoint(high);
            if middle <= low || middle >= high {
                break;
            }
            if clean(middle) { high = middle } else { low = middle }
        }
        Ok(Some(low.midpoint(high)))
    }

    /// The whole N of the largest throughput; the smallest of them where several are best. N is searched up
    /// to 2^32 - 1 (up to [`LARGEST_BLOCK`] for the chain itself).
    ///
    /// # Errors
    /// As [`throughput`](CodedLink::throughput).
    pub fn n_best(&self) -> Result<u32, DomainError> {
        self.check(f64::from(self.k))?;
        let most = if matches!(self.losses, UnitLosses::Bursts(..)) { LARGEST_BLOCK } else { u32::MAX };
        require(self.k <= most, "the number of units K", f64::from(self.k), "at most 1048576")?;
        let first = |right: &dyn Fn(u32) -> Result<bool, DomainError>, most: u32| {
            // Double the redundancy until it is enough, then halve the distance.
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
        // It rises up to there and falls behind: the best is that one or the one before.
        let mut best = self.throughput_of(cleaned)?;
        if cleaned > self.k {
            best = best.max(self.throughput_of(cleaned - 1)?);
        }
        // Where redundancy does nothing for long (p near 1), less of it is as good.
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

    /// K/N mu: what FEC leaves of the link.
    fn share_of(&self, n: u32) -> f64 {
        f64::from(self.k) / f64::from(n) * self.rate
    }

    /// 1/T.
    fn events(&self, n: u32) -> Result<f64, DomainError> {
        match self.losses {
            UnitLosses::Bursts(chain, spacing) => chain.exact(n, self.k, self.packet_blocks, spacing),
            // The others are smooth.
            _ => Ok(self.smooth_events().map_or(0.0, |events| events(f64::from(n)))),
        }
    }

    /// 1/T as a function of a real N, where it is one. The arguments have been checked.
    fn smooth_events(&self) -> Option<impl Fn(f64) -> f64 + use<>> {
        let (losses, k, blocks) = (self.losses, self.k, self.packet_blocks);
        let smooth = !matches!(losses, UnitLosses::Bursts(..));
        smooth.then_some(move |n: f64| match losses {
            UnitLosses::Independent(p) => packet_of(blocks, loss_of_block(n, f64::from(k), p)).is,
            UnitLosses::SingleBurst(chain) | UnitLosses::Bursts(chain, _) => {
                // (7) counts events in a packet of one block; it has no more events than packets.
                let event = chain.single_burst(n, k).unwrap_or(1.0).min(1.0);
                packet_of(blocks, crate::special::Tail { is: event, is_not: 1.0 - event }).is
            }
        })
    }

    /// What TCP reaches with so many loss events a packet, in units of data a second over all connections.
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
