//! What all cells start from, a preset or a file, and the scenario that comes of it with a cell's settings.

use super::place::Source;
use super::plan::{CASE, Plan, Setting, written};
use crate::failure::{Failure, Outcome};
use crate::sim::{FlagKind, Preset, PresetFlag};
use ripstop_sim::scenario::Scenario;
use serde::Deserialize;
use toml::{Table, Value};

/// Where the scenarios come from.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// Keys are flags.
    Preset(Preset, Vec<PresetFlag>),
    /// Keys are paths into a scenario's file.
    File(Table),
}

/// A scenario, as it is kept and run.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    /// As JSON: the whole of it.
    pub(super) text: String,
    pub(super) scenario: Scenario,
}

/// Why the settings of a cell make no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Where the fault stands in the plan.
    pub(super) at: usize,
    /// The key, what is wrong, and what would be right.
    pub(super) problem: String,
}

impl Base {
    /// The base that a plan names; the keys that name it are taken out of [`Plan::base`].
    ///
    /// # Errors
    /// A base that is not there, is wrong in itself, or has no such flag as a key of the plan.
    pub(super) fn of(plan: &mut Plan) -> Outcome<Base> {
        let mut take = |name: &str| {
            let k = plan.base.iter().position(|setting| setting.key == name)?;
            Some(plan.base.remove(k))
        };
        let (preset, file) = (take("preset"), take("scenario"));
        let source = &plan.source;
        let text = |setting: &Setting| match &setting.value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(source.wrong(setting.at, format!("{}: write a text in quotes", setting.key))),
        };
        let base = match (preset, file) {
            (Some(preset), None) => {
                let name = text(&preset)?;
                let known = Preset::named(&name).ok_or_else(|| {
                    let problem = format!("preset: there is no `{name}`; there are `tandem` and `fec`");
                    source.wrong(preset.at, problem)
                })?;
                Base::Preset(known, known.flags())
            }
            (None, Some(file)) => {
                let path = source.beside(&text(&file)?);
                let below = Source::read(&path).map_err(|failure| match failure {
                    Failure::Work(words) => source.wrong(file.at, format!("scenario: {words}")),
                    other => other,
                })?;
                Scenario::parse(&below.text)
                    .map_err(|error| Failure::Config(format!("{}:{error}", path.display())))?;
                let table = toml::from_str(&below.text);
                Base::File(table.map_err(|error| Failure::Config(format!("{}: {error}", path.display())))?)
            }
            (Some(_), Some(file)) => {
                let problem = "scenario: there is a preset already; leave one of the two out";
                return Err(source.wrong(file.at, problem));
            }
            (None, None) => {
                let problem =
                    "[base] needs `preset = \"tandem\"`, `preset = \"fec\"` or `scenario = \"FILE.toml\"`";
                return Err(source.wrong(plan.base_at, problem));
            }
        };
        base.check_keys(plan)?;
        Ok(base)
    }

    /// The scenario of a cell that sets `cell` over the plan's base.
    ///
    /// # Errors
    /// Which setting is to blame.
    pub(super) fn resolve(&self, plan: &Plan, cell: &[&Setting]) -> Result<Resolved, Wrong> {
        let mut settings: Vec<&Setting> =
            plan.base.iter().filter(|base| !cell.iter().any(|own| own.key == base.key)).collect();
        settings.extend(cell.iter().filter(|setting| setting.key != CASE));
        self.build(&settings).map_err(|fault| {
            // What the message does not name is found by leaving one setting out after the other.
            let blamed = fault.setting.or_else(|| {
                (0..settings.len()).rev().find(|k| {
                    let others = settings.iter().enumerate().filter(|(other, _)| other != k);
                    self.build(&others.map(|(_, setting)| *setting).collect::<Vec<_>>()).is_ok()
                })
            });
            match blamed.map(|k| settings[k]) {
                Some(setting) => {
                    Wrong { at: setting.at, problem: format!("{}: {}", setting.key, fault.problem) }
                }
                None => Wrong { at: plan.base_at, problem: fault.problem },
            }
        })
    }

    fn build(&self, settings: &[&Setting]) -> Result<Resolved, Fault> {
        let scenario = match self {
            Base::Preset(preset, flags) => by_flags(*preset, flags, settings),
            Base::File(table) => by_paths(table, settings),
        }?;
        Resolved::of(&scenario).map_err(|problem| Fault { setting: None, problem })
    }

    /// Flags are known beforehand; a path is right or wrong when it is followed.
    fn check_keys(&self, plan: &Plan) -> Outcome<()> {
        let Base::Preset(preset, flags) = self else { return Ok(()) };
        let of_axes = plan.axes.iter().flat_map(|axis| axis.levels.iter().flatten());
        for setting in plan.base.iter().chain(of_axes.filter(|setting| setting.key != CASE)) {
            let Setting { key, value, at } = setting;
            let Some(flag) = flags.iter().find(|flag| flag.name == *key) else {
                let names: Vec<&str> = flags.iter().map(|flag| flag.name.as_str()).collect();
                let problem =
                    format!("`sim {}` has no flag `{key}`; it has {}", preset.name(), names.join(", "));
                return Err(plan.source.wrong(*at, problem));
            };
            let problem = match (flag.kind == FlagKind::Switch, value) {
                (true, Value::Boolean(_)) => continue,
                (true, _) => format!("{key}: on or off; write true or false"),
                (false, Value::Boolean(_)) => format!("{key}: takes a value, such as --{key} does"),
                (false, Value::Table(_)) => format!("{key}: a table is no value of a flag"),
                (false, _) => continue,
            };
            return Err(plan.source.wrong(*at, problem));
        }
        Ok(())
    }
}

impl Resolved {
    /// The scenario exactly as its text says: what is kept can be run again, to the last bit.
    fn of(scenario: &Scenario) -> Result<Resolved, String> {
        let text = serde_json::to_string(scenario).map_err(|error| error.to_string())?;
        let scenario: Scenario = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        scenario.check().map_err(|error| error.to_string())?;
        Ok(Resolved { text: serde_json::to_string(&scenario).map_err(|error| error.to_string())?, scenario })
    }
}

/// What is wrong, and the number of the setting that is to blame, where it is known.
struct Fault {
    setting: Option<usize>,
    problem: String,
}

fn by_flags(preset: Preset, flags: &[PresetFlag], settings: &[&Setting]) -> Result<Scenario, Fault> {
    let mut words = Vec::with_capacity(settings.len());
    for Setting { key, value, .. } in settings {
        let switch = flags.iter().any(|flag| flag.name == *key && flag.kind == FlagKind::Switch);
        match value {
            Value::Boolean(on) if switch => words.extend(on.then(|| format!("--{key}"))),
            Value::Array(list) => words.extend(list.iter().map(|item| format!("--{key}={}", written(item)))),
            one => words.push(format!("--{key}={}", written(one))),
        }
    }
    preset.scenario(&words).map_err(|wrong| {
        let name = wrong.flag.as_deref().map(|flag| flag.trim_start_matches('-'));
        let setting = settings.iter().position(|setting| Some(setting.key.as_str()) == name);
        match (setting, wrong.flag) {
            // A flag that nobody gave: its default does not go with what was given.
            (None, Some(flag)) => Fault { setting, problem: format!("{flag}: {}", wrong.problem) },
            _ => Fault { setting, problem: wrong.problem },
        }
    })
}

fn by_paths(table: &Table, settings: &[&Setting]) -> Result<Scenario, Fault> {
    let mut root = Value::Table(table.clone());
    for (k, setting) in settings.iter().enumerate() {
        put(&mut root, &steps(&setting.key), &setting.value)
            .map_err(|problem| Fault { setting: Some(k), problem })?;
    }
    let scenario = Scenario::deserialize(root)
        .map_err(|error| Fault { setting: None, problem: error.message().trim_end().to_owned() })?;
    scenario.check().map_err(|error| {
        let fields = steps(&error.field);
        let names = |setting: &Setting| {
            let path = steps(&setting.key);
            path.iter().zip(&fields).all(|(step, field)| step == field || step == "*")
        };
        Fault { setting: settings.iter().rposition(|setting| names(setting)), problem: error.to_string() }
    })?;
    Ok(scenario)
}

/// `link[0].forth.loss` and `link.0.forth.loss`, step by step.
pub(super) fn steps(path: &str) -> Vec<String> {
    path.replace('[', ".").replace(']', "").split('.').map(str::to_owned).collect()
}

/// Puts `value` where `path` leads; `*` leads to each item of a list.
fn put(here: &mut Value, path: &[String], value: &Value) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        *here = value.clone();
        return Ok(());
    };
    match here {
        Value::Table(table) if rest.is_empty() => {
            table.insert(step.clone(), value.clone());
            Ok(())
        }
        Value::Table(table) => {
            put(table.entry(step.clone()).or_insert_with(|| Value::Table(Table::new())), rest, value)
        }
        Value::Array(list) if step == "*" => list.iter_mut().try_for_each(|item| put(item, rest, value)),
        Value::Array(list) => {
            let length = list.len();
            let item = step.parse().ok().and_then(|index: usize| list.get_mut(index));
            let item =
                item.ok_or_else(|| format!("`{step}` leads nowhere; there are {length}, from 0, or `*`"))?;
            put(item, rest, value)
        }
        other => Err(format!("`{step}` leads nowhere: there is `{}` already, not a table", written(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = "[[link]]\nbetween = [\"a\", \"b\"]\nforth = { rate = \"1Mbit/s\" }\n\
                         [[link]]\nbetween = [\"b\", \"c\"]\n[[flow]]\nfrom = \"a\"\nto = \"c\"\n";

    fn cell(keys: &str) -> Result<Scenario, String> {
        let text = format!("[base]\npreset = \"tandem\"\n[[cases]]\n{keys}\n");
        let plan = Plan::read(Source { path: "plan.toml".into(), text }).map_err(|e| format!("{e:?}"))?;
        let base = Base::File(toml::from_str(CHAIN).unwrap());
        let plan = Plan { base: Vec::new(), ..plan };
        let resolved = base.resolve(&plan, &plan.cell(0));
        resolved.map(|resolved| resolved.scenario).map_err(|wrong| {
            let line = plan.source.place(wrong.at).line;
            format!("{line}: {}", wrong.problem)
        })
    }

    #[test]
    fn paths_lead_into_the_file() {
        let scenario =
            cell("\"link[*].forth.loss\" = \"2%\"\nlink.1.forth.rate = \"5Mbit/s\"\nrun.runs = 3\nflow.0.nc.redundancy = 1.2")
                .unwrap();
        assert_eq!(scenario.link[0].forth.loss, scenario.link[1].forth.loss);
        assert_eq!(
            scenario.link.iter().map(|l| l.forth.rate.bps()).collect::<Vec<_>>(),
            [1_000_000, 5_000_000]
        );
        assert!(scenario.run.runs == 3 && scenario.flow[0].nc.is_some());
    }

    #[test]
    fn what_cannot_be_blames_a_line() {
        for (keys, words) in [
            ("run.runs = 3\nlink.7.forth.rate = 1", "5: link.7.forth.rate: `7` leads nowhere; there are 2"),
            (
                "link.0.forth.rate.x = 1",
                "4: link.0.forth.rate.x: `x` leads nowhere: there is `1Mbit/s` already",
            ),
            ("run.runs = 3\nrun.seeed = 3", "5: run.seeed: unknown field `seeed`"),
            ("run.runs = 0\nrun.seed = 3", "4: run.runs: `run.runs`: 0 runs; from 1"),
            ("run.seed = 3\n\"link[*].forth.loss\" = 2", "5: link[*].forth.loss: "),
            ("run.seed = 3\nflow.0.to = \"d\"", "5: flow.0.to: `flow[0].to`: no link names the node `d`"),
        ] {
            let error = cell(keys).unwrap_err();
            assert!(error.contains(words), "{keys}: {error}");
        }
    }

    #[test]
    fn what_is_kept_is_what_is_run() {
        // A share that its text cannot hold is run as its text says.
        let text =
            "[base]\npreset = \"tandem\"\nloss = 0.0123456789012345\nnc = true\nredundancy = \"auto\"\n";
        let mut plan = Plan::read(Source { path: "plan.toml".into(), text: text.to_owned() }).unwrap();
        let base = Base::of(&mut plan).unwrap();
        let resolved = base.resolve(&plan, &plan.cell(0)).unwrap();
        let again = Resolved::of(&resolved.scenario).unwrap();
        assert_eq!((&again.text, &again.scenario), (&resolved.text, &resolved.scenario));
    }
}
