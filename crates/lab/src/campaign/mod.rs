//! The planner's campaign: simulates all schemes on random links and measures the planner's errors.
//!
//! The planner is `ripstop plan` (see `plan/mod.rs`). The planner predicts the goodput and the
//! delays of each scheme on a link. These terms are used in all files of this folder:
//!
//! - A scheme is a way to use the link: a plain TCP, a TCP through the tunnel, TCP/NC, a block code,
//!   or TCP/LT. There are two families of schemes: the plain TCPs, and the TCPs through the tunnel.
//! - The fitted schemes are the schemes in `PlanScheme::FITTED`: the plain TCPs and the TCPs through
//!   the tunnel. The closed forms of the fitted schemes have weights, which are fitted to the
//!   results of one campaign. The other schemes are unfitted (`unfitted.rs`).
//! - C (1-p) is the capacity of a link after losses: C is its rate and p its loss probability.
//! - A link has one of a few kinds of losses, such as independent losses or long bursts
//!   (`LossPattern`).
//!
//! `ripstop plan campaign` runs a campaign and writes the report. `ripstop plan` reads the weights
//! and errors that are kept in the repository. `ripstop plan --verify` also simulates the user's
//! link.

pub mod behaviour;
pub mod data;
pub mod draw;
mod effort;
pub mod errors;
mod jobs;
pub mod judge;
mod measure;
pub mod page;
mod scenes;
mod simulate;
pub mod unfitted;

pub use jobs::run_seed;
pub use measure::{MeasuredScheme, measure, measure_requests, measure_scenario};
pub use scenes::CampaignStage;
pub use simulate::{CampaignDraw, SomeSchemes, simulate};
