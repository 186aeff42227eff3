//! Studies: experiments that state what their results should be.
//!
//! A [`Study`] is read from an experiment's file. The file has one or more sets of cells. A cell is
//! one complete scenario, and the cells of a set differ in the values of some settings, called keys
//! (see `experiment/mod.rs`). The file also has:
//!
//! - measures: names for numbers of a result
//! - checks: numbers that a paper publishes, to compare with ours
//! - claims: assertions about the results (see `claim/mod.rs`)
//! - figures
//!
//! [`judge`] compares the checks and the claims with the results of the cells, and gives a verdict
//! on each check and each claim.

mod choice;
mod judge;
mod readings;
mod scope;
mod text;
pub mod words;

pub use judge::{AssertionVerdict, ClaimVerdict, JudgedStudy, NumberVerdict, Verdict, judge};
pub use readings::{CellReadings, CellResults, PlannedCell, StoredReadings, WantedNumber};
pub use text::{ExpectedVerdict, FigureSpec, NumberCell, NumberCheck, StudyClaim};

use crate::cell::LabCell;
use crate::claim::{ClaimExpression, check_claim};
use crate::error::{LabError, LabResult};
use crate::experiment::{Experiment, GridCell, SourceText};
use crate::measure::{KnownMeasure, Measure, MeasurePlace};
use crate::published::Published;
use choice::CellChoice;
use scope::StudyScope;
use text::{SECTIONS, StudyText};
use toml::Spanned;

/// An experiment, the published statements about its results, and the verdicts that we expect.
#[derive(Debug)]
pub struct Study {
    /// Name of the study, such as `000.fig12`.
    pub id: String,
    /// Title: what the experiment shows.
    pub title: String,
    /// The figure, table or section of the paper that has the experiment.
    pub place: String,
    /// Other places that have the same experiment.
    pub also: Option<String>,
    /// Background that a reader should know.
    pub about: String,
    /// Published numbers to compare with.
    pub checks: Vec<NumberCheck>,
    /// Claims about the results.
    pub claims: Vec<StudyClaim>,
    /// Figures to draw from the results.
    pub figures: Vec<FigureSpec>,
    /// The cells and how they are made.
    pub experiment: Experiment,
    /// Measures that the file defines in `[[measure]]` tables.
    measures: Vec<Measure>,
    /// The cells of each set, in the order of the sets.
    cells: Vec<Vec<GridCell>>,
}

/// Some cells of a set, with the flow and the interval to read from them.
pub(crate) struct ChosenCells<'a> {
    pub(crate) cells: Vec<&'a GridCell>,
    pub(crate) place: MeasurePlace,
}

impl Study {
    /// Reads the file of an experiment. Checks everything that can be checked before cells are run.
    ///
    /// # Errors
    /// Fails when the file is invalid. The error says file, line, column, what is wrong and what
    /// would be right.
    pub fn read(id: &str, source: SourceText, published: &Published) -> LabResult<Study> {
        let experiment = Experiment::read(source.clone(), &SECTIONS)?;
        let text: StudyText = toml::from_str(&source.text)
            .map_err(|wrong| source.wrong(wrong.span().map_or(0, |span| span.start), wrong.message().trim_end()))?;
        let mut cells: Vec<Vec<GridCell>> = experiment.sets().iter().map(|_| Vec::new()).collect();
        experiment.cells().into_iter().for_each(|cell| cells[cell.set].push(cell));
        let StudyText { title, place, also, about, measures, checks, claims, figures, .. } = text;
        let mut study = Study {
            id: id.to_owned(),
            title,
            place,
            also,
            about,
            checks,
            claims,
            figures,
            experiment,
            measures: Vec::new(),
            cells,
        };
        let wrong = |(at, problem): (usize, String)| source.wrong(at, problem);
        for spec in measures {
            let name = spec.name.as_ref().clone();
            if name.parse::<KnownMeasure>().is_ok() || study.measures.iter().any(|known| known.name() == name) {
                return Err(wrong((spec.name.span().start, format!("`name`: there is a measure `{name}` already"))));
            }
            study.measures.push(Measure::Path { name, path: spec.value.into_inner(), unit: spec.unit });
        }
        study.check_figures().map_err(wrong)?;
        study.check_numbers(published).map_err(wrong)?;
        study.read_claims(published).map_err(wrong)?;
        Ok(study)
    }

    /// All cells, in the order of the sets.
    pub fn all_cells(&self) -> Vec<GridCell> {
        self.cells.iter().flatten().cloned().collect()
    }

    /// Whether the study has anything to judge: published numbers or claims.
    pub fn states_something(&self) -> bool {
        !self.checks.is_empty() || !self.claims.is_empty()
    }

    /// The cells of the set with index `set`.
    pub fn cells(&self, set: usize) -> &[GridCell] {
        &self.cells[set]
    }

    /// Checks that the settings of every cell make a valid scenario.
    ///
    /// # Errors
    /// Fails at the first invalid cell. The error says file, line, column, key, what is wrong, and
    /// which cell it is.
    pub fn refuse_wrong_cells(&self) -> LabResult<()> {
        let wrong = self.cells.iter().flatten().find_map(|cell| Some((cell, cell.key.as_ref().err()?)));
        let Some((cell, wrong)) = wrong else { return Ok(()) };
        let name = cell.name(&self.experiment);
        let of_cell = if name.is_empty() { name } else { format!(" (cell {}: {name})", cell.index + 1) };
        Err(self.experiment.source().wrong(wrong.at, format!("{}{of_cell}", wrong.problem)))
    }

    /// Whether the name `other`, from a user, is the name of this study or of its paper.
    pub fn is(&self, other: &str) -> bool {
        self.id == other || self.paper() == other
    }

    /// The paper's number, such as `000`.
    pub fn paper(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    /// The measure with the name `name`: one that this study defines, or a [`KnownMeasure`].
    ///
    /// # Errors
    /// Fails when no measure has this name. The error lists the names of all [`KnownMeasure`]s.
    pub fn measure(&self, name: &str) -> Result<Measure, String> {
        match self.measures.iter().find(|measure| measure.name() == name) {
            Some(own) => Ok(own.clone()),
            None => name.parse().map(Measure::Known),
        }
    }

    /// The cells of a set, ready to be run. With `quick`, each cell has the number of runs that the
    /// set's field `quick` gives. None if `quick` is true and the set does not have this field.
    ///
    /// # Errors
    /// Fails when a cell is invalid. The error says file, line and column.
    pub fn planned(&self, set: usize, quick: bool) -> LabResult<Option<Vec<PlannedCell>>> {
        let spec = &self.experiment.sets()[set];
        if quick && spec.quick.is_none() {
            return Ok(None);
        }
        let cell = |cell: &GridCell| {
            let found = self.experiment.resolve(set, cell.place);
            let mut found = found.map_err(|wrong| self.experiment.source().wrong(wrong.at, wrong.problem))?;
            let name = format!("{}: {} {}", self.id, spec.name, cell.label(&self.experiment));
            if let Some(runs) = spec.quick.filter(|_| quick) {
                let mut scenario = found.scenario().clone();
                scenario.run.runs = runs;
                found = LabCell::new(&scenario, spec.trace).map_err(|problem| LabError::work(&name, problem))?;
            }
            Ok(PlannedCell { name, cell: found })
        };
        self.cells[set].iter().map(cell).collect::<LabResult<Vec<_>>>().map(Some)
    }

    /// The cells of a set whose keys have the values in `at`, with the flow and the interval that
    /// `at` names.
    pub(crate) fn chosen(&self, set: usize, at: &toml::Table) -> ChosenCells<'_> {
        // `Study::read` has already checked `at`.
        let choice = CellChoice::of_table(at).unwrap_or_default();
        ChosenCells { cells: choice.select(self, set), place: choice.place }
    }

    fn set_index(&self, name: &Spanned<String>) -> Result<usize, (usize, String)> {
        self.experiment.set(name.as_ref()).ok_or_else(|| {
            let all: Vec<&str> = self.experiment.sets().iter().map(|set| set.name.as_str()).collect();
            let problem = format!("`set`: there is no set `{}`; the sets are {}", name.as_ref(), all.join(", "));
            (name.span().start, problem)
        })
    }

    fn known_measure(&self, name: &Spanned<String>) -> Result<Measure, (usize, String)> {
        self.measure(name.as_ref()).map_err(|problem| (name.span().start, problem))
    }

    fn check_figures(&self) -> Result<(), (usize, String)> {
        for figure in &self.figures {
            let set = self.set_index(&figure.set)?;
            self.known_measure(&figure.y)?;
            let named = |name: &String| self.cells[set].iter().all(|cell| cell.text(&self.experiment, name).is_some());
            if figure.x != "time" && !named(&figure.x) {
                let problem = format!("`x`: the set has no key `{}`", figure.x);
                return Err((figure.y.span().start, problem));
            }
            let curves = figure.curves.iter().flatten().map(|name| ("curves", name));
            let mut names = figure.at.keys().map(|name| ("at", name)).chain(curves);
            if let Some((field, stranger)) = names.find(|(_, name)| !named(name)) {
                let problem = format!("`{field}`: the set has no key `{stranger}`");
                return Err((figure.y.span().start, problem));
            }
        }
        Ok(())
    }

    fn check_numbers(&self, published: &Published) -> Result<(), (usize, String)> {
        for check in &self.checks {
            let set = self.set_index(&check.set)?;
            self.known_measure(&check.measure)?;
            for cell in &check.cells {
                let (at, cell) = (cell.span().start, cell.as_ref());
                self.check_number(set, cell, published).map_err(|problem| (at, problem))?;
            }
        }
        Ok(())
    }

    fn check_number(&self, set: usize, cell: &NumberCell, published: &Published) -> Result<(), String> {
        let choice = CellChoice::of_table(&cell.at).map_err(|problem| format!("`at`: {problem}"))?;
        let found = choice.select(self, set);
        let [one] = found[..] else {
            let all: Vec<String> = self.cells[set].iter().map(|cell| cell.label(&self.experiment)).collect();
            return Err(format!(
                "`at` selects {} cells of `{}`, but must select one; the cells are: {}",
                found.len(),
                self.experiment.sets()[set].name,
                all.join("; ")
            ));
        };
        if let Ok(lab) = self.experiment.resolve(set, one.place) {
            choice.check(lab.scenario()).map_err(|problem| format!("`at`: {problem}"))?;
        }
        for name in &cell.published {
            published.number(name).map_err(|problem| format!("`published`: {problem}"))?;
        }
        if cell.published.is_empty() && cell.reference.is_none() {
            return Err("`published` or `reference` is missing: there is nothing to compare".into());
        }
        if cell.reference.as_ref().is_some_and(|pair| !(1..=2).contains(&pair.len())) {
            return Err("`reference`: write [mean], or [mean, half the width of its 95 % interval]".into());
        }
        if (cell.expect == ExpectedVerdict::Reproduced) == cell.because.is_some() {
            return Err("`because` must be given with `expect = \"differs\"` or `expect = \"not-reproducible\"`, \
                        and with no other verdict"
                .into());
        }
        if cell.expect != ExpectedVerdict::Reproduced && cell.published.is_empty() {
            return Err("`expect` needs `published`, which is missing".into());
        }
        Ok(())
    }

    fn read_claims(&mut self, published: &Published) -> Result<(), (usize, String)> {
        let mut claims = std::mem::take(&mut self.claims);
        for claim in &mut claims {
            if let Some(id) = &claim.id
                && !published.has_trend(id.as_ref())
                && published.entry(id.as_ref()).is_none()
            {
                let problem = format!("`id`: `published.toml` has no trend `{}`, and no entry", id.as_ref());
                return Err((id.span().start, problem));
            }
            if claim.holds.is_empty() || claim.fails != claim.because.is_some() {
                let at = claim.holds.first().map_or(0, |first| first.span().start);
                let problem =
                    "a claim needs assertions in `holds`; `because` and `fails = true` must be given together";
                return Err((at, format!("{problem} (claim: {})", claim.text)));
            }
            let scope = StudyScope { study: self, readings: None };
            for text in &claim.holds {
                let read = text.as_ref().parse::<ClaimExpression>();
                let expression = read
                    .and_then(|e| check_claim(&e, &scope).map(|()| e))
                    .map_err(|problem| (text.span().start, format!("`holds`: {problem} in `{}`", text.as_ref())))?;
                claim.expressions.push(expression);
            }
        }
        self.claims = claims;
        Ok(())
    }
}
