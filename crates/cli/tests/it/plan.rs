//! Tests of `ripstop plan`.

use crate::common::{json, run, schema, stderr, stdout};
use ripstop_model::plan::campaign::CampaignResults;
use serde_json::Value;

/// Runs `ripstop plan` with these words and `--json`, checks the result against the schema, and returns it.
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
    // Plain CUBIC was simulated, and the closed form predicts a goodput of the same order.
    let cubic = scheme(&got, "cubic");
    let simulated = number(&cubic["simulated"], "goodput_bps");
    assert!(simulated < 0.05 * 16e6 && number(cubic, "goodput_bps") < 0.05 * 16e6, "{cubic}");
    assert!(scheme(&got, "block")["error_median"].is_number() && scheme(&got, "block")["available"] == true);
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
    // On a link without losses, a tunnel does not help requests either.
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
    // IP and TCP headers alone take more than 1 %.
    let poor = plan(&format!("{link} --budget 1%"));
    assert!(
        poor["recommended"].is_null() && poor["reason"].as_str().unwrap().contains("--budget is too small"),
        "{poor}"
    );
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
    for name in ["reno", "cubic", "bbr", "tunnel-cubic", "tunnel-bbr", "tcpnc", "block", "lt"] {
        let simulated = &scheme(&got, name)["simulated"];
        assert!(number(simulated, "goodput_bps") > 0.0 && number(simulated, "runs") >= 2.0, "{name}: {simulated}");
        // Requests are simulated too. Each takes at least the round trip of 20 ms. Without the tunnel, losses make
        // some requests wait for a time-out of 200 ms.
        if !["tcpnc", "block", "lt"].contains(&name) {
            let (p50, p99) = (number(simulated, "request_p50_s"), number(simulated, "request_p99_s"));
            assert!(p50 > 0.02 && p99 > p50, "{name}: {simulated}");
            assert_eq!(p99 > 0.2, !name.starts_with("tunnel"), "{name}: {simulated}");
        }
    }
    let text = stdout(&run(&["plan", "--rate=2Mbit/s", "--rtt=20ms", "--loss=5%", "--verify"]));
    assert_eq!(text.matches("request p50").count(), 2, "{text}");
    // The same command gives the same result, because the seeds of the simulations are fixed.
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
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --hosts vegas", vec!["--hosts", "vegas", "cubic"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --budget=-5%", vec!["--budget"]),
        ("--rate 20Mbit/s --rtt 100ms --loss 5% --budget lots", vec!["--budget", "`lots`", "40%"]),
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
fn what_the_hosts_run_decides_which_schemes_can_be_used() {
    let link = "--rate 20Mbit/s --rtt 100ms --loss 1%";
    let said = |value: &Value| value["setup"].to_string();
    // Plain BBR has the highest goodput, but every sending host must be changed. The plan says so.
    let any = plan(link);
    assert_eq!(any["recommended"], "bbr", "{any}");
    assert!(said(&any).contains("BBR on every host that sends") && said(&any).contains("--hosts cubic"), "{any}");
    let cubic = plan(&format!("{link} --hosts cubic"));
    assert_eq!(cubic["recommended"], "tunnel-cubic", "{cubic}");
    assert!(said(&cubic).contains("a tunnel") && !said(&cubic).contains("BBR"), "{cubic}");
    for (name, allowed) in
        [("cubic", true), ("tunnel-cubic", true), ("bbr", false), ("tunnel-bbr", false), ("reno", false)]
    {
        assert_eq!(scheme(&cubic, name)["allowed"], allowed, "{name}");
    }
    let bbr = plan(&format!("{link} --hosts bbr"));
    assert_eq!((&bbr["recommended"], said(&bbr).as_str()), (&Value::from("bbr"), "[]"), "{bbr}");
    let text = stdout(&run(&["plan", "--rate=20Mbit/s", "--rtt=100ms", "--loss=1%"]));
    assert!(!text.contains("without anything to set up") && text.contains("set up BBR on every host"), "{text}");
}

#[test]
fn a_link_outside_the_compared_ones_has_no_error_figures() {
    for (link, outside) in [
        ("--rate 10Gbit/s --rtt 50ms --loss 2%", "rate"),
        ("--rate 20Mbit/s --rtt 2ms --loss 2% --queue 10kB", "RTT"),
        ("--rate 20Mbit/s --rtt 50ms --loss 40%", "loss"),
        ("--rate 20Mbit/s --rtt 50ms --loss 2% --burst 30", "bursts"),
        ("--rate 20Mbit/s --rtt 50ms --loss 2% --queue 5", "queue"),
        ("--rate 20Mbit/s --rtt 50ms --loss 2% --flows 4", "connections"),
    ] {
        let got = plan(link);
        assert_eq!(got["extrapolated"], serde_json::json!([outside]), "{link}");
        assert!(got["accuracy"].is_null(), "{link}: {got}");
        assert!(got["cautions"][0].as_str().unwrap().contains("extrapolate"), "{link}: {got}");
        for one in got["schemes"].as_array().unwrap() {
            assert!(one["error_median"].is_null() && one["request_p99_error_median"].is_null(), "{link}: {one}");
        }
    }
    let inside = plan("--rate 20Mbit/s --rtt 50ms --loss 2%");
    assert_eq!(inside["extrapolated"], serde_json::json!([]));
    let (all, some) = (number(&inside["accuracy"], "scheme"), number(&inside["accuracy"], "pattern_scheme"));
    assert!((0.8..1.0).contains(&all) && (0.8..1.0).contains(&some), "{inside}");
    let text = stdout(&run(&["plan", "--rate=20Mbit/s", "--rtt=50ms", "--loss=2%"]));
    assert!(text.contains("on 93.5 % of 200 simulated links, the scheme that plan names"), "{text}");
    assert!(text.contains("compared with simulations of these links: rate 0.5 Mbit/s to 1 Gbit/s"), "{text}");
}

#[test]
fn tcpnc_is_not_predicted_where_it_stalls() {
    // Equation (20) gives 3.5 Mbit/s, simulations give .3 Mbit/s: a burst of 4 losses takes the whole window of 3
    // packets.
    let burst = plan("--rate 4Mbit/s --rtt 5ms --loss 3% --burst 4 --queue 10");
    let one = scheme(&burst, "tcpnc");
    assert!(one["goodput_bps"].is_null() && one["not_predicted"].as_str().unwrap().contains("bursts"), "{one}");
    let text = stdout(&run(&["plan", "--rate=4Mbit/s", "--rtt=5ms", "--loss=3%", "--burst=4", "--queue=10"]));
    let row = text.lines().find(|line| line.starts_with("tcpnc ")).unwrap();
    assert!(row.contains("not predicted") && row.contains("not known"), "{row}");
    // A number without an error figure is an upper bound, and `<=` marks the number.
    let text = stdout(&run(&["plan", "--rate=20Mbit/s", "--rtt=2ms", "--loss=2%", "--queue=50"]));
    let row = text.lines().find(|line| line.starts_with("lt ")).unwrap();
    assert!(row.contains("<= ") && row.contains("not known"), "{row}");
    let lossy = plan("--rate 20Mbit/s --rtt 100ms --loss 10%");
    assert!(scheme(&lossy, "tcpnc")["not_predicted"].as_str().unwrap().contains("3.5 %"), "{lossy}");
    let fine = plan("--rate 20Mbit/s --rtt 100ms --loss 2%");
    assert!(number(scheme(&fine, "tcpnc"), "share") > 0.75, "{fine}");
}

#[test]
fn tcp_lt_and_a_block_code_are_planned_but_not_recommended() {
    let got = plan("--rate 20Mbit/s --rtt 100ms --loss 15% --burst 15");
    // The block code is a code of the tunnel. Its prediction is below those of the schemes that are recommended.
    for (name, words, available) in [("lt", "K = 64, window = ", false), ("block", "K = 64, N = ", true)] {
        let one = scheme(&got, name);
        assert!(one["settings"].as_str().unwrap().starts_with(words), "{one}");
        assert_eq!((&one["available"], &one["allowed"]), (&Value::from(available), &Value::from(available)), "{one}");
    }
    let lt = scheme(&got, "lt");
    assert!(number(lt, "goodput_bps") > 1.1 * number(scheme(&got, "tunnel-cubic"), "goodput_bps"), "{got}");
    assert!(number(lt, "error_median") < 0.05, "{lt}");
    assert!(got["recommended"].as_str().unwrap().starts_with("tunnel"), "{got}");
    let outlook = got["outlook"].to_string();
    assert!(outlook.contains("lt would carry ") && outlook.contains("not available on the wire yet"), "{outlook}");
    assert!(!outlook.contains("block"), "{outlook}");
    let text = stdout(&run(&["plan", "--rate=20Mbit/s", "--rtt=100ms", "--loss=15%", "--burst=15"]));
    assert!(text.contains("% more than tunnel-"), "{text}");
    // Without losses, TCP/LT carries no more than plain TCP.
    assert_eq!(plan("--rate 20Mbit/s --rtt 100ms --loss 0")["outlook"], serde_json::json!([]));
}

#[test]
fn tcp_lt_and_a_block_code_are_refused_beyond_their_limits() {
    let wide = plan("--rate 10Gbit/s --rtt 200ms --loss 2%");
    assert!(scheme(&wide, "lt")["not_predicted"].as_str().unwrap().contains("65536 packets"), "{wide}");
    let late = plan("--rate 20Mbit/s --rtt 1900ms --loss 2%");
    assert!(scheme(&late, "lt")["not_predicted"].as_str().unwrap().contains("1.9 s"), "{late}");
    for (link, words) in [
        ("--rate 20Mbit/s --rtt 20ms --loss 2% --queue 5", "less than 8 packets"),
        ("--rate 20Mbit/s --rtt 20ms --loss 20% --burst 15", "acknowledgements"),
    ] {
        let got = plan(link);
        let one = scheme(&got, "block");
        assert!(one["goodput_bps"].is_null(), "{one}");
        assert!(one["not_predicted"].as_str().unwrap().contains(words), "{one}");
    }
}

/// The closed forms of TCP/LT and of a block code against simulations of three links.
#[test]
fn tcp_lt_and_a_block_code_are_simulated_as_predicted() {
    for (link, lt, block) in [
        ("--rate 4Mbit/s --rtt 100ms --loss 2%", 0.05, 0.1),
        ("--rate 10Mbit/s --rtt 50ms --loss 10%", 0.05, 0.15),
        ("--rate 5Mbit/s --rtt 200ms --loss 5% --burst 5 --loss-back 0", 0.1, 0.2),
    ] {
        let got = plan(&format!("{link} --verify"));
        for (name, tolerance) in [("lt", lt), ("block", block)] {
            let one = scheme(&got, name);
            let error = number(&one["simulated"], "error");
            assert!(error.abs() < tolerance, "{link}: the error of {name} is {error}: {one}");
        }
    }
}

#[test]
fn a_campaign_adds_schemes_only_to_results_of_the_same_links() {
    let words = "plan campaign --seed 3 --links 1 --store /no/such/store --add lt";
    let output = run(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--from"), "{}", stderr(&output));
    let folder = tempfile::tempdir().unwrap();
    let (store, from) = (folder.path().join("plan.redb"), folder.path().join("links.toml"));
    std::fs::write(&from, "seed = 1").unwrap();
    let (store, from) = (store.to_str().unwrap(), from.to_str().unwrap());
    let ask = |from: &str| {
        let output = run(&["plan", "campaign", "--seed=3", "--links=1", "--add=lt", "--store", store, "--from", from]);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    assert!(ask(from).contains("--from") && ask(from).contains("unknown field"), "{}", ask(from));
    // The committed results may be of an earlier simulator.
    let mut report: CampaignResults = toml::from_str(ripstop_model::plan::data::REPORT).unwrap();
    report.campaign.behaviour = ripstop_lab::campaign::behaviour::behaviour().unwrap().clone();
    std::fs::write(from, toml::to_string(&report).unwrap()).unwrap();
    assert!(ask(from).contains("are of seed 10, not of seed 3"), "{}", ask(from));
}

#[test]
fn a_budget_that_is_too_small_is_said_and_what_it_would_take() {
    let link = "--rate 20Mbit/s --rtt 100ms --loss 40%";
    let got = plan(&format!("{link} --budget 20%"));
    assert!(got["recommended"].is_null() && got["config"].is_null(), "{got}");
    let needed = number(&got, "budget_needed");
    let reason = got["reason"].as_str().unwrap();
    assert!((0.67..1.2).contains(&needed), "{got}");
    assert!(reason.contains("too small") && reason.contains("losses alone take 67 %"), "{reason}");
    let text = stdout(&run(&["plan", "--rate=20Mbit/s", "--rtt=100ms", "--loss=40%", "--budget=20%"]));
    assert!(text.contains("no recommendation: --budget is too small"), "{text}");
    // With the budget that the plan names, the plan recommends a scheme, and the goodput of this scheme is high.
    let enough = plan(&format!("{link} --budget {}%", (100.0 * needed).ceil()));
    let name = enough["recommended"].as_str().unwrap();
    assert!(number(scheme(&enough, name), "goodput_bps") > 5e6, "{enough}");
}

#[test]
fn cubic_fills_the_link_only_where_it_does() {
    let filled = |words: &str| {
        let got = plan(words);
        let share = number(&scheme(&got, "cubic")["simulated"], "goodput_bps") / number(&got["link"], "capacity_bps");
        (got["cautions"].to_string().contains("CUBIC fills the link"), share)
    };
    // If losses alone counted, CUBIC could fill this link. But with the short queue, CUBIC's start-up leaves half of
    // the link's capacity unused.
    let (said, share) = filled("--rate 20Mbit/s --rtt 100ms --loss 0.01% --queue 20");
    assert!(!said && share < 0.6, "{share}");
    let (said, share) = filled("--rate 20Mbit/s --rtt 100ms --loss 0.01%");
    assert!(said && share > 0.9, "{share}");
}

#[test]
fn a_campaign_continues_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (store, page, data, errors) = (at("s.redb"), at("p.md"), at("d.toml"), at("e.toml"));
    // Seed 128 begins with slow links.
    let campaign = "plan campaign --seed 128 --links 1 --plain-links 2 --max-rate 20Mbit/s";
    let words: Vec<&str> =
        campaign.split(' ').chain(["--store", &store, "--page", &page, "--data", &data, "--errors", &errors]).collect();
    let first = run(&words);
    assert!(first.status.success(), "{}", stderr(&first));
    let written = std::fs::read_to_string(&page).unwrap();
    assert_eq!(stdout(&first), written);
    assert!(
        written.contains("1 links were drawn from seed 128") && written.contains("`ripstop plan --rate"),
        "{written}"
    );
    // Every scheme is simulated on the first link, and only plain TCP on the second link.
    let links = std::fs::read_to_string(&data).unwrap();
    let count = |words: &str| links.matches(words).count();
    assert_eq!((count("[[link]]"), count("[link.scheme.bbr]"), count("[link.scheme.tunnel-bbr]")), (2, 2, 1));
    assert!(links.contains("plain-links = 2") && links.contains("max-rate-bps = 20000000"), "{links}");
    let errors = std::fs::read_to_string(&errors).unwrap();
    assert!(errors.contains("[hits.all]") && errors.contains("[campaign.behaviour]"), "{errors}");
    assert_eq!(stdout(&run(&words)), written);
}
