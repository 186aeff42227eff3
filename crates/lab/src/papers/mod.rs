//! The papers: the numbers and trends that they state, and our verdicts on these statements.
//!
//! A trend is a statement without a number, such as "throughput falls as the loss rate grows". A
//! closed form is a formula of a paper, implemented in `ripstop_model::published`.
//!
//! [`PaperLibrary`] reads the directory `papers`. [`check_paper`] compares each stated number and
//! trend with closed forms and with the results of experiments. [`write_pages`] and
//! [`write_model_pages`] write a page for each paper.
//!
//! The files of paper NNN are in `papers/NNN`:
//!
//! - `published.toml`: the numbers and trends that the paper prints
//! - `model.toml`: how the paper's numbers are compared with closed forms
//! - `trends.toml`: whether closed forms or experiments decide each trend
//! - `figures.toml`: figures that are drawn from closed forms
//! - `NAME.toml`: the experiment `NNN.NAME`
//! - `results/NAME.json`: numbers from simulations of this experiment

mod check;
mod committed;
mod library;
mod model_figure;
mod model_page;
mod numbers;
mod page;
mod stated;
mod trends;
mod verdict;

pub use check::{CheckedPaper, Misprint, check_paper, judge_known};
pub use committed::{CommittedNumbers, CommittedReadings, NotedReadings};
pub use library::{PaperLibrary, StatedPaper, find_study, read_study};
pub use model_figure::ModelFigure;
pub use model_page::write_model_pages;
pub use numbers::{CheckedNumber, digits, reasons};
pub use page::{ShownStudy, write_pages};
pub use stated::{StatedNumbers, StatedTrends};
pub use trends::CheckedTrend;
pub use verdict::{JudgedStudies, PaperVerdict};
