//! How `Mode::Scavenge` yields.

tuning! {
    /// How `Mode::Scavenge` yields.
    scavenge: ScavengeTuning;

    /// The pacing gain while others fill the queue.
    ///
    /// Half the value measures the path less often. Double the value takes more from others.
    least_gain, "scavenge-gain": 0.2, "share of the rate";
    /// Number of smoothed round trips without a short queue after which the gain is `scavenge-gain`.
    ///
    /// A probe's own queue drains sooner. Half the value yields to the queue of a probe. Double the
    /// value takes more from others.
    long_for, "scavenge-long-for": 6.0, "round trips";
    /// A queue of this delay more than a short queue counts as short, s.
    ///
    /// Bulk traffic leaves in quanta of up to 4 ms, and a receiver that pauses between its turns takes it up to 5 ms late. At
    /// the start, single packets have shown a lower delay. With half the value, a tunnel alone has .83 of a link of 20 Mbit/s
    /// instead of .91. Double the value takes more from a CUBIC flow in front of a short buffer.
    noise, "scavenge-noise": 0.005, "s";
    /// The first back-off after drops lasts this number of smoothed round trips.
    ///
    /// A CUBIC flow needs longer than this to fill a buffer again. Half the value takes more from a
    /// CUBIC flow in front of a short buffer. Double the value uses a free path later.
    back_off, "back-off": 40.0, "round trips";
    /// Limit on a back-off, in smoothed round trips. Each drop within the last back-off's length after
    /// its end doubles the next back-off.
    ///
    /// Half the value takes more beside a CUBIC flow. Double the value uses a free path later.
    most_back_off, "most-back-off": 160.0, "round trips";
}
