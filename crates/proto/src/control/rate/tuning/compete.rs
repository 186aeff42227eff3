//! Competition with flows that keep a queue: its window, its congestion events, its beginning and its end.

tuning! {
    /// Competition with flows that keep a queue: its window, its congestion events, its beginning and its end.
    compete: CompeteTuning;

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
    /// Pacing gain in a competition.
    ///
    /// Linux paces CUBIC at 1.2 times the window per round trip. With half the excess, the window is
    /// used less. Double the excess sends larger bursts.
    gain, "compete-gain": 1.2, "gain";
    /// A competition begins with this part of the path's rate: half is fair beside one flow.
    ///
    /// The figures here are the tunnel's part beside CUBIC from 6 to 24 s, at 20 Mbit/s and 100 ms over a queue of one
    /// bandwidth-delay product: .49. Half the value: .44. Double the value: .49, because the next two limits hold.
    fair_part, "fair-part": 0.5, "share of the rate";
    /// A competition begins with at most this number of times the sender's own rate. The number of flows is unknown, and half
    /// of the path is too much beside many flows.
    ///
    /// Half the value: .40 (see `fair-part`). Double the value changes nothing over one bandwidth-delay product. It gives .38
    /// instead of .37 over four.
    most_growth, "most-growth": 2.0, "times the own rate";
    /// A competition begins with a window that adds at most this number of times the longest queue. A short queue would
    /// overflow, and the others would lose more than this sender gains.
    ///
    /// Half the value: .43 (see `fair-part`). Double the value changes nothing. If this limit and `most-growth` are both
    /// doubled, the sender has .53.
    most_queues, "most-queues": 2.0, "longest queues";
    /// A competition that begins after a queue test doubles its window in each round trip until the queue has grown by this part
    /// of a round trip. The growth is the sender's own part of the queue: half of a round trip is half of the path.
    ///
    /// A flow that comes later than the others has a small window, and CUBIC's curve begins flat. The figures are the part that the
    /// tunnel has beside a CUBIC flow that began 6 s before, from 6 to 54 s (10 Mbit/s, 100 ms, a queue of two bandwidth-delay
    /// products): .36. Without a slow start .29, with half the value .31. Double the value has .36 too, but .65 beside a flow that
    /// began at the same time (.59).
    slow_start, "slow-start": 0.25, "share of a round trip";
    /// Losses in this number of smoothed round trips after the beginning are no congestion event of this sender.
    ///
    /// The sender takes its part of the path at once, so the queue overflows, and the others must yield. Half the value cuts
    /// this part directly, and the two windows then approach each other for a minute. Double the value keeps the queue full
    /// for longer.
    grace, "grace": 2.0, "round trips";
    /// In a competition, losses count as congestion while the queueing delay is above this share of
    /// its recent maximum.
    ///
    /// A drop happens in a full queue. Half the value counts random losses too. Double the value
    /// would never count a loss.
    full_queue, "full-queue": 0.5, "share of the longest queue";
    /// Standard deviations by which the losses of a round exceed the erasure floor at a congestion
    /// event. A chance of 5 % is enough, because a full queue is evidence already.
    ///
    /// Half the value counts more random losses. Double the value misses events and takes more than a
    /// fair share.
    event_deviations, "event-deviations": 1.64, "standard deviations";
    /// During a competition, the erasure floor is learned from at most this number of packets that were settled
    /// while the queue was at most half full. Half the value learns no random loss of 1 %. Double the value
    /// remembers the losses of an earlier state of the path for longer.
    half_packets, "half-packets": 1_000.0, "packets";
    /// The erasure floor is learned from this number of losses. Half the value takes single drops of an AQM for
    /// random losses. Double the value cuts the rate for random losses for twice as long.
    few_erasures, "few-erasures": 5.0, "packets";
    /// Least share of losses that is learned during a competition. CoDel and PIE drop less from a queue of two
    /// flows, so half the value would take their drops for random losses. Double the value leaves 2 % of random
    /// loss unlearned.
    least_erasures, "least-erasures": 0.01, "share of packets";
    /// Losses that grow to this multiple of the share that was first learned, plus `least-erasures`, are drops of an AQM.
    ///
    /// Without this rule, what PIE drops counted as random loss, the sender made up for it, and PIE dropped more: beside two
    /// CUBIC flows at 10 Mbit/s and 30 ms, the sender had 7 Mbit/s and sent 1.9 bytes for a useful byte. Half the value takes
    /// chance for growth. Double the value lets the sender take twice as much before the drops show.
    grown, "grown": 2.0, "times the first share";
    /// A competition is left for a short queue only if there was no congestion event for this time, s.
    ///
    /// A short buffer is empty for a while after a drop, although others are there. With a tenth of the
    /// value, the tunnel takes a tenth more of the goodput beside CUBIC in front of a quarter of a
    /// bandwidth-delay product. Double the value loses 1 % of the rate on a path with 1 or 2 % random loss.
    quiet, "quiet": 1.0, "s";
    /// A competition in front of an AQM is left for a short queue only if there was no congestion event for this time, s.
    ///
    /// The AQM keeps the queue short although others are there. They cause a drop about every 5 s at 20 Mbit/s and 100 ms.
    /// Half the value leaves between two drops. Double the value competes for longer after the others have gone.
    managed_quiet, "managed-quiet": 10.0, "s";
    /// A competition is left after the queue has been short for this number of round trips.
    ///
    /// Half the value leaves in the dip after a drop of all flows. Double the value keeps the larger
    /// window for longer after the others have gone.
    short_for, "short-for": 2.5, "round trips";
    /// A new competition continues the last one if a queue stands again within this time, s, plus
    /// `again-rounds` round trips.
    ///
    /// Half the value starts anew after a false exit. Double the value may continue with an old window.
    again_within, "again-within": 5.0, "s";
    /// See `again-within`. The value matters on long paths.
    again_rounds, "again-rounds": 10.0, "round trips";
    /// See `again-within`: the time in front of an AQM, where a drop that no probe provoked continues the last competition, s.
    ///
    /// Half the value forgets a CUBIC flow whose drops are rare. Double the value competes for one more drop after the
    /// others have gone.
    managed_again, "managed-again": 30.0, "s";
}
