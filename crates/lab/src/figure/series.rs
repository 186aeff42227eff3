//! Draws the time series of one result, as `ripstop sim --sample --json` prints it.

use super::chart::FigureChart;
use super::curve::FigureCurve;
use crate::measure::KnownMeasure;
use serde_json::Value;

/// Draws `measure` over time, with one curve for each flow of the result.
///
/// # Errors
/// Fails when the result has no time series, or when `measure` is not recorded over time.
pub fn series_chart(result: &Value, measure: KnownMeasure) -> Result<FigureChart, String> {
    let flows = result["flows"].as_array().ok_or("this is not a result of `ripstop sim --json`")?;
    if result["series"].is_null() {
        return Err("the result has no series; simulate with --sample".into());
    }
    let mut curves = Vec::with_capacity(flows.len());
    for (k, flow) in flows.iter().enumerate() {
        let values = measure
            .over_time(result, k)
            .ok_or_else(|| format!("`{}` has no time series; goodput, cwnd and srtt have one", measure.name()))?;
        let points = values.into_iter().map(|(x, y)| (x, y, 0.0)).collect();
        let name = flow["name"].as_str().unwrap_or_default().to_owned();
        curves.push(FigureCurve { name, points, ..FigureCurve::default() });
    }
    Ok(FigureChart {
        title: format!("{} over time", measure.title()),
        x: "time, s".to_owned(),
        y: measure.axis(),
        log_x: false,
        log_y: false,
        curves,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_flow_has_a_curve() {
        let flow = |name: &str| json!({"name": name});
        let result = json!({"flows": [flow("a"), flow("b")], "series": {"until_s": [1.0, 2.0],
            "flows": [{"goodput_bps": [1e6, 2e6]}, {"goodput_bps": [3e6, null]}]}});
        let chart = series_chart(&result, KnownMeasure::Goodput).unwrap();
        assert_eq!(chart.curves[1].points, [(1.0, 3.0, 0.0)]);
        let svg = chart.svg();
        assert!(svg.contains("goodput, Mbit/s") && svg.contains(">b</text>"), "{svg}");
        assert!(series_chart(&result, KnownMeasure::Timeouts).unwrap_err().contains("no time series"));
        let none = json!({"flows": [], "series": null});
        assert!(series_chart(&none, KnownMeasure::Goodput).unwrap_err().contains("--sample"));
    }
}
