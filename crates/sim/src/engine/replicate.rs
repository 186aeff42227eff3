//! Runs a simulation many times, independently, on several CPU cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls `run` with 0, 1, ..., `runs` - 1 on at most `threads` threads. Returns the results in this order.
///
/// The result does not depend on the number of threads, as long as `run` depends only on its argument.
pub fn replicate<T: Send>(runs: u64, threads: usize, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::with_capacity(runs as usize)));
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= runs {
                return;
            }
            let answer = run(k);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((k, answer));
        }
    };
    if threads <= 1 || runs <= 1 {
        work();
    } else {
        #[expect(clippy::disallowed_methods, reason = "the runs are independent; each is a function of its seed")]
        std::thread::scope(|scope| {
            (0..threads.min(runs as usize)).for_each(|_| drop(scope.spawn(work)));
        });
    }
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(k, _)| *k);
    done.into_iter().map(|(_, answer)| answer).collect()
}
