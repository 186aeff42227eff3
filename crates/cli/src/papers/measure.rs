//! What can be measured, and where it stands in a result.

use super::points::Place;
use ripstop_base::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::str::FromStr;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Measure {
    /// Payload that arrived in order, mean of the flows, Mbit/s.
    Goodput,
    /// The same with 40 bytes of headers for each packet, as ns-2's sinks count, Mbit/s.
    Sink,
    /// Units that arrived in order, all flows, units/s.
    Units,
    /// Mean window, packets.
    Cwnd,
    /// Mean smoothed round-trip time, s.
    Srtt,
    /// Time-outs a flow.
    Timeouts,
    /// Packets sent again, a flow.
    Retransmits,
    /// From first transmission to delivery in order, s.
    Delay,
    /// From seen to decoded, s.
    DecodeDelay,
    /// Its 99th percentile, s.
    DecodeP99,
    /// The most combinations that waited at a receiver.
    RowsMax,
    /// Answers that repeated the one before.
    RepeatedAcks,
    /// Combinations made by relays.
    Recoded,
    /// The longest queue at the end of a piece of the series, packets.
    QueuePeak,
    /// Standard deviation over mean of the first flow's goodput over the pieces of the series.
    GoodputVariation,
    /// The same of its window.
    CwndVariation,
    /// The same of its smoothed round-trip time.
    SrttVariation,
    /// Times that the window of the first flow shrank, by the record of a run.
    Falls,
    /// The window before it first shrank, packets.
    WindowBefore,
    /// The smallest window from then on, packets.
    WindowLeast,
    /// The largest window from then on, packets.
    WindowMost,
    /// What links dropped for loss, packets and acknowledgements.
    Lost,
}

/// A number with half of its 95 % interval, where that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) mean: f64,
    pub(super) ci95: Option<f64>,
}

/// Names, units.
const ALL: [(Measure, &str, &str); 22] = [
    (Measure::Goodput, "goodput", "Mbit/s"),
    (Measure::Sink, "sink", "Mbit/s"),
    (Measure::Units, "units", "units/s"),
    (Measure::Cwnd, "cwnd", "packets"),
    (Measure::Srtt, "srtt", "s"),
    (Measure::Timeouts, "timeouts", ""),
    (Measure::Retransmits, "retransmits", ""),
    (Measure::Delay, "delay", "s"),
    (Measure::DecodeDelay, "decode_delay", "s"),
    (Measure::DecodeP99, "decode_p99", "s"),
    (Measure::RowsMax, "rows_max", ""),
    (Measure::RepeatedAcks, "repeated_acks", ""),
    (Measure::Recoded, "recoded", ""),
    (Measure::QueuePeak, "queue_peak", "packets"),
    (Measure::GoodputVariation, "goodput_variation", ""),
    (Measure::CwndVariation, "cwnd_variation", ""),
    (Measure::SrttVariation, "srtt_variation", ""),
    (Measure::Falls, "falls", ""),
    (Measure::WindowBefore, "window_before", "packets"),
    (Measure::WindowLeast, "window_least", "packets"),
    (Measure::WindowMost, "window_most", "packets"),
    (Measure::Lost, "lost", "packets"),
];

/// IP and TCP.
const HEADERS: f64 = 40.0;

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Measure, String> {
        ALL.iter().find(|(_, name, _)| *name == text).map(|(measure, ..)| *measure).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|(_, name, _)| *name).collect();
            format!("nothing is measured as `{text}`; there are {}", names.join(", "))
        })
    }
}

impl Measure {
    /// As it is written.
    pub(super) fn name(self) -> &'static str {
        ALL.iter().find(|(measure, ..)| *measure == self).map_or("", |(_, name, _)| name)
    }

    /// Its unit; empty for a number.
    pub(super) fn unit(self) -> &'static str {
        ALL.iter().find(|(measure, ..)| *measure == self).map_or("", |(.., unit)| unit)
    }

    /// Whether it is read from a series over time.
    pub(super) fn needs_series(self) -> bool {
        use Measure::{CwndVariation, GoodputVariation, QueuePeak, SrttVariation};
        matches!(self, QueuePeak | GoodputVariation | CwndVariation | SrttVariation)
    }

    /// Whether it is read from the record of a run.
    pub(super) fn needs_trace(self) -> bool {
        use Measure::{Falls, Lost, WindowBefore, WindowLeast, WindowMost};
        matches!(self, Falls | Lost | WindowBefore | WindowLeast | WindowMost)
    }

    /// Reads it from the result of a cell. None where it was not measured.
    pub(super) fn read(self, report: &Value, place: &Place) -> Option<Number> {
        let part = match place.interval {
            None => report,
            Some([from, to]) => report["intervals"]
                .as_array()?
                .iter()
                .find(|part| part["from_s"].as_f64() == Some(from) && part["to_s"].as_f64() == Some(to))?,
        };
        let over = |path: &str, read: fn(&Value) -> Option<Number>| {
            let flows = part["flows"].as_array()?;
            let chosen: Vec<&Value> = match place.flow {
                None => flows.iter().collect(),
                Some(k) => vec![flows.get(k)?],
            };
            let each: Option<Vec<Number>> = chosen.iter().map(|flow| read(flow.pointer(path)?)).collect();
            Some(mean(&each?))
        };
        let over_flows = |path: &str| over(path, statistic);
        let goodput = || match place.flow {
            None => statistic(&part["goodput_bps"]),
            Some(_) => over_flows("/goodput_bps"),
        };
        let from_trace = |name: &str| plain(report["trace"][name].as_f64()?);
        match self {
            Measure::Goodput => goodput()?.times(1e-6),
            Measure::Sink => {
                let payload =
                    report["scenario"]["flow"][0]["packet"].as_str()?.parse::<Bytes>().ok()?.get() as f64;
                goodput()?.times(1e-6 * (payload + HEADERS) / payload)
            }
            Measure::Units => statistic(&report["throughput_units_per_s"]),
            Measure::Cwnd => over_flows("/cwnd_packets"),
            Measure::Srtt => over_flows("/srtt_s"),
            Measure::Timeouts => over_flows("/timeouts"),
            Measure::Retransmits => over_flows("/retransmits"),
            Measure::Delay => over_flows("/delay_s"),
            Measure::DecodeDelay => over_flows("/decode_delay_s"),
            Measure::DecodeP99 => over("/decode_delay_s/p99", |p99| plain(p99.as_f64()?)),
            Measure::RowsMax => over_flows("/nc/rows_max"),
            Measure::RepeatedAcks => over_flows("/nc/repeated_acks"),
            Measure::Recoded => over_flows("/nc/recoded"),
            Measure::QueuePeak => {
                let links = report["series"]["links"].as_array()?;
                let all = links.iter().filter_map(|link| link["queue_packets"].as_array()).flatten();
                plain(all.filter_map(Value::as_f64).fold(0.0, f64::max))
            }
            Measure::GoodputVariation => variation(report, "goodput_bps"),
            Measure::CwndVariation => variation(report, "cwnd_packets"),
            Measure::SrttVariation => variation(report, "srtt_s"),
            Measure::Falls => from_trace("falls"),
            Measure::WindowBefore => from_trace("window_before"),
            Measure::WindowLeast => from_trace("window_least"),
            Measure::WindowMost => from_trace("window_most"),
            Measure::Lost => from_trace("lost"),
        }
    }

    /// The same over time, of the first flow: pairs of a moment and a value.
    pub(super) fn over_time(self, report: &Value) -> Option<Vec<(f64, f64)>> {
        if self == Measure::Cwnd
            && let Some(record) = report["trace"]["window"].as_array()
        {
            return Some(
                record.iter().filter_map(|pair| Some((pair[0].as_f64()?, pair[1].as_f64()?))).collect(),
            );
        }
        let (key, scale) = match self {
            Measure::Goodput => ("goodput_bps", 1e-6),
            Measure::Cwnd => ("cwnd_packets", 1.0),
            Measure::Srtt => ("srtt_s", 1.0),
            _ => return None,
        };
        let series = &report["series"];
        let moments = series["until_s"].as_array()?.iter();
        let values = series["flows"][0][key].as_array()?.iter();
        Some(
            moments
                .zip(values)
                .filter_map(|(at, value)| Some((at.as_f64()?, value.as_f64()? * scale)))
                .collect(),
        )
    }
}

impl Number {
    fn times(self, factor: f64) -> Option<Number> {
        Some(Number { mean: self.mean * factor, ci95: self.ci95.map(|ci95| ci95 * factor) })
    }
}

fn plain(mean: f64) -> Option<Number> {
    Some(Number { mean, ci95: None })
}

fn statistic(value: &Value) -> Option<Number> {
    Some(Number { mean: value["mean"].as_f64()?, ci95: value["ci95"].as_f64() })
}

/// The mean of flows; its interval as if they were one, since they share their links.
fn mean(each: &[Number]) -> Number {
    let n = each.len() as f64;
    let ci95: Option<f64> = each.iter().map(|number| number.ci95).sum();
    Number { mean: each.iter().map(|number| number.mean).sum::<f64>() / n, ci95: ci95.map(|sum| sum / n) }
}

/// Standard deviation over mean of what the first flow did in the pieces of the series.
fn variation(report: &Value, key: &str) -> Option<Number> {
    let pieces = report["series"]["flows"][0][key].as_array()?;
    let values: Vec<f64> = pieces.iter().filter_map(Value::as_f64).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    plain((squares / values.len() as f64).sqrt() / mean).filter(|number| number.mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_measure_is_listed_once_and_read_back() {
        for (measure, name, _) in ALL {
            assert_eq!(name.parse(), Ok(measure));
            assert_eq!(measure.name(), name);
        }
        assert!("good-put".parse::<Measure>().unwrap_err().contains("goodput"));
    }

    #[test]
    fn flows_and_intervals_are_told_apart() {
        let flow = |bps: f64| json!({"goodput_bps": {"mean": bps, "ci95": 1e5, "n": 3}});
        let result = json!({"scenario": {"flow": [{"packet": "1000B"}]},
            "goodput_bps": {"mean": 3e6, "ci95": null, "n": 1}, "flows": [flow(2e6), flow(4e6)],
            "intervals": [{"from_s": 1.0, "to_s": 2.0, "goodput_bps": {"mean": 9e6}, "flows": [flow(8e6), flow(1e7)]}],
            "series": {"flows": [{"cwnd_packets": [1.0, 3.0]}], "links": [{"queue_packets": [2.0, 7.0]}], "until_s": [1, 2]}});
        let read = |measure: Measure, flow, interval| {
            measure.read(&result, &Place { flow, interval, ..Place::default() })
        };
        assert_eq!(read(Measure::Goodput, None, None), Some(Number { mean: 3.0, ci95: None }));
        assert_eq!(read(Measure::Goodput, Some(1), None).map(|n| n.mean), Some(4.0));
        assert_eq!(read(Measure::Goodput, Some(0), Some([1.0, 2.0])).map(|n| n.mean), Some(8.0));
        assert_eq!(read(Measure::Goodput, Some(0), Some([1.0, 3.0])), None);
        assert!((read(Measure::Sink, None, None).unwrap().mean - 3.12).abs() < 1e-12);
        assert_eq!(read(Measure::CwndVariation, None, None).map(|n| n.mean), Some(0.5));
        assert_eq!(read(Measure::QueuePeak, None, None).map(|n| n.mean), Some(7.0));
        assert_eq!(read(Measure::Srtt, None, None), None);
        assert_eq!(Measure::Cwnd.over_time(&result), Some(vec![(1.0, 1.0), (2.0, 3.0)]));
    }
}
