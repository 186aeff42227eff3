//! The table of log messages in `docs/operators/monitoring.md` has the messages of the program, and no others.

use std::path::Path;
use std::{fs, io};

#[test]
fn the_table_of_log_messages_is_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/operators/monitoring.md")).unwrap();
    let table = document.split("| message | meaning |").nth(1).unwrap().split("\n\n").next().unwrap();
    let column: Vec<&str> = table.lines().skip(2).map(|line| line.split(" | ").next().unwrap()).collect();
    let mut source = String::new();
    for folder in ["crates/net/src/daemon", "crates/net/src/log", "crates/cli/src"] {
        read_all(&root.join(folder), &mut source).unwrap();
    }
    let source = source.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ").replace("\\\"", "'");

    let plain = |text: &str| text.replace(['`', '"', '\''], "");
    let (messages, all) = (plain(&source), plain(table));
    let named = column.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let unknown: Vec<&str> =
        named.filter(|name| !messages.contains(&plain(name.split(" ...").next().unwrap()))).collect();
    assert!(unknown.is_empty(), "the program never prints {unknown:?}");

    let calls = ["info", "warn", "error"].map(|level| format!("tracing::{level}!("));
    let calls = calls.iter().flat_map(|call| source.split(call.as_str()).skip(1));
    // The message is the last string of the call. Before its first value it has words that name it.
    let message = |call: &str| call.split(';').next()?.split('"').skip(1).step_by(2).last().map(str::to_owned);
    let words = |message: &str| plain(message.split(['{', ';', ':']).next().unwrap()).trim().to_owned();
    let start = |words: String| words.split(' ').take(4).collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = calls.filter_map(message).map(|message| start(words(&message))).collect();
    let missing: Vec<&String> = printed.iter().filter(|start| !start.is_empty() && !all.contains(*start)).collect();
    assert!(printed.len() > 20 && missing.is_empty(), "the table has none of {missing:?}");
}

/// Appends the text of all files below a folder.
fn read_all(folder: &Path, text: &mut String) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(&path, text)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path)?);
        }
    }
    Ok(())
}
