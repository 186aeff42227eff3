//! What losses and queues prove, and by how much the rate falls.

tuning! {
    /// What losses and queues prove, and by how much the rate falls.
    evidence: EvidenceTuning;

    /// Factor on the rate after losses in a long queue, and after a mark Congestion Experienced.
    ///
    /// CUBIC keeps 0.7 and the study of the controller chose 0.75. Half the value loses utilisation
    /// in front of CoDel. Double the value would not slow down.
    cut, "cut": 0.75, "share of the rate";
    /// After a round in which too little was sent to show the path's rate, at least this share of
    /// the rate is left.
    ///
    /// Half the value lets one quiet round halve the rate without evidence. With a value of 1, only
    /// losses in a long queue lower the rate after such a round.
    unsure_cut, "unsure-cut": 0.85, "share of the rate";
    /// While a queue stands, the pacing gain is less than 1 by at most this share.
    ///
    /// Half the value yields more slowly to others. Double the value lets the path run idle when the queue goes.
    yield_most, "yield-most": 0.3, "share of the rate";
    /// A round counts as disturbed by a probe if it began earlier than this share of a smoothed round-trip time, plus a
    /// report interval, after the probe's queue had drained.
    ///
    /// The reports of the round may otherwise speak of packets of the probe. With half the value, losses of a probe cut
    /// the rate on short paths. Double the value notices a queue of others a round later.
    disturbed_for, "disturbed-for": 0.3, "round trips";
    /// A long queue overflows or grows if it passes on less than this share of what was sent.
    ///
    /// A step of the path's rate then shows even if the inner traffic limits the sending rate. Half the value misses a
    /// step from 20 to 12 Mbit/s. Nearer to 1, a queue of others that grows lowers the rate of a flow that sends little.
    overloaded, "overloaded": 0.8, "share of what was sent";
    /// A path with a smaller share of losses has no random loss. Then a drop that no probe provoked shows others, even if the
    /// queue is short, as CoDel keeps it.
    ///
    /// With half the value, the drops of two flows behind CoDel hide this. Double the value takes random losses for drops:
    /// with 1 % loss and jitter, CUBIC inside kept .62 of the rate.
    lossless, "lossless": 0.002, "share of packets";
    /// See `lossless`: the number of rounds after start-up that show it.
    ///
    /// Half the value trusts paths whose first random losses have not come yet. Double the value yields less to a CUBIC
    /// flow behind CoDel in the first seconds.
    lossless_rounds, "lossless-rounds": 30.0, "rounds";
    /// Losses in a queue of at most this share of the longest recent queue are no overflow of the queue.
    ///
    /// With 20 ms of jitter and 5 % loss, one of five connections took its random losses for congestion without this rule,
    /// and had .11 to .32 of the rate. Half the value learns no loss under jitter. Double the value takes the drops of a full
    /// queue for random loss.
    half_full, "half-full": 0.5, "share of the longest queue";
    /// An AQM drops at most this share of the packets of a few flows.
    ///
    /// With half the value, some drops of CoDel count as random loss, and the tunnel then has .86 of the goodput beside CUBIC
    /// instead of .63. With double the value, paths with 1 % loss and jitter are slow.
    more_than_aqm, "more-than-aqm": 0.01, "share of packets";
    /// A longer queue than this share of the round trip is no jitter.
    ///
    /// Half the value learns no random loss under jitter of 50 ms on a path of 100 ms. Double the value takes the drops of an
    /// AQM after slow start for random loss.
    most_jitter, "most-jitter": 0.5, "share of a round trip";
    /// Rounds over which rounds with losses are counted.
    ///
    /// The drops of CUBIC behind an AQM are about 50 round trips apart. Half the value forgets them more often. Double the
    /// value takes a random loss rate for drops for longer, after the queue has overflowed several times.
    lossy_rounds, "lossy-rounds": 300.0, "rounds";
    /// Limit on the time between two events of losses in a long queue for the sender to compete, s.
    /// 40 round trips are added.
    ///
    /// A CUBIC flow fills a short buffer again within this time. Half the value misses slow CUBIC
    /// flows. Double the value competes after unrelated events.
    crowd_window, "crowd-window": 10.0, "s";
    /// Standard deviations by which losses in a long queue exceed the erasure floor if they count for a
    /// competition.
    ///
    /// With 2 deviations, a path with 1 % random loss and a TCP inside began 2 competitions in 30 s, and
    /// lost 1 % of its goodput. Half the value competes by chance. Double the value misses most drops.
    crowding_deviations, "crowding-deviations": 3.0, "standard deviations";
    /// What losses in a long queue have caused is undone within this number of round trips, if the losses prove spurious.
    ///
    /// Reordered packets come within a round trip of the loss. Half the value misses the latest. Double the value may raise the
    /// rate after the path has changed.
    forgiven_for, "forgiven-for": 4.0, "round trips";
}
