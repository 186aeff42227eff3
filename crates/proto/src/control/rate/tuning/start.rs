//! The start-up: the first window and rate, what ends the start-up, and how its queue drains.

tuning! {
    /// The start-up: the first window and rate, what ends the start-up, and how its queue drains.
    start: StartTuning;

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
    fastest, "fastest-start": 0.02, "s";
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
    gain, "startup-gain": 2.0, "gain";
    /// The start-up goes on while the delivered rate grows by this factor in a round (as in BBR).
    ///
    /// Half the excess overshoots for longer. Double the excess ends the start-up in a round in which the inner TCP sent
    /// little.
    growth, "startup-growth": 1.25, "gain";
    /// In start-up, excess loss above this share of a round's packets shows an overshoot. Excess
    /// loss is the loss beyond the erasure floor and chance.
    ///
    /// A round that shows an overshoot counts as a round without growth, even if the inner traffic
    /// limits the rate. Without this rule, an inner TCP kept the start-up from ending at 1 Gbit/s
    /// and 3 ms: 2.4 times the ideal number of bytes were sent. Half the value may mistake random
    /// loss for an overshoot. Excess loss would hardly ever reach double the value.
    overshoot, "overshoot": 0.35, "share of packets";
    /// Start-up ends when the queue is longer than this time, or than half of the least round trip, or than
    /// `startup-queue-part`, whichever counts.
    ///
    /// Half the value ends the start-up for jitter. Double the value fills short queues.
    queue, "startup-queue": 0.008, "s";
    /// See `startup-queue`. It is the growth of the delay that ends the slow start of CUBIC (HyStart).
    ///
    /// Half the value ends the start-up early on long paths. Double the value delays the inner TCP, which then leaves its
    /// slow start.
    queue_part, "startup-queue-part": 0.125, "share of a round trip";
    /// While the erasure floor is unknown, repairs make up for loss up to this share of packets.
    ///
    /// The share applies in start-up while the queue is short. On a path with many losses, half the
    /// value protects the start of a session less. Double the value sends more repairs into an
    /// overshoot.
    codable_at_first, "codable-at-first": 0.3, "share of packets";
    /// The longest growth of the round trip that does not end a CUBIC flow's slow start on a long path, s (HyStart in Linux).
    ///
    /// Half the value sends shorter bursts than slow start needs. Double the value ends the slow start early: at 100 Mbit/s
    /// and 600 ms, CUBIC inside had 60 Mbit/s after 36 s instead of 92.
    hystart, "hystart": 0.016, "s";
    /// Limit on the pacing gain of a burst of the inner traffic (see `hystart`).
    ///
    /// The estimated rate is that of a round trip ago, and the inner TCP has doubled its window since and sends it in half a
    /// round trip. With 3, CUBIC inside had 72 Mbit/s at 100 Mbit/s and 600 ms. Double the value sends a burst that fills a
    /// short queue of the path.
    burst_gain, "burst-gain": 4.0, "gain";
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
    /// Rounds after the start-up during which losses and queues say nothing of others: they are the start-up's own.
    ///
    /// Half the value takes the losses of the start-up for a full path. Double the value reacts to others later.
    settle_rounds, "settle-rounds": 4.0, "rounds";
}
