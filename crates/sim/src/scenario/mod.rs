//! Scenarios: networks and traffic described as data, run several times, and reported with statistics over the runs.
//!
//! - `spec` defines what a scenario file may contain, `check` checks it, and `file` reads and writes it as TOML.
//!   `preset` makes the scenarios of the papers.
//! - `routes` finds the routes of flows, and `build` makes the simulated network, a [`World`](crate::world::World).
//! - `parts` says which parts of the simulator a scenario runs.
//! - `run` runs the world, `totals` reads its counters, and `report` computes the figures.
//! - `trace` and `capture` record single events. `timeline` records what the stations of the media do.

mod build;
mod capture;
mod check;
mod error;
mod file;
mod parts;
mod preset;
mod report;
mod routes;
mod run;
mod spec;
mod timeline;
mod totals;
mod trace;

pub use capture::{AirCapture, AirFrameCounts, Capture};
pub use error::ScenarioError;
pub use file::FileError;
pub use parts::Part;
pub use preset::{FecPath, Tandem};
pub use report::{
    BlockReport, CadenceReport, DirectionReport, FlowReport, FlowSeries, IdealLinkReport, IdealReport, IntervalReport,
    LinkReport, LinkSeries, LossReport, LtReport, MediaSummary, MediumReport, MeshSummary, NcReport, NcSeries,
    RoutingReport, ScenarioReport, Series, StationReport, StationSeries, TunnelReport, delay_statistic,
};
pub use run::{run, run_all, run_once};
pub use spec::{
    AccessName, AdaptiveSpec, BackoffName, BlockLength, BlockSettings, BlockSize, BlockWord, CadenceSpec, Code,
    CodeName, ExpectSpec, FlowSpec, FormerBlock, GatewaySpec, IdealLinkSpec, IdealSpec, KSpec, LearnedWord, LinkSpec,
    LtMode, MediumPreset, MediumSpec, NcRedundancy, NcSpec, Recode, RedundancyWord, RunSpec, Scenario, SourceSpec,
    StationSpec, TunnelSpec, UdpSpec,
};
pub use timeline::{AirTimeline, Timeline, TimelineKind, TimelineRow, TimelineSpan};
pub use totals::RunTotals;
pub use trace::Trace;
