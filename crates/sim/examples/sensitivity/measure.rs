//! Passes over the groups: with the defaults, and with one constant changed.

use crate::cells::Cell;
use crate::chance::usual;
use crate::groups::cells;
use crate::{parallel, tuning};
use ripstop_proto::control::rate::{Tuning, TuningField};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The seeds with which the defaults are measured, to see what chance changes. The first two also measure the constants.
const SEEDS: [u64; 8] = [3, 4, 5, 6, 7, 8, 9, 10];

/// The mean figure of each group.
pub(crate) type Figures = BTreeMap<String, f64>;
/// The figures by the name of the pass.
pub(crate) type Known = BTreeMap<String, Figures>;

/// How a constant is changed: to half of its value, or to double its value.
pub(crate) const FACTORS: [(f64, &str); 2] = [(0.5, "/2"), (2.0, "x2")];

/// One pass over groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    /// The constant that is changed, the factor, and the factor's sign. `None`: all constants have their defaults.
    pub(crate) change: Option<(&'static TuningField, f64, &'static str)>,
    pub(crate) seed: u64,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.change {
            None => write!(f, "defaults, seed {}", self.seed),
            Some((field, _, sign)) => write!(f, "{} {sign}, seed {}", field.name, self.seed),
        }
    }
}

impl Pass {
    /// The first pass with a changed constant, and the second pass over the groups that stand out in the first.
    pub(crate) fn both(field: &'static TuningField, factor: (f64, &'static str)) -> [Pass; 2] {
        [SEEDS[0], SEEDS[1]].map(|seed| Pass { change: Some((field, factor.0, factor.1)), seed })
    }

    fn cells(self) -> Vec<Cell> {
        let set =
            self.change.map_or(String::new(), |(field, factor, _)| format!("{}={}", field.name, field.scaled(factor)));
        let mut all = cells(&tuning(&set));
        for cell in &mut all {
            cell.thin_out();
            cell.set_seed(self.seed);
        }
        all
    }
}

/// Measures the constants `wanted` (none: all of them), without what `file` has already. Adds a line for each pass and
/// group to the file.
///
/// # Errors
/// A name is wrong, `file` has figures of another program, or a cell does not run. The error is a sentence.
pub(crate) fn measure(file: &Path, wanted: &[String]) -> Result<(), String> {
    for name in wanted {
        Tuning::default().set(name, 1.0)?;
    }
    let defaults = SEEDS.map(|seed| Pass { change: None, seed });
    if file.exists() {
        let first = run(&[(defaults[0], defaults[0].cells())], |_, _| Ok(()))?;
        if read(file)?.get(&defaults[0].to_string()).is_some_and(|before| *before != first[0]) {
            return Err(format!("{} has figures of another program; delete it, or name another file", file.display()));
        }
    }
    add(file, &defaults.map(|pass| (pass, pass.cells())))?;
    let fields = Tuning::fields().filter(|field| wanted.is_empty() || wanted.iter().any(|name| name == field.name));
    let pairs: Vec<[Pass; 2]> = fields.flat_map(|field| FACTORS.map(|factor| Pass::both(field, factor))).collect();
    let firsts: Vec<(Pass, Vec<Cell>)> = pairs.iter().map(|[first, _]| (*first, first.cells())).collect();
    add(file, &firsts)?;
    let known = read(file)?;
    let usual = usual(&known);
    let seconds: Vec<(Pass, Vec<Cell>)> = pairs
        .iter()
        .map(|[first, second]| {
            let stands_out = |group: &str| {
                let figure = known.get(&first.to_string()).and_then(|figures| figures.get(group));
                figure.zip(usual.get(group)).is_some_and(|(figure, usual)| usual.change(*figure).is_some())
            };
            let cells = second.cells().into_iter();
            (*second, cells.filter(|cell| cell.figures.iter().any(|(group, _)| stands_out(group))).collect())
        })
        .collect();
    add(file, &seconds)
}

/// Makes the passes that `file` does not have, and adds their figures to it.
fn add(file: &Path, passes: &[(Pass, Vec<Cell>)]) -> Result<(), String> {
    let known = if file.exists() { read(file)? } else { Known::new() };
    let missing: Vec<(Pass, Vec<Cell>)> = passes
        .iter()
        .filter(|(pass, cells)| !known.contains_key(&pass.to_string()) && !cells.is_empty())
        .cloned()
        .collect();
    let unwritable = |error| format!("{} cannot be written: {error}", file.display());
    let to = Mutex::new(std::fs::File::options().create(true).append(true).open(file).map_err(unwritable)?);
    run(&missing, |pass, figures| {
        eprintln!("{pass}");
        let lines: String = figures.iter().map(|(group, figure)| format!("{pass}\t{group}\t{figure}\n")).collect();
        to.lock().unwrap_or_else(PoisonError::into_inner).write_all(lines.as_bytes()).map_err(unwritable)
    })?;
    Ok(())
}

/// Runs the cells of `passes` on all cores. `done` gets each pass with the mean figures of its groups as soon as its last
/// cell has run.
fn run(
    passes: &[(Pass, Vec<Cell>)],
    done: impl Fn(Pass, &Figures) -> Result<(), String> + Sync,
) -> Result<Vec<Figures>, String> {
    let jobs: Vec<(usize, &Cell)> =
        passes.iter().enumerate().flat_map(|(k, (_, cells))| cells.iter().map(move |cell| (k, cell))).collect();
    let outcomes: Vec<Mutex<Vec<(&'static str, f64)>>> = passes.iter().map(|_| Mutex::default()).collect();
    let left: Vec<Mutex<usize>> = passes.iter().map(|(_, cells)| Mutex::new(cells.len())).collect();
    let problem: Mutex<Option<String>> = Mutex::new(None);
    let job = |k: usize| -> Result<(), String> {
        if problem.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let (pass, cell) = jobs[k];
        let report = cell.run()?;
        let figures = cell.figures.iter().map(|(group, figure)| (*group, cell.figure(*figure, &report)));
        outcomes[pass].lock().unwrap_or_else(PoisonError::into_inner).extend(figures);
        let mut left = left[pass].lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        done(passes[pass].0, &means(&outcomes[pass].lock().unwrap_or_else(PoisonError::into_inner)))
    };
    parallel::run(jobs.len(), |k| {
        if let Err(error) = job(k) {
            problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    });
    match problem.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(outcomes.iter().map(|all| means(&all.lock().unwrap_or_else(PoisonError::into_inner))).collect()),
    }
}

/// The mean figure of each group. The figures come in the order in which the cells ended, so they are sorted first: the
/// sum must not depend on this order.
fn means(all: &[(&'static str, f64)]) -> Figures {
    let mut all = all.to_vec();
    all.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
    all.chunk_by(|a, b| a.0 == b.0)
        .map(|group| (group[0].0.to_owned(), group.iter().map(|(_, figure)| figure).sum::<f64>() / group.len() as f64))
        .collect()
}

/// The figures in `file`.
///
/// # Errors
/// The file cannot be read, or a line is wrong. The error is a sentence.
pub(crate) fn read(file: &Path) -> Result<Known, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let mut all = Known::new();
    for line in text.lines() {
        let mut parts = line.split('\t');
        let (Some(pass), Some(group), Some(Ok(figure))) =
            (parts.next(), parts.next(), parts.next().map(str::parse::<f64>))
        else {
            return Err(format!("{}: `{line}` is not a pass, a group and a figure", file.display()));
        };
        all.entry(pass.to_owned()).or_default().insert(group.to_owned(), figure);
    }
    Ok(all)
}
