//! How fast this machine does the tunnel's computations, beside its limits.
//!
//! The [`FIGURES`] are measured in turns of a fraction of a millisecond. A figure's ratio to its anchor is the median over all turns, so
//! that other load on the machine affects both.

mod cases;
mod figures;
mod rounds;

pub use figures::{FIGURES, SpeedAnchor, SpeedFigure, SpeedUnit, with_anchors};
pub use rounds::{SpeedResult, measure};
