//! Measures: the numbers that this crate reads from the JSON result of a cell.
//!
//! A cell is one complete scenario with its runs (see `cell/mod.rs`). This file gives a name to
//! each [`KnownMeasure`]. An experiment can give a name to any other number of the result. The
//! experiment then also gives the path of the number, which `result_path` follows.
//!
//! Some measures need a part that a result does not always have:
//!
//! - the time series: the measurements of consecutive intervals of a run (`sample` in the scenario)
//! - the trace: the record of the first run (`trace` in the experiment), with each change of the
//!   first flow's window, and the number of lost packets

pub(crate) mod result_path;

use ripstop_base::Bytes;
use serde_json::Value;
use std::str::FromStr;

/// A number that is read from the result of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// A measure that this crate knows by name.
    Known(KnownMeasure),
    /// A measure that an experiment defines in a `[[measure]]` table.
    Path {
        /// Name of the measure in the experiment.
        name: String,
        /// Path of the number in the result, such as `flows[0].delay_s.p99`.
        path: String,
        /// Unit; empty for a number without a unit.
        unit: String,
    },
}

/// The flow and the interval for which a measure is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasurePlace {
    /// Index of the flow, from 0. None means all flows.
    pub flow: Option<usize>,
    /// Start and end of the interval, s of simulated time. None means the whole measured time.
    pub interval: Option<[f64; 2]>,
}

/// A measure that this crate knows by name. If [`MeasurePlace`] selects a flow, the measure is the value of this flow.
/// Otherwise the measure is the mean over the flows, unless the description of the measure says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownMeasure {
    /// Payload delivered in order, Mbit/s.
    Goodput,
    /// Goodput plus 40 bytes of headers for each packet, Mbit/s. The receivers of ns-2, called
    /// sinks, count throughput this way.
    Sink,
    /// Units of a block code in the packets that arrived in order, units/s. The units that
    /// carry headers are included. The value is the sum over all flows.
    Units,
    /// Mean congestion window, packets.
    Cwnd,
    /// Mean smoothed round-trip time (SRTT), s.
    Srtt,
    /// Number of retransmission time-outs.
    Timeouts,
    /// Number of retransmitted packets.
    Retransmits,
    /// Mean delay from the first transmission of a packet to its delivery in order, s.
    Delay,
    /// Mean delay from the time when a source packet is seen to the time when it is decoded, s. A
    /// packet is seen when the decoder has an equation whose first unknown is this packet.
    DecodeDelay,
    /// 99th percentile of the delay from seen to decoded, s.
    DecodeP99,
    /// Largest number of rows (equations) in the decoding matrix of the flow's receiver.
    RowsMax,
    /// Number of acknowledgements that repeated the previous acknowledgement.
    RepeatedAcks,
    /// Number of combinations that relays made from received coded packets.
    Recoded,
    /// Longest queue of any link, packets. The queues are measured at the ends of the intervals of
    /// the time series.
    QueuePeak,
    /// Coefficient of variation of the first flow's goodput over the intervals of the time series:
    /// standard deviation divided by mean.
    GoodputVariation,
    /// Coefficient of variation of the first flow's congestion window.
    CwndVariation,
    /// Coefficient of variation of the first flow's smoothed round-trip time.
    SrttVariation,
    /// Number of times that the first flow's window shrank, in the traced run.
    Falls,
    /// The first flow's window just before it first shrank, packets, in the traced run.
    WindowBefore,
    /// Smallest window of the first flow after it first shrank, packets, in the traced run.
    WindowLeast,
    /// Largest window of the first flow after it first shrank, packets, in the traced run.
    WindowMost,
    /// Number of packets and acknowledgements that links lost, in the traced run.
    Lost,
}

/// A mean over runs, with its 95 % confidence interval if the interval is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredNumber {
    /// The mean over the runs.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval. None with a single run, and for measures
    /// without an interval.
    pub ci95: Option<f64>,
}

/// For each measure: its name, its unit, and its title at the axis of a figure.
#[rustfmt::skip]
const ALL: [(KnownMeasure, &str, &str, &str); 22] = [
    (KnownMeasure::Goodput, "goodput", "Mbit/s", "goodput"),
    (KnownMeasure::Sink, "sink", "Mbit/s", "throughput at the sink"),
    (KnownMeasure::Units, "units", "units/s", "throughput"),
    (KnownMeasure::Cwnd, "cwnd", "packets", "congestion window"),
    (KnownMeasure::Srtt, "srtt", "s", "smoothed round-trip time"),
    (KnownMeasure::Timeouts, "timeouts", "", "time-outs of a flow"),
    (KnownMeasure::Retransmits, "retransmits", "", "retransmissions of a flow"),
    (KnownMeasure::Delay, "delay", "s", "delay of a packet"),
    (KnownMeasure::DecodeDelay, "decode_delay", "s", "delay from seen to decoded"),
    (KnownMeasure::DecodeP99, "decode_p99", "s", "99th percentile of the delay from seen to decoded"),
    (KnownMeasure::RowsMax, "rows_max", "", "longest decoding matrix, rows"),
    (KnownMeasure::RepeatedAcks, "repeated_acks", "", "repeated acknowledgements of a flow"),
    (KnownMeasure::Recoded, "recoded", "", "combinations made by relays"),
    (KnownMeasure::QueuePeak, "queue_peak", "packets", "longest queue"),
    (KnownMeasure::GoodputVariation, "goodput_variation", "", "standard deviation over mean of the goodput"),
    (KnownMeasure::CwndVariation, "cwnd_variation", "", "standard deviation over mean of the window"),
    (KnownMeasure::SrttVariation, "srtt_variation", "", "standard deviation over mean of the SRTT"),
    (KnownMeasure::Falls, "falls", "", "times that the window shrank"),
    (KnownMeasure::WindowBefore, "window_before", "packets", "window before it first shrank"),
    (KnownMeasure::WindowLeast, "window_least", "packets", "smallest window after it first shrank"),
    (KnownMeasure::WindowMost, "window_most", "packets", "largest window after it first shrank"),
    (KnownMeasure::Lost, "lost", "packets", "lost packets"),
];

/// Headers of a packet, bytes: 20 of IPv4 and 20 of TCP, as ns-2's sinks count them.
/// [`KnownMeasure::Sink`] is goodput times (payload + headers) / payload. With 1000-byte packets,
/// half the value lowers this measure by 1.9 %, and twice the value raises it by 3.8 %.
const HEADERS: f64 = 40.0;

impl FromStr for KnownMeasure {
    type Err = String;

    fn from_str(text: &str) -> Result<KnownMeasure, String> {
        ALL.iter().find(|(_, name, ..)| *name == text).map(|(measure, ..)| *measure).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|(_, name, ..)| *name).collect();
            format!("there is no measure `{text}`; the measures are {}", names.join(", "))
        })
    }
}

impl Measure {
    /// The name, as experiments write it.
    pub fn name(&self) -> &str {
        match self {
            Measure::Known(known) => known.name(),
            Measure::Path { name, .. } => name,
        }
    }

    /// The unit; empty for a number without a unit.
    pub fn unit(&self) -> &str {
        match self {
            Measure::Known(known) => known.unit(),
            Measure::Path { unit, .. } => unit,
        }
    }

    /// The label of an axis: title and unit.
    pub fn axis(&self) -> String {
        match self {
            Measure::Known(known) => known.axis(),
            Measure::Path { name, unit, .. } => with_unit(name, unit),
        }
    }

    /// Whether the measure needs the time series of a result.
    pub fn needs_series(&self) -> bool {
        matches!(self, Measure::Known(known) if known.needs_series())
    }

    /// Whether the measure needs the trace of a run.
    pub fn needs_trace(&self) -> bool {
        matches!(self, Measure::Known(known) if known.needs_trace())
    }

    /// Reads the measure from the result of a cell. None if the result has no value for it.
    ///
    /// # Errors
    /// Fails when the path of the measure does not exist in the result.
    pub fn read(&self, result: &Value, place: &MeasurePlace) -> Result<Option<MeasuredNumber>, String> {
        match self {
            Measure::Known(known) => Ok(known.read(result, place)),
            Measure::Path { path, .. } => result_path::find_number(result, path),
        }
    }

    /// The measure of one flow over time, as pairs of time (s) and value. None if the measure is
    /// not recorded over time.
    pub fn over_time(&self, result: &Value, flow: usize) -> Option<Vec<(f64, f64)>> {
        match self {
            Measure::Known(known) => known.over_time(result, flow),
            Measure::Path { .. } => None,
        }
    }
}

impl KnownMeasure {
    /// The name, as experiments write it.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(measure, ..)| *measure == self).map_or("", |(_, name, ..)| name)
    }

    /// The unit; empty for a number without a unit.
    pub fn unit(self) -> &'static str {
        ALL.iter().find(|(measure, ..)| *measure == self).map_or("", |(_, _, unit, _)| unit)
    }

    /// The title of the measure in a figure.
    pub fn title(self) -> &'static str {
        ALL.iter().find(|(measure, ..)| *measure == self).map_or("", |(.., title)| title)
    }

    /// The label of an axis: title and unit.
    pub fn axis(self) -> String {
        with_unit(self.title(), self.unit())
    }

    /// Whether the measure needs the time series of a result.
    pub fn needs_series(self) -> bool {
        use KnownMeasure::{CwndVariation, GoodputVariation, QueuePeak, SrttVariation};
        matches!(self, QueuePeak | GoodputVariation | CwndVariation | SrttVariation)
    }

    /// Whether the measure needs the trace of a run.
    pub fn needs_trace(self) -> bool {
        use KnownMeasure::{Falls, Lost, WindowBefore, WindowLeast, WindowMost};
        matches!(self, Falls | Lost | WindowBefore | WindowLeast | WindowMost)
    }

    /// Reads the measure from the result of a cell. None if the result has no value for it.
    pub fn read(self, report: &Value, place: &MeasurePlace) -> Option<MeasuredNumber> {
        let part = match place.interval {
            None => report,
            Some([from, to]) => report["intervals"]
                .as_array()?
                .iter()
                .find(|part| part["from_s"].as_f64() == Some(from) && part["to_s"].as_f64() == Some(to))?,
        };
        let over = |path: &str, read: fn(&Value) -> Option<MeasuredNumber>| {
            let flows = part["flows"].as_array()?;
            let chosen: Vec<&Value> = match place.flow {
                None => flows.iter().collect(),
                Some(k) => vec![flows.get(k)?],
            };
            let each: Option<Vec<MeasuredNumber>> = chosen.iter().map(|flow| read(flow.pointer(path)?)).collect();
            Some(mean(&each?))
        };
        let over_flows = |path: &str| over(path, statistic);
        let goodput = || match place.flow {
            None => statistic(&part["goodput_bps"]),
            Some(_) => over_flows("/goodput_bps"),
        };
        let from_trace = |name: &str| plain(report["trace"][name].as_f64()?);
        match self {
            KnownMeasure::Goodput => goodput()?.times(1e-6),
            KnownMeasure::Sink => {
                let payload = report["scenario"]["flow"][0]["packet"].as_str()?.parse::<Bytes>().ok()?.get() as f64;
                goodput()?.times(1e-6 * (payload + HEADERS) / payload)
            }
            KnownMeasure::Units => statistic(&report["throughput_units_per_s"]),
            KnownMeasure::Cwnd => over_flows("/cwnd_packets"),
            KnownMeasure::Srtt => over_flows("/srtt_s"),
            KnownMeasure::Timeouts => over_flows("/timeouts"),
            KnownMeasure::Retransmits => over_flows("/retransmits"),
            KnownMeasure::Delay => over_flows("/delay_s"),
            KnownMeasure::DecodeDelay => over_flows("/decode_delay_s"),
            KnownMeasure::DecodeP99 => over("/decode_delay_s/p99", |p99| plain(p99.as_f64()?)),
            KnownMeasure::RowsMax => over_flows("/nc/rows_max"),
            KnownMeasure::RepeatedAcks => over_flows("/nc/repeated_acks"),
            KnownMeasure::Recoded => over_flows("/nc/recoded"),
            KnownMeasure::QueuePeak => {
                let links = report["series"]["links"].as_array()?;
                let all = links.iter().filter_map(|link| link["queue_packets"].as_array()).flatten();
                plain(all.filter_map(Value::as_f64).fold(0.0, f64::max))
            }
            KnownMeasure::GoodputVariation => variation(report, "goodput_bps"),
            KnownMeasure::CwndVariation => variation(report, "cwnd_packets"),
            KnownMeasure::SrttVariation => variation(report, "srtt_s"),
            KnownMeasure::Falls => from_trace("falls"),
            KnownMeasure::WindowBefore => from_trace("window_before"),
            KnownMeasure::WindowLeast => from_trace("window_least"),
            KnownMeasure::WindowMost => from_trace("window_most"),
            KnownMeasure::Lost => from_trace("lost"),
        }
    }

    /// The measure of one flow over time, as pairs of time (s) and value. None if the measure is
    /// not recorded over time.
    pub fn over_time(self, report: &Value, flow: usize) -> Option<Vec<(f64, f64)>> {
        if self == KnownMeasure::Cwnd
            && flow == 0
            && let Some(record) = report["trace"]["window"].as_array()
        {
            return Some(record.iter().filter_map(|pair| Some((pair[0].as_f64()?, pair[1].as_f64()?))).collect());
        }
        let (key, scale) = match self {
            KnownMeasure::Goodput => ("goodput_bps", 1e-6),
            KnownMeasure::Cwnd => ("cwnd_packets", 1.0),
            KnownMeasure::Srtt => ("srtt_s", 1.0),
            _ => return None,
        };
        let series = &report["series"];
        let moments = series["until_s"].as_array()?.iter();
        let values = series["flows"][flow][key].as_array()?.iter();
        Some(moments.zip(values).filter_map(|(at, value)| Some((at.as_f64()?, value.as_f64()? * scale))).collect())
    }
}

impl MeasuredNumber {
    fn times(self, factor: f64) -> Option<MeasuredNumber> {
        Some(MeasuredNumber { mean: self.mean * factor, ci95: self.ci95.map(|ci95| ci95 * factor) })
    }
}

/// An axis label: the name, and the unit if there is one.
fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}

/// A number without a confidence interval.
fn plain(mean: f64) -> Option<MeasuredNumber> {
    Some(MeasuredNumber { mean, ci95: None })
}

/// The mean and the confidence interval of a statistic in a result. None if the statistic was not
/// measured.
fn statistic(value: &Value) -> Option<MeasuredNumber> {
    Some(MeasuredNumber { mean: value["mean"].as_f64()?, ci95: value["ci95"].as_f64() })
}

/// The mean over flows. Flows share their links, so the errors of the flows count as fully
/// correlated: the half-width is the mean of the half-widths.
fn mean(each: &[MeasuredNumber]) -> MeasuredNumber {
    let n = each.len() as f64;
    let ci95: Option<f64> = each.iter().map(|number| number.ci95).sum();
    MeasuredNumber { mean: each.iter().map(|number| number.mean).sum::<f64>() / n, ci95: ci95.map(|sum| sum / n) }
}

/// Coefficient of variation of the field `key` of the first flow, over the intervals of the time
/// series.
fn variation(report: &Value, key: &str) -> Option<MeasuredNumber> {
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
        for (measure, name, ..) in ALL {
            assert_eq!(name.parse(), Ok(measure));
            assert_eq!(measure.name(), name);
        }
        assert!("good-put".parse::<KnownMeasure>().unwrap_err().contains("goodput"));
    }

    #[test]
    fn flows_and_intervals_are_told_apart() {
        let flow = |bps: f64| json!({"goodput_bps": {"mean": bps, "ci95": 1e5, "n": 3}});
        let result = json!({"scenario": {"flow": [{"packet": "1000B"}]},
            "goodput_bps": {"mean": 3e6, "ci95": null, "n": 1}, "flows": [flow(2e6), flow(4e6)],
            "intervals": [{"from_s": 1.0, "to_s": 2.0, "goodput_bps": {"mean": 9e6}, "flows": [flow(8e6), flow(1e7)]}],
            "series": {"flows": [{"cwnd_packets": [1.0, 3.0]}], "links": [{"queue_packets": [2.0, 7.0]}], "until_s": [1, 2]}});
        let read = |measure: KnownMeasure, flow, interval| measure.read(&result, &MeasurePlace { flow, interval });
        assert_eq!(read(KnownMeasure::Goodput, None, None), Some(MeasuredNumber { mean: 3.0, ci95: None }));
        assert_eq!(read(KnownMeasure::Goodput, Some(1), None).map(|n| n.mean), Some(4.0));
        assert_eq!(read(KnownMeasure::Goodput, Some(0), Some([1.0, 2.0])).map(|n| n.mean), Some(8.0));
        assert_eq!(read(KnownMeasure::Goodput, Some(0), Some([1.0, 3.0])), None);
        assert!((read(KnownMeasure::Sink, None, None).unwrap().mean - 3.12).abs() < 1e-12);
        assert_eq!(read(KnownMeasure::CwndVariation, None, None).map(|n| n.mean), Some(0.5));
        assert_eq!(read(KnownMeasure::QueuePeak, None, None).map(|n| n.mean), Some(7.0));
        assert_eq!(read(KnownMeasure::Srtt, None, None), None);
        assert_eq!(KnownMeasure::Cwnd.over_time(&result, 0), Some(vec![(1.0, 1.0), (2.0, 3.0)]));
    }
}
