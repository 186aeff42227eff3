//! Runs random hostile sessions on all cores. `make soak` runs this program.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example soak -- RUNS [FIRST_SEED]
//! ```
//!
//! The program prints the seed of each faulty session as soon as the session has ended, and a summary at the end. The
//! exit status is 1 if a session had a fault, or if the sessions together had a problem. An example of a problem is too
//! many packets lost in calm sessions. The example `hostile` shows one session in detail.

#[path = "../tests/hostile/harness/mod.rs"]
#[allow(dead_code, reason = "this program does not look into sessions")]
mod harness;

use harness::judge::HostileSession;
use harness::tally::Tally;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

fn main() -> ExitCode {
    let Some((runs, first)) = arguments() else {
        eprintln!("usage: soak RUNS [FIRST_SEED], whole numbers");
        return ExitCode::from(2);
    };
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= runs {
                return;
            }
            let session = HostileSession::run(first.wrapping_add(index));
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(&session);
            if !session.outcome.faults.is_empty() {
                println!("seed {}: {}", session.seed, session.outcome.faults.join("; "));
            }
            progress(&tally, runs);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    #[expect(clippy::disallowed_methods, reason = "the sessions are independent; each is a function of its seed")]
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));

    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{tally}");
    let problems = tally.problems();
    problems.iter().for_each(|problem| println!("FAULT {problem}"));
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// RUNS (100 by default) and FIRST_SEED (0 by default). None if an argument is no whole number, or if there are too
/// many arguments.
fn arguments() -> Option<(u64, u64)> {
    let mut words = std::env::args().skip(1).map(|word| word.parse().ok());
    let (runs, first) = (words.next().unwrap_or(Some(100))?, words.next().unwrap_or(Some(0))?);
    words.next().is_none().then_some((runs, first))
}

/// Prints progress on standard error: one line that is redrawn on a terminal, otherwise one line
/// for each tenth of the sessions.
fn progress(tally: &Tally, runs: u64) {
    let mut err = std::io::stderr();
    let words = format!("{} of {runs} sessions, {} with a fault", tally.sessions, tally.faulty());
    // If the progress line cannot be written, the sessions still count.
    let _ = if err.is_terminal() {
        let end = if tally.sessions == runs { "\n" } else { "" };
        write!(err, "\r{words}{end}").and_then(|()| err.flush())
    } else if tally.sessions.is_multiple_of((runs / 10).max(1)) {
        writeln!(err, "{words}")
    } else {
        Ok(())
    };
}
