//! The syntax tree of a claim. The parser in `parse` builds it, and `evaluate` computes its value.

/// A claim or a part of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimExpression {
    /// A number: `0.5`, `3%`, `480e3`. A percentage is stored as a fraction.
    Number(f64),
    /// A word in quotes, such as `"tcp"`: an argument of a closed form.
    Word(String),
    /// A name whose value is looked up: a variable, a measure of cells in a set, or a number of a
    /// result.
    Read(ClaimReference),
    /// `-x`.
    Negative(Box<ClaimExpression>),
    /// `a + b`; also `-`, `*`, `/`.
    Binary {
        /// `+`, `-`, `*` or `/`.
        operator: char,
        /// The left operand.
        left: Box<ClaimExpression>,
        /// The right operand.
        right: Box<ClaimExpression>,
    },
    /// A function call: `name(a, b)`, or with named arguments `name(k=10, n=12)`.
    Call {
        /// The function's name.
        name: String,
        /// The arguments.
        arguments: Vec<ClaimArgument>,
    },
    /// `all(q in 1..4, ..)` or `curve(q in 1..4, ..)`.
    Each {
        /// True for `curve`, which gives a curve. False for `all`, which asserts that the body
        /// holds for every value.
        curve: bool,
        /// The variable's name.
        variable: String,
        /// The values of the variable.
        range: ClaimRange,
        /// The expression that is computed for each value.
        body: Box<ClaimExpression>,
    },
    /// A chain of comparisons, such as `a < b <= c`. All comparisons must hold.
    Compare {
        /// The first operand.
        first: Box<ClaimExpression>,
        /// Each further operand, and how it is compared with the operand before it.
        rest: Vec<(Comparison, ClaimExpression)>,
    },
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimArgument {
    /// The argument's name. `None` for a positional argument.
    pub name: Option<String>,
    /// The argument's value.
    pub value: ClaimExpression,
}

/// The values that a variable takes.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimRange {
    /// `a..b`: from a to b in steps of 1. `a..b by n`: n equally spaced values. The two forms
    /// include a and b.
    Steps {
        /// The first value.
        from: Box<ClaimExpression>,
        /// The last value.
        to: Box<ClaimExpression>,
        /// The number of values. `None` for steps of 1.
        points: Option<Box<ClaimExpression>>,
    },
    /// A list of values: `{a, b, c}`.
    List(Vec<ClaimExpression>),
}

/// A name with its brackets and fields, such as `sink[nc, R=1.12]` or `flows[0].delay_s.p99`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimReference {
    /// The whole name as written.
    pub text: String,
    /// The parts of the name, from the left.
    pub parts: Vec<ReferencePart>,
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum ReferencePart {
    /// A field, such as `delay_s`.
    Field(String),
    /// The text between brackets, such as `nc, R=1.12`, `0` or `bulk1`.
    Bracket(String),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
}

impl Comparison {
    /// Whether the comparison holds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Equal => left == right,
        }
    }

    /// The operator as written in a claim.
    pub fn word(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Equal => "==",
        }
    }
}

impl ClaimExpression {
    /// All names in this expression. Variables are included.
    pub fn references(&self) -> Vec<&ClaimReference> {
        let mut found = Vec::new();
        self.visit(&mut |expression| {
            if let ClaimExpression::Read(reference) = expression {
                found.push(reference);
            }
        });
        found
    }

    /// This expression with each occurrence of the name `name` replaced by `part`. A name with
    /// brackets or fields is not replaced.
    #[must_use]
    pub fn with_part(self, name: &str, part: &ClaimExpression) -> ClaimExpression {
        let within = |inner: Box<ClaimExpression>| Box::new(inner.with_part(name, part));
        match self {
            ClaimExpression::Read(reference) if reference.text == name => part.clone(),
            ClaimExpression::Number(_) | ClaimExpression::Word(_) | ClaimExpression::Read(_) => self,
            ClaimExpression::Negative(inner) => ClaimExpression::Negative(within(inner)),
            ClaimExpression::Binary { operator, left, right } => {
                ClaimExpression::Binary { operator, left: within(left), right: within(right) }
            }
            ClaimExpression::Call { name: function, arguments } => {
                let argument =
                    |one: ClaimArgument| ClaimArgument { name: one.name, value: one.value.with_part(name, part) };
                ClaimExpression::Call { name: function, arguments: arguments.into_iter().map(argument).collect() }
            }
            ClaimExpression::Each { curve, variable, range, body } => {
                let range = match range {
                    ClaimRange::Steps { from, to, points } => {
                        ClaimRange::Steps { from: within(from), to: within(to), points: points.map(within) }
                    }
                    ClaimRange::List(list) => {
                        ClaimRange::List(list.into_iter().map(|one| one.with_part(name, part)).collect())
                    }
                };
                ClaimExpression::Each { curve, variable, range, body: within(body) }
            }
            ClaimExpression::Compare { first, rest } => ClaimExpression::Compare {
                first: within(first),
                rest: rest.into_iter().map(|(how, next)| (how, next.with_part(name, part))).collect(),
            },
        }
    }

    /// Calls `look` for this expression and all its parts.
    fn visit<'a>(&'a self, look: &mut impl FnMut(&'a ClaimExpression)) {
        look(self);
        match self {
            ClaimExpression::Number(_) | ClaimExpression::Word(_) | ClaimExpression::Read(_) => {}
            ClaimExpression::Negative(inner) => inner.visit(look),
            ClaimExpression::Binary { left, right, .. } => {
                left.visit(look);
                right.visit(look);
            }
            ClaimExpression::Call { arguments, .. } => {
                arguments.iter().for_each(|argument| argument.value.visit(look));
            }
            ClaimExpression::Each { range, body, .. } => {
                range.expressions().for_each(|part| part.visit(look));
                body.visit(look);
            }
            ClaimExpression::Compare { first, rest } => {
                first.visit(look);
                rest.iter().for_each(|(_, next)| next.visit(look));
            }
        }
    }
}

impl ClaimRange {
    /// The expressions from which the values are computed.
    pub fn expressions(&self) -> Box<dyn Iterator<Item = &ClaimExpression> + '_> {
        match self {
            ClaimRange::Steps { from, to, points } => {
                Box::new([from, to].into_iter().chain(points).map(|expression| expression.as_ref()))
            }
            ClaimRange::List(list) => Box::new(list.iter()),
        }
    }
}
