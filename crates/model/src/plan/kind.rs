//! Kinds of paths by their losses: closed forms are as good as the chances that they average over are tame.

use super::path::Path;

/// What kind of losses a path has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
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
    pub const ALL: [Kind; 4] = [Kind::Clean, Kind::Apart, Kind::Runs, Kind::LongRuns];

    /// That of a path.
    pub fn of(path: &Path) -> Kind {
        match path.burst {
            _ if path.loss == 0.0 => Kind::Clean,
            burst if burst <= 2.0 => Kind::Apart,
            burst if burst <= 6.0 => Kind::Runs,
            _ => Kind::LongRuns,
        }
    }

    /// Its name, as data has it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Clean => "clean",
            Kind::Apart => "apart",
            Kind::Runs => "runs",
            Kind::LongRuns => "long-runs",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Clean => "no loss",
            Kind::Apart => "losses in runs of up to 2",
            Kind::Runs => "losses in runs of 2 to 6",
            Kind::LongRuns => "losses in longer runs",
        }
    }
}
