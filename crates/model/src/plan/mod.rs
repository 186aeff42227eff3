//! The planner's closed forms. These formulas predict the goodput and the delays of each scheme on
//! a path before the path is used.
//!
//! A *scheme* is a way to send over a path, for example BBR inside the tunnel. The *ceiling* of a
//! scheme is payload divided by bytes on the wire. C is the link's rate, p its loss probability,
//! and C (1-p) the rate that arrives. A *share* is a goodput divided by C (1-p).
//!
//! A *campaign* simulates the schemes on random links. The weights of the closed forms are fitted
//! to one campaign. The errors of the closed forms are measured on another campaign.
//! `docs/plan-report.md` lists the errors.
//!
//! * [`path`]: the path.
//! * [`loss_pattern`]: the pattern of the path's losses.
//! * [`validity`]: the paths on which the closed forms were compared with simulations.
//! * [`scheme`]: the schemes and their ceilings.
//! * [`plain`]: two bounds of a plain TCP's goodput, by losses and by the link.
//! * [`efficiency`]: the factors by which all other causes reduce the goodput.
//! * [`weights`]: the fitted weights of these factors and of the delays.
//! * [`delay`]: the delays of packets and requests.
//! * [`nc`][]: TCP/NC.
//! * [`block`]: block codes below TCP.
//! * [`lt`][]: TCP/LT.
//! * [`advice`]: the choice of a scheme, and warnings.
//! * [`campaign`]: the results of a campaign as data.
//! * [`data`]: the committed data files.

pub mod advice;
pub mod block;
pub mod campaign;
pub mod data;
pub mod delay;
pub mod efficiency;
pub mod loss_pattern;
pub mod lt;
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

/// The goodput of a simulated run is measured from this number of round trips after the run's
/// start, or from [`MEASURED_FROM_SECONDS`] if that is later. With a smaller value, the measurement
/// includes more of the start of a transfer. See docs/researchers/simulator.md, "What is measured".
pub const MEASURED_FROM_RTTS: f64 = 20.0;
/// The earliest begin of the measurement, s after the run's start. With a smaller value, the
/// measurement includes more of the start on paths with a short round-trip time.
pub const MEASURED_FROM_SECONDS: f64 = 2.0;
/// The shortest run, s. A run and its measurement end at the latest of three limits: this value,
/// [`MEASURED_RTTS`] and [`MEASURED_PACKETS`]. With a larger value, runs differ less from each
/// other, and take more time to simulate.
pub const MEASURED_SECONDS: f64 = 10.0;
/// The shortest run, round trips. See [`MEASURED_SECONDS`].
pub const MEASURED_RTTS: u32 = 60;
/// The shortest run, in times to send a full packet at the link's rate. See [`MEASURED_SECONDS`]. A
/// goodput measured over fewer packets says little about the link.
pub const MEASURED_PACKETS: u32 = 1000;

/// The cause that bounds a scheme's goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Losses: the scheme takes losses for congestion and slows down.
    Losses,
    /// The link's rate, less headers, repairs and the times at which the link is idle.
    Link,
}

/// The predicted result of a scheme on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemePrediction {
    /// Goodput: payload that arrives in order, of all connections together, bit/s.
    pub goodput_bps: f64,
    /// The goodput divided by C (1-p).
    pub share: f64,
    /// Bytes sent on the path, headers included, for each byte of payload that arrives.
    pub sent_per_useful: f64,
    /// The cause that bounds the goodput.
    pub bound: Bound,
}

/// Predicts the result of `scheme` on `path`.
///
/// # Errors
/// A quantity of the path is outside its domain (see [`NetworkPath::check`]).
pub fn predict(path: &NetworkPath, scheme: PlanScheme, weights: &Weights) -> Result<SchemePrediction, DomainError> {
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
