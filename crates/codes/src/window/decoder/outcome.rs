//! The outcome of each symbol that a decoder accepted or refused, and counters.

/// What the decoder did with a symbol that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The symbol did not follow from the symbols that the decoder had: it added one degree of
    /// freedom. One more source symbol is *seen*.
    Innovative,
    /// A repair that follows from the symbols that the decoder already had.
    Redundant,
    /// A source symbol whose value was known already.
    Duplicate,
    /// The symbol came too late. A source symbol lies before the window or was given up; a repair
    /// has all its members before the window.
    Old,
    /// The symbol lies too far ahead of the lowest undecoded symbol
    /// ([`Limits::ahead`](super::Limits::ahead)). The decoder is unchanged.
    Beyond,
    /// A repair for which there is no room: with its row, the waiting rows would take more than
    /// [`Limits::matrix`](super::Limits::matrix), or more than
    /// [`Limits::rows`](super::Limits::rows) rows would share unknown symbols. The decoder is
    /// unchanged.
    Full,
    /// A repair with more members than [`Limits::members`](super::Limits::members), or whose tail
    /// ([`Members::tail`](crate::window::Members::tail)) has more unseen members than
    /// [`Limits::unseen`](super::Limits::unseen). The decoder is unchanged.
    Wide,
    /// A repair that cannot be used: a member is no longer held (given up or freed), there is no
    /// member, or the coefficients do not fit. The decoder is unchanged.
    Unusable,
}

/// The counters of a decoder since the decoder was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecoderCounters {
    /// Symbols that were [`Arrival::Innovative`].
    pub innovative: u64,
    /// Repairs that were [`Arrival::Redundant`].
    pub redundant: u64,
    /// Source symbols that were [`Arrival::Duplicate`].
    pub duplicate: u64,
    /// Symbols that were [`Arrival::Old`].
    pub old: u64,
    /// Symbols that were [`Arrival::Beyond`].
    pub beyond: u64,
    /// Repairs that were [`Arrival::Full`].
    pub full: u64,
    /// Repairs that were [`Arrival::Wide`].
    pub wide: u64,
    /// Repairs that were [`Arrival::Unusable`].
    pub unusable: u64,
    /// Source symbols recovered by repairs.
    pub decoded: u64,
    /// Source symbols given up, one by one or by a moving window.
    pub given_up: u64,
    /// The number of times that a payload was multiplied by a coefficient and added to a sum. This
    /// number measures the work on payloads.
    pub payload_combinations: u64,
    /// Source symbols recovered by repairs that were decoded together
    /// ([`Decoder::repairs`](super::Decoder::repairs)).
    pub simultaneous: u64,
    /// The number of times that known payloads were subtracted from the stored repairs, so that the
    /// known payloads could be freed.
    pub folds: u64,
    /// The number of times that the stored repairs were replaced by one payload for each row. This
    /// frees the repairs of rows that were lost when symbols were given up.
    pub consolidations: u64,
    /// The number of times that a repair joined two groups of rows that had no unknown symbol in
    /// common before.
    pub joined: u64,
    /// Rows that were discarded with their stored repairs: to free memory, or because the work that
    /// they cause had to wait too long or would have been too much ([`Limits::step`](super::Limits::step),
    /// [`Decoder::pause`](super::Decoder::pause)).
    pub discarded: u64,
    /// The work so far: bytes of rows and payloads that were read to be combined. A payload counts
    /// with the length of the longest payload that has arrived, so the number depends only on the
    /// symbols that arrived. A caller that limits the computing time of a peer uses this number.
    pub work_bytes: u64,
}
