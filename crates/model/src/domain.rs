//! The error for arguments outside a model's domain, the checks that return it, and the choice of
//! an equation's form.

/// An argument outside a model's domain: its name, its value, and the allowed values.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {given}: it must be {domain}")]
pub struct DomainError {
    /// The name of the argument, in words.
    pub what: &'static str,
    /// The value that was given.
    pub given: f64,
    /// The allowed values, in words.
    pub domain: &'static str,
}

/// Selects the form of an equation, if the form that a paper prints is wrong. The errata of the
/// paper give the reasons (`papers/NNN/model.toml`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EquationForm {
    /// The corrected equation.
    #[default]
    Corrected,
    /// The printed equation, for comparison with the paper's own numbers.
    AsPrinted,
}

/// Returns an error unless `right` holds.
pub(crate) fn require(right: bool, what: &'static str, given: f64, domain: &'static str) -> Result<(), DomainError> {
    if right { Ok(()) } else { Err(DomainError { what, given, domain }) }
}

/// Checks a probability or a share: 0 to 1.
pub(crate) fn share(what: &'static str, given: f64) -> Result<(), DomainError> {
    require((0.0..=1.0).contains(&given), what, given, "between 0 and 1")
}

/// Checks a quantity that must be greater than 0 and finite.
pub(crate) fn positive(what: &'static str, given: f64) -> Result<(), DomainError> {
    require(given > 0.0 && given.is_finite(), what, given, "greater than 0 and finite")
}

/// Checks a quantity that must be 0 or more, and finite.
pub(crate) fn not_negative(what: &'static str, given: f64) -> Result<(), DomainError> {
    require(given >= 0.0 && given.is_finite(), what, given, "0 or more, and finite")
}

/// Checks a whole number of at least `least`.
pub(crate) fn at_least(what: &'static str, given: u32, least: u32, domain: &'static str) -> Result<(), DomainError> {
    require(given >= least, what, f64::from(given), domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_argument_value_and_domain() {
        let error = share("the loss probability", 1.5).unwrap_err();
        assert_eq!(error.to_string(), "the loss probability is 1.5: it must be between 0 and 1");
        assert!(share("p", f64::NAN).is_err() && share("p", 0.0).is_ok() && share("p", 1.0).is_ok());
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(positive("x", wrong).is_err() && not_negative("x", wrong).is_err());
        }
        assert!(positive("x", 0.0).is_err() && not_negative("x", 0.0).is_ok());
        assert!(at_least("n", 1, 2, "2 or more").is_err());
    }
}
