//! Tests of `ripstop keys`: keys are created, protected, and shown.

use crate::common::{json, ripstop, run, schema, stderr, stdout};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

/// Runs `keys show -` with this text on standard input.
fn shown_of(text: &str) -> Output {
    let mut child = ripstop()
        .args(["keys", "show", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_new_key_is_printed_and_its_public_half_beside_it() {
    let output = run(&["keys", "new"]);
    let (private, beside) = (stdout(&output), stderr(&output));
    assert!(output.status.success() && private.trim().len() == 44 && private.lines().count() == 1);
    let public = beside.trim().strip_prefix("public key: ").expect("the public half");
    assert_ne!(public, private.trim());
    assert_eq!(stdout(&shown_of(&private)).trim(), public);
    assert_ne!(stdout(&run(&["keys", "new"])), private, "no two are alike");
}

#[test]
fn a_key_file_is_private_and_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let new = || ripstop().args(["keys", "new", "--out"]).arg(&path).output().unwrap();
    let output = new();
    assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
    let (public, private) = (stdout(&output), fs::read_to_string(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(private.trim().len() == 44 && !public.contains(private.trim()));
    let again = new();
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--out") && stderr(&again).contains("exists already"), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(&path).unwrap(), private);

    let show = |path: &std::path::Path| ripstop().args(["keys", "show"]).arg(path).output().unwrap();
    assert_eq!(stdout(&show(&path)), public);
    let config = directory.path().join("a.toml");
    fs::write(&config, "[interface]\nprivate-key-file = \"key\"\naddress = [\"10.77.0.1/24\"]\n").unwrap();
    assert_eq!(stdout(&show(&config)), public);
    fs::write(&config, "[interface]\nprivate-key-file = \"key\"\naddress = [\"10.77.0.1\"]\n").unwrap();
    assert!(stderr(&show(&config)).contains("a.toml:3:12: address"), "{}", stderr(&show(&config)));
    let full = ripstop().args(["keys", "new", "--out", "/no/such/directory/key"]).output().unwrap();
    assert!(full.status.code() == Some(2) && stderr(&full).contains("No such file"), "{}", stderr(&full));
}

#[test]
fn an_invalid_key_is_refused_and_not_printed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    fs::write(&path, "a secret with a typing error\n").unwrap();
    let outputs = [
        ripstop().args(["keys", "show"]).arg(&path).output().unwrap(),
        shown_of("a secret with a typing error"),
        shown_of(""),
        run(&["keys", "show", "/no/such/file"]),
    ];
    let words = ["44 characters", "44 characters", "standard input", "/no/such/file: No such file"];
    for (output, words) in outputs.iter().zip(words) {
        let said = stderr(output);
        assert_eq!((output.status.code(), stdout(output).as_str()), (Some(2), ""), "{said}");
        assert!(said.contains(words) && !said.contains("secret"), "{said}");
    }
}

#[test]
fn a_shared_key_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared");
    let printed = run(&["keys", "psk"]);
    assert!(stdout(&printed).trim().len() == 44 && stderr(&printed).is_empty());
    let kept = ripstop().args(["keys", "psk", "--out"]).arg(&path).output().unwrap();
    assert!(kept.status.success() && stdout(&kept).is_empty(), "{}", stderr(&kept));
    let report = json(&run(&["keys", "psk", "--json"]));
    schema::check_part("keys.schema.json", "/$defs/psk", &report);
    assert_eq!(report["preshared_key"].as_str().map(str::len), Some(44));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.trim().len() == 44 && text != stdout(&printed));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn programs_get_one_object() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let new = json(&run(&["keys", "new", "--json"]));
    let kept = json(&ripstop().args(["keys", "new", "--json", "--out"]).arg(&path).output().unwrap());
    let shown = json(&ripstop().args(["keys", "show", "--json"]).arg(&path).output().unwrap());
    for report in [&new, &kept, &shown] {
        schema::check("keys.schema.json", report);
    }
    assert!(new["private_key"].is_string() && kept["private_key"].is_null());
    assert_eq!(kept, shown);
}
