//! The constants of the rate controller: each can be set in a scenario, so `make sensitivity` measures each.

use ripstop_proto::control::rate::Tuning;
use std::path::{Path, PathBuf};

#[path = "../../../examples/sensitivity/notes.rs"]
mod notes;

/// Types of numbers. A `const` with such a type may be a constant of the controller.
const NUMBERS: &[&str] = &[
    "f32", "f64", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "Duration",
    "Time", "Span", "Rate", "Bytes", "Fraction",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust sources in a directory and below.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the directory is readable") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}

/// The names of the numbers that a source defines as `const` or `static`, outside of the tests at its end.
fn numbers(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = code.split_whitespace().collect();
    let mut names = Vec::new();
    for (k, word) in words.iter().enumerate() {
        let Some(name) = words.get(k + 1).and_then(|name| name.strip_suffix(':')) else { continue };
        if matches!(*word, "const" | "static") {
            let kind = words[k + 2..].iter().take_while(|word| **word != "=").copied().collect::<Vec<_>>().join(" ");
            let mut parts = kind.split(|c: char| !c.is_alphanumeric());
            if parts.any(|part| NUMBERS.contains(&part)) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn a_number_is_found_wherever_it_stands() {
    let source = "const A: f64 = 1.0;\n// const B: f64 = 1.0;\nimpl X {\n    pub(super) const C: Option<\n        Duration> = None;\n}\n\
                  const D: Round = Round { x: 0.0 };\nfn f() {\n    static E: [u8; 2] = [1, 2];\n}\n\
                  #[cfg(test)]\nmod tests {\n    const F: f64 = 1.0;\n}\n";
    assert_eq!(numbers(source), ["A", "C", "E"]);
}

/// A number of the rate controller is a field of `Tuning`, or the page says why it is none.
#[test]
fn every_number_of_the_rate_controller_is_measured_or_excluded() {
    let mut found = Vec::new();
    for file in sources(&root().join("crates/proto/src/control/rate")) {
        if file.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("the source is readable");
        for name in numbers(&source) {
            let excluded = notes::EXCLUDED.iter().any(|(excluded, _)| *excluded == name);
            assert!(
                excluded,
                "{}: make `{name}` a field in `control/rate/tuning`, so that `make sensitivity` measures it; or say in \
                 `crates/sim/examples/sensitivity/notes.rs` why it is not measured",
                file.display()
            );
            found.push(name);
        }
    }
    for (name, _) in notes::EXCLUDED {
        assert!(found.iter().any(|found| found == name), "`{name}` no longer exists; remove it from `notes.rs`");
    }
}

/// The page names every constant, and the notes name no other.
#[test]
fn the_page_and_the_notes_name_the_constants() {
    let page = std::fs::read_to_string(root().join("docs/contributors/sensitivity.md")).expect("the page is readable");
    for field in Tuning::fields() {
        let name = format!("`{}`", field.name);
        assert!(page.contains(&name), "the page does not name {name}; run `make sensitivity ONLY={}`", field.name);
    }
    for (name, _) in notes::SILENT {
        assert!(Tuning::default().get(name).is_some(), "there is no constant `{name}`; remove it from `notes.rs`");
    }
}
