//! Draws figures as SVG.
//!
//! [`study_chart`] makes the figure of an experiment, and [`series_chart`] the time series of one
//! result. Figures of closed forms come from `papers::model_figure`. All of them are a
//! [`FigureChart`] with one [`FigureCurve`] per line.

mod axis;
mod chart;
mod curve;
mod series;
mod study;
mod style;

pub use chart::FigureChart;
pub use curve::FigureCurve;
pub use series::series_chart;
pub use study::study_chart;
