//! Closed forms: pure functions, total over their whole range (no NaN, no panic).
//!
//! * [`codes`]: what our own codes leave of losses, and how late what they recover is.
//! * [`domain`]: what they say to arguments they have no answer for, and which form of a misprinted equation
//!   to take.
//! * [`fec`]: block FEC on a lossy link under TCP, and how much of it is best (paper 003).
//! * [`masking`]: whether so many repairs make up for the losses among so many packets; the rule
//!   by which the tunnel sends repairs ahead of losses.
//! * [`mesh`]: TCP through the gateway of a wireless mesh (paper 004).
//! * [`plan`]: what a link will bring before it is used; the answer of `ripstop plan`.
//! * [`published`]: the models by name, so that what a paper states can be data.
//! * [`redundancy`]: how much redundancy TCP/NC needs (paper 000, section VI).
//! * [`special`]: the binomial law for real arguments, without underflow.
//! * [`stations`]: base stations for so many users, with and without coding (paper 000, sections VII to X).
//! * [`string`]: TCP over a string of 802.11 nodes with network coding (paper 002).
//! * [`tcp`]: TCP's throughput over a lossy path (paper 000, section IV); [`prediction`] is all of it for one
//!   connection.
//! * [`tcpnc`]: the window that coding keeps open, and the throughput it gives (paper 000, section V; paper
//!   001).

pub mod codes;
pub mod domain;
pub mod fec;
pub mod masking;
pub mod mesh;
pub mod plan;
pub mod prediction;
pub mod published;
pub mod redundancy;
pub mod special;
pub mod stations;
pub mod string;
pub mod tcp;
pub mod tcpnc;

#[cfg(test)]
mod exact;
