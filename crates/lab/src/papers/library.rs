//! Reads the experiments and the papers' statements, from the program itself or from a directory.
//!
//! `mod.rs` lists the files of a paper. A statement is a number or a trend that a paper prints. A
//! statement is decided when it has a verdict, such as "reproduced" or "differs".

use super::committed::CommittedNumbers;
use super::model_figure::ModelFigure;
use super::stated::{StatedNumbers, StatedTrends};
use crate::error::{LabError, LabResult};
use crate::experiment::SourceText;
use crate::published::Published;
use crate::study::Study;
use std::collections::BTreeMap;
use std::path::Path;

/// The experiments, and what the papers state.
pub struct PaperLibrary {
    /// The experiments, ordered by name; `fig9` comes before `fig12`.
    pub experiments: Vec<Study>,
    /// The numbers and trends that the papers print.
    pub published: Published,
    /// How each paper's numbers and trends are decided. The key is the paper's number, such as
    /// `000`.
    pub stated: BTreeMap<String, StatedPaper>,
    /// Numbers from simulations that are kept in the repository, by the experiment's name.
    pub committed: BTreeMap<String, CommittedNumbers>,
    /// The figures that closed forms draw, in the papers' order.
    pub figures: Vec<ModelFigure>,
}

/// How the statements of one paper are decided.
pub struct StatedPaper {
    /// The path of the paper's `model.toml`, for messages.
    pub path: String,
    /// How the paper's numbers are decided.
    pub numbers: StatedNumbers,
    /// How the paper's trends are decided.
    pub trends: StatedTrends,
}

/// A file of the directory `papers`: its path inside the directory, and its text.
struct PaperFile {
    path: String,
    text: String,
}

// The build script writes `BUILT_IN`: the path and the text of each file of the directory `papers`.
include!(concat!(env!("OUT_DIR"), "/papers.rs"));

impl PaperLibrary {
    /// The experiments whose kept numbers were made by code that has changed since.
    pub fn outdated(&self) -> Vec<&str> {
        let is_outdated = |study: &&Study| self.committed.get(&study.id).is_some_and(|kept| kept.is_outdated(study));
        self.experiments.iter().filter(is_outdated).map(|study| study.id.as_str()).collect()
    }

    /// Reads the files of `directory`, or the files that are built into the program.
    ///
    /// # Errors
    /// Fails when a file cannot be read or is invalid. The error says file, line, field, and what
    /// would be right.
    pub fn open(directory: Option<&Path>) -> LabResult<PaperLibrary> {
        let texts = match directory {
            None => built_in(),
            Some(directory) if directory.is_dir() => read(directory)?,
            Some(directory) => {
                let why = "there is no such directory; give the directory `papers` of the project";
                return Err(LabError::work(directory.display(), why));
            }
        };
        PaperLibrary::of(&texts)
    }

    fn of(texts: &[PaperFile]) -> LabResult<PaperLibrary> {
        let mut published = Published::default();
        let named = |name: &str| {
            let end = format!("/{name}");
            texts.iter().filter(move |text| text.path.ends_with(&end))
        };
        for text in named(PUBLISHED) {
            published.add(&text.text).map_err(|error| LabError::Input(format!("{}: {error}", text.path)))?;
        }
        let mut stated = BTreeMap::new();
        for PaperFile { path, text } in named(NUMBERS) {
            let numbers = StatedNumbers::parse(path, text)?;
            let paper = path.trim_end_matches(NUMBERS).trim_end_matches('/').to_owned();
            if numbers.paper != paper {
                return Err(LabError::Input(format!(
                    "{path}: `paper` is \"{}\", but the folder is \"{paper}\"",
                    numbers.paper
                )));
            }
            let beside = format!("{paper}/{TRENDS}");
            let trends = match named(TRENDS).find(|text| text.path == beside) {
                Some(PaperFile { path, text }) => StatedTrends::parse(path, text)?,
                None => StatedTrends::default(),
            };
            stated.insert(paper, StatedPaper { path: path.clone(), numbers, trends });
        }
        let mut figures: Vec<ModelFigure> = Vec::new();
        for PaperFile { path, text } in named(FIGURES) {
            figures.extend(ModelFigure::parse(path, text, &published)?);
        }
        let mut experiments = Vec::new();
        let of_no_experiment = [PUBLISHED, NUMBERS, TRENDS, FIGURES];
        let simulated = |text: &&PaperFile| {
            text.path.ends_with(".toml")
                && !of_no_experiment.iter().any(|name| text.path.ends_with(&format!("/{name}")))
        };
        let mut committed = BTreeMap::new();
        for PaperFile { path, text } in texts.iter().filter(|text| text.path.ends_with(".json")) {
            let id = path.replace("/results/", "/").replace(".json", ".toml");
            let numbers = CommittedNumbers::parse(text).map_err(|error| LabError::Input(format!("{path}: {error}")))?;
            committed.insert(id_of(&id).unwrap_or(id), numbers);
        }
        for PaperFile { path, text } in texts.iter().filter(simulated) {
            let id = id_of(path).ok_or_else(|| {
                LabError::Input(format!(
                    "{path}: an experiment's file must be `NNN/NAME.toml`, such as `000/fig12.toml`"
                ))
            })?;
            let source = SourceText { path: path.into(), text: text.clone() };
            let study = Study::read(&id, source, &published)?;
            study.refuse_wrong_cells()?;
            experiments.push(study);
        }
        experiments.sort_by_cached_key(|experiment| natural(&experiment.id));
        let once = |id: &str| {
            figures.iter().filter(|figure| figure.id == id).count()
                + experiments.iter().filter(|experiment| experiment.id == id).count()
                == 1
        };
        if let Some(twice) = figures.iter().find(|figure| !once(&figure.id)) {
            return Err(LabError::Input(format!(
                "two experiments or figures are called `{}`; rename one of them",
                twice.id
            )));
        }
        Ok(PaperLibrary { experiments, published, stated, committed, figures })
    }

    /// Indices of the experiments that `names` selects. A name is the name of an experiment or the
    /// number of a paper. The number of a paper selects all experiments of the paper. Without
    /// names, all experiments are selected.
    ///
    /// # Errors
    /// Fails when a name matches no experiment.
    pub fn chosen(&self, names: &[String]) -> LabResult<Vec<usize>> {
        if let Some(stranger) = names.iter().find(|name| !self.experiments.iter().any(|e| e.is(name))) {
            let all: Vec<&str> = self.experiments.iter().map(|e| e.id.as_str()).collect();
            return Err(LabError::Input(format!(
                "there is no experiment `{stranger}`; write one of {}, or the number of a paper",
                all.join(", ")
            )));
        }
        let chosen = |k: &usize| names.is_empty() || names.iter().any(|name| self.experiments[*k].is(name));
        Ok((0..self.experiments.len()).filter(chosen).collect())
    }
}

/// Reads a user's own experiment from a file. Published numbers come from `published.toml` in the
/// same directory, if that file exists.
///
/// # Errors
/// Fails when a file cannot be read or is invalid. The error says file, line, column, what is wrong
/// and what would be right.
pub fn read_study(path: &Path) -> LabResult<(Study, Published)> {
    let source = SourceText::read(path)?;
    let beside = source.beside(PUBLISHED);
    let mut published = Published::default();
    if beside.is_file() {
        let text = SourceText::read(&beside)?.text;
        published.add(&text).map_err(|error| LabError::Input(format!("{}: {error}", beside.display())))?;
    }
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok((Study::read(&name, source, &published)?, published))
}

/// Finds the experiment that a user names: a file, or the name of an experiment of the papers.
///
/// # Errors
/// The same as for [`read_study`]. Also fails when no file and no experiment has the name `name`.
pub fn find_study(name: &str) -> LabResult<(Study, Published)> {
    if name.ends_with(".toml") || Path::new(name).is_file() {
        return read_study(Path::new(name));
    }
    let PaperLibrary { experiments, published, .. } = PaperLibrary::open(None)?;
    let ids: Vec<String> = experiments.iter().map(|study| study.id.clone()).collect();
    match experiments.into_iter().find(|study| study.id == name) {
        Some(study) => Ok((study, published)),
        None => Err(LabError::Input(format!(
            "`{name}` is not an experiment: write the name of a file, FILE.toml, or one of {}",
            ids.join(", ")
        ))),
    }
}

fn built_in() -> Vec<PaperFile> {
    BUILT_IN.iter().map(|(path, text)| PaperFile { path: (*path).to_owned(), text: (*text).to_owned() }).collect()
}

/// File with the numbers and trends that a paper prints.
const PUBLISHED: &str = "published.toml";

/// File that says how a paper's numbers are compared with closed forms.
const NUMBERS: &str = "model.toml";

/// File that says whether closed forms or experiments decide each of a paper's trends.
const TRENDS: &str = "trends.toml";

/// File with the figures that closed forms draw.
const FIGURES: &str = "figures.toml";

/// Reads all TOML files one level below `directory`, and all JSON files in the folders `results` at
/// that level. The files are sorted by name.
fn read(directory: &Path) -> LabResult<Vec<PaperFile>> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| LabError::work(path, error)
    };
    let entries = |path: &Path| -> LabResult<Vec<std::path::PathBuf>> {
        let list = std::fs::read_dir(path).map_err(failed(path))?;
        let mut all =
            list.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed(path))?;
        all.sort();
        Ok(all)
    };
    let mut texts = Vec::new();
    for folder in entries(directory)?.iter().filter(|path| path.is_dir()) {
        let toml = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "toml");
        for file in entries(folder)?.iter().filter(toml) {
            let path = file.strip_prefix(directory).unwrap_or(file).display().to_string();
            texts.push(PaperFile { path, text: crate::files::read_text(file).map_err(failed(file))? });
        }
        let results = folder.join("results");
        let json = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "json");
        let written = if results.is_dir() { entries(&results)? } else { Vec::new() };
        for file in written.iter().filter(json) {
            let path = file.strip_prefix(directory).unwrap_or(file).display().to_string();
            texts.push(PaperFile { path, text: crate::files::read_text(file).map_err(failed(file))? });
        }
    }
    if texts.is_empty() {
        return Err(LabError::Input(format!(
            "{}: this directory has no experiments, which are files NNN/NAME.toml",
            directory.display()
        )));
    }
    Ok(texts)
}

/// The experiment's name for a path: `000.fig12` for `000/fig12.toml`.
fn id_of(path: &str) -> Option<String> {
    let (paper, name) = path.strip_suffix(".toml")?.split_once('/')?;
    (!name.contains('/')).then(|| format!("{paper}.{name}"))
}

/// A sort key in which each number is padded with zeros to nine digits, so that numbers are sorted
/// by value.
fn natural(name: &str) -> String {
    let mut key = String::new();
    let mut digits = String::new();
    for c in name.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            key += &format!("{:0>9}", std::mem::take(&mut digits));
        }
        key.push(c);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_the_directory_and_is_understood() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        let mut there: Vec<(String, String)> =
            read(&directory).unwrap().into_iter().map(|t| (t.path, t.text)).collect();
        let mut here: Vec<(String, String)> = built_in().into_iter().map(|t| (t.path, t.text)).collect();
        there.sort();
        here.sort();
        assert_eq!(there.iter().map(|t| &t.0).collect::<Vec<_>>(), here.iter().map(|t| &t.0).collect::<Vec<_>>());
        assert!(there == here, "the built-in files differ from the directory `papers`");
        let library = PaperLibrary::open(None).unwrap();
        assert!(library.experiments.len() >= 17);
        // The library must have each figure of the papers that closed forms can draw.
        let drawn: Vec<&str> = library.figures.iter().map(|figure| figure.id.as_str()).collect();
        for (paper, all) in [
            ("000", "5 17a 17b 18a 18b 19a 19b 20a 20b 20c 20d 21a 21b 21c 21d"),
            ("002", "7"),
            ("003", "2 3 4 7 8 10 11 12"),
        ] {
            for one in all.split(' ') {
                assert!(drawn.contains(&format!("{paper}.fig{one}").as_str()), "{paper}.fig{one}");
            }
        }
        assert!(drawn.contains(&"002.table3"));
        // Each figure of paper 002 that its simulations draw must have an experiment.
        for one in ["fig14", "fig15", "fig17", "windows", "protection", "readings", "airtime"] {
            assert!(library.experiments.iter().any(|e| e.id == format!("002.{one}")), "002.{one}");
        }
        for figure in &library.figures {
            let chart = figure.compute(&library.published).unwrap();
            assert!(
                chart.curves.iter().flat_map(|curve| &curve.points).all(|point| point.1.is_finite()),
                "{}",
                figure.id
            );
        }
        // Each experiment must have at least one number or claim to compare.
        for experiment in &library.experiments {
            let cells: usize = experiment.checks.iter().map(|check| check.cells.len()).sum();
            assert!(cells + experiment.claims.len() > 0, "{}", experiment.id);
        }
        let names: Vec<&str> = library.experiments.iter().map(|e| e.id.as_str()).collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        assert!(place("000.fig9") < place("000.fig12") && place("000.fig15") < place("003.fig5"), "{names:?}");
        assert_eq!(library.chosen(&["003".into()]).map(|all| all.len()).unwrap(), 5);
        assert_eq!(library.chosen(&["000.fig12".into()]).map(|all| all.len()).unwrap(), 1);
        assert!(library.chosen(&["000.fig99".into()]).is_err());
    }

    #[test]
    fn a_bad_file_names_file_line_and_field() {
        let (path, good) = BUILT_IN.iter().find(|(path, _)| *path == "000/fig12.toml").unwrap();
        let texts = |text: String| {
            let file = |path: &str, text: String| PaperFile { path: path.to_owned(), text };
            vec![
                file(
                    "000/published.toml",
                    BUILT_IN.iter().find(|(path, _)| *path == "000/published.toml").unwrap().1.to_owned(),
                ),
                file(path, text),
            ]
        };
        assert!(PaperLibrary::of(&texts((*good).to_owned())).is_ok());
        for (from, to, words) in [
            ("title = ", "titel = ", "has no section `titel`"),
            ("quick = ", "quik = ", "unknown field `quik`"),
            ("runs = ", "rums = ", "unknown field `rums`"),
            ("hops = 4", "hops = 4\nhop = 4", "unknown field `hop`"),
            ("\"$R\"", "\"$S\"", "`$S`: no axis and no key of [base] gives `S` a value"),
            ("loss = \"2.5%\"", "loss = \"250%\"", "loss"),
            ("R = 1.12 }", "R = 1.99 }", "`at` selects 0 cells of `nc`, but must select one"),
            ("000.t.fig12.jump", "000.t.fig12.hump", "has no trend `000.t.fig12.hump`"),
            ("sink[nc, R=1.12]", "sunk[nc, R=1.12]", "there is no measure `sunk`"),
            ("measure = \"sink\"", "measure = \"sunk\"", "sunk"),
            ("set = \"nc\"", "set = \"cn\"", "there is no set `cn`; the sets are nc"),
        ] {
            assert!(good.contains(from), "{from}");
            let Err(LabError::Input(words_there)) = PaperLibrary::of(&texts(good.replace(from, to))) else {
                panic!("{to} was accepted")
            };
            let mut parts = words_there.splitn(3, ':');
            assert_eq!(parts.next(), Some(*path), "{words_there}");
            assert!(parts.next().unwrap().parse::<usize>().is_ok_and(|line| line >= 1), "{words_there}");
            assert!(words_there.contains(words), "{to}: {words_there}");
        }
    }
}
