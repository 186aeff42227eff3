//! TCP through the gateway of a wireless mesh, with fountain codes (paper 004): what paths carry, and who
//! gets how much.
//!
//! * [`path`]: the cycle of a packet, equation (2), and the capacity of a path, equations (1) and (12).
//! * [`shares`]: what the flows of a gateway get, equations (3) to (7), and how many blocks that is,
//!   equations (8) to (11).

pub mod path;
pub mod shares;
