//! The demonstration without namespaces: the tunnel session alone on a virtual link. None of this needs any privilege.

mod common;

use common::{json, run, schema, stderr, stdout};

const LINK: [&str; 6] = ["demo", "--virtual", "--rate=10Mbit/s", "--rtt=40ms", "--loss=10%", "--seconds=4"];

fn with(more: &[&str]) -> std::process::Output {
    run(&[&LINK[..], more].concat())
}

#[test]
fn the_result_has_its_shape_and_says_what_it_is() {
    let report = json(&with(&["--json", "--requests=40"]));
    schema::check("demo.schema.json", &report);
    assert_eq!(report["virtual"], true);
    assert!(report["notes"][0].as_str().unwrap().contains("the tunnel session alone"), "{report}");
    let contender = &report["contenders"][0];
    assert_eq!(contender["name"], "tunnel (virtual)");
    for null in ["inner_cc", "file", "sha256_ok", "cpu_s_per_gb"] {
        assert!(contender[null].is_null(), "{null}: {report}");
    }
    for when in ["quiet", "beside_bulk"] {
        let stats = &contender["requests"][when];
        assert_eq!(stats["n"], 40, "{report}");
        assert!(stats["p50_s"].as_f64().unwrap() >= 0.04, "less than the round-trip time: {report}");
    }
    assert!(contender["share"].as_f64().unwrap() > 0.0, "{report}");
    assert!(contender["wire"]["lost_packets"].as_u64().unwrap() > 0, "{report}");
    assert!(contender["first_100kb_s"].as_f64() < contender["first_1mb_s"].as_f64(), "{report}");
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
        "share",
        "p99",
        "tunnel (virtual)",
        "note: virtual:",
    ] {
        assert!(one.contains(words), "no `{words}` in: {one}");
    }
    assert_eq!(one, table("--seed=1"));
    assert_ne!(one, table("--seed=2").replace("seed 2", "seed 1"));
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    for (flag, value) in [("--contenders", "cubic"), ("--file", "/etc/hostname"), ("--save", "/dev/null")] {
        let output = run(&["demo", "--virtual", flag, value]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--virtual") && said.contains(flag), "{said}");
    }
}
