//! How long a session may stall and take to come to rest, by what its paths carry.

use super::scenario::{HostileScenario, HostileWorld, Side};
use ripstop_base::Time;
use ripstop_link::LinkConfig;
use std::time::Duration;

/// How long a session may take to come to rest after its sources have ended, if nothing waits at that moment. Half the
/// value may report slow but healthy sessions as faults. Double the value takes longer, and hides sessions that come to
/// rest late.
pub(crate) const SETTLING_TIME: Duration = Duration::from_secs(60);

/// How many times the packets that wait when the sources end may take the time that the slowest path needs for them. The
/// path also carries repairs and reports, and is sometimes idle. Half the value may report slow but healthy sessions as
/// faults. Double the value hides sessions that come to rest late.
const SLOWNESS: u32 = 2;

/// The longest extra time for what waits. The slowest path with the fullest queue would need hours. Half the value judges
/// slow sessions too early. Double the value takes longer.
const MOST_EXTRA: Duration = Duration::from_secs(600);

impl HostileScenario {
    /// The longest stall that heavy loss, a slow path and a handshake may cause after an interruption. On a slow path, the
    /// first windows of both ends fill the queue, and what is lost from them is sent again. In seed 338143, a path of
    /// 109 kbit/s holds 8 kB.
    pub(super) fn longest_excusable_stall(&self) -> Duration {
        let first = self.config.tuning.get("initial-window").expect("a constant of this name")
            * f64::from(self.config.path_mtu);
        Duration::from_secs(10) + 20 * self.rtt() + self.time_for(first)
    }

    /// The longest round-trip time without queues.
    pub(super) fn rtt(&self) -> Duration {
        self.links.iter().map(|link| link.delay.duration() + link.jitter.duration()).sum()
    }

    /// How long the session may take to come to rest from now on, when the sources have ended. In seed 341672, a path of
    /// 100 kbit/s that loses 45 % of the reports needs more than a minute.
    pub(super) fn settling_time(&self, world: &HostileWorld) -> Duration {
        let waiting = |side| {
            let tunnel = world.status(side).and_then(|status| status.tunnel);
            tunnel.map_or(0.0, |tunnel| {
                tunnel.backlog.1 as f64 + tunnel.outstanding.0 as f64 * f64::from(self.config.path_mtu)
            })
        };
        let extra = Side::BOTH.into_iter().map(|side| SLOWNESS * self.time_for(waiting(side))).max();
        SETTLING_TIME + extra.unwrap_or_default().min(MOST_EXTRA)
    }

    /// The latest moment at which the session may end.
    pub(super) fn latest_end(&self) -> Time {
        self.stop + SETTLING_TIME + MOST_EXTRA
    }

    /// The time that the slowest path needs for this number of bytes.
    fn time_for(&self, bytes: f64) -> Duration {
        let slowest = self.links.iter().map(carries).fold(f64::INFINITY, f64::min);
        Duration::try_from_secs_f64(8.0 * bytes / (slowest * (1.0 - self.loss))).unwrap_or(MOST_EXTRA).min(MOST_EXTRA)
    }
}

/// The lowest rate of a link, without what the link's own code takes, bit/s.
fn carries(link: &LinkConfig) -> f64 {
    let later = link.schedule.iter().filter_map(|change| change.rate);
    let rates = [link.rate].into_iter().chain(later).map(|rate| rate.bps() as f64);
    let lowest = rates.filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
    lowest * link.fec.as_ref().map_or(1.0, |fec| f64::from(fec.k) / f64::from(fec.n))
}
