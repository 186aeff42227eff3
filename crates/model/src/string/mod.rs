//! TCP over a string of 802.11 nodes with network coding (paper 002): the largest throughput.
//!
//! * [`airtime`]: the time of an exchange on the air (tables I and II).
//! * [`interference`]: the range k of each node, from the nodes' positions.
//! * [`sets`]: links that can be active together, and the load of each link under random access
//!   (equations (1) to (5)).
//! * [`bound`]: the largest end-to-end throughput, by perfect scheduling and by random access
//!   (table III).

pub mod airtime;
pub mod bound;
pub mod interference;
pub mod sets;
