//! Checks that docs/contributors/architecture.md names the same dependencies between crates as the manifests, and that no
//! two crates and no two modules of `proto` use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each crate, the names of the crates that this crate uses.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The rows of the table of crates. The first cell of a row names a crate. The last cell names the crates that this
/// crate uses.
fn documented(text: &str) -> Arrows {
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, _, uses] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let uses = uses.split(", ").filter_map(|used| used.strip_prefix('`')?.strip_suffix('`'));
        Some((name.to_owned(), uses.map(str::to_owned).collect()))
    });
    rows.collect()
}

/// The dependencies that the manifests below crates/ name under `[dependencies]`.
fn declared() -> Arrows {
    let mut arrows = Arrows::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/") {
        let folder = entry.expect("a folder").path();
        let Ok(text) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let manifest: toml::Table = toml::from_str(&text).expect("a manifest");
        let used = manifest["dependencies"].as_table().expect("a table").keys();
        let used = used.filter_map(|name| name.strip_prefix("ripstop-")).map(str::to_owned).collect();
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        arrows.insert(name, used);
    }
    arrows
}

#[test]
fn the_documented_arrows_are_those_of_the_manifests() {
    let text = std::fs::read_to_string(root().join("docs/contributors/architecture.md"))
        .expect("docs/contributors/architecture.md");
    assert_eq!(documented(&text), declared(), "docs/contributors/architecture.md, the table of crates");
}

#[test]
fn arrows_point_one_way() {
    let circles = circles(declared());
    assert!(circles.is_empty(), "these crates use each other: {circles:?}");
}

/// The source files of `proto` below `src`, each with its path there and its code without tests.
fn sources() -> Vec<(String, String)> {
    let source = root().join("crates/proto/src");
    let (mut folders, mut sources) = (vec![source.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_test = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") && !is_test {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let inside = path.strip_prefix(&source).expect("a file of the crate").to_string_lossy().into_owned();
                sources.push((inside, without_tests(&text)));
            }
        }
    }
    assert!(sources.len() > 100, "{} files", sources.len());
    sources
}

/// Leaves out a module of tests at the end of a file.
fn without_tests(text: &str) -> String {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// The modules of `proto`, and the modules that each of them names outside of its tests.
fn modules() -> Arrows {
    let mut arrows = Arrows::new();
    for (path, code) in sources() {
        let name = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        // The crate's root names all modules.
        if name == "lib" {
            continue;
        }
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let named = lines.flat_map(|line| line.split("crate::").skip(1)).filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            Some(rest[..end].to_owned()).filter(|used| !used.is_empty() && used != name)
        });
        arrows.entry(name.to_owned()).or_default().extend(named);
    }
    arrows
}

/// Takes away what uses nothing that is left, again and again. Returns those that use each other.
fn circles(mut left: Arrows) -> Arrows {
    while let Some(name) = left.iter().find(|(_, uses)| uses.iter().all(|used| !left.contains_key(used))) {
        let name = name.0.clone();
        left.remove(&name);
    }
    left
}

#[test]
fn the_modules_of_proto_have_no_circle() {
    let modules = modules();
    let has = |from: &str, to: &str| modules[from].contains(to);
    assert!(has("coding", "path") && has("packets", "coding") && has("session", "packets"), "{modules:?}");
    assert!(!has("wire", "inner") && !has("inner", "wire"), "{modules:?}");
    let circles = circles(modules);
    assert!(circles.is_empty(), "these modules use each other: {circles:?}");
}

/// The structs of a file with the numbers of their fields. The file is in the usual format: fields stand one level deeper
/// than their struct, each on a line of its own.
fn structs(code: &str) -> Vec<(String, usize)> {
    let mut structs: Vec<(String, usize)> = Vec::new();
    // The indentation of the struct that is not over.
    let mut inside = None;
    for line in code.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let is_code = !text.starts_with("//") && !text.starts_with('#');
        if inside == Some(indent) && text.starts_with('}') {
            inside = None;
        } else if let (Some(at), true) = (inside, is_code) {
            let fields = structs.last_mut().map(|(_, fields)| fields);
            *fields.expect("a struct") += usize::from(indent == at + 4 && text.contains(": "));
        } else if let (Some((_, rest)), true) = (format!(" {text}").split_once(" struct "), is_code)
            && text.ends_with('{')
        {
            structs.push((name_of(rest).to_owned(), 0));
            inside = Some(indent);
        }
    }
    structs
}

/// The types of a file that have an `impl` block there.
fn implemented(code: &str) -> BTreeSet<String> {
    let headers = format!("\n{code}");
    let headers = headers.split("\nimpl").skip(1).filter_map(|block| {
        let header = block.split_once('{')?.0.split("\nwhere").next()?;
        let target = match header.split_once(" for ") {
            Some((_, target)) => target,
            None => without_generics(header),
        };
        let path = target.trim().trim_start_matches('&').split('<').next()?;
        Some(name_of(path.rsplit("::").next()?).to_owned())
    });
    headers.collect()
}

/// What follows the generic parameters at the beginning of `header`.
fn without_generics(header: &str) -> &str {
    let mut depth = 0;
    for (at, c) in header.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { &header[at + 1..] } else { header };
        }
    }
    header
}

fn name_of(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// A struct with more fields, or a type whose methods are spread over more files, holds more than one state.
#[test]
fn the_types_of_proto_are_small() {
    const MOST_FIELDS: usize = 20;
    const MOST_FILES: usize = 4;
    let (mut large, mut files, mut count) = (Vec::new(), BTreeMap::<String, Vec<String>>::new(), 0);
    for (path, code) in sources() {
        for (name, fields) in structs(&code) {
            count += 1;
            if fields > MOST_FIELDS {
                large.push(format!("{name} in {path} has {fields} fields"));
            }
        }
        for name in implemented(&code) {
            files.entry(name).or_default().push(path.clone());
        }
    }
    assert!(count > 150 && files.len() > 150, "{count} structs, {} types", files.len());
    assert_eq!(files["Tunnel"].len(), 4, "{:?}", files["Tunnel"]);
    let spread = files.iter().filter(|(_, files)| files.len() > MOST_FILES);
    large.extend(spread.map(|(name, files)| format!("{name} has `impl` blocks in {files:?}")));
    assert!(large.is_empty(), "split the state of these types:\n{}", large.join("\n"));
}

#[test]
fn fields_and_impl_blocks_are_found() {
    let code = "pub(super) struct Flow<P> {\n    /// A: b.\n    a: u8,\n    #[serde(flatten)]\n    pub b: (u8, u8),\n}\n\
                struct Unit;\ncounters! {\n    /// C.\n    struct Counts {\n        /// D.\n        pub d: u64 => (\"d\"),\n    }\n}\n";
    assert_eq!(structs(code), [("Flow".to_owned(), 2), ("Counts".to_owned(), 1)]);
    let code = "impl<P: Into<u8>> Flow<P> {\n    fn a() {}\n}\nimpl fmt::Display for super::Name {\n}\nimpl Unit {}\n\
                impl<T> From<T> for &Other<T>\nwhere\n    T: A,\n{\n}\n";
    let names: Vec<String> = implemented(code).into_iter().collect();
    assert_eq!(names, ["Flow", "Name", "Other", "Unit"]);
}
