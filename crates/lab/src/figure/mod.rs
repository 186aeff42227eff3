//! Figures as SVG: of experiments, of series over time, and of closed forms.

mod axis;
mod chart;
mod model;
mod series;
mod study;
mod style;

pub use chart::{FigureChart, FigureCurve};
pub use model::ModelFigure;
pub use series::series_chart;
pub use study::study_chart;
