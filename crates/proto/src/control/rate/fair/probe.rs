//! Probes for more rate outside a competition: when the next probe is due, and at which gain.

use super::super::{Report, Settled, Tuning};
use super::path::PathState;
use ripstop_base::Stream;

/// The cycle of probes.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    random: Stream,
    /// Gain of the next probe.
    gain: f64,
    /// The cruise between two probes lasts this number of round trips times `calm`.
    cruise_for: f64,
    /// Factor on `cruise_for`, 1 to 8. The factor doubles after a probe that ended in losses, and
    /// is halved after any other probe.
    calm: f64,
    /// Datagrams settled during the present probe.
    pub(super) settled: Settled,
    /// Packets lost in a long queue during and after the present probe.
    drops: u32,
    /// Estimated rate when the last probe began, byte/s.
    from: f64,
    /// Set after a probe without excess loss. Cleared when the controller checks whether the probe
    /// has raised the estimated rate.
    unchecked: bool,
}

impl Probe {
    pub(super) fn new(random: Stream, tuning: &Tuning) -> Probe {
        Probe {
            random,
            gain: tuning.probe.gain,
            cruise_for: 0.0,
            calm: 1.0,
            settled: Settled::default(),
            drops: 0,
            from: 0.0,
            unchecked: false,
        }
    }

    /// The pacing gain of a probe.
    pub(super) fn gain(&self, tuning: &Tuning) -> f64 {
        if self.calm > 1.0 { self.gain.min(tuning.probe.gentle_gain) } else { self.gain }
    }

    /// Begins a probe at the estimated rate `bandwidth`, byte/s.
    pub(super) fn begin(&mut self, bandwidth: f64) {
        self.settled = Settled::default();
        self.from = bandwidth;
    }

    /// Counts packets lost in a long queue during the probe, or while its queue drains.
    pub(super) fn count_drops(&mut self, lost: u32) {
        self.drops += lost;
    }

    /// Begins a cruise.
    pub(super) fn rest(&mut self, path: &PathState, tuning: &Tuning) {
        // An AQM drops a few packets of a probe, also of other flows, and the reports come after the probe. Without this
        // rule, probes in front of CoDel kept CUBIC at a tenth of the link. On a path with random loss, losses are no
        // drops.
        if std::mem::take(&mut self.drops) > 0
            && path.losses.share.max(2.0 * path.erasure.get()) < tuning.evidence.more_than_aqm
        {
            self.calm = (self.calm * tuning.probe.after_drops).min(tuning.probe.most_calm);
            self.unchecked = false;
            self.gain = tuning.probe.gain;
        }
        self.cruise_for = tuning.probe.every + tuning.probe.spread * self.random.unit();
    }

    /// Whether a probe is due after `spent` seconds of a cruise. `standing`: a queue stands.
    pub(super) fn is_due(&mut self, spent: f64, path: &PathState, standing: bool, tuning: &Tuning) -> bool {
        if self.unchecked && spent > 0.1 * path.min_rtt + path.response() {
            self.unchecked = false;
            if path.bandwidth > (1.0 + (self.gain - 1.0) / 2.0) * self.from {
                // The probe has raised the estimated rate: probe again with a higher gain.
                self.gain = tuning.probe.again_gain;
                return true;
            }
            self.gain = tuning.probe.gain;
        }
        let calm = if standing { self.calm.min(3.0) } else { self.calm };
        spent > self.cruise_for * calm * path.response()
    }

    /// Whether a probe of `spent` seconds ends. `margin`: the bytes in flight that have arrived but
    /// are not reported yet.
    pub(super) fn ends(&mut self, spent: f64, report: &Report, path: &PathState, margin: f64, tuning: &Tuning) -> bool {
        let least = path.min_rtt.max(1.5 * path.report_every);
        let full = report.in_flight as f64 >= self.gain(tuning) * path.bdp() + margin;
        let queued = path.queue.delay() > tuning.probe.queue_part * path.min_rtt + tuning.probe.queue;
        let exceeded = path.probe_exceeds(self.settled);
        let ends = spent > least && (full || queued || exceeded || spent > 2.5 * least);
        if ends {
            self.calm =
                if exceeded { (self.calm * 2.0).min(tuning.probe.most_calm) } else { (self.calm / 2.0).max(1.0) };
            self.unchecked = !exceeded;
        }
        ends
    }
}
