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
fn lengths<P>(coefficients: &Matrix, sources: &[&P], len: impl Fn(&P) -> usize) -> Vec<usize> {
    let taken = |row: &[u8]| {
        let taken = row.iter().zip(sources).filter(|(c, _)| **c != 0);
        taken.map(|(_, source)| len(source)).max().unwrap_or(0)
    };
    (0..coefficients.rows()).map(|m| taken(coefficients.row(m))).collect()
}
