//! The data of one curve of a figure.

/// A line of a figure.
#[derive(Debug, Default)]
pub struct FigureCurve {
    /// Its name.
    pub name: String,
    /// x, y, half of y's interval.
    pub points: Vec<(f64, f64, f64)>,
    /// What others have.
    pub others: Vec<(f64, f64)>,
    /// Whether values stay until the next: a window.
    pub steps: bool,
}
