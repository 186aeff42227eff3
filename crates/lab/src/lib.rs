//! Experiments as data: this crate defines, runs, stores and judges simulation experiments.
//!
//! An experiment is a scenario, a grid of values to put into the scenario, measures, and claims.
//! The grid gives cells. A [`cell`] is one complete scenario, identified by a content hash. Cells
//! are independent and need no other data, so any process on any machine can run one.
//! One [`run`] loop executes all runs of all cells. One [`store`] keeps the results.

pub mod campaign;
pub mod cell;
pub mod claim;
pub mod entry;
pub mod error;
pub mod expect;
pub mod experiment;
pub mod figure;
pub mod files;
pub mod measure;
pub mod merge;
pub mod papers;
pub mod plan;
pub mod preset;
pub mod published;
pub mod run;
pub mod store;
pub mod study;
pub mod table;

#[cfg(test)]
#[path = "../build/tokens.rs"]
mod tokens;
