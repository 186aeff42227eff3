//! Point 6: the ratios for which `ripstop speed` has a target. A ratio compares a figure with its anchor in the same
//! run. The targets are for AVX-512 with GFNI. With another kernel the ratios are shown but have no bound. `make bench`
//! measures the CPU time of the daemon.

use super::common::{json, ripstop};
use super::report::{Bound, Report, median};
use serde_json::Value;

/// Measures all ratios.
pub(crate) fn measure(report: &mut Report) -> Result<(), String> {
    let run = |_| Ok(json(&ripstop().args(["speed", "--json"]).output().map_err(|error| error.to_string())?));
    let reports = report.seeds().map(run).collect::<Result<Vec<Value>, String>>()?;
    let is_the_kernel = reports[0]["kernel"] == "gfni512";
    for (index, ratio) in reports[0]["ratios"].as_array().into_iter().flatten().enumerate() {
        let Some(target) = ratio["target"].as_f64() else { continue };
        let values: Vec<f64> =
            reports.iter().map(|report| report["ratios"][index]["value"].as_f64().unwrap_or(f64::NAN)).collect();
        let name = format!("{} over {}", text(&ratio["of"]), text(&ratio["to"]));
        if is_the_kernel {
            report.value(&name, median(&values), Bound::AtLeast(target), 0.0);
        } else {
            report.note(&format!("{name}: {:.3} (the target {target} is for gfni512)", median(&values)));
        }
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}
