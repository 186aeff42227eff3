//! The planner: what a link will bring before it is used, by closed forms.
//!
//! * [`path`]: the link.
//! * [`scheme`]: the ways to use it, and what their headers leave.
//! * [`efficiency`]: what else they lose, as causes with fitted weights; [`weights`] are data, in [`data`].
//! * [`plain`]: plain TCP by what bounds it.
//! * [`loss_pattern`]: kinds of paths, by how good a closed form can be on them.
//! * [`nc`]: TCP/NC. [`block`]: block codes below TCP.
//! * [`advice`]: which scheme to use.
//! * [`delay`]: how long packets and requests take.
//!
//! `docs/plan-report.md` says how good they are, beside the simulator.

pub mod advice;
pub mod block;
pub mod campaign;
pub mod data;
pub mod delay;
pub mod efficiency;
pub mod loss_pattern;
pub mod nc;
pub mod path;
pub mod plain;
pub mod scheme;
pub mod weights;

pub use loss_pattern::LossPattern;
pub use path::{NetworkPath, PATH_MTU};
pub use scheme::PlanScheme;
pub use weights::{SchemeWeights, Weights};

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
}

/// What a scheme is to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemePrediction {
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
pub fn predict(
    path: &NetworkPath,
    scheme: PlanScheme,
    weights: &Weights,
) -> Result<SchemePrediction, DomainError> {
    path.check()?;
    let (fitted, causes) = (weights.of(scheme), efficiency::Causes::of(path));
    let [by_losses, by_link] = plain::bounds(scheme, path);
    let goodput_bps = by_losses.min(by_link) * efficiency::efficiency(&fitted.efficiency, &causes);
    let waste = 1.0 / efficiency::efficiency(&fitted.overhead, &causes);
    Ok(SchemePrediction {
        goodput_bps,
        share: goodput_bps / path.capacity(),
        sent_per_useful: waste / (scheme.ceiling() * (1.0 - path.loss)),
        bound: if by_losses < by_link { Bound::Losses } else { Bound::Link },
    })
}
