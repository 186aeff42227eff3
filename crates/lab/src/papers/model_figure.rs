//! Figures that are drawn from closed forms: `papers/NNN/figures.toml`.
//!
//! A closed form is a formula of a paper, implemented as a function of `ripstop_model::published`.

use super::stated::{arguments, error, read};
use crate::error::LabResult;
use crate::figure::{FigureChart, FigureCurve};
use crate::published::Published;
use ripstop_model::published::{Arguments, EvaluateError, Value, check, evaluate};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "figure")]
    figures: Vec<Spanned<ModelFigure>>,
}

/// A figure whose curves are computed by closed forms.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelFigure {
    /// The paper's number and the figure's name, such as `000.fig17a`.
    pub id: String,
    /// Title: what the figure shows.
    pub title: String,
    /// The place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Background that a reader should know.
    pub about: String,
    /// Name of a function of `ripstop_model::published`.
    function: String,
    /// Arguments that all curves share.
    #[serde(default)]
    arguments: BTreeMap<String, toml::Value>,
    /// The argument that varies along the x axis.
    x: String,
    /// Label of the x axis.
    x_name: String,
    /// Label of the y axis.
    y_name: String,
    /// The first value of the argument `x`.
    from: Option<f64>,
    /// The last value of the argument `x`.
    to: Option<f64>,
    /// The number of values from `from` to `to`, both included.
    points: Option<u32>,
    /// The values of the argument `x` as a list, in place of `from`, `to` and `points`.
    #[serde(default)]
    values: Vec<f64>,
    /// The name of an argument. The x axis shows `x` divided by this argument. For example, the
    /// axis shows N/K if `x` is N and this argument is K.
    x_over: Option<String>,
    #[serde(default)]
    log_x: bool,
    #[serde(default)]
    log_y: bool,
    #[serde(rename = "curve")]
    curves: Vec<CurveSpec>,
}

/// One curve of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CurveSpec {
    name: String,
    /// Function of this curve, if it differs from the figure's.
    function: Option<String>,
    #[serde(default)]
    arguments: BTreeMap<String, toml::Value>,
    /// Values of the argument `x` for this curve alone, in place of the figure's values.
    #[serde(default)]
    values: Vec<f64>,
    /// The paper's own points for this curve, from a table in `published.toml`.
    printed: Option<Printed>,
}

/// Two columns of a table in `published.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    entry: String,
    x: String,
    y: String,
}

/// Largest number of points on a curve. The limit stops a typing error from making a huge file. No
/// curve in `papers` has more than half of this number, so half or double the value changes no
/// figure.
const MOST_POINTS: usize = 2000;

impl ModelFigure {
    /// Parses a file, and checks the function and the arguments of each curve at the first point.
    ///
    /// # Errors
    /// Fails when the file is invalid. The error says line, field, what is wrong and what would be
    /// right.
    pub fn parse(name: &str, text: &str, published: &Published) -> LabResult<Vec<ModelFigure>> {
        let file: File = read(name, text)?;
        let mut figures = Vec::new();
        for spanned in file.figures {
            let (at, figure) = (spanned.span().start, spanned.into_inner());
            let wrong = |problem: String| error(name, text, at, format!("`{}`: {problem}", figure.id));
            let paper = name.split('/').next().unwrap_or(name);
            if !figure.id.starts_with(&format!("{paper}.")) {
                return Err(wrong(format!("`id` must begin with `{paper}.`")));
            }
            for curve in &figure.curves {
                let along = figure.along(curve);
                if along.is_empty() || along.len() > MOST_POINTS {
                    let wanted = "write `values`, or `from`, `to` and `points` (2 to 2000 points; with `log-x`, `from` and `to` above 0)";
                    return Err(wrong(format!("{} points along the axis; {wanted}", along.len())));
                }
                figure.with_function(curve, along[0], check).map_err(&wrong)?;
                if let Some(printed) = &curve.printed {
                    published.columns(&printed.entry, &printed.x, &printed.y).map_err(&wrong)?;
                }
            }
            figures.push(figure);
        }
        Ok(figures)
    }

    /// The number of the figure's paper, such as `000`.
    pub fn paper(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    /// Number of curves.
    pub fn curves(&self) -> usize {
        self.curves.len()
    }

    /// Computes all curves.
    ///
    /// # Errors
    /// Fails when a closed form refuses a point. The error names the curve and the point.
    pub fn compute(&self, published: &Published) -> Result<FigureChart, String> {
        let mut curves = Vec::new();
        for spec in &self.curves {
            let mut curve = FigureCurve { name: spec.name.clone(), ..FigureCurve::default() };
            for x in self.along(spec) {
                curve.points.push((x / self.scale(spec)?, self.at(spec, x)?, 0.0));
            }
            if let Some(printed) = &spec.printed {
                curve.others = published.columns(&printed.entry, &printed.x, &printed.y)?;
            }
            curves.push(curve);
        }
        Ok(FigureChart {
            title: self.title.clone(),
            x: self.x_name.clone(),
            y: self.y_name.clone(),
            log_x: self.log_x,
            log_y: self.log_y,
            curves,
        })
    }

    /// The values of the argument `x` along a curve. Empty if the file gives no valid values.
    fn along(&self, curve: &CurveSpec) -> Vec<f64> {
        let listed = if curve.values.is_empty() { &self.values } else { &curve.values };
        if !listed.is_empty() {
            return listed.clone();
        }
        let (Some(from), Some(to), Some(points)) = (self.from, self.to, self.points) else {
            return Vec::new();
        };
        if points < 2 || points as usize > MOST_POINTS || (self.log_x && (from <= 0.0 || to <= 0.0)) {
            return Vec::new();
        }
        let part = |i: u32| f64::from(i) / f64::from(points - 1);
        (0..points)
            .map(|i| match self.log_x {
                true => libm::exp(libm::log(from) + part(i) * (libm::log(to) - libm::log(from))),
                false => from + part(i) * (to - from),
            })
            .collect()
    }

    fn arguments(&self, curve: &CurveSpec) -> Arguments {
        let mut all = arguments(&self.arguments);
        all.extend(arguments(&curve.arguments));
        all
    }

    fn at(&self, curve: &CurveSpec, x: f64) -> Result<f64, String> {
        self.with_function(curve, x, evaluate)
    }

    /// Calls `call` with the function and the arguments of one point.
    fn with_function<T>(
        &self,
        curve: &CurveSpec,
        x: f64,
        call: impl Fn(&str, &Arguments) -> Result<T, EvaluateError>,
    ) -> Result<T, String> {
        let mut all = self.arguments(curve);
        all.insert(self.x.clone(), Value::Number(x));
        let function = curve.function.as_ref().unwrap_or(&self.function);
        call(function, &all).map_err(|error| format!("curve `{}` at {} = {x}: {error}", curve.name, self.x))
    }

    /// The number by which the values on the x axis are divided; 1 without `x-over`.
    fn scale(&self, curve: &CurveSpec) -> Result<f64, String> {
        let Some(name) = &self.x_over else { return Ok(1.0) };
        match self.arguments(curve).get(name) {
            Some(Value::Number(number)) if *number != 0.0 => Ok(*number),
            _ => Err(format!(
                "curve `{}`: `x-over` names `{name}`, but the curve has no argument of this name that is a number other than 0",
                curve.name
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: &str = r#"
[[figure]]
id = "009.fig1"
title = "t"
where = "w"
about = "a"
function = "fec_throughput"
arguments = { loss = 0.01 }
x = "n"
x-name = "N/K"
y-name = "units/s"
x-over = "k"
curve = [{ name = "K = 10", arguments = { k = 10 }, values = [10, 12, 14] }]
"#;

    #[test]
    fn curves_are_computed_along_their_axis() {
        let published = Published::default();
        let parse = |text: &str| ModelFigure::parse("009/figures.toml", text, &published);
        let figures = parse(FIGURE).map_err(|error| error.to_string()).unwrap();
        let chart = figures[0].compute(&published).unwrap();
        let points = &chart.curves[0].points;
        assert_eq!((points.len(), points[1].0), (3, 1.2));
        assert!((points[1].1 - 1525.21).abs() < 0.01 && (points[2].1 - 2142.86).abs() < 0.01);
        let svg = chart.svg();
        assert!(svg.starts_with("<svg") && svg.contains("units/s") && !svg.contains("NaN"));
        for (from, to, said) in [
            ("009.fig1", "008.fig1", "`008.fig1`: `id` must begin"),
            ("values = [10, 12, 14]", "", "0 points along the axis"),
            ("values = [10,", "values = [9,", "at n = 9: the number of units N is 9"),
            ("fec_throughput", "fec_thruput", "no function `fec_thruput`"),
            ("loss = 0.01", "los = 0.01", "`loss`"),
            ("title", "titel", "unknown field `titel`"),
        ] {
            let error = parse(&FIGURE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
        let axis = FIGURE
            .replace("values = [10, 12, 14]", "")
            .replace("x = \"n\"", "x = \"loss\"\nfrom = 1e-4\nto = 1\npoints = 5\nlog-x = true");
        let axis = axis.replace("x-over = \"k\"", "").replace("{ loss = 0.01 }", "{ n = 12 }");
        let figures = parse(&axis).map_err(|error| error.to_string()).unwrap();
        let xs: Vec<f64> = figures[0].compute(&published).unwrap().curves[0].points.iter().map(|p| p.0).collect();
        assert!((xs[1] / 1e-3 - 1.0).abs() < 1e-12 && xs.len() == 5, "{xs:?}");
    }
}
