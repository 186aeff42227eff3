//! Curves as SVG: plain lines, half-widths, and the numbers of others as circles.

use crate::claim::show_number as show;
use std::fmt::Write as _;

/// The size of the whole, and of the margins: left, right, top, bottom.
const SIZE: (f64, f64) = (640.0, 360.0);
const MARGINS: [f64; 4] = [64.0, 150.0, 34.0, 46.0];
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999"];

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

/// What is drawn, with what stands at its axes.
#[derive(Debug)]
pub struct FigureChart {
    /// What it shows.
    pub title: String,
    /// What stands at the axis.
    pub x: String,
    /// The same of the other.
    pub y: String,
    /// Whether the axis has equal steps for equal factors.
    pub log_x: bool,
    /// The same of the other.
    pub log_y: bool,
    /// The lines.
    pub curves: Vec<FigureCurve>,
}

impl FigureChart {
    /// As SVG; what a logarithm cannot show is left out.
    pub fn svg(mut self) -> String {
        for curve in &mut self.curves {
            curve
                .points
                .retain(|p| p.1.is_finite() && (!self.log_x || p.0 > 0.0) && (!self.log_y || p.1 > 0.0));
            curve.others.retain(|p| (!self.log_x || p.0 > 0.0) && (!self.log_y || p.1 > 0.0));
        }
        svg(&self)
    }
}

fn svg(chart: &FigureChart) -> String {
    let curves = &chart.curves;
    let all =
        || curves.iter().flat_map(|c| c.points.iter().map(|p| (p.0, p.1)).chain(c.others.iter().copied()));
    let x = Axis::over(all().map(|p| p.0), chart.log_x, false);
    let y = Axis::over(all().map(|p| p.1), chart.log_y, true);
    let [left, right, top, bottom] = MARGINS;
    let at = |px: f64, py: f64| {
        (left + x.part(px) * (SIZE.0 - left - right), SIZE.1 - bottom - y.part(py) * (SIZE.1 - top - bottom))
    };
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n<text x=\"{left}\" y=\"18\" font-size=\"13\">{}</text>\n",
        escape(&chart.title)
    );
    for tick in x.ticks() {
        let (tx, _) = at(tick, y.low);
        let _ = writeln!(
            svg,
            "<path d=\"M{tx:.1} {top} V{:.1}\" stroke=\"#ddd\"/><text x=\"{tx:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - bottom,
            height - bottom + 14.0,
            show(tick)
        );
    }
    for tick in y.ticks() {
        let (_, ty) = at(x.low, tick);
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {ty:.1} H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            width - right,
            left - 5.0,
            ty + 4.0,
            show(tick)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (left + width - right) / 2.0,
        height - 10.0,
        escape(&chart.x),
        (top + height - bottom) / 2.0,
        escape(&chart.y)
    );
    for (k, curve) in curves.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        let mut path = String::new();
        let mut before: Option<(f64, f64)> = None;
        for (px, py, ci95) in &curve.points {
            let (sx, sy) = at(*px, *py);
            match before {
                None => path += &format!("M{sx:.1} {sy:.1}"),
                Some((_, last)) if curve.steps => path += &format!("L{sx:.1} {last:.1}L{sx:.1} {sy:.1}"),
                Some(_) => path += &format!("L{sx:.1} {sy:.1}"),
            }
            before = Some((sx, sy));
            if *ci95 > 0.0 {
                let ((_, low), (_, high)) = (at(*px, py - ci95), at(*px, py + ci95));
                let _ = writeln!(svg, "<path d=\"M{sx:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\"/>");
            }
            if curve.points.len() <= 40 {
                let _ = writeln!(svg, "<circle cx=\"{sx:.1}\" cy=\"{sy:.1}\" r=\"2\" fill=\"{colour}\"/>");
            }
        }
        let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"/>");
        for (px, py) in &curve.others {
            let (sx, sy) = at(*px, *py);
            let _ = writeln!(
                svg,
                "<circle cx=\"{sx:.1}\" cy=\"{sy:.1}\" r=\"4\" fill=\"none\" stroke=\"{colour}\"/>"
            );
        }
        let (lx, ly) = (width - right + 10.0, top + 10.0 + 16.0 * k as f64);
        let _ = writeln!(
            svg,
            "<path d=\"M{lx:.1} {ly:.1}h16\" stroke=\"{colour}\" stroke-width=\"1.4\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            lx + 20.0,
            ly + 4.0,
            escape(&curve.name)
        );
    }
    if curves.iter().any(|curve| !curve.others.is_empty()) {
        let (lx, ly) = (width - right + 18.0, top + 10.0 + 16.0 * curves.len() as f64);
        let _ = writeln!(
            svg,
            "<circle cx=\"{lx:.1}\" cy=\"{ly:.1}\" r=\"4\" fill=\"none\" stroke=\"black\"/><text x=\"{:.1}\" y=\"{:.1}\">published, reference</text>",
            lx + 12.0,
            ly + 4.0
        );
    }
    svg + "</svg>\n"
}

struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// From the smallest value to the largest, or from 0 where that is near enough and wanted.
    fn over(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Axis {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (if log { 0.1 } else { 0.0 }, 1.0) } else { (low, high) };
        let low = if from_zero && !log { low.min(0.0) } else { low };
        let high = if high == low { low + 1.0 } else { high };
        if log {
            let high = 10f64.powf(high.log10().ceil());
            let low = 10f64.powf(low.log10().floor());
            return Axis { low, high: if high > low { high } else { low * 10.0 }, log };
        }
        Axis { low, high: high + if from_zero { 0.05 * (high - low) } else { 0.0 }, log }
    }

    /// How far along a value stands, from 0 to 1; what is outside stands at the end.
    fn part(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let (first, last) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            return (first..=last).map(|k| 10f64.powi(k)).collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let scale = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * scale).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= self.high * (1.0 + 1e-12)).collect()
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values() {
        let axis = Axis::over([0.2, 1.7].into_iter(), false, true);
        assert_eq!((axis.low, axis.part(axis.high), axis.part(-1.0)), (0.0, 1.0, 0.0));
        let ticks = axis.ticks();
        assert!(
            (3..=8).contains(&ticks.len()) && ticks.windows(2).all(|pair| pair[1] > pair[0]),
            "{ticks:?}"
        );
        let log = Axis::over([0.03, 900.0, 0.0].into_iter(), true, true);
        assert_eq!((log.low, log.high, log.ticks().len()), (0.01, 1000.0, 6));
        assert!((log.part(1.0) - 0.4).abs() < 1e-12);
        for empty in [Axis::over([].into_iter(), false, true), Axis::over([].into_iter(), true, true)] {
            assert!(empty.ticks().len() >= 2);
        }
        let one = Axis::over([5.0, 5.0].into_iter(), false, false);
        assert!(one.part(5.0).is_finite() && !one.ticks().is_empty());
        assert!(!Axis::over([10.0].into_iter(), true, false).ticks().is_empty());
    }
}
