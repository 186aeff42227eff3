//! The papers: what they state, and verdicts on it.
//!
//! [`PaperLibrary`] reads the directory `papers`. [`check_paper`] compares each stated number and
//! trend with closed forms and with the results of experiments. [`write_pages`] and
//! [`write_model_pages`] write a page for each paper.

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
