//! Tests of `ripstop lab`: cells are run one by one, and their results are merged and shown, as with many machines.

use crate::common::{json, ripstop, run, schema, stderr, stdout};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use tempfile::TempDir;

const SWEEP: &str = r#"
[base]
preset = "tandem"
duration = "10s"
runs = 2
hops = 1

[grid]
loss = ["0%", "2%"]

[[claim]]
text = "Loss costs goodput"
holds = ["falling(goodput[loss=*])", "goodput[loss=2%] < goodput[loss=0%]"]
"#;

struct Folder(TempDir);

impl Folder {
    fn with(sweep: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        std::fs::write(folder.at("sweep.toml"), sweep).unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn lab(&self, flags: &[&str], input: &str) -> Output {
        let mut command = ripstop();
        let command = command.arg("lab").args(flags).current_dir(&self.0);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // A command that does not read its input may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }
}

fn timeless(mut result: Value) -> Value {
    for took in ["wall_s", "cpu_s"] {
        assert!(result.as_object_mut().unwrap().remove(took).is_some());
    }
    result
}

#[test]
fn cells_run_elsewhere_make_the_table_that_a_sweep_makes() {
    let folder = Folder::with(SWEEP);
    let cells = stdout(&folder.lab(&["cells", "sweep.toml"], ""));
    let lines: Vec<&str> = cells.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].contains("\"name\":\"sweep: loss=2%\""), "{cells}");
    let mut results = String::new();
    for line in &lines {
        let output = folder.lab(&["cell", "--threads", "1"], line);
        assert!(output.status.success(), "{}", stderr(&output));
        schema::check("sim.schema.json", &serde_json::from_str(&stdout(&output)).unwrap());
        results += &stdout(&output);
    }
    std::fs::write(folder.at("results.jsonl"), &results).unwrap();
    let merged = json(&folder.lab(&["merge", "all.redb", "results.jsonl", "--json"], ""));
    assert_eq!(merged, serde_json::json!({"results": 2, "added": 2, "known": 0}));
    // A sweep finds these results in the store, so nothing is left to run.
    let path = folder.at("sweep.toml");
    let store = folder.at("all.redb");
    let words = ["sweep", path.to_str().unwrap(), "--store", store.to_str().unwrap(), "--json"];
    let swept = json(&run(&words));
    schema::check("sweep.schema.json", &swept);
    assert_eq!(swept["counts"]["reused"], 2);
    assert_eq!(swept["judged"]["claims"][0]["verdict"], "reproduced");
    // A sweep with a store of its own gets the same results, and its store can be merged.
    let other = folder.at("other.redb");
    let words = ["sweep", path.to_str().unwrap(), "--store", other.to_str().unwrap(), "--json"];
    let here = json(&run(&words));
    for (a, b) in swept["cells"].as_array().unwrap().iter().zip(here["cells"].as_array().unwrap()) {
        assert_eq!(timeless(a["result"].clone()), timeless(b["result"].clone()));
    }
    let text = stdout(&folder.lab(&["merge", "all.redb", "other.redb"], ""));
    assert_eq!(text, "2 results: 0 added, 2 already there\n");
    assert_eq!(stdout(&folder.lab(&["cells", "sweep.toml", "--store", "all.redb"], "")), "");
    let table = stdout(&folder.lab(&["table", "sweep.toml", "--store", "all.redb"], ""));
    assert!(table.contains("Mbit/s") || table.contains("kbit/s"), "{table}");
    assert!(table.contains("reproduced") && table.contains("2 cells: 2 with results, 0 missing"), "{table}");
    let csv = stdout(&folder.lab(&["table", "sweep.toml", "--store", "all.redb", "--csv", "-"], ""));
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    for name in ["loss", "link_n0>n1_lost_packets_mean", "seed", "runs", "program_version", "simulator"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn claims_about_missing_cells_are_not_run_and_errors_are_errors() {
    let folder = Folder::with(SWEEP);
    let lossless = stdout(&folder.lab(&["cells", "sweep.toml", "--only", "loss=0%"], ""));
    let result = stdout(&folder.lab(&["cell"], &lossless));
    std::fs::write(folder.at("one.json"), result).unwrap();
    assert!(folder.lab(&["merge", "all.redb", "one.json"], "").status.success());
    let output = folder.lab(&["table", "sweep.toml", "--store", "all.redb"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("not run") && stdout(&output).contains("missing"), "{}", stdout(&output));
    // A claim that does not hold, and a claim that cannot be evaluated.
    for (from, to, words) in [
        ("< goodput[loss=0%]", "> goodput[loss=0%]", "does not hold"),
        ("goodput[loss=2%] <", "sqrt(0 - goodput[loss=2%]) <", "cannot be evaluated"),
    ] {
        std::fs::write(folder.at("sweep.toml"), SWEEP.replace(from, to)).unwrap();
        let output = run(&["sweep", folder.at("sweep.toml").to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{to}");
        assert!(stdout(&output).contains(words), "{to}: {}", stdout(&output));
    }
}

#[test]
fn the_documented_example_runs_and_is_drawn() {
    let doc = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/researchers/experiments.md");
    let text = std::fs::read_to_string(doc).unwrap();
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = Folder::with(example);
    let path = folder.at("sweep.toml");
    let output = run(&["sweep", path.to_str().unwrap()]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("reproduced"), "{}", stdout(&output));
    let drawn = folder.lab(&["figure", "sweep.toml", "--store", "sweep.results.redb", "--out", "figures"], "");
    assert_eq!(stdout(&drawn), "figures/sweep-1.svg\n", "{}", stderr(&drawn));
    let svg = std::fs::read_to_string(folder.at("figures/sweep-1.svg")).unwrap();
    for words in ["goodput, Mbit/s", ">loss</text>", ">coded, nc = true", ">plain, nc = false"] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    // The figure of a series over time.
    let words = ["sim", "tandem", "--hops=1", "--duration=20s", "--runs=1", "--sample=2s", "--json"];
    std::fs::write(folder.at("result.json"), stdout(&run(&words))).unwrap();
    let drawn = folder.lab(&["figure", "result.json", "--y", "cwnd"], "");
    assert_eq!(stdout(&drawn), "./result-cwnd.svg\n", "{}", stderr(&drawn));
    let svg = std::fs::read_to_string(folder.at("result-cwnd.svg")).unwrap();
    assert!(svg.contains("congestion window, packets") && svg.contains("time, s"), "{svg}");
    for wrong in [&["figure", "sweep.toml"][..], &["figure", "result.json", "--y", "windows"]] {
        assert_eq!(folder.lab(wrong, "").status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn what_cannot_be_run_or_merged_is_refused() {
    let folder = Folder::with(SWEEP);
    let cells = stdout(&folder.lab(&["cells", "sweep.toml"], ""));
    let cell = cells.lines().next().unwrap();
    let simulator = serde_json::from_str::<Value>(cell).unwrap()["simulator"].as_str().unwrap().to_owned();
    let other = cell.replace(&simulator, "0.0.1+abc");
    let refused = folder.lab(&["cell"], &other);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the cell is for simulator 0.0.1+abc"), "{}", stderr(&refused));
    let anyway = json(&folder.lab(&["cell", "--any-simulator"], &other));
    assert_eq!(anyway["simulator"], simulator.as_str());
    for input in ["", "{}", "loss,goodput\n"] {
        let output = folder.lab(&["cell"], input);
        assert_eq!(output.status.code(), Some(2), "{input}");
        assert!(stderr(&output).contains("the cell: "), "{}", stderr(&output));
    }
    let result = stdout(&folder.lab(&["cell"], cell));
    std::fs::write(folder.at("one.json"), &result).unwrap();
    std::fs::write(folder.at("two.json"), result.replacen("\"mean\":", "\"mean\":1", 1)).unwrap();
    let conflict = folder.lab(&["merge", "all.redb", "one.json", "two.json"], "");
    assert_eq!(conflict.status.code(), Some(1));
    assert!(stderr(&conflict).contains("two.json: another result is known"), "{}", stderr(&conflict));
    for wrong in [
        &["cells", "nothing"][..],
        &["cells", "sweep.toml", "--only", "loss=7%"],
        &["table", "sweep.toml"],
        &["merge", "all.redb"],
        &["cell", "--threads", "0"],
    ] {
        assert_eq!(folder.lab(wrong, "").status.code(), Some(2), "{wrong:?}");
    }
    assert_eq!(folder.lab(&["table", "sweep.toml", "--store", "none.redb"], "").status.code(), Some(1));
    let cells = stdout(&folder.lab(&["cells", "000.fig12"], ""));
    assert_eq!(cells.lines().count(), 10);
}
