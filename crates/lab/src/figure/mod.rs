//! Draws figures as SVG.
//!
//! [`study_chart`] makes a figure of an experiment. [`series_chart`] makes a figure of one result
//! over time. `papers::model_figure` makes figures from the formulas of papers. Each of the three
//! returns a [`FigureChart`] with one [`FigureCurve`] per line. [`timeline_picture`] draws what the
//! stations of a medium do.

mod axis;
mod chart;
mod curve;
mod series;
mod study;
mod style;
mod timeline;

pub use chart::FigureChart;
pub use curve::FigureCurve;
pub use series::series_chart;
pub use study::study_chart;
pub use timeline::timeline_picture;
