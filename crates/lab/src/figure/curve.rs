//! The data of one curve of a figure.

/// One curve of a figure, and numbers from other sources for the same quantity.
#[derive(Debug, Default)]
pub struct FigureCurve {
    /// Name of the curve in the legend.
    pub name: String,
    /// Points of the line: x, y, and half the width of the 95 % confidence interval of y (0 without
    /// an interval).
    pub points: Vec<(f64, f64, f64)>,
    /// Numbers that are drawn as circles, as pairs of x and y. A number is published in a paper, or
    /// comes from an independent simulation (a reference).
    pub others: Vec<(f64, f64)>,
    /// Whether the line is drawn as steps, so that each value stays until the next point. The
    /// window of a traced run is drawn this way, because it has a point for each change.
    pub steps: bool,
}
