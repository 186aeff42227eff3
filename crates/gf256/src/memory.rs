//! Memory for symbols: whole aligned chunks, so that kernels need neither masks nor tails.

use std::mem::MaybeUninit;
use std::sync::Arc;

/// The size and alignment of a [`Chunk`] in bytes: a cache line, and one AVX-512 register.
pub const CHUNK: usize = 64;

/// 64 bytes aligned to 64. A symbol lies in a whole number of them, padded with zeros: padding is
/// coded along (zeros stay zeros), which costs far less than ragged ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Chunk(pub [u8; CHUNK]);

impl Chunk {
    /// A chunk of zeros.
    pub const ZERO: Chunk = Chunk([0; CHUNK]);
}

/// How many chunks hold `len` bytes.
pub const fn chunks_for(len: usize) -> usize {
    len.div_ceil(CHUNK)
}

/// The bytes of some chunks.
#[allow(unsafe_code, reason = "a view of plain bytes; no safe cast exists for a newtype slice")]
pub const fn bytes(chunks: &[Chunk]) -> &[u8] {
    // SAFETY: a Chunk is exactly CHUNK bytes without padding, and a byte has no alignment.
    unsafe { std::slice::from_raw_parts(chunks.as_ptr().cast(), chunks.len() * CHUNK) }
}

/// The bytes of some chunks, to write.
#[allow(unsafe_code, reason = "a view of plain bytes; no safe cast exists for a newtype slice")]
pub const fn bytes_mut(chunks: &mut [Chunk]) -> &mut [u8] {
    // SAFETY: as in `bytes`; every byte pattern is a valid Chunk, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(chunks.as_mut_ptr().cast(), chunks.len() * CHUNK) }
}

/// The parts laid end to end in fresh chunks, padded with zeros: one allocation, one copy.
#[allow(unsafe_code, reason = "fills memory that is not initialised yet, to touch it only once")]
pub fn copied(parts: &[&[u8]]) -> Arc<[Chunk]> {
    let len = parts.iter().map(|part| part.len()).sum();
    let mut fresh = Fresh::new(chunks_for(len));
    let mut at = fresh.start();
    // SAFETY: the lengths of the parts sum up to `len`, and the padding completes the last chunk, so
    // that all is written. Fresh memory overlaps nothing.
    unsafe {
        for part in parts {
            at.copy_from_nonoverlapping(part.as_ptr(), part.len());
            at = at.add(part.len());
        }
        at.write_bytes(0, chunks_for(len) * CHUNK - len);
        fresh.assume_written()
    }
}

/// Chunks that are allocated but not written yet.
pub(crate) struct Fresh(Arc<[MaybeUninit<Chunk>]>);

impl Fresh {
    pub(crate) fn new(chunks: usize) -> Fresh {
        Fresh(Arc::new_uninit_slice(chunks))
    }

    /// Where to write.
    pub(crate) fn start(&mut self) -> *mut u8 {
        // Nobody else has seen the Arc, so it is unique.
        Arc::get_mut(&mut self.0).map_or(std::ptr::null_mut(), |chunks| chunks.as_mut_ptr().cast())
    }

    /// The memory, shared.
    ///
    /// # Safety
    /// Every byte has been written.
    #[allow(unsafe_code, reason = "assumes initialised what the caller promises to have initialised")]
    pub(crate) unsafe fn assume_written(self) -> Arc<[Chunk]> {
        // SAFETY: the caller's promise; any bytes are a Chunk.
        unsafe { self.0.assume_init() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_aligned_and_padded() {
        for len in 0..200 {
            let whole: Vec<u8> = (0..len).map(|i| i as u8 | 1).collect();
            let (head, body) = whole.split_at(len / 3);
            let chunks = copied(&[head, &[], body]);
            assert_eq!(chunks.len(), len.div_ceil(64));
            assert_eq!(chunks.as_ptr() as usize % CHUNK, 0);
            assert_eq!(bytes(&chunks)[..len], whole);
            assert!(bytes(&chunks)[len..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn bytes_and_chunks_are_the_same_memory() {
        let mut chunks = [Chunk::ZERO; 2];
        bytes_mut(&mut chunks)[65] = 7;
        assert_eq!(chunks[1].0[1], 7);
        assert_eq!(bytes(&chunks).len(), 128);
    }
}
