//! The planner's closed forms. They predict what each scheme achieves on a path before the path is
//! used.
//!
//! * [`path`]: the path. [`loss_pattern`]: the pattern of its losses. [`validity`]: the paths on
//!   which the closed forms were compared with simulations.
//! * [`scheme`]: the schemes that can be used, and the payload share that their headers leave.
//! * [`plain`]: the bounds of a plain TCP's goodput.
//! * [`efficiency`]: the reduction by other causes, with fitted [`weights`].
//! * [`delay`]: the delays of packets and requests.
//! * [`nc`]: TCP/NC. [`block`]: block codes below TCP.
//! * [`advice`]: the choice of a scheme, and warnings.
//! * [`campaign`]: simulations as data. [`data`]: the committed data.
//!
//! `docs/plan-report.md` lists the errors of the closed forms.

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

/// The measurement of a run begins this many round trips after the run's start, or at
/// [`MEASURED_FROM_SECONDS`] if that is later (docs/researchers/simulator.md, "What is measured").
/// A smaller value includes more of the start of a transfer in the measured share.
pub const MEASURED_FROM_RTTS: f64 = 20.0;
/// The earliest begin of the measurement, s after the run's start. A smaller value includes more of
/// the start of a transfer on paths with a short round-trip time.
pub const MEASURED_FROM_SECONDS: f64 = 2.0;
/// The shortest run, s. The end of a run is the latest of this and the next two limits. Longer runs
/// differ less from their mean, and take more time to simulate.
pub const MEASURED_SECONDS: f64 = 10.0;
/// The shortest run, round trips. See [`MEASURED_SECONDS`].
pub const MEASURED_RTTS: u32 = 60;
/// The shortest run, full packets at the link's rate. The share measured over fewer packets says
/// little about the link.
pub const MEASURED_PACKETS: u32 = 1000;

/// The cause that bounds a scheme's goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Losses: the scheme takes them for congestion.
    Losses,
    /// The link's rate, less headers, repairs and the time in which the link is not full.
    Link,
}

/// The predicted result of a scheme on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemePrediction {
    /// Goodput: payload that arrives in order, of all connections together, bit/s.
    pub goodput_bps: f64,
    /// The goodput as a share of C (1-p).
    pub share: f64,
    /// Bytes sent on the path, headers included, for each byte of payload that arrives.
    pub sent_per_useful: f64,
    /// The cause that bounds the goodput.
    pub bound: Bound,
}

/// Predicts the result of `scheme` on `path`.
///
/// # Errors
/// A quantity of the path is outside its domain.
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
