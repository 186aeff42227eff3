//! The faults of many sessions, and the impairments that were configured and have happened. The order in which sessions
//! are added makes no difference.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An impairment that is configured on at least this number of links or ends must have happened at least one time. Half
/// the value fails more often by chance; double the value misses a dead impairment in more runs.
pub(crate) const ENOUGH: u64 = 20;

/// The faults and impairments of many sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// The faults, by the seeds of their sessions.
    faults: BTreeMap<u64, Vec<String>>,
    /// For each impairment, the number of links or ends on which it was configured, and the number on which it
    /// happened.
    impairments: BTreeMap<&'static str, (u64, u64)>,
}

impl Findings {
    /// Adds the faults of the session of `seed`, and the configured impairments with whether each happened.
    pub(crate) fn add(&mut self, seed: u64, faults: &[String], impairments: &[(&'static str, bool)]) {
        if !faults.is_empty() {
            self.faults.insert(seed, faults.to_vec());
        }
        for (name, fired) in impairments {
            let (configured, did) = self.impairments.entry(name).or_default();
            *configured += 1;
            *did += u64::from(*fired);
        }
    }

    /// The number of sessions with a fault.
    pub(crate) fn faulty(&self) -> usize {
        self.faults.len()
    }

    /// On how many links or ends the impairment `name` happened.
    pub(crate) fn happened(&self, name: &str) -> u64 {
        self.impairments.get(name).map_or(0, |(_, fired)| *fired)
    }

    /// The faults in words, with their seeds.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.faults.iter().map(|(seed, faults)| format!("seed {seed}: {}", faults.join("; "))).collect()
    }

    /// The impairments that were configured at least `enough` times and never happened, in words.
    pub(crate) fn unfired(&self, enough: u64) -> Vec<String> {
        let unfired = self.impairments.iter().filter(|(_, (configured, fired))| *fired == 0 && *configured >= enough);
        unfired
            .map(|(name, (configured, _))| format!("`{name}` was configured {configured} times and never happened"))
            .collect()
    }
}

/// The impairments, each with the number of times that it happened and was configured.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let impairments =
            self.impairments.iter().map(|(name, (configured, fired))| format!("{name} {fired} of {configured}"));
        write!(f, "happened: {}", impairments.collect::<Vec<_>>().join(", "))
    }
}

/// Runs a session.
///
/// # Errors
/// The session panicked: the message, as a fault.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let words = |panic: Box<dyn Any + Send>| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        format!("panicked: {words}")
    };
    catch_unwind(AssertUnwindSafe(run)).map_err(words)
}
