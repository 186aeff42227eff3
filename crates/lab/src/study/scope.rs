//! Resolves the names in a study's claims. For example, `sink[nc, R=1.12]` is the measure `sink` of
//! the cell in the set `nc` whose key `R` is 1.12. A cell is one complete scenario, and a key is a
//! setting whose value differs from cell to cell.

use super::Study;
use super::choice::CellChoice;
use super::readings::{CellReadings, WantedNumber};
use crate::claim::{ClaimReference, ClaimScope, ClaimValue, CurvePoint, ReferencePart};
use crate::entry::TableEntry;
use crate::experiment::GridCell;
use crate::measure::Measure;

/// The scope of a study's claims: the study, and the source of its numbers if the cells were run.
pub(super) struct StudyScope<'a> {
    pub(super) study: &'a Study,
    /// None while claims are only checked, before any cell is run.
    pub(super) readings: Option<&'a dyn CellReadings>,
}

/// The measure and the cells that a name in a claim refers to.
pub(super) struct Target {
    pub(super) measure: Measure,
    pub(super) set: usize,
    pub(super) choice: CellChoice,
}

impl StudyScope<'_> {
    /// Resolves a name in a claim.
    ///
    /// # Errors
    /// Fails when the measure or the set does not exist.
    pub(super) fn target(&self, reference: &ClaimReference) -> Result<Target, String> {
        let (name, inside) = match &reference.parts[..] {
            [ReferencePart::Field(name)] => (name, ""),
            [ReferencePart::Field(name), ReferencePart::Bracket(inside)] => (name, inside.as_str()),
            _ => {
                let words = "a section [[measure]] gives a name to another number of the result";
                return Err(format!(
                    "`{}` is not a measure of a set, such as `sink[nc, R=1.12]`; {words}",
                    reference.text
                ));
            }
        };
        let measure = self.study.measure(name)?;
        let mut words = inside.split(',').map(str::trim).filter(|word| !word.is_empty()).peekable();
        let set = words.next_if(|word| !word.contains('=')).unwrap_or_default();
        let known = self.study.experiment.set(set);
        let set = known.ok_or_else(|| match set {
            "" => format!("`{name}`: of which set? write `{name}[set, ..]`"),
            other => format!("there is no set `{other}`"),
        })?;
        Ok(Target { measure, set, choice: CellChoice::of_words(words)? })
    }
}

impl ClaimScope for StudyScope<'_> {
    fn check(&self, reference: &ClaimReference) -> Result<(), String> {
        let Target { measure, set, choice } = self.target(reference)?;
        let spec = &self.study.experiment.sets()[set];
        if measure.needs_trace() && !spec.trace {
            return Err(format!("`{}` needs `trace = true` in the set", measure.name()));
        }
        let found = choice.select(self.study, set);
        let Some(first) = found.first() else {
            return Err(format!("no cell of `{}` has these values", spec.name));
        };
        // An invalid cell is reported by `Study::refuse_wrong_cells`.
        let Ok(cell) = self.study.experiment.resolve(set, first.place) else { return Ok(()) };
        if measure.needs_series() && cell.scenario().run.sample.is_none() {
            return Err(format!("`{}` needs `sample` in the set's `run`", measure.name()));
        }
        choice.check(cell.scenario())?;
        let Some(star) = &choice.star else {
            return match found.len() {
                1 => Ok(()),
                n => Err(format!(
                    "{n} cells of `{}` have these values; give values for more keys, or write `key=*` for a curve",
                    spec.name
                )),
            };
        };
        let mut seen: Vec<&str> = Vec::new();
        for cell in found {
            let value = cell.text(&self.study.experiment, star).unwrap_or_default();
            if seen.contains(&value) {
                return Err(format!(
                    "several cells of `{}` have {star} = {value}; give values for more keys",
                    spec.name
                ));
            }
            seen.push(value);
        }
        Ok(())
    }

    fn read(&self, reference: &ClaimReference) -> Result<ClaimValue, String> {
        let Target { measure, set, choice } = self.target(reference)?;
        let readings = self.readings.ok_or("no cell was run")?;
        let experiment = &self.study.experiment;
        let label = |cell: &GridCell| cell.label(experiment);
        let mut curve = Vec::new();
        for cell in choice.select(self.study, set) {
            let wanted = WantedNumber { set, place: cell.place, measure: &measure, at: &choice.place };
            let number = readings
                .read(&wanted)?
                .ok_or_else(|| format!("`{}` was not measured at {}", measure.name(), label(cell)))?;
            let star = choice.star.as_ref();
            let x = star.and_then(|star| cell.value(experiment, star)).and_then(TableEntry::number);
            let text = star.and_then(|star| cell.text(experiment, star)).unwrap_or_default();
            curve.push(CurvePoint {
                x: x.unwrap_or(curve.len() as f64),
                label: text.to_owned(),
                y: number.mean,
                ci95: number.ci95.unwrap_or(0.0),
            });
        }
        match (&choice.star, curve.as_slice()) {
            (Some(_), _) => {
                curve.sort_by(|a, b| a.x.total_cmp(&b.x));
                Ok(ClaimValue::Curve(curve))
            }
            (None, [one]) => Ok(ClaimValue::Number(one.y)),
            (None, all) => Err(format!("`{}` selects {} cells, but must select one", reference.text, all.len())),
        }
    }
}
