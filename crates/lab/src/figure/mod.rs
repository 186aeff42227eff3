//! Figures as SVG: of experiments, and of closed forms.

mod chart;
mod model;
mod study;

pub use chart::{FigureChart, FigureCurve};
pub use model::ModelFigure;
pub use study::study_chart;
