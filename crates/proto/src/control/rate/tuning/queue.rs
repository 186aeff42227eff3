//! The queueing delay: how it is measured, and when a queue is short or long.

tuning! {
    /// The queueing delay: how it is measured, and when a queue is short or long.
    queue: QueueTuning;

    /// Period over which the least one-way delay is taken, s.
    ///
    /// The queueing delay is the one-way delay minus the least one-way delay. The clock offset of the
    /// two ends and the propagation delay cancel in this difference. With half the value, a queue that
    /// lasts for 15 s is mistaken for a delay of the path. With double the value, it takes longer to
    /// notice that the path has become longer or that the clocks drift.
    base_for, "least-delay-for": 30.0, "s";
    /// A delay without a queue lasts for this number of reports: the largest of their delays counts.
    ///
    /// An empty queue stays empty for several reports. With jitter, single packets are early, above all when few packets are
    /// sent. Measured from such a packet, the usual delay would be a queue. With half the value, CUBIC inside has .52 of a path
    /// of 20 Mbit/s and 100 ms with 5 % loss and 50 ms of jitter, instead of .83 (1 report: .18). Double the value gives .87
    /// there, but takes .75 instead of .61 beside CUBIC over a short queue (20 Mbit/s, 20 ms, a quarter of the bandwidth-delay
    /// product), because a queue that others let drain for a moment no longer shows. A value above 8 counts as 8.
    lasting, "lasting": 4.0, "reports";
    /// How much longer than the time since the departure of its datagrams a queueing delay may seem, s. A
    /// longer delay shows that a clock has jumped. Two clocks that differ by 300 ppm drift apart by 10 ms within
    /// `least-delay-for`. Half the value takes the drift of poor clocks on a path of 1 ms for a jump. Double the value
    /// leaves jumps by 20 ms unnoticed.
    clock_tolerance, "clock-tolerance": 0.010, "s";
    /// A queue counts as short up to this queueing delay, s, or up to `short-queue-part` of the
    /// least round-trip time. Twice the jitter is added.
    ///
    /// 3 ms keep the queue below CoDel's target of 5 ms. Half the value takes noise for a queue.
    /// Double the value lets a longer queue stand.
    short, "short-queue": 0.003, "s";
    /// See `short-queue`. Half the value matters on paths above 50 ms only. Double the value lets a
    /// longer queue stand on long paths.
    short_part, "short-queue-part": 0.03, "share of the least round-trip time";
    /// Others may keep a queue only if its delay is above this share of the least round-trip time.
    ///
    /// On a busy machine, packets are handled up to 10 ms late, in bunches, and the mean delay is then above the least
    /// one. With .08, one of three connections over such a path of 100 ms and 1 % loss began a competition with
    /// nobody, and CUBIC inside had .79 of the rate instead of .86. With .12, the tunnel has .71 of the goodput beside
    /// CUBIC in front of a quarter of a bandwidth-delay product, instead of .69.
    long_part, "long-queue": 0.1, "share of a round trip";
    /// An AQM drops no packet from a queue that is shorter than this delay, s: the target of CoDel (RFC 8289). Other AQMs have
    /// longer targets.
    ///
    /// With the limit of a short queue (3 ms) instead, a path with .1 % random loss has .84 of the rate instead of .91, because
    /// its losses count as drops. Double the value misses half of CoDel's drops.
    aqm_target, "aqm-target": 0.005, "s";
    /// Time over which the longest queue is remembered, s.
    ///
    /// A CUBIC flow fills a queue again within about this time. With half the value, the longest queue
    /// is forgotten between two events. With double the value, drops of a queue that has become shorter
    /// are ignored for longer.
    longest_for, "longest-queue-for": 10.0, "s";
    /// Time constant of the mean with which a rise of the queue is found, smoothed round trips.
    ///
    /// With half the value, the queue of a CUBIC flow rises too little to show. Double the value sees a rise long after the
    /// path has become longer at once.
    mean, "queue-mean": 2.0, "round trips";
}
