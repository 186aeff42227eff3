//! How fast this machine does the tunnel's computations, compared with what the machine can do at
//! best.
//!
//! All computations take turns of a fraction of a millisecond, in many rounds. A figure's *anchor*
//! is a simpler computation that it is compared with, such as XOR. The ratio of a figure to its
//! anchor is the median over all rounds, so that other load on the machine affects both.

mod cases;
mod figures;
mod rounds;

pub use figures::{FIGURES, SpeedAnchor, SpeedFigure, SpeedUnit, with_anchors};
pub use rounds::{SpeedResult, measure};
