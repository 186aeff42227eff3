//! What papers state, and what becomes of it.

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
