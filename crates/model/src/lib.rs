//! Closed-form models: those of five papers, of this project's codes, and of the planner.
//!
//! All functions are pure and total: for every argument they return a number or an error, never
//! NaN, and they never panic.
//!
//! * [`codes`]: the loss and the delay that remain after this project's codes.
//! * [`domain`]: the error for arguments outside a model's domain, and the choice between a
//!   misprinted equation and its correction.
//! * [`fec`]: block FEC on a lossy link under TCP, and the best amount of it (paper 003).
//! * [`masking`]: the probability that a number of repairs makes up for the losses among a number
//!   of packets. The tunnel's redundancy rule uses it.
//! * [`mesh`]: TCP through the gateway of a wireless mesh (paper 004).
//! * [`plan`]: what each scheme achieves on a path. `ripstop plan` prints it.
//! * [`prediction`]: everything about one TCP connection. `ripstop model tcp` prints it.
//! * [`published`]: the models by name, so that the papers' numbers can be compared as data.
//! * [`redundancy`]: the redundancy that TCP/NC needs (paper 000, section VI).
//! * [`special`]: the binomial distribution for real arguments, without underflow.
//! * [`stations`]: the base stations that users need, with and without coding (paper 000, sections
//!   VII to X).
//! * [`string`]: TCP over a string of 802.11 nodes with network coding (paper 002).
//! * [`tcp`]: TCP's throughput over a lossy path (paper 000, section IV).
//! * [`tcpnc`]: the window of a TCP/NC flow, and its throughput (paper 000, section V; paper 001).

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
