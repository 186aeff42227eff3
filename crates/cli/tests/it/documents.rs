//! Checks that each link between the documents leads to an existing file, and to an existing heading of this file.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All Markdown files of the repository that people read.
fn documents() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md"), root().join("CHANGELOG.md"), root().join("papers/README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension().and_then(|name| name.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("md") => all.push(path),
                _ => {}
            }
        }
    }
    all.sort();
    all
}

/// The targets of all `[text](target)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            // The back-ticks cut the line into pieces. The second, fourth, ... piece is code.
            line.split('`').step_by(2).for_each(|piece| prose.push_str(piece));
            prose.push('\n');
        }
    }
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// The anchor of a heading: the heading in lower case, with hyphens for blanks, and without other signs.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let (mut checked, mut broken) = (0, Vec::new());
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document");
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            checked += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = document.parent().expect("a folder");
            let target = if file.is_empty() { document.clone() } else { folder.join(file) };
            let found = match (target.exists(), heading) {
                (exists, "") => exists,
                (false, _) => false,
                (true, heading) => std::fs::read_to_string(&target)
                    .is_ok_and(|text| text.lines().any(|line| line.starts_with('#') && anchor(line) == heading)),
            };
            if !found {
                broken.push(format!("{}: {link}", document.strip_prefix(root()).unwrap_or(&document).display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    assert!(checked > 100, "{checked} links");
}
