//! Parses the text of a claim into a [`ClaimExpression`].
//!
//! This is a recursive-descent parser with one function for each precedence level: comparisons,
//! sums, products, factors.

use super::expression::{ClaimArgument, ClaimExpression, ClaimRange, ClaimReference, Comparison, ReferencePart};
use std::str::FromStr;

impl FromStr for ClaimExpression {
    type Err = String;

    /// Parses a claim. The error says what was expected, and the text before which it was expected.
    fn from_str(text: &str) -> Result<ClaimExpression, String> {
        let mut reader = Reader { rest: text };
        let expression = reader.comparison()?;
        match reader.rest.trim() {
            "" => Ok(expression),
            left => Err(format!("`{left}` was not expected")),
        }
    }
}

/// The text that is still to be parsed.
struct Reader<'a> {
    rest: &'a str,
}

/// Whether a character belongs to a name.
fn of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Reader<'a> {
    fn comparison(&mut self) -> Result<ClaimExpression, String> {
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
        Ok(if rest.is_empty() { first } else { ClaimExpression::Compare { first: Box::new(first), rest } })
    }

    fn sum(&mut self) -> Result<ClaimExpression, String> {
        self.chain(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<ClaimExpression, String> {
        self.chain(['*', '/'], Self::factor)
    }

    /// Parses operands that are joined by operators of equal precedence, from left to right.
    fn chain(
        &mut self,
        operators: [char; 2],
        operand: fn(&mut Self) -> Result<ClaimExpression, String>,
    ) -> Result<ClaimExpression, String> {
        let mut left = operand(self)?;
        while let Some(operator) = operators.into_iter().find(|c| self.take(c.encode_utf8(&mut [0; 4]))) {
            let right = Box::new(operand(self)?);
            left = ClaimExpression::Binary { operator, left: Box::new(left), right };
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<ClaimExpression, String> {
        if self.take("-") {
            return Ok(ClaimExpression::Negative(Box::new(self.factor()?)));
        }
        if self.take("(") {
            let inner = self.sum()?;
            self.wanted(")", "`)`")?;
            return Ok(inner);
        }
        if self.take("\"") {
            let (word, after) = self.rest.split_once('"').ok_or_else(|| self.expected("`\"`"))?;
            self.rest = after;
            return Ok(ClaimExpression::Word(word.to_owned()));
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let name = self.span(of_name);
        if name.is_empty() {
            return Err(self.expected("a number, a name or a function"));
        }
        match name {
            "all" | "curve" if self.take("(") => self.each(name == "curve"),
            _ if self.take("(") => self.call(name),
            _ => self.reference(name),
        }
    }

    fn number(&mut self) -> Result<ClaimExpression, String> {
        let bytes = self.rest.as_bytes();
        let digit = |k: usize| bytes.get(k).is_some_and(u8::is_ascii_digit);
        let mut end = 0;
        // `1..4` is a range, so the number ends before two dots.
        while digit(end) || bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
            end += 1;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if digit(end + 1 + sign) {
                end += 1 + sign;
                while digit(end) {
                    end += 1;
                }
            }
        }
        let (text, after) = self.rest.split_at(end);
        let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
        // A percent sign right after the digits belongs to the number.
        let scale = if after.starts_with('%') { 0.01 } else { 1.0 };
        self.rest = after.strip_prefix('%').unwrap_or(after);
        Ok(ClaimExpression::Number(number * scale))
    }

    /// Parses the arguments of the function `name`, and the closing bracket.
    fn call(&mut self, name: &str) -> Result<ClaimExpression, String> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(ClaimExpression::Call { name: name.to_owned(), arguments });
        }
        loop {
            let before = self.rest;
            let named = self.name().filter(|_| self.take("=") && !self.rest.starts_with('='));
            if named.is_none() {
                self.rest = before;
            }
            let value = self.comparison()?;
            arguments.push(ClaimArgument { name: named.map(str::to_owned), value });
            if !self.take(",") {
                break;
            }
        }
        self.wanted(")", "`,` or `)`")?;
        Ok(ClaimExpression::Call { name: name.to_owned(), arguments })
    }

    /// Parses what follows `all(` or `curve(`, such as `q in 0.01..0.99 by 99, tcp(q))`.
    fn each(&mut self, curve: bool) -> Result<ClaimExpression, String> {
        let variable = self.name().ok_or_else(|| self.expected("a name, such as `q in 1..4`"))?.to_owned();
        let before = self.rest;
        if self.name() != Some("in") {
            self.rest = before;
            return Err(self.expected("`in`"));
        }
        let range = if self.take("{") { self.list()? } else { self.steps()? };
        self.wanted(",", "`,` and an expression")?;
        let body = Box::new(self.comparison()?);
        self.wanted(")", "`)`")?;
        Ok(ClaimExpression::Each { curve, variable, range, body })
    }

    /// Parses a list `{a, b, c}` after its opening brace.
    fn list(&mut self) -> Result<ClaimRange, String> {
        let mut values = vec![self.sum()?];
        while self.take(",") {
            values.push(self.sum()?);
        }
        self.wanted("}", "`,` or `}`")?;
        Ok(ClaimRange::List(values))
    }

    /// Parses `a..b` or `a..b by n`.
    fn steps(&mut self) -> Result<ClaimRange, String> {
        let from = Box::new(self.sum()?);
        self.wanted("..", "`..`")?;
        let to = Box::new(self.sum()?);
        let before = self.rest;
        let points = match self.name() {
            Some("by") => Some(Box::new(self.sum()?)),
            _ => {
                self.rest = before;
                None
            }
        };
        Ok(ClaimRange::Steps { from, to, points })
    }

    /// Parses what follows `name` in `sink[nc, R=1.12]` or `flows[0].delay_s.p99`.
    fn reference(&mut self, name: &str) -> Result<ClaimExpression, String> {
        let mut parts = vec![ReferencePart::Field(name.to_owned())];
        let mut text = name.to_owned();
        loop {
            if let Some(after) = self.rest.strip_prefix('[') {
                let (inside, after) = after.split_once(']').ok_or_else(|| self.expected("`]`"))?;
                self.rest = after;
                text += &format!("[{inside}]");
                parts.push(ReferencePart::Bracket(inside.trim().to_owned()));
            } else if self.rest.starts_with('.') && !self.rest.starts_with("..") {
                self.rest = &self.rest[1..];
                let field = self.span(of_name);
                if field.is_empty() {
                    return Err(self.expected("a name"));
                }
                text += &format!(".{field}");
                parts.push(ReferencePart::Field(field.to_owned()));
            } else {
                return Ok(ClaimExpression::Read(ClaimReference { text, parts }));
            }
        }
    }

    /// Parses a name that does not begin with a digit.
    fn name(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        let name = self.span(of_name);
        (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    }

    /// Skips white space and `word`, if `word` comes next. Returns whether `word` was skipped.
    fn take(&mut self, word: &str) -> bool {
        match self.rest.trim_start().strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips `word`, or returns the error that `what` was expected.
    fn wanted(&mut self, word: &str, what: &str) -> Result<(), String> {
        if self.take(word) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// Takes the longest run of characters for which `belongs` holds. The run may be empty.
    fn span(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (span, rest) = self.rest.split_at(end);
        self.rest = rest;
        span
    }

    /// The error message that `what` was expected before the remaining text.
    fn expected(&self, what: &str) -> String {
        let rest = self.rest.trim();
        let there = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
        format!("{what} was expected before {there}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ClaimExpression, String> {
        text.parse()
    }

    #[test]
    fn assertions_are_read() {
        for good in [
            "sink[nc, R=1.12] > 2 * sink[nc, R=1.11]",
            "0.9 < goodput[nc, flow=0, interval=350s..650s] / (1 - 2.5%) <= 1",
            "rising(units[reno, N=*])",
            "-1 == -(1 + 2) * 3",
            "flows[bulk1].delay_s.p99<=0.5",
            "links[a>b].lost_packets >= 480e3",
            "series.flows[0].goodput_bps[1] > 1e-3",
            "all(q in {0.01, 2%}, curve(b in 0.05..6 by 200, stations(arrivals=q, mbps=b, protocol=\"tcp\")) > 1)",
            "increasing(curve(n in 20..24, fec_throughput(n=n, loss=0.01)))",
        ] {
            assert!(parse(good).is_ok(), "{good}: {:?}", parse(good));
        }
        let Ok(ClaimExpression::Compare { rest, .. }) = parse("1 < 2 <= 50%") else { panic!() };
        assert_eq!(rest[1], (Comparison::LessOrEqual, ClaimExpression::Number(0.5)));
        assert_eq!(parse("flows[0].nc.rows > 1").unwrap().references()[0].text, "flows[0].nc.rows");
    }

    #[test]
    fn nonsense_is_told() {
        for (wrong, words) in [
            ("", "a number, a name or a function was expected before the end"),
            ("1 +", "before the end"),
            ("1 < 2 3", "`3` was not expected"),
            ("(1 < 2", "`)` was expected before `< 2`"),
            ("sink[nc > 1", "`]` was expected"),
            ("1.2.3 > 1", "is not a number"),
            ("flows. > 1", "a name was expected before `> 1`"),
            ("min(1 > 2", "`,` or `)` was expected before the end"),
            ("all(q of 1..2, 1)", "`in` was expected before `of 1..2, 1)`"),
            ("all(q in 1, 1)", "`..` was expected before `, 1)`"),
            ("curve(q in {1 2}, q)", "`,` or `}` was expected"),
            ("f(\"a)", "`\"` was expected before"),
        ] {
            let problem = parse(wrong).expect_err(wrong);
            assert!(problem.contains(words), "{wrong}: {problem}");
        }
    }
}
