//! Tests of `ripstop speed`, which measures every figure even in a very short time.

use crate::common::{json, ripstop, run, schema, stderr, stdout};
use serde_json::Value;

#[test]
fn every_figure_is_measured() {
    let output = json(&run(&["speed", "--json", "--seconds", "1ms"]));
    schema::check("speed.schema.json", &output);
    let positive = |value: &Value| value.as_f64().is_some_and(|number| number > 0.0);
    let figures = output.as_object().unwrap().iter();
    for (key, value) in
        figures.filter(|(key, _)| ["_gbs", "_gbps", "_us_per_packet"].iter().any(|end| key.ends_with(end)))
    {
        assert!(positive(value), "{key}: {value}");
    }
    for ratio in output["ratios"].as_array().unwrap() {
        assert!(positive(&ratio["value"]), "{ratio}");
        assert!(positive(&output[ratio["of"].as_str().unwrap()]), "{ratio}");
        assert!(positive(&output[ratio["to"].as_str().unwrap()]), "{ratio}");
    }
    assert_eq!(output["kernel"], output["kernels"][0], "the fastest");
}

#[test]
fn figures_can_be_picked_and_kernels_overridden() {
    let mut command = ripstop();
    command.env("RIPSTOP_GF256", "portable");
    let only = "memcpy_1408_gbs,mac_1408_gbs";
    let output = json(&command.args(["speed", "--json", "--seconds=1ms", "--only", only]).output().unwrap());
    schema::check("speed.schema.json", &output);
    assert_eq!(output["kernel"], "portable");
    let measured: Vec<&String> =
        output.as_object().unwrap().iter().filter(|(_, value)| value.is_number()).map(|(key, _)| key).collect();
    assert_eq!(measured, ["mac_1408_gbs", "memcpy_1408_gbs", "xor_1408_gbs"], "and their anchors");

    let mut command = ripstop();
    command.env("RIPSTOP_GF256", "abacus");
    let output = command.args(["speed", "--seconds=1ms", "--only=xor_1408_gbs"]).output().unwrap();
    assert!(stderr(&output).contains("no GF(256) kernel `abacus`"), "{}", stderr(&output));
    assert!(stdout(&output).contains("XOR into"), "{}", stdout(&output));
}

#[test]
fn wrong_words_are_explained() {
    for (words, expected) in [
        (["--only", "quickness"], "there is no figure `quickness`; write one or more of memcpy_1408_gbs"),
        (["--seconds", "0"], "--seconds: "),
        (["--seconds", "2 h"], "--seconds"),
    ] {
        let output = run(&["speed", words[0], words[1]]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}
