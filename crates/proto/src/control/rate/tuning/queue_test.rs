//! The queue test: when it is due, and to whom a long queue belongs.

tuning! {
    /// The queue test: when it is due, and to whom a long queue belongs.
    queue_test: QueueTestTuning;

    /// A long queue must last this many least round-trip times (and two smoothed ones, and
    /// `compete-after-least`) before the sender tests whether others keep the queue.
    ///
    /// The sender's own queue drains within this time. Half the value tests more often. With double
    /// the value, the sender yields to a CUBIC flow for longer before it competes.
    after, "compete-after": 6.0, "round trips";
    /// See `compete-after`. The value matters on paths below 40 ms, where a queue of 300 ms is
    /// common. Half and double the value change the shares on such paths only.
    after_least, "compete-after-least": 0.3, "s";
    /// Length of a queue test, smoothed round-trip times.
    ///
    /// One round trip passes until a smaller flight shows in the reports. Half the value ends
    /// before that. Double the value costs twice as much of the rate.
    length, "test-for": 1.5, "round trips";
    /// Share of the flight that stays during a queue test.
    ///
    /// With half the value, the test costs more and shows more. Double the value would withhold
    /// nothing.
    keeps, "test-keeps": 0.5, "share of the flight";
    /// Pacing gain during a queue test. The window of the test limits the flight already.
    ///
    /// Half the value lets others take more during the test. Double the value sends a burst into the queue.
    gain, "test-gain": 0.8, "share of the rate";
    /// A queue that shrinks by less than this share of what the sender's own queue would is a delay
    /// of the path.
    ///
    /// The value allows ten equal flows. Half the value yields to a longer path for longer. Double
    /// the value takes the queue of six flows for a delay of the path.
    path_delay, "path-delay": 0.1, "share of the expected shrinking";
    /// In a queue test, changes of up to this number of times the jitter are chance.
    ///
    /// Jitter of 20 ms that keeps the order of packets has a measured jitter of about 1 ms, and reports
    /// differ by 5 ms. With a quarter of the value, one of eight runs over such a path took jitter for
    /// others, counted random losses as congestion, and kept 6 % of its rate. Double the value takes a
    /// short queue of others for a delay of the path.
    noise, "test-noise": 4.0, "times the jitter";
    /// The first queue test of a competition follows after this time, s, or after as many round
    /// trips.
    ///
    /// Each test that finds others costs rate, and doubles the time to the next test, up to four
    /// times this value. With half the value, the share beside a CUBIC flow falls. Double the value
    /// keeps a queue for longer after the others have gone.
    every, "test-every": 10.0, "s";
    /// Limit on the time between two queue tests, as a multiple of `test-every`. The time doubles with
    /// each test that finds others.
    ///
    /// With half the value, tests cost twice as much in a long competition. Double the value keeps a
    /// queue for longer after the others have gone.
    most_interval, "most-interval": 4.0, "times `test-every`";
}
