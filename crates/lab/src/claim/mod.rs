//! The language of claims: assertions on numbers and curves, as text.
//!
//! One parser and one evaluator serve claims of experiments (`falling(sink[nc, R=*])`), expectations of one scenario
//! (`flows[bulk1].delay_s.p99 <= 0.5`) and trends of closed forms (`rising(curve(n in 20..24, fec_throughput(n=n, loss=1%)))`). What a
//! name stands for is decided by a [`ClaimScope`]. docs/researchers/claims.md describes the language.

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

/// What the names of a claim stand for.
pub trait ClaimScope {
    /// Whether a name is known, before anything has a value.
    ///
    /// # Errors
    /// What there is not, and what there is.
    fn check(&self, reference: &ClaimReference) -> Result<(), String>;

    /// What a name stands for.
    ///
    /// # Errors
    /// Why it has no value.
    fn read(&self, reference: &ClaimReference) -> Result<ClaimValue, String>;
}
