//! The planner's campaign: its schemes simulated on links that are drawn, and its errors on them.
//!
//! `ripstop plan campaign` runs a campaign and writes the report; `ripstop plan` reads the committed weights and errors, and simulates one
//! link for `--verify`.

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
