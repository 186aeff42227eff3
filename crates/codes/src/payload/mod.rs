//! What a symbol carries: bytes, or only what a simulation needs of them.

mod matrix;
mod sketch;
mod symbol;

pub use matrix::Matrix;
pub use sketch::{Length, Sketch};
pub use symbol::Symbol;

/// What source and repair symbols carry.
///
/// A coder works out *which* combinations it needs on coefficients alone and then asks for all of
/// them at once, so that an implementation can fuse them.
pub trait Payload: Clone {
    /// Whether combinations carry anything but a length. Where they do not, a decoder keeps no record of which
    /// combination of payloads a row is, which is most of its work and memory when many rows wait. What it
    /// decodes is then as long as the longest repair that waited, or was decoded, with it.
    const CONTENT: bool = true;

    /// Linear combinations over GF(256): output m is the sum over k of `coefficients[m][k]` times
    /// `sources[k]`, one output for each row. Sources of different lengths count as padded with
    /// zeros; an output is as long as the longest source that it takes with a coefficient that is
    /// not zero.
    ///
    /// `coefficients` has as many columns as there are sources.
    fn combine(coefficients: &Matrix, sources: &[&Self]) -> Vec<Self>;

    /// [`Payload::combine`], with the combinations added to the end of `outputs`.
    fn combine_into(coefficients: &Matrix, sources: &[&Self], outputs: &mut Vec<Self>) {
        outputs.extend(Self::combine(coefficients, sources));
    }

    /// The bytes it takes on the wire.
    fn len(&self) -> usize;

    /// Whether it takes none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The length of each combination: that of the longest source with a nonzero coefficient.
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
