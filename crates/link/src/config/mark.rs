//! When a link marks packets regardless of its queue discipline: the setting `mark`.

use crate::error::LinkConfigError;
use ripstop_base::{Fraction, QueueLimit, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Which packets meet congestion. An ECN-capable packet that meets congestion is marked with
/// Congestion Experienced (RFC 3168). Other packets are not affected.
///
/// A configuration writes `"30"` or `"300kB"` (a queue length), `"5ms"` (a wait), or `"5%"`,
/// `"0.05"` or a number with a decimal point such as `1.0` (a share).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// A packet that must wait, and that would not fit into a queue of this length.
    Queue(QueueLimit),
    /// A packet that waits at least this long before its serialisation begins.
    Wait(Span),
    /// Each packet with this probability, independently. The share 1 takes every packet.
    Share(Fraction),
}

/// What a text of this setting may be.
const FORMS: &str = "a queue length such as `30` (packets) or `300kB`, a wait such as `5ms`, or a share such as `5%`";

impl Mark {
    /// Checks the setting. `field` names it in the error.
    pub(crate) fn check(&self, field: &str) -> Result<(), LinkConfigError> {
        match self {
            Mark::Share(share) if share.get() == 0.0 => {
                Err(LinkConfigError::new(field, "a share of 0 marks nothing; write for example `5%`, or leave it out"))
            }
            Mark::Wait(wait) if wait.duration().is_zero() => {
                Err(LinkConfigError::new(field, "every packet waits 0 s or longer; write `100%` to mark all packets"))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Mark, String> {
        let wrong = || format!("`{}` is not {FORMS}", text.trim());
        if text.contains('%') {
            return text.parse().map(Mark::Share).map_err(|_| wrong());
        }
        if let Ok(limit) = text.parse() {
            return Ok(Mark::Queue(limit));
        }
        // Without a unit, the number is a share.
        if text.trim_end().ends_with(|last: char| last.is_ascii_digit()) {
            return text.parse().map(Mark::Share).map_err(|_| wrong());
        }
        text.parse().map(Mark::Wait).map_err(|_| wrong())
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mark::Queue(limit) => write!(f, "{limit}"),
            Mark::Wait(wait) => write!(f, "{wait}"),
            // A share is written with a percent sign or a decimal point, so it reads back as a share.
            Mark::Share(share) => write!(f, "{share}"),
        }
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Mark, D::Error> {
        struct Reader;

        impl de::Visitor<'_> for Reader {
            type Value = Mark;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORMS)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Mark, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Mark, E> {
                self.visit_str(&n.to_string())
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Mark, E> {
                Ok(Mark::Queue(QueueLimit::Packets(n)))
            }

            /// A number with a decimal point is a share, also `1.0`.
            fn visit_f64<E: de::Error>(self, n: f64) -> Result<Mark, E> {
                Fraction::new(n).map(Mark::Share).ok_or_else(|| E::custom(format_args!("`{n}` is not {FORMS}")))
            }
        }

        from.deserialize_any(Reader)
    }
}
