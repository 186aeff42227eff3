//! The models as functions with names. Data files use the names to compare the models with the
//! numbers that the papers print.
//!
//! The files `papers/000/model.toml` to `papers/004/model.toml` list the comparisons. Each
//! comparison names the place of a printed number, and the function and arguments that compute this
//! number. The comparison also names the *reading*, if an equation of the paper can be understood
//! in several ways. [`evaluate`] computes the number, and [`agrees`] compares it with the printed
//! digits.

mod functions;

use crate::domain::DomainError;
use std::cell::RefCell;
use std::collections::BTreeMap;

pub use functions::FUNCTIONS;

/// An argument of a function, as a file states it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, in SI units unless the argument's name says another unit.
    Number(f64),
    /// One of a few words, for example a reading.
    Word(String),
}

/// The arguments of a function, by name.
pub type Arguments = BTreeMap<String, Value>;

/// The reason why a comparison cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluateError {
    /// There is no function of this name.
    #[error("there is no function `{0}`; the functions are {list}", list = FUNCTIONS.join(", "))]
    Function(String),
    /// A required argument is missing.
    #[error("`{function}` needs the argument `{argument}`")]
    Missing {
        /// The name of the function.
        function: String,
        /// The name of the argument.
        argument: &'static str,
    },
    /// The function does not have this argument.
    #[error("`{function}` has no argument `{argument}`")]
    Unknown {
        /// The name of the function.
        function: String,
        /// The name of the argument.
        argument: String,
    },
    /// An argument has the wrong kind, or is not one of the allowed words.
    #[error("the argument `{argument}` must be {wanted}")]
    Kind {
        /// The name of the argument.
        argument: &'static str,
        /// The kind or the words that are allowed.
        wanted: &'static str,
    },
    /// An argument is outside the model's domain.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

/// Computes the value of the model function `function` for `arguments`.
///
/// # Errors
/// No function has this name. Or an argument is missing, unknown, of the wrong kind, or outside the
/// model's domain.
pub fn evaluate(function: &str, arguments: &Arguments) -> Result<f64, EvaluateError> {
    compute(function, arguments, false)
}

/// Checks that `function` exists and accepts `arguments`. A function that draws random users draws
/// none for this, so a check is quick.
///
/// # Errors
/// As [`evaluate`].
pub fn check(function: &str, arguments: &Arguments) -> Result<(), EvaluateError> {
    compute(function, arguments, true).map(drop)
}

fn compute(function: &str, arguments: &Arguments, only_check: bool) -> Result<f64, EvaluateError> {
    let reader = Reader { function, arguments, only_check, read: RefCell::default() };
    let value = functions::evaluate(&reader)?;
    match arguments.keys().find(|name| !reader.read.borrow().iter().any(|read| read == name)) {
        Some(name) => Err(EvaluateError::Unknown { function: function.to_owned(), argument: name.clone() }),
        None => Ok(value),
    }
}

/// Whether `value` agrees with `printed` to half a unit of the last printed digit. A zero at the
/// end counts as a printed digit: "0.0220" has four decimals. Returns `None` if `printed` is not a
/// plain decimal number.
pub fn agrees(value: f64, printed: &str) -> Option<bool> {
    let number: f64 = printed.parse().ok()?;
    if !printed.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')) {
        return None;
    }
    let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    let unit = libm::pow(10.0, -(decimals as f64));
    Some((value - number).abs() <= 0.5 * unit * (1.0 + 1e-6))
}

/// The arguments of a function. The reader records which arguments the function reads, so that
/// [`evaluate`] can report all others as unknown.
struct Reader<'a> {
    function: &'a str,
    arguments: &'a Arguments,
    /// Whether only the arguments matter, and not the value.
    only_check: bool,
    read: RefCell<Vec<&'static str>>,
}

impl Reader<'_> {
    /// The value of an argument. Records that the argument was read.
    fn get(&self, name: &'static str) -> Option<&Value> {
        self.read.borrow_mut().push(name);
        self.arguments.get(name)
    }

    /// The number of a required argument.
    fn number(&self, name: &'static str) -> Result<f64, EvaluateError> {
        let missing = || EvaluateError::Missing { function: self.function.to_owned(), argument: name };
        self.number_if(name)?.ok_or_else(missing)
    }

    /// The number of an argument, or `otherwise` if the argument is absent.
    fn number_or(&self, name: &'static str, otherwise: f64) -> Result<f64, EvaluateError> {
        Ok(self.number_if(name)?.unwrap_or(otherwise))
    }

    /// The number of an argument, or `None` if the argument is absent.
    fn number_if(&self, name: &'static str) -> Result<Option<f64>, EvaluateError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(*number)),
            Some(Value::Word(_)) => Err(EvaluateError::Kind { argument: name, wanted: "a number" }),
        }
    }

    /// The whole number of a required argument.
    fn whole(&self, name: &'static str) -> Result<u32, EvaluateError> {
        whole(name, self.number(name)?)
    }

    /// The whole number of an argument, or `otherwise` if the argument is absent.
    fn whole_or(&self, name: &'static str, otherwise: u32) -> Result<u32, EvaluateError> {
        self.number_if(name)?.map_or(Ok(otherwise), |number| whole(name, number))
    }

    /// Returns the value of the argument's word in `words`, or the first value if the argument is
    /// absent.
    fn word<T: Copy>(&self, name: &'static str, words: &[(&str, T)], wanted: &'static str) -> Result<T, EvaluateError> {
        let kind = EvaluateError::Kind { argument: name, wanted };
        match self.get(name) {
            None => words.first().map(|word| word.1).ok_or(kind),
            Some(Value::Word(word)) => words.iter().find(|known| known.0 == word).map(|word| word.1).ok_or(kind),
            Some(Value::Number(_)) => Err(kind),
        }
    }
}

/// Converts a number to a whole number, or gives an error that names the argument.
fn whole(name: &'static str, number: f64) -> Result<u32, EvaluateError> {
    if number >= 0.0 && number <= f64::from(u32::MAX) && libm::floor(number) == number {
        Ok(number as u32)
    } else {
        Err(EvaluateError::Kind { argument: name, wanted: "a whole number from 0 to 4294967295" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check draws no users, and refuses what an evaluation refuses.
    #[test]
    fn a_check_refuses_what_an_evaluation_refuses() {
        let with = |changes: &[(&str, Value)]| {
            let mut all = Arguments::from([
                ("mbps".to_owned(), Value::Number(1.0)),
                ("arrivals".to_owned(), Value::Number(0.02)),
                ("seconds".to_owned(), Value::Number(10.0)),
            ]);
            all.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
            all
        };
        assert_eq!(check("stations_drawn", &with(&[])), Ok(()));
        for changes in [
            [("mbps", Value::Number(-1.0))],
            [("arrivals", Value::Number(100.0))],
            [("mix", Value::Word("c".to_owned()))],
            [("runs", Value::Number(0.5))],
            [("slots", Value::Number(1.0))],
        ] {
            let arguments = with(&changes);
            let refused = evaluate("stations_drawn", &arguments).map(drop);
            assert!(refused.is_err(), "{changes:?}");
            assert_eq!(check("stations_drawn", &arguments), refused);
        }
    }

    #[test]
    fn digits_as_they_are_printed() {
        for (value, printed, agree) in [
            (0.02196, "0.0220", true),
            (0.02194, "0.0220", false),
            (4.6, "5", true),
            (0.316295, "0.3163", true),
            (0.316295, "0.3162", false),
            (-0.5, "-0.5", true),
            (2.5, "2", true),
            (f64::NAN, "1", false),
            (f64::INFINITY, "1", false),
        ] {
            assert_eq!(agrees(value, printed), Some(agree), "value {value}, printed {printed}");
        }
        for wrong in ["", "1e3", "inf", "NaN", "4-5", "about 1"] {
            assert_eq!(agrees(1.0, wrong), None, "`{wrong}` is not a plain number");
        }
    }

    #[test]
    fn what_is_wrong_with_a_comparison() {
        let of = |pairs: &[(&str, Value)]| -> Arguments {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let number = |x| Value::Number(x);
        // The factor does not depend on the round-trip time.
        let factor = |rtt| evaluate("tcp_td_factor", &of(&[("loss", number(0.01)), ("rtt", number(rtt))])).unwrap();
        assert!((factor(0.1) - factor(0.8)).abs() < 1e-12);
        assert_eq!(evaluate("path_loss", &of(&[("link_loss", number(0.5)), ("links", number(2.0))])), Ok(0.75));
        for (function, arguments, say) in [
            ("nonsense", of(&[]), "path_loss"),
            ("path_loss", of(&[("link_loss", number(0.5))]), "`links`"),
            ("path_loss", of(&[("link_loss", number(1.5)), ("links", number(2.0))]), "between 0 and 1"),
            ("path_loss", of(&[("link_loss", number(0.5)), ("links", number(1.5))]), "whole number"),
            ("path_loss", of(&[("link_loss", Value::Word("x".into())), ("links", number(2.0))]), "a number"),
            (
                "path_loss",
                of(&[("link_loss", number(0.5)), ("links", number(2.0)), ("x", number(1.0))]),
                "no argument `x`",
            ),
            ("tcp_mbps", of(&[("window_reading", Value::Word("up".into()))]), "floor"),
        ] {
            let error = evaluate(function, &arguments).unwrap_err().to_string();
            assert!(error.contains(say), "the message does not name `{say}`: {error}");
        }
        // Each listed function exists. Without arguments, the function names a missing argument, or
        // has defaults for all arguments.
        for function in FUNCTIONS {
            assert!(
                !matches!(evaluate(function, &Arguments::new()), Err(EvaluateError::Function(_))),
                "{function} is listed but does not exist"
            );
        }
    }
}
