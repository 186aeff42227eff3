//! The output of `ripstop speed`, as JSON and as a table.

use crate::output::{Table, or_dash};
use ripstop_gf256::Kernel;
use ripstop_net::speed::{FIGURES, SpeedAnchor, SpeedFigure, SpeedResult};
use ripstop_proto::secure::Suite;
use serde_json::{Map, Value, json};

/// The machine and the measured figures.
pub(super) struct Report<'a> {
    cpu: String,
    kernel: Kernel,
    results: &'a [SpeedResult],
}

impl<'a> Report<'a> {
    pub(super) fn new(kernel: Kernel, results: &'a [SpeedResult]) -> Report<'a> {
        Report { cpu: cpu(), kernel, results }
    }

    /// One object with every figure and the ratios to the anchors. A figure that was not measured is null.
    pub(super) fn json(&self) -> Value {
        let mut object = Map::new();
        object.insert("cpu".into(), json!(self.cpu));
        object.insert("kernel".into(), json!(self.kernel.name()));
        object.insert("kernels".into(), json!(Kernel::all().map(Kernel::name).collect::<Vec<_>>()));
        object.insert("kernel_warning".into(), json!(Kernel::warning().map(ToString::to_string)));
        object.insert("aead".into(), json!(suite()));
        for figure in &FIGURES {
            object.insert(figure.key.into(), json!(self.of(figure).map(|result| result.value)));
        }
        let ratio = |figure: &SpeedFigure, anchor: SpeedAnchor| {
            json!({
                "of": figure.key,
                "to": anchor.key,
                "over": anchor.over,
                "value": self.of(figure).and_then(|result| result.ratio),
                "target": anchor.target,
            })
        };
        let ratios: Vec<Value> = FIGURES.iter().filter_map(|figure| Some(ratio(figure, figure.anchor?))).collect();
        object.insert("ratios".into(), json!(ratios));
        Value::Object(object)
    }

    /// The figures as a table.
    pub(super) fn table(&self) -> String {
        let others: Vec<&str> = Kernel::all().map(Kernel::name).filter(|name| *name != self.kernel.name()).collect();
        let mut text = format!(
            "{}; GF(256) kernel {} (RIPSTOP_GF256 can select {}); {}\n\n",
            self.cpu,
            self.kernel.name(),
            others.join(", "),
            suite()
        );
        let mut table = Table::titled(["one core", "speed", "", "ratio", "target", "to"]);
        for figure in &FIGURES {
            let Some(result) = self.of(figure) else { continue };
            let anchor = |show: &dyn Fn(SpeedAnchor) -> String| figure.anchor.map_or_else(String::new, show);
            table.row([
                figure.what.to_owned(),
                digits(result.value),
                figure.unit.name().to_owned(),
                anchor(&|_| or_dash(result.ratio, |ratio| format!("{ratio:.2}"))),
                anchor(&|anchor| anchor.target.map_or_else(String::new, |target| format!("{target:.2}"))),
                anchor(&to),
            ]);
        }
        text.push_str(&table.render());
        text
    }

    fn of(&self, figure: &SpeedFigure) -> Option<&SpeedResult> {
        self.results.iter().find(|result| result.key == figure.key)
    }
}

/// The anchor of a ratio, as text.
fn to(anchor: SpeedAnchor) -> String {
    let name = FIGURES.iter().find(|figure| figure.key == anchor.key).map_or(anchor.key, |figure| figure.what);
    let short = name.split(", 1").next().unwrap_or(name);
    if anchor.over == 1.0 { short.to_owned() } else { format!("({short}) / {}", anchor.over) }
}

/// A number with three significant digits, but at most three decimals.
fn digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn suite() -> &'static str {
    match Suite::preferred() {
        Suite::Aes256Gcm => "AES-256-GCM",
        Suite::ChaCha20Poly1305 => "ChaCha20-Poly1305",
    }
}

/// The processor's name, as the system gives it.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let name = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.map_or_else(|| format!("unknown ({})", std::env::consts::ARCH), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_tell_the_figure_its_ratio_and_its_target() {
        let results = [
            SpeedResult { key: "xor_1408_gbs", value: 100.0, ratio: None },
            SpeedResult { key: "mac_1408_gbs", value: 80.0, ratio: Some(0.8) },
        ];
        let report = Report { cpu: "a CPU".to_owned(), kernel: Kernel::chosen(), results: &results };
        let table = report.table();
        let row = table.lines().find(|line| line.starts_with("multiply")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[3..], ["80.0", "GB/s", "0.80", "0.75", "XOR", "into"], "{row}");
        assert!(!table.contains("memcpy"), "memcpy was not measured");
        let json = report.json();
        assert_eq!((&json["mac_1408_gbs"], &json["memcpy_1408_gbs"]), (&json!(80.0), &Value::Null));
        assert_eq!(json["ratios"][0]["value"], json!(0.8));
    }
}
