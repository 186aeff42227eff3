//! Simulates cells on a pool of threads and stores their results.
//!
//! A cell is one complete scenario with its number of runs (see `cell/mod.rs`). Every experiment
//! uses the loop in [`run_missing`]. The loop skips cells whose result is already in the store.

mod missing;
mod pool;

pub use missing::{CellState, CellTask, RunEnd, RunOrder, RunProgress, StateCounts, find_states, run_missing};
