//! Estimates how long a demonstration will take, before the demonstration starts.

use super::contenders::Contender;
use ripstop_net::testbed::measure::TransferSetup;
use ripstop_net::workload::requests::RATE_HZ;
use std::time::Duration;

/// Time to create two hosts and a link, and to remove the hosts and the link again. Measured: .1 to .4 s.
const SETUP: Duration = Duration::from_millis(300);
/// Bytes of TCP payload in a full packet.
const SEGMENT_BYTES: f64 = 1448.0;
/// CPU time that a tunnelled contender needs in virtual time on a link without loss, in seconds per full packet that
/// the link can carry. Measured with `demo --virtual` at 20 Mbit/s: 4 us. With the loss rate p, the CPU time is longer
/// by the factor 1 + 5 p. Half the value halves the estimate for a tunnelled contender. Double the value doubles this
/// estimate.
const TUNNEL_S_PER_PACKET: f64 = 4e-6;
/// The same CPU time for a TCP without the tunnel, in seconds per full packet: .8 us.
const PLAIN_S_PER_PACKET: f64 = 0.8e-6;

/// Wall-clock time of all contenders on the emulated link, for a file of `file_bytes`.
pub(super) fn real(contenders: &[Contender], setup: &TransferSetup, file_bytes: u64) -> Duration {
    contenders.iter().map(|contender| one_real(*contender, setup, file_bytes)).sum()
}

/// Computing time of `runs` runs of all contenders in virtual time, on `cores` processors.
pub(super) fn simulated(
    contenders: &[Contender],
    setup: &TransferSetup,
    runs: u32,
    cores: usize,
    file_bytes: u64,
) -> Duration {
    let loss = setup.path.forth.loss.mean();
    let bits_per_packet = 8.0 * f64::from(ripstop_net::testbed::MTU);
    let packets = setup.path.forth.rate.bps() as f64 * bulk_time(setup).as_secs_f64() / bits_per_packet
        + file_bytes as f64 / SEGMENT_BYTES;
    let per_packet = |contender: &Contender| match contender.is_tunnelled() {
        true => TUNNEL_S_PER_PACKET * (1.0 + 5.0 * loss),
        false => PLAIN_S_PER_PACKET,
    };
    let one_run: f64 = contenders.iter().map(|contender| per_packet(contender) * packets).sum();
    let rounds = f64::from(runs) / (cores.max(1) as f64).min(f64::from(runs.max(1)));
    seconds(one_run * rounds)
}

/// The estimate in words. An estimate below 10 minutes is in whole seconds. A longer estimate is in minutes.
pub(super) fn words(estimate: Duration) -> String {
    match estimate.as_secs_f64().round() {
        s if s < 1.0 => "less than a second".to_owned(),
        s if s < 600.0 => format!("about {s} s"),
        s => format!("about {:.0} minutes", s / 60.0),
    }
}

fn one_real(contender: Contender, setup: &TransferSetup, file_bytes: u64) -> Duration {
    let quiet = setup.requests.map(|count| seconds(count as f64 / RATE_HZ) + SETUP);
    let file = file_time(contender, setup, file_bytes).min(setup.file_limit(file_bytes));
    quiet.unwrap_or_default() + bulk_time(setup) + file + 2 * SETUP + 6 * setup.rtt
}

fn bulk_time(setup: &TransferSetup) -> Duration {
    let requests = setup.requests.map(|count| setup.from + seconds(count as f64 / RATE_HZ));
    setup.seconds.max(requests.unwrap_or_default())
}

/// Estimated time of the file's transfer. A TCP that reduces its rate at every loss is limited to the rate 1.22
/// segments / (RTT sqrt(p)), where p is the loss rate (Mathis et al., 1997). All other contenders reach about .85 of
/// the rate that the link delivers after losses.
fn file_time(contender: Contender, setup: &TransferSetup, bytes: u64) -> Duration {
    let link = &setup.path.forth;
    let loss = link.loss.mean();
    let filled = 0.85 * link.rate.bps() as f64 * (1.0 - loss);
    let rtt = setup.rtt.as_secs_f64().max(1e-4);
    let is_loss_limited = !contender.is_tunnelled() && contender.cc() != Some("bbr");
    let rate = match is_loss_limited && loss > 0.0 {
        true => filled.min(1.22 * 8.0 * SEGMENT_BYTES / (rtt * loss.sqrt())),
        false => filled,
    };
    // The start-up takes 6 RTT. In each RTT of the start-up, the rate doubles.
    seconds(8.0 * bytes as f64 / rate.max(1.0)) + 6 * setup.rtt
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::{Fraction, Rate, Seed};
    use ripstop_link::LinkConfig;
    use ripstop_net::testbed::TwoWayLink;

    fn setup(loss: f64, requests: Option<usize>) -> TransferSetup {
        let rtt = Duration::from_millis(100);
        let link = LinkConfig::path(Rate::from_bps(20_000_000), rtt, Fraction::new(loss).unwrap());
        TransferSetup {
            path: TwoWayLink { forth: link.clone(), back: link },
            seed: Seed::new(1),
            from: Duration::from_secs(2),
            seconds: Duration::from_secs(10),
            requests,
            rtt,
        }
    }

    #[test]
    fn every_part_of_the_work_counts() {
        let one = |contender, loss, requests| real(&[contender], &setup(loss, requests), 3_000_000).as_secs_f64();
        // 10 s of bulk, 3 MB at 17 Mbit/s, and the set-up.
        assert!((12.0..14.0).contains(&one(Contender::Ripstop, 0.0, None)));
        // CUBIC does not finish the file within the time limit of 10 s.
        assert!((20.0..23.0).contains(&one(Contender::Cubic, 0.05, None)));
        // 400 requests take 20 s on the idle link, and 22 s during the bulk stream.
        assert!((44.0..47.0).contains(&one(Contender::Ripstop, 0.0, Some(400))));
        let two = real(&[Contender::Bbr, Contender::Ripstop], &setup(0.0, None), 3_000_000).as_secs_f64();
        assert!((two - 2.0 * one(Contender::Bbr, 0.0, None)).abs() < 1e-6);
    }

    #[test]
    fn virtual_time_costs_the_tunnel_s_packets() {
        let estimate = |runs, cores| simulated(&[Contender::Ripstop], &setup(0.05, None), runs, cores, 0);
        let one = estimate(1, 1).as_secs_f64();
        assert!((one - 16_667.0 * 5e-6).abs() < 1e-3, "{one}");
        assert_eq!(estimate(4, 4), estimate(1, 1));
        assert!(estimate(1, 8) == estimate(1, 1), "one run uses one core");
        assert!((estimate(10, 2).as_secs_f64() / one - 5.0).abs() < 1e-6);
    }

    #[test]
    fn estimates_are_words() {
        let shown = [0.4, 1.4, 95.2, 599.4, 1800.0].map(|s| words(Duration::from_secs_f64(s)));
        assert_eq!(shown, ["less than a second", "about 1 s", "about 95 s", "about 599 s", "about 30 minutes"]);
    }
}
