//! How good the closed forms are, by the committed report.

use crate::failure::{Failure, Outcome};
use ripstop_model::plan::{Kind, Path};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
pub(super) struct Errors(BTreeMap<String, BTreeMap<String, Miss>>);

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

    /// What is known of `what`, such as the name of a scheme, on such paths.
    pub(super) fn of(&self, what: &str, path: &Path) -> Option<Miss> {
        self.0.get(what)?.get(Kind::of(path).name()).copied()
    }

    /// Notes what is known.
    pub(super) fn set(&mut self, what: &str, kind: Kind, miss: Miss) {
        self.0.entry(what.to_owned()).or_default().insert(kind.name().to_owned(), miss);
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
    use ripstop_model::plan::Scheme;

    #[test]
    fn the_committed_errors_can_be_read() {
        let errors = Errors::committed().unwrap();
        for scheme in Scheme::FITTED {
            assert!(errors.of(scheme.name(), &Path::default()).is_some(), "{}", scheme.name());
        }
    }
}
