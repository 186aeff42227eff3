//! Experiments as data: this crate defines, runs, stores and judges simulation experiments.
//!
//! An experiment is one file with these parts:
//!
//! - a scenario: links, flows, and how long they run
//! - a grid of values to put into the scenario
//! - measures: the numbers that are read from the results
//! - claims: assertions about these numbers
//!
//! Each combination of the grid's values gives one cell. A [`cell`] is one complete scenario,
//! identified by a hash of its content. A cell needs no data outside itself, so any process on any
//! machine can run it. The loop in [`run`] executes all runs of all cells. A [`store`] is a file
//! that keeps the results of cells.

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
pub mod trial;
pub mod verify;

#[cfg(test)]
#[path = "../build/parts.rs"]
mod parts;
#[cfg(test)]
#[path = "../build/tokens.rs"]
mod tokens;
