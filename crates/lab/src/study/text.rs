//! The statements in an experiment's file, as they are deserialized: measures, published numbers,
//! claims and figures.

use crate::claim::ClaimExpression;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::{Spanned, Table};

/// The keys and sections of the file that are read here. These sections do not define cells.
pub(super) const SECTIONS: [&str; 8] = ["title", "where", "also", "about", "measure", "check", "claim", "figure"];

/// Everything in an experiment's file, except for the sections that define cells.
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
    // These sections define cells; `Experiment::read` reads them.
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

/// A `[[measure]]` table, which names a number of the result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NamedMeasure {
    /// Name of the measure.
    pub(super) name: Spanned<String>,
    /// Path of the number in the result, such as `flows[0].delay_s.p99`.
    pub(super) value: Spanned<String>,
    /// Unit; empty for a number without a unit.
    #[serde(default)]
    pub(super) unit: String,
}

/// A `[[check]]` table: numbers to compare, all of the same measure. Our number is compared with
/// the paper's number, with a reference, or with both. The reference is the result of an
/// independent simulation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NumberCheck {
    /// Name of the set. The name may be left out if the experiment has one set without a name.
    #[serde(default = "no_name")]
    pub set: Spanned<String>,
    /// Name of the measure.
    pub measure: Spanned<String>,
    /// Largest allowed relative difference from the paper's number. A difference of up to two
    /// half-widths of our confidence interval is always allowed.
    #[serde(default = "two_percent")]
    pub within: f64,
    /// Largest allowed relative difference from the reference; `within` if left out.
    pub reference_within: Option<f64>,
    /// The program or person that made the reference.
    pub by: Option<String>,
    /// The numbers to compare.
    pub cells: Vec<Spanned<NumberCell>>,
}

/// The name of a set that has no name: the empty text.
fn no_name() -> Spanned<String> {
    Spanned::new(0..0, String::new())
}

/// The default of `within`: a relative difference of 2 %. With half the value, more numbers fail
/// unless their confidence intervals are wide. With twice the value, a real difference of up to 4 %
/// counts as reproduced.
fn two_percent() -> f64 {
    0.02
}

/// A number to compare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NumberCell {
    /// Selects the cell by the values of its keys. The table may also have `flow` and `interval`.
    #[serde(default)]
    pub at: Table,
    /// Names of the paper's numbers in `published.toml`. If there are several numbers, their mean
    /// is compared.
    #[serde(default)]
    pub published: Vec<String>,
    /// The result of an independent simulation: the mean, and half the width of its 95 % confidence
    /// interval.
    pub reference: Option<Vec<f64>>,
    /// Largest allowed relative difference for this number, instead of the check's value.
    pub within: Option<f64>,
    /// The verdict that we expect on the paper's number.
    #[serde(default)]
    pub expect: ExpectedVerdict,
    /// Why the paper's number is not reproduced.
    pub because: Option<String>,
    /// Why the reference differs from our result. If this reason is left out, the reference must
    /// agree with our result.
    pub reference_differs: Option<String>,
}

/// The expected verdict on a paper's number.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    /// Our result agrees with the paper.
    #[default]
    Reproduced,
    /// Our result differs from the paper, and we know why.
    Differs,
    /// The paper does not say enough to repeat its simulation.
    NotReproducible,
}

/// A `[[claim]]` table: a trend that the results should show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyClaim {
    /// Name of the trend in `published.toml`, if a paper states the trend. The name may also be the
    /// name of an entry: a number such as a gain, which compares several cells.
    pub id: Option<Spanned<String>>,
    /// The claim in our words.
    pub text: String,
    /// The assertions of the claim, all of which must hold.
    pub holds: Vec<Spanned<String>>,
    /// Whether we expect at least one assertion to fail; `because` says why.
    #[serde(default)]
    pub fails: bool,
    /// Why the claim does not hold; only with `fails`.
    pub because: Option<String>,
    /// The parsed assertions of `holds`. This list is filled when the file is read.
    #[serde(skip)]
    pub expressions: Vec<ClaimExpression>,
}

/// A `[[figure]]` table: curves to draw.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureSpec {
    /// Title of the figure.
    pub title: String,
    /// Name of the set to draw. The name may be left out if the experiment has one set without a
    /// name.
    #[serde(default = "no_name")]
    pub set: Spanned<String>,
    /// The key on the x axis, or `time` for a time series or a recorded window.
    pub x: String,
    /// Label of the x axis; the key and its unit if left out.
    pub x_name: Option<String>,
    /// The keys that distinguish the curves. If this list is left out, all keys distinguish the
    /// curves except `x` and the keys of `at`.
    pub curves: Option<Vec<String>>,
    /// Name of the measure on the y axis.
    pub y: Spanned<String>,
    /// Draws only cells whose keys have these values.
    #[serde(default)]
    pub at: Table,
    /// Whether the x axis is logarithmic.
    #[serde(default)]
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
}
