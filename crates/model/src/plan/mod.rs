//! The planner: what a link will bring before it is used, by closed forms.
//!
//! * [`path`]: the link.
//! * [`scheme`]: the ways to use it, and what their headers leave.
//! * [`wear`]: what else they lose, as causes with fitted weights; [`fitted`] has the weights.
//! * [`plain`]: plain TCP by what bounds it.
//! * [`kind`]: kinds of paths, by how good a closed form can be on them.
//! * [`nc`]: TCP/NC. [`block`]: block codes below TCP.
//! * [`advice`]: which scheme to use.
//! * [`delay`]: how long packets and requests take.
//!
//! `docs/plan-report.md` says how good they are, beside the simulator.

pub mod advice;
pub mod block;
pub mod delay;
pub mod fitted;
pub mod kind;
pub mod nc;
pub mod path;
pub mod plain;
pub mod scheme;
pub mod wear;

pub use kind::Kind;
pub use path::{PATH_MTU, Path};
pub use scheme::{NcSettings, Scheme};

use crate::domain::DomainError;

/// A share is measured from so many round trips on, or from two seconds on if that is later.
pub const MEASURED_FROM_RTTS: f64 = 20.0;
/// Those two seconds.
pub const MEASURED_FROM_SECONDS: f64 = 2.0;
/// To the end of a run, which is no shorter than this, s.
pub const MEASURED_SECONDS: f64 = 10.0;
/// Nor than so many round trips.
pub const MEASURED_RTTS: u32 = 60;
/// Nor than so many packets take: of fewer a share says little.
pub const MEASURED_PACKETS: u32 = 1000;

/// What bounds a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Losses, which it takes for congestion.
    Losses,
    /// The link: what it carries, less headers, repairs and the time in which it is not filled.
    Link,
    /// Its window.
    Window,
}

/// What a scheme is to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Payload that arrives in order, all connections together, bit/s.
    pub goodput_bps: f64,
    /// The same as a share of C (1-p).
    pub share: f64,
    /// Bytes sent for each byte that is of use, headers included.
    pub sent_per_useful: f64,
    /// What bounds it.
    pub bound: Bound,
}

/// What `scheme` is to bring over `path`.
///
/// # Errors
/// A quantity of the path outside its domain.
pub fn predict(path: &Path, scheme: Scheme) -> Result<Prediction, DomainError> {
    path.check()?;
    let causes = wear::Causes::of(path);
    let [by_losses, by_link] = plain::bounds(scheme, path);
    let (goodput_bps, bound) = match scheme {
        Scheme::TcpNc(nc) => (nc::goodput(path, nc), Bound::Window),
        _ => {
            let bound = if by_losses < by_link { Bound::Losses } else { Bound::Link };
            (by_losses.min(by_link) * wear::left(fitted::terms(scheme), &causes), bound)
        }
    };
    let share = goodput_bps / path.capacity();
    let waste = 1.0 / wear::left(fitted::waste(scheme), &causes);
    let each = waste / (scheme.ceiling() * (1.0 - path.loss));
    let sent_per_useful = match scheme {
        Scheme::TcpNc(nc) => nc.redundancy / scheme.ceiling(),
        _ => each,
    };
    Ok(Prediction { goodput_bps, share, sent_per_useful, bound })
}
