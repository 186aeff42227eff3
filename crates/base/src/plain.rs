//! Rewrites the error messages of parsers in plain words.

/// Rewrites the error message of a parser (serde, TOML, JSON). The names of Rust's types become
/// words that users know: `expected u32` becomes `expected a whole number`.
pub fn plain_words(error: &str) -> String {
    let mut words: Vec<String> = error.trim_end().split(' ').map(str::to_owned).collect();
    for k in 0..words.len() {
        let core = words[k].trim_end_matches([',', '.', ';', ':', '\n']);
        let tail = words[k][core.len()..].to_owned();
        let before = k.checked_sub(1).map(|at| words[at].clone()).unwrap_or_default();
        let plain = match (before.as_str(), core) {
            ("expected", "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64") => "a whole number",
            ("expected", "f32" | "f64") => "a number",
            ("a", "sequence") => "list",
            ("a", "map") => "table",
            ("a" | "borrowed", "string") => "text",
            _ => continue,
        };
        words[k] = format!("{plain}{tail}");
    }
    let text = words.join(" ");
    let text = text.replace("invalid digit found in string", "not a whole number");
    let text = text.replace("cannot parse integer from empty string", "nothing is written");
    let text = text.replace("number too large to fit in target type", "the number is too large");
    let text = text.replace("invalid float literal", "not a number");
    without_type_names(&text)
}

/// Replaces the type names in a message. `struct Duplicate` and `tuple struct Pair` become `a
/// table`. `enum Loss` becomes `one of the allowed words`.
fn without_type_names(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let plain = match word {
            "struct" => "a table",
            "enum" => "one of the allowed words",
            _ => {
                out.push(word.to_owned());
                continue;
            }
        };
        match words.next_if(|name| name.starts_with(|c: char| c.is_ascii_uppercase())) {
            Some(name) => {
                if out.last().is_some_and(|last| last == "tuple") {
                    out.pop();
                }
                out.push(format!("{plain}{}", &name[name.trim_end_matches([',', '.', ';']).len()..]));
            }
            None => out.push(word.to_owned()),
        }
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::plain_words;

    #[test]
    fn type_names_become_words() {
        for (error, plain) in [
            ("invalid type: integer `1`, expected struct Duplicate", "invalid type: integer `1`, expected a table"),
            ("invalid type: string \"x\", expected u32", "invalid type: string \"x\", expected a whole number"),
            ("invalid type: map, expected a sequence\n", "invalid type: map, expected a list"),
            ("invalid digit found in string", "not a whole number"),
            ("invalid type: boolean `true`, expected f64", "invalid type: boolean `true`, expected a number"),
            ("wanted string or table", "wanted string or table"),
        ] {
            assert_eq!(plain_words(error), plain);
        }
    }
}
