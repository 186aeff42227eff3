//! Formulas of the papers, for claims that compare a simulation with its model.
//!
//! Each function takes and returns plain numbers. It returns NaN outside the formula's domain. The
//! arguments have the names of the papers. For example, the block code of paper 003 sends each
//! block of K units as N units.

use ripstop_model::fec::gilbert::Gilbert;
use ripstop_model::fec::{CodedLink, UnitLosses};
use ripstop_model::prediction;
use ripstop_model::tcp::Tcp;

/// The network of paper 000, section VI: four links of 100 ms each way (RTT 0.8 s) and a window of
/// at most 50 packets. The retransmission time-out T_o is 3 s, which is 3.75 round trips.
const TCP: Tcp = Tcp { rtt: 0.8, time_out: 3.75, window: 50.0 };

/// Megabits in one packet. A packet of paper 000 has 1000 bytes. Converts packets per second to
/// Mbit/s.
const MEGABITS: f64 = 8000.0 / 1e6;

/// The loss probability of a path of `hops` links that each lose a packet with probability `q`:
/// 1 - (1 - q)^hops.
pub(super) fn path_loss(q: f64, hops: f64) -> f64 {
    prediction::path_loss(q, hops as u32).unwrap_or(f64::NAN)
}

/// TCP's throughput at loss probability `p` by equation (16) of paper 000, Mbit/s.
pub(super) fn tcp(p: f64) -> f64 {
    TCP.throughput(p) * MEGABITS
}

/// TCP's throughput without time-outs at loss probability `p` by equation (12) of paper 000,
/// Mbit/s.
pub(super) fn td_tcp(p: f64) -> f64 {
    TCP.capped_throughput(p) * MEGABITS
}

/// Throughput of `c` connections together over a link with block FEC, units/s.
///
/// Equation (6) of paper 003, for the link of its section 4.2. `k` of the `n` units of a block are
/// data. Units are lost independently with probability `p`.
pub(super) fn fec(k: f64, n: f64, p: f64, c: f64) -> f64 {
    coded(k, UnitLosses::Independent(p), c).throughput(n as u32).unwrap_or(f64::NAN)
}

/// Throughput of one connection over a link with block FEC and bursts of losses, units/s.
///
/// Equations (3) and (7) of paper 003. `k` of the `n` units of a block are data. The losses follow
/// Gilbert's channel, which loses units in its bad state. Its loss probability is `l`, and it stays
/// in the bad state with probability `q`.
pub(super) fn burst_fec(k: f64, n: f64, q: f64, l: f64) -> f64 {
    let losses = UnitLosses::SingleBurst(Gilbert { loss: l, stay_bad: q });
    coded(k, losses, 1.0).throughput(n as u32).unwrap_or(f64::NAN)
}

/// The number N of units per block at which equation (6) of paper 003 is largest. A block has `k`
/// data units, units are lost with probability `p`, and `c` connections share the link.
pub(super) fn clean_n(k: f64, p: f64, c: f64) -> f64 {
    coded(k, UnitLosses::Independent(p), c).n_best().map_or(f64::NAN, f64::from)
}

/// The link of paper 003, section 4.2, with `k` data units in a block, losses as in `losses`, and
/// `c` connections.
fn coded(k: f64, losses: UnitLosses, c: f64) -> CodedLink {
    CodedLink { k: k as u32, losses, flows: c as u32, ..CodedLink::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_papers() {
        // The numbers are from table I (TCP analysis), figures 2 and 8, and figures 10 to 12.
        let near = |got: f64, want: f64, digit: f64| assert!((got - want).abs() <= digit, "{got} {want}");
        for (q, want) in [(0.005, 0.0667), (0.015, 0.0325), (0.025, 0.0220), (0.05, 0.0098)] {
            near(tcp(path_loss(q, 4.0)), want, 5.1e-5);
        }
        near(fec(20.0, 20.0, 0.01, 1.0), 102.50, 0.005);
        near(fec(20.0, 22.0, 0.01, 1.0), 1196.86, 0.005);
        near(fec(10.0, 11.0, 0.01, 5.0), 1519.4, 0.05);
        near(fec(10.0, 14.0, 0.01, 20.0), 2142.9, 0.05);
        near(burst_fec(20.0, 22.0, 0.5, 0.01), 270.0, 0.05);
        near(burst_fec(20.0, 20.0, 0.01, 0.01), 98.3, 0.05);
        assert_eq!([10.0, 20.0, 30.0].map(|k| clean_n(k, 0.01, 1.0)), [13.0, 23.0, 33.0]);
    }
}
