//! Figures as SVG: of experiments, of series over time, and of closed forms.

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
