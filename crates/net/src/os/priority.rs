//! Scheduling priority of threads that must be on time.

use serde::Serialize;

/// How the system schedules a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// An ordinary thread. On a busy machine, such a thread wakes milliseconds late.
    #[default]
    Ordinary,
    /// Runs before all ordinary threads (SCHED_RR at the lowest real-time priority).
    Realtime,
}

/// Raises the calling thread above all ordinary threads and returns the resulting priority. Threads
/// and processes that the thread starts do not inherit the priority. The system requires root or
/// CAP_SYS_NICE in the initial user namespace.
///
/// While such a thread runs, no ordinary thread runs on its processor. So raise only threads that
/// must act on time and sleep most of the time.
pub fn raise_this_thread() -> Priority {
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: `sched_param` is plain data, valid for the call. Thread 0 means the calling thread.
    let result = unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &parameter)
    };
    if result == 0 { Priority::Realtime } else { Priority::Ordinary }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_is_the_kernels() {
        let told = std::thread::spawn(|| {
            let got = raise_this_thread();
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            // proc(5): the scheduling policy is the 41st field, and the 39th field after the name.
            let policy: i32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().parse().unwrap();
            assert_eq!(policy == libc::SCHED_RR, got == Priority::Realtime, "{stat}");
            std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/stat").unwrap()).join().unwrap()
        });
        let child = told.join().unwrap();
        assert_eq!(child.rsplit(')').next().unwrap().split_whitespace().nth(38), Some("0"), "{child}");
    }
}
