//! A small lexer for Rust: the tokens of a source file without comments, blank space and tests.
//!
//! Two files with the same tokens compile to the same program, so the simulator's hash covers only
//! tokens. The lexer knows strings, raw strings, characters, lifetimes and nested comments. It does
//! not tell keywords from names, and it does not join characters into operators such as `->`.

/// The tokens of `source`. Comments, including documentation, are not tokens. Each punctuation
/// character is a token.
pub(crate) fn tokens(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        } else if let Some(length) = comment(rest) {
            rest = &rest[length..];
            continue;
        } else {
            literal(rest).or_else(|| word(rest)).unwrap_or(first.len_utf8())
        };
        found.push(&rest[..length]);
        rest = &rest[length..];
    }
    found
}

/// `tokens` without the items that are compiled only for tests.
pub(crate) fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = end_of_item(tokens, at);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// The names of the modules that `source` declares only for tests and that have a file of their own,
/// as in `#[cfg(test)] mod tests;`.
pub(crate) fn test_modules(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            let item = &tokens[at + TEST_ATTRIBUTE.len()..];
            if let ["mod", name, ";", ..] = item {
                found.push((*name).to_owned());
            }
        }
    }
    found
}

const TEST_ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

fn is_test_attribute(tokens: &[&str]) -> bool {
    tokens.starts_with(&TEST_ATTRIBUTE)
}

/// The index of the token after the item whose attributes begin at `at`. An item ends with its `;` or its closing
/// brace. A field or a match arm ends with its comma.
fn end_of_item(tokens: &[&str], at: usize) -> usize {
    const ENDS_WITH_SEMICOLON: [&str; 5] = ["use", "const", "static", "type", "let"];
    const ITEMS: [&str; 10] = ["pub", "fn", "mod", "impl", "struct", "enum", "trait", "unsafe", "extern", "async"];
    let mut k = at;
    while tokens.get(k) == Some(&"#") {
        k = behind_group(tokens, k + 1);
    }
    let mut first = k;
    if tokens.get(first) == Some(&"pub") {
        first += 1;
        if tokens.get(first) == Some(&"(") {
            first = behind_group(tokens, first);
        }
    }
    let word = tokens.get(first).copied().unwrap_or_default();
    let semicolon = ENDS_WITH_SEMICOLON.contains(&word) && tokens.get(first + 1) != Some(&"fn");
    let item = semicolon || ITEMS.contains(&tokens.get(k).copied().unwrap_or_default()) || word == "const";
    while k < tokens.len() {
        match tokens[k] {
            ";" => return k + 1,
            "," if !item => return k + 1,
            "{" if !semicolon => return behind_group(tokens, k),
            "(" | "[" | "{" => k = behind_group(tokens, k),
            ")" | "]" | "}" => return k,
            _ => k += 1,
        }
    }
    k
}

/// The index of the token after the bracket that closes the bracket at `at`.
fn behind_group(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0usize;
    for (k, token) in tokens.iter().enumerate().skip(at) {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return k + 1;
        }
    }
    tokens.len()
}

/// The length of the comment at the beginning of `text`.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    Some(text.len())
}

/// The length of the string, character or lifetime at the beginning of `text`, its prefix included.
fn literal(text: &str) -> Option<usize> {
    const PREFIXES: [&str; 7] = ["br", "cr", "b", "c", "r", "", "rb"];
    for prefix in PREFIXES {
        let Some(rest) = text.strip_prefix(prefix) else { continue };
        if prefix.contains('r') {
            let hashes = rest.len() - rest.trim_start_matches('#').len();
            if rest[hashes..].starts_with('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let body = &rest[hashes + 1..];
                let length = body.find(&end).map_or(body.len(), |found| found + end.len());
                return Some(prefix.len() + hashes + 1 + length);
            }
        } else if rest.starts_with('"') {
            return Some(prefix.len() + quoted(rest, '"'));
        } else if rest.starts_with('\'') && (prefix == "b" || prefix.is_empty()) {
            return Some(prefix.len() + character_or_lifetime(rest));
        }
    }
    None
}

/// The length of the quoted text at the beginning of `text`, both quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

/// The length of a character such as `'a'` or `'\n'`, or of a lifetime such as `'a`.
fn character_or_lifetime(text: &str) -> usize {
    let mut inside = text.chars().skip(1);
    let (first, second) = (inside.next(), inside.next());
    match (first, second) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(text, '\''),
        _ => 1 + word(&text[1..]).unwrap_or(0),
    }
}

/// The length of the name or number at the beginning of `text`.
fn word(text: &str) -> Option<usize> {
    let belongs = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c: char| !belongs(c)).unwrap_or(text.len());
    (end > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(source: &str) -> String {
        without_tests(&tokens(source)).join(" ")
    }

    #[test]
    fn comments_and_layout_are_no_tokens() {
        let plain = kept("fn f(x: &'a str) -> u8 { x.len() as u8 + b'\\'' }");
        for same in [
            "/// Doc.\nfn f(x: &'a str)->u8{x.len() as u8+b'\\''} // end",
            "//! Inner.\n/* a /* nested */ one */ fn f(x : & 'a str) -> u8 {\n\tx . len() as u8 + b'\\''\n}",
            "/** Doc. */ fn f(x: &'a str) -> u8 { x.len() as u8 + b'\\'' } /* open",
        ] {
            assert_eq!(kept(same), plain, "{same}");
        }
        for other in ["fn f(x: &'b str) -> u8 { x.len() as u8 + b'\\'' }", "fn f(x: &'a str) -> u8 { x.len() as u8 }"] {
            assert_ne!(kept(other), plain, "{other}");
        }
    }

    #[test]
    fn strings_are_whole() {
        for (source, want) in [
            (r#"a("// no comment")"#, r#"a ( "// no comment" )"#),
            (r##"r#"a " b"# + 1"##, r##"r#"a " b"# + 1"##),
            (r#"b"\"//" c"x" br"\""#, r#"b"\"//" c"x" br"\""#),
            ("'\"' '/' '\\\\' 'static x", "'\"' '/' '\\\\' 'static x"),
            ("'{' '}' b'x' 'x: loop {}", "'{' '}' b'x' 'x : loop { }"),
            ("r#type 1.5e-3_f64 0..=9", "r # type 1 . 5e - 3_f64 0 . . = 9"),
        ] {
            assert_eq!(tokens(source).join(" "), want, "{source}");
        }
        assert_ne!(kept("f(\"a  b\")"), kept("f(\"a b\")"));
    }

    #[test]
    fn tests_are_left_out() {
        for (source, want) in [
            ("a; #[cfg(test)] mod tests { fn x() { '{' } } b;", "a ; b ;"),
            ("#[cfg(test)]\n#[allow(x)]\nmod tests; b;", "b ;"),
            ("#[cfg(test)] use a::{b, c}; d;", "d ;"),
            ("#[cfg(test)] const X: [u8; 2] = [1, 2]; d;", "d ;"),
            ("#[cfg(test)] pub(crate) fn f<A, B>(a: [u8; 3]) -> u8 where A: B { 1 } d;", "d ;"),
            ("#[cfg(test)] const fn f() { } d;", "d ;"),
            ("struct S { a: u8, #[cfg(test)] b: (u8, u8), c: u8 }", "struct S { a : u8 , c : u8 }"),
            ("struct S { a: u8, #[cfg(test)] b: u8 }", "struct S { a : u8 , }"),
            ("#[cfg(not(test))] mod a { }", "# [ cfg ( not ( test ) ) ] mod a { }"),
        ] {
            assert_eq!(kept(source), want, "{source}");
        }
        assert_eq!(test_modules("mod a; #[cfg(test)] mod tests; #[cfg(test)] mod b { }"), ["tests"]);
    }
}
