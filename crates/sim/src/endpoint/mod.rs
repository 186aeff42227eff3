//! Two whole ends (handshakes, sealing, sessions, routes) in virtual time, exchanging bytes over two links.
//!
//! What the wire can do to datagrams happens here too: flipped bits, other source addresses, ends that restart.

mod packet;
mod world;

pub use world::{EndpointWorld, Mishap};
