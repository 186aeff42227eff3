//! The planner's data files as TOML text, compiled into the program. `make plan-report` writes all
//! three files, and the report `docs/plan-report.md` on the errors of the closed forms.

/// The weights of the closed forms. The text parses as a [`Weights`](super::Weights).
pub const WEIGHTS: &str = include_str!("../../data/plan-weights.toml");

/// The errors of the closed forms, measured on the links of the report.
pub const ERRORS: &str = include_str!("../../data/plan-errors.toml");

/// The links of the report and their results. The text parses as a
/// [`CampaignResults`](super::campaign::CampaignResults).
pub const REPORT: &str = include_str!("../../data/plan-report.toml");

/// The behaviour of the simulator for the schemes whose data in the three files above were made with
/// a simulator of another behaviour. The text parses as TOML with the optional table `behaviour`.
pub const REFIT: &str = include_str!("../../data/refit.toml");
