//! Draws curves as SVG: lines with confidence intervals, and published numbers as circles.

use super::axis::Axis;
use super::curve::FigureCurve;
use super::style::{CurveStyle, styles};
use crate::claim::show_number as show;
use std::fmt::Write as _;

/// Width and height of a figure, in SVG units. Pages scale the figure. With half the size, texts
/// and lines appear twice as large in relation to the figure; with double the size, half as large.
const SIZE: (f64, f64) = (680.0, 360.0);
/// Margins around the plot, in SVG units: left, right, top, bottom. The margins hold the tick
/// labels, the legend, the title and the labels of the axes. With half the margins these texts
/// overlap the plot. With double the margins the plot is small.
const MARGINS: [f64; 4] = [64.0, 190.0, 34.0, 46.0];
/// Height of a line of the legend, in SVG units. The font size is 11. At half the value lines
/// overlap; at twice the value fewer curves fit into the legend.
const LINE: f64 = 16.0;
/// Largest number of points for which a curve has markers. On longer curves the markers would merge
/// into one thick line. With half the value, more curves have no markers. With double the value,
/// markers are close together.
const MOST_MARKERS: usize = 40;

/// A figure to be drawn: its labels, its scales and its curves.
#[derive(Debug)]
pub struct FigureChart {
    /// Title of the figure.
    pub title: String,
    /// Label of the x axis.
    pub x: String,
    /// Label of the y axis.
    pub y: String,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    pub log_y: bool,
    /// The curves.
    pub curves: Vec<FigureCurve>,
}

impl FigureChart {
    /// Draws the figure as SVG text. Points that an axis cannot show are left out: points whose y is
    /// not finite, and points of 0 or less on a logarithmic axis.
    pub fn svg(mut self) -> String {
        for curve in &mut self.curves {
            curve.points.retain(|p| p.1.is_finite() && (!self.log_x || p.0 > 0.0) && (!self.log_y || p.1 > 0.0));
            curve.others.retain(|p| (!self.log_x || p.0 > 0.0) && (!self.log_y || p.1 > 0.0));
        }
        let all = || {
            let points = |curve: &FigureCurve| {
                let own: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.0, p.1)).collect();
                own.into_iter().chain(curve.others.clone())
            };
            self.curves.iter().flat_map(points).collect::<Vec<_>>().into_iter()
        };
        let x = Axis::over(all().map(|p| p.0), self.log_x, false);
        let y = Axis::over(all().map(|p| p.1), self.log_y, true);
        Drawing { chart: &self, x, y, svg: String::new() }.draw()
    }
}

/// A figure, and the part of its SVG text that is already written.
struct Drawing<'a> {
    chart: &'a FigureChart,
    x: Axis,
    y: Axis,
    svg: String,
}

impl Drawing<'_> {
    fn draw(mut self) -> String {
        let ((width, height), [left, ..]) = (SIZE, MARGINS);
        self.svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n<text x=\"{left}\" y=\"18\" font-size=\"13\">{}</text>\n",
            escape(&self.chart.title)
        );
        self.axes();
        let all = styles(&self.chart.curves);
        for (curve, style) in self.chart.curves.iter().zip(&all) {
            self.curve(curve, style);
        }
        self.legend(&all);
        self.svg + "</svg>\n"
    }

    /// The position of a point on the page, in SVG units.
    fn at(&self, px: f64, py: f64) -> (f64, f64) {
        let [left, right, top, bottom] = MARGINS;
        (left + self.x.part(px) * (SIZE.0 - left - right), SIZE.1 - bottom - self.y.part(py) * (SIZE.1 - top - bottom))
    }

    fn axes(&mut self) {
        let ((width, height), [left, right, top, bottom]) = (SIZE, MARGINS);
        for tick in self.x.ticks() {
            let (tx, _) = self.at(tick, self.y.low);
            let _ = writeln!(
                self.svg,
                "<path d=\"M{tx:.1} {top} V{:.1}\" stroke=\"#ddd\"/><text x=\"{tx:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                height - bottom,
                height - bottom + 14.0,
                show(tick)
            );
        }
        for tick in self.y.ticks() {
            let (_, ty) = self.at(self.x.low, tick);
            let _ = writeln!(
                self.svg,
                "<path d=\"M{left} {ty:.1} H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                width - right,
                left - 5.0,
                ty + 4.0,
                show(tick)
            );
        }
        let _ = writeln!(
            self.svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (left + width - right) / 2.0,
            height - 10.0,
            escape(&self.chart.x),
            (top + height - bottom) / 2.0,
            escape(&self.chart.y)
        );
    }

    fn curve(&mut self, curve: &FigureCurve, style: &CurveStyle) {
        let colour = style.colour;
        let mut path = String::new();
        let mut before: Option<(f64, f64)> = None;
        for (px, py, ci95) in &curve.points {
            let (sx, sy) = self.at(*px, *py);
            match before {
                None => path += &format!("M{sx:.1} {sy:.1}"),
                Some((_, last)) if curve.steps => path += &format!("L{sx:.1} {last:.1}L{sx:.1} {sy:.1}"),
                Some(_) => path += &format!("L{sx:.1} {sy:.1}"),
            }
            before = Some((sx, sy));
            if *ci95 > 0.0 {
                let ((_, low), (_, high)) = (self.at(*px, py - ci95), self.at(*px, py + ci95));
                let _ = writeln!(self.svg, "<path d=\"M{sx:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\"/>");
            }
            if curve.points.len() <= MOST_MARKERS {
                self.svg += &(style.marker(sx, sy) + "\n");
            }
        }
        let dashes = &style.dashes;
        let _ =
            writeln!(self.svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}/>");
        for (px, py) in &curve.others {
            let (sx, sy) = self.at(*px, *py);
            let _ = writeln!(
                self.svg,
                "<circle cx=\"{sx:.1}\" cy=\"{sy:.1}\" r=\"4.5\" fill=\"none\" stroke=\"{colour}\"/>"
            );
        }
    }

    fn legend(&mut self, all: &[CurveStyle]) {
        let [_, right, top, _] = MARGINS;
        let left = SIZE.0 - right + 10.0;
        let curves = &self.chart.curves;
        let mut ly = top + 10.0;
        for (curve, style) in curves.iter().zip(all) {
            let CurveStyle { colour, dashes, same_as, .. } = style;
            let _ = writeln!(
                self.svg,
                "<path d=\"M{left:.1} {ly:.1}h22\" stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}/>{}<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                if curve.points.len() <= MOST_MARKERS { style.marker(left + 11.0, ly) } else { String::new() },
                left + 27.0,
                ly + 4.0,
                escape(&curve.name)
            );
            if let Some(other) = same_as {
                ly += LINE;
                let _ = writeln!(
                    self.svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">same as {}</text>",
                    left + 27.0,
                    ly + 4.0,
                    escape(&curves[*other].name)
                );
            }
            ly += LINE;
        }
        if curves.iter().any(|curve| !curve.others.is_empty()) {
            let _ = writeln!(
                self.svg,
                "<circle cx=\"{:.1}\" cy=\"{ly:.1}\" r=\"4.5\" fill=\"none\" stroke=\"black\"/><text x=\"{:.1}\" y=\"{:.1}\">published, reference</text>",
                left + 11.0,
                left + 27.0,
                ly + 4.0
            );
        }
    }
}

/// The text with the characters escaped that have a meaning in SVG.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
