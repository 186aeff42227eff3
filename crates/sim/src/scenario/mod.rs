//! Scenarios: networks and traffic as data, run several times, with statistics over the runs.

mod build;
mod capture;
mod check;
mod expect;
mod file;
mod nc;
mod preset;
mod report;
mod routes;
mod run;
mod source;
mod spec;
mod totals;
mod trace;
mod udp;

pub use capture::Capture;
pub use check::ScenarioError;
pub use expect::ExpectSpec;
pub use file::FileError;
pub use nc::{NcRedundancy, NcSpec, Recode};
pub use preset::{FecPath, Tandem};
pub use report::{
    DirectionReport, FlowReport, FlowSeries, IntervalReport, LinkReport, LinkSeries, NcReport, NcSeries,
    ScenarioReport, Series, TunnelReport, delay_statistic,
};
pub use run::{run, run_all, run_once};
pub use source::SourceSpec;
pub use spec::{FlowSpec, LinkSpec, RunSpec, Scenario, TunnelSpec};
pub use totals::RunTotals;
pub use trace::Trace;
pub use udp::UdpSpec;
