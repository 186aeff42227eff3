//! The experiments that the program knows: its own, or those of a directory.

use super::experiment::Experiment;
use super::model_figure::ModelFigure;
use super::published::Published;
use super::stated::{Numbers, Trends};
use crate::failure::{Failure, Outcome};
use std::collections::BTreeMap;
use std::path::Path;

/// Experiments and what the papers state.
pub(super) struct Library {
    /// By name, `fig9` before `fig12`.
    pub(super) experiments: Vec<Experiment>,
    /// Numbers and trends.
    pub(super) published: Published,
    /// What is to come of them, by paper.
    pub(super) stated: BTreeMap<String, Stated>,
    /// What closed forms draw, in the papers' order.
    pub(super) figures: Vec<ModelFigure>,
}

/// What is to come of what a paper states.
pub(super) struct Stated {
    /// The path of `model.toml`, for messages.
    pub(super) path: String,
    pub(super) numbers: Numbers,
    pub(super) trends: Trends,
}

/// A file of the directory `papers`: its path there and what is in it.
struct Text {
    path: String,
    text: String,
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../papers/", $path)))),*]
    };
}

/// The files that are built into the program. A test compares them with the directory.
const BUILT_IN: &[(&str, &str)] = files![
    "000/published.toml",
    "001/published.toml",
    "002/published.toml",
    "003/published.toml",
    "004/published.toml",
    "000/model.toml",
    "001/model.toml",
    "002/model.toml",
    "003/model.toml",
    "004/model.toml",
    "000/trends.toml",
    "001/trends.toml",
    "002/trends.toml",
    "003/trends.toml",
    "004/trends.toml",
    "000/figures.toml",
    "002/figures.toml",
    "003/figures.toml",
    "004/figures.toml",
    "000/fig2.toml",
    "000/fig3.toml",
    "000/fig9.toml",
    "000/fig12.toml",
    "000/fig13.toml",
    "000/redundancy.toml",
    "000/fig14.toml",
    "000/fig15.toml",
    "000/congestion.toml",
    "000/choices.toml",
    "000/table1.toml",
    "000/plain-tcp.toml",
    "001/recoding.toml",
    "003/fig5.toml",
    "003/fig6.toml",
    "003/fig9.toml",
    "003/fig13.toml",
    "003/blocks.toml",
];

impl Library {
    /// The experiments in the program, or in `directory`.
    ///
    /// # Errors
    /// File, line, field and what would be right.
    pub(super) fn open(directory: Option<&Path>) -> Outcome<Library> {
        let texts = match directory {
            None => built_in(),
            Some(directory) => read(directory)?,
        };
        Library::of(&texts)
    }

    fn of(texts: &[Text]) -> Outcome<Library> {
        let mut published = Published::default();
        let named = |name: &str| {
            let end = format!("/{name}");
            texts.iter().filter(move |text| text.path.ends_with(&end))
        };
        for text in named(PUBLISHED) {
            published.add(&text.text).map_err(|error| Failure::Config(format!("{}: {error}", text.path)))?;
        }
        let wrong = |error: super::experiment::FileError| Failure::Config(error.to_string());
        let mut stated = BTreeMap::new();
        for Text { path, text } in named(NUMBERS) {
            let numbers = Numbers::parse(path, text).map_err(wrong)?;
            let paper = path.trim_end_matches(NUMBERS).trim_end_matches('/').to_owned();
            if numbers.paper != paper {
                return Err(Failure::Config(format!(
                    "{path}: `paper` is \"{}\", not \"{paper}\"",
                    numbers.paper
                )));
            }
            let beside = format!("{paper}/{TRENDS}");
            let trends = match named(TRENDS).find(|text| text.path == beside) {
                Some(Text { path, text }) => Trends::parse(path, text).map_err(wrong)?,
                None => Trends::default(),
            };
            stated.insert(paper, Stated { path: path.clone(), numbers, trends });
        }
        let mut figures: Vec<ModelFigure> = Vec::new();
        for Text { path, text } in named(FIGURES) {
            figures.extend(ModelFigure::parse(path, text, &published).map_err(wrong)?);
        }
        let mut experiments = Vec::new();
        let of_no_experiment = [PUBLISHED, NUMBERS, TRENDS, FIGURES];
        let simulated =
            |text: &&Text| !of_no_experiment.iter().any(|name| text.path.ends_with(&format!("/{name}")));
        for Text { path, text } in texts.iter().filter(simulated) {
            let id = id(path).ok_or_else(|| {
                Failure::Config(format!("{path}: an experiment is `NNN/NAME.toml`, such as `000/fig12.toml`"))
            })?;
            experiments.push(Experiment::parse(&id, path, text, &published).map_err(wrong)?);
        }
        experiments.sort_by_cached_key(|experiment| natural(&experiment.id));
        let once = |id: &str| {
            figures.iter().filter(|figure| figure.id == id).count()
                + experiments.iter().filter(|experiment| experiment.id == id).count()
                == 1
        };
        if let Some(twice) = figures.iter().find(|figure| !once(&figure.id)) {
            return Err(Failure::Config(format!("two experiments or figures are called `{}`", twice.id)));
        }
        Ok(Library { experiments, published, stated, figures })
    }

    /// Those that were asked for, by name or paper; all without names.
    ///
    /// # Errors
    /// A name that means none.
    pub(super) fn chosen(&self, names: &[String]) -> Outcome<Vec<usize>> {
        if let Some(stranger) = names.iter().find(|name| !self.experiments.iter().any(|e| e.is(name))) {
            let all: Vec<&str> = self.experiments.iter().map(|e| e.id.as_str()).collect();
            return Err(Failure::Usage(format!(
                "there is no experiment `{stranger}`; there are {}, or a paper's number for all of its own",
                all.join(", ")
            )));
        }
        let chosen = |k: &usize| names.is_empty() || names.iter().any(|name| self.experiments[*k].is(name));
        Ok((0..self.experiments.len()).filter(chosen).collect())
    }
}

fn built_in() -> Vec<Text> {
    BUILT_IN.iter().map(|(path, text)| Text { path: (*path).to_owned(), text: (*text).to_owned() }).collect()
}

/// What a paper states.
const PUBLISHED: &str = "published.toml";

/// What its closed forms are compared with.
const NUMBERS: &str = "model.toml";

/// Who decides its trends.
const TRENDS: &str = "trends.toml";

/// What they draw.
const FIGURES: &str = "figures.toml";

/// All TOML files one level below a directory, by name.
fn read(directory: &Path) -> Outcome<Vec<Text>> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::work(path, error)
    };
    let entries = |path: &Path| -> Outcome<Vec<std::path::PathBuf>> {
        let list = std::fs::read_dir(path).map_err(failed(path))?;
        let mut all = list
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed(path))?;
        all.sort();
        Ok(all)
    };
    let mut texts = Vec::new();
    for folder in entries(directory)?.iter().filter(|path| path.is_dir()) {
        let toml = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "toml");
        for file in entries(folder)?.iter().filter(toml) {
            let path = file.strip_prefix(directory).unwrap_or(file).display().to_string();
            texts.push(Text { path, text: std::fs::read_to_string(file).map_err(failed(file))? });
        }
    }
    if texts.is_empty() {
        return Err(Failure::flag(
            "--dir",
            format!("{} has no experiments: NNN/NAME.toml", directory.display()),
        ));
    }
    Ok(texts)
}

/// `000/fig12.toml` is `000.fig12`.
fn id(path: &str) -> Option<String> {
    let (paper, name) = path.strip_suffix(".toml")?.split_once('/')?;
    (!name.contains('/')).then(|| format!("{paper}.{name}"))
}

/// A name with its numbers as wide as they may be, so that they are sorted as numbers.
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
        assert_eq!(
            there.iter().map(|t| &t.0).collect::<Vec<_>>(),
            here.iter().map(|t| &t.0).collect::<Vec<_>>()
        );
        assert!(there == here, "built in are other texts");
        let library = Library::open(None).map_err(|failure| format!("{failure:?}")).unwrap();
        assert!(library.experiments.len() >= 17);
        // Every figure of closed forms that the papers have.
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
        for figure in &library.figures {
            let chart = figure.compute(&library.published).unwrap();
            assert!(
                chart.curves.iter().flat_map(|curve| &curve.points).all(|point| point.1.is_finite()),
                "{}",
                figure.id
            );
        }
        // Nothing stands there that is not compared, and each can fail.
        for experiment in &library.experiments {
            let cells: usize = experiment.checks.iter().map(|check| check.cells.len()).sum();
            assert!(cells + experiment.claims.len() > 0, "{}", experiment.id);
        }
        let names: Vec<&str> = library.experiments.iter().map(|e| e.id.as_str()).collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        assert!(
            place("000.fig9") < place("000.fig12") && place("000.fig15") < place("003.fig5"),
            "{names:?}"
        );
        assert_eq!(library.chosen(&["003".into()]).map(|all| all.len()).unwrap(), 5);
        assert_eq!(library.chosen(&["000.fig12".into()]).map(|all| all.len()).unwrap(), 1);
        assert!(library.chosen(&["000.fig99".into()]).is_err());
    }

    #[test]
    fn a_bad_file_names_file_line_and_field() {
        let (path, good) = BUILT_IN.iter().find(|(path, _)| *path == "000/fig12.toml").unwrap();
        let texts = |text: String| {
            let file = |path: &str, text: String| Text { path: path.to_owned(), text };
            vec![file("000/published.toml", BUILT_IN[0].1.to_owned()), file(path, text)]
        };
        assert!(Library::of(&texts((*good).to_owned())).is_ok());
        for (from, to, words) in [
            ("title = ", "titel = ", "unknown field `titel`"),
            ("runs = ", "rums = ", "unknown field `rums`"),
            ("hops = 4", "hops = 4\nhop = 4", "unknown field `hop`"),
            ("\"$R\"", "\"$S\"", "`$S`: neither `rows` nor `grid` has a parameter `S`"),
            ("loss = \"2.5%\"", "loss = \"250%\"", "loss"),
            ("R = 1.12 }", "R = 1.99 }", "0 points of `nc` are meant, not one"),
            ("000.t.fig12.jump", "000.t.fig12.hump", "has no trend `000.t.fig12.hump`"),
            ("sink[nc, R=1.12]", "sunk[nc, R=1.12]", "nothing is measured as `sunk`"),
            ("measure = \"sink\"", "measure = \"sunk\"", "sunk"),
            ("set = \"nc\"", "set = \"cn\"", "there is no `cn`; there are nc"),
        ] {
            assert!(good.contains(from), "{from}");
            let Err(Failure::Config(words_there)) = Library::of(&texts(good.replace(from, to))) else {
                panic!("{to} was accepted")
            };
            let mut parts = words_there.splitn(3, ':');
            assert_eq!(parts.next(), Some(*path), "{words_there}");
            assert!(parts.next().unwrap().parse::<usize>().is_ok_and(|line| line >= 1), "{words_there}");
            assert!(words_there.contains(words), "{to}: {words_there}");
        }
    }
}
