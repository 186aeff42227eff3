//! The data of one curve of a figure.

/// One curve of a figure, and the numbers that others published for it.
#[derive(Debug, Default)]
pub struct FigureCurve {
    /// Name of the curve in the legend.
    pub name: String,
    /// Points of the line: x, y, and half the width of the 95 % confidence interval of y (0 if
    /// there is none).
    pub points: Vec<(f64, f64, f64)>,
    /// Published numbers and references to draw as circles: x and y.
    pub others: Vec<(f64, f64)>,
    /// Whether the line is drawn as steps, so that each value stays until the next point. A
    /// recorded window is drawn this way.
    pub steps: bool,
}
