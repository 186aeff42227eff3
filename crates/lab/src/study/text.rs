//! What an experiment states beside its cells: measures, numbers, claims, figures.

use crate::claim::ClaimExpression;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::{Spanned, Table};

/// The sections of a file that are not cells.
pub(super) const SECTIONS: [&str; 8] =
    ["title", "where", "also", "about", "measure", "check", "claim", "figure"];

/// What an experiment's file says beside its cells.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StudyText {
    #[serde(default)]
    pub(super) title: String,
    #[serde(default, rename = "where")]
    pub(super) place: String,
    pub(super) also: Option<String>,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default, rename = "measure")]
    pub(super) measures: Vec<NamedMeasure>,
    #[serde(default, rename = "check")]
    pub(super) checks: Vec<NumberCheck>,
    #[serde(default, rename = "claim")]
    pub(super) claims: Vec<StudyClaim>,
    #[serde(default, rename = "figure")]
    pub(super) figures: Vec<FigureSpec>,
    // Read as cells.
    #[serde(default, rename = "base")]
    _base: IgnoredAny,
    #[serde(default, rename = "grid")]
    _grid: IgnoredAny,
    #[serde(default, rename = "zip")]
    _zip: IgnoredAny,
    #[serde(default, rename = "cases")]
    _cases: IgnoredAny,
    #[serde(default, rename = "set")]
    _set: IgnoredAny,
}

/// A figure of the result that gets a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NamedMeasure {
    /// Its name.
    pub(super) name: Spanned<String>,
    /// Its place in the result, such as `flows[0].delay_s.p99`.
    pub(super) value: Spanned<String>,
    /// Its unit.
    #[serde(default)]
    pub(super) unit: String,
}

/// Numbers of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NumberCheck {
    /// The set that is measured; may be left out where there is one without a name.
    #[serde(default = "no_name")]
    pub set: Spanned<String>,
    /// What is measured.
    pub measure: Spanned<String>,
    /// Relative difference from the paper's number that is allowed; two half-widths always are.
    #[serde(default = "two_percent")]
    pub within: f64,
    /// The same from the reference's number; as `within` when left out.
    pub reference_within: Option<f64>,
    /// Who made the reference.
    pub by: Option<String>,
    /// The numbers.
    pub cells: Vec<Spanned<NumberCell>>,
}

fn no_name() -> Spanned<String> {
    Spanned::new(0..0, String::new())
}

fn two_percent() -> f64 {
    0.02
}

/// A number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NumberCell {
    /// The cell: what its keys must be, and `flow` and `interval` where not the whole is meant.
    #[serde(default)]
    pub at: Table,
    /// The paper's number, by its name in `published.toml`; the mean of several.
    #[serde(default)]
    pub published: Vec<String>,
    /// What an independent simulation got: mean and half of its 95 % interval.
    pub reference: Option<Vec<f64>>,
    /// Allowed relative difference, where not that of the check.
    pub within: Option<f64>,
    /// What we expect of the paper's number.
    #[serde(default)]
    pub expect: ExpectedVerdict,
    /// Why it is not reproduced.
    pub because: Option<String>,
    /// Why the reference's number is another one; it is to agree when left out.
    pub reference_differs: Option<String>,
}

/// What becomes of a paper's number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    /// Ours agrees with it.
    #[default]
    Reproduced,
    /// Ours does not, and we know why.
    Differs,
    /// The paper does not say enough to try.
    NotReproducible,
}

/// A trend.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyClaim {
    /// Its name in `published.toml`.
    pub id: Option<Spanned<String>>,
    /// What is claimed, in our words.
    pub text: String,
    /// All of these.
    pub holds: Vec<Spanned<String>>,
    /// Whether at least one of them does not hold; with why.
    #[serde(default)]
    pub fails: bool,
    /// Why it does not hold.
    pub because: Option<String>,
    /// As written, understood; filled in when the file is read.
    #[serde(skip)]
    pub expressions: Vec<ClaimExpression>,
}

/// Curves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureSpec {
    /// What it shows.
    pub title: String,
    /// The set that is drawn; may be left out where there is one without a name.
    #[serde(default = "no_name")]
    pub set: Spanned<String>,
    /// The parameter along the axis; `time` for a series, or a recorded window.
    pub x: String,
    /// What stands at this axis; the parameter and its unit when left out.
    pub x_name: Option<String>,
    /// The parameters that tell curves apart; all others than `x` and those of `at` when left out.
    pub curves: Option<Vec<String>>,
    /// What is drawn.
    pub y: Spanned<String>,
    /// Points where these parameters have these values.
    #[serde(default)]
    pub at: Table,
    /// Whether the axis has equal steps for equal factors.
    #[serde(default)]
    pub log_x: bool,
    /// The same of the other.
    #[serde(default)]
    pub log_y: bool,
}
