//! Checks claims and evaluates them.
//!
//! [`check_claim`] finds unknown names and functions before anything is simulated. [`decide`]
//! evaluates a claim to true, false, or an error. A scope looks up the values of the names in a
//! claim (see `mod.rs`).

use super::expression::{ClaimArgument, ClaimExpression, ClaimRange, ClaimReference, Comparison, ReferencePart};
use super::functions::{CLAIM_FUNCTIONS, call};
use super::value::{ClaimFinding, ClaimValue, CurvePoint, combine};
use super::{ClaimScope, show_number};
use ripstop_model::published::{self, Arguments};

/// The largest number of values of a range `a..b` or `a..b by n`. A list `{a, b}` has no limit.
///
/// The limit refuses a mistyped range, such as `1..1e9`, which would take very long. Half or double
/// the value only moves the size at which a range is refused. The message in
/// [`Evaluation::values`] repeats the number.
const MOST_VALUES: f64 = 10_000.0;

/// A scope without names, for claims that use only closed forms and variables.
#[derive(Clone, Copy, Debug)]
pub struct NoNames;

impl ClaimScope for NoNames {
    fn check(&self, reference: &ClaimReference) -> Result<(), String> {
        Err(format!(
            "there is no `{}`; this claim can use only the variables of `all(..)` and `curve(..)`",
            reference.text
        ))
    }

    fn read(&self, reference: &ClaimReference) -> Result<ClaimValue, String> {
        self.check(reference).map(|()| ClaimValue::Curve(Vec::new()))
    }
}

/// Checks that a claim is an assertion, and that all its names and functions exist. A function
/// without named arguments must have the right number of arguments.
///
/// # Errors
/// The first of these checks that fails.
pub fn check_claim(claim: &ClaimExpression, scope: &dyn ClaimScope) -> Result<(), String> {
    let asserts = match claim {
        ClaimExpression::Compare { .. } => true,
        ClaimExpression::Each { curve, body, .. } => {
            return if *curve { Err(NOT_AN_ASSERTION.into()) } else { check_body(claim, body, scope) };
        }
        ClaimExpression::Call { name, .. } => CLAIM_FUNCTIONS.iter().any(|f| f.name == name && f.asserts),
        _ => false,
    };
    if asserts { check(claim, scope, &mut Vec::new()) } else { Err(NOT_AN_ASSERTION.into()) }
}

/// The message about a claim whose value is a number or a curve instead of true or false.
const NOT_AN_ASSERTION: &str = "this is a value, not an assertion; compare it with another value";

/// Checks a claim of the form `all(..)`, whose innermost `body` must be an assertion.
fn check_body(claim: &ClaimExpression, body: &ClaimExpression, scope: &dyn ClaimScope) -> Result<(), String> {
    let mut inner = body;
    while let ClaimExpression::Each { curve: false, body, .. } = inner {
        inner = body;
    }
    let asserts = match inner {
        ClaimExpression::Compare { .. } => true,
        ClaimExpression::Call { name, .. } => CLAIM_FUNCTIONS.iter().any(|f| f.name == name && f.asserts),
        _ => false,
    };
    if asserts { check(claim, scope, &mut Vec::new()) } else { Err(NOT_AN_ASSERTION.into()) }
}

/// Evaluates a claim to true or false.
///
/// # Errors
/// The reason why the claim cannot be evaluated. Such a claim has no verdict.
pub fn decide(claim: &ClaimExpression, scope: &dyn ClaimScope) -> Result<ClaimFinding, String> {
    match (Evaluation { scope }).value(claim, &mut Vec::new())? {
        ClaimValue::Truth(finding) => Ok(finding),
        _ => Err(NOT_AN_ASSERTION.into()),
    }
}

/// The variable with this name and its value. If several variables have the name, the innermost
/// variable counts. `variables` are ordered from the outermost to the innermost.
fn variable<'a>(reference: &ClaimReference, variables: &'a [(String, f64)]) -> Option<&'a (String, f64)> {
    match &reference.parts[..] {
        [ReferencePart::Field(name)] => variables.iter().rev().find(|(known, _)| known == name),
        _ => None,
    }
}

/// Checks the names and the function calls in `expression`, as [`check_claim`] says. `variables` are
/// the variables of the enclosing `all(..)` and `curve(..)`.
fn check(
    expression: &ClaimExpression,
    scope: &dyn ClaimScope,
    variables: &mut Vec<(String, f64)>,
) -> Result<(), String> {
    match expression {
        ClaimExpression::Number(_) | ClaimExpression::Word(_) => Ok(()),
        ClaimExpression::Read(reference) => match variable(reference, variables) {
            Some(_) => Ok(()),
            None => scope.check(reference),
        },
        ClaimExpression::Negative(inner) => check(inner, scope, variables),
        ClaimExpression::Binary { left, right, .. } => {
            check(left, scope, variables).and_then(|()| check(right, scope, variables))
        }
        ClaimExpression::Call { name, arguments } => {
            check_call(name, arguments)?;
            arguments.iter().try_for_each(|argument| check(&argument.value, scope, variables))
        }
        ClaimExpression::Each { variable, range, body, .. } => {
            range.expressions().try_for_each(|part| check(part, scope, variables))?;
            variables.push((variable.clone(), 0.0));
            let found = check(body, scope, variables);
            variables.pop();
            found
        }
        ClaimExpression::Compare { first, rest } => {
            check(first, scope, variables)?;
            rest.iter().try_for_each(|(_, next)| check(next, scope, variables))
        }
    }
}

/// Whether a call counts as the call of a closed form (see `mod.rs`). A call with a named argument
/// counts as the call of a closed form. So does a call without arguments, if a closed form has the
/// name `name`.
fn is_closed_form(name: &str, arguments: &[ClaimArgument]) -> bool {
    let named = arguments.iter().any(|argument| argument.name.is_some());
    named || (arguments.is_empty() && published::FUNCTIONS.contains(&name))
}

/// Checks that the function `name` exists. If the arguments have no names, also checks the number
/// of arguments.
fn check_call(name: &str, arguments: &[ClaimArgument]) -> Result<(), String> {
    if is_closed_form(name, arguments) {
        if arguments.iter().any(|argument| argument.name.is_none()) {
            return Err(format!("`{name}`: give names to all arguments, or to none"));
        }
        return match published::FUNCTIONS.contains(&name) {
            true => Ok(()),
            false => {
                Err(format!("no closed form is called `{name}`; the names are {}", published::FUNCTIONS.join(", ")))
            }
        };
    }
    let known = CLAIM_FUNCTIONS.iter().find(|function| function.name == name);
    let function = known.ok_or_else(|| {
        let all: Vec<&str> = CLAIM_FUNCTIONS.iter().map(|function| function.name).collect();
        format!("there is no function `{name}`; the functions are {}", all.join(", "))
    })?;
    match function.arguments == arguments.len() {
        true => Ok(()),
        false => {
            Err(format!("`{name}` takes {} values, not {}: {}", function.arguments, arguments.len(), function.about))
        }
    }
}

/// The evaluation of one claim in a scope.
struct Evaluation<'a> {
    scope: &'a dyn ClaimScope,
}

impl Evaluation<'_> {
    /// The value of an expression. `variables` are the variables of the enclosing `all(..)` and
    /// `curve(..)`.
    fn value(&self, expression: &ClaimExpression, variables: &mut Vec<(String, f64)>) -> Result<ClaimValue, String> {
        match expression {
            ClaimExpression::Number(number) => Ok(ClaimValue::Number(*number)),
            ClaimExpression::Word(word) => Ok(ClaimValue::Word(word.clone())),
            ClaimExpression::Read(reference) => match variable(reference, variables) {
                Some((_, value)) => Ok(ClaimValue::Number(*value)),
                None => self.scope.read(reference),
            },
            ClaimExpression::Negative(inner) => combine(&[self.value(inner, variables)?], |values| -values[0]),
            ClaimExpression::Binary { operator, left, right } => {
                let apply = |a: f64, b: f64| match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                };
                let both = [self.value(left, variables)?, self.value(right, variables)?];
                combine(&both, |values| apply(values[0], values[1]))
            }
            ClaimExpression::Call { name, arguments } => {
                let values: Vec<ClaimValue> = arguments
                    .iter()
                    .map(|argument| self.value(&argument.value, variables))
                    .collect::<Result<_, _>>()?;
                check_call(name, arguments)?;
                match is_closed_form(name, arguments) {
                    true => closed_form(name, arguments, &values),
                    false => call(name, &values),
                }
            }
            ClaimExpression::Each { curve, variable, range, body } => {
                self.each(*curve, variable, range, body, variables)
            }
            ClaimExpression::Compare { first, rest } => self.compare(first, rest, variables),
        }
    }

    /// Evaluates a chain of comparisons, such as `a < b <= c`. If a side is a curve, the comparison
    /// must hold at every point.
    fn compare(
        &self,
        first: &ClaimExpression,
        rest: &[(Comparison, ClaimExpression)],
        variables: &mut Vec<(String, f64)>,
    ) -> Result<ClaimValue, String> {
        let mut left = self.value(first, variables)?;
        let (mut holds, mut words) = (true, left.show());
        for (comparison, right) in rest {
            let right = self.value(right, variables)?;
            let both = combine(&[left, right.clone()], |values| match values.iter().any(|v| v.is_nan()) {
                true => f64::NAN,
                false => f64::from(u8::from(comparison.holds(values[0], values[1]))),
            })?;
            let (all, wrong) = match &both {
                ClaimValue::Curve(_) => {
                    let wrong = both.curve()?.iter().find(|point| point.y != 1.0);
                    (wrong.is_none(), wrong.map(|point| point.label.clone()))
                }
                number => (number.number()? == 1.0, None),
            };
            holds &= all;
            words += &format!(" {} {}", comparison.word(), right.show());
            if let Some(label) = wrong {
                words += &format!(" (not at {label})");
            }
            left = right;
        }
        Ok(ClaimValue::Truth(ClaimFinding { holds, values: words }))
    }

    /// Evaluates `curve(..)` or `all(..)`: computes `body` for each value of the variable `name`.
    ///
    /// `curve` gives a curve of the values. `all` asserts that `body` holds for every value. A
    /// failure names the first value for which `body` does not hold.
    fn each(
        &self,
        curve: bool,
        name: &str,
        range: &ClaimRange,
        body: &ClaimExpression,
        variables: &mut Vec<(String, f64)>,
    ) -> Result<ClaimValue, String> {
        let values = self.values(range, variables)?;
        let mut points = Vec::with_capacity(values.len());
        let mut last = ClaimFinding { holds: true, values: String::new() };
        for x in values {
            variables.push((name.to_owned(), x));
            let found = self.value(body, variables);
            variables.pop();
            let place = |problem: String| format!("{problem} (at {name} = {})", show_number(x));
            match (curve, found.map_err(place)?) {
                (true, ClaimValue::Number(y)) => {
                    points.push(CurvePoint { x, label: show_number(x), y, ci95: 0.0 });
                }
                (true, _) => return Err("`curve(..)` must compute a number for each value of its variable".into()),
                (false, ClaimValue::Truth(finding)) if finding.holds => last = finding,
                (false, ClaimValue::Truth(finding)) => {
                    let values = format!("{} (not at {name} = {})", finding.values, show_number(x));
                    return Ok(ClaimValue::Truth(ClaimFinding { holds: false, values }));
                }
                (false, _) => return Err("`all(..)` needs an assertion for each value of its variable".into()),
            }
        }
        Ok(if curve { ClaimValue::Curve(points) } else { ClaimValue::Truth(last) })
    }

    /// The values of a range.
    fn values(&self, range: &ClaimRange, variables: &mut Vec<(String, f64)>) -> Result<Vec<f64>, String> {
        let mut number = |expression: &ClaimExpression| self.value(expression, variables)?.number();
        match range {
            ClaimRange::List(list) => list.iter().map(number).collect(),
            ClaimRange::Steps { from, to, points } => {
                let (from, to) = (number(from)?, number(to)?);
                let points = points.as_ref().map(|points| number(points)).transpose()?;
                let count = points.unwrap_or(to - from + 1.0);
                if !(1.0..=MOST_VALUES).contains(&count) || count.fract() != 0.0 {
                    let words = "write `1..9` or `0..1 by 11`, with at most 10000 values";
                    return Err(format!("{} to {} is not a valid range; {words}", show_number(from), show_number(to)));
                }
                let last = (count - 1.0).max(1.0);
                let value = |k: u32| match points {
                    None => from + f64::from(k),
                    Some(_) => from + (to - from) * f64::from(k) / last,
                };
                Ok((0..count as u32).map(value).collect())
            }
        }
    }
}

/// Evaluates a closed form of `ripstop_model::published`. Closed forms take named arguments.
fn closed_form(name: &str, arguments: &[ClaimArgument], values: &[ClaimValue]) -> Result<ClaimValue, String> {
    let mut all = Arguments::new();
    for (argument, value) in arguments.iter().zip(values) {
        let value = match value {
            ClaimValue::Number(number) => published::Value::Number(*number),
            ClaimValue::Word(word) => published::Value::Word(word.clone()),
            _ => return Err(format!("`{name}`: each argument must be a number or a word in quotes")),
        };
        all.insert(argument.name.clone().unwrap_or_default(), value);
    }
    let value = published::evaluate(name, &all).map_err(|error| error.to_string())?;
    Ok(ClaimValue::Number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(text: &str) -> Result<ClaimFinding, String> {
        let claim: ClaimExpression = text.parse()?;
        check_claim(&claim, &NoNames)?;
        decide(&claim, &NoNames)
    }

    #[test]
    fn closed_forms_and_variables() {
        for (text, holds) in [
            ("path_loss(link_loss=0.5, links=2) == 75%", true),
            ("increasing(curve(n in 20..24, n * n))", true),
            ("decreasing(curve(n in 20..24, n))", false),
            ("all(a in {1, 2}, all(b in 0..1 by 3, a + b <= 3))", true),
            ("all(a in {1, 2}, all(b in 0..1 by 3, a + b < 3))", false),
            ("sum(curve(n in 1..4, truth(n > 2))) == 2", true),
            ("near(max(curve(x in 0..1 by 11, x)), 1, 1e-9)", true),
            ("first(curve(x in 3..5, x)) < 4 < last(curve(x in 3..5, x))", true),
        ] {
            assert_eq!(decided(text).map(|finding| finding.holds), Ok(holds), "{text}");
        }
        let failed = decided("all(q in {1, 2}, q < 2)").unwrap();
        assert_eq!(failed.values, "2 < 2 (not at q = 2)");
    }

    #[test]
    fn what_cannot_be_evaluated_is_an_error() {
        for (text, words) in [
            ("fec(20, 19, 0.01, 1) > 5", "not a number"),
            ("sqrt(-1) < 2", "not a number"),
            ("rising(3)", "a curve is needed"),
            ("falling(part(curve(x in 1..3, x), 7, 9))", "no points"),
            ("1 + 2", "not an assertion"),
            ("all(x in 1..2, x)", "not an assertion"),
            ("curve(x in 1..2, x)", "not an assertion"),
            ("y > 1", "there is no `y`"),
            ("fec_throughput(n=9, loss=0.01, k=10) > 1", "N is 9"),
            ("fec_throughput(n=9, 10) > 1", "give names to all arguments"),
            ("nonsense(a=1) > 1", "no closed form is called `nonsense`"),
            ("nonsense(1) > 1", "there is no function `nonsense`"),
            ("within(1, 2) > 1", "takes 3 values, not 2"),
            ("all(x in 1..1e9, x > 0)", "at most 10000 values"),
            ("min(1 < 2) > 1", "a curve is needed"),
        ] {
            let problem = decided(text).expect_err(text);
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
