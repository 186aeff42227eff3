//! Tests of `ripstop sim tandem`, `sim fec` and `sim run`.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;

const SHORT: [&str; 6] = ["sim", "tandem", "--duration", "60s", "--runs", "3"];

fn tandem(more: &[&str]) -> Value {
    json(&run(&[&SHORT, more, &["--json"]].concat()))
}

/// A result without the times that the command took. Two results of the same command must be equal in everything else.
fn timeless(mut result: Value) -> Value {
    for key in ["wall_s", "cpu_s"] {
        result.as_object_mut().expect("an object").remove(key);
    }
    result
}

#[test]
fn the_result_has_its_shape_and_equal_seeds_give_equal_results() {
    let flags = ["--loss", "2%", "--interval", "10s,20s", "--stop", "60s,30s", "--sample", "7s"];
    let one = tandem(&flags);
    schema::check("sim.schema.json", &one);
    let other = tandem(&[&flags[..], &["--threads", "1"]].concat());
    assert_eq!(timeless(one.clone()), timeless(other.clone()));
    // The intervals of the series add up to the whole run.
    let series = &one["series"];
    let numbers = |value: &Value| value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<f64>>();
    let ends = numbers(&series["until_s"]);
    assert_eq!((ends.len(), ends[0], ends[8]), (9, 7.0, 60.0));
    let bits = numbers(&series["flows"][0]["goodput_bps"]);
    let whole =
        bits.iter().zip(&ends).map(|(rate, end)| rate * if *end == 60.0 { 4.0 } else { 7.0 }).sum::<f64>() / 60.0;
    assert!((whole / one["flows"][0]["goodput_bps"]["mean"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(series["links"].as_array().unwrap().len(), 8);
    assert_ne!(timeless(one.clone()), timeless(tandem(&[&flags[..], &["--seed", "2"]].concat())));
    // The second flow runs for half of the time. So the flow's rate in this half is twice the flow's rate over the
    // whole time.
    let flow = &one["flows"][1];
    let rates = [&flow["goodput_bps"]["mean"], &flow["active_goodput_bps"]["mean"]].map(|v| v.as_f64().unwrap());
    assert!((rates[1] / rates[0] - 2.0).abs() < 1e-3 && one["flows"][0]["active_goodput_bps"].is_null());
}

#[test]
fn without_losses_the_window_decides() {
    // As in paper 000, 50 packets of 1040 bytes are sent every .8 s plus the time of serialisation. There are no
    // time-outs and no retransmissions.
    let result = tandem(&["--warmup", "20s"]);
    let flow = &result["flows"][0];
    let goodput = result["goodput_bps"]["mean"].as_f64().unwrap();
    assert!((487_000.0..491_000.0).contains(&goodput), "{goodput}");
    assert_eq!((flow["timeouts"]["mean"].as_f64(), flow["retransmits"]["mean"].as_f64()), (Some(0.0), Some(0.0)));
    assert!(flow["cwnd_packets"]["mean"].as_f64().is_some_and(|window| (window - 50.0).abs() < 1e-6));
}

#[test]
fn a_preset_prints_itself_as_a_file_that_gives_the_same_result() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.toml");
    let flags = ["--loss", "2%", "--burst", "3", "--tcp", "sack", "--ack-loss", "off", "--receiver", "go-back-n"];
    let printed = run(&[&SHORT, &flags[..], &["--print-scenario"]].concat());
    std::fs::write(&path, stdout(&printed)).unwrap();
    let from_file = json(&run(&["sim", "run", path.to_str().unwrap(), "--json"]));
    assert_eq!(timeless(from_file), timeless(tandem(&flags)));
    // The printed table.
    let table = stdout(&run(&["sim", "run", path.to_str().unwrap()]));
    assert!(table.contains("goodput") && table.contains("flow1") && table.contains("3 runs of 60s"), "{table}");
}

#[test]
fn what_cannot_be_is_named_with_its_flag_or_its_line() {
    for (flags, words) in [
        (&["--loss", "1.2"][..], "--loss"),
        (&["--wmax", "0"], "--wmax: a window of 0 packets sends nothing"),
        (&["--stop", "0s"], "--stop: the flow stops before it starts"),
        (&["--start", "0s,1s,2s"], "--start: 3 times for 2 flows"),
        (&["--hops", "0"], "--hops: 0 links"),
        (&["--flows", "0"], "--flows: 0 connections"),
        (&["--burst", "0.5"], "--burst"),
        (&["--tcp", "westwood"], "`westwood` is not a TCP; write one of tahoe, reno"),
        (&["--warmup", "60s"], "--warmup: 60s leaves nothing"),
        (&["--interval", "50s,70s"], "--interval"),
        (&["--sample", "1us"], "--sample"),
        (&["--interval", "50s"], "two moments with a comma"),
        (&["--runs", "0"], "--runs: 0 runs; write 1 to"),
        (&["--rto-min", "90s"], "--rto-min: 90s is above"),
        (&["--packet", "0"], "--packet"),
        (&["--ack-every", "0"], "--ack-every"),
        (&["--tick", "0s"], "--tick"),
        (&["--threads", "0"], "--threads"),
        (&["--initial-window", "0"], "--initial-window"),
        (&["--tcp", "bbr", "--tick", "10ms"], "--tick: 10ms has no effect: bbr measures time exactly"),
        (&["--rto-max", "100ms"], "--rto-max: 100ms is below `rto-min`, 200ms"),
        (&["--file", "0"], "--file: the file has 0 bytes"),
        (&["--file", "1MB", "--requests", "1kB,1kB,1s"], "cannot be used with"),
        (&["--on-off", "1s,1s"], "--on-off: 2 parts in `1s,1s`; write three parts, such as `1s,exp:2s,500kbit/s`"),
        (&["--on-off", "1s,2s,fast"], "--on-off: `fast`"),
        (&["--on-off", "1s,2s,0"], "--on-off: a rate of 0 sends nothing"),
        (&["--on-off", "1ms,2s,1Mbit/s"], "--on-off: 1ms is shorter than a packet at 1Mbit/s"),
        (&["--requests", "0,1kB,1s"], "--requests: the request has 0 bytes"),
        (&["--requests", "1kB,exp:0,1s"], "--requests: the answer has 0 bytes"),
        (&["--requests", "1kB,1kB,exp1s"], "--requests: `exp1s`"),
        (&["--nc", "--ack-every", "2"], "--ack-every: TCP/NC acknowledges every combination"),
        (&["--nc", "--receiver", "go-back-n"], "--receiver: TCP/NC delivers in order"),
        (&["--per-run"], "--json"),
        (&["--loss", "99%", "--burst", "2"], "--loss: 99% cannot be reached with bursts of 2 packets"),
    ] {
        let output = run(&[&SHORT[..4], flags].concat());
        assert!(stderr(&output).contains(words), "{flags:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.toml");
    for (end, words) in [
        ("to = \"c\"", "wrong.toml:6:6: `flow[0].to`: no link or medium names the node `c`"),
        (
            "to = \"b\"\nnc = { window-last = 0 }",
            "wrong.toml:7:22: `flow[0].nc.window-last`: a coding window of 0 packets",
        ),
        (
            "to = \"b\"\nnc = { coef-bytes = 3 }",
            "wrong.toml:7:21: `flow[0].nc.coef-bytes`: a coefficient takes 0 or 1 byte",
        ),
    ] {
        let text = format!("[[link]]\nbetween = [\"a\", \"b\"]\n\n[[flow]]\nfrom = \"a\"\n{end}\n");
        std::fs::write(&path, text).unwrap();
        let output = run(&["sim", "run", path.to_str().unwrap()]);
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(2));
    }
    let output = run(&["sim", "run", "/nowhere.toml"]);
    assert!(stderr(&output).contains("/nowhere.toml: No such file") && output.status.code() == Some(1));
}

#[test]
fn todays_tcps_files_and_requests_have_their_flags() {
    let mean = |value: &Value| value["mean"].as_f64().unwrap_or(f64::NAN);
    let loss = ["--loss", "1%", "--wmax", "500"];
    // A loss of 4 % (1 % on each of four links) slows CUBIC down, but not BBR.
    let [reno, cubic, bbr] = ["reno", "cubic", "bbr"].map(|tcp| tandem(&[&loss[..], &["--tcp", tcp]].concat()));
    schema::check("sim.schema.json", &bbr);
    assert!(mean(&bbr["goodput_bps"]) > 4.0 * mean(&cubic["goodput_bps"]), "{bbr} {cubic}");
    assert!(mean(&cubic["flows"][0]["mechanisms"]["rack_losses"]) > 0.0 && reno["flows"][0]["mechanisms"].is_null());
    // A small file needs fewer round trips with the initial window of ten packets than with an initial window of one.
    let file = |more: &[&str]| tandem(&[&["--file", "10kB", "--flows", "1", "--tcp", "linux-cubic"], more].concat());
    let (quick, slow) = (file(&[]), file(&["--initial-window", "1"]));
    schema::check("sim.schema.json", &quick);
    let time = |result: &Value| mean(&result["flows"][0]["completion_s"]);
    assert!(time(&quick) < 1.5 && time(&slow) > time(&quick) + 2.0, "{quick} {slow}");
    assert!(mean(&quick["flows"][0]["completed"]) == 1.0 && mean(&quick["flows"][0]["unfinished"]) == 0.0);
    assert!(quick["flows"][0]["completion_s"]["p99"].is_number() && quick["flows"][0]["decode_delay_s"]["n"] == 0);
    // Requests have answers, and the printed scenario gives the same result.
    let flags = ["--requests", "exp:500B,exp:10kB,exp:1s", "--start", "0s,5s", "--loss", "1%"];
    let result = tandem(&flags);
    schema::check("sim.schema.json", &result);
    let names: Vec<_> = (0..4).map(|k| result["flows"][k]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["flow0", "flow1", "answer0", "answer1"]);
    assert!(mean(&result["flows"][1]["completed"]) > 5.0 && mean(&result["flows"][2]["goodput_bps"]) > 1_000.0);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("requests.toml");
    std::fs::write(&path, stdout(&run(&[&SHORT, &flags[..], &["--print-scenario"]].concat()))).unwrap();
    assert_eq!(timeless(json(&run(&["sim", "run", path.to_str().unwrap(), "--json"]))), timeless(result));
    let table = stdout(&run(&["sim", "run", path.to_str().unwrap()]));
    for words in ["transfers", "answer1", "n0>n1", "in use"] {
        assert!(table.contains(words), "{words}\n{table}");
    }
    let bursts = tandem(&["--on-off", "exp:1s,2s,500kbit/s"]);
    let rate = mean(&bursts["goodput_bps"]);
    assert!((80_000.0..260_000.0).contains(&rate), "{bursts}");
}

#[test]
fn each_run_says_its_own_numbers() {
    let result = tandem(&["--loss", "2%", "--per-run", "--sample", "20s", "--tunnel", "--packet", "800B"]);
    schema::check("sim.schema.json", &result);
    let runs = result["per_run"].as_array().unwrap();
    let goodput: Vec<f64> = runs.iter().map(|run| run["goodput_bps"].as_f64().unwrap()).collect();
    let mean = goodput.iter().sum::<f64>() / 3.0;
    assert!((mean / result["goodput_bps"]["mean"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{goodput:?}");
    assert!(goodput[0] != goodput[1] && runs.len() == 3 && runs[0]["flows"][0]["delay_s"]["p99"].is_number());
    assert!(runs[2]["tunnels"][0]["directions"][0]["sent_per_useful"].as_f64() > Some(1.0));
    assert!(tandem(&[])["per_run"].is_null());
    let table = stdout(&run(&[&SHORT[..], &["--tunnel"]].concat()));
    assert!(table.contains("sent/useful") && table.contains("tunnel n0>n4"), "{table}");
}

#[test]
fn a_run_is_recorded_as_a_capture_and_as_events() {
    let directory = tempfile::tempdir().unwrap();
    let [capture, trace] = ["run.pcap", "run.csv"].map(|name| directory.path().join(name));
    let flags =
        ["--loss", "2%", "--tcp", "sack", "--pcap", capture.to_str().unwrap(), "--trace", trace.to_str().unwrap()];
    assert_eq!(timeless(tandem(&flags)), timeless(tandem(&flags[..4])));
    // Every event has a line, and the lines are in order of time.
    let lines = std::fs::read_to_string(&trace).unwrap();
    let times: Vec<f64> = lines.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(times.len() > 500 && times.is_sorted(), "{}", times.len());
    for words in [
        ",offered,n0>n1,flow0,data,0,40,arrives 0.10",
        ",arrived,n3>n4,flow1,data,",
        "lost Channel",
        ",window,,flow1,,,,,",
    ] {
        assert!(lines.contains(words), "{words}");
    }
    // The capture has the data offered to the first link, and the acknowledgements that came back over this link.
    let count = |words: &str, at: &str| lines.lines().filter(|line| line.contains(words) && line.contains(at)).count();
    let want = count(",offered,n0>n1,", ",data,") + count(",arrived,n1>n0,", ",ack,");
    let bytes = std::fs::read(&capture).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 101));
    let (mut at, mut packets, mut blocks) = (24, 0, 0);
    while at < bytes.len() {
        let (captured, whole) = (word(at + 8), word(at + 12));
        let headers = &bytes[at + 16..at + 16 + captured];
        // Each packet is IPv4 with a correct checksum, and TCP. A packet has 1040 bytes with data, 40 bytes without
        // data, and more bytes with SACK blocks.
        let sum: u32 = headers[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!(((sum & 0xffff) + (sum >> 16), headers[0], headers[9]), (0xffff, 0x45, 6));
        assert!([40, 1040].contains(&whole) || whole == captured);
        blocks += usize::from(captured > 40);
        (at, packets) = (at + 16 + captured, packets + 1);
    }
    assert!(packets == want && blocks > 0 && packets > 100, "{packets} {want} {blocks}");
}

#[test]
fn a_full_disk_is_an_error() {
    for flag in ["--pcap", "--trace"] {
        let output = run(&[&SHORT[..], &[flag, "/dev/full"]].concat());
        assert!(stderr(&output).contains("/dev/full: No space left"), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(1));
        let output = run(&[&SHORT[..], &[flag, "/nowhere/file"]].concat());
        assert!(stderr(&output).contains("/nowhere/file: No such file") && output.status.code() == Some(1));
    }
}

#[test]
fn redundancy_below_tcp_pays_until_it_costs_more() {
    // Paper 003, fig. 5: if 1 % of the units are lost, one unit of redundancy for 20 multiplies the throughput by
    // five.
    let fec = |flags: &[&str]| {
        json(&run(&[&["sim", "fec", "--duration", "200s", "--warmup", "20s", "--runs", "3", "--json"], flags].concat()))
    };
    let at = |n: &str| fec(&["--n", n])["throughput_units_per_s"]["mean"].as_f64().unwrap();
    let (none, one, much) = (at("20"), at("21"), at("30"));
    assert!(one > 3.0 * none && much <= 3000.0 * 20.0 / 30.0 && much > 1500.0, "{none} {one} {much}");
    let bursts =
        fec(&["--n", "22", "--stay-bad", "0.75", "--other-loss", "0.1%", "--packet-blocks", "2", "--flows", "2"]);
    schema::check("sim.schema.json", &bursts);
    assert_eq!(bursts["scenario"]["flow"][0]["packet"], "2.08kB");
    for (flags, words) in [
        (&["--n", "19"][..], "--n: 19 units cannot carry the 20 source units of a block"),
        (&["--k", "0"], "--k: a block cannot have 0 source units"),
        (&["--unit", "0"], "--unit"),
        (&["--mu", "0"], "--mu: 0 units a second"),
        (&["--packet-blocks", "0"], "--packet-blocks"),
        (&["--packet-blocks", "100"], "--packet-blocks"),
        (&["--stay-bad", "1"], "--stay-bad: 100%"),
        (&["--unit-loss", "1.2"], "--loss"),
        (&["--flows", "0"], "--flows: 0 connections"),
    ] {
        let output = run(&[&["sim", "fec"], flags].concat());
        assert!(stderr(&output).contains(words) && output.status.code() == Some(2), "{flags:?}: {}", stderr(&output));
    }
}

/// A value with which nothing can be sent is refused. A flag without effect causes a warning.
#[test]
fn useless_parameters_are_named() {
    let short = ["sim", "tandem", "--duration", "1s", "--runs", "1"];
    let refused = run(&[&short[..], &["--rate", "0"]].concat());
    assert!(stderr(&refused).contains("--rate: links of 0 bit/s carry nothing"), "{}", stderr(&refused));
    assert_eq!(refused.status.code(), Some(2));
    let warned = run(&[&short[..], &["--burst", "5"]].concat());
    assert!(stderr(&warned).contains("warning: --burst has no effect without --loss"), "{}", stderr(&warned));
    assert!(warned.status.success());
    let lossy = run(&[&short[..], &["--burst", "5", "--loss", "1%"]].concat());
    assert!(!stderr(&lossy).contains("warning"), "{}", stderr(&lossy));
}

#[test]
fn coding_below_tcp_hides_losses() {
    let loss = ["--loss", "2%"];
    let goodput = |result: &Value| result["goodput_bps"]["mean"].as_f64().unwrap();
    let with = |flags: &[&str]| tandem(&[&loss[..], flags].concat());
    let plain = with(&[]);
    let coded = with(&["--nc", "--redundancy", "1.2"]);
    schema::check("sim.schema.json", &coded);
    assert!(goodput(&coded) > 8.0 * goodput(&plain), "{plain} {coded}");
    let nc = |result: &Value, key: &str| result["flows"][0]["nc"][key]["mean"].as_f64().unwrap();
    assert!(
        plain["flows"][0]["nc"].is_null() && nc(&coded, "combinations") > 1_000.0 && nc(&coded, "redundant") > 10.0
    );
    assert!(
        coded["flows"][0]["decode_delay_s"]["p99"].as_f64() > Some(0.0)
            && nc(&coded, "rows_max") > 1.0
            && nc(&coded, "repeated_acks") > 10.0
    );
    // The program chooses R: 1/(1 - p) with p = 1 - .98^4, or somewhat more.
    for factor in ["rule", "auto"] {
        let chosen = with(&["--nc", "--redundancy", factor]);
        assert!(goodput(&chosen) > 6.0 * goodput(&plain), "{factor}: {chosen}");
        let sent = nc(&chosen, "combinations") / chosen["flows"][0]["packets_sent"]["mean"].as_f64().unwrap();
        assert!((1.05..1.4).contains(&sent), "{factor}: {sent}");
    }
    // Relays replace the combinations that their links lose, so little redundancy at the source is enough.
    let source = ["--nc", "--redundancy", "1.05"];
    let weak = with(&source);
    let strong = with(&[&source[..], &["--recode", "per-hop"]].concat());
    let some = with(&[&source[..], &["--recode", "relay", "--recode-at", "2"]].concat());
    assert!(goodput(&strong) > 2.0 * goodput(&weak), "{weak} {strong}");
    assert!(nc(&weak, "recoded") == 0.0 && nc(&strong, "recoded") > nc(&some, "recoded") && nc(&some, "recoded") > 0.0);
    // With one byte for each coefficient, coefficients take capacity of the link.
    let charged = with(&["--nc", "--redundancy", "1.2", "--coef-bytes", "1", "--rate", "0.5Mbit/s"]);
    let free = with(&["--nc", "--redundancy", "1.2", "--rate", "0.5Mbit/s"]);
    assert!(goodput(&charged) < 0.99 * goodput(&free), "{charged} {free}");
    for (flags, words) in [
        (&["--nc", "--redundancy", "0.9"][..], "`0.9` is not a redundancy"),
        (&["--redundancy", "1.1"], "--nc"),
        (&["--nc", "--coef-bytes", "2"], "a coefficient takes 0 or 1 byte"),
        (&["--nc", "--recode-at", "2"], "--recode-at: no node re-encodes from end to end"),
        (&["--nc", "--recode", "relay", "--recode-at", "4"], "--recode-at: `n4` is not between"),
        (&["--nc", "--recode", "per-hop", "--loss", "99.9%"], "--recode: behind `n1` 99.9"),
        (&["--nc", "--tunnel"], "cannot be used with"),
    ] {
        let output = run(&[&["sim", "tandem"], flags].concat());
        assert!(stderr(&output).contains(words) && output.status.code() == Some(2), "{flags:?}: {}", stderr(&output));
    }
}

#[test]
fn expectations_make_a_test_of_a_run() {
    let short = ["--hops=1", "--loss=2%", "--duration=30s", "--runs=2", "--nc", "--redundancy=1.1", "--sample=10s"];
    let with = |flags: &[&str]| run(&[&["sim", "tandem", "--json"], &short[..], flags].concat());
    let held = with(&["--expect=goodput_bps>=100e3", "--expect=flows[flow1].cwnd_packets<=50"]);
    let result = json(&held);
    schema::check("sim.schema.json", &result);
    assert!(held.status.success(), "{}", stderr(&held));
    assert!(result["expectations"].as_array().unwrap().iter().all(|expect| expect["met"] == true));
    // The coding window over time has at least one packet, and never more than TCP's window.
    let window = result["series"]["flows"][0]["nc"]["window_packets"].as_array().unwrap();
    assert!(window.len() == 3 && window.iter().all(|packets| (1.0..=50.0).contains(&packets.as_f64().unwrap())));

    let missed = with(&["--expect=goodput_bps>=100e3", "--expect=goodput_bps<=1"]);
    assert_eq!(missed.status.code(), Some(1));
    assert!(stderr(&missed).contains("not as expected: `goodput_bps<=1` does not hold: "), "{}", stderr(&missed));
    let result: Value = serde_json::from_str(&stdout(&missed)).unwrap();
    assert_eq!(result["expectations"][1]["met"], false);

    // An expectation about a figure without a value is an error.
    let error = with(&["--expect=flows[0].completion_s<=1"]);
    assert_eq!(error.status.code(), Some(1));
    let words = "`flows[0].completion_s<=1` cannot be evaluated: `flows[0].completion_s` has no value";
    assert!(stderr(&error).contains(words), "{}", stderr(&error));

    for (flag, words) in [
        ("--expect=goodput>=1", "--expect: `goodput` is not in the result: there is no `goodput`; the names are "),
        ("--expect=goodput_bps", "--expect: this is a value, not an assertion"),
    ] {
        let wrong = with(&[flag]);
        assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains(words), "{}", stderr(&wrong));
    }
}
