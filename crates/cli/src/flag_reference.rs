//! The flag reference `docs/flags.md`, written from the definitions of the flags.
//!
//! `make test` compares the file with these definitions. `make flags` writes the file.

use crate::Cli;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::fmt::Write;

/// The head of the page: quantities and exit statuses, which all commands share.
const HEAD: &str = "\
# Flags and units

This page is for everyone who looks for a flag. `make flags` writes this page from the program's definitions. `ripstop COMMAND --help` prints
the same text. [`operators/output.md`](operators/output.md) explains what the commands print.

A quantity is a number with a unit. Prefixes are decimal (k = 1000). A bare number has the SI unit.

| placeholder | quantity | examples | unit of a bare number | suffix of a `--json` key |
|---|---|---|---|---|
| `<RATE>` | rate | `20Mbit/s`, `512kbit/s`, `2.5MB/s` | bit/s | `_bps` |
| `<TIME>` | time | `100ms`, `1.5s`, `20us`, `2min` | s | `_s` (`_ns` for exact counters) |
| `<SHARE>` | share | `5%`, `0.05` | a fraction of 1 | no suffix (keys such as `loss` and `share`) |
| `<SIZE>` | size | `1000B`, `300kB`, `3.2MB` | bytes | `_bytes` |
| `<QUEUE>` | queue limit | `200` (packets), `300kB` | packets | `_packets`, `_bytes` |
| `<DISTANCE>` | distance | `200m`, `1.5km` | m | `_m` |
| `<POWER>` | power | `2.5kW`, `800W` | W | `_w` |

The exit status is 0 if the command did its work, and 1 if the command failed. The exit status is 2 if the arguments or the input are invalid;
the message then names the flag, the problem and a correct value. With `--json` a command prints one JSON object on standard output;
[`schemas/`](schemas) describes the objects. Progress and warnings go to standard error.
";

/// The whole page.
fn page() -> String {
    let mut program = Cli::command();
    program.build();
    let mut page = HEAD.to_owned();
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        section(&mut page, "ripstop", command);
    }
    page
}

/// Adds a section about a command to `page`, and then sections about the subcommands.
fn section(page: &mut String, parent: &str, command: &Command) {
    let name = format!("{parent} {}", command.get_name());
    let _ = write!(page, "\n## {name}\n\n");
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(page, "{}", escaped(&about));
    let own: Vec<&Arg> = command.get_arguments().filter(|arg| is_listed(arg)).collect();
    // Each heading appears one time, in the order of definition. The flags without a heading come first.
    let mut headings: Vec<Option<&str>> = Vec::new();
    for heading in own.iter().map(|arg| arg.get_help_heading()) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings.sort_by_key(Option::is_some);
    for heading in headings {
        let title = heading.unwrap_or("flag");
        let _ = write!(page, "\n| {} | meaning | default |\n|---|---|---|\n", title.to_lowercase());
        for arg in own.iter().filter(|arg| arg.get_help_heading() == heading) {
            let _ = writeln!(page, "| {} | {} | {} |", usage(arg), meaning(arg), default(arg));
        }
    }
    if let Some(examples) = command.get_after_help() {
        let _ = write!(page, "\n```text\n{}\n```\n", examples.to_string().trim_end());
    }
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        section(page, &name, inner);
    }
}

fn is_listed(arg: &Arg) -> bool {
    !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
}

/// The flag as a user writes it, such as `` `--rate <RATE>` ``, with its aliases.
fn usage(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>"));
    let values = values.collect::<Vec<_>>().join(" ");
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    match arg.get_long() {
        Some(long) => {
            let names = std::iter::once(long).chain(arg.get_visible_aliases().unwrap_or_default());
            let form = |name| if takes_value { format!("`--{name} {values}`") } else { format!("`--{name}`") };
            names.map(form).collect::<Vec<_>>().join(", ")
        }
        None => format!("`{values}`"),
    }
}

/// The flag's help text, then the possible values.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    // The default has a column of its own.
    let help = help.split(" [default: ").next().unwrap_or_default();
    let mut text = escaped(&help.split_whitespace().collect::<Vec<_>>().join(" "));
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    for value in arg.get_possible_values().iter().filter(|value| takes_value && !value.is_hide_set()) {
        let help = value.get_help().map(|help| format!(": {}", escaped(&help.to_string()))).unwrap_or_default();
        let _ = write!(text, "<br>`{}`{help}", value.get_name());
    }
    text
}

fn default(arg: &Arg) -> String {
    if arg.is_required_set() {
        return "required".to_owned();
    }
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let told = help.split(" [default: ").nth(1).and_then(|rest| rest.split(']').next()).map(escaped);
    let values = arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    let values = values.collect::<Vec<_>>().join(", ");
    match (told, arg.get_action()) {
        (Some(told), _) => told,
        (None, ArgAction::Set | ArgAction::Append) => values,
        _ => String::new(),
    }
}

/// Escapes the text so that Markdown shows the text unchanged, also in tables. Text between
/// backticks is code, in which only `|` is escaped.
fn escaped(text: &str) -> String {
    let escape = |(at, part): (usize, &str)| {
        let part = part.replace('|', "\\|");
        let is_code = at % 2 == 1;
        if is_code { part } else { part.replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_") }
    };
    text.split('`').enumerate().map(escape).collect::<Vec<_>>().join("`")
}

/// Every command has its own description. If commands share a group of flags, clap may show the description of the group
/// as the description of each command. This test fails if two commands have the same description.
#[test]
fn each_command_has_a_description_of_its_own() {
    fn visit(command: &Command, seen: &mut std::collections::BTreeSet<String>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty(), "`{}` has no description", inner.get_name());
            assert!(!about.ends_with('.'), "`{}`: \"{about}\" does not describe the command", inner.get_name());
            assert!(seen.insert(about.clone()), "`{}`: another command has \"{about}\" too", inner.get_name());
            visit(inner, seen);
        }
    }
    let mut program = Cli::command();
    program.build();
    visit(&program, &mut std::collections::BTreeSet::new());
}

#[test]
fn the_flag_reference_says_what_the_program_defines() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/flags.md");
    let page = page();
    if std::env::var_os("UPDATE_FLAGS").is_some() {
        std::fs::write(path, &page).expect("docs/flags.md can be written");
    }
    let committed = std::fs::read_to_string(path).expect("docs/flags.md");
    let differing = page.lines().zip(committed.lines()).find(|(defined, written)| defined != written);
    assert!(page == committed, "docs/flags.md differs from the definitions: run `make flags`; first: {differing:?}");
}
