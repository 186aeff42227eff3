//! `ripstop plan` as a user asks for it.

mod common;

use common::{json, run, schema, stderr, stdout};
use serde_json::Value;

/// `ripstop plan` with these words and `--json`; what it prints is as described.
fn plan(words: &str) -> Value {
    let words: Vec<&str> = ["plan"].into_iter().chain(words.split_whitespace()).chain(["--json"]).collect();
    let value = json(&run(&words));
    schema::check("plan.schema.json", &value);
    value
}

fn scheme<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let schemes = plan["schemes"].as_array().unwrap();
    schemes.iter().find(|scheme| scheme["scheme"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn a_lossy_link_is_planned_with_the_settings_of_a_tunnel() {
    let got = plan("--rate 20Mbit/s --rtt 100ms --loss 20%");
    assert_eq!(got["coding_helps"], true);
    assert!(got["recommended"].as_str().unwrap().starts_with("tunnel-"), "{got}");
    let config = got["config"].as_str().unwrap();
    assert!(config.contains("[interface]") && config.contains("redundancy = \"adaptive\""), "{config}");
    // Plain CUBIC was simulated, and what the closed form says of it is of the same order.
    let cubic = scheme(&got, "cubic");
    let simulated = number(&cubic["simulated"], "goodput_bps");
    assert!(simulated < 0.05 * 16e6 && number(cubic, "goodput_bps") < 0.05 * 16e6, "{cubic}");
    // What was never set beside the simulator says so.
    assert!(scheme(&got, "tcpnc")["error_median"].is_null() && scheme(&got, "block")["available"] == false);
    for name in ["reno", "cubic", "bbr", "tunnel-cubic", "tunnel-bbr"] {
        let one = scheme(&got, name);
        assert!(one["error_median"].is_number() && number(one, "share") < 0.97, "{one}");
    }
}

#[test]
fn a_clean_link_needs_no_coding() {
    let got = plan("--rate 20Mbit/s --rtt 40ms --loss 0");
    assert!(got["coding_helps"] == false && got["config"].is_null(), "{got}");
    assert!(got["cautions"][0].as_str().unwrap().contains("coding will not help"), "{got}");
    let text = stdout(&run(&["plan", "--rate=20Mbit/s", "--rtt=40ms", "--loss=0"]));
    assert!(text.contains("no loss: coding will not help") && !text.contains("[interface]"), "{text}");
    // A requests' tunnel is no better either where nothing is lost.
    let asks = plan("--rate 20Mbit/s --rtt 40ms --loss 0 --traffic interactive");
    assert_eq!(asks["coding_helps"], false);
}

#[test]
fn what_it_is_for_decides() {
    let link = "--rate 10Mbit/s --rtt 80ms --loss 3%";
    let asks = plan(&format!("{link} --traffic interactive"));
    assert!(asks["recommended"].as_str().unwrap().starts_with("tunnel-"), "{asks}");
    let tunnel = number(scheme(&asks, "tunnel-cubic"), "request_p99_s");
    assert!(tunnel < 0.1 && number(scheme(&asks, "cubic"), "request_p99_s") > 0.2, "{asks}");
    // Nothing can be had for a hundredth more than what is of use: IP and TCP alone take more.
    let poor = plan(&format!("{link} --budget 1%"));
    assert!(poor["reason"].as_str().unwrap().contains("--budget"), "{poor}");
    let capped = plan(&format!("{link} --traffic mixed --budget 40%"));
    assert!(capped["config"].as_str().unwrap().contains("bulk = \"40%\""), "{capped}");
    let served = plan("--rate 2Mbit/s --rtt 100ms --loss 3% --users 1000");
    let stations = &served["stations"];
    assert!(number(stations, "tcp") > number(stations, "tcpnc"));
    assert_eq!(number(stations, "saved_power_w"), 2500.0 * number(stations, "saved"));
}

#[test]
fn it_can_be_verified() {
    let got = plan("--rate 2Mbit/s --rtt 20ms --loss 5% --verify");
    for name in ["reno", "cubic", "bbr", "tunnel-cubic", "tunnel-bbr", "tcpnc"] {
        let simulated = &scheme(&got, name)["simulated"];
        assert!(
            number(simulated, "goodput_bps") > 0.0 && number(simulated, "runs") >= 2.0,
            "{name}: {simulated}"
        );
    }
    // A link without anything at random: simulated twice, it is the same.
    assert_eq!(got, plan("--rate 2Mbit/s --rtt 20ms --loss 5% --verify"));
}

#[test]
fn wrong_words_name_their_flag() {
    for (words, said) in [
        ("--rate 20Mbit/s --rtt 100ms", vec!["--loss"]),
        ("", vec!["--rate", "--rtt", "--loss"]),
        ("--rate 0 --rtt 100ms --loss 5%", vec!["--rate", "greater than 0"]),
        ("--rate 1kbit/s --rtt 100ms --loss 5%", vec!["--rate", "10 kbit/s"]),
        ("--rate 20Mbit/s --rtt 5min --loss 5%", vec!["--rtt", "60 s"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 95%", vec!["--loss", "90 %"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --loss-back 1.5", vec!["--loss-back", "`1.5`"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 80% --burst 2", vec!["--burst", "p/(1-p)"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --queue 1000B", vec!["--queue", "1500"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --flows 0", vec!["--flows", "1 or more"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --users 0", vec!["--users", "1 or more"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --traffic web", vec!["--traffic", "web", "mixed"]),
        ("campaign --seed 1 --links 0 --store x", vec!["--links"]),
        ("campaign --seed 1 --links 1 --store x --page /no/such/page", vec!["--page", "/no/such/page"]),
    ] {
        let words: Vec<&str> = ["plan"].into_iter().chain(words.split_whitespace()).collect();
        let output = run(&words);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        for word in said {
            assert!(text.contains(word), "{words:?}: no `{word}` in {text}");
        }
    }
}

#[test]
fn a_campaign_continues_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (store, page, data, errors) = (at("s.redb"), at("p.md"), at("d.toml"), at("e.toml"));
    // Seed 128 begins with slow links.
    let campaign = "plan campaign --seed 128 --links 1 --plain-links 2 --max-rate 20Mbit/s";
    let words: Vec<&str> = campaign
        .split(' ')
        .chain(["--store", &store, "--page", &page, "--data", &data, "--errors", &errors])
        .collect();
    let first = run(&words);
    assert!(first.status.success(), "{}", stderr(&first));
    let written = std::fs::read_to_string(&page).unwrap();
    assert_eq!(stdout(&first), written);
    assert!(
        written.contains("1 links were drawn from seed 128") && written.contains("`ripstop plan --rate"),
        "{written}"
    );
    // Every scheme on the first link, plain TCP alone on the second.
    let links = std::fs::read_to_string(&data).unwrap();
    let count = |words: &str| links.matches(words).count();
    assert_eq!((count("[[link]]"), count("[link.scheme.bbr]"), count("[link.scheme.tunnel-bbr]")), (2, 2, 1));
    assert!(links.contains("plain-links = 2") && links.contains("max-rate-bps = 20000000"), "{links}");
    let errors = std::fs::read_to_string(&errors).unwrap();
    assert!(errors.contains("[hits.all]") && errors.contains("behaviour = "), "{errors}");
    assert_eq!(stdout(&run(&words)), written);
}
