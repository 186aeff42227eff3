//! Draws the figures of an experiment from its results.
//!
//! An experiment has sets of cells. A cell is one complete scenario. The cells of a set differ in
//! the values of some settings, called keys. A figure shows a measure of the cells of one set. One
//! key gives the x axis. Other keys distinguish the curves: cells with equal values of these keys
//! belong to one curve. The list `curves` of the `[[figure]]` section names these keys. Without
//! this list, all keys of the set distinguish curves, except the key of the x axis and the keys in
//! `at`.

use super::chart::FigureChart;
use super::curve::FigureCurve;
use crate::entry::TableEntry;
use crate::experiment::GridCell;
use crate::experiment::grid::CASE;
use crate::measure::Measure;
use crate::study::{CellReadings, CellResults, FigureSpec, JudgedStudy, Study, WantedNumber};

/// Makes the figure `figure` of an experiment. `judged` has the numbers of papers and of
/// independent simulations, which are drawn as circles.
pub fn study_chart(figure: &FigureSpec, study: &Study, results: &CellResults, judged: &JudgedStudy) -> FigureChart {
    let measure = study.measure(figure.y.as_ref());
    FigureChart {
        title: figure.title.clone(),
        x: figure.x_name.clone().unwrap_or_else(|| axis_of(figure, study)),
        y: measure.as_ref().map_or_else(|_| String::new(), Measure::axis),
        log_x: figure.log_x,
        log_y: figure.log_y,
        curves: measure.map_or_else(|_| Vec::new(), |y| curves(figure, &y, study, results, judged)),
    }
}

/// The curves of a figure. There is one curve for each combination of values of the keys that
/// distinguish curves (see the top of this file). A figure over time has one curve for each cell.
fn curves(
    figure: &FigureSpec,
    y: &Measure,
    study: &Study,
    results: &CellResults,
    judged: &JudgedStudy,
) -> Vec<FigureCurve> {
    let experiment = &study.experiment;
    let set = experiment.set(figure.set.as_ref()).unwrap_or(0);
    let chosen = study.chosen(set, &figure.at);
    let mut curves: Vec<FigureCurve> = Vec::new();
    for cell in &chosen.cells {
        let name = name(study, cell, figure);
        if figure.x == "time" {
            let values = y.over_time(&results.0[set][cell.place], chosen.place.flow.unwrap_or(0)).unwrap_or_default();
            let points = values.into_iter().map(|(x, y)| (x, y, 0.0)).collect();
            let steps = experiment.sets()[set].trace;
            curves.push(FigureCurve { name, points, others: Vec::new(), steps });
            continue;
        }
        let Some(x) = cell.value(experiment, &figure.x).and_then(TableEntry::number) else {
            continue;
        };
        let at = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
            curves.push(FigureCurve { name, ..FigureCurve::default() });
            curves.len() - 1
        });
        let curve = &mut curves[at];
        let wanted = WantedNumber { set, place: cell.place, measure: y, at: &chosen.place };
        if let Ok(Some(number)) = results.read(&wanted) {
            curve.points.push((x, number.mean, number.ci95.unwrap_or(0.0)));
        }
        for entry in &judged.entries {
            let here = entry.set == *figure.set.as_ref() && entry.measure == y.name();
            if here && entry.at == cell.label(experiment) {
                curve.others.extend(entry.published.iter().flatten().map(|y| (x, *y)));
                curve.others.extend(entry.reference.map(|y| (x, y)));
            }
        }
    }
    if figure.x != "time" {
        curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    }
    curves
}

/// The label of the x axis: the key's name and the unit of its values.
fn axis_of(figure: &FigureSpec, study: &Study) -> String {
    if figure.x == "time" {
        return "time, s".to_owned();
    }
    let set = study.experiment.set(figure.set.as_ref()).unwrap_or(0);
    let entry = study.cells(set).first().and_then(|cell| cell.value(&study.experiment, &figure.x));
    match entry {
        Some(TableEntry::Number(_, unit)) if !unit.word().is_empty() => {
            format!("{}, {}", figure.x, unit.word())
        }
        _ => figure.x.clone(),
    }
}

/// The name of the cell's curve: the cell's values of the keys that distinguish curves. If the cell
/// has no such key, the curve has the name of the set. If the set has no name, the curve has the
/// name of the measure.
fn name(study: &Study, cell: &GridCell, figure: &FigureSpec) -> String {
    let all = study.experiment.set_keys(cell.set);
    let others = || all.iter().filter(|key| **key != figure.x && !figure.at.contains_key(*key)).collect();
    let own: Vec<&String> = figure.curves.as_ref().map_or_else(others, |keys| keys.iter().collect());
    let words: Vec<String> = own
        .into_iter()
        .filter_map(|key| {
            let text = cell.text(&study.experiment, key)?;
            // The name of a case is shown without a key in front.
            Some(if key == CASE { text.to_owned() } else { format!("{key} = {text}") })
        })
        .collect();
    match (words.is_empty(), figure.set.as_ref().as_str()) {
        (true, "") => figure.y.as_ref().clone(),
        (true, set) => set.to_owned(),
        _ => words.join(", "),
    }
}
