//! Tests of `ripstop sim string`.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;

fn string(more: &[&str]) -> Value {
    json(&run(&[&["sim", "string", "--duration", "10s", "--runs", "2"], more, &["--json"]].concat()))
}

fn mean(value: &Value) -> f64 {
    value["mean"].as_f64().unwrap_or_else(|| panic!("no mean in {value}"))
}

#[test]
fn the_result_has_its_shape_and_the_figures_of_the_medium() {
    let result = string(&["--xor", "on", "--backoff", "adaptive", "--sample", "5s", "--interval", "2s,4s"]);
    schema::check("sim.schema.json", &result);
    assert!((0.2..0.7).contains(&mean(&result["gamma"])), "{}", result["gamma"]);
    assert!(mean(&result["throughput_ip_bps"]) > 4e5 && mean(&result["collisions_per_s"]) > 10.0);
    assert_eq!(result["k"].as_object().unwrap().len(), 10);
    assert_eq!(result["media"][0]["stations"].as_array().unwrap().len(), 10);
    assert_eq!(result["series"]["stations"][0]["k"].as_array().unwrap().len(), 2);
    // A packet of 1460 bytes counts as 1500 bytes with its headers.
    let ratio = mean(&result["throughput_ip_bps"]) / mean(&result["goodput_bps"]);
    assert!((ratio - 1500.0 / 1460.0).abs() < 1e-9, "{ratio}");
    let wired = json(&run(&["sim", "tandem", "--duration", "10s", "--runs", "1", "--json"]));
    assert!(wired["gamma"].is_null() && wired["media"].as_array().unwrap().is_empty());
}

#[test]
fn every_flag_changes_the_result() {
    let usual = mean(&string(&[])["throughput_ip_bps"]);
    for flags in [
        "--nodes 5",
        "--spacing 150m",
        "--capture 20",
        "--receive-range 220m --sense-range 390m",
        "--preset standard",
        "--data-rate 5.5Mbit/s",
        "--basic-rate 1Mbit/s",
        "--rts on",
        "--capture 20 --short-retry 2",
        "--window 100 --queue 5",
        "--xor on",
        "--backoff adaptive",
        "--backoff hold",
        "--traffic udp",
        "--direction both",
        "--tcp reno --window 100",
        "--window 2",
        "--packet 500B",
        "--acks off",
    ] {
        let changed = mean(&string(&flags.split(' ').collect::<Vec<_>>())["throughput_ip_bps"]);
        assert!((changed / usual - 1.0).abs() > 1e-4, "{flags}: {changed} {usual}");
    }
    let rts = ["--capture", "20", "--rts", "on"];
    let [usual, once] = [&rts[..], &[&rts[..], &["--long-retry", "1"]].concat()].map(string);
    assert_ne!(usual["throughput_ip_bps"], once["throughput_ip_bps"], "--long-retry");
}

#[test]
fn tables_for_people_and_a_scenario_that_runs_the_same() {
    let text = stdout(&run(&["sim", "string", "--duration", "5s", "--runs", "1", "--xor", "on"]));
    assert!(text.contains("gamma") && text.contains("n9") && text.contains("headers included"), "{text}");
    let text =
        stdout(&run(&["sim", "string", "--duration", "5s", "--runs", "1", "--xor", "on", "--backoff", "cadence"]));
    assert!(text.contains("cadence on medium: packets overheard"), "{text}");
    let flags = ["sim", "string", "--duration", "5s", "--runs", "1", "--backoff", "R", "--k", "2"];
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stdout(&run(&[&flags[..], &["--print-scenario"]].concat()))).unwrap();
    let path = file.path().to_str().unwrap();
    let [written, given] =
        [&["sim", "run", path, "--json"][..], &[&flags[..], &["--json"]].concat()].map(|flags| json(&run(flags)));
    assert_eq!(written["media"], given["media"]);
}

#[test]
fn a_wrong_value_names_its_flag_or_its_place_in_the_file() {
    for (flags, words) in [
        ("--nodes 1", &["--nodes", "2 to 1000"][..]),
        ("--nodes 3 --spacing 100m,100m,100m", &["--spacing", "3 distances for 2 gaps"]),
        ("--spacing 20s", &["--spacing", "`200m`"]),
        ("--spacing asymmetric --nodes 8", &["--spacing", "--nodes 10"]),
        ("--spacing 300m", &["--spacing", "no links lead from `n0`"]),
        ("--spacing 0m", &["--spacing", "another station"]),
        ("--capture 0.5", &["--capture", "at least 1"]),
        ("--capture much", &["--capture", "for example `10`"]),
        ("--backoff random", &["--backoff", "`random` is not a choice"]),
        ("--backoff adaptive --k two", &["--k", "`learned`"]),
        ("--k 2", &["--backoff", "only an adaptive back-off uses these settings"]),
        ("--backoff cadence --k 2", &["--backoff", "only an adaptive back-off uses these settings"]),
        ("--backoff adaptive --k 2 --most-k 3", &["--most-k", "k is fixed"]),
        ("--short-retry 0", &["--short-retry", "at least 1"]),
        ("--data-rate 0", &["--data-rate", "never ends"]),
        ("--queue 0", &["--queue", "holds none"]),
        ("--traffic udp --acks off", &["--acks", "UDP has no acknowledgements"]),
        ("--flows 0", &["--flows", "1"]),
        ("--sense-range 100m", &["--sense-range", "at least `receive-range`"]),
        ("--access tdma", &["--access", "dcf, csma, scheduled"]),
        ("--interference 2", &["--interference", "--access"]),
        ("--access dcf --interference 2", &["--access", "DCF does not use these settings"]),
        ("--access csma --interference 0", &["--interference", "1 to 1000"]),
        ("--access csma --mean-backoff 0s", &["--mean-backoff", "not 0"]),
        ("--access csma --nodes 3 --mean-backoff 1ms,2ms", &["--mean-backoff", "2 times for 3 links", "n2>n1"]),
        ("--access csma --nodes 3 --packet-time 1ms,2ms,0s", &["--packet-time", "not 0"]),
        ("--access scheduled --mean-backoff 1ms", &["--mean-backoff", "no back-offs"]),
        ("--access scheduled --packet-times exponential", &["--packet-times", "one length"]),
        ("--access csma --xor on", &["--xor", "does not use this setting"]),
        ("--access csma --capture 20", &["--capture", "does not use this setting"]),
        ("--access csma --routing aodv", &["--routing", "does not use this setting"]),
        ("--traffic saturated", &["--traffic", "--access csma"]),
        ("--access csma --traffic saturated --direction both", &["--direction", "no flows"]),
        ("--rts maybe", &["--rts", "on, off"]),
    ] {
        let all: Vec<&str> = ["sim", "string"].into_iter().chain(flags.split(' ')).collect();
        let output = run(&all);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{flags}: {text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{flags}: no `{word}` in: {text}"));
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        "[[medium]]\nstations = [{ name = \"a\" }, { name = \"b\", x = \"200m\" }]\nxor-header = 4\n\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n",
    )
    .unwrap();
    let output = run(&["sim", "run", file.path().to_str().unwrap()]);
    let text = stderr(&output);
    assert!(output.status.code() == Some(2) && text.contains(":3:14") && text.contains("nothing is XORed"), "{text}");
}

/// A run of `sim string` with collisions and XOR frames, 2 s long.
const ON_THE_AIR: [&str; 12] =
    ["sim", "string", "--nodes", "6", "--capture", "20", "--xor", "on", "--duration", "2s", "--runs", "1"];

#[test]
fn the_air_is_recorded_as_a_capture_and_as_a_picture() {
    let directory = tempfile::tempdir().unwrap();
    let [capture, picture, file] = ["air.pcap", "air.svg", "string.toml"].map(|name| directory.path().join(name));
    let [capture, picture] = [&capture, &picture].map(|path| path.to_str().unwrap());
    let record = ["--air-pcap", capture, "--timeline", picture, "--timeline-from", "500ms", "--timeline-for", "400ms"];
    let plain = json(&run(&[&ON_THE_AIR[..], &["--json"]].concat()));
    let recorded = json(&run(&[&ON_THE_AIR[..], &record, &["--json"]].concat()));
    assert_eq!(recorded["media"], plain["media"]);
    // The capture has as many XOR frames as the stations counted. A record has 16 bytes, the radiotap header, the MAC
    // header of 24 bytes, and SNAP.
    let bytes = std::fs::read(capture).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 127));
    let (mut at, mut coded) = (24, 0);
    while at < bytes.len() {
        let end = at + 16 + word(at + 8);
        let frame = &bytes[at + 16 + usize::from(bytes[at + 18])..end];
        coded += u64::from(frame.get(30..32) == Some(&[0x88, 0xb5]));
        at = end;
    }
    let stations = plain["media"][0]["stations"].as_array().unwrap();
    let counted: f64 = stations.iter().map(|station| station["xor_frames"]["mean"].as_f64().unwrap()).sum();
    assert!(coded > 0 && coded as f64 == counted, "{coded} {counted}");
    // The picture shows each station, a collision, the command, and the beginning and end of the timeline.
    let svg = std::fs::read_to_string(picture).unwrap();
    for k in 0..6 {
        assert!(svg.contains(&format!(">n{k}</text>")), "n{k}");
    }
    for text in ["class=\"collision\"", "class=\"xor\"", "ripstop sim string --nodes 6", ">500</text>", ">900</text>"] {
        assert!(svg.contains(text), "{text}");
    }
    // `sim run` records the same capture.
    let scenario = stdout(&run(&[&ON_THE_AIR[..], &["--print-scenario"]].concat()));
    std::fs::write(&file, scenario).unwrap();
    let again = directory.path().join("again.pcap");
    json(&run(&["sim", "run", file.to_str().unwrap(), "--air-pcap", again.to_str().unwrap(), "--json"]));
    assert!(std::fs::read(again).unwrap() == bytes);
}

#[test]
fn wrong_flags_of_the_air_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let chain = directory.path().join("chain.toml");
    std::fs::write(&chain, stdout(&run(&["sim", "tandem", "--print-scenario"]))).unwrap();
    let chain = chain.to_str().unwrap();
    let string = |flags: &[&'static str]| [&ON_THE_AIR[..], flags].concat();
    for (words, message) in [
        (vec!["sim", "run", chain, "--air-pcap", "/dev/null"], "--air-pcap: the scenario has no stations"),
        (vec!["sim", "run", chain, "--timeline", "/dev/null"], "--timeline: the scenario has no stations"),
        (string(&["--timeline", "/dev/null", "--timeline-for", "2s"]), "--timeline-for: a picture shows"),
        (string(&["--timeline", "/dev/null", "--timeline-for", "0s"]), "--timeline-for: a picture shows"),
        (string(&["--timeline", "/dev/null", "--timeline-from", "2s"]), "--timeline-from: the run ends at 2s"),
        (string(&["--timeline-from", "1s"]), "--timeline <FILE>"),
        (
            vec!["sim", "string", "--access", "csma", "--air-pcap", "/dev/null"],
            "--air-pcap: ideal access sends no frames",
        ),
        (vec!["sim", "tandem", "--air-pcap", "/dev/null"], "unexpected argument '--air-pcap'"),
    ] {
        let output = run(&words);
        assert!(stderr(&output).contains(message), "{words:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
    for flag in ["--air-pcap", "--timeline"] {
        let output = run(&[&ON_THE_AIR[..], &[flag, "/dev/full"]].concat());
        assert!(stderr(&output).contains("/dev/full: No space left"), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(1));
    }
}

/// A figure (such as `load`) of each link, for a medium with ideal access.
fn links(result: &Value, figure: &str) -> Vec<f64> {
    let links = result["media"][0]["ideal"]["links"].as_array().unwrap();
    links.iter().map(|link| mean(&link[figure])).collect()
}

#[test]
fn ideal_access_has_links_and_no_losses() {
    // The optimum of table III for five nodes, as `ripstop model string --nodes 5` prints it. The attempt ratios x are
    // 3.163, 4.108 three times, and 0.2987. The load of a forward link is .2317. The load of the reverse link is .3027
    // times this value.
    let csma = ["sim", "string", "--nodes", "5", "--access", "csma", "--traffic", "saturated", "--runs", "2", "--json"];
    let times = ["--mean-backoff", "468.2us,360.5us,360.5us,360.5us,1501us", "--packet-times", "exponential"];
    let packets = ["--packet-time", "1481us,1481us,1481us,1481us,448.36us"];
    let result = json(&run(&[&csma[..], &times, &packets].concat()));
    schema::check("sim.schema.json", &result);
    let loads = links(&result, "load");
    assert_eq!(loads.len(), 5);
    for (load, want) in loads.iter().zip([0.2317, 0.2317, 0.2317, 0.2317, 0.0701]) {
        assert!((load / want - 1.0).abs() < 0.05, "{loads:?}");
    }
    assert!(links(&result, "deferrals").iter().all(|count| *count > 1000.0), "{result}");
    assert!(result["throughput_ip_bps"].is_null() && result["goodput_bps"]["mean"].is_null(), "{result}");
    let scheduled = string(&["--access", "scheduled", "--acks", "off", "--packet-time", "1ms", "--warmup", "1s"]);
    // k = 2: a packet of 1500 bytes leaves in every fourth slot of 1 ms.
    assert!((mean(&scheduled["throughput_ip_bps"]) / 3e6 - 1.0).abs() < 1e-3, "{}", scheduled["throughput_ip_bps"]);
    let together = scheduled["media"][0]["ideal"]["together"].as_array().unwrap();
    assert!(together.len() == 4 && (mean(&together[3]) - 0.25).abs() < 1e-3, "{together:?}");
}

#[test]
fn every_flag_of_ideal_access_changes_the_result() {
    let usual = ["--access", "csma", "--acks", "off"];
    let before = mean(&string(&usual)["throughput_ip_bps"]);
    for flags in [
        "--interference 1",
        "--mean-backoff 100us",
        "--mean-backoff 1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,100us",
        "--packet-time 1ms",
        "--packet-time 1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,2ms",
        "--packet-times exponential",
        "--acks on",
        "--direction both",
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        let usual = if flags[0] == "--acks" { &usual[..2] } else { &usual[..] };
        let changed = mean(&string(&[usual, &flags].concat())["throughput_ip_bps"]);
        assert!((changed / before - 1.0).abs() > 1e-3, "{flags:?}: {changed} {before}");
    }
    let text = stdout(&run(&["sim", "string", "--access", "csma", "--traffic", "saturated", "--duration", "1s"]));
    assert!(text.contains("deferrals") && text.contains("active together") && text.contains("n9>n8"), "{text}");
}
