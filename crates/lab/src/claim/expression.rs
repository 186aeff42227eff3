//! What a claim consists of.

/// A claim, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimExpression {
    /// `0.5`, `3%`, `480e3`.
    Number(f64),
    /// `"tcp"`: an argument of a model's function.
    Word(String),
    /// A name: a variable, a measure of a set, or a figure of a result.
    Read(ClaimReference),
    /// `-x`.
    Negative(Box<ClaimExpression>),
    /// `a + b`; also `-`, `*`, `/`.
    Binary {
        /// `+`, `-`, `*` or `/`.
        operator: char,
        /// What stands before it.
        left: Box<ClaimExpression>,
        /// What stands behind it.
        right: Box<ClaimExpression>,
    },
    /// `name(a, b)`, or with names `name(k=10, n=12)`.
    Call {
        /// The function.
        name: String,
        /// Its arguments.
        arguments: Vec<ClaimArgument>,
    },
    /// `all(q in 1..4, ..)` or `curve(q in 1..4, ..)`.
    Each {
        /// Whether it makes a curve; otherwise all must hold.
        curve: bool,
        /// The name that takes the values.
        variable: String,
        /// The values.
        range: ClaimRange,
        /// What is computed for each.
        body: Box<ClaimExpression>,
    },
    /// The first, and by what each next one is compared with the one before.
    Compare {
        /// The first.
        first: Box<ClaimExpression>,
        /// The others.
        rest: Vec<(Comparison, ClaimExpression)>,
    },
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimArgument {
    /// Its name; None where its place says which one it is.
    pub name: Option<String>,
    /// Its value.
    pub value: ClaimExpression,
}

/// The values that a variable takes.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimRange {
    /// `a..b`: whole steps of 1; `a..b by n`: n values at equal distances, both ends included.
    Steps {
        /// The first.
        from: Box<ClaimExpression>,
        /// The last.
        to: Box<ClaimExpression>,
        /// How many; None for steps of 1.
        points: Option<Box<ClaimExpression>>,
    },
    /// `{a, b, c}`.
    List(Vec<ClaimExpression>),
}

/// A name with what stands behind it, such as `sink[nc, R=1.12]` or `flows[0].delay_s.p99`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimReference {
    /// As it is written.
    pub text: String,
    /// Its parts.
    pub parts: Vec<ReferencePart>,
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum ReferencePart {
    /// `delay_s`.
    Field(String),
    /// What stands in brackets: `[nc, R=1.12]`, `[0]`, `[bulk1]`.
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
    /// Whether it holds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Equal => left == right,
        }
    }

    /// As written.
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
    /// The names that it reads.
    pub fn references(&self) -> Vec<&ClaimReference> {
        let mut found = Vec::new();
        self.visit(&mut |expression| {
            if let ClaimExpression::Read(reference) = expression {
                found.push(reference);
            }
        });
        found
    }

    /// The same with `part` in the place of each plain name `name`.
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
                let argument = |one: ClaimArgument| ClaimArgument {
                    name: one.name,
                    value: one.value.with_part(name, part),
                };
                ClaimExpression::Call {
                    name: function,
                    arguments: arguments.into_iter().map(argument).collect(),
                }
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

    /// Calls `look` for this and for each part of it.
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
    /// What its values are computed from.
    pub fn expressions(&self) -> Box<dyn Iterator<Item = &ClaimExpression> + '_> {
        match self {
            ClaimRange::Steps { from, to, points } => {
                Box::new([from, to].into_iter().chain(points).map(|expression| expression.as_ref()))
            }
            ClaimRange::List(list) => Box::new(list.iter()),
        }
    }
}
