//! Probes for more rate, and how the queue of a probe drains.

tuning! {
    /// Probes for more rate, and how the queue of a probe drains.
    probe: ProbeTuning;

    /// Pacing gain of a normal probe for more rate.
    ///
    /// With half the excess over 1, probes find free capacity more slowly. With double the excess,
    /// a probe makes a queue of twice the length.
    gain, "probe-gain": 1.15, "gain";
    /// Limit on the pacing gain of probes after a probe that ended in losses.
    ///
    /// Such a path has a policer or a small buffer. A probe then loses packets in proportion to its
    /// excess. Half the excess loses fewer packets and finds free capacity more slowly. Double the
    /// excess would be above the excess of a normal probe.
    gentle_gain, "gentle-probe-gain": 1.1, "gain";
    /// Pacing gain of a probe directly after a probe that found more rate.
    ///
    /// The path may carry much more. With half the excess, about twice the number of probes are
    /// needed after a rate step. Double the excess overshoots more.
    again_gain, "again-probe-gain": 1.35, "gain";
    /// Least number of round trips between two probes. A random number of up to `probe-spread`
    /// round trips is added, so that flows that share a bottleneck do not probe together.
    ///
    /// With half the value, there are more probes, and each makes a queue. Double the value follows
    /// a rate step later.
    every, "probe-every": 3.0, "round trips";
    /// See `probe-every`. Half the value lets flows probe together more often. Double the value
    /// follows a rate step later.
    spread, "probe-spread": 4.0, "round trips";
    /// A probe ends when the queue is longer than this time plus `probe-queue-part`.
    ///
    /// Half the value ends probes for jitter. Double the value makes longer queues on short paths.
    queue, "probe-queue": 0.003, "s";
    /// See `probe-queue`. Half the value ends a probe before a report shows more rate. Double the value makes longer queues.
    queue_part, "probe-queue-part": 0.2, "share of the least round-trip time";
    /// Limit on the factor by which probes become rarer.
    ///
    /// Half the value sends twice as many probes into a policer. Double the value follows a rate step later.
    most_calm, "most-calm": 8.0, "times the usual time";
    /// Factor on the time between probes after a probe in front of an AQM that dropped packets.
    ///
    /// Half the value lets CUBIC recover less between two probes. Double the value finds free capacity later.
    after_drops, "after-drops": 4.0, "times the time before";
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
}
