//! Prints numbers for people. A quantity has three significant digits and a unit. A share has three
//! decimals.

/// A share of a whole with three decimals, without a leading zero: `.022`, `1.014`.
pub fn share(value: f64) -> String {
    let text = format!("{value:.3}");
    text.strip_prefix('0').map_or(text.clone(), str::to_owned)
}

/// A rate in bit/s: `19.3 Mbit/s`.
pub fn rate(bps: f64) -> String {
    scaled(bps, [(1e9, " Gbit/s"), (1e6, " Mbit/s"), (1e3, " kbit/s"), (1.0, " bit/s")])
}

/// A time in seconds: `102 ms`.
pub fn time(seconds: f64) -> String {
    scaled(seconds, [(1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns")])
}

/// A number of bytes: `3.00 MB`.
pub fn bytes(count: f64) -> String {
    scaled(count, [(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")])
}

/// Prints `value` with three significant digits, in the largest unit in which the rounded value is
/// at least 1. A value below 1 in every unit is printed in the smallest unit. `units` lists scales
/// and names, largest first.
fn scaled(value: f64, units: [(f64, &str); 4]) -> String {
    // A value of 0.9995 units or more is written in this unit: in the next smaller unit it would be
    // rounded to 1000.
    let (scale, unit) = units.into_iter().find(|(s, _)| value >= 0.9995 * s).unwrap_or(units[3]);
    let number = value / scale;
    let decimals = match number {
        n if n == 0.0 || n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [rate(19.31e6), rate(999_999.0), rate(0.0), time(0.1019), time(14.42), bytes(3e6)];
        assert_eq!(shown, ["19.3 Mbit/s", "1.00 Mbit/s", "0 bit/s", "102 ms", "14.4 s", "3.00 MB"]);
        assert_eq!([share(0.0221), share(1.0144), share(0.0)], [".022", "1.014", ".000"]);
    }
}
