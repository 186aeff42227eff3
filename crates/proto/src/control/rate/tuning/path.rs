//! What the controller measures of the path: rate, round-trip time, rounds, and the limits on rate and window.

tuning! {
    /// What the controller measures of the path: rate, round-trip time, rounds, and the limits on rate and window.
    path: PathTuning;

    /// Least rate, byte/s: one packet of 1500 bytes in 250 ms.
    ///
    /// Nothing could be measured at a lower rate. With half the value it takes twice as long to notice
    /// that the path carries more. Double the value may overload a slower path.
    least_rate, "least-rate": 6_000.0, "byte/s";
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
    /// The largest recent rate decays with this time constant, s.
    ///
    /// Half the value lets a starved sender forget its rate before it competes. Double the value
    /// starts a competition with an old rate.
    top_decay, "top-decay": 10.0, "s";
    /// If the least round-trip time was not measured again for this time, s, it moves towards the
    /// measured times while the queue is short.
    ///
    /// The route may have changed. With half the value, a queue of 15 s moves the least round-trip
    /// time. With double the value, a longer route is noticed later.
    rtt_renewed, "rtt-renewed": 30.0, "s";
    /// The part by which an outdated least round-trip time moves to a new sample while the queue is short.
    ///
    /// Half the value follows a longer path later. Double the value may take a queue of the sender's own for the path.
    renewal, "renewal": 0.05, "share of the difference";
    /// If at least this share of the reports is lost, runs of lost reports extend the time for which the sender
    /// goes on without a report.
    ///
    /// With half the value, rare losses extend the window as well. With double the value, the window stops the sender on paths
    /// that lose 1 % of the reports in long runs.
    lost_reports, "lost-reports": 0.01, "share of the reports";
    /// The sender outlasts this number of mean runs of lost reports.
    ///
    /// Of the runs, one of seven is longer. With half the value, one of three, and the tunnel has .63 of a path of 2 Mbit/s
    /// and 782 ms that loses 19 % in runs of 18 in both directions, instead of .65. Double the value lets a wrong rate make a
    /// longer queue.
    blind_runs, "blind-runs": 2.0, "mean runs of lost reports";
    /// A flight above the bandwidth-delay product by this number of packets is not reduced, packets.
    ///
    /// Packets leave one by one, so the flight varies by a packet. Half the value leaves the path idle now and then. Double
    /// the value leaves a standing queue of four packets, which counts as a queue of others on a path of 1 Mbit/s.
    excess_slack, "excess-slack": 2.0, "packets";
}
