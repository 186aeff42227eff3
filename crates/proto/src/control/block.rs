//! How many packets to send for a block of K source packets (paper 003).

use super::loss::Losses;
use crate::wire::MAX_BLOCK_REPAIRS;
use ripstop_model::fec::block::block_loss;
use ripstop_model::fec::gilbert::Gilbert;
use std::time::Duration;

/// The least time-out of a TCP besides its round trip (Linux). Half the value sends fewer repairs on short paths that lose
/// much. Double the value sends about one repair more there.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The N that gives a TCP in the tunnel the largest throughput, by the model of paper 003, section 4: the smaller of
/// TCP's rate at the residual loss, and K/N of the path's rate. `packets` is the path's rate, packets/s.
///
/// A block that cannot be restored counts as one loss event among K packets. The paper's unit is a part of a packet; here
/// a unit is a packet. Losses in runs follow a Gilbert chain with the same share and mean length.
///
/// The paper's TCP has no time-outs. On a short path that loses much, a TCP waits for time-outs most of the time, so its
/// rate has the time-outs of Padhye et al. (1998, equation 30) too. Without them, such a TCP would get no repairs.
pub fn best_n(k: u8, losses: Losses, packets: f64, rtt: Duration) -> u8 {
    let (k, most) = (u32::from(k), u32::from(k) + u32::from(MAX_BLOCK_REPAIRS));
    let independent = 1.0 / (1.0 - losses.share.clamp(0.0, 0.9));
    let chain = Gilbert { loss: losses.share, stay_bad: 1.0 - 1.0 / losses.burst.max(1.0) };
    let failure = |n: u32| {
        let in_runs = (losses.burst > 1.05 * independent).then(|| chain.block_loss(n, k).ok()).flatten();
        in_runs.or_else(|| block_loss(n, k, losses.share).ok().map(|tail| tail.is)).unwrap_or(1.0)
    };
    let mut best = (k, 0.0);
    for n in k..=most.min(255) {
        let share = f64::from(k) / f64::from(n) * packets;
        if share <= best.1 {
            break;
        }
        let failure = failure(n);
        // Of a block that cannot be restored, more than N - K packets are lost.
        let residual = losses.share.min(failure * losses.share.max(f64::from(n - k + 1) / f64::from(n)));
        let tcp = tcp_rate(failure / f64::from(k), residual, rtt.max(Duration::from_millis(1)));
        if share.min(tcp) > best.1 {
            best = (n, share.min(tcp));
        }
    }
    best.0 as u8
}

/// The rate of a TCP, packets/s, with a share `events` of loss events and a share `lost` of lost packets.
fn tcp_rate(events: f64, lost: f64, rtt: Duration) -> f64 {
    let recoveries = rtt.as_secs_f64() * (events / 1.5).sqrt();
    let often = (3.0 * (3.0 * lost / 8.0).sqrt()).min(1.0);
    let timeouts = (rtt + TIMEOUT).as_secs_f64() * often * lost * (1.0 + 32.0 * lost * lost);
    if recoveries + timeouts > 0.0 { 1.0 / (recoveries + timeouts) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_follows_the_loss_the_runs_and_the_rate() {
        let n = |share, burst, packets, ms| best_n(16, Losses { share, burst }, packets, Duration::from_millis(ms));
        assert_eq!(n(0.0, 1.0, 2_000.0, 100), 16, "no loss, no repairs");
        let by_loss: Vec<u8> = [0.001, 0.01, 0.05, 0.1, 0.2, 0.3].map(|p| n(p, 1.0, 2_000.0, 100)).to_vec();
        assert!(by_loss.is_sorted_by(|a, b| a < b) && by_loss[0] >= 17 && by_loss[5] <= 40, "{by_loss:?}");
        assert!(n(0.05, 3.0, 2_000.0, 100) > n(0.05, 1.0, 2_000.0, 100), "runs need more repairs");
        assert!(n(0.05, 1.0, 20_000.0, 300) > n(0.05, 1.0, 200.0, 20), "a fast, long path needs fewer losses");
        assert_eq!(n(1.0, 1.0, 2_000.0, 100), 16, "nothing helps");
        // A TCP that time-outs slow down to 40 packets/s on a short path still gets repairs, so that it can grow.
        assert!(n(0.2, 1.0, 2.0 * 40.0, 5) >= 20 && n(0.1, 1.0, 400.0, 5) >= 18);
    }
}
