//! The table of an experiment's results: one row per cell, written as CSV or Parquet.
//!
//! A cell is one complete scenario of the experiment (see `cell/mod.rs`).

mod columns;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;

pub use columns::{KeyColumn, MOST_FLOWS, MOST_LINKS, StatisticColumns, cell_entry, key_columns};
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use rows::ResultTable;
