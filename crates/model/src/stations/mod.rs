//! What a cellular network costs with and without coding (paper 000, sections VII to X): base stations for so
//! many users.
//!
//! * [`CellularNetwork`]: equations (21) and (22), for an ideal protocol, TCP and TCP/NC.
//! * [`monte_carlo`]: the users one by one, as in section IX-B.

pub mod monte_carlo;
mod network;

pub use network::{CellularNetwork, Protocol, StationsNeeded};
