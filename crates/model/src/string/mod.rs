//! TCP over a string of 802.11 nodes with network coding (paper 002): how much can get through.
//!
//! * [`airtime`]: how long an exchange takes on the air (tables I and II).
//! * [`interference`]: who disturbs whom: the range k of each node, from where they stand.
//! * [`sets`]: links that may be active together, and how much each carries under random access (equations
//!   (1) to (5)).
//! * [`bound`]: the largest end-to-end throughput, by perfect scheduling and by random access (table III).

pub mod airtime;
pub mod bound;
pub mod interference;
pub mod sets;
