//! TCP over a string of 802.11 nodes with network coding (paper 002): the largest throughput.
//!
//! A *string* is a row of nodes 1 to n. TCP data goes from node 1 to node n. TCP acknowledgments go
//! back. With network coding, a node XORs an acknowledgment onto a data packet, so the
//! acknowledgment *rides* on the data and costs no transmission. Node n sends no data, so on its
//! link back to node n-1 acknowledgments cannot ride. This link is the *reverse link*.
//!
//! * [`airtime`]: the time of an exchange on the air (tables I and II).
//! * [`interference`]: the interference range k of each node, from the nodes' positions. k is the
//!   number of hops up to which a transmission disturbs the node.
//! * [`sets`]: links that can be active together, and the load of each link under random access
//!   (equations (1) to (5)).
//! * [`bound`]: the largest end-to-end throughput, by perfect scheduling and by random access
//!   (table III).

pub mod airtime;
pub mod bound;
pub mod interference;
pub mod sets;
