//! How blackouts and policers are written in configuration files.

use super::{Blackout, Policer};
use crate::field;
use ripstop_base::{Bytes, Rate, Span};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A policer as a configuration file writes it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `rate`, and optionally `burst`")]
pub(crate) struct PolicerText {
    #[serde(deserialize_with = "field::rate")]
    rate: Rate,
    #[serde(deserialize_with = "field::burst", default)]
    burst: Option<Bytes>,
}

impl From<PolicerText> for Policer {
    fn from(text: PolicerText) -> Policer {
        let usual = Policer::new(text.rate);
        Policer { burst: text.burst.unwrap_or(usual.burst), ..usual }
    }
}

/// A blackout as a configuration file writes it: a pair or a table.
pub(crate) enum BlackoutText {
    Pair([Span; 2]),
    Table(BlackoutTable),
}

/// The table form of a blackout.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlackoutTable {
    #[serde(deserialize_with = "field::at", default)]
    at: Option<Span>,
    #[serde(deserialize_with = "field::length", default)]
    length: Option<Span>,
    #[serde(deserialize_with = "field::from", default)]
    from: Option<Span>,
    #[serde(deserialize_with = "field::to", default)]
    to: Option<Span>,
    #[serde(deserialize_with = "field::every", default)]
    every: Option<Span>,
}

impl TryFrom<BlackoutText> for Blackout {
    type Error = String;

    fn try_from(text: BlackoutText) -> Result<Blackout, String> {
        let between = |from: Span, to: Span, every| {
            let length = to.duration().checked_sub(from.duration());
            let length = length.ok_or_else(|| format!("a blackout from {from} to {to} ends before it begins"))?;
            Ok(Blackout { at: from, length: Span::from(length), every })
        };
        match text {
            BlackoutText::Pair([from, to]) => between(from, to, None),
            BlackoutText::Table(BlackoutTable { at, length, from, to, every }) => match (at, length, from, to) {
                (Some(at), Some(length), None, None) => Ok(Blackout { at, length, every }),
                (None, None, Some(from), Some(to)) => between(from, to, every),
                _ => Err("a blackout has `at` and `length`, or `from` and `to`; write one of the two pairs".into()),
            },
        }
    }
}

impl<'de> Deserialize<'de> for BlackoutText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<BlackoutText, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = BlackoutText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pair, such as [\"30s\", \"40s\"], or a table with `at` and `length`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<BlackoutText, A::Error> {
                <[Span; 2]>::deserialize(SeqAccessDeserializer::new(seq)).map(BlackoutText::Pair)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BlackoutText, A::Error> {
                BlackoutTable::deserialize(MapAccessDeserializer::new(map)).map(BlackoutText::Table)
            }
        }

        from.deserialize_any(Either)
    }
}
