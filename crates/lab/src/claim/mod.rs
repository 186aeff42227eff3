//! The language of claims: assertions about numbers and curves, written as text.
//!
//! One parser and one evaluator serve three uses:
//!
//! - claims of experiments: `falling(sink[nc, R=*])`
//! - expectations of one scenario: `flows[bulk1].delay_s.p99 <= 0.5`
//! - trends of closed forms: `rising(curve(n in 20..24, fec_throughput(n=n, loss=1%)))`
//!
//! Each use has its own [`ClaimScope`], which gives names their values.
//! docs/researchers/claims.md describes the language.

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

/// Gives the names in a claim their values.
pub trait ClaimScope {
    /// Checks that a name exists. This works before any results exist.
    ///
    /// # Errors
    /// The part of the name that does not exist, and which names do.
    fn check(&self, reference: &ClaimReference) -> Result<(), String>;

    /// The value of a name.
    ///
    /// # Errors
    /// The name does not exist or has no value, and why.
    fn read(&self, reference: &ClaimReference) -> Result<ClaimValue, String>;
}
