//! The cost of a cellular network with and without coding (paper 000, sections VII to X): the base stations that users need.
//!
//! * [`CellularNetwork`]: equations (21) and (22), for an ideal protocol, TCP and TCP/NC.
//! * [`monte_carlo`]: the users one by one, as in section IX-B.

pub mod monte_carlo;
mod network;

pub use network::{CellularNetwork, Protocol, StationsNeeded};
