//! The data that a symbol carries: all bytes, or only the part that a simulation needs.

mod matrix;
mod sketch;
mod symbol;

pub use matrix::Matrix;
pub use sketch::{Length, Sketch};
pub use symbol::Symbol;

/// How many payloads ahead of a drop [`Payload::prefetch`] is called. With half the value, the memory may come too late.
/// Double the value may push it out of the cache again before it is used.
pub(crate) const AHEAD: usize = 8;

/// What source and repair symbols carry.
///
/// A coder first computes the coefficients of all combinations that it needs. Then it asks for all
/// of these combinations in one call, so that an implementation can compute them together.
pub trait Payload: Clone {
    /// Whether a payload has bytes, and not only a length. A *row* is what a decoder makes of a
    /// repair that it cannot decode yet. The decoder normally records for each row which payloads
    /// the row combines (its *transform*). If payloads have no content, the decoder does not need
    /// these records. They take most of the decoder's time and memory when there are many rows.
    ///
    /// Without content, a decoder does not know the length of a symbol that it decodes. It uses the
    /// length of the longest repair that arrived for the symbol's component (the group of rows that
    /// share unknown symbols).
    const CONTENT: bool = true;

    /// Linear combinations over GF(256), one for each row of `coefficients`. Output m is the sum of
    /// `coefficients[m][k]` times `sources[k]` for all k. `coefficients` must have one column for
    /// each source.
    ///
    /// Short sources count as padded with zeros. An output is as long as the longest source that
    /// has a nonzero coefficient in this output.
    fn combine(coefficients: &Matrix, sources: &[&Self]) -> Vec<Self>;

    /// Like [`Payload::combine`], but appends the combinations to `outputs`.
    fn combine_into(coefficients: &Matrix, sources: &[&Self], outputs: &mut Vec<Self>) {
        outputs.extend(Self::combine(coefficients, sources));
    }

    /// Like [`Payload::combine`], for sources that are listed one by one. There must be as many
    /// sources as columns of `coefficients`.
    fn combine_listed<'a>(coefficients: &Matrix, sources: impl Iterator<Item = &'a Self> + Clone) -> Vec<Self>
    where
        Self: 'a,
    {
        let mut list: Vec<&Self> = Vec::with_capacity(coefficients.columns());
        list.extend(sources);
        Self::combine(coefficients, &list)
    }

    /// The sum of `first` and all of `rest` over GF(2), their XOR. Short symbols count as padded
    /// with zeros. The sum is as long as the longest symbol. If `rest` is empty, the sum is a clone
    /// of `first`.
    fn sum<'a>(first: &'a Self, rest: impl Iterator<Item = &'a Self> + Clone) -> Self
    where
        Self: 'a,
    {
        let sources: Vec<&Self> = std::iter::once(first).chain(rest).collect();
        let mut ones = Matrix::zero(1, sources.len());
        ones.row_mut(0).fill(1);
        // One row of coefficients makes one combination.
        Self::combine(&ones, &sources).pop().unwrap_or_else(|| first.clone())
    }

    /// Hints that the payload will be dropped soon. Many payloads that are dropped one after the other are dropped
    /// faster if each gets this hint several payloads ahead.
    #[inline]
    fn prefetch(&self) {}

    /// The length on the wire, in bytes.
    fn len(&self) -> usize;

    /// Whether the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The lengths of the combinations. Each combination is as long as its longest source with a
/// nonzero coefficient.
fn lengths<'a, P>(
    coefficients: &'a Matrix,
    sources: &'a [&P],
    len: impl Fn(&P) -> usize + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let taken = move |row: &[u8]| {
        let taken = row.iter().zip(sources).map(|(c, source)| if *c != 0 { len(source) } else { 0 });
        taken.fold(0, usize::max)
    };
    (0..coefficients.rows()).map(move |m| taken(coefficients.row(m)))
}
