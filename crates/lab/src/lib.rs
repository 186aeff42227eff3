//! Experiments as data.
//!
//! An experiment is a scenario, a grid of values over it, measures and claims. Its cells are independent: a [`cell`] is one scenario with a
//! content hash and needs nothing but its own data, so any process on any machine can run it. One [`run`] loop works on all runs of all
//! cells, one [`store`] keeps the results.

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
