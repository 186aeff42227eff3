//! Texts that people write or read: files ([`decode`], [`read_text`]), and words in messages ([`printable`]).

use std::borrow::Cow;
use std::io::{self, Read};

/// The byte order mark of UTF-8, which some editors write before a text.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why bytes are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The bytes are UTF-16, as some editors save a file by default.
    #[error("the text is UTF-16; save it as UTF-8")]
    Utf16,
    /// The bytes are not UTF-8.
    #[error("line {line} is not UTF-8 text; save the text as UTF-8")]
    NotUtf8 {
        /// The first line that is not UTF-8, counted from 1.
        line: usize,
    },
}

/// The text of a file with the content `bytes`. A byte order mark at the start is left out.
///
/// # Errors
/// The content is not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, TextError> {
    let text = bytes.strip_prefix(MARK).unwrap_or(bytes);
    // A text has no NUL. UTF-16 has one in every ASCII character.
    let is_utf16 = match text {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => true,
        [first, second, ..] => (*first == 0) != (*second == 0),
        _ => false,
    };
    if is_utf16 {
        return Err(TextError::Utf16);
    }
    std::str::from_utf8(text).map_err(|error| {
        let valid = text.get(..error.valid_up_to()).unwrap_or_default();
        TextError::NotUtf8 { line: 1 + valid.iter().filter(|byte| **byte == b'\n').count() }
    })
}

/// Reads a text to its end. Every text that a user gives is read by this function or by [`decode`].
///
/// # Errors
/// The reader's error, or [`io::ErrorKind::InvalidData`] with a [`TextError`].
pub fn read_text(mut from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    let text = decode(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(text.to_owned())
}

/// Whether a terminal may act on this character instead of showing it: control characters, and the characters that
/// change the direction of the text after them.
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text with every control character escaped: a newline becomes `\n`, an escape character `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().map(|c| if is_control(c) { c.escape_default().to_string() } else { c.to_string() });
    Cow::Owned(escaped.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn a_byte_order_mark_is_left_out_and_utf16_is_named() {
        assert_eq!(decode(b"\xEF\xBB\xBFa\n"), Ok("a\n"));
        assert_eq!([decode(b""), decode(b"a"), decode("ü".as_bytes())], [Ok(""), Ok("a"), Ok("ü")]);
        for text in ["\u{FEFF}[interface]", "[interface]", "\u{FEFF}"] {
            for unit in [u16::to_le_bytes, u16::to_be_bytes] {
                assert_eq!(decode(&utf16(text, unit)), Err(TextError::Utf16), "{text}");
            }
        }
        assert_eq!(decode(b"a\nb\n\xFF"), Err(TextError::NotUtf8 { line: 3 }));
        assert_eq!(read_text(&b"\xEF\xBB\xBFa"[..]).unwrap(), "a");
        let error = read_text(&b"\xFF\xFEa\0"[..]).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::InvalidData, "the text is UTF-16; save it as UTF-8")
        );
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("Zürich \"a\" \\"), "Zürich \"a\" \\");
        assert_eq!(printable("a\nb\x1b[2J\u{9b}\u{202e}"), "a\\nb\\u{1b}[2J\\u{9b}\\u{202e}");
    }
}
