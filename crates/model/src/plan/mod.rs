//! The planner's closed forms: what a path will bring, before anybody uses the path.
//!
//! * [`path`]: the path. [`loss_pattern`]: the pattern of its losses. [`validity`]: the paths on which the forms were compared with simulations.
//! * [`scheme`]: the schemes that can be used, and what their headers leave.
//! * [`plain`]: what bounds a plain TCP.
//! * [`efficiency`]: what a scheme loses for other causes, by fitted [`weights`].
//! * [`delay`]: how long packets and requests take.
//! * [`nc`]: TCP/NC. [`block`]: block codes below TCP.
//! * [`advice`]: which scheme to use, and what to warn of.
//! * [`campaign`]: simulations as data. [`data`]: the committed data.
//!
//! `docs/plan-report.md` has the errors of the forms.

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
pub mod validity;
pub mod weights;

pub use loss_pattern::LossPattern;
pub use path::{NetworkPath, PATH_MTU};
pub use scheme::PlanScheme;
pub use weights::{SchemeWeights, Weights};

use crate::domain::DomainError;

/// Shares are measured from this many round trips after a run's start, or from [`MEASURED_FROM_SECONDS`] if that is later
/// (docs/researchers/simulator.md, "What is measured").
pub const MEASURED_FROM_RTTS: f64 = 20.0;
/// The earliest begin of the measurement, s.
pub const MEASURED_FROM_SECONDS: f64 = 2.0;
/// The shortest run, s.
pub const MEASURED_SECONDS: f64 = 10.0;
/// The shortest run, round trips.
pub const MEASURED_RTTS: u32 = 60;
/// The shortest run, full packets at the link's rate. Of fewer packets a share says little.
pub const MEASURED_PACKETS: u32 = 1000;

/// What bounds a scheme's goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Losses, which the scheme takes for congestion.
    Losses,
    /// The link, less headers, repairs and the time for which the link is not full.
    Link,
}

/// What a scheme is expected to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemePrediction {
    /// Payload that arrives in order, all connections together, bit/s.
    pub goodput_bps: f64,
    /// The goodput as a share of C (1-p).
    pub share: f64,
    /// Bytes sent for each byte of payload that arrives, headers included.
    pub sent_per_useful: f64,
    /// What bounds the goodput.
    pub bound: Bound,
}

/// What `scheme` is expected to bring over `path`.
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
    let overhead = 1.0 / efficiency::efficiency(&fitted.overhead, &causes);
    Ok(SchemePrediction {
        goodput_bps,
        share: goodput_bps / path.capacity(),
        sent_per_useful: overhead / (scheme.ceiling() * (1.0 - path.loss)),
        bound: if by_losses < by_link { Bound::Losses } else { Bound::Link },
    })
}
