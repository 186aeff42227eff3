//! How good the closed forms are, by the committed report.

use crate::failure::{Failure, Outcome};
use ripstop_model::plan::{Path, Scheme};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What kind of losses a path has: closed forms are as good as the chances that they average over are tame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// None.
    Clean,
    /// Packets alone, or two of them.
    Apart,
    /// Runs of up to six.
    Runs,
    /// Longer ones.
    LongRuns,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Kind; 4] = [Kind::Clean, Kind::Apart, Kind::Runs, Kind::LongRuns];

    /// That of a path.
    pub(super) fn of(path: &Path) -> Kind {
        match path.burst {
            _ if path.loss == 0.0 => Kind::Clean,
            burst if burst <= 2.0 => Kind::Apart,
            burst if burst <= 6.0 => Kind::Runs,
            _ => Kind::LongRuns,
        }
    }

    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Clean => "no loss",
            Kind::Apart => "losses in runs of up to 2",
            Kind::Runs => "losses in runs of 2 to 6",
            Kind::LongRuns => "losses in longer runs",
        }
    }
}

/// By how much a prediction misses the simulator's mean, relative to it, over the links of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Miss {
    /// Half of the links are missed by less.
    pub(super) median: f64,
    /// One in twenty is missed by more.
    pub(super) p95: f64,
    /// How many links there were.
    pub(super) links: u64,
}

/// The errors of all schemes, by their names, over the kinds of path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Errors(BTreeMap<String, BTreeMap<Kind, Miss>>);

/// As the report left it.
const COMMITTED: &str = include_str!("errors.toml");

impl Errors {
    /// Those of the committed report.
    ///
    /// # Errors
    /// A file that was damaged before this program was built.
    pub(super) fn committed() -> Outcome<Errors> {
        toml::from_str(COMMITTED).map_err(|error| Failure::work("errors.toml", error))
    }

    /// What is known of `scheme` on such paths.
    pub(super) fn of(&self, scheme: Scheme, path: &Path) -> Option<Miss> {
        self.0.get(scheme.name())?.get(&Kind::of(path)).copied()
    }

    /// Notes what is known.
    pub(super) fn set(&mut self, scheme: Scheme, kind: Kind, miss: Miss) {
        self.0.entry(scheme.name().to_owned()).or_default().insert(kind, miss);
    }

    /// As it is committed.
    ///
    /// # Errors
    /// What TOML cannot say.
    pub(super) fn to_toml(&self) -> Outcome<String> {
        let text = toml::to_string(self).map_err(|error| Failure::work("writing TOML", error))?;
        Ok(format!(
            "# Errors of the planner's closed forms. Written by `make plan-report`; do not edit.\n\n{text}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_errors_can_be_read() {
        let errors = Errors::committed().unwrap();
        for scheme in Scheme::FITTED {
            assert!(errors.of(scheme, &Path::default()).is_some(), "{}", scheme.name());
        }
    }
}
