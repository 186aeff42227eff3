//! The formulas of the papers, for claims that set a simulation beside its model.

use ripstop_model::fec::gilbert::Gilbert;
use ripstop_model::fec::{CodedLink, UnitLosses};
use ripstop_model::prediction;
use ripstop_model::tcp::Tcp;

/// Paper 000, section VI: four links of 100 ms each way, at most 50 packets, T_o = 3 s.
const TCP: Tcp = Tcp { rtt: 0.8, time_out: 3.75, window: 50.0 };

/// Megabits in one of its packets.
const MEGABITS: f64 = 8000.0 / 1e6;

/// What is lost on so many links that lose q each; NaN of what is no share, as of all formulas outside their domains.
pub(super) fn path_loss(q: f64, hops: f64) -> f64 {
    prediction::path_loss(q, hops as u32).unwrap_or(f64::NAN)
}

/// Paper 000, eq. (16), Mbit/s.
pub(super) fn tcp(p: f64) -> f64 {
    TCP.throughput(p) * MEGABITS
}

/// Paper 000, eq. (12), Mbit/s.
pub(super) fn td_tcp(p: f64) -> f64 {
    TCP.capped_throughput(p) * MEGABITS
}

/// Paper 003, eq. (6): units a second, all C connections together, over section 4.2's link.
pub(super) fn fec(k: f64, n: f64, p: f64, c: f64) -> f64 {
    coded(k, UnitLosses::Independent(p), c).throughput(n as u32).unwrap_or(f64::NAN)
}

/// Paper 003, eqs. (3) and (7).
pub(super) fn burst_fec(k: f64, n: f64, q: f64, l: f64) -> f64 {
    let losses = UnitLosses::SingleBurst(Gilbert { loss: l, stay_bad: q });
    coded(k, losses, 1.0).throughput(n as u32).unwrap_or(f64::NAN)
}

/// Paper 003: the integer N at which eq. (6) is largest.
pub(super) fn clean_n(k: f64, p: f64, c: f64) -> f64 {
    coded(k, UnitLosses::Independent(p), c).n_best().map_or(f64::NAN, f64::from)
}

fn coded(k: f64, losses: UnitLosses, c: f64) -> CodedLink {
    CodedLink { k: k as u32, losses, flows: c as u32, ..CodedLink::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_papers() {
        // Table I, TCP analysis; figs. 2 and 8; figs. 10 to 12.
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
