//! The memory that the allocator of the C library keeps after it was freed.
//!
//! Memory of a session that has ended lies scattered between blocks that are in use. The GNU allocator returns it to the
//! system only at the end of its heap, so the process stays as large as it ever was. Other allocators need no help.

/// The size in bytes from which a block has pages of its own, which go back to the system when it is freed. This is the GNU
/// allocator's value at the start; without this setting, the allocator raises the value to 32 MB after such blocks are
/// freed. Half the value makes more system calls. With double the value, freed tables of up to 256 kB stay.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 * 1024;

/// Gives each large block pages of its own for the rest of the process.
pub fn keep_large_blocks_apart() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: the call only sets a number in the allocator, which takes its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns all free pages to the system. Takes about 1 ms for 10 MB.
pub fn return_free_pages() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: the call works on free memory only, and takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(target_env = "gnu", target_os = "linux"))]
    #[test]
    fn scattered_memory_goes_back_to_the_system() {
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        keep_large_blocks_apart();
        // Every second block stays, so that none of them is at the end of the heap.
        let mut blocks: Vec<Option<Vec<u8>>> = (0..20_000).map(|_| Some(vec![1; 6000])).collect();
        let full = resident();
        for (k, block) in blocks.iter_mut().enumerate().filter(|(k, _)| k % 64 != 0) {
            assert!(block.take().is_some(), "{k}");
        }
        return_free_pages();
        let left = resident();
        assert!(left + 60_000_000 < full, "{full} bytes before, {left} after");
        assert!(blocks.iter().flatten().all(|block| block[0] == 1));
    }
}
