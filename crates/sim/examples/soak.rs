//! Runs random hostile sessions on all cores. `make soak` runs this program.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example soak -- RUNS [FIRST_SEED] [tunnel|lt]
//! ```
//!
//! The program runs a session of the tunnel and a session of TCP/LT for each seed. The last word selects one kind. The
//! program prints the seed of each faulty session as soon as the session has ended, with the command that shows this
//! session in detail, and a summary at the end. The exit status is 1 if a session had a fault, or if the sessions
//! together had a problem. An example of a problem is too many packets lost in calm sessions.

#[path = "../tests/it/hostile/harness/mod.rs"]
#[allow(dead_code, reason = "this program does not look into sessions")]
mod harness;

use harness::judge::HostileSession;
use harness::lt::judge::LtHostile;
use harness::lt::tally::LtTally;
use harness::tally::Tally;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A kind of session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A tunnel between two endpoints.
    Tunnel,
    /// TCP/LT.
    Lt,
}

impl Kind {
    const BOTH: [Kind; 2] = [Kind::Tunnel, Kind::Lt];

    /// The word that selects the kind, and the example that shows a session of this kind.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Tunnel => ("tunnel", "hostile"),
            Kind::Lt => ("lt", "hostile-lt"),
        }
    }
}

/// The sums of both kinds.
#[derive(Debug, Default)]
struct Tallies {
    tunnel: Tally,
    lt: LtTally,
}

impl Tallies {
    /// Sessions, and sessions with a fault.
    fn counts(&self) -> (u64, usize) {
        (self.tunnel.sessions + self.lt.sessions, self.tunnel.faulty() + self.lt.faulty())
    }
}

fn main() -> ExitCode {
    let Some((runs, first, kinds)) = arguments() else {
        eprintln!("usage: soak RUNS [FIRST_SEED] [tunnel|lt], RUNS and FIRST_SEED are whole numbers");
        return ExitCode::from(2);
    };
    let sessions = runs * kinds.len() as u64;
    let (next, tallies) = (AtomicU64::new(0), Mutex::new(Tallies::default()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= sessions {
                return;
            }
            let kind = kinds[(index % kinds.len() as u64) as usize];
            run(kind, first.wrapping_add(index / kinds.len() as u64), sessions, &tallies);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    #[expect(clippy::disallowed_methods, reason = "the sessions are independent; each is a function of its seed")]
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));

    let Tallies { tunnel, lt } = tallies.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut problems = Vec::new();
    for kind in kinds {
        match kind {
            Kind::Tunnel => println!("{tunnel}"),
            Kind::Lt => println!("{lt}"),
        }
        problems.extend(match kind {
            Kind::Tunnel => tunnel.problems(),
            Kind::Lt => lt.problems(),
        });
    }
    problems.iter().for_each(|problem| println!("FAULT {problem}"));
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a session and adds it to the sums. Prints its faults, and how to replay it.
fn run(kind: Kind, seed: u64, sessions: u64, tallies: &Mutex<Tallies>) {
    let lock = || tallies.lock().unwrap_or_else(PoisonError::into_inner);
    let (faults, tallies) = match kind {
        Kind::Tunnel => {
            let session = HostileSession::run(seed);
            let mut tallies = lock();
            tallies.tunnel.add(&session);
            (session.outcome.faults, tallies)
        }
        Kind::Lt => {
            let session = LtHostile::run(seed);
            let mut tallies = lock();
            tallies.lt.add(&session);
            (session.outcome.faults, tallies)
        }
    };
    if !faults.is_empty() {
        let (word, example) = kind.words();
        println!("{word} seed {seed}: {}", faults.join("; "));
        println!("  replay: cargo run --release --locked -p ripstop-sim --example {example} -- {seed}");
    }
    progress(tallies.counts(), sessions);
}

/// RUNS (100 by default), FIRST_SEED (0 by default) and the kinds (both by default). None if an argument is none of
/// these.
fn arguments() -> Option<(u64, u64, Vec<Kind>)> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let named = |word: &String| Kind::BOTH.into_iter().find(|kind| kind.words().0 == word);
    let kinds = match words.last().and_then(named) {
        Some(kind) => {
            words.pop();
            vec![kind]
        }
        None => Kind::BOTH.to_vec(),
    };
    let mut numbers = words.iter().map(|word| word.parse().ok());
    let (runs, first) = (numbers.next().unwrap_or(Some(100))?, numbers.next().unwrap_or(Some(0))?);
    numbers.next().is_none().then_some((runs, first, kinds))
}

/// Prints progress on standard error: one line that is redrawn on a terminal, otherwise one line
/// for each tenth of the sessions.
fn progress((done, faulty): (u64, usize), sessions: u64) {
    let mut err = std::io::stderr();
    let words = format!("{done} of {sessions} sessions, {faulty} with a fault");
    // If the progress line cannot be written, the sessions still count.
    let _ = if err.is_terminal() {
        let end = if done == sessions { "\n" } else { "" };
        write!(err, "\r{words}{end}").and_then(|()| err.flush())
    } else if done.is_multiple_of((sessions / 10).max(1)) {
        writeln!(err, "{words}")
    } else {
        Ok(())
    };
}
