//! The language of claims: assertions about numbers and curves, written as text.
//!
//! One parser and one evaluator serve three uses:
//!
//! - claims of experiments, such as `falling(sink[nc, R=*])`: in the set `nc` of cells, the measure
//!   `sink` does not rise significantly as `R` grows
//! - expectations of one scenario, such as `flows[bulk1].delay_s.p99 <= 0.5`
//! - trends of closed forms, such as `rising(curve(n in 20..24, fec_throughput(n=n, loss=1%)))`. A
//!   closed form is a formula of a paper, implemented in `ripstop_model::published`.
//!
//! A name in a claim, such as `sink[nc, R=*]`, stands for values from outside the claim. Each use
//! has its own [`ClaimScope`], which looks up these values. docs/researchers/claims.md describes
//! the language.

mod evaluate;
mod expression;
mod formulas;
mod functions;
mod parse;
mod value;

pub use evaluate::{NoNames, check_claim, decide};
pub use expression::{ClaimArgument, ClaimExpression, ClaimRange, ClaimReference, Comparison, ReferencePart};
pub use functions::{CLAIM_FUNCTIONS, ClaimFunction};
pub use value::{ClaimFinding, ClaimValue, CurvePoint, show_number};

/// Looks up the values of the names in a claim.
pub trait ClaimScope {
    /// Checks that a name exists. No result is needed for this check.
    ///
    /// # Errors
    /// The error says which part of the name does not exist, and which names could stand in its
    /// place.
    fn check(&self, reference: &ClaimReference) -> Result<(), String>;

    /// The value of a name.
    ///
    /// # Errors
    /// The reason why the name has no value.
    fn read(&self, reference: &ClaimReference) -> Result<ClaimValue, String>;
}
