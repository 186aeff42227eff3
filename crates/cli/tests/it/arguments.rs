//! Tests the messages about wrong arguments. No test needs a namespace.

use crate::common::{run, stderr, stdout};

/// Asserts exit status 2 and that the message contains every one of `words`.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = run(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no `{word}` in: {said}");
    }
}

#[test]
fn a_wrong_quantity_names_its_flag_and_what_is_right() {
    refused(&["demo", "--rate", "20 furlongs"], &["--rate", "`20 furlongs`", "`20Mbit/s`"]);
    refused(&["demo", "--rtt", "100 m"], &["--rtt", "`100 m`", "`100ms`"]);
    refused(&["demo", "--loss", "105%"], &["--loss", "`105%`", "`5%`"]);
    refused(&["demo", "--loss-back=-1"], &["--loss-back", "`-1`", "`0.05`"]);
    refused(&["demo", "--queue", "1.5"], &["--queue", "`1.5`", "`300kB`"]);
    refused(&["demo", "--burst", "0.5"], &["--burst", "1 packet or more"]);
    refused(&["demo", "--seed", "seven"], &["--seed", "`seven`", "`42`"]);
    refused(&["demo", "--requests", "0"], &["--requests", "1..=1000000"]);
    refused(&["emulate", "--left", "a", "--right", "b", "--mtu", "60"], &["--mtu", "68..=65535"]);
    refused(
        &["emulate", "--left", "a", "--right", "b", "--left-address", "10.0.0.1"],
        &["--left-address", "198.18.0.1/24"],
    );
}

#[test]
fn words_that_do_not_fit_together_are_refused() {
    refused(&["demo", "--seconds", "2"], &["--seconds", "2s is too short", "at least 3s"]);
    refused(&["demo", "--rtt", "600ms", "--seconds", "12"], &["--seconds", "20 RTT", "at least 13s"]);
    refused(&["demo", "--rate", "0"], &["--rate", "`20Mbit/s`"]);
    refused(&["demo", "--loss", "100%"], &["--loss", "100%"]);
    refused(&["demo", "--rtt", "5min"], &["--rtt", "300s", "60s"]);
    refused(&["demo", "--loss", "90%", "--burst", "2"], &["--loss", "longer burst"]);
    refused(&["demo", "--file", "/no/such/file"], &["--file", "/no/such/file", "No such file"]);
    refused(&["demo", "--file", "/"], &["--file", "not a regular file"]);
    refused(&["demo", "--save", "/no/such/file"], &["--save", "/no/such/file", "No such file"]);
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    refused(&["demo", "--file", here, "--save", here], &["--save", "the file to be sent"]);
}

#[test]
fn unknown_words_are_refused_with_the_known_ones() {
    refused(&["demo", "--contenders", "vegas"], &["--contenders", "vegas", "cubic", "bbr", "reno"]);
    refused(&["demo", "--los", "5%"], &["--los", "--loss"]);
    refused(&["emulate", "--left", "a"], &["--right"]);
    refused(&["up"], &["CONFIG"]);
    refused(&["up", "--log", "loud", "a"], &["--log", "loud", "debug"]);
    refused(&["keys"], &["new", "show"]);
    refused(&["status", "rip0", "--socket", "a"], &["NAME", "--socket"]);
    refused(&["status", "../rip0"], &["NAME", "../rip0", "`rip0`"]);
    refused(&["frobnicate"], &["frobnicate"]);
    refused(&[], &["demo", "emulate"]);
}

#[test]
fn help_has_examples_and_flags() {
    let commands: [(&[&str], usize); 17] = [
        (&["demo"], 11),
        (&["emulate"], 11),
        (&["up"], 2),
        (&["keys", "new"], 2),
        (&["keys", "show"], 1),
        (&["status"], 2),
        (&["sim", "tandem"], 28),
        (&["sim", "fec"], 20),
        (&["sim", "run"], 8),
        (&["sweep"], 8),
        (&["lab", "cells"], 2),
        (&["lab", "cell"], 2),
        (&["lab", "merge"], 1),
        (&["lab", "table"], 4),
        (&["lab", "figure"], 3),
        (&["plan"], 12),
        (&["plan", "campaign"], 9),
    ];
    for (command, least) in commands {
        let output = run(&[command, &["--help"]].concat());
        let help = stdout(&output);
        assert!(output.status.success() && help.contains("Example"), "{help}");
        let flags: Vec<&str> = help
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("--"))
            .filter_map(|line| line.split([' ', ',']).next())
            .collect();
        assert!(flags.len() >= least, "{flags:?}");
    }
    assert!(stdout(&run(&["--version"])).starts_with("ripstop 0."));
}
