//! Values that a file may contain as a text or as a number ([`Word`], [`mod@word`]), and positions
//! in files ([`Place`]).

use serde::{Deserialize, Deserializer, Serializer, de};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// The text of a value in a file. A number is turned into text: `0.25` and `"0.25"` are equal.
///
/// Any other type that can be parsed from text reads both forms in the same way with the attribute
/// `#[serde(with = "ripstop_base::word")]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(String);

impl Deref for Word {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        self
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
        text_or_number(from, &"a text or a number", |text| Ok::<_, String>(Word(text.to_owned())))
    }
}

/// Reads a value by [`FromStr`] and writes it by [`fmt::Display`]. To use it, put
/// `#[serde(with = "ripstop_base::word")]` on a field.
pub mod word {
    use super::*;

    /// Writes the value as a text.
    ///
    /// # Errors
    /// The serializer's error.
    pub fn serialize<S: Serializer>(value: &impl fmt::Display, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Reads the value from a text or a number.
    ///
    /// # Errors
    /// The error of the type's [`FromStr`].
    pub fn deserialize<'de, D, T>(from: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: fmt::Display>,
    {
        text_or_number(from, &"a text or a number", str::parse)
    }
}

/// Reads a text or a number with `read`. A number is first turned into text. `wanted` describes the
/// expected value in error messages.
pub(crate) fn text_or_number<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    from: D,
    wanted: &dyn fmt::Display,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    struct Reader<'a, F>(&'a dyn fmt::Display, F);

    impl<T, E: fmt::Display, F: FnOnce(&str) -> Result<T, E>> de::Visitor<'_> for Reader<'_, F> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
        fn visit_str<X: de::Error>(self, text: &str) -> Result<T, X> {
            (self.1)(text).map_err(X::custom)
        }
        fn visit_i64<X: de::Error>(self, number: i64) -> Result<T, X> {
            self.visit_str(&number.to_string())
        }
        fn visit_u64<X: de::Error>(self, number: u64) -> Result<T, X> {
            self.visit_str(&number.to_string())
        }
        fn visit_f64<X: de::Error>(self, number: f64) -> Result<T, X> {
            self.visit_str(&number.to_string())
        }
    }

    from.deserialize_any(Reader(wanted, read))
}

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Place {
    /// The position of the byte at `offset`. If `offset` is beyond the end of the text, the
    /// position of the end.
    pub fn of(text: &str, offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_text_or_a_number() {
        for (json, text) in [("\"5 %\"", "5 %"), ("12", "12"), ("-3", "-3"), ("0.25", "0.25"), ("2.0", "2")] {
            assert_eq!(&*serde_json::from_str::<Word>(json).unwrap(), text);
        }
        let error = serde_json::from_str::<Word>("[1]").unwrap_err().to_string();
        assert!(error.contains("a text or a number"), "{error}");
    }

    #[test]
    fn places_count_from_one() {
        let text = "ab\nüß=1\n";
        for (offset, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (7, 2, 3), (99, 3, 1)] {
            assert_eq!(Place::of(text, offset), Place { line, column }, "{offset}");
        }
    }
}
