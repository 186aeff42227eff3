//! Builds the scenario of a cell from the base of its set and the cell's own settings.
//!
//! The base is what all cells of a set have in common: a preset with parameters, a scenario, or a
//! chain of equal links. A value `$name` in `[base]` or on an axis is a placeholder (called a hole
//! in the code).
//! The placeholder stands for the value of the key `name`. An axis of the grid gives this key a
//! value in each cell, or `[base]` gives it one value for all cells.

use super::grid::{CASE, GridSpec, KeySetting, written};
use super::paths::{put, steps};
use super::source::SourceText;
use crate::error::{LabError, LabResult};
use crate::expect::check_scenario;
use crate::preset::{MOST_HOPS, ParameterKind, Preset};
use ripstop_link::LinkConfig;
use ripstop_sim::scenario::{FlowSpec, RunSpec, Scenario, Tandem};
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// The base from which the scenarios of a set are built.
#[derive(Clone, Debug)]
pub(super) enum CellBase {
    /// A preset. Keys are parameters of the preset.
    Preset(Preset),
    /// A scenario, which comes from a file or is empty. Keys are paths into the scenario.
    Scenario(Table),
    /// A chain of equal links. Keys are paths into the tables `run` and `tandem` of the base.
    Chain,
}

/// A setting that makes the scenario of a cell invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    /// The byte offset of the setting in the file.
    pub at: usize,
    /// The key, what is wrong, and what would be right.
    pub problem: String,
}

/// The base of a set, and the keys of the set that do not set a parameter or a field themselves.
#[derive(Clone, Debug)]
pub(super) struct BaseSpec {
    pub(super) base: CellBase,
    /// Names that occur in `[base]` or in a value of an axis as the placeholder `$name`.
    pub(super) holes: BTreeSet<String>,
    /// Keys that only name cells and do not change the scenario.
    pub(super) labels: Vec<String>,
}

impl BaseSpec {
    /// Reads the base of a set. The keys `preset` and `scenario` are removed from `grid.base`.
    ///
    /// # Errors
    /// The base is missing or invalid, a placeholder has no value, or the preset has no parameter
    /// with the name of a key.
    pub(super) fn of(source: &SourceText, grid: &mut GridSpec, labels: Vec<String>) -> LabResult<BaseSpec> {
        let mut take = |name: &str| {
            let k = grid.base.iter().position(|setting| setting.key == name)?;
            Some(grid.base.remove(k))
        };
        let (preset, file) = (take("preset"), take("scenario"));
        let base = match (preset, file) {
            (Some(preset), None) => CellBase::Preset(named(source, &preset)?),
            (None, Some(file)) => CellBase::Scenario(read_scenario(source, &file)?),
            (Some(_), Some(file)) => {
                let problem = "scenario: there is a preset already; leave out `preset` or `scenario`";
                return Err(source.wrong(file.at, problem));
            }
            (None, None) => {
                let has = |name: &str| grid.base.iter().any(|setting| steps(&setting.key)[0] == name);
                match (has("tandem"), has("link")) {
                    (true, _) => CellBase::Chain,
                    (false, true) => CellBase::Scenario(Table::new()),
                    (false, false) => {
                        let problem = "[base] needs `preset = \"tandem\"`, `preset = \"fec\"`, `preset = \"string\"`, `preset = \"mesh\"`, \
                                       `scenario = \"FILE.toml\"`, `tandem`, or `link` and `flow`";
                        return Err(source.wrong(grid.base_at, problem));
                    }
                }
            }
        };
        let mut holes = BTreeSet::new();
        all_settings(grid).for_each(|setting| find_holes(&setting.value, &mut holes));
        let spec = BaseSpec { base, holes, labels };
        spec.check_holes(source, grid)?;
        spec.check_parameters(source, grid)?;
        Ok(spec)
    }

    /// The scenario of a cell. The settings in `cell` override those in `grid.base`.
    ///
    /// # Errors
    /// The setting that makes the scenario invalid.
    pub(super) fn resolve(&self, grid: &GridSpec, cell: &[&KeySetting]) -> Result<Scenario, WrongSetting> {
        let mut settings: Vec<&KeySetting> =
            grid.base.iter().filter(|base| !cell.iter().any(|own| own.key == base.key)).collect();
        settings.extend(cell.iter().filter(|setting| !self.is_label(&setting.key)));
        self.build(&settings).map_err(|fault| {
            // When the error does not name a setting, leave out one setting after another. The
            // setting without which the scenario is valid is to blame.
            let blamed = fault.setting.or_else(|| {
                (0..settings.len()).rev().find(|k| {
                    let others = settings.iter().enumerate().filter(|(other, _)| other != k);
                    self.build(&others.map(|(_, setting)| *setting).collect::<Vec<_>>()).is_ok()
                })
            });
            match blamed.map(|k| settings[k]) {
                Some(setting) => {
                    WrongSetting { at: setting.at, problem: format!("{}: {}", setting.key, fault.problem) }
                }
                None => WrongSetting { at: grid.base_at, problem: fault.problem },
            }
        })
    }

    /// Whether a key only names cells.
    fn is_label(&self, key: &str) -> bool {
        key == CASE || self.labels.iter().any(|label| label == key)
    }

    /// Fills the placeholders of `settings` and builds the scenario.
    fn build(&self, settings: &[&KeySetting]) -> Result<Scenario, Fault> {
        let value_of = |name: &str| settings.iter().find(|setting| setting.key == name).map(|s| &s.value);
        let mut filled = Vec::with_capacity(settings.len());
        for (k, setting) in settings.iter().enumerate().filter(|(_, s)| !self.holes.contains(&s.key)) {
            let value = fill(&setting.value, &value_of).map_err(|problem| Fault { setting: Some(k), problem })?;
            filled.push((k, setting.key.as_str(), value));
        }
        match &self.base {
            CellBase::Preset(preset) => by_parameters(*preset, &filled),
            CellBase::Scenario(table) => by_paths(table, &filled),
            CellBase::Chain => chain(&filled),
        }
    }

    /// Checks that an axis or `[base]` gives each placeholder a value.
    fn check_holes(&self, source: &SourceText, grid: &GridSpec) -> LabResult<()> {
        let given = |name: &String| grid.keys.contains(name) || grid.base.iter().any(|s| s.key == *name);
        let Some(stranger) = self.holes.iter().find(|name| !given(name)) else { return Ok(()) };
        let mut own = BTreeSet::new();
        let at = all_settings(grid).find(|setting| {
            find_holes(&setting.value, &mut own);
            own.contains(stranger)
        });
        let problem = format!("`${stranger}`: no axis and no key of [base] gives `{stranger}` a value");
        Err(source.wrong(at.map_or(grid.base_at, |setting| setting.at), problem))
    }

    /// If the base is a preset, checks that its parameters exist and have values of the right form.
    /// Paths into a scenario are not checked here: they are checked when the scenario is built.
    fn check_parameters(&self, source: &SourceText, grid: &GridSpec) -> LabResult<()> {
        let CellBase::Preset(preset) = &self.base else { return Ok(()) };
        let of_axes = grid.axes.iter().flat_map(|axis| axis.levels.iter().flatten());
        let own = of_axes.filter(|setting| !self.is_label(&setting.key) && !self.holes.contains(&setting.key));
        for KeySetting { key, value, at } in grid.base.iter().filter(|s| !self.holes.contains(&s.key)).chain(own) {
            let Some(parameter) = preset.parameter(key) else {
                let names: Vec<&str> = preset.parameters().map(|parameter| parameter.name).collect();
                let problem = format!("`sim {}` has no flag `{key}`; its flags: {}", preset.name(), names.join(", "));
                return Err(source.wrong(*at, problem));
            };
            let problem = match (parameter.kind == ParameterKind::Switch, value) {
                (true, Value::Boolean(_)) => continue,
                (true, Value::String(text)) if text.starts_with('$') => continue,
                (true, _) => format!("{key}: this is a switch; write true or false"),
                (false, Value::Boolean(_)) => format!("{key}: takes a value, as the flag --{key} does"),
                (false, Value::Table(_)) => format!("{key}: the value must be a text, a number or a list, not a table"),
                (false, _) => continue,
            };
            return Err(source.wrong(*at, problem));
        }
        Ok(())
    }
}

/// The settings of `[base]`, then those of all axes.
fn all_settings(grid: &GridSpec) -> impl Iterator<Item = &KeySetting> {
    let of_axes = grid.axes.iter().flat_map(|axis| axis.levels.iter().flatten());
    grid.base.iter().chain(of_axes)
}

/// A problem with a scenario, and the index of the setting that causes the problem, if the index is
/// known.
struct Fault {
    setting: Option<usize>,
    problem: String,
}

impl Fault {
    fn of(problem: impl std::fmt::Display) -> Fault {
        Fault { setting: None, problem: problem.to_string() }
    }
}

/// A setting whose placeholders are filled: the index, the key and the value of the setting.
type Filled<'a> = (usize, &'a str, Value);

/// The preset that `setting` names.
fn named(source: &SourceText, setting: &KeySetting) -> LabResult<Preset> {
    let name = text(source, setting)?;
    Preset::named(&name).ok_or_else(|| {
        let problem = format!("preset: there is no preset `{name}`; write `tandem`, `fec`, `string` or `mesh`");
        source.wrong(setting.at, problem)
    })
}

/// Reads the scenario file that `setting` names, relative to the experiment's file.
fn read_scenario(source: &SourceText, setting: &KeySetting) -> LabResult<Table> {
    let path = source.beside(&text(source, setting)?);
    let below = SourceText::read(&path).map_err(|error| match error {
        LabError::Work(words) => source.wrong(setting.at, format!("scenario: {words}")),
        other => other,
    })?;
    Scenario::parse(&below.text).map_err(|error| LabError::Input(format!("{}:{error}", path.display())))?;
    toml::from_str(&below.text).map_err(|error| LabError::Input(format!("{}: {error}", path.display())))
}

/// The text of a setting whose value must be a string.
fn text(source: &SourceText, setting: &KeySetting) -> LabResult<String> {
    match &setting.value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(source.wrong(setting.at, format!("{}: write a text in quotes", setting.key))),
    }
}

/// Adds the names of all placeholders `$name` in `value` to `holes`.
fn find_holes(value: &Value, holes: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => holes.extend(text.strip_prefix('$').map(str::to_owned)),
        Value::Array(list) => list.iter().for_each(|item| find_holes(item, holes)),
        Value::Table(table) => table.values().for_each(|item| find_holes(item, holes)),
        _ => {}
    }
}

/// Replaces placeholders by their values: the text `$R` becomes the value of `R`.
fn fill<'a>(value: &Value, value_of: &impl Fn(&str) -> Option<&'a Value>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match text.strip_prefix('$') {
            None => value.clone(),
            Some(name) => value_of(name).cloned().ok_or_else(|| format!("`${name}` has no value in this cell"))?,
        },
        Value::Array(list) => Value::Array(list.iter().map(|value| fill(value, value_of)).collect::<Result<_, _>>()?),
        Value::Table(table) => {
            let pair = |(name, value): (&String, &Value)| Ok((name.clone(), fill(value, value_of)?));
            Value::Table(table.iter().map(pair).collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// The scenario of a preset with the parameters in `settings`. If the value of a setting is a list,
/// the parameter is given one time for each item.
fn by_parameters(preset: Preset, settings: &[Filled<'_>]) -> Result<Scenario, Fault> {
    let mut given = Vec::with_capacity(settings.len());
    for (_, key, value) in settings {
        match value {
            Value::Array(list) => given.extend(list.iter().map(|item| ((*key).to_owned(), written(item)))),
            one => given.push(((*key).to_owned(), written(one))),
        }
    }
    preset.scenario(&given).map_err(|wrong| {
        let setting = settings.iter().find(|(_, key, _)| Some(*key) == wrong.parameter.as_deref());
        match (setting, wrong.parameter) {
            (Some((k, ..)), _) => Fault { setting: Some(*k), problem: wrong.problem },
            // The parameter was not given. The default of this parameter conflicts with the given
            // parameters.
            (None, Some(name)) => Fault::of(format!("--{name}: {}", wrong.problem)),
            (None, None) => Fault::of(wrong.problem),
        }
    })
}

/// The scenario `table`, into which each setting is put at its path.
fn by_paths(table: &Table, settings: &[Filled<'_>]) -> Result<Scenario, Fault> {
    let root = put_all(Value::Table(table.clone()), settings)?;
    let scenario = Scenario::deserialize(root).map_err(|error| Fault::of(error.message().trim_end()))?;
    check_scenario(&scenario).map_err(|error| {
        let fields = steps(&error.field);
        let names = |key: &str| {
            let path = steps(key);
            path.iter().zip(&fields).all(|(step, field)| step == field || step == "*")
        };
        let setting = settings.iter().rfind(|(_, key, _)| names(key)).map(|(k, ..)| *k);
        Fault { setting, problem: error.to_string() }
    })?;
    Ok(scenario)
}

/// The table `tandem` of a base: a chain of equal links, with flows from its first node to its last
/// node.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ChainSpec {
    hops: u32,
    link: LinkConfig,
    /// The link in the direction of the acknowledgements. Equal to `link` when left out.
    back: Option<LinkConfig>,
    flow: Vec<FlowSpec>,
}

/// A base with the table `tandem`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainText {
    #[serde(default)]
    run: RunSpec,
    tandem: ChainSpec,
}

/// The scenario of a chain with the given settings.
fn chain(settings: &[Filled<'_>]) -> Result<Scenario, Fault> {
    let mut root = put_all(Value::Table(Table::new()), settings)?;
    let flows = root.get_mut("tandem").and_then(|tandem| tandem.get_mut("flow")).and_then(Value::as_array_mut);
    for flow in flows.into_iter().flatten().filter_map(Value::as_table_mut) {
        for end in ["from", "to"] {
            flow.insert(end.into(), Value::String(String::new()));
        }
    }
    let ChainText { run, tandem: ChainSpec { hops, link, back, flow } } =
        ChainText::deserialize(root).map_err(|error| Fault::of(error.message().trim_end()))?;
    if hops == 0 || hops > MOST_HOPS {
        let setting = settings.iter().find(|(_, key, _)| *key == "tandem.hops").map(|(k, ..)| *k);
        return Err(Fault { setting, problem: format!("{hops} links; write 1 to {MOST_HOPS}") });
    }
    let back = back.unwrap_or_else(|| link.clone());
    let scenario = Tandem { run, hops, forth: link, back, flows: flow, tunnel: None }.scenario();
    check_scenario(&scenario).map_err(Fault::of)?;
    Ok(scenario)
}

/// `root`, into which each setting is put at its path.
fn put_all(mut root: Value, settings: &[Filled<'_>]) -> Result<Value, Fault> {
    for (k, key, value) in settings {
        put(&mut root, &steps(key), value).map_err(|problem| Fault { setting: Some(*k), problem })?;
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeTable;

    const CHAIN: &str = "[[link]]\nbetween = [\"a\", \"b\"]\nforth = { rate = \"1Mbit/s\" }\n\
                         [[link]]\nbetween = [\"b\", \"c\"]\n[[flow]]\nfrom = \"a\"\nto = \"c\"\n";

    fn first(text: &str, base: Option<CellBase>) -> Result<Scenario, String> {
        let source = SourceText { path: "plan.toml".into(), text: text.to_owned() };
        let table = DeTable::parse(&source.text).map_err(|error| error.to_string())?;
        let mut grid = GridSpec::read(&source, 0, table.get_ref()).map_err(|error| error.to_string())?;
        let spec = match base {
            None => BaseSpec::of(&source, &mut grid, Vec::new()).map_err(|error| error.to_string())?,
            Some(base) => {
                grid.base.clear();
                BaseSpec { base, holes: BTreeSet::new(), labels: Vec::new() }
            }
        };
        spec.resolve(&grid, &grid.cell(0)).map_err(|wrong| {
            let line = source.place(wrong.at).line;
            format!("{line}: {}", wrong.problem)
        })
    }

    fn cell(keys: &str) -> Result<Scenario, String> {
        let text = format!("[base]\npreset = \"tandem\"\n[[cases]]\n{keys}\n");
        first(&text, Some(CellBase::Scenario(toml::from_str(CHAIN).unwrap())))
    }

    #[test]
    fn paths_lead_into_the_file() {
        let chain = "run.runs = 3\n\"link[*].forth.loss\" = \"2%\"\nlink.1.forth.rate = \"5Mbit/s\"\n\
                     flow.0.nc.redundancy = 1.2";
        let text = format!("[base]\n{}[[cases]]\n{chain}\n", CHAIN.replace("[[", "[[base."));
        let scenario = first(&text, None).unwrap();
        assert_eq!(scenario.link[0].forth.loss, scenario.link[1].forth.loss);
        assert_eq!(scenario.link.iter().map(|l| l.forth.rate.bps()).collect::<Vec<_>>(), [1_000_000, 5_000_000]);
        assert!(scenario.run.runs == 3 && scenario.flow[0].nc.is_some());
    }

    #[test]
    fn holes_take_the_values_of_axes() {
        let text = "[base]\npreset = \"fec\"\nk = 20\nn = \"$N\"\nqueue = \"$Q\"\nQ = 7\n[grid]\nN = [23]\n";
        let fec = first(text, None).unwrap();
        assert_eq!(fec.link[0].forth.fec.as_ref().map(|fec| fec.n), Some(23));
        let text = "[base]\nrun.duration = \"9s\"\n[base.tandem]\nhops = 2\nlink = { rate = \"1Mbit/s\", loss = \"$q\" }\n\
                    flow = [{ tcp = \"$tcp\", nc = { redundancy = \"$R\" } }]\n\
                    [grid]\nq = [\"5%\"]\ntcp = [\"reno\"]\nR = [1.25]\n";
        let chain = first(text, None).unwrap();
        assert_eq!((chain.link.len(), chain.run.runs), (2, 10));
        assert!(chain.flow[0].nc.is_some() && chain.run.duration.to_string() == "9s");
        let text = format!("{text}[[cases]]\ntandem.flow.0.window = \"$W\"\n[[zip]]\nW = [30]\n");
        let chain = first(&text, None).unwrap();
        assert_eq!(chain.flow[0].window, 30);
        for (from, to, words) in [
            ("\"$W\"", "\"$V\"", "plan.toml:12:24: `$V`: no axis and no key of [base] gives `V` a value"),
            ("\"$R\"", "\"$S\"", "plan.toml:6:8: `$S`: no axis and no key of [base] gives `S` a value"),
            ("\"5%\"", "\"500%\"", "`500%` is not a share"),
            ("hops = 2", "hops = 2\nhop = 2", "hop: unknown field `hop`"),
            ("R = [1.25]", "R = [1.25]\nx = [1]", "x: unknown field `x`"),
            ("hops = 2\n", "", "missing field `hops`"),
        ] {
            let error = first(&text.replace(from, to), None).unwrap_err();
            assert!(error.contains(words), "{to}: {error}");
        }
    }

    #[test]
    fn what_cannot_be_blames_a_line() {
        for (keys, words) in [
            ("run.runs = 3\nlink.7.forth.rate = 1", "5: link.7.forth.rate: `7` leads nowhere: the list has 2 items"),
            ("link.0.forth.rate.x = 1", "4: link.0.forth.rate.x: `x` leads nowhere: the value before it is `1Mbit/s`"),
            ("run.runs = 3\nrun.seeed = 3", "5: run.seeed: unknown field `seeed`"),
            ("run.runs = 0\nrun.seed = 3", "4: run.runs: `run.runs`: 0 runs; write 1"),
            ("run.seed = 3\n\"link[*].forth.loss\" = 2", "5: link[*].forth.loss: "),
            ("run.seed = 3\nflow.0.to = \"d\"", "5: flow.0.to: `flow[0].to`: no link or medium names the node `d`"),
        ] {
            let error = cell(keys).unwrap_err();
            assert!(error.contains(words), "{keys}: {error}");
        }
    }
}
