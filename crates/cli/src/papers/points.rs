//! From a set's template to the scenarios of its points.

use super::experiment::Set;
use ripstop_base::{Bytes, Fraction, QueueLimit, Span};
use ripstop_link::{Fec, LinkConfig, Loss};
use ripstop_sim::scenario::{FecPath, FlowSpec, RunSpec, Scenario, Tandem};
use ripstop_sim::tcp::Variant;
use serde::Deserialize;
use std::time::Duration;
use toml::{Spanned, Table, Value};

/// A scenario of a set.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Its parameters.
    pub(super) at: Vec<(String, Parameter)>,
    /// What is simulated; the number of runs is that of the set.
    pub(super) scenario: Scenario,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    /// As written.
    pub(super) text: String,
    /// As a number, where it is one: `2.5%` is 0.025.
    pub(super) number: Option<f64>,
}

/// Where something is measured: at which point, of which flow, in which interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// What parameters must be.
    pub(super) fixed: Vec<(String, Parameter)>,
    /// The parameter that takes all its values.
    pub(super) star: Option<String>,
    /// The number of a flow; all when None.
    pub(super) flow: Option<usize>,
    /// From when to when, s; the whole when None.
    pub(super) interval: Option<[f64; 2]>,
}

impl Point {
    /// The value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&Parameter> {
        self.at.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Its parameters as `R = 1.13, q = 2.5%`.
    pub(super) fn label(&self) -> String {
        self.at.iter().map(|(name, value)| format!("{name} = {}", value.text)).collect::<Vec<_>>().join(", ")
    }
}

impl Parameter {
    /// A value as it is written in an assertion.
    pub(super) fn of_text(text: &str) -> Parameter {
        let number = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|x| x / 100.0),
            None => text.parse::<f64>().ok(),
        };
        let span = || text.parse::<Span>().ok().map(|span| span.duration().as_secs_f64());
        Parameter { text: text.to_owned(), number: number.or_else(span) }
    }

    fn of_value(value: &Value) -> Option<Parameter> {
        Some(match value {
            Value::String(text) => Parameter::of_text(text),
            Value::Integer(n) => Parameter { text: n.to_string(), number: Some(*n as f64) },
            Value::Float(x) => Parameter { text: x.to_string(), number: Some(*x) },
            _ => return None,
        })
    }

    fn is(&self, other: &Parameter) -> bool {
        match (self.number, other.number) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            _ => self.text == other.text,
        }
    }
}

impl Place {
    /// As a cell writes it.
    pub(super) fn of_table(at: &Table) -> Result<Place, String> {
        let mut place = Place::default();
        for (name, value) in at {
            let value = Parameter::of_value(value).ok_or("values are numbers or texts")?;
            place.set(name, value)?;
        }
        Ok(place)
    }

    /// Adds what `name` must be.
    pub(super) fn set(&mut self, name: &str, value: Parameter) -> Result<(), String> {
        match name {
            "flow" => {
                let number = value.number.filter(|k| *k >= 0.0 && k.fract() == 0.0);
                let number = number.ok_or_else(|| format!("flow `{}` is no number from 0", value.text))?;
                self.flow = Some(number as usize);
            }
            "interval" => {
                let ends = value.text.split_once("..").and_then(|(from, to)| {
                    Some([Parameter::of_text(from).number?, Parameter::of_text(to).number?])
                });
                let ends =
                    ends.ok_or_else(|| format!("`{}` is no interval such as 350s..650s", value.text))?;
                self.interval = Some(ends);
            }
            _ if value.text == "*" && self.star.is_some() => return Err("one `*` at most".into()),
            _ if value.text == "*" => self.star = Some(name.to_owned()),
            _ => self.fixed.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// The points of a set that are meant.
    pub(super) fn select<'a>(&self, points: &'a [Point]) -> Vec<&'a Point> {
        let meant = |point: &&Point| {
            self.fixed.iter().all(|(name, value)| point.get(name).is_some_and(|own| own.is(value)))
                && self.star.as_ref().is_none_or(|name| point.get(name).is_some())
        };
        points.iter().filter(meant).collect()
    }

    /// Whether the scenario has this flow and this interval.
    ///
    /// # Errors
    /// What it has not.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let flows: usize = scenario.flow.iter().map(|flow| flow.count as usize).sum();
        if let Some(flow) = self.flow.filter(|flow| *flow >= flows) {
            return Err(format!("there is no flow {flow}, only 0 to {}", flows.saturating_sub(1)));
        }
        let seconds = |span: &Span| span.duration().as_secs_f64();
        let known = |ends: &[f64; 2]| {
            scenario.run.intervals.iter().any(|pair| [seconds(&pair[0]), seconds(&pair[1])] == *ends)
        };
        match self.interval {
            Some(ends) if !known(&ends) => {
                Err(format!("{}s..{}s is not among the intervals of the set's `run`", ends[0], ends[1]))
            }
            _ => Ok(()),
        }
    }
}

/// The points of a set: each row with each combination of the grid, the last parameter of which changes fastest.
///
/// # Errors
/// Where in the file, and what.
pub(super) fn expand(set: &Set) -> Result<Vec<Point>, (usize, String)> {
    let (kind, template) = template(set)?;
    let at = template.span().start;
    if set.runs == 0 || set.quick == Some(0) {
        return Err((set.name.span().start, "`runs`, `quick`: at least 1".into()));
    }
    let mut all: Vec<Table> = if set.rows.is_empty() { vec![Table::new()] } else { set.rows.clone() };
    for (name, values) in &set.grid {
        let with = |row: &Table, value: &Value| {
            let mut row = row.clone();
            row.insert(name.clone(), value.clone());
            row
        };
        all = all.iter().flat_map(|row| values.iter().map(move |value| with(row, value))).collect();
    }
    let point = |row: &Table| {
        let parameters: Option<Vec<_>> = row
            .iter()
            .map(|(name, value)| Parameter::of_value(value).map(|value| (name.clone(), value)))
            .collect();
        let parameters = parameters.ok_or("`rows`, `grid`: values are numbers or texts")?;
        let mut run: RunSpec = fill(&Value::Table(set.run.clone()), row)?
            .try_into()
            .map_err(|error: toml::de::Error| format!("`run`: {}", error.message()))?;
        run.runs = set.runs;
        let scenario = kind.scenario(run, fill(template.as_ref(), row)?)?;
        scenario.check().map_err(|error| error.to_string())?;
        Ok(Point { at: parameters, scenario })
    };
    all.iter().map(point).collect::<Result<_, String>>().map_err(|problem| (at, problem))
}

enum Kind {
    Tandem,
    Fec,
    Scenario,
}

fn template(set: &Set) -> Result<(Kind, &Spanned<Value>), (usize, String)> {
    match (&set.tandem, &set.fec, &set.scenario) {
        (Some(template), None, None) => Ok((Kind::Tandem, template)),
        (None, Some(template), None) => Ok((Kind::Fec, template)),
        (None, None, Some(template)) => Ok((Kind::Scenario, template)),
        _ => Err((set.name.span().start, "a set has one of `tandem`, `fec` and `scenario`".into())),
    }
}

/// Puts values in the place of their names: the text `$R` becomes the value of `R`.
fn fill(value: &Value, row: &Table) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match text.strip_prefix('$') {
            None => value.clone(),
            Some(name) => row
                .get(name)
                .cloned()
                .ok_or_else(|| format!("`${name}`: neither `rows` nor `grid` has a parameter `{name}`"))?,
        },
        Value::Array(list) => {
            Value::Array(list.iter().map(|value| fill(value, row)).collect::<Result<_, _>>()?)
        }
        Value::Table(table) => {
            let pair = |(name, value): (&String, &Value)| Ok((name.clone(), fill(value, row)?));
            Value::Table(table.iter().map(pair).collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// `[set.tandem]`: a chain, its flows from end to end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TandemSpec {
    hops: u32,
    link: LinkConfig,
    /// The way back; as `link` when left out.
    back: Option<LinkConfig>,
    flow: Vec<FlowSpec>,
}

/// `[set.fec]`: the fields are the flags of `ripstop sim fec`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FecSpec {
    k: u32,
    n: u32,
    unit_loss: Fraction,
    stay_bad: Option<Fraction>,
    #[serde(default = "paper003::mu")]
    mu: u64,
    #[serde(default = "paper003::unit")]
    unit: Bytes,
    #[serde(default = "paper003::rtt")]
    rtt: Span,
    #[serde(default = "paper003::queue")]
    queue: QueueLimit,
    #[serde(default = "paper003::one")]
    flows: u32,
    #[serde(default = "paper003::one")]
    packet_blocks: u32,
    tcp: Variant,
}

/// Paper 003, section 4.3.
mod paper003 {
    use super::{Bytes, Duration, QueueLimit, Span};

    pub(super) fn mu() -> u64 {
        3000
    }
    pub(super) fn unit() -> Bytes {
        Bytes::new(53)
    }
    pub(super) fn rtt() -> Span {
        Span::from(Duration::from_millis(560))
    }
    pub(super) fn queue() -> QueueLimit {
        QueueLimit::Packets(100)
    }
    pub(super) fn one() -> u32 {
        1
    }
}

impl Kind {
    fn scenario(&self, run: RunSpec, mut template: Value) -> Result<Scenario, String> {
        fn read<'de, T: Deserialize<'de>>(name: &str, value: Value) -> Result<T, String> {
            value.try_into().map_err(|error: toml::de::Error| format!("`{name}`: {}", error.message()))
        }
        match self {
            Kind::Tandem => {
                let flows = template.get_mut("flow").and_then(Value::as_array_mut);
                for flow in flows.into_iter().flatten().filter_map(Value::as_table_mut) {
                    for end in ["from", "to"] {
                        flow.insert(end.into(), Value::String(String::new()));
                    }
                }
                let TandemSpec { hops, link, back, flow } = read("tandem", template)?;
                let back = back.unwrap_or_else(|| link.clone());
                Ok(Tandem { run, hops, forth: link, back, flows: flow, tunnel: None }.scenario())
            }
            Kind::Fec => {
                let spec: FecSpec = read("fec", template)?;
                if spec.packet_blocks == 0 || spec.mu == 0 {
                    return Err("`fec`: `mu` and `packet-blocks` are at least 1".into());
                }
                let loss = match spec.stay_bad {
                    Some(q) if q.get() >= 1.0 => return Err("`stay-bad`: less than 100%".into()),
                    Some(q) => Loss::gilbert(spec.unit_loss, q),
                    None => Loss::bernoulli(spec.unit_loss),
                };
                let path = FecPath {
                    run,
                    fec: Fec { unit: spec.unit, ..Fec::new(spec.n, spec.k, loss) },
                    units_per_s: spec.mu,
                    rtt: spec.rtt,
                    queue: spec.queue,
                    other_loss: Loss::None,
                    packet_blocks: spec.packet_blocks,
                    flow: FlowSpec {
                        count: spec.flows,
                        tcp: spec.tcp,
                        // The receiver's window is without a limit in the paper: this one never binds.
                        window: 100_000,
                        ..FlowSpec::new("", "")
                    },
                };
                Ok(path.scenario())
            }
            Kind::Scenario => {
                let scenario: Scenario = read("scenario", template)?;
                Ok(Scenario { run, ..scenario })
            }
        }
    }
}
