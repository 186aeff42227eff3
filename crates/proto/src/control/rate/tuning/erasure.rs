//! The erasure floor, and the mean of losses.

tuning! {
    /// The erasure floor, and the mean of losses.
    erasure: ErasureTuning;

    /// The erasure floor forgets within this time plus `erasure-rounds`.
    ///
    /// Half the value makes the floor vary more. Double the value follows a change of the losses later.
    memory, "erasure-memory": 1.5, "s";
    /// See `erasure-memory`. The value matters on long paths.
    rounds, "erasure-rounds": 6.0, "round trips";
    /// The estimator remembers at least this number of packets, however long ago they were sent.
    ///
    /// At a low rate, few packets arrive within the estimator's time constant. Without this limit, the
    /// sender would never learn that its losses are random, and would lower its rate further because of
    /// these losses. The effect was measured on a path of 1 Mbit/s, 50 ms and 30 % loss. The goodput is
    /// given as a share of what the path can carry after its losses. Without this limit and without
    /// rounds of at least 16 packets (`round-packets`), the goodput was 0.10. With both, the goodput was
    /// 0.82. At low rates, half the value makes the estimate vary more, and double the value makes the
    /// estimate follow changes more slowly.
    packets, "erasure-packets": 60.0, "packets";
    /// Limit on the erasure floor, as a share of packets.
    ///
    /// A path that loses a larger share counts as an outage. With half the value, random loss above 30
    /// % counts as congestion. With double the value there would be no limit.
    cap, "erasure-cap": 0.6, "share of packets";
    /// Number of packets in the slow mean of losses.
    ///
    /// The mean covers several drops of an AQM and the time between them. Half the value takes a few such drops for random
    /// loss. Double the value learns random losses under jitter later.
    loss_mean, "loss-mean": 2_000.0, "packets";
}
