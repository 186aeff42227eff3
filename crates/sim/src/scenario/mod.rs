//! Scenarios: networks and traffic as data, run as often as it takes to know the mean.

mod capture;
mod check;
mod file;
mod nc;
mod preset;
mod report;
mod routes;
mod run;
mod spec;
mod trace;

pub use capture::Capture;
pub use check::ScenarioError;
pub use file::FileError;
pub use nc::{NcRedundancy, NcSpec, Recode};
pub use preset::{FecPath, Tandem};
pub use report::{FlowReport, FlowSeries, IntervalReport, LinkSeries, NcReport, Report, RunTotals, Series};
pub use run::{run, run_once};
pub use spec::{FlowSpec, LinkSpec, RunSpec, Scenario, TunnelSpec};
pub use trace::Trace;
