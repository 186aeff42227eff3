//! All constants of the rate controller [`Fair`](super::Fair), in one table.
//!
//! A scenario may set a constant (`tuning = { probe-gain = 1.2 }`), and `make sensitivity` runs the
//! table of shares with each constant at half and at double its value, and writes
//! `docs/contributors/sensitivity.md`. For a constant with the unit `gain`, half and double apply
//! to the difference from 1.

/// Describes one constant, for messages and tables.
#[derive(Clone, Copy, Debug)]
pub struct TuningField {
    /// The constant's name, as in a scenario.
    pub name: &'static str,
    /// The constant's unit. `gain`: a factor whose neutral value is 1.
    pub unit: &'static str,
    get: fn(&Tuning) -> f64,
    set: fn(&mut Tuning) -> &mut f64,
}

macro_rules! tuning {
    ($($(#[$doc:meta])* $field:ident, $name:literal: $default:expr, $unit:literal;)+) => {
        /// The constants of [`Fair`](super::Fair).
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Tuning {
            $($(#[$doc])* pub $field: f64,)+
        }

        impl Default for Tuning {
            fn default() -> Tuning {
                Tuning { $($field: $default,)+ }
            }
        }

        impl Tuning {
            /// All constants, in the order of the table.
            pub const FIELDS: &[TuningField] = &[
                $(TuningField { name: $name, unit: $unit, get: |t| t.$field, set: |t| &mut t.$field },)+
            ];
        }
    };
}

impl Tuning {
    /// The value of the constant `name`. `None`: there is no such constant.
    pub fn get(&self, name: &str) -> Option<f64> {
        Self::FIELDS.iter().find(|field| field.name == name).map(|field| (field.get)(self))
    }

    /// Sets the constant `name`.
    ///
    /// # Errors
    /// There is no such constant, or `value` is not a positive number. The error is a sentence.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let Some(field) = Self::FIELDS.iter().find(|field| field.name == name) else {
            let names: Vec<&str> = Self::FIELDS.iter().map(|field| field.name).collect();
            return Err(format!(
                "the rate controller has no constant `{name}`; the constants are {}",
                names.join(", ")
            ));
        };
        if !(value.is_finite() && value > 0.0 && value <= 1e9) {
            return Err(format!("{value} is not a value of `{name}`; write a number above 0 and at most 1e9"));
        }
        *(field.set)(self) = value;
        Ok(())
    }
}

impl TuningField {
    /// The constant at `factor` times its default. For the unit `gain`, the difference from 1 is
    /// multiplied.
    pub fn scaled(&self, factor: f64) -> f64 {
        let default = (self.get)(&Tuning::default());
        if self.unit == "gain" { 1.0 + (default - 1.0) * factor } else { default * factor }
    }
}

tuning! {
    /// The first window, packets.
    ///
    /// A first request or page fits into this window without a further round trip. RFC 6928 gives
    /// TCP 10 packets. TCP cannot pace its first packets, but this sender can. Half the value takes
    /// one more round trip to reach the path's rate. Double the value puts a larger burst on a slow
    /// path.
    initial_window, "initial-window": 32.0, "packets";
    /// The first rate spreads the first window over a round trip, or over this time if it is
    /// longer, s.
    ///
    /// A shorter path fills quickly anyway. Half the value doubles the first rate on paths of up to
    /// 10 ms. Double the value halves the first rate on paths of up to 20 ms.
    fastest_start, "fastest-start": 0.02, "s";
    /// The first window leaves in this share of a round trip, or of `fastest-start` if that is
    /// longer.
    ///
    /// An inner TCP doubles its window in bursts. If a burst waits in this sender, the inner TCP
    /// mistakes the wait for a queue of the path (HyStart), and stops doubling. Without this faster
    /// start the inner TCP stopped at a quarter of the path's rate. Half the value sends larger
    /// bursts to the path. Double the value lets bursts of the inner TCP wait twice as long.
    initial_spread, "initial-spread": 0.15, "share of a round trip";
    /// Pacing gain in start-up.
    ///
    /// The sender paces with this multiple of the rate that the last reports showed, so the rate doubles in a round trip.
    /// BBR's gain of 2.77 is for a mean over a whole round. Here that gain overshoots: on a path of 470 ms, one of 52
    /// hostile sessions lost 2000 packets at the end of the start-up, and then was above its budget of work. A megabyte
    /// with BBR inside took 1.04 s instead of .94 s. A gain of 1.4 finds the rate later.
    startup_gain, "startup-gain": 2.0, "gain";
    /// In start-up, excess loss above this share of a round's packets shows an overshoot. Excess
    /// loss is the loss beyond the erasure floor and chance.
    ///
    /// A round that shows an overshoot counts as a round without growth, even if the inner traffic
    /// limits the rate. Without this rule, an inner TCP kept the start-up from ending at 1 Gbit/s
    /// and 3 ms: 2.4 times the ideal number of bytes were sent. Half the value may mistake random
    /// loss for an overshoot. Excess loss would hardly ever reach double the value.
    overshoot, "overshoot": 0.35, "share of packets";
    /// While the erasure floor is unknown, repairs make up for loss up to this share of packets.
    ///
    /// The share applies in start-up while the queue is short. On a path with many losses, half the
    /// value protects the start of a session less. Double the value sends more repairs into an
    /// overshoot.
    codable_at_first, "codable-at-first": 0.3, "share of packets";
    /// Pacing gain of a normal probe for more rate.
    ///
    /// With half the excess over 1, probes find free capacity more slowly. With double the excess,
    /// a probe makes a queue of twice the length.
    probe_gain, "probe-gain": 1.15, "gain";
    /// Limit on the pacing gain of probes after a probe that ended in losses.
    ///
    /// Such a path has a policer or a small buffer. A probe then loses packets in proportion to its
    /// excess. Half the excess loses fewer packets and finds free capacity more slowly. Double the
    /// excess would be above the excess of a normal probe.
    gentle_probe_gain, "gentle-probe-gain": 1.1, "gain";
    /// Pacing gain of a probe directly after a probe that found more rate.
    ///
    /// The path may carry much more. With half the excess, about twice the number of probes are
    /// needed after a rate step. Double the excess overshoots more.
    again_probe_gain, "again-probe-gain": 1.35, "gain";
    /// Least number of round trips between two probes. A random number of up to `probe-spread`
    /// round trips is added, so that flows that share a bottleneck do not probe together.
    ///
    /// With half the value, there are more probes, and each makes a queue. Double the value follows
    /// a rate step later.
    probe_every, "probe-every": 3.0, "round trips";
    /// See `probe-every`. Half the value lets flows probe together more often. Double the value
    /// follows a rate step later.
    probe_spread, "probe-spread": 4.0, "round trips";
    /// Limit on the window outside competition, bandwidth-delay products.
    ///
    /// The limit bounds the queue that a wrong estimate can make. With a value near 1, jitter and
    /// late reports leave the path idle. Double the value allows a queue of twice the length.
    window_gain, "window-gain": 1.5, "bandwidth-delay products";
    /// Length of the maximum filter for the bottleneck's rate, rounds.
    ///
    /// The value covers two probes. Half the value may forget the path's rate between two probes.
    /// Double the value keeps the old rate for longer after the path has become slower.
    rate_rounds, "rate-rounds": 10.0, "rounds";
    /// Least number of packets in a round.
    ///
    /// On a slow path three or four packets fill a round trip. Now and then all are lost, which
    /// does not show congestion. At 1 Mbit/s, 50 ms and 30 % loss the goodput was 0.10 of the ideal
    /// without this limit, and 0.82 with this limit. Half the value trusts smaller samples. Double
    /// the value reacts later on slow paths.
    round_packets, "round-packets": 16.0, "packets";
    /// After a round in which too little was sent to show the path's rate, at least this share of
    /// the rate is left.
    ///
    /// Half the value lets one quiet round halve the rate without evidence. With a value of 1, only
    /// losses in a long queue lower the rate after such a round.
    unsure_cut, "unsure-cut": 0.85, "share of the rate";
    /// A queue counts as short up to this queueing delay, s, or up to `short-queue-part` of the
    /// least round-trip time. Twice the jitter is added.
    ///
    /// 3 ms keep the queue below CoDel's target of 5 ms. Half the value takes noise for a queue.
    /// Double the value lets a longer queue stand.
    short_queue, "short-queue": 0.003, "s";
    /// See `short-queue`. Half the value matters on paths above 50 ms only. Double the value lets a
    /// longer queue stand on long paths.
    short_queue_part, "short-queue-part": 0.03, "share of the least round-trip time";
    /// Factor on the rate after losses in a long queue, and after a mark Congestion Experienced.
    ///
    /// CUBIC keeps 0.7 and the study of the controller chose 0.75. Half the value loses utilisation
    /// in front of CoDel. Double the value would not slow down.
    cut, "cut": 0.75, "share of the rate";
    /// A long queue must last this many least round-trip times (and two smoothed ones, and
    /// `compete-after-least`) before the sender tests whether others keep the queue.
    ///
    /// The sender's own queue drains within this time. Half the value tests more often. With double
    /// the value, the sender yields to a CUBIC flow for longer before it competes.
    compete_after, "compete-after": 6.0, "round trips";
    /// See `compete-after`. The value matters on paths below 40 ms, where a queue of 300 ms is
    /// common. Half and double the value change the shares on such paths only.
    compete_after_least, "compete-after-least": 0.3, "s";
    /// Length of a queue test, smoothed round-trip times.
    ///
    /// One round trip passes until a smaller flight shows in the reports. Half the value ends
    /// before that. Double the value costs twice as much of the rate.
    test_for, "test-for": 1.5, "round trips";
    /// Share of the flight that stays during a queue test.
    ///
    /// With half the value, the test costs more and shows more. Double the value would withhold
    /// nothing.
    test_keeps, "test-keeps": 0.5, "share of the flight";
    /// A queue that shrinks by less than this share of what the sender's own queue would is a delay
    /// of the path.
    ///
    /// The value allows ten equal flows. Half the value yields to a longer path for longer. Double
    /// the value takes the queue of six flows for a delay of the path.
    path_delay, "path-delay": 0.1, "share of the expected shrinking";
    /// Limit on the time between two events of losses in a long queue for the sender to compete, s.
    /// 40 round trips are added.
    ///
    /// A CUBIC flow fills a short buffer again within this time. Half the value misses slow CUBIC
    /// flows. Double the value competes after unrelated events.
    crowd_window, "crowd-window": 10.0, "s";
    /// The window that remains after a congestion event in a competition.
    ///
    /// CUBIC keeps 0.7. The tunnel's headers, its queue tests and the reaction of the inner TCP cost a part of its
    /// share, and 0.85 makes up for them. The goodput beside CUBIC in front of queues of 1, 2 and 4 bandwidth-delay
    /// products is .40 .40 .40 of the total with 0.7, .46 .46 .44 with 0.8 and .47 .50 .50 with 0.85. Half the value
    /// yields. Double the value would not yield at all.
    cubic_beta, "cubic-beta": 0.85, "share of the window";
    /// CUBIC's constant C (RFC 9438). Half the value grows more slowly than other CUBIC flows, and
    /// double the value faster.
    cubic_c, "cubic-c": 0.4, "packets/s^3";
    /// Pacing gain after the start-up, until its queue has drained.
    ///
    /// Half the value drains the queue sooner, and the path runs idle more often. Double the value keeps the queue of the
    /// start-up for longer.
    drain_gain, "drain-gain": 0.4, "share of the rate";
    /// The drain ends after this number of round trips in any case.
    ///
    /// The queue then belongs to others. Half the value leaves a part of a long queue to the cruise. Double the value sends
    /// at the low gain for longer beside others.
    drain_for, "drain-for": 6.0, "round trips";
    /// Start-up ends when the queue is longer than this time, or than half of the least round trip, or than
    /// `startup-queue-part`, whichever counts.
    ///
    /// Half the value ends the start-up for jitter. Double the value fills short queues.
    startup_queue, "startup-queue": 0.008, "s";
    /// See `startup-queue`. It is the growth of the delay that ends the slow start of CUBIC (HyStart).
    ///
    /// Half the value ends the start-up early on long paths. Double the value delays the inner TCP, which then leaves its
    /// slow start.
    startup_queue_part, "startup-queue-part": 0.125, "share of a round trip";
    /// The start-up goes on while the delivered rate grows by this factor in a round (as in BBR).
    ///
    /// Half the excess overshoots for longer. Double the excess ends the start-up in a round in which the inner TCP sent
    /// little.
    startup_growth, "startup-growth": 1.25, "gain";
    /// Rounds after the start-up during which losses and queues say nothing of others: they are the start-up's own.
    ///
    /// Half the value takes the losses of the start-up for a full path. Double the value reacts to others later.
    settle_rounds, "settle-rounds": 4.0, "rounds";
    /// After a probe, the pacing gain is less than 1 by at least this share.
    ///
    /// Half the value drains the queue of a probe for longer. Double the value leaves the path idle for a moment.
    down_least, "down-least": 0.05, "share of the rate";
    /// After a probe, the pacing gain is less than 1 by at most this share.
    ///
    /// Half the value drains the queue of a probe for longer. Double the value lets the inner TCP see a gap.
    down_most, "down-most": 0.2, "share of the rate";
    /// The queue of a probe drains for at most this number of round trips, report interval included.
    ///
    /// Half the value leaves a rest of the queue. Double the value sends less for longer beside others.
    down_for, "down-for": 4.0, "round trips";
    /// While a queue stands, the pacing gain is less than 1 by at most this share.
    ///
    /// Half the value yields more slowly to others. Double the value lets the path run idle when the queue goes.
    yield_most, "yield-most": 0.3, "share of the rate";
    /// A probe ends when the queue is longer than this time plus `probe-queue-part`.
    ///
    /// Half the value ends probes for jitter. Double the value makes longer queues on short paths.
    probe_queue, "probe-queue": 0.003, "s";
    /// See `probe-queue`. Half the value ends a probe before a report shows more rate. Double the value makes longer queues.
    probe_queue_part, "probe-queue-part": 0.2, "share of the least round-trip time";
    /// Pacing gain during a queue test. The window of the test limits the flight already.
    ///
    /// Half the value lets others take more during the test. Double the value sends a burst into the queue.
    test_gain, "test-gain": 0.8, "share of the rate";
    /// The erasure floor forgets within this time plus `erasure-rounds`.
    ///
    /// Half the value makes the floor vary more. Double the value follows a change of the losses later.
    erasure_memory, "erasure-memory": 1.5, "s";
    /// See `erasure-memory`. The value matters on long paths.
    erasure_rounds, "erasure-rounds": 6.0, "round trips";
    /// The part by which an outdated least round-trip time moves to a new sample while the queue is short.
    ///
    /// Half the value follows a longer path later. Double the value may take a queue of the sender's own for the path.
    renewal, "renewal": 0.05, "share of the difference";
    /// Pacing gain in a competition.
    ///
    /// Linux paces CUBIC at 1.2 times the window per round trip. With half the excess, the window is
    /// used less. Double the excess sends larger bursts.
    compete_gain, "compete-gain": 1.2, "gain";
    /// In a competition, losses count as congestion while the queueing delay is above this share of
    /// its recent maximum.
    ///
    /// A drop happens in a full queue. Half the value counts random losses too. Double the value
    /// would never count a loss.
    full_queue, "full-queue": 0.5, "share of the longest queue";
    /// Others may keep a queue only if its delay is above this share of the least round-trip time.
    ///
    /// On a busy machine, packets are handled up to 10 ms late, in bunches, and the mean delay is then above the least
    /// one. With .08, one of three connections over such a path of 100 ms and 1 % loss began a competition with
    /// nobody, and CUBIC inside had .79 of the rate instead of .86. With .12, the tunnel has .71 of the goodput beside
    /// CUBIC in front of a quarter of a bandwidth-delay product, instead of .69.
    long_queue, "long-queue": 0.1, "share of a round trip";
    /// A competition is left for a short queue only if there was no congestion event for this time, s.
    ///
    /// A short buffer is empty for a while after a drop, although others are there. With a tenth of the
    /// value, the tunnel takes a tenth more of the goodput beside CUBIC in front of a quarter of a
    /// bandwidth-delay product. Double the value loses 1 % of the rate on a path with 1 or 2 % random loss.
    quiet, "quiet": 1.0, "s";
    /// The first queue test of a competition follows after this time, s, or after as many round
    /// trips.
    ///
    /// Each test that finds others costs rate, and doubles the time to the next test, up to four
    /// times this value. With half the value, the share beside a CUBIC flow falls. Double the value
    /// keeps a queue for longer after the others have gone.
    test_every, "test-every": 10.0, "s";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_constant_can_be_read_and_set() {
        for field in Tuning::FIELDS {
            let mut tuning = Tuning::default();
            let value = field.scaled(2.0);
            tuning.set(field.name, value).unwrap();
            assert_eq!(tuning.get(field.name), Some(value), "{}", field.name);
            assert_ne!(tuning, Tuning::default(), "{}", field.name);
        }
        let error = Tuning::default().set("probe", 1.0).unwrap_err();
        assert!(error.contains("no constant `probe`") && error.contains("probe-gain"), "{error}");
        assert!(Tuning::default().set("probe-gain", f64::NAN).is_err());
    }

    #[test]
    fn a_gain_is_scaled_about_one() {
        let field = Tuning::FIELDS.iter().find(|field| field.name == "probe-gain").unwrap();
        assert!((field.scaled(2.0) - 1.3).abs() < 1e-9);
    }
}
