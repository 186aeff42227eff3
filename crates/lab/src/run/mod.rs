//! Simulates cells on a pool of threads and stores their results.
//!
//! Every sweep, study and experiment uses the one loop in [`run_missing`]. It skips cells whose
//! result is already in the store.

mod missing;
mod pool;

pub use missing::{
    CellState, CellTask, RunEnd, RunOrder, RunProgress, StateCounts, find_states, run_missing,
};
