//! `ripstop lab`: runs the cells of experiments on any machine, and merges the results.

mod cells;
mod figure;
mod merge;
mod table;

use crate::failure::Outcome;
use clap::Subcommand;

/// Run the cells of experiments on any machine, and merge the results
///
/// A cell is one scenario with a seed and a number of runs. A cell is written as one line of JSON. Any machine can run
/// the cell, because the run needs no other file. docs/researchers/cells.md shows how to use many machines.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    Cells(cells::CellsFlags),
    Cell(cells::CellFlags),
    Merge(merge::MergeFlags),
    Table(table::TableFlags),
    Figure(figure::FigureFlags),
}

const EXAMPLES: &str = "\
Examples:
  ripstop lab cells 000.fig12 > cells.jsonl
  head -n 1 cells.jsonl | ripstop lab cell > result.json
  ripstop lab merge results.redb result.json
  ripstop lab table 000.fig12 --store results.redb";

/// Runs the subcommand.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match &flags.command {
        LabCommand::Cells(flags) => cells::print_cells(flags),
        LabCommand::Cell(flags) => cells::run_cell(flags),
        LabCommand::Merge(flags) => merge::run(flags),
        LabCommand::Table(flags) => table::run(flags),
        LabCommand::Figure(flags) => figure::run(flags),
    }
}
