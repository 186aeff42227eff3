//! What a symbol carries: bytes, or only as much of them as a simulation needs.

mod matrix;
mod sketch;
mod symbol;

pub use matrix::Matrix;
pub use sketch::{Length, Sketch};
pub use symbol::Symbol;

/// What source and repair symbols carry.
///
/// A coder first computes the coefficients of all combinations that it needs. Then it asks for all
/// of the combinations in one call, so that an implementation can compute them together.
pub trait Payload: Clone {
    /// Whether a payload has content besides its length. Without content, a decoder keeps no
    /// transforms (which record the payloads that a row combines). They are most of its work and
    /// memory when many rows wait.
    ///
    /// Without content, a decoded symbol is as long as the longest repair that waited, or was
    /// decoded, together with it.
    const CONTENT: bool = true;

    /// Linear combinations over GF(256), one for each row of `coefficients`. Output m is the sum
    /// over k of `coefficients[m][k]` times `sources[k]`. `coefficients` must have one column for
    /// each source.
    ///
    /// Shorter sources count as padded with zeros. An output is as long as its longest source with
    /// a nonzero coefficient.
    fn combine(coefficients: &Matrix, sources: &[&Self]) -> Vec<Self>;

    /// Like [`Payload::combine`], but appends the combinations to `outputs`.
    fn combine_into(coefficients: &Matrix, sources: &[&Self], outputs: &mut Vec<Self>) {
        outputs.extend(Self::combine(coefficients, sources));
    }

    /// The length on the wire, in bytes.
    fn len(&self) -> usize;

    /// Whether the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The length of each combination: that of its longest source with a nonzero coefficient.
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
