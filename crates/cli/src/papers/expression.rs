//! Assertions on measured curves, as text: `sink[nc, R=1.12] > 2 * sink[nc, R=1.11]`.
//!
//! An assertion is a chain of comparisons (`<`, `<=`, `>`, `>=`, `==`) of sums, or a function that is true or false. A value is a number
//! (`0.5`, `3%`), `measure[set, parameter=value, ..]`, or a function of values. With `parameter=*` it is a curve over that parameter; arithmetic
//! goes point by point, and a comparison holds when it does at every point.

use super::evaluate::FUNCTIONS;
use super::experiment::Experiment;
use super::measure::Measure;
use super::points::{Parameter, Place};

/// An assertion that was understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    /// A measure of a set.
    Read {
        measure: Measure,
        set: String,
        place: Place,
    },
    Negative(Box<Expression>),
    Binary {
        operator: char,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// Name and arguments of a function.
    Call {
        name: String,
        arguments: Vec<Expression>,
    },
    /// The first, and what each next one is compared by.
    Compare {
        first: Box<Expression>,
        rest: Vec<(Comparison, Expression)>,
    },
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

impl Comparison {
    /// Whether it holds.
    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Equal => left == right,
        }
    }

    /// As written.
    pub(super) fn word(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Equal => "==",
        }
    }
}

impl Expression {
    /// Reads an assertion.
    ///
    /// # Errors
    /// What was expected, and what stands there.
    pub(super) fn parse(text: &str) -> Result<Expression, String> {
        let mut reader = Reader { rest: text };
        let expression = reader.comparison()?;
        match reader.rest.trim() {
            "" => Ok(expression),
            left => Err(format!("`{left}` was not expected")),
        }
    }

    /// Checks that it is true or false, and that all that it names is there.
    ///
    /// # Errors
    /// What is not.
    pub(super) fn check(&self, experiment: &Experiment) -> Result<(), String> {
        let is_assertion = match self {
            Expression::Compare { .. } => true,
            Expression::Call { name, .. } => FUNCTIONS.iter().any(|f| f.name == name && f.asserts),
            _ => false,
        };
        if !is_assertion {
            return Err("this is a value, not an assertion: compare it".into());
        }
        self.check_names(experiment)
    }

    /// The sets that it reads.
    pub(super) fn sets(&self) -> Vec<&str> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Read { set, .. } => vec![set],
            Expression::Negative(inner) => inner.sets(),
            Expression::Binary { left, right, .. } => [left.sets(), right.sets()].concat(),
            Expression::Call { arguments, .. } => arguments.iter().flat_map(Expression::sets).collect(),
            Expression::Compare { first, rest } => {
                first.sets().into_iter().chain(rest.iter().flat_map(|(_, next)| next.sets())).collect()
            }
        }
    }

    fn check_names(&self, experiment: &Experiment) -> Result<(), String> {
        match self {
            Expression::Number(_) => Ok(()),
            Expression::Negative(inner) => inner.check_names(experiment),
            Expression::Binary { left, right, .. } => {
                left.check_names(experiment).and_then(|()| right.check_names(experiment))
            }
            Expression::Call { name, arguments } => {
                let known = FUNCTIONS.iter().find(|function| function.name == name);
                let function = known.ok_or_else(|| {
                    let all: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
                    format!("there is no function `{name}`; there are {}", all.join(", "))
                })?;
                if function.arguments != arguments.len() {
                    return Err(format!(
                        "`{name}` takes {} values, not {}: {}",
                        function.arguments,
                        arguments.len(),
                        function.about
                    ));
                }
                arguments.iter().try_for_each(|argument| argument.check_names(experiment))
            }
            Expression::Compare { first, rest } => {
                first.check_names(experiment)?;
                rest.iter().try_for_each(|(_, next)| next.check_names(experiment))
            }
            Expression::Read { measure, set, place } => {
                let k = experiment.set(set).ok_or_else(|| format!("there is no set `{set}`"))?;
                if measure.needs_trace() && !experiment.sets[k].trace {
                    return Err(format!("`{}` needs `trace = true` in the set", measure.name()));
                }
                let found = place.select(&experiment.points[k]);
                let Some(first) = found.first() else {
                    return Err(format!("no point of `{set}` is meant"));
                };
                if measure.needs_series() && first.scenario.run.sample.is_none() {
                    return Err(format!("`{}` needs `sample` in the set's `run`", measure.name()));
                }
                place.check(&first.scenario)?;
                match &place.star {
                    None if found.len() > 1 => {
                        Err(format!("{} points of `{set}` are meant; name more, or `=*`", found.len()))
                    }
                    Some(star) => {
                        let mut seen: Vec<&str> = Vec::new();
                        for point in found {
                            let value = point.get(star).map_or("", |value| &value.text);
                            if seen.contains(&value) {
                                return Err(format!("several points of `{set}` have {star} = {value}"));
                            }
                            seen.push(value);
                        }
                        Ok(())
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

/// Reads from the left.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn comparison(&mut self) -> Result<Expression, String> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        let words = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("==", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        while let Some((_, comparison)) = words.iter().find(|(word, _)| self.take(word)) {
            rest.push((*comparison, self.sum()?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Compare { first: Box::new(first), rest } })
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        while let Some(operator) = ['+', '-'].into_iter().find(|c| self.take(c.encode_utf8(&mut [0; 4]))) {
            let right = Box::new(self.product()?);
            left = Expression::Binary { operator, left: Box::new(left), right };
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.factor()?;
        while let Some(operator) = ['*', '/'].into_iter().find(|c| self.take(c.encode_utf8(&mut [0; 4]))) {
            let right = Box::new(self.factor()?);
            left = Expression::Binary { operator, left: Box::new(left), right };
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        if self.take("-") {
            return Ok(Expression::Negative(Box::new(self.factor()?)));
        }
        if self.take("(") {
            let inner = self.sum()?;
            return if self.take(")") { Ok(inner) } else { Err(self.expected("`)`")) };
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let name = self.span(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() {
            return Err(self.expected("a number, a measure or a function"));
        }
        if self.take("(") {
            let mut arguments = vec![self.sum()?];
            while self.take(",") {
                arguments.push(self.sum()?);
            }
            return match self.take(")") {
                true => Ok(Expression::Call { name: name.to_owned(), arguments }),
                false => Err(self.expected("`,` or `)`")),
            };
        }
        if self.take("[") { self.read(name.parse()?) } else { Err(self.expected("`[` or `(`")) }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let text = self.span(|c| c.is_ascii_digit() || c == '.');
        let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
        // A percent sign belongs to the number.
        let scale = if self.rest.starts_with('%') { 0.01 } else { 1.0 };
        self.rest = self.rest.strip_prefix('%').unwrap_or(self.rest);
        Ok(Expression::Number(number * scale))
    }

    /// What stands in the brackets of `measure[set, parameter=value]`.
    fn read(&mut self, measure: Measure) -> Result<Expression, String> {
        let (inside, after) = self.rest.split_once(']').ok_or_else(|| self.expected("`]`"))?;
        self.rest = after;
        let mut parts = inside.split(',').map(str::trim);
        let set = parts.next().unwrap_or_default().to_owned();
        let mut place = Place::default();
        for part in parts {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not `parameter=value`"))?;
            place.set(name.trim(), Parameter::of_text(value.trim()))?;
        }
        Ok(Expression::Read { measure, set, place })
    }

    fn take(&mut self, word: &str) -> bool {
        match self.rest.trim_start().strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn span(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (span, rest) = self.rest.split_at(end);
        self.rest = rest;
        span
    }

    fn expected(&self, what: &str) -> String {
        let rest = self.rest.trim();
        let there = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
        format!("{what} was expected before {there}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_read() {
        for good in [
            "sink[nc, R=1.12] > 2 * sink[nc, R=1.11]",
            "0.9 < goodput[nc, flow=0, interval=350s..650s] / (1 - 2.5%) <= 1",
            "rising(units[reno, N=*])",
            "-1 == -(1 + 2) * 3",
        ] {
            assert!(Expression::parse(good).is_ok(), "{good}: {:?}", Expression::parse(good));
        }
        let Ok(Expression::Compare { rest, .. }) = Expression::parse("1 < 2 <= 50%") else { panic!() };
        assert_eq!(rest[1], (Comparison::LessOrEqual, Expression::Number(0.5)));
    }

    #[test]
    fn nonsense_is_told() {
        for (wrong, words) in [
            ("", "a number, a measure or a function was expected before the end"),
            ("1 +", "before the end"),
            ("1 < 2 3", "`3` was not expected"),
            ("(1 < 2", "`)` was expected before `< 2`"),
            ("speed[nc] > 1", "nothing is measured as `speed`"),
            ("sink[nc > 1", "`]` was expected"),
            ("sink[nc, R] > 1", "`R` is not `parameter=value`"),
            ("sink[nc, R=*, q=*] > 1", "one `*` at most"),
            ("sink > 1", "`[` or `(` was expected"),
            ("1..2 > 1", "is no number"),
            ("sink[nc, flow=x] > 1", "no number from 0"),
            ("sink[nc, interval=3] > 1", "is no interval"),
        ] {
            let problem = Expression::parse(wrong).expect_err(wrong);
            assert!(problem.contains(words), "{wrong}: {problem}");
        }
    }
}
