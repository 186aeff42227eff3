//! The values that parts of a claim evaluate to: numbers, curves, words, and findings.

/// The result of an assertion.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimFinding {
    /// Whether the assertion holds.
    pub holds: bool,
    /// The values that were compared, as text for people.
    pub values: String,
}

/// The value of a part of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimValue {
    /// A number.
    Number(f64),
    /// A number for each value of a parameter.
    Curve(Vec<CurvePoint>),
    /// The result of an assertion.
    Truth(ClaimFinding),
    /// A word in quotes: an argument of a closed form, such as `"tcp"`.
    Word(String),
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The value of the parameter.
    pub x: f64,
    /// The value of the parameter as text.
    pub label: String,
    /// The value of the curve.
    pub y: f64,
    /// Half the width of the 95 % confidence interval of `y`; 0 when `y` is exact.
    pub ci95: f64,
}

/// The largest number of points of a curve that a message shows completely. A longer curve is shown
/// by its first and last value, to keep messages readable. Half or double the value changes only
/// the length above which curves are shortened.
const MOST_SHOWN: usize = 40;

impl ClaimValue {
    /// The points of a curve.
    ///
    /// # Errors
    /// The value is not a curve, the curve has no points, or a point has no value.
    pub(super) fn curve(&self) -> Result<&[CurvePoint], String> {
        match self {
            ClaimValue::Curve(points) if !points.is_empty() => match points.iter().find(|point| point.y.is_nan()) {
                Some(point) => Err(format!("a curve has no value at {}", point.label)),
                None => Ok(points),
            },
            ClaimValue::Curve(_) => Err("a curve has no points".into()),
            _ => Err("a curve is needed here: write `measure[set, key=*]` or `curve(x in 1..9, ..)`".into()),
        }
    }

    /// The number.
    ///
    /// # Errors
    /// The value is not a number, or is NaN.
    pub(super) fn number(&self) -> Result<f64, String> {
        match self {
            ClaimValue::Number(number) if number.is_nan() => Err("a value is not a number".into()),
            ClaimValue::Number(number) => Ok(*number),
            _ => Err("a number is needed here, not a curve, a word or an assertion".into()),
        }
    }

    /// The value as text for people.
    pub(super) fn show(&self) -> String {
        match self {
            ClaimValue::Number(number) => show_number(*number),
            ClaimValue::Curve(points) if points.len() > MOST_SHOWN => {
                let [first, last] = [&points[0], &points[points.len() - 1]].map(|point| show_number(point.y));
                format!("[{first} .. {last}]")
            }
            ClaimValue::Curve(points) => {
                let all: Vec<String> = points.iter().map(|point| show_number(point.y)).collect();
                format!("[{}]", all.join(" "))
            }
            ClaimValue::Truth(finding) => finding.holds.to_string(),
            ClaimValue::Word(word) => format!("\"{word}\""),
        }
    }
}

/// A number as text with at most four significant digits, at most six decimals, and no trailing
/// zeros. Digits before the decimal point are never dropped, so 123456 has six digits.
pub fn show_number(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    let decimals = if value == 0.0 { 0.0 } else { (3.0 - magnitude).clamp(0.0, 6.0) };
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A fraction as a percentage.
pub(super) fn show_percent(share: f64) -> String {
    format!("{} %", show_number(share * 100.0))
}

/// Applies a function to numbers and curves, point by point.
///
/// A number has the same value at every point. The result is a curve if one of `values` is a curve.
/// Confidence intervals are not propagated: `ci95` is 0 at every point of the result.
///
/// # Errors
/// Two curves have different points, or a value is an assertion or a word.
pub(super) fn combine(values: &[ClaimValue], apply: impl Fn(&[f64]) -> f64) -> Result<ClaimValue, String> {
    let curve = values.iter().find_map(|value| match value {
        ClaimValue::Curve(points) => Some(points),
        _ => None,
    });
    let at = |k: usize| -> Result<Vec<f64>, String> {
        let one = |value: &ClaimValue| match value {
            ClaimValue::Number(number) => Ok(*number),
            ClaimValue::Curve(points) => Ok(points[k].y),
            ClaimValue::Truth(_) => Err("an assertion is not a number; `truth(..)` turns it into 1 or 0".to_owned()),
            ClaimValue::Word(word) => Err(format!("the word \"{word}\" is not a number")),
        };
        values.iter().map(one).collect()
    };
    let Some(curve) = curve else { return Ok(ClaimValue::Number(apply(&at(0)?))) };
    for value in values {
        if let ClaimValue::Curve(other) = value
            && !(other.len() == curve.len() && other.iter().zip(curve).all(|(a, b)| a.x == b.x))
        {
            return Err("two curves have different x values, so they cannot be combined".into());
        }
    }
    let point = |(k, point): (usize, &CurvePoint)| Ok(CurvePoint { y: apply(&at(k)?), ci95: 0.0, ..point.clone() });
    Ok(ClaimValue::Curve(curve.iter().enumerate().map(point).collect::<Result<_, String>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_shown() {
        assert_eq!(
            [0.0, 0.48731234, 2608.69, 12.0, 1e-7, 123456.7].map(show_number),
            ["0", "0.4873", "2609", "12", "0", "123457"]
        );
    }

    #[test]
    fn arithmetic_goes_point_by_point() {
        let curve = |values: &[(f64, f64)]| {
            let point = |(x, y): &(f64, f64)| CurvePoint { x: *x, label: x.to_string(), y: *y, ci95: 0.1 };
            ClaimValue::Curve(values.iter().map(point).collect())
        };
        let c = curve(&[(1.0, 2.0), (2.0, 5.0)]);
        let sum = combine(&[c.clone(), ClaimValue::Number(1.0)], |v| v[0] + v[1]).unwrap();
        assert_eq!(sum.show(), "[3 6]");
        assert!(combine(&[c, curve(&[(1.0, 2.0)])], |v| v[0] + v[1]).is_err());
    }
}
