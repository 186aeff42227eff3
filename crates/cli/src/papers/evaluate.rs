//! Whether an assertion holds, on what was measured.

use super::experiment::Experiment;
use super::expression::Expression;
use super::formulas;
use serde_json::Value as Json;

/// A function of assertions.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// How many values it takes.
    pub(super) arguments: usize,
    /// Whether it is true or false.
    pub(super) asserts: bool,
    /// What it is, for people.
    pub(super) about: &'static str,
}

const fn function(name: &'static str, arguments: usize, asserts: bool, about: &'static str) -> Function {
    Function { name, arguments, asserts, about }
}

/// All functions.
#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    function("rising", 1, true, "rising(curve): no step down by more than two half-widths"),
    function("falling", 1, true, "falling(curve): no step up by more than two half-widths"),
    function("within", 3, true, "within(a, b, share): |a - b| <= share |b|"),
    function("min", 1, false, "min(curve)"),
    function("max", 1, false, "max(curve)"),
    function("mean", 1, false, "mean(curve)"),
    function("first", 1, false, "first(curve): its value at the smallest x"),
    function("last", 1, false, "last(curve): its value at the largest x"),
    function("argmax", 1, false, "argmax(curve): where it is largest"),
    function("argmin", 1, false, "argmin(curve): where it is smallest"),
    function("x", 1, false, "x(curve): the parameter as a curve"),
    function("abs", 1, false, "abs(value)"),
    function("sqrt", 1, false, "sqrt(value)"),
    function("path_loss", 2, false, "path_loss(q, hops): 1 - (1 - q)^hops"),
    function("tcp", 1, false, "tcp(p): paper 000, eq. (16), in its own network, Mbit/s"),
    function("td_tcp", 1, false, "td_tcp(p): paper 000, eq. (12), without time-outs, in its own network, Mbit/s"),
    function("fec", 4, false, "fec(K, N, p, C): paper 003, eq. (6), mu 3000 units/s, RTT .56 s, units/s"),
    function("burst_fec", 4, false, "burst_fec(K, N, q, L): paper 003, eqs. (3) and (7), mu 3000 units/s, RTT .56 s, units/s"),
    function("clean_n", 3, false, "clean_n(K, p, C): paper 003, the N of the largest eq. (6)"),
];

/// What an assertion came to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// Whether it holds.
    pub(super) holds: bool,
    /// The values that decided, for people.
    pub(super) values: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Curve(Vec<Point>),
    Truth(Finding),
}

#[derive(Clone, Debug, PartialEq)]
struct Point {
    x: f64,
    /// The parameter as written.
    label: String,
    y: f64,
    ci95: f64,
}

/// Decides an assertion. `results` has of each set the results of its points, null where they were not run.
///
/// # Errors
/// What was not measured, or does not fit.
pub(super) fn decide(
    assertion: &Expression,
    experiment: &Experiment,
    results: &[Vec<Json>],
) -> Result<Finding, String> {
    match (Evaluation { experiment, results }).value(assertion)? {
        Value::Truth(finding) => Ok(finding),
        _ => Err("this is a value, not an assertion".into()),
    }
}

struct Evaluation<'a> {
    experiment: &'a Experiment,
    results: &'a [Vec<Json>],
}

impl Evaluation<'_> {
    fn value(&self, expression: &Expression) -> Result<Value, String> {
        Ok(match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Read { .. } => self.read(expression)?,
            Expression::Negative(inner) => self.value(inner)?.map(|y| -y)?,
            Expression::Binary { operator, left, right } => {
                let apply = |a: f64, b: f64| match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                };
                combine(&[self.value(left)?, self.value(right)?], |values| apply(values[0], values[1]))?
            }
            Expression::Call { name, arguments } => {
                let values: Vec<Value> =
                    arguments.iter().map(|argument| self.value(argument)).collect::<Result<_, _>>()?;
                call(name, &values)?
            }
            Expression::Compare { first, rest } => {
                let mut left = self.value(first)?;
                let (mut holds, mut words) = (true, left.show());
                for (comparison, right) in rest {
                    let right = self.value(right)?;
                    let both = combine(&[left, right.clone()], |values| {
                        f64::from(u8::from(comparison.holds(values[0], values[1])))
                    })?;
                    let (all, wrong) = match &both {
                        Value::Number(truth) => (*truth == 1.0, None),
                        Value::Curve(points) => {
                            let wrong = points.iter().find(|point| point.y != 1.0);
                            (wrong.is_none(), wrong.map(|point| point.label.clone()))
                        }
                        Value::Truth(_) => return Err("an assertion is compared".into()),
                    };
                    holds &= all;
                    words += &format!(" {} {}", comparison.word(), right.show());
                    if let Some(label) = wrong {
                        words += &format!(" (not at {label})");
                    }
                    left = right;
                }
                Value::Truth(Finding { holds, values: words })
            }
        })
    }

    fn read(&self, expression: &Expression) -> Result<Value, String> {
        let Expression::Read { measure, set, place } = expression else {
            return Err("nothing is read here".into());
        };
        let k = self.experiment.set(set).ok_or_else(|| format!("there is no set `{set}`"))?;
        let mut curve = Vec::new();
        for (point, result) in self.experiment.points[k].iter().zip(&self.results[k]) {
            if place.select(std::slice::from_ref(point)).is_empty() {
                continue;
            }
            let number = measure
                .read(result, place)
                .ok_or_else(|| format!("`{}` was not measured at {}", measure.name(), point.label()))?;
            let parameter = place.star.as_ref().and_then(|star| point.get(star));
            curve.push(Point {
                x: parameter.and_then(|value| value.number).unwrap_or(curve.len() as f64),
                label: parameter.map_or_else(String::new, |value| value.text.clone()),
                y: number.mean,
                ci95: number.ci95.unwrap_or(0.0),
            });
        }
        match (&place.star, curve.as_slice()) {
            (Some(_), _) => {
                curve.sort_by(|a, b| a.x.total_cmp(&b.x));
                Ok(Value::Curve(curve))
            }
            (None, [one]) => Ok(Value::Number(one.y)),
            _ => Err(format!("{} points of `{set}` are meant, not one", curve.len())),
        }
    }
}

impl Value {
    fn map(self, f: impl Fn(f64) -> f64) -> Result<Value, String> {
        combine(&[self], |values| f(values[0]))
    }

    fn curve(&self) -> Result<&[Point], String> {
        match self {
            Value::Curve(points) if !points.is_empty() => Ok(points),
            _ => Err("a curve is wanted here: `measure[set, parameter=*]`".into()),
        }
    }

    fn number(&self) -> Result<f64, String> {
        match self {
            Value::Number(number) => Ok(*number),
            _ => Err("a number is wanted here".into()),
        }
    }

    fn show(&self) -> String {
        match self {
            Value::Number(number) => show(*number),
            Value::Curve(points) => {
                let all: Vec<String> = points.iter().map(|point| show(point.y)).collect();
                format!("[{}]", all.join(" "))
            }
            Value::Truth(finding) => finding.holds.to_string(),
        }
    }
}

/// Four significant digits.
pub(super) fn show(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    let decimals = if value == 0.0 { 0.0 } else { (3.0 - magnitude).clamp(0.0, 6.0) };
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Applies a function point by point; numbers are the same at every point.
fn combine(values: &[Value], apply: impl Fn(&[f64]) -> f64) -> Result<Value, String> {
    let curve = values.iter().find_map(|value| match value {
        Value::Curve(points) => Some(points),
        _ => None,
    });
    let at = |k: usize| -> Result<Vec<f64>, String> {
        values
            .iter()
            .map(|value| match value {
                Value::Number(number) => Ok(*number),
                Value::Curve(points) => Ok(points[k].y),
                Value::Truth(_) => Err("an assertion is no value".to_owned()),
            })
            .collect()
    };
    let Some(curve) = curve else { return Ok(Value::Number(apply(&at(0)?))) };
    for value in values {
        if let Value::Curve(other) = value
            && !(other.len() == curve.len() && other.iter().zip(curve).all(|(a, b)| a.x == b.x))
        {
            return Err("two curves have different points".into());
        }
    }
    let point = |(k, point): (usize, &Point)| Ok(Point { y: apply(&at(k)?), ci95: 0.0, ..point.clone() });
    Ok(Value::Curve(curve.iter().enumerate().map(point).collect::<Result<_, String>>()?))
}

fn call(name: &str, values: &[Value]) -> Result<Value, String> {
    let extreme = |sign: f64| -> Result<&Point, String> {
        let points = values[0].curve()?;
        let better = |best: &&Point, point: &&Point| sign * point.y > sign * best.y;
        Ok(points.iter().fold(&points[0], |best, point| if better(&best, &point) { point } else { best }))
    };
    Ok(match name {
        "rising" => steps(values[0].curve()?, 1.0),
        "falling" => steps(values[0].curve()?, -1.0),
        "within" => {
            let share = values[2].number()?;
            let away = combine(&values[..2], |v| (v[0] - v[1]).abs() / v[1].abs())?;
            let worst = match &away {
                Value::Number(number) => *number,
                other => other.curve()?.iter().map(|point| point.y).fold(0.0, f64::max),
            };
            let values =
                format!("{} and {}: {} away", values[0].show(), values[1].show(), show_percent(worst));
            Value::Truth(Finding { holds: worst <= share, values })
        }
        "min" => Value::Number(extreme(-1.0)?.y),
        "max" => Value::Number(extreme(1.0)?.y),
        "argmin" => Value::Number(extreme(-1.0)?.x),
        "argmax" => Value::Number(extreme(1.0)?.x),
        "mean" => {
            let points = values[0].curve()?;
            Value::Number(points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64)
        }
        "first" => Value::Number(values[0].curve()?[0].y),
        "last" => Value::Number(values[0].curve()?[values[0].curve()?.len() - 1].y),
        "x" => Value::Curve(
            values[0].curve()?.iter().map(|point| Point { y: point.x, ci95: 0.0, ..point.clone() }).collect(),
        ),
        "abs" => combine(values, |v| v[0].abs())?,
        "sqrt" => combine(values, |v| v[0].sqrt())?,
        "path_loss" => combine(values, |v| formulas::path_loss(v[0], v[1]))?,
        "tcp" => combine(values, |v| formulas::tcp(v[0]))?,
        "td_tcp" => combine(values, |v| formulas::td_tcp(v[0]))?,
        "fec" => combine(values, |v| formulas::fec(v[0], v[1], v[2], v[3]))?,
        "burst_fec" => combine(values, |v| formulas::burst_fec(v[0], v[1], v[2], v[3]))?,
        "clean_n" => combine(values, |v| formulas::clean_n(v[0], v[1], v[2]))?,
        other => return Err(format!("there is no function `{other}`")),
    })
}

/// Whether no step goes against `sign` by more than two half-widths of both ends.
fn steps(points: &[Point], sign: f64) -> Value {
    let against = |pair: &[Point]| sign * (pair[0].y - pair[1].y) > 2.0 * pair[0].ci95.hypot(pair[1].ci95);
    let wrong = points.windows(2).find(|pair| against(pair));
    let mut values = Value::Curve(points.to_vec()).show();
    if let Some(pair) = wrong {
        values += &format!(" (not from {} to {})", pair[0].label, pair[1].label);
    }
    Value::Truth(Finding { holds: wrong.is_none(), values })
}

fn show_percent(share: f64) -> String {
    format!("{} %", show(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[(f64, f64)]) -> Value {
        let point = |(x, y): &(f64, f64)| Point { x: *x, label: x.to_string(), y: *y, ci95: 0.1 };
        Value::Curve(values.iter().map(point).collect())
    }

    fn truth(value: Value) -> bool {
        matches!(value, Value::Truth(Finding { holds: true, .. }))
    }

    #[test]
    fn curves_rise_fall_and_peak() {
        let peak = curve(&[(1.0, 2.0), (2.0, 5.0), (3.0, 4.0)]);
        assert_eq!(call("argmax", std::slice::from_ref(&peak)), Ok(Value::Number(2.0)));
        assert_eq!(call("min", std::slice::from_ref(&peak)), Ok(Value::Number(2.0)));
        assert_eq!(call("last", std::slice::from_ref(&peak)), Ok(Value::Number(4.0)));
        assert!(!truth(call("rising", std::slice::from_ref(&peak)).unwrap()));
        // Less than two half-widths down is not a fall.
        assert!(truth(call("rising", &[curve(&[(1.0, 2.0), (2.0, 1.8)])]).unwrap()));
        assert!(!truth(call("rising", &[curve(&[(1.0, 2.0), (2.0, 1.7)])]).unwrap()));
        assert!(truth(call("falling", &[curve(&[(1.0, 2.0), (2.0, 1.7)])]).unwrap()));
        let within = |share| call("within", &[Value::Number(1.02), Value::Number(1.0), Value::Number(share)]);
        assert!(truth(within(0.021).unwrap()) && !truth(within(0.019).unwrap()));
        assert!(call("max", &[Value::Number(1.0)]).is_err());
    }

    #[test]
    fn arithmetic_goes_point_by_point() {
        let c = curve(&[(1.0, 2.0), (2.0, 5.0)]);
        let sum = combine(&[c.clone(), Value::Number(1.0)], |v| v[0] + v[1]).unwrap();
        assert_eq!(sum.show(), "[3 6]");
        assert!(combine(&[c, curve(&[(1.0, 2.0)])], |v| v[0] + v[1]).is_err());
    }

    #[test]
    fn four_digits_are_shown() {
        assert_eq!(
            [0.0, 0.48731234, 2608.69, 12.0, 1e-7, 123456.7].map(show),
            ["0", "0.4873", "2609", "12", "0", "123457"]
        );
    }

    #[test]
    fn every_function_is_there() {
        for function in FUNCTIONS {
            let curves = vec![curve(&[(10.0, 0.5)]); function.arguments];
            let numbers = vec![Value::Number(0.5); function.arguments];
            let known = |values: &[Value]| !matches!(call(function.name, values), Err(e) if e.contains("no function"));
            assert!(known(&curves) && known(&numbers), "{}", function.name);
        }
    }
}
