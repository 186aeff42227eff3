//! Closed-form models of five papers, of this project's codes, and of the planner (`ripstop plan`).
//! The papers are numbered 000 to 004; `papers/README.md` lists them.
//!
//! All functions are pure and total: for every argument they return a number or an error, never
//! NaN, and they never panic.
//!
//! * [`codes`]: the loss and the delay that remain after this project's codes.
//! * [`domain`]: the error for arguments outside a model's domain, and the choice between a
//!   misprinted equation and its correction.
//! * [`fec`]: block FEC on a lossy link under TCP, and the best amount of FEC (paper 003).
//! * [`masking`]: the probability that the repairs among the packets in flight replace all lost
//!   packets. The tunnel's redundancy rule uses this probability.
//! * [`mesh`]: TCP through the gateway of a wireless mesh (paper 004).
//! * [`plan`]: the goodput and the delays of each scheme on a path. A scheme is a TCP congestion
//!   control, with or without the tunnel. `ripstop plan` prints the results.
//! * [`prediction`]: the throughput of one TCP connection, and the terms that determine the
//!   throughput. `ripstop model tcp` prints these numbers.
//! * [`published`]: the models as functions with names. Data files use the names to compare the
//!   models with the numbers that the papers print.
//! * [`redundancy`]: the redundancy that TCP/NC, the coded TCP of the paper, needs (paper 000,
//!   section VI).
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
