//! The cost of a cellular network with and without coding (paper 000, sections VII to X): the
//! number of base stations that its users need. TCP/NC is the paper's TCP with coding.
//!
//! * [`CellularNetwork`]: equations (21) and (22), for an ideal protocol, TCP and TCP/NC.
//! * [`monte_carlo`]: a simulation of each user, as in section IX-B.

pub mod monte_carlo;
mod network;

pub use network::{CellularNetwork, Protocol, StationsNeeded};
