//! Memory for symbols. A [`Slot`] holds one symbol. It consists of whole aligned chunks, so that
//! kernels need no code for partial vectors. The memory of dropped slots is reused.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The size and alignment of a [`Chunk`] in bytes: a cache line, and one AVX-512 register.
pub const CHUNK: usize = 64;

/// 64 bytes, aligned to 64. A symbol occupies a whole number of chunks and is padded with zeros.
/// Kernels process the padding like data, and the padding stays zero. Processing the padding takes
/// far less time than separate code for the last partial vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Chunk(pub [u8; CHUNK]);

impl Chunk {
    /// A chunk of zeros.
    pub const ZERO: Chunk = Chunk([0; CHUNK]);
}

/// The number of chunks that hold `len` bytes.
pub const fn chunks_for(len: usize) -> usize {
    len.div_ceil(CHUNK)
}

/// Hints that the cache line at `address` will be used soon: in the first-level cache, or `later` in the second-level
/// cache. The address need not be valid.
#[inline(always)]
#[allow(unsafe_code, reason = "a hint to the processor, which ignores invalid addresses")]
fn prefetch(address: *const u8, later: bool) {
    // SAFETY: a prefetch reads nothing that the program sees, and causes no fault.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if later { _mm_prefetch::<_MM_HINT_T1>(address.cast()) } else { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, later);
}

/// The bytes of `chunks`.
#[allow(unsafe_code, reason = "a view of plain bytes; no safe cast exists for a newtype slice")]
pub const fn bytes(chunks: &[Chunk]) -> &[u8] {
    // SAFETY: a Chunk is exactly CHUNK bytes without padding, and a byte has no alignment.
    unsafe { std::slice::from_raw_parts(chunks.as_ptr().cast(), chunks.len() * CHUNK) }
}

/// The bytes of `chunks`, writable.
#[allow(unsafe_code, reason = "a view of plain bytes; no safe cast exists for a newtype slice")]
pub const fn bytes_mut(chunks: &mut [Chunk]) -> &mut [u8] {
    // SAFETY: as in `bytes`; every byte pattern is a valid Chunk, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(chunks.as_mut_ptr().cast(), chunks.len() * CHUNK) }
}

/// Memory of whole chunks for one symbol, shared by the slot's clones.
///
/// The thread that drops the last clone puts the memory into its own pool. The thread reuses the
/// memory for its next slot of about this size. Without the pool, allocating aligned memory would
/// take as long as a kernel takes to fill it. A pool keeps at most 4 MB, and no slot above 4 kB.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// At least `chunks` chunks. None in a default slot, and while the slot is being dropped.
    memory: Option<Memory>,
    /// The number of chunks of the slot. All of them have been written.
    chunks: usize,
}

type Memory = Arc<[MaybeUninit<Chunk>]>;

impl Slot {
    /// A slot of `chunks` chunks of zeros.
    pub fn zeroed(chunks: usize) -> Slot {
        let mut fresh = Fresh::new(chunks);
        // SAFETY: all bytes of the slot's memory are written.
        #[allow(unsafe_code, reason = "fills memory that is not initialised yet, to touch it only once")]
        unsafe {
            fresh.start().write_bytes(0, chunks * CHUNK);
            fresh.assume_written()
        }
    }

    /// A slot with the bytes of all `parts`, one part after the other, padded with zeros. Copies
    /// each byte once.
    #[allow(unsafe_code, reason = "fills memory that is not initialised yet, to touch it only once")]
    pub fn copied(parts: &[&[u8]]) -> Slot {
        let len = parts.iter().map(|part| part.len()).sum();
        let mut fresh = Fresh::new(chunks_for(len));
        let mut at = fresh.start();
        // SAFETY: the lengths of the parts sum up to `len`, and the padding completes the last
        // chunk, so all bytes are written. New memory overlaps none of the parts.
        unsafe {
            for part in parts {
                at.copy_from_nonoverlapping(part.as_ptr(), part.len());
                at = at.add(part.len());
            }
            at.write_bytes(0, chunks_for(len) * CHUNK - len);
            fresh.assume_written()
        }
    }

    /// Hints that the slot will be dropped soon. Loads the counter of its clones into the cache. Most slots that are
    /// dropped in a row were last used so long ago that they have left the cache.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(memory) = &self.memory {
            // The counters lie in front of the chunks, and the chunks begin at a cache line.
            prefetch(Arc::as_ptr(memory).cast::<u8>().wrapping_sub(CHUNK), false);
        }
    }

    /// The bytes of the slot: a whole number of chunks.
    #[inline]
    #[allow(unsafe_code, reason = "a view of memory whose first chunks were written")]
    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: a slot's memory has at least `chunks` chunks, which have been written.
            Some(memory) => unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), self.chunks * CHUNK) },
            None => &[],
        }
    }

    /// The bytes of the slot, writable. None while another clone shares the memory.
    #[allow(unsafe_code, reason = "a view of memory whose first chunks were written")]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        let Some(memory) = &mut self.memory else { return Some(&mut []) };
        let memory = Arc::get_mut(memory)?;
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        Some(unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), self.chunks * CHUNK) })
    }
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            // This is the last clone, so the memory can be reused. If two threads drop the last two
            // clones at the same time, no thread sees a count of 1, and the memory is freed.
            if Arc::strong_count(&memory) == 1 {
                give_back(memory);
            }
        }
    }
}

/// A slot that has not been written yet.
pub(crate) struct Fresh {
    memory: Memory,
    chunks: usize,
}

impl Fresh {
    /// A slot of `chunks` chunks, from the pool or newly allocated.
    #[inline]
    pub(crate) fn new(chunks: usize) -> Fresh {
        Fresh { memory: take(chunks), chunks }
    }

    /// The address to write to.
    #[inline]
    pub(crate) fn start(&mut self) -> *mut u8 {
        // Nobody else holds the memory, so writing to it is allowed. `as_ptr` makes no shared
        // reference, which would forbid writing. `Arc::get_mut` would lock the counters each time.
        debug_assert!(Arc::get_mut(&mut self.memory).is_some());
        Arc::as_ptr(&self.memory).cast_mut().cast()
    }

    /// The finished slot.
    ///
    /// # Safety
    /// Every byte of its chunks has been written.
    #[inline]
    #[allow(unsafe_code, reason = "the caller vouches for what cannot be checked")]
    pub(crate) unsafe fn assume_written(self) -> Slot {
        Slot { memory: Some(self.memory), chunks: self.chunks }
    }
}

/// The largest pooled size. Unit: chunks. 64 chunks (4 kB) hold a packet of any common MTU except
/// jumbo frames. Larger slots are allocated each time. Half the value still holds packets of 1500
/// bytes. Double the value (8 kB) is still too small for jumbo frames of 9000 bytes.
const LARGEST: usize = 64;
/// The number of different sizes that are pooled: 1, 2, 3 and 4 chunks, then the multiples of 4
/// chunks.
const SIZES: usize = 4 + (LARGEST - 4) / 4;
/// The largest number of chunks that a pool keeps: four megabytes. One report of a receiver may
/// free all symbols that a flow sent since the previous report. If reports come every 20 ms, four
/// megabytes are enough for 1.6 Gbit/s. Half the value is enough for .8 Gbit/s; faster flows then
/// allocate memory again. Double the value doubles the memory that an idle thread may hold.
const KEPT: usize = (4 << 20) / CHUNK;

/// How many slots before its use a slot's memory is brought into the second-level cache. With a value of 1, memory that
/// comes from the main memory comes late: `ripstop speed` sends at .255 of the AEAD's speed instead of .260. Double the
/// value brings memory that may leave the cache again.
const SLOTS_AHEAD: usize = 3;

/// Memory for reuse. Each thread has one pool.
struct Pool {
    /// The pooled memory of each size. [`place`] gives the index of a size.
    sizes: [Vec<Memory>; SIZES],
    /// The total number of chunks that the pool keeps.
    chunks: usize,
}

thread_local! {
    static POOL: RefCell<Pool> =
        const { RefCell::new(Pool { sizes: [const { Vec::new() }; SIZES], chunks: 0 }) };
}

impl Pool {
    /// Removes memory of `size` chunks from the pool and returns it. None if the pool has no memory
    /// of this size.
    fn take(&mut self, size: usize) -> Option<Memory> {
        let sizes = &mut self.sizes[place(size)?];
        let memory = sizes.pop()?;
        self.chunks -= size;
        // The next slots of this size will be written soon. Their memory has left the cache, if the slots were held for
        // long. Until then, the cache lines come while the processor does other work.
        if let Some(next) = sizes.len().checked_sub(SLOTS_AHEAD).and_then(|at| sizes.get(at)) {
            let start = Arc::as_ptr(next).cast::<u8>();
            (0..size).for_each(|chunk| prefetch(start.wrapping_add(chunk * CHUNK), true));
        }
        Some(memory)
    }

    /// Keeps `memory` for reuse if the pool has room; otherwise frees it.
    fn give_back(&mut self, memory: Memory) {
        let size = memory.len();
        if let Some(place) = place(size)
            && self.chunks + size <= KEPT
        {
            self.chunks += size;
            self.sizes[place].push(memory);
        }
    }
}

/// Memory for at least `chunks` chunks. The memory may contain anything.
#[inline]
fn take(chunks: usize) -> Memory {
    let size = rounded(chunks);
    let pooled = POOL.try_with(|pool| pool.try_borrow_mut().ok()?.take(size));
    pooled.ok().flatten().unwrap_or_else(|| Arc::new_uninit_slice(size))
}

/// Returns `memory`, which nobody else holds, to the pool.
#[inline]
fn give_back(memory: Memory) {
    // A thread that is ending has no pool. In such a thread, the memory is freed.
    let _ = POOL.try_with(|pool| {
        if let Ok(mut pool) = pool.try_borrow_mut() {
            pool.give_back(memory);
        }
    });
}

/// The number of chunks that are allocated for a slot of `chunks` chunks: the next pooled size. The
/// size of slots larger than [`LARGEST`] is not rounded.
const fn rounded(chunks: usize) -> usize {
    if chunks <= 4 || chunks > LARGEST { chunks } else { chunks.next_multiple_of(4) }
}

/// The index of the rounded size `size` in [`Pool::sizes`]. None if this size is not pooled.
const fn place(size: usize) -> Option<usize> {
    match size {
        1..=4 => Some(size - 1),
        5..=LARGEST => Some(size / 4 + 2),
        _ => None,
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
            let slot = Slot::copied(&[head, &[], body]);
            assert_eq!(slot.bytes().len(), len.next_multiple_of(64));
            assert_eq!(slot.bytes().as_ptr() as usize % CHUNK, 0);
            assert_eq!(slot.bytes()[..len], whole);
            assert!(slot.bytes()[len..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn bytes_and_chunks_are_the_same_memory() {
        let mut chunks = [Chunk::ZERO; 2];
        bytes_mut(&mut chunks)[65] = 7;
        assert_eq!(chunks[1].0[1], 7);
        assert_eq!(bytes(&chunks).len(), 128);
    }

    #[test]
    fn memory_is_used_again_by_whoever_comes_next() {
        let mut slot = Slot::copied(&[&[7; 300]]);
        let at = slot.bytes().as_ptr();
        let clone = slot.clone();
        assert_eq!(slot.bytes_mut(), None, "a shared slot must not be writable");
        drop(slot);
        assert_eq!(clone.bytes()[..300], [7; 300]);
        let other = Slot::zeroed(7);
        assert_ne!(other.bytes().as_ptr(), at, "memory in use was given out again");
        drop(clone);
        // A slot of 300 bytes has 5 chunks, and 8 chunks are allocated for it, as for a slot of 7
        // chunks.
        let mut next = Slot::zeroed(7);
        assert_eq!(next.bytes().as_ptr(), at);
        assert_eq!(next.bytes_mut().unwrap(), [0; 7 * 64], "the reused memory was not cleared");
    }

    #[test]
    fn pools_are_bounded() {
        for chunks in [1, 24, 65] {
            let many: Vec<Slot> = (0..2 * KEPT / 24).map(|_| Slot::zeroed(chunks)).collect();
            drop(many);
        }
        let (kept, counted) = POOL.with_borrow(|pool| {
            let all = pool.sizes.iter().flatten();
            (all.map(|memory| memory.len()).sum::<usize>(), pool.chunks)
        });
        assert_eq!(kept, counted);
        assert!(kept <= KEPT && kept > KEPT - 24, "the pool keeps {kept} chunks");
    }

    #[test]
    fn every_size_has_its_place() {
        let mut places: Vec<usize> = (1..=LARGEST).filter_map(|chunks| place(rounded(chunks))).collect();
        assert_eq!(places.len(), LARGEST);
        places.dedup();
        assert_eq!(places, (0..SIZES).collect::<Vec<_>>());
        assert_eq!((place(rounded(0)), place(rounded(LARGEST + 1))), (None, None));
        assert_eq!(Slot::zeroed(0).bytes(), Slot::default().bytes());
        assert_eq!(Slot::zeroed(100).bytes().len(), 6400);
    }
}
