//! Formats the result of a model as text.

use crate::output;

/// Rows of three texts: the name of a value, the value with its unit, and an explanation.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<[String; 3]>);

impl Lines {
    pub(super) fn new() -> Lines {
        Lines::default()
    }

    /// Adds a row.
    pub(super) fn line(&mut self, name: &str, value: impl Into<String>, source: &str) {
        self.0.push([name.to_owned(), value.into(), source.to_owned()]);
    }

    /// The rows as text: the names and values in aligned columns, then the explanations.
    pub(super) fn render(&self) -> String {
        let wide = |column: usize| self.0.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let (names, values) = (wide(0), wide(1));
        let line = |[name, value, source]: &[String; 3]| {
            format!("{name:<names$}  {value:>values$}  {source}").trim_end().to_owned() + "\n"
        };
        self.0.iter().map(line).collect()
    }
}

/// A number with four significant digits and its unit, without trailing zeros after the decimal
/// point. If the integer part has more digits, all its digits are shown. A number of 10^15 or more,
/// or below 10^-4, has an exponent. An infinite number is `unlimited`.
pub(super) fn number(value: f64, unit: &str) -> String {
    let text = match value.is_finite() {
        false => "unlimited".to_owned(),
        true => digits(value),
    };
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// A number and its unit. The text is `-` for a missing value.
pub(super) fn optional(value: Option<f64>, unit: &str) -> String {
    output::or_dash(value, |value| number(value, unit))
}

/// A rate. The text is `unlimited` for an infinite rate.
pub(super) fn rate(bps: f64) -> String {
    if bps.is_finite() { output::rate(bps) } else { "unlimited".to_owned() }
}

/// A share in per cent; 1 is 100 %.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// A power.
pub(super) fn power(watts: f64) -> String {
    if watts.abs() >= 1000.0 { format!("{} kW", digits(watts / 1e3)) } else { format!("{} W", digits(watts)) }
}

fn digits(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e15).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude.log10().floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        let shown = [0.0, 1.0, 0.0667321, 12345.6, 1.5e-9, 4.108].map(digits);
        assert_eq!(shown, ["0", "1", "0.06673", "12346", "1.500e-9", "4.108"]);
        assert_eq!(number(f64::INFINITY, "packets"), "unlimited packets");
        assert_eq!([power(2500.0), power(12.0), percent(0.0298)], ["2.5 kW", "12 W", "2.98 %"]);
    }
}
