//! The loss test: whether losses grow with the rate.

tuning! {
    /// The loss test: whether losses grow with the rate.
    loss_test: LossTestTuning;

    /// Pacing gain during a loss test.
    ///
    /// With half the distance from 1, a test takes more packets to tell the two causes apart. Double the distance costs
    /// twice as much of the rate for the length of the test.
    gain, "loss-test-gain": 0.7, "gain";
    /// A loss test follows when the erasure floor is above this share of packets.
    ///
    /// Below it, losses cost less than a test of a slow path. Half the value tests paths of 3 % loss as well. Double the
    /// value sends a tenth of the packets of a policed path in vain.
    from, "loss-test-from": 0.05, "share of packets";
    /// A further test follows when the floor is above this multiple of the floor that the last test confirmed.
    ///
    /// With half the excess over 1, chance starts tests. With double the excess, a policer that begins on a path with 10 %
    /// random loss is noticed above 20 % only.
    again, "loss-test-again": 1.5, "gain";
    /// Time constant with which the confirmed floor follows a lower floor, s.
    ///
    /// Losses in runs make the floor vary by half of its value. With half the value, such a path is tested twice as often. With
    /// double the value, a policer that begins after the random losses have ended is noticed a minute later.
    confirmed_memory, "confirmed-memory": 60.0, "s";
    /// For this time after a test that found an overload, the erasure floor is learned only from packets sent below the
    /// estimated rate.
    ///
    /// A policer passes bursts, so the estimated rate may be a little too large, and packets sent at this rate show the
    /// policer's drops. Half the value repeats tests behind a policer. Double the value trusts fewer packets for longer
    /// after the policer has gone.
    wary_for, "wary-for": 60.0, "s";
    /// During the time `wary-for`, packets at the estimated rate count as well once this rate is below this multiple of the rate that
    /// the test has found.
    ///
    /// So a wrong verdict costs no more of the rate. Without this rule, 2 of 32 connections over 3.5 Mbit/s and 62 ms with
    /// 30 % random loss kept a tenth of the rate for a minute. With half the value, the rate halves before a wrong verdict
    /// shows. Near 1, the drops of a policer count.
    wary_below, "wary-below": 0.8, "share of the rate";
    /// A test ends when the two causes differ by this number of standard deviations of the share lost.
    ///
    /// The limit lies in the middle, so chance decides one of 23 tests wrongly, and two tests in a row one of 500 times. With
    /// half the value, one of five tests. Double the value takes four times the packets.
    deviations, "loss-test-deviations": 3.5, "standard deviations";
    /// Least number of packets in each phase. Half the value trusts a share of a few packets. Double the value matters only
    /// at a loss near the limits.
    packets, "loss-test-packets": 30.0, "packets";
    /// Limit on the length of a test, smoothed round trips, or `loss-test-longest` if that is longer.
    ///
    /// One round trip passes before a report speaks of the test. Half the value ends tests on long, slow paths without a
    /// result. Double the value costs more of the rate there.
    rounds, "loss-test-rounds": 6.0, "round trips";
    /// See `loss-test-rounds`, s. Half the value ends tests on slow paths without a result. Double the value costs more of the
    /// rate there.
    longest, "loss-test-longest": 3.0, "s";
}
