//! The one loop that runs cells: what is missing is run, and each result is stored as soon as it is there.

mod missing;
mod pool;

pub use missing::{
    CellState, CellTask, RunEnd, RunOrder, RunProgress, StateCounts, find_states, run_missing,
};
