//! Tests of `ripstop demo --virtual`: every contender, the shape of the result, confidence intervals,
//! determinism, and the fates of packets. No test needs privilege.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;

const LINK: [&str; 6] = ["demo", "--virtual", "--rate=10Mbit/s", "--rtt=40ms", "--loss=10%", "--seconds=4"];

const USUAL: [&str; 5] = ["cubic", "bbr", "reno", "ripstop", "ripstop+bbr"];

/// Runs the command with two runs of each contender on this link.
fn with(more: &[&str]) -> std::process::Output {
    runs("--runs=2", more)
}

fn runs(n: &str, more: &[&str]) -> std::process::Output {
    run(&[&LINK[..], &[n], more].concat())
}

fn contenders(report: &Value) -> Vec<(String, Value)> {
    let all = report["contenders"].as_array().unwrap().iter();
    all.map(|c| (c["name"].as_str().unwrap().to_owned(), c.clone())).collect()
}

/// A long path, where a sender with many losses keeps about a second of data waiting for lost packets.
#[test]
fn a_figure_below_the_headers_is_explained() {
    const LONG: [&str; 8] =
        ["demo", "--virtual", "--rate=10Mbit/s", "--rtt=550ms", "--loss=2%", "--burst=3", "--contenders=bbr", "--json"];
    let report = json(&run(&[&LONG[..], &["--runs=5"]].concat()));
    let sent = report["contenders"][0]["sent_per_useful"].as_f64().unwrap();
    let notes = report["notes"].as_array().unwrap();
    let explained = notes.iter().any(|note| note.as_str().unwrap().contains("headers alone need 1.036"));
    assert!(explained && sent < 1.036, "{report}");
    assert!(report["verdict"]["sentence"].as_str().unwrap().contains("bbr ran alone"), "{report}");
}

#[test]
fn the_result_has_its_shape_and_all_take_part() {
    let report = json(&with(&["--json", "--requests=40"]));
    schema::check("demo.schema.json", &report);
    assert_eq!((&report["virtual"], &report["runs"]), (&true.into(), &2.into()));
    assert!(report["notes"][0].as_str().unwrap().contains("in virtual time"), "{report}");
    let all = contenders(&report);
    assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), USUAL);
    for (name, contender) in &all {
        let figure = |key: &str| contender[key].as_f64().unwrap_or_else(|| panic!("{name}: no {key}"));
        assert!(figure("share") > 0.0 && figure("sent_per_useful") > 1.0, "{contender}");
        for null in ["sha256_ok", "cpu_s_per_gb"] {
            assert!(contender[null].is_null(), "{null}: {contender}");
        }
        assert_eq!(contender["file"]["size_bytes"], 3_000_000);
        for when in ["quiet", "beside_bulk"] {
            let stats = &contender["requests"][when];
            assert_eq!(stats["n"], 80, "two runs of 40: {contender}");
            assert!(stats["p50_s"].as_f64().unwrap() >= 0.04, "less than the round-trip time: {contender}");
        }
        let runs = &contender["over_runs"];
        for key in ["goodput_bps", "share", "sent_per_useful", "delay_s"] {
            assert_eq!(runs[key]["n"], 2, "{key}: {contender}");
            assert!(runs[key]["ci95"].as_f64().unwrap() > 0.0, "{key}: {contender}");
        }
        assert_eq!(runs["share"]["mean"].as_f64(), contender["share"].as_f64());
        let delay = |key: &str| runs["delay_s"][key].as_f64().unwrap();
        assert!(delay("p50") >= 0.02 && delay("p50") <= delay("p99"), "{contender}");
        assert!(contender["wire"]["lost_packets"].as_u64().unwrap() > 0, "{contender}");
    }
    let verdict = &report["verdict"];
    let (winner, rival) = (verdict["winner"].as_str().unwrap(), verdict["compared_with"].as_str().unwrap());
    let of = |name: &str| &all.iter().find(|(n, _)| n == name).unwrap().1;
    assert!(all.iter().all(|(_, c)| c["goodput_bps"].as_f64() <= of(winner)["goodput_bps"].as_f64()), "{report}");
    let kinds = [winner, rival].map(|name| of(name)["tunnel"].is_null());
    assert_ne!(kinds[0], kinds[1], "the best is compared with the best of the other kind: {report}");
    assert!(of("ripstop")["tunnel"]["recovered_packets"].as_u64().unwrap() > 100, "{report}");
    // The TCP inside the tunnel need not resend packets that the tunnel recovers. So the share of packets that the TCP
    // resends is far below the loss rate.
    let again = |name: &str| {
        of(name)["tcp_retransmitted_packets"].as_f64().unwrap() / of(name)["wire"]["offered_packets"].as_f64().unwrap()
    };
    assert!(again("cubic") > 0.1 && again("ripstop") < 0.02, "{report}");
    let share = |name: &str| all.iter().find(|(n, _)| n == name).unwrap().1["share"].as_f64().unwrap();
    assert!(share("ripstop") > 5.0 * share("cubic"), "the losses are hidden: {report}");
    assert!(share("ripstop") > 5.0 * share("reno"), "the losses are hidden: {report}");
}

#[test]
fn there_are_more_in_virtual_time() {
    let report = json(&runs("--runs=1", &["--json", "--contenders=newreno,sack,tunnel"]));
    schema::check("demo.schema.json", &report);
    for ((name, contender), cc) in contenders(&report).iter().zip(["newreno".into(), "sack".into(), Value::Null]) {
        assert_eq!(contender["inner_cc"], cc, "{name}");
        assert!(contender["share"].as_f64().unwrap() > 0.0, "{contender}");
        assert!(contender["over_runs"]["share"]["ci95"].is_null(), "one run has no interval: {contender}");
        assert_eq!(contender["file"].is_null(), name == "tunnel", "{contender}");
    }
}

#[test]
fn the_table_is_for_people_and_equal_seeds_give_equal_tables() {
    let table = |seed: &str| {
        let output = with(&[seed]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let one = table("--seed=1");
    for words in [
        "virtual link, virtual time: 10Mbit/s, RTT 40ms, loss 10%",
        "\n5 contenders, 2 runs each: ",
        "share",
        "+-",
        "delay p50",
        "\nripstop+bbr  ",
        "Means of 2 runs",
        "note: virtual:",
    ] {
        assert!(one.contains(words), "no `{words}` in: {one}");
    }
    assert!(!one.contains("CPU"), "{one}");
    let last = one.lines().last().unwrap();
    let winner = last.split(' ').next().unwrap();
    assert!(USUAL.contains(&winner) && last.contains("Mbit/s") && last.ends_with('.'), "{one}");
    assert_eq!(one, table("--seed=1"));
    assert_ne!(one, table("--seed=2").replace("seed 2", "seed 1"));
}

/// The k-th packet on the link has the same fate for every sender.
#[test]
fn all_contenders_meet_the_same_losses() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fates");
    let output =
        with(&["--burst=3", "--contenders=reno,bbr,ripstop,tunnel", "--seed=2", "--fates", path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 8, "{text}");
    for way in ["forth", "back"] {
        let of: Vec<&[u8]> = lines.iter().filter(|l| l[1] == way).map(|l| l[2].as_bytes()).collect();
        for other in &of[1..] {
            let both: Vec<_> = of[0].iter().zip(*other).filter(|(a, b)| **a != b'q' && **b != b'q').collect();
            assert!(both.iter().all(|(a, b)| a == b), "{way}: {text}");
            assert!(both.iter().filter(|(a, _)| **a == b'x').count() > 5, "{way}: {text}");
        }
    }
}

#[test]
fn flags_that_exclude_virtual_time_are_refused() {
    for (flags, words) in [
        (&["--virtual", "--file", "/etc/hostname"][..], &["--virtual", "--file"][..]),
        (&["--virtual", "--save", "/dev/null"], &["--virtual", "--save"]),
        (&["--virtual", "--runs", "0"], &["--runs", "1..=10000"]),
        (&["--runs", "3"], &["--runs", "--virtual"]),
        (&["--contenders", "tunnel"], &["--contenders", "`tunnel`", "--virtual"]),
        (&["--contenders", "cubic,sack"], &["--contenders", "`sack`", "--virtual"]),
        (&["--virtual", "--contenders", "vegas"], &["--contenders", "vegas", "newreno", "ripstop"]),
        (&["--virtual", "--fates", "/no/such/file"], &["--fates", "/no/such/file", "No such file"]),
    ] {
        let output = run(&[&["demo"], flags].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{flags:?}: {said}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let output = with(&["--contenders=reno", "--fates=/dev/full"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("/dev/full") && said.contains("No space left on device"), "{said}");
}
