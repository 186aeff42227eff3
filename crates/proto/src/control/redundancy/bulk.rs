//! The rule for proactive repairs of bulk flows.

use super::{Flight, IDLE, IDLE_UNMASKED, Spread};
use crate::control::loss::Losses;
use std::time::Duration;

/// Limit on the probability that a bulk flight cannot be decoded without further repairs, while
/// sources wait to be sent.
///
/// Proactive repairs are added until the probability is at most this limit. Repairs displace
/// waiting sources, so the limit is loose: there are about as many repairs as losses. Half the
/// value costs more bandwidth and lowers the delay that losses cause. Double the value turns this
/// rule off.
pub(super) const BULK_UNMASKED: f64 = 0.5;
/// Limit on the probability that the newest part of a flight ([`RECENT`](super::RECENT)) cannot be decoded without
/// further repairs, while sources wait to be sent.
///
/// The limit is stricter than [`BULK_UNMASKED`], because the receiver has not even reported the
/// losses of this part yet. With .2, BBR inside sends .5 % more bytes for each useful byte at 20 % loss. With half the
/// value, 1 % more. With double the value, more flights wait for exact repairs.
const RECENT_UNMASKED: f64 = 0.3;
/// The newest part of a flight is protected separately if the flight has at least this number of
/// sources. With a [`Spread`], the number of sources is first divided by the step of the spread.
///
/// In a smaller flight this protection costs much, and an exact repair would arrive soon. Half the
/// value costs more bandwidth on short paths. Double the value leaves more small flights to exact
/// repairs.
const LARGE_FLIGHT: u32 = 25;
/// Limit on the probability that a flight cannot be decoded, used after the end of a burst
/// ([`tail_wait`]).
///
/// A loss at the end of a burst is noticed late, because no later packet reveals it. Often the lost
/// packet is the only packet that a user waits for. Half the value adds repairs at the end of each
/// burst. Double the value makes it twice as likely that the user waits for an exact repair.
const TAIL_UNMASKED: f64 = 0.003;
/// With a backlog of this number of round trips, bulk flows need no proactive repairs.
///
/// The packets at the end of the queue wait for longer than an exact repair takes, so a proactive
/// repair saves the flow no time and costs the bandwidth of a packet. Below this backlog, the limits
/// on the probability rise in proportion to the backlog. At 20 Mbit/s, 100 ms and 20 % loss with CUBIC
/// inside, 1.7 % of the bytes are wasted, and the median delay is 412 ms. Half the value: 2.1 % and
/// 494 ms. Without the rule: 4.0 % and 264 ms.
pub(super) const BACKLOG_WITHOUT_REPAIRS: f64 = 4.0;
/// On paths of up to this round-trip time, s, a backlog relaxes the limits in full. The effect fades
/// until [`RELAXED_RTT_END`].
///
/// On a long path, an exact repair comes so late that the receiver holds much data back. Half the
/// value wastes more on medium paths. Double the value delays packets for longer.
const RELAXED_RTT: f64 = 0.15;
/// From this round-trip time on, s, a backlog relaxes nothing. See [`RELAXED_RTT`].
pub(super) const RELAXED_RTT_END: f64 = 1.0;
/// Steps of the relaxation, so that earlier results can be reused. Half or double the value changes
/// little.
const RELAXATION_STEPS: f64 = 8.0;
/// Losses that differ by at most this share count as the same, so that earlier results can be
/// reused.
///
/// The probabilities for runs of losses take long to compute. With half the value, the
/// probabilities are computed more often. With double the value the losses used are less up to
/// date.
const SAME: f64 = 0.1;

/// The backlog in the ingress queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backlog {
    /// The time to send the backlog at the path's rate, in round trips. The time may be 0.
    Waiting(f64),
    /// The ingress queue is empty, and no source has been sent for [`tail_wait`].
    Nothing,
}

/// Decides whether a bulk flight needs another proactive repair.
///
/// The question is asked for every packet that leaves, so the rule remembers earlier results.
#[derive(Clone, Copy, Debug, Default)]
pub struct BulkRule {
    /// What is known of flights without and with runs of losses. A queue that fills and empties changes between the two
    /// all the time.
    guards: [Guards; 2],
    /// The losses that `steady` used last.
    losses: Losses,
}

impl BulkRule {
    /// Whether a bulk flight needs another proactive repair.
    ///
    /// - `all` is the part of the flight that a repair can span.
    /// - `recent` is the newest part of the flight ([`RECENT`](super::RECENT)), with the repairs sent in that
    ///   time.
    /// - `ahead` is the backlog in the ingress queue. While sources wait, the number of repairs
    ///   follows only the share of packets lost. While the ingress queue is nearly empty, repairs
    ///   are free, and their number also follows the length of runs of losses.
    /// - `rtt` is the smoothed round-trip time.
    /// - `dither` is a number of sources that is added to `all`, except after the end of a burst.
    ///   Without the dither, repairs would be sent at equal distances, and a queue that drops
    ///   packets at equal distances could drop every repair.
    #[expect(clippy::too_many_arguments, reason = "the view of one direction: flights, losses, backlog and path")]
    pub fn is_due(
        &mut self,
        all: Flight,
        recent: Flight,
        losses: Losses,
        spread: Spread,
        ahead: Backlog,
        rtt: Duration,
        dither: f64,
    ) -> bool {
        if losses.share <= 0.0 || all.sources == 0 {
            return false;
        }
        let (all, recent) = (spread.thin(all), spread.thin(recent));
        let losses = Losses { burst: (losses.burst / f64::from(spread.step)).max(1.0), ..losses };
        let BulkLimits { whole, newest, in_runs, .. } = bulk_limits(spread, ahead, rtt);
        let losses = self.steady(losses);
        let losses = if in_runs { losses } else { Losses { burst: 1.0, ..losses } };
        let dither = if matches!(ahead, Backlog::Nothing) { 0.0 } else { dither };
        let sources = (f64::from(all.sources) + dither).max(0.0) as u32;
        let guards = &mut self.guards[usize::from(in_runs)];
        !guards.all.is_masked(Flight { sources, ..all }, losses, whole)
            || (all.sources >= LARGE_FLIGHT && !guards.recent.is_masked(recent, losses, newest))
    }

    /// The losses from which the probabilities are computed. If `losses` differ
    /// little ([`SAME`]) from the losses that were used last, the result is the losses that were
    /// used last.
    ///
    /// The remembered results hold only for exactly the same losses, and the probabilities take long
    /// to compute.
    fn steady(&mut self, losses: Losses) -> Losses {
        let differs = |a: f64, b: f64| (a - b).abs() > SAME * b;
        if differs(losses.share, self.losses.share) || differs(losses.burst, self.losses.burst) {
            self.losses = losses;
        }
        self.losses
    }
}

/// A burst has ended when no source has left for this time: 1/16 of the round-trip time, at least 2
/// ms and at most 10 ms.
///
/// A packet that follows within this time belongs to the same burst. With half the time, repairs
/// are sent into bursts that have not ended. With double the time, the repairs for the end of a
/// burst are sent later.
pub fn tail_wait(rtt: Duration) -> Duration {
    (rtt / 16).clamp(Duration::from_millis(2), Duration::from_millis(10))
}

/// The limits on the probability that a bulk flight cannot be decoded without further repairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct BulkLimits {
    /// The limit for the whole flight.
    pub(super) whole: f64,
    /// The limit for the newest part of the flight.
    newest: f64,
    /// By how much a backlog relaxes the limits, 0 to 1.
    pub(super) relaxation: f64,
    /// Whether the probability takes account of runs of losses.
    in_runs: bool,
}

/// The limits for a flight. See [`BulkRule::is_due`] for the parameters.
pub(super) fn bulk_limits(spread: Spread, ahead: Backlog, rtt: Duration) -> BulkLimits {
    // A flow waits for the slowest of the spans in flight, so each span needs a smaller failure
    // probability than the flow does.
    let idle = IDLE_UNMASKED * spread.part;
    match ahead {
        Backlog::Nothing => BulkLimits { whole: TAIL_UNMASKED, newest: 1.0, relaxation: 0.0, in_runs: true },
        Backlog::Waiting(rounds) if rounds < IDLE => {
            BulkLimits { whole: idle, newest: idle, relaxation: 0.0, in_runs: true }
        }
        Backlog::Waiting(rounds) => {
            let relaxation = relaxation(rounds, rtt);
            let limit = |limit: f64| limit + (1.0 - limit) * relaxation;
            BulkLimits { whole: limit(BULK_UNMASKED), newest: limit(RECENT_UNMASKED), relaxation, in_runs: false }
        }
    }
}

/// By how much the limits for bulk flows relax, 0 to 1, for a backlog of `rounds` round trips on a
/// path with the round-trip time `rtt`.
fn relaxation(rounds: f64, rtt: Duration) -> f64 {
    let fades = (RELAXED_RTT_END - rtt.as_secs_f64()) / (RELAXED_RTT_END - RELAXED_RTT);
    let relaxed = (rounds / BACKLOG_WITHOUT_REPAIRS).min(1.0) * fades.clamp(0.0, 1.0);
    (relaxed * RELAXATION_STEPS).round() / RELAXATION_STEPS
}

/// Number of remembered results in a [`Guard`].
///
/// While losses are repaired, the numbers of repairs and of missing symbols change from packet to packet, between few
/// values. With half the number, results are computed again more often. Double the number takes 5 kB more for each
/// peer.
const REMEMBERED: usize = 16;

/// Remembers which flights needed no further repair, and which did.
///
/// A result also holds for other numbers of sources and other limits, with the same number of
/// repairs, the same deficit and the same losses. A flight is *masked* when the probability that it
/// cannot be decoded is at most a limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guard {
    /// The results, at an index that follows from the deficit and the number of repairs.
    results: [Known; REMEMBERED],
}

/// What [`BulkRule`] remembers of whole flights, and of the newest parts of flights.
#[derive(Clone, Copy, Debug, Default)]
struct Guards {
    all: Guard,
    recent: Guard,
}

/// What is known of flights with one deficit and one number of repairs.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    deficit: u32,
    repairs: u32,
    losses: Losses,
    /// The last flight that was masked: its sources, and the probability that it cannot be decoded.
    /// For flights with fewer sources, the probability is lower.
    masked: Option<(u32, f64)>,
    /// The last flight that was not masked. For flights with more sources, the probability is
    /// higher.
    open: Option<(u32, f64)>,
}

impl Guard {
    /// Whether the probability that `flight` cannot be decoded on a path with `losses` is at most
    /// `limit`.
    pub(super) fn is_masked(&mut self, flight: Flight, losses: Losses, limit: f64) -> bool {
        let Flight { deficit, sources, repairs } = flight;
        let known = &mut self.results[(repairs as usize).wrapping_add(5 * deficit as usize) % REMEMBERED];
        if (known.deficit, known.repairs, known.losses) != (deficit, repairs, losses) {
            *known = Known { deficit, repairs, losses, masked: None, open: None };
        }
        if known.masked.is_some_and(|(most, unmasked)| sources <= most && unmasked <= limit) {
            return true;
        }
        // First test a slightly larger flight, so that the result also holds for the next packets.
        [sources + sources / 16, sources].into_iter().any(|sources| {
            if known.open.is_some_and(|(least, unmasked)| sources >= least && unmasked > limit) {
                return false;
            }
            let unmasked = losses.unmasked(deficit, sources, repairs);
            let result = Some((sources, unmasked));
            let masked = unmasked <= limit;
            *(if masked { &mut known.masked } else { &mut known.open }) = result;
            masked
        })
    }
}
