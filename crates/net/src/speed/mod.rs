//! How fast this machine does the tunnel's computations, compared with what the machine can do at
//! best.
//!
//! The measurement has many rounds. In each round, every computation is timed for a fraction of a millisecond. A
//! *figure* is the measured speed of one computation. Its *anchor* is the figure of a simpler computation, such as XOR,
//! with which the figure is compared. Both figures are measured in the same round, so that other load on the machine
//! affects both. The reported ratio is the median over all rounds.

mod cases;
mod figures;
mod rounds;

pub use figures::{FIGURES, SpeedAnchor, SpeedFigure, SpeedUnit, with_anchors};
pub use rounds::{SpeedResult, measure};
