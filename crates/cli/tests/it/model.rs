//! Tests of `ripstop model`: the papers' closed forms.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;

/// Runs `ripstop model` with these words and `--json`, checks the result against the schema, and returns it.
fn model(words: &str) -> Value {
    let words: Vec<&str> = ["model"].into_iter().chain(words.split_whitespace()).chain(["--json"]).collect();
    let value = json(&run(&words));
    schema::check_part("model.schema.json", &format!("/$defs/{}", words[1]), &value);
    value
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// Asserts that the value equals `want`, apart from rounding to `decimals` decimals.
fn near(value: &Value, key: &str, want: f64, decimals: i32) {
    let got = number(value, key);
    assert!((got - want).abs() <= 0.51 * 10f64.powi(-decimals), "{key}: {got}, not {want}");
}

#[test]
fn tcp_as_computed_by_others() {
    // The columns after the loss: E[W], P_TO, the duration of time-outs in rounds, and packets/s.
    for (loss, window, timeout, rounds, pps) in [
        ("0.005", 17.2735, 4.112e-33, 0.018939, 18.86992),
        ("0.1", 3.6572, 0.271, 0.468747, 2.658431),
        ("50%", 1.1726, 1.0, 15.0, 0.0716398),
    ] {
        let got = model(&format!("tcp --loss {loss} --rtt 0.8 --rto 3s --wmax 50 --packet 1000B"));
        near(&got, "expected_window", window, 4);
        near(&got, "timeout_probability", timeout, 6);
        near(&got, "timeout_duration_rounds", rounds, 6);
        near(&got, "throughput_pps", pps, 5);
        near(&got, "throughput_bps", pps * 8000.0, 0);
    }
    // The exact loss of a row of table I: four links that each lose 2.5 %.
    near(&model("tcp --loss 0.09631211"), "throughput_bps", 21955.0, 0);
    near(&model("tcp --loss 0.09631211 --reading ceil"), "throughput_bps", 22456.0, 0);
    near(&model("tcp --loss 0.09631211 --timeout-duration conditional"), "throughput_bps", 17500.0, -2);
    // Half as many acknowledgments open the window half as fast.
    let half = number(&model("tcp --loss 1e-5 --wmax 1e6 --ack-every 2"), "throughput_pps");
    let all = number(&model("tcp --loss 1e-5 --wmax 1e6"), "throughput_pps");
    assert!((all / half - 2f64.sqrt()).abs() < 0.01);
    let clean = model("tcp --loss 0");
    assert!(clean["expected_window"].is_null() && clean["throughput_td_only_pps"].is_null());
    assert_eq!(clean["throughput_bps"], 500_000.0);
}

#[test]
fn tcpnc_by_round() {
    for (srtt, mbps) in [(0.8256, 0.481896), (0.8347, 0.476614)] {
        let got = model(&format!("tcpnc --loss 0 --w1 25 --srtt {srtt} --as-printed"));
        near(&got, "throughput_bps", mbps * 1e6, 0);
        near(&got, "packets_to_wmax", 1225.0, 9);
    }
    let got = model("tcpnc --loss 0.09631211 --redundancy 1.2 --rate 0.7Mbit/s --duration 48s");
    near(&got, "achievable_bps", 583_333.3, 1);
    assert_eq!((number(&got, "rounds"), &got["series"]), (60.0, &Value::Null));
    near(&got, "throughput_bps", 1824.0 / 60.0 / 0.8 * 8000.0, 6);
    near(&got, "packets_to_wmax", 1248.0 / (1.0 - 0.09631211), 6);
    // Fig. 5, at g = 1 and g = 0.8.
    let series = model("tcpnc --loss 0 --w1 30 --wmax 90 --duration 80s --series");
    let window = series["series"]["window"].as_array().unwrap();
    assert_eq!((window.len(), &window[0], &window[58], &window[99]), (100, &31.0.into(), &89.0.into(), &90.0.into()));
    let slow = model("tcpnc --loss 20% --duration 10min --series");
    assert_eq!(
        (&slow["series"]["window"][0], &slow["series"]["throughput_bps"][700]),
        (&1.8.into(), &400_000.0.into())
    );
    let endless = model("tcpnc --loss 20% --duration inf");
    assert_eq!((number(&endless, "throughput_bps"), &endless["rounds"]), (400_000.0, &Value::Null));
}

#[test]
fn redundancy_by_reading() {
    for (loss, ceil, floor, continuous) in
        [("0.01985050", 1.03, 1.04, 1.03), ("0.09631211", 1.13, 1.14, 1.14), ("0.18549375", 1.27, 1.28, 1.28)]
    {
        for (reading, want) in [("", ceil), ("--reading floor", floor), ("--reading continuous", continuous)] {
            let got = model(&format!("redundancy --loss {loss} --window 50 --target 0.8 {reading}"));
            assert_eq!(number(&got, "redundancy"), want, "{loss} {reading}");
            assert!(number(&got, "mask_probability") >= 0.8);
        }
    }
    near(&model("redundancy --loss 0.09631211"), "mask_probability", 0.8205, 4);
}

#[test]
fn stations_power_and_users() {
    // TCP's throughputs and loads of section X, for B = 8 Mbit/s and files of 3.2 MB.
    for (p, mbps, load) in [(0.01, 0.8092, 0.633), (0.03, 0.4104, 1.248), (0.05, 0.2912, 1.758)] {
        let got = model(&format!("stations --protocol tcp --loss {p} --rate 8Mbit/s --arrivals 0.02"));
        near(&got, "throughput_bps", mbps * 1e6, -2);
        near(&got, "load", load, 3);
    }
    let ideal = model("stations --protocol ideal --rate 3Mbit/s --arrivals 0.03 --file-mean 5.08208MB");
    near(&ideal, "stations", 4.066, 3);
    assert_eq!((number(&ideal, "whole_stations"), number(&ideal, "power_w")), (5.0, 12_500.0));
    let coded = model("stations --protocol tcpnc --loss 2% --rate 2Mbit/s --stations 4 --station-power 3kW");
    assert_eq!(number(&coded, "throughput_bps"), 1_960_000.0);
    assert_eq!((number(&coded, "power_w"), number(&coded, "users")), (6000.0, 2296.0));
    assert_eq!((number(&coded, "tcpnc_saves_stations"), number(&coded, "tcpnc_saves_power_w")), (5.0, 15_000.0));
    assert_eq!(coded["protocols"].as_array().unwrap().len(), 3);
    let charged = model("stations --loss 10% --redundancy 1.25 --charge-redundancy");
    assert_eq!(number(&charged, "throughput_bps"), 800_000.0);
    let short = number(&model("stations --rate 8Mbit/s --duration 5s"), "throughput_bps");
    assert!(short < 3.0e6, "{short}");
    assert!(model("stations --arrivals 0 --stations 2")["users"].is_null());
}

#[test]
fn users_one_by_one() {
    // Fig. 18a. The reference values 2.841 and 2.279 come from a single run by others.
    let words = "stations --protocol ideal --file-mix doc=30%,image=30%,mp3=30%,video=10% --monte-carlo --runs 20";
    let got = model(words);
    near(&got, "stations", 2.5619, 4);
    let runs = &got["monte_carlo"];
    let mean = |key: &str| (number(&runs[key], "mean"), number(&runs[key], "ci95"));
    for (key, want) in [("mean_of_ceiling", 2.841), ("mean_fractional", 2.279)] {
        let (mean, ci95) = mean(key);
        // The reference is a single run, so the reference may be off by as much as a single run varies.
        assert!((mean - want).abs() < 20f64.sqrt() * 2.0 * ci95, "{key}: {mean} +-{ci95}");
    }
    assert_eq!(got, model(words));
    assert_ne!(got["monte_carlo"], model(&format!("{words} --seed 2"))["monte_carlo"]);
    let late = model(&format!("{words} --seconds 2000s --warmup 1000s"));
    assert!(number(&late["monte_carlo"]["mean_fractional"], "mean") > mean("mean_fractional").0);
    // Without --file-mix, the files of fig. 18a are scaled to --file-mean.
    let scaled = model("stations --protocol ideal --file-mean 3202400B --monte-carlo --runs 20");
    assert_eq!(scaled["monte_carlo"]["transfers"], got["monte_carlo"]["transfers"]);
    let even = model("stations --protocol ideal --file-mix 3.2024MB=100% --monte-carlo --runs 20");
    near(&even, "stations", 2.5619, 4);
}

#[test]
fn fec_by_the_tables() {
    for (k, n, want) in [(10, 11, 303.88), (20, 22, 1196.86), (30, 33, 2727.27)] {
        near(&model(&format!("fec --k {k} --n {n} --loss 1% --mu 3000 --rtt 0.56")), "throughput_units_per_s", want, 2);
    }
    near(&model("fec --k 20 --n 24"), "clean_rate_units_per_s", 27561.6, 1);
    near(&model("fec --k 10 --n 11 --flows 5"), "throughput_units_per_s", 1519.4, 1);
    near(&model("fec --k 20 --n 22"), "gain", 9.144, 3);
    let best = model("fec --k 20 --loss 1% --optimise");
    near(&best, "n_real", 22.5657, 4);
    assert_eq!((number(&best, "n_best"), number(&best, "n")), (23.0, 23.0));
    // The flag's old name.
    assert_eq!(best, model("fec --k 20 --unit-loss 1% --optimise"));
    let bursty = model("fec --k 20 --n 21 --loss 1% --stay-bad 0.1 --optimise");
    near(&bursty, "throughput_units_per_s", 325.1, 1);
    near(&bursty, "exact_gilbert_units_per_s", 254.6, 1);
    assert_eq!((number(&bursty, "n_best"), number(&bursty, "exact_n_best")), (23.0, 24.0));
    let apart = model("fec --k 20 --n 21 --loss 1% --stay-bad 0.1 --spacing independent");
    near(&apart, "exact_gilbert_units_per_s", 254.4, 1);
    // Without --stay-bad there is no Gilbert chain. At N = K, FEC costs nothing, so gain / cost does not exist.
    let plain = model("fec --k 20 --n 20");
    assert!(plain["exact_gilbert_units_per_s"].is_null() && plain["gain"].is_null() && plain["n_best"].is_null());
    near(&plain, "block_loss", 1.0 - 0.99f64.powi(20), 9);
    // Time-outs reduce the throughput.
    let with = number(&model("fec --k 20 --n 20 --formula timeout"), "throughput_units_per_s");
    let longer = number(&model("fec --k 20 --n 20 --formula timeout --rto 10s"), "throughput_units_per_s");
    assert!(longer < with && with < number(&plain, "throughput_units_per_s"), "{longer} {with}");
    let blocks = number(&model("fec --k 20 --n 20 --packet-blocks 4"), "throughput_units_per_s");
    assert!(blocks > 102.6, "{blocks}");
}

#[test]
fn string_by_table_iii() {
    for (nodes, rho, kbps) in
        [(2, 0.646777, 5240.3), (5, 0.231689, 1877.2), (8, 0.187945, 1522.8), (10, 0.187945, 1522.8)]
    {
        let got = model(&format!("string --nodes {nodes}"));
        near(&got, "rho", rho, 6);
        near(&got, "throughput_bps", kbps * 1e3, -2);
        assert_eq!(got["k"], serde_json::json!(vec![2; nodes]));
        assert_eq!(got["attempts"].as_array().unwrap().len(), nodes);
    }
    near(&model("string --nodes 5 --as-printed"), "rho", 0.235659, 6);
    near(&model("string --nodes 5 --attempt-cap 4.114141 --ack-ratio 0.302725"), "rho", 0.231712, 5);
    for (window, bound) in [(1, 1.0 / 9.0), (2, 2.0 / 9.0), (3, 0.25)] {
        near(&model(&format!("string --nodes 10 --window {window}")), "scheduling_bound", bound, 9);
    }
    assert_eq!(model("string --nodes 10 --spacing 200")["k"], serde_json::json!(vec![2; 10]));
    assert_eq!(model("string --nodes 10 --spacing 200 --capture 10")["k"], serde_json::json!(vec![1; 10]));
    let exponent = model("string --nodes 10 --spacing 200 --capture 10 --path-exponent 2");
    assert_eq!(exponent["k"][5], 3);
    let own = model("string --nodes 9 --spacing 250,80,80,80,80,250,250,250m");
    assert_eq!(own["k"], serde_json::json!([4, 4, 4, 3, 4, 4, 4, 2, 2]));
    assert_eq!(model("string --nodes 4 --spacing 200 --carrier-sense 0.2km")["k"], serde_json::json!([1, 1, 1, 1]));
}

#[test]
fn mesh_by_equation_12() {
    for (p, kbps, r) in [("0", 273.0562, 1.0), ("5%", 246.2172, 1.1664), ("0.2", 171.8911, 1.9531)] {
        let got = model(&format!("mesh --hops 3 --loss {p} --rate 1Mbit/s --packet 1000B"));
        near(&got, "capacity_bps", kbps * 1e3, -1);
        near(&got, "redundancy", r, 4);
        near(&got, "packet_time_s", 9766e-6, 9);
    }
    let shared = model("mesh --hops 3 --flows 4");
    assert_eq!(shared["shares_bps"].as_array().unwrap().len(), 4);
    assert!((shared["shares_bps"][3].as_f64().unwrap() - 68_264.0).abs() < 1.0);
    let weighted = model("mesh --hops 3 --weights 1,2,1 --caps inf,inf,10kbit/s");
    assert_eq!(weighted["shares_bps"][2], 10_000.0);
    let [a, b] = [0, 1].map(|i| weighted["shares_bps"][i].as_f64().unwrap());
    assert!((b - 2.0 * a).abs() < 1e-6 && (a + b + 1e4 - number(&weighted, "capacity_bps")).abs() < 1e-6);
    near(&model("mesh --paths 3,2,3"), "capacity_bps", 273_056.2, 1);
    near(&model("mesh --hops 3 --paths 3,2,3 --joint equal-airtime"), "capacity_bps", 318_565.5, 0);
    near(&model("mesh --paths 3,2,3 --joint equal-rates"), "capacity_bps", 307_188.2, 0);
    // A faster rate for data shortens only data and acknowledgments.
    near(&model("mesh --rate 2Mbit/s"), "packet_time_s", 0.009766 - (1028.0 + 14.0) * 4e-6, 9);
    near(&model("mesh --basic-rate 2Mbit/s"), "packet_time_s", 0.009766 - 82.0 * 4e-6, 9);
    assert_eq!(model("mesh --hops 3 --block-time 400ms")["blocks_max"], 1.0);
    assert_eq!(model("mesh --hops 3 --block-time 400ms --as-printed")["blocks_max"], 0.0);
    assert_eq!(model("mesh --hops 3 --block-time 400ms --block 8")["blocks_max"], 1.0);
    assert!(model("mesh --loss 100%")["redundancy"].is_null());
    // The flag's old name.
    assert_eq!(model("mesh --loss 5%"), model("mesh --link-loss 5%"));
}

/// Wrong arguments. For each of these, the words that the message must have.
const WRONG: &[(&str, &[&str])] = &[
    ("tcp", &["--loss"]),
    ("tcp --loss 105%", &["--loss", "`105%`", "`5%`"]),
    ("tcp --loss 1% --wmax 0", &["--wmax", "is 0", "greater than 0"]),
    ("tcp --loss 1% --wmax x", &["--wmax", "`x`", "`50`"]),
    ("tcp --loss 1% --rtt 0", &["--rtt", "greater than 0"]),
    ("tcp --loss 1% --rto 0", &["--rto", "greater than 0"]),
    ("tcp --loss 1% --packet 0", &["--packet", "greater than 0"]),
    ("tcp --loss 1% --ack-every 0", &["--ack-every", "1 or more"]),
    ("tcp --loss 1% --reading round", &["--reading", "floor", "continuous"]),
    ("tcpnc --loss 1% --redundancy 0", &["--redundancy", "1 or more"]),
    // With less than one combination for each packet, the packets can never be decoded.
    ("tcpnc --loss 1% --redundancy 0.5", &["--redundancy", "1 or more"]),
    ("tcpnc --loss 1% --redundancy 0.9 --rate 1Mbit/s", &["--redundancy", "1 or more"]),
    ("tcpnc --loss 1% --rate 0", &["--rate", "greater than 0"]),
    ("tcpnc --loss 1% --w1 0.5", &["--w1", "1 or more"]),
    ("tcpnc --loss 1% --wmax 0", &["--wmax", "1 or more"]),
    ("tcpnc --loss 1% --srtt 0", &["--srtt", "greater than 0"]),
    ("tcpnc --loss 1% --duration 0", &["--duration", "greater than 0"]),
    ("tcpnc --loss 1% --duration never", &["--duration", "`never`", "`inf`"]),
    ("tcpnc --loss 1% --duration inf --series", &["--series", "--duration"]),
    ("redundancy --loss 100%", &["--loss", "small enough"]),
    ("redundancy --loss 1% --target 1", &["--target", "less than 1"]),
    ("redundancy --loss 1% --window 0", &["--window", "1 or more"]),
    ("stations --protocol udp", &["--protocol", "ideal", "tcpnc"]),
    ("stations --users 0", &["--users", "1 or more"]),
    ("stations --rate 0", &["--rate", "greater than 0"]),
    ("stations --max-rate 0", &["--max-rate", "greater than 0"]),
    ("stations --max-users 0", &["--max-users", "1 or more"]),
    ("stations --arrivals=-1", &["--arrivals", "0 or more"]),
    ("stations --station-power 2.5lb", &["--station-power", "`2.5kW`"]),
    ("stations --station-power=-1", &["--station-power", "0 or more"]),
    ("stations --wmax 0", &["--wmax"]),
    ("stations --rtt 0", &["--rtt"]),
    ("stations --rto 0", &["--rto"]),
    ("stations --redundancy 0", &["--redundancy"]),
    ("stations --packet 0", &["--packet"]),
    ("stations --duration 0", &["--duration"]),
    ("stations --runs 3", &["--monte-carlo"]),
    ("stations --monte-carlo --runs 0", &["--runs", "1..=100000"]),
    ("stations --monte-carlo --seconds 0", &["--seconds", "greater than 0"]),
    ("stations --monte-carlo --warmup 1000s", &["--warmup", "less than"]),
    ("stations --monte-carlo --arrivals 11", &["--arrivals", "at most 1"]),
    ("stations --monte-carlo --users 4000000000", &["--monte-carlo", "too long", "--users"]),
    ("stations --monte-carlo --file-mix doc=30%", &["--file-mix", "0.3", "sum to 1"]),
    ("stations --file-mix song=1", &["--file-mix", "song", "doc=30%"]),
    ("stations --file-mean 3MB --file-mix doc=1", &["--file-mix", "--monte-carlo"]),
    ("fec --k 20", &["--n", "required"]),
    ("fec --n 5", &["--n", "at least K"]),
    ("fec --k 0 --n 5", &["--k", "1 or more"]),
    ("fec --n 22 --mu 0", &["--mu", "greater than 0"]),
    ("fec --n 22 --rtt 0", &["--rtt", "greater than 0"]),
    ("fec --n 22 --flows 0", &["--flows", "1 or more"]),
    ("fec --n 22 --packet-blocks 0", &["--packet-blocks", "1 or more"]),
    ("fec --n 22 --stay-bad 1", &["--stay-bad", "less than 1"]),
    ("fec --n 22 --stay-bad 10% --loss 80%", &["--stay-bad", "2 - 1/L"]),
    ("fec --n 22 --stay-bad 10% --loss 1", &["--loss", "less than 1"]),
    ("fec --n 2000000 --stay-bad 10%", &["--n", "1048576"]),
    ("fec --n 22 --rto 1s", &["--rto", "--formula timeout"]),
    ("fec --n 22 --formula timeout --rto 0", &["--rto", "greater than 0"]),
    ("fec --n 22 --spacing independent", &["--stay-bad"]),
    ("string --nodes 0", &["--nodes", "1 to 1000000"]),
    ("string --nodes 1", &["--nodes", "2 or more", "sends nothing"]),
    ("string --k 5000", &["--k", "at most 1000"]),
    ("string --attempt-cap=-1", &["--attempt-cap", "0 or more"]),
    ("string --ack-ratio=-1", &["--ack-ratio", "0 or more"]),
    ("string --nodes 3 --spacing 1,2,3", &["--spacing", "one less than nodes"]),
    ("string --nodes 3 --spacing 1,0", &["--spacing", "greater than 0"]),
    ("string --nodes 3 --spacing 1,2ft", &["--spacing", "`200m`"]),
    ("string --nodes 3 --spacing 200 --capture 0", &["--capture", "greater than 0"]),
    ("string --nodes 3 --spacing 200 --carrier-sense 0", &["--carrier-sense", "greater than 0"]),
    ("string --nodes 3 --spacing 200 --capture 10 --path-exponent 0", &["--path-exponent", "greater than 0"]),
    ("string --capture 10", &["--spacing"]),
    ("mesh --hops 0", &["--hops", "1 or more"]),
    ("mesh --hops 2 --paths 3,2", &["--hops", "2 is not the longest"]),
    ("mesh --loss 2", &["--loss", "`5%`"]),
    ("mesh --packet 0", &["--packet", "greater than 0"]),
    ("mesh --rate 0", &["--rate", "greater than 0"]),
    ("mesh --basic-rate 0", &["--basic-rate", "greater than 0"]),
    ("mesh --flows 0", &["--flows", "1 or more"]),
    ("mesh --weights 1,2 --flows 3", &["--weights", "2 values for 3 flows"]),
    ("mesh --weights 1,0", &["--weights", "greater than 0"]),
    ("mesh --caps 0", &["--caps", "greater than 0"]),
    ("mesh --caps x", &["--caps", "`inf`"]),
    ("mesh --block-time 0", &["--block-time", "greater than 0"]),
    ("mesh --block-time 1s --block 0", &["--block", "1 or more"]),
    ("mesh --block 8", &["--block-time"]),
];

#[test]
fn a_wrong_value_says_which_flag_what_and_what_would_be_right() {
    for (words, said) in WRONG {
        let all: Vec<&str> = ["model"].into_iter().chain(words.split_whitespace()).collect();
        let output = run(&all);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {text}");
        assert_eq!(stdout(&output), "", "{words}");
        for word in *said {
            assert!(text.contains(word), "{words}: no `{word}` in: {text}");
        }
    }
}

#[test]
fn tables_help_and_flags() {
    let models =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/researchers/models.md")).unwrap();
    for (name, words, shown, least) in [
        ("tcp", "--loss 5%", "throughput", 9),
        ("tcpnc", "--loss 5% --series --duration 8s", "round", 11),
        ("redundancy", "--loss 5%", "1.053", 5),
        ("stations", "--loss 5% --stations 3 --monte-carlo --runs 2", "users of 3 stations", 23),
        ("fec", "--n 22 --stay-bad 0.5 --optimise", "Gilbert", 13),
        ("string", "--nodes 4", "theorem 3.1", 10),
        ("mesh", "--flows 30 --paths 3,2 --block-time 2s", "and 10 more", 13),
    ] {
        let all: Vec<&str> = ["model", name].into_iter().chain(words.split_whitespace()).collect();
        let output = run(&all);
        let text = stdout(&output);
        assert!(output.status.success() && text.contains(shown), "{name}: {text}{}", stderr(&output));
        let help = stdout(&run(&["model", name, "--help"]));
        assert!(help.contains("Examples:") && help.contains(&format!("ripstop model {name} ")), "{help}");
        let flags: Vec<&str> = help
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("--"))
            .filter_map(|line| line.split([' ', ',']).next())
            .collect();
        assert!(flags.len() >= least, "{name}: {flags:?}");
        assert!(models.contains(&format!("ripstop model {name}")), "docs/researchers/models.md has no {name}");
    }
}

#[test]
fn the_examples_work() {
    for name in ["tcp", "tcpnc", "redundancy", "stations", "fec", "string", "mesh"] {
        let help = stdout(&run(&["model", name, "--help"]));
        let mut examples = 0;
        for line in help.lines().filter_map(|line| line.trim().strip_prefix("ripstop model ")) {
            // Three spaces separate an example from the explanation of the example.
            let words: Vec<&str> = line.split("   ").next().unwrap_or(line).split_whitespace().collect();
            let output = run(&[&["model"], &words[..]].concat());
            assert!(output.status.success(), "{line}: {}", stderr(&output));
            examples += 1;
        }
        assert!(examples >= 3, "{name}: {help}");
    }
}
