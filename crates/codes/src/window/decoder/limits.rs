//! The limits on a decoder's memory and work.

/// Limits on a decoder's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// An identifier is accepted if its distance from the lowest undecoded symbol is less than this number. Unit:
    /// identifiers.
    pub ahead: usize,
    /// The largest number of symbols before the lowest undecoded symbol that are held. Unit: identifiers. These symbols
    /// are held because later repairs may have them as members. [`Decoder::keep_from`](super::Decoder::keep_from) frees
    /// them earlier. The limit is loose: memory is freed when the limit is exceeded by a quarter. If freeing waits for
    /// a later step, rows are discarded when it is exceeded by a half.
    pub history: usize,
    /// The largest number of bytes that the waiting rows may take: their coefficients and their transforms. (A
    /// transform records which arrived payloads a row combines.) Spare capacity is not counted here, but in
    /// [`Decoder::bytes`](super::Decoder::bytes).
    ///
    /// The memory of rows that share unknown symbols, directly or through other rows, grows with the square of the
    /// number of these rows. The memory of other rows grows in proportion to their number. The limit also bounds the
    /// work of one arrival.
    pub matrix: usize,
    /// The largest number of members in a repair's tail ([`Members::tail`](crate::window::Members::tail)) that may be unseen. Unit: symbols. A
    /// repair with more unseen members would wait for about as many other repairs. The work of each arrival grows
    /// with the square of the number of missing symbols.
    pub unseen: usize,
    /// The largest number of members of a repair. Unit: symbols. To decode a symbol, the payloads of all known
    /// members are combined, so this limit bounds the work for one decoded symbol.
    pub members: usize,
    /// The largest number of waiting rows that share unknown symbols, directly or through other rows. Unit: rows. A
    /// repair that would join more rows is refused, unless the joined rows have at most 1.25 times this number of unknown
    /// symbols: such rows lack few repairs, and would wait for ever if these were refused. The work to decode n such rows
    /// grows with the square of n.
    pub rows: usize,
    /// The largest work of one step, in the unit of [`work_bytes`](super::DecoderCounters::work_bytes). If a call would
    /// take more, it leaves the rest for later steps, which [`Decoder::resume`](super::Decoder::resume) does: rows that
    /// become decodable at the same time, known symbols that are subtracted from the stored repairs to be freed, and
    /// rows that are lost when the window moves. A step exceeds the limit by at most one elimination, one row, or one
    /// block of repairs. If stored repairs would have to be replaced by more work than the limit, rows are discarded
    /// instead.
    pub step: usize,
}

impl Default for Limits {
    /// 16 384 identifiers ahead, a history of 16 384 identifiers, a matrix of 64 MB, and any number of members,
    /// unseen members and rows.
    fn default() -> Limits {
        Limits {
            ahead: 16_384,
            history: 16_384,
            matrix: 64_000_000,
            unseen: usize::MAX,
            members: usize::MAX,
            rows: usize::MAX,
            step: usize::MAX,
        }
    }
}
