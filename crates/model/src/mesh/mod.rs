//! TCP through the gateway of a wireless mesh, with fountain codes (paper 004): the capacity of
//! paths, and the rate of each flow.
//!
//! * [`path`]: the time of a packet on one hop, equation (2), and the capacity of a path, equations
//!   (1) and (12).
//! * [`shares`]: the rates of a gateway's flows, equations (3) to (7), and the blocks that each
//!   rate allows, equations (8) to (11).

pub mod path;
pub mod shares;
