//! The functions that claims can call: tests of curves, arithmetic, and formulas of the papers.
//!
//! These functions take positional arguments, as in `pow(2, 3)`. The closed forms of
//! `ripstop_model::published` take named arguments, as in `fec_throughput(n=22, loss=1%)`. The
//! closed forms are not in this file: `evaluate.rs` calls them.

use super::formulas;
use super::value::{ClaimFinding, ClaimValue, CurvePoint, combine, show_percent};

/// A function that a claim can call, with its description for messages and documents.
pub struct ClaimFunction {
    /// The name.
    pub name: &'static str,
    /// The number of arguments.
    pub arguments: usize,
    /// Whether the function is an assertion: its result is true or false, not a number or a curve.
    pub asserts: bool,
    /// The call and its meaning, for people.
    pub about: &'static str,
}

const fn function(name: &'static str, arguments: usize, asserts: bool, about: &'static str) -> ClaimFunction {
    ClaimFunction { name, arguments, asserts, about }
}

/// All functions with positional arguments. The closed forms take named arguments, and
/// [`ripstop_model::published::FUNCTIONS`] lists them.
#[rustfmt::skip]
pub const CLAIM_FUNCTIONS: &[ClaimFunction] = &[
    function("rising", 1, true, "rising(curve): no step down by more than two half-widths of the step's 95 % interval"),
    function("falling", 1, true, "falling(curve): no step up by more than two half-widths of the step's 95 % interval"),
    function("increasing", 1, true, "increasing(curve): every step goes up"),
    function("decreasing", 1, true, "decreasing(curve): every step goes down"),
    function("within", 3, true, "within(a, b, share): |a - b| <= share |b|"),
    function("near", 3, true, "near(a, b, distance): |a - b| <= distance"),
    function("min", 1, false, "min(curve)"),
    function("max", 1, false, "max(curve)"),
    function("mean", 1, false, "mean(curve)"),
    function("sum", 1, false, "sum(curve)"),
    function("first", 1, false, "first(curve): the value of its first point"),
    function("last", 1, false, "last(curve): the value of its last point"),
    function("argmax", 1, false, "argmax(curve): the x at which the curve is largest"),
    function("argmin", 1, false, "argmin(curve): the x at which the curve is smallest"),
    function("part", 3, false, "part(curve, from, to): its points with from <= x <= to"),
    function("x", 1, false, "x(curve): the same points, with y replaced by x"),
    function("truth", 1, false, "truth(assertion): 1 where it holds, 0 where it does not"),
    function("abs", 1, false, "abs(value)"),
    function("sqrt", 1, false, "sqrt(value)"),
    function("pow", 2, false, "pow(base, exponent)"),
    function("ceil", 1, false, "ceil(value): rounded up to a whole number"),
    function("round", 1, false, "round(value): the nearest whole number"),
    function("least", 2, false, "least(a, b): the smaller one"),
    function("most", 2, false, "most(a, b): the larger one"),
    function("path_loss", 2, false, "path_loss(q, hops): 1 - (1 - q)^hops"),
    function("tcp", 1, false, "tcp(p): paper 000, eq. (16), with the network of that paper, Mbit/s"),
    function("td_tcp", 1, false, "td_tcp(p): paper 000, eq. (12), without time-outs, with the network of that paper, Mbit/s"),
    function("fec", 4, false, "fec(K, N, p, C): paper 003, eq. (6), mu 3000 units/s, RTT .56 s, units/s"),
    function("burst_fec", 4, false, "burst_fec(K, N, q, L): paper 003, eqs. (3) and (7), mu 3000 units/s, RTT .56 s, units/s"),
    function("clean_n", 3, false, "clean_n(K, p, C): paper 003, the N at which eq. (6) is largest"),
];

/// Calls the function `name` with the arguments `values`. The caller has checked the number of
/// arguments.
///
/// # Errors
/// An argument is of the wrong kind or has no value, or no function has the name `name`.
pub(super) fn call(name: &str, values: &[ClaimValue]) -> Result<ClaimValue, String> {
    match name {
        "rising" => Ok(steps(values[0].curve()?, 1.0)),
        "falling" => Ok(steps(values[0].curve()?, -1.0)),
        "increasing" => Ok(strict_steps(values[0].curve()?, 1.0)),
        "decreasing" => Ok(strict_steps(values[0].curve()?, -1.0)),
        "within" => near(values, |v| (v[0] - v[1]).abs() / v[1].abs(), show_percent),
        "near" => near(values, |v| (v[0] - v[1]).abs(), super::value::show_number),
        "truth" => match &values[0] {
            ClaimValue::Truth(finding) => Ok(ClaimValue::Number(f64::from(u8::from(finding.holds)))),
            _ => Err("`truth(..)` needs an assertion, such as `truth(n > 2)`".into()),
        },
        "abs" => combine(values, |v| v[0].abs()),
        "sqrt" => combine(values, |v| v[0].sqrt()),
        "pow" => combine(values, |v| libm::pow(v[0], v[1])),
        "ceil" => combine(values, |v| v[0].ceil()),
        "round" => combine(values, |v| v[0].round()),
        "least" => combine(values, |v| v[0].min(v[1])),
        "most" => combine(values, |v| v[0].max(v[1])),
        "path_loss" => combine(values, |v| formulas::path_loss(v[0], v[1])),
        "tcp" => combine(values, |v| formulas::tcp(v[0])),
        "td_tcp" => combine(values, |v| formulas::td_tcp(v[0])),
        "fec" => combine(values, |v| formulas::fec(v[0], v[1], v[2], v[3])),
        "burst_fec" => combine(values, |v| formulas::burst_fec(v[0], v[1], v[2], v[3])),
        "clean_n" => combine(values, |v| formulas::clean_n(v[0], v[1], v[2])),
        other => of_curve(other, values),
    }
}

/// Calls a function of the points of one curve.
fn of_curve(name: &str, values: &[ClaimValue]) -> Result<ClaimValue, String> {
    let extreme = |sign: f64| -> Result<&CurvePoint, String> {
        let points = values[0].curve()?;
        let better = |best: &&CurvePoint, point: &&CurvePoint| sign * point.y > sign * best.y;
        Ok(points.iter().fold(&points[0], |best, point| if better(&best, &point) { point } else { best }))
    };
    Ok(match name {
        "min" => ClaimValue::Number(extreme(-1.0)?.y),
        "max" => ClaimValue::Number(extreme(1.0)?.y),
        "argmin" => ClaimValue::Number(extreme(-1.0)?.x),
        "argmax" => ClaimValue::Number(extreme(1.0)?.x),
        "mean" => {
            let points = values[0].curve()?;
            ClaimValue::Number(points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64)
        }
        "sum" => ClaimValue::Number(values[0].curve()?.iter().map(|point| point.y).sum()),
        "first" => ClaimValue::Number(values[0].curve()?[0].y),
        "last" => ClaimValue::Number(values[0].curve()?[values[0].curve()?.len() - 1].y),
        "x" => ClaimValue::Curve(
            values[0].curve()?.iter().map(|point| CurvePoint { y: point.x, ci95: 0.0, ..point.clone() }).collect(),
        ),
        "part" => {
            let (from, to) = (values[1].number()?, values[2].number()?);
            let inside = |point: &&CurvePoint| from <= point.x && point.x <= to;
            ClaimValue::Curve(values[0].curve()?.iter().filter(inside).cloned().collect())
        }
        other => return Err(format!("there is no function `{other}`")),
    })
}

/// Asserts that the distance between the first two values is at most `values[2]`. For curves, this
/// must hold at every point. `distance` computes the distance of two numbers, and `show` its text.
fn near(
    values: &[ClaimValue],
    distance: impl Fn(&[f64]) -> f64,
    show: impl Fn(f64) -> String,
) -> Result<ClaimValue, String> {
    let allowed = values[2].number()?;
    let away = combine(&values[..2], distance)?;
    let worst = match &away {
        ClaimValue::Curve(_) => away.curve()?.iter().map(|point| point.y).fold(0.0, f64::max),
        other => other.number()?,
    };
    let values = format!("{} and {}: {} away", values[0].show(), values[1].show(), show(worst));
    Ok(ClaimValue::Truth(ClaimFinding { holds: worst <= allowed, values }))
}

/// Asserts that the curve has no significant step against the direction `sign` (1 up, -1 down).
///
/// A step goes from one point of the curve to the next. The step is significant when it is larger
/// than two half-widths. The half-width of a step is the root of the sum of two squares: the
/// squares of the half-widths of the 95 % confidence intervals at the two points.
fn steps(points: &[CurvePoint], sign: f64) -> ClaimValue {
    no_wrong_step(points, |pair| sign * (pair[0].y - pair[1].y) > 2.0 * pair[0].ci95.hypot(pair[1].ci95))
}

/// Asserts that every step goes in the direction `sign` (1 up, -1 down). Equal values fail.
fn strict_steps(points: &[CurvePoint], sign: f64) -> ClaimValue {
    no_wrong_step(points, |pair| sign * (pair[1].y - pair[0].y) <= 0.0)
}

/// Asserts that `is_wrong` holds for no pair of neighbouring points. A failure names the first pair
/// for which `is_wrong` holds.
fn no_wrong_step(points: &[CurvePoint], is_wrong: impl Fn(&[CurvePoint]) -> bool) -> ClaimValue {
    let wrong = points.windows(2).find(|pair| is_wrong(pair));
    let mut values = ClaimValue::Curve(points.to_vec()).show();
    if let Some(pair) = wrong {
        values += &format!(" (fails from x = {} to x = {})", pair[0].label, pair[1].label);
    }
    ClaimValue::Truth(ClaimFinding { holds: wrong.is_none(), values })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[(f64, f64)]) -> ClaimValue {
        let point = |(x, y): &(f64, f64)| CurvePoint { x: *x, label: x.to_string(), y: *y, ci95: 0.1 };
        ClaimValue::Curve(values.iter().map(point).collect())
    }

    fn truth(value: ClaimValue) -> bool {
        matches!(value, ClaimValue::Truth(ClaimFinding { holds: true, .. }))
    }

    #[test]
    fn curves_rise_fall_and_peak() {
        let peak = curve(&[(1.0, 2.0), (2.0, 5.0), (3.0, 4.0)]);
        let of = |name: &str| call(name, std::slice::from_ref(&peak));
        assert_eq!(of("argmax"), Ok(ClaimValue::Number(2.0)));
        assert_eq!(of("min"), Ok(ClaimValue::Number(2.0)));
        assert_eq!(of("last"), Ok(ClaimValue::Number(4.0)));
        assert_eq!(of("sum"), Ok(ClaimValue::Number(11.0)));
        assert!(!truth(of("rising").unwrap()));
        let part = |from, to| call("part", &[peak.clone(), ClaimValue::Number(from), ClaimValue::Number(to)]);
        assert!(truth(call("increasing", &[part(1.0, 2.0).unwrap()]).unwrap()));
        assert!(truth(call("decreasing", &[part(2.0, 3.0).unwrap()]).unwrap()));
        // `rising` allows a step down of less than two half-widths. `increasing` fails at any step
        // down and at equal values.
        let down = curve(&[(1.0, 2.0), (2.0, 1.8)]);
        assert!(truth(call("rising", std::slice::from_ref(&down)).unwrap()));
        assert!(!truth(call("increasing", &[down]).unwrap()));
        assert!(!truth(call("increasing", &[curve(&[(1.0, 2.0), (2.0, 2.0)])]).unwrap()));
        assert!(!truth(call("rising", &[curve(&[(1.0, 2.0), (2.0, 1.7)])]).unwrap()));
        assert!(truth(call("falling", &[curve(&[(1.0, 2.0), (2.0, 1.7)])]).unwrap()));
        let within = |share| call("within", &[1.02, 1.0, share].map(ClaimValue::Number));
        assert!(truth(within(0.021).unwrap()) && !truth(within(0.019).unwrap()));
        // If a value is missing, the result is an error instead of true or false.
        assert!(call("max", &[ClaimValue::Number(1.0)]).is_err());
        assert!(call("rising", &[curve(&[(1.0, f64::NAN), (2.0, 1.0)])]).is_err());
        assert!(call("within", &[f64::NAN, 1.0, 0.1].map(ClaimValue::Number)).is_err());
    }

    #[test]
    fn every_function_is_there() {
        for function in CLAIM_FUNCTIONS {
            let curves = vec![curve(&[(10.0, 0.5)]); function.arguments];
            let numbers = vec![ClaimValue::Number(0.5); function.arguments];
            let known =
                |values: &[ClaimValue]| !matches!(call(function.name, values), Err(e) if e.contains("no function"));
            assert!(known(&curves) && known(&numbers), "{}", function.name);
        }
    }
}
