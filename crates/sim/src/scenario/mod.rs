//! Scenarios: networks and traffic as data, run several times, with statistics over the runs.

mod build;
mod capture;
mod check;
mod file;
mod nc;
mod preset;
mod report;
mod routes;
mod run;
mod source;
mod spec;
mod trace;
mod udp;

pub use capture::Capture;
pub use check::ScenarioError;
pub use file::FileError;
pub use nc::{NcRedundancy, NcSpec, Recode};
pub use preset::{FecPath, Tandem};
pub use report::{
    DirectionReport, FlowReport, FlowSeries, IntervalReport, LinkReport, LinkSeries, NcReport, NcSeries,
    ScenarioReport, Series, TunnelReport, delay_statistic,
};
pub use run::{RunTotals, run, run_all, run_once};
pub use source::SourceSpec;
pub use spec::{ExpectSpec, FlowSpec, LinkSpec, RunSpec, Scenario, TunnelSpec};
pub use trace::Trace;
pub use udp::UdpSpec;
