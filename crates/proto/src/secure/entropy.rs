//! The source of randomness, which the caller passes in.

use ripstop_base::Stream;

/// A source of random bytes. On a real network, the source must be the operating system's random
/// generator. In the simulator, the source is a seeded [`Stream`], which gives the same keys and
/// receiver indices in each run.
pub trait Entropy {
    /// Fills `bytes` with random bytes.
    fn fill(&mut self, bytes: &mut [u8]);
}

impl Entropy for Stream {
    fn fill(&mut self, bytes: &mut [u8]) {
        Stream::fill(self, bytes);
    }
}

/// `N` random bytes.
pub(crate) fn array<const N: usize>(entropy: &mut dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

/// A number from the uniform distribution on [0, 1).
pub(crate) fn unit(entropy: &mut dyn Entropy) -> f64 {
    f64::from(u32::from_be_bytes(array(entropy))) / 4_294_967_296.0
}
