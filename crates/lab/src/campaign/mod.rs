//! The planner's campaign: simulates all schemes on random links and measures the planner's errors.
//!
//! `ripstop plan campaign` runs a campaign and writes the report. `ripstop plan` reads the
//! committed weights and errors. With `--verify` it also simulates one link.

pub mod behaviour;
pub mod data;
pub mod draw;
pub mod errors;
pub mod judge;
pub mod page;
mod scenes;
mod simulate;

pub use scenes::CampaignStage;
pub use simulate::{
    CampaignDraw, MeasuredScheme, TCPNC, measure, measure_requests, measure_scenario, run_seed, simulate,
};
