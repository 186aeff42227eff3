//! Tests of `ripstop sim mesh`.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;

fn mesh(more: &str) -> Value {
    mesh_for("30s", more)
}

/// The result of two runs of this duration.
fn mesh_for(duration: &str, more: &str) -> Value {
    let flags = ["sim", "mesh", "--duration", duration, "--runs", "2", "--json"];
    json(&run(&flags.into_iter().chain(more.split_whitespace()).collect::<Vec<_>>()))
}

fn mean(value: &Value) -> f64 {
    value["mean"].as_f64().unwrap_or_else(|| panic!("no mean in {value}"))
}

#[test]
fn the_result_has_its_shape_and_the_figures_of_the_mesh() {
    let result = mesh("--link-loss 1% --down 2 --up 2 --sample 10s --interval 5s,20s --per-run");
    schema::check("sim.schema.json", &result);
    let names: Vec<&str> = result["flows"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["down0", "down1", "up0", "up1"]);
    let goodputs: Vec<f64> = result["per_run"][0]["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| flow["goodput_bps"].as_f64().unwrap())
        .collect();
    let (sum, squares) = (goodputs.iter().sum::<f64>(), goodputs.iter().map(|x| x * x).sum::<f64>());
    let jain = result["per_run"][0]["jain"].as_f64().unwrap();
    assert!((jain - sum * sum / (4.0 * squares)).abs() < 1e-12 && jain < 1.0, "{jain}, {goodputs:?}");
    // Equation (12) at P = 1 %. Errata of paper 004, table "Eq (12), 3 hops".
    assert!((result["capacity_bps"].as_f64().unwrap() - 267_613.4).abs() < 0.1, "{}", result["capacity_bps"]);
    assert!((1.0..1.2).contains(&mean(&result["acks_per_packet"])), "{}", result["acks_per_packet"]);
    assert!(result["delay_s"]["p99"].as_f64().unwrap() > mean(&result["delay_s"]), "{}", result["delay_s"]);
    assert!(mean(&result["media"][0]["losses"]["packets"]) > 0.0);
    assert_eq!(result["media"][0]["losses"]["frames"]["mean"], 0.0);
    // One flow: its delay is the delay of all flows, and Jain's index is 1.
    let one = mesh("");
    assert_eq!((&one["delay_s"], mean(&one["jain"])), (&one["flows"][0]["delay_s"], 1.0));
    // A string has no wired link, so it is not a mesh.
    let string = json(&run(&["sim", "string", "--duration", "5s", "--runs", "1", "--json"]));
    for key in ["capacity_bps", "acks_per_packet", "delay_s", "jain"] {
        assert!(string[key].is_null(), "{key}");
    }
    assert!(string["media"][0]["losses"].is_null());
}

#[test]
fn equal_seeds_give_equal_results_and_losses_follow_the_seed() {
    let [one, again, other] = ["", "", "--seed 2"].map(|seed| mesh(&format!("--link-loss 2% --up 1 {seed}")));
    for key in ["flows", "links", "media", "jain", "events"] {
        assert_eq!(one[key], again[key], "{key}");
    }
    assert_ne!(one["flows"], other["flows"]);
}

#[test]
fn every_flag_changes_the_result() {
    for (usual, flags) in [
        (
            "--link-loss 1% --down 1 --up 1",
            &[
                "--scheme tcp-nc",
                "--hops 2",
                "--link-loss 2%",
                "--errors per-frame",
                "--spacing 150m",
                "--capture 20",
                "--wired-rate 100kbit/s",
                "--wired-delay 10ms",
                "--preset standard",
                "--data-rate 2Mbit/s",
                "--basic-rate 2Mbit/s",
                "--rts on",
                "--short-retry 1",
                "--queue 3",
                "--down 2",
                "--up 2",
                "--tcp reno",
                "--window 4",
                "--packet 500B",
            ][..],
        ),
        ("--link-loss 1% --wired-rate 100kbit/s", &["--wired-queue 5"]),
        ("--capture 20 --rts on", &["--long-retry 1"]),
        ("--link-loss 1% --scheme tcp-nc", &["--redundancy 2", "--redundancy auto", "--redundancy rule"]),
        ("--link-loss 1% --traffic udp", &["--udp-rate 100kbit/s", "--packet 500B", "--up 1"]),
    ] {
        let base = mesh(usual);
        for flag in flags {
            // The last value of a flag would win, but a flag may be given only one time.
            let name = flag.split(' ').next().unwrap();
            let kept = usual.split("--").filter(|part| !part.is_empty() && !format!("--{part}").starts_with(name));
            let kept: String = kept.map(|part| format!("--{part} ")).collect();
            let changed = mesh(&format!("{kept} {flag}"));
            assert_ne!(changed["flows"], base["flows"], "{usual} {flag}");
        }
    }
}

#[test]
fn defaults_follow_the_other_flags() {
    let scenario = |flags: &str| mesh_for("1s", flags)["scenario"].clone();
    let nc = scenario("--scheme tcp-nc --link-loss 10% --tcp sack");
    // 1.5 / 0.9^3
    let redundancy: f64 = nc["flow"][0]["nc"]["redundancy"].to_string().trim_matches('"').parse().unwrap();
    assert!((redundancy - 2.057_613).abs() < 1e-6, "{redundancy}");
    assert_eq!(nc["flow"][0]["tcp"], "sack");
    let once = scenario("--short-retry 1");
    assert_eq!((&once["medium"][0]["short-retry"], &once["medium"][0]["long-retry"]), (&1.into(), &1.into()));
    let usual = scenario("");
    assert_eq!((&usual["medium"][0]["short-retry"], &usual["medium"][0]["long-retry"]), (&7.into(), &4.into()));
    assert!(usual["medium"][0]["loss"].is_null() && usual["medium"][0]["errors"].is_null());
    // 1.1 times 273 056 bit/s, shared by two sources.
    let udp = scenario("--traffic udp --up 1");
    assert_eq!(udp["flow"][1]["udp"]["constant"], "150.181kbit/s");
}

#[test]
fn udp_fills_the_path_and_uploads_begin_at_the_client() {
    let udp = mesh_for("200s", "--traffic udp --short-retry 1");
    // The independent study of TCP/LT has 282.5 kbit/s.
    assert!((mean(&udp["goodput_bps"]) / 282.5e3 - 1.0).abs() < 0.03, "{}", udp["goodput_bps"]);
    assert_eq!(mean(&udp["acks_per_packet"]), 0.0);
    let up = mesh_for("200s", "--down 0 --up 1");
    assert_eq!((&up["scenario"]["flow"][0]["from"], &up["flows"][0]["name"]), (&"client".into(), &"up".into()));
    // ns-2 has 243.3 kbit/s.
    assert!((mean(&up["goodput_bps"]) / 243.3e3 - 1.0).abs() < 0.02, "{}", up["goodput_bps"]);
    let links: Vec<&str> = up["links"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(links, ["server>gateway", "gateway>server", "client>gateway", "gateway>client"]);
}

#[test]
fn tables_for_people_and_a_scenario_that_runs_the_same() {
    let flags = ["sim", "mesh", "--duration", "20s", "--runs", "2", "--link-loss", "2%", "--scheme", "tcp-nc"];
    let text = stdout(&run(&flags));
    for words in
        ["path capacity (paper 004, eq. 12) 262 kbit/s", "lost at random on medium:", "gateway>client", "relay1"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("no random loss happened"), "{text}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stdout(&run(&[&flags[..], &["--print-scenario"]].concat()))).unwrap();
    let path = file.path().to_str().unwrap();
    let [written, given] =
        [&["sim", "run", path, "--json"][..], &[&flags[..], &["--json"]].concat()].map(|flags| json(&run(flags)));
    for key in ["scenario", "flows", "media", "capacity_bps", "delay_s"] {
        assert_eq!(written[key], given[key], "{key}");
    }
    // With a loss of one in a billion, nothing is lost. The table says so.
    let text = stdout(&run(&["sim", "mesh", "--duration", "1s", "--runs", "1", "--link-loss", "1e-9"]));
    assert!(text.contains("no random loss happened"), "{text}");
    let text = stderr(&run(&["sim", "mesh", "--duration", "1s", "--runs", "1", "--errors", "per-frame"]));
    assert!(text.contains("--errors has no effect without --link-loss"), "{text}");
}

#[test]
fn clients_at_different_hops_have_a_scenario_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let scenario = stdout(&run(&["sim", "mesh", "--duration", "20s", "--runs", "2", "--print-scenario"]));
    let flow = |from: &str, to: &str| format!("\n[[flow]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let more = flow("server", "relay1") + &flow("relay2", "server");
    std::fs::write(file.path(), scenario + &more).unwrap();
    let result = json(&run(&["sim", "run", file.path().to_str().unwrap(), "--json"]));
    assert!(result["flows"].as_array().unwrap().iter().all(|flow| mean(&flow["goodput_bps"]) > 1e3), "{result}");
    // The longest path decides.
    assert!((result["capacity_bps"].as_f64().unwrap() - 273_056.2).abs() < 0.1);
}

#[test]
fn a_wrong_value_names_its_flag() {
    for (flags, words) in [
        ("--scheme tcp-lt-2", &["--scheme", "write one of tcp, tcp-nc"][..]),
        ("--hops 0", &["--hops", "1 to 999"]),
        ("--hops 1000", &["--hops", "1 to 999"]),
        ("--link-loss 101%", &["--link-loss", "share"]),
        ("--errors all", &["--errors", "above-mac, per-frame"]),
        ("--spacing 200m,100m", &["--spacing", "2 distances for 3 gaps"]),
        ("--spacing 300m", &["--spacing", "no links lead from"]),
        ("--spacing 0m", &["--spacing", "another station"]),
        ("--capture 0.5", &["--capture", "at least 1"]),
        ("--capture much", &["--capture", "for example `10`"]),
        ("--wired-rate 0", &["--wired-rate", "carries nothing"]),
        ("--wired-queue none", &["--wired-queue"]),
        ("--data-rate 0", &["--data-rate", "never ends"]),
        ("--basic-rate 0", &["--basic-rate", "never ends"]),
        ("--rts maybe", &["--rts", "on, off"]),
        ("--short-retry 0", &["--short-retry", "at least 1"]),
        ("--long-retry 0", &["--long-retry", "at least 1"]),
        ("--queue 0", &["--queue", "holds none"]),
        ("--traffic voip", &["--traffic", "tcp, udp"]),
        ("--down 0", &["--down", "there is no flow"]),
        ("--up 10001", &["--up", "at most 10000"]),
        ("--tcp quick", &["--tcp"]),
        ("--window 0", &["--window", "at least 1"]),
        ("--packet 0", &["--packet", "1 to"]),
        ("--redundancy 2", &["--redundancy", "--scheme tcp-nc"]),
        ("--scheme tcp-nc --redundancy 0.5", &["--redundancy", "1 to 100"]),
        ("--traffic udp --scheme tcp-nc", &["--scheme", "--traffic tcp"]),
        ("--traffic udp --window 5", &["--window", "--traffic tcp"]),
        ("--udp-rate 1Mbit/s", &["--udp-rate", "--traffic udp"]),
        ("--traffic udp --udp-rate 0", &["--udp-rate", "sends nothing"]),
    ] {
        let all: Vec<&str> = ["sim", "mesh"].into_iter().chain(flags.split(' ')).collect();
        let output = run(&all);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{flags}: {text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{flags}: no `{word}` in: {text}"));
    }
}

#[test]
fn tcp_lt_beats_plain_tcp_and_each_of_its_settings_has_an_effect() {
    let lossy = "--link-loss 10% --short-retry 1 --scheme tcp-lt";
    let usual = mesh_for("100s", lossy);
    schema::check("sim.schema.json", &usual);
    let goodput = |result: &Value| mean(&result["goodput_bps"]);
    assert!(goodput(&usual) > 10.0 * goodput(&mesh_for("100s", "--link-loss 10% --short-retry 1")));
    let lt = &usual["flows"][0]["lt"];
    assert!(mean(&lt["topped_up"]) > 0.0 && mean(&lt["blocks"]) > 0.0, "{lt}");
    assert_eq!(mean(&lt["rate_bps"]), (mean_or(&usual["capacity_bps"])).round());
    for more in [
        "--lt repaired",
        "--lt paper",
        "--block 8",
        "--code rlnc",
        "--code block",
        "--redundancy 2",
        "--capacity 50kbit/s",
    ] {
        let other = mesh_for("100s", &format!("{lossy} {more}"));
        assert_ne!(goodput(&other), goodput(&usual), "{more}");
    }
    let fair = mesh_for("100s", &format!("{lossy} --down 2 --up 2"));
    assert!(mean(&fair["jain"]) > 0.97, "{}", fair["jain"]);
}

fn mean_or(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn settings_of_tcp_lt_need_tcp_lt_and_right_values() {
    for (flags, words) in [
        ("--lt repaired", "--scheme tcp-lt"),
        ("--block 8", "--scheme tcp-lt"),
        ("--scheme tcp-lt --block 65", "1 to 64"),
        ("--scheme tcp-lt --lt repaired --block auto", "--block"),
        ("--scheme tcp-lt --code turbo", "--code"),
        ("--scheme tcp-lt --redundancy 0.5", "--redundancy"),
        ("--scheme tcp-lt --capacity 0", "--capacity"),
        ("--scheme tcp-lt --traffic udp", "--scheme"),
    ] {
        let output = run(&["sim", "mesh"].into_iter().chain(flags.split_whitespace()).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{flags}");
        assert!(stderr(&output).contains(words), "{flags}: {}", stderr(&output));
    }
}
