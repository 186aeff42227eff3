//! Tests of `ripstop sweep`: sweeps are resumed, changed, interrupted, and refused.

use crate::common::{json, ripstop, run, schema, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

const PLAN: &str = r#"
[base]
preset = "tandem"
duration = "20s"
runs = 2
hops = 2

[grid]
tcp = ["reno", "sack"]
loss = { from = "0%", to = "2%", steps = 3 }

[[cases]]
case = "plain"
[[cases]]
case = "coded"
nc = true
redundancy = 1.2
"#;

/// A folder with a plan in it.
struct Place {
    directory: TempDir,
}

impl Place {
    fn with(plan: &str) -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        place.plan(plan);
        place
    }

    fn plan(&self, text: &str) {
        std::fs::write(self.at("plan.toml"), text).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn sweep(&self, flags: &[&str]) -> Output {
        ripstop().arg("sweep").arg(self.at("plan.toml")).args(flags).current_dir(&self.directory).output().unwrap()
    }

    /// Runs a sweep with `--json`, checks the printed object against the schemas, and returns it.
    fn json(&self, flags: &[&str]) -> Value {
        let value = json(&self.sweep(&[flags, &["--json"]].concat()));
        schema::check("sweep.schema.json", &value);
        for cell in value["cells"].as_array().unwrap() {
            if !cell["result"].is_null() {
                schema::check("sim.schema.json", &cell["result"]);
            }
        }
        value
    }

    /// The content of the table that a sweep writes.
    fn csv(&self, flags: &[&str]) -> String {
        let path = self.at("out.csv");
        let output = self.sweep(&[flags, &["--csv", path.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        std::fs::read_to_string(path).unwrap()
    }
}

/// The counts of cells in the JSON object: `[run, reused, failed, missing]`.
fn counts(value: &Value) -> [u64; 4] {
    ["run", "reused", "failed", "missing"].map(|key| value["counts"][key].as_u64().unwrap())
}

fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let k = lines.next().unwrap().iter().position(|column| column == name).unwrap_or_else(|| panic!("{name}: {csv}"));
    lines.map(|row| row[k].clone()).collect()
}

#[test]
fn cells_are_what_single_simulations_are() {
    let place = Place::with(PLAN);
    let swept = place.json(&[]);
    assert_eq!((counts(&swept), swept["cells"].as_array().unwrap().len()), ([12, 0, 0, 0], 12));
    // The last axis changes fastest.
    let cell = &swept["cells"][9];
    assert_eq!(cell["axes"]["tcp"], "sack");
    assert_eq!((&cell["axes"]["loss"], &cell["axes"]["case"]), (&Value::from(0.01), &Value::from("coded")));
    let flags = "sim tandem --duration 20s --runs 2 --hops 2 --tcp sack --loss 1% --nc --redundancy 1.2 --json";
    let mut alone = json(&run(&flags.split(' ').collect::<Vec<_>>()));
    let mut result = cell["result"].clone();
    for took in ["wall_s", "cpu_s"] {
        assert!(result[took].as_f64().unwrap() > 0.0);
        (result[took], alone[took]) = (Value::Null, Value::Null);
    }
    assert_eq!(result, alone);
    // All cells have the same seed, so the cells differ only in the settings that the axes change.
    assert!(swept["cells"].as_array().unwrap().iter().all(|cell| cell["result"]["seed"] == 1));
    // The table has the same values, in the units that the column names state.
    let csv = place.csv(&[]);
    assert_eq!(column(&csv, "loss")[4..6], ["0.02", "0.02"]);
    let mean = alone["goodput_bps"]["mean"].as_f64().unwrap();
    assert_eq!(column(&csv, "goodput_bps_mean")[9].parse::<f64>().unwrap(), mean);
    assert_eq!(column(&csv, "goodput_bps_n")[9], "2");
    assert_eq!(column(&csv, "flow1_srtt_s_mean").len(), 12);
    // In the rows of cells without coding, the columns about coding are empty.
    let combinations = column(&csv, "flow0_nc_combinations_mean");
    assert!(combinations[8].is_empty() && !combinations[9].is_empty());
    assert_eq!(csv, stdout(&place.sweep(&["--csv", "-"])));
    // The printed table.
    let table = stdout(&place.sweep(&[]));
    assert!(table.contains("bit/s") && table.contains("12 cells: 0 run, 12 from the store, 0 failed"), "{table}");
}

#[test]
fn a_sweep_over_the_losses_of_a_mesh_has_its_figures() {
    let plan = "[base]\npreset = \"mesh\"\nduration = \"60s\"\nruns = 2\nhops = 2\nshort-retry = 1\n\
        [grid]\nlink-loss = [0, \"5%\"]\nscheme = [\"tcp\", \"tcp-nc\"]\n\
        [[measure]]\nname = \"capacity\"\nvalue = \"capacity_bps\"\nunit = \"bit/s\"\n\
        [[measure]]\nname = \"late\"\nvalue = \"delay_s.p99\"\nunit = \"s\"\n\
        [[claim]]\ntext = \"Coding fills the path\"\nholds = [\n\
        \"falling(capacity[scheme=tcp, link-loss=*])\",\n\
        \"1e6 * goodput[scheme=tcp-nc, link-loss=5%] > 0.5 * capacity[scheme=tcp-nc, link-loss=5%]\",\n\
        \"late[scheme=tcp, link-loss=0] > 0.06\",\n]\n";
    let place = Place::with(plan);
    let swept = place.json(&[]);
    assert_eq!(
        (counts(&swept), &swept["judged"]["claims"][0]["verdict"]),
        ([4, 0, 0, 0], &"reproduced".into()),
        "{swept}"
    );
    let csv = place.csv(&[]);
    assert_eq!(column(&csv, "link_loss"), ["0", "0", "0.05", "0.05"]);
    assert!(column(&csv, "jain_mean").iter().all(|jain| jain == "1"), "{csv}");
    // A value that the preset refuses is named in the file.
    place.plan(&plan.replace("tcp-nc", "tcp-no"));
    let output = place.sweep(&[]);
    let said = stderr(&output);
    assert!(said.contains("plan.toml:9:18: scheme: `tcp-no` is not a choice"), "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
}

#[test]
fn what_is_there_is_not_run_again() {
    let place = Place::with(PLAN);
    assert_eq!(counts(&place.json(&["--only", "loss=0.01", "--only", "tcp=sack"])), [2, 0, 0, 0]);
    assert_eq!(counts(&place.json(&["--only", "case=coded", "--only", "loss=1%", "--only", "loss=2%"])), [3, 1, 0, 0]);
    let dry = place.json(&["--dry-run"]);
    assert_eq!(counts(&dry), [0, 5, 0, 7]);
    assert!(dry["estimate_s"].as_f64().unwrap() > 0.0);
    let listed = stdout(&place.sweep(&["--dry-run"]));
    assert!(listed.contains("12 cells: 5 done, 7 to do: about a second with"), "{listed}");
    let half = place.csv(&["--dry-run"]);
    assert_eq!(column(&half, "state").iter().filter(|state| *state == "missing").count(), 7);
    assert_eq!(counts(&place.json(&[])), [7, 5, 0, 0]);
    let keys = |value: &Value| {
        value["cells"].as_array().unwrap().iter().map(|cell| cell["key"].to_string()).collect::<BTreeSet<_>>()
    };
    let before = keys(&place.json(&[]));
    // If an axis gets more values, only the cells with the new values are run. If values are only written differently,
    // no cell is run again.
    place.plan(&PLAN.replace("steps = 3", "steps = 5").replace("2%", "0.02").replace("\"0%\"", "\"0\""));
    let wider = place.json(&[]);
    assert_eq!(counts(&wider), [8, 12, 0, 0]);
    assert!(keys(&wider).is_superset(&before));
    // With another seed, number of runs or duration, all cells are run. With the first plan again, no cell is run.
    for (from, to) in [("hops = 2", "hops = 2\nseed = 2"), ("runs = 2", "runs = 3"), ("20s", "21s")] {
        place.plan(&PLAN.replace(from, to));
        assert_eq!(counts(&place.json(&["--only", "case=plain"])), [6, 0, 0, 0], "{to}");
    }
    place.plan(PLAN);
    assert_eq!(counts(&place.json(&[])), [0, 12, 0, 0]);
    let before = place.csv(&[]);
    assert_eq!(counts(&place.json(&["--force", "--only", "tcp=reno"])), [6, 0, 0, 0]);
    assert_eq!(place.csv(&[]), before);
}

#[test]
fn the_table_depends_neither_on_jobs_nor_on_interruptions() {
    let whole = Place::with(PLAN).csv(&["--jobs", "1"]);
    assert_eq!(Place::with(PLAN).csv(&["--jobs", "7"]), whole);
    let parts = Place::with(PLAN);
    for tcp in ["tcp=sack", "tcp=reno"] {
        parts.csv(&["--only", tcp]);
    }
    assert_eq!(parts.csv(&[]), whole);
}

/// Waits until some results have been kept in the store.
fn wait_for_results(store: &Path, child: &mut std::process::Child) {
    let changed = || std::fs::metadata(store).and_then(|about| about.modified()).ok();
    // The file changes when the file is created, when the file is opened, and then with each result.
    let mut moments = BTreeSet::new();
    for _ in 0..6000 {
        assert!(child.try_wait().unwrap().is_none(), "the sweep ended too early");
        moments.extend(changed());
        if moments.len() > 4 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("nothing was kept");
}

/// An experiment that takes long enough to be killed before all its cells have results.
fn long() -> String {
    PLAN.replace("duration = \"20s\"", "duration = \"100s\"").replace("steps = 3", "steps = 11")
}

#[test]
fn a_sweep_that_is_killed_goes_on_where_it_was() {
    let whole = Place::with(&long()).csv(&[]);
    let place = Place::with(&long());
    for kills in 0..3 {
        let mut child = ripstop().arg("sweep").arg(place.at("plan.toml")).args(["--jobs", "1"]).spawn().unwrap();
        wait_for_results(&place.at("plan.results.redb"), &mut child);
        // The signal is SIGKILL, so the sweep cannot react to the signal.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.at("out.csv").exists(), "{kills}");
    }
    let dry = place.json(&["--dry-run"]);
    let [_, there, _, left] = counts(&dry);
    assert!(there > 0 && left > 0, "{there} {left}");
    let path = place.at("out.csv");
    let end = place.json(&["--csv", path.to_str().unwrap()]);
    assert_eq!(counts(&end), [left, there, 0, 0]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn ctrl_c_ends_a_sweep_cleanly() {
    let place = Place::with(&long());
    let mut child = ripstop()
        .arg("sweep")
        .arg(place.at("plan.toml"))
        .args(["--jobs", "1", "--csv", "out.csv"])
        .current_dir(&place.directory)
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_results(&place.at("plan.results.redb"), &mut child);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("stopped: ") && said.contains("of 44 cells have results; repeat the command"), "{said}");
    assert!(output.status.code() == Some(1) && !place.at("out.csv").exists() && output.stdout.is_empty());
    let there = counts(&place.json(&["--dry-run"]))[1];
    assert!(there > 0 && said.contains(&format!("stopped: {there} of")), "{said} {there}");
}

#[test]
fn two_sweeps_at_once_do_not_share_a_store() {
    let place = Place::with(&long());
    let mut child = ripstop().arg("sweep").arg(place.at("plan.toml")).args(["--jobs", "1"]).spawn().unwrap();
    wait_for_results(&place.at("plan.results.redb"), &mut child);
    for flags in [&[][..], &["--dry-run"]] {
        let second = place.sweep(flags);
        let said = stderr(&second);
        assert!(said.contains("plan.results.redb: is in use by another sweep"), "{said}");
        assert_eq!(second.status.code(), Some(1));
    }
    // With a store of its own, a second sweep may run.
    let other =
        place.sweep(&["--store", "other.redb", "--only", "tcp=reno", "--only", "loss=0%", "--only", "case=plain"]);
    assert!(other.status.success() && place.at("other.redb").is_file(), "{}", stderr(&other));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(counts(&place.json(&["--dry-run"]))[1] > 0);
}

#[test]
fn a_full_disk_is_an_error_and_no_half_a_table() {
    let place = Place::with(PLAN);
    let output = place.sweep(&["--csv", "/dev/full"]);
    assert!(stderr(&output).contains("/dev/full: No space left"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1));
    assert!(Path::new("/dev/full").metadata().is_ok_and(|about| !about.is_file()));
    // The results are in the store nevertheless.
    place.csv(&[]);
    assert_eq!(counts(&place.json(&[])), [0, 12, 0, 0]);
    // A limit on the length of files acts like a full disk. An existing store keeps its results.
    let limited = |blocks: u32, flags: &str| {
        let program = env!("CARGO_BIN_EXE_ripstop");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} sweep plan.toml {flags}");
        std::process::Command::new("sh").args(["-c", &script]).current_dir(&place.directory).output().unwrap()
    };
    let before = counts(&place.json(&["--dry-run"]));
    place.plan(&PLAN.replace("steps = 3", "steps = 41"));
    let length = place.at("plan.results.redb").metadata().unwrap().len();
    let output = limited(u32::try_from(length / 512).unwrap() + 1, "");
    assert!(
        stderr(&output).contains("plan.results.redb: ") && stderr(&output).contains("File too large"),
        "{}",
        stderr(&output)
    );
    assert_eq!(output.status.code(), Some(1));
    let left = counts(&place.json(&["--dry-run"]));
    assert!(left[1] >= 8 && left[3] > 0, "{left:?}");
    place.plan(PLAN);
    assert_eq!(counts(&place.json(&["--dry-run"])), before);
    // If the store is new, no file remains.
    let output = limited(8, "--store new.redb");
    assert!(stderr(&output).contains("new.redb: ") && !place.at("new.redb").exists(), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1));
    let names: BTreeSet<_> =
        std::fs::read_dir(&place.directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_plan_starts_from_a_file_as_well() {
    let plan = "[base]\nscenario = \"below/chain.toml\"\nrun.runs = 2\n[grid]\n\"link[*].forth.loss\" = [\"0%\", 0.01]\n\
                link.0.forth.delay = [\"100ms\", \"0.2s\"]\n[[zip]]\nflow.0.tcp = [\"reno\", \"vegas\"]\nflow.0.window = [20, 50]\n";
    let place = Place::with(plan);
    std::fs::create_dir(place.at("below")).unwrap();
    let chain = run(&["sim", "tandem", "--hops", "2", "--duration", "20s", "--print-scenario"]);
    std::fs::write(place.at("below/chain.toml"), stdout(&chain)).unwrap();
    let csv = place.csv(&[]);
    assert_eq!(column(&csv, "link[*].forth.loss"), ["0", "0", "0", "0", "0.01", "0.01", "0.01", "0.01"]);
    assert_eq!(column(&csv, "link.0.forth.delay_s")[..4], ["0.1", "0.1", "0.2", "0.2"]);
    assert_eq!(column(&csv, "flow.0.window")[..2], ["20", "50"]);
    assert_eq!(column(&csv, "flow.0.tcp")[..2], ["reno", "vegas"]);
    let value = place.json(&["--only", "link.0.forth.delay=200ms", "--only", "flow.0.tcp=vegas"]);
    assert_eq!(counts(&value), [0, 2, 0, 0]);
    assert_eq!(value["cells"][1]["result"]["scenario"]["link"][1]["forth"]["loss"]["probability"], "1%");
    // The scenario file is part of each cell, so all cells are run again if the scenario file changes.
    std::fs::write(place.at("below/chain.toml"), stdout(&chain).replace("2Mbit/s", "1Mbit/s")).unwrap();
    assert_eq!(counts(&place.json(&[])), [8, 0, 0, 0]);
}

#[test]
fn cells_that_cannot_be_are_refused_or_passed_over() {
    let place =
        Place::with("[base]\npreset = \"fec\"\nduration = \"20s\"\nruns = 2\n[grid]\nk = [20, 22]\nn = [20, 21, 22]\n");
    let output = place.sweep(&[]);
    let said = stderr(&output);
    assert!(
        said.contains("plan.toml:7:6: n: 20 units cannot carry the 22 source units of a block (cell 4: k=22, n=20)")
            || said.contains("plan.toml:7:6: n: 20 units cannot carry"),
        "{said}"
    );
    assert!(output.status.code() == Some(2) && !place.at("plan.results.redb").exists());
    let output = place.sweep(&["--keep-going", "--csv", "out.csv"]);
    let said = stderr(&output);
    assert!(
        said.contains("2 cells failed; the first: cell 4 (k=22, n=20): ") && said.contains("plan.toml:7:6"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
    let table = stdout(&output);
    assert!(table.contains("6 cells: 4 run, 0 from the store, 2 failed") && table.contains("units/s"), "{table}");
    let csv = std::fs::read_to_string(place.at("out.csv")).unwrap();
    assert_eq!(column(&csv, "state"), ["done", "done", "done", "failed", "failed", "done"]);
    let throughput = column(&csv, "throughput_units_per_s_mean");
    assert!(throughput[3].is_empty() && throughput[5].parse::<f64>().unwrap() > 0.0);
    let dry = stdout(&place.sweep(&["--dry-run", "--keep-going"]));
    assert!(dry.contains("invalid") && dry.contains("6 cells: 4 done, 0 to do, 2 invalid"), "{dry}");
}

#[test]
fn the_experiments_of_the_documentation_are_right() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("a.redb");
    for (file, cells) in [("example-sweep.toml", 35), ("cadence.toml", 620)] {
        let experiment = format!("{}/../../docs/researchers/{file}", env!("CARGO_MANIFEST_DIR"));
        let output = run(&["sweep", &experiment, "--dry-run", "--store", store.to_str().unwrap()]);
        let words = format!("{cells} cells: 0 done, {cells} to do");
        assert!(stdout(&output).contains(&words), "{file}: {}{}", stdout(&output), stderr(&output));
        // Nothing was run, and no store was created.
        assert!(output.status.success() && !store.exists());
    }
}

#[test]
fn what_is_wrong_with_a_plan_is_said_with_its_place() {
    let base = "[base]\npreset = \"tandem\"\n";
    let place = Place::with(base);
    std::fs::write(place.at("wrong.toml"), "[[link]]\nbetween = [\"a\", \"a\"]\n").unwrap();
    for (plan, words) in [
        ("", "plan.toml:1:1: the section [base] is missing: write `preset = "),
        ("[base]\n", "plan.toml:1:2: [base] needs `preset = \"tandem\"`"),
        (
            "[base]\npreset = \"chain\"\n",
            "plan.toml:2:10: preset: there is no preset `chain`; write `tandem`, `fec`, `string` or `mesh`",
        ),
        ("[base]\npreset = 1\n", "plan.toml:2:10: preset: write a text in quotes"),
        ("[base]\nscenario = \"no.toml\"\n", "plan.toml:2:12: scenario: "),
        ("[base]\nscenario = \"wrong.toml\"\n", "wrong.toml:2:11: `link[0].between`: both ends are one node"),
        ("[base]\npreset = \"fec\"\nscenario = \"a\"\n", "plan.toml:3:12: scenario: there is a preset already"),
        ("[base\n", "plan.toml:1:6: "),
        (
            "[base]\npreset = \"tandem\"\n[gird]\n",
            "plan.toml:3:2: an experiment has no section `gird`; its sections are [base], [grid]",
        ),
        ("[base]\npreset = \"tandem\"\nlos = 1\n", "plan.toml:3:7: `sim tandem` has no flag `los`; its flags: hops"),
        ("[base]\npreset = \"tandem\"\njson = true\n", "plan.toml:3:8: `sim tandem` has no flag `json`"),
        ("[base]\npreset = \"tandem\"\nnc = 1\n", "plan.toml:3:6: nc: this is a switch; write true or false"),
        ("[base]\npreset = \"tandem\"\nloss = true\n", "plan.toml:3:8: loss: takes a value"),
        ("[base]\npreset = \"tandem\"\nloss = 1979-05-27\n", "plan.toml:3:8: loss: a date"),
        (
            "[base]\npreset = \"tandem\"\n[grid]\nloss = [\"1%\", \"lots\"]\n",
            "plan.toml:4:15: loss: `lots` is not a share",
        ),
        ("[base]\npreset = \"tandem\"\n[grid]\nloss = []\n", "plan.toml:4:8: loss: an empty list leaves no cell"),
        ("[base]\npreset = \"tandem\"\n[grid]\nloss = 0.1\n", "plan.toml:4:8: loss: write a list of values"),
        (
            "[base]\npreset = \"tandem\"\n[grid]\nloss = [0]\n[[zip]]\nloss = [1]\n",
            "plan.toml:6:9: loss: varies already",
        ),
        (
            "[base]\npreset = \"tandem\"\n[[zip]]\nloss = [0, 0.1]\nhops = [1]\n",
            "plan.toml:5:8: hops: 1 values, but `loss` has 2",
        ),
        (
            "[base]\npreset = \"tandem\"\n[zip]\nloss = [0]\n",
            "plan.toml:3:2: each group of keys is a section of its own",
        ),
        ("[base]\npreset = \"tandem\"\n[grid]\nwmax = [5, 0]\n", "plan.toml:4:12: wmax: a window of 0 packets"),
        (
            "[base]\npreset = \"tandem\"\n[grid]\nnc = [true, false]\nredundancy = [1.1]\n",
            "plan.toml:5:15: redundancy: needs --nc as well",
        ),
        (
            "[base]\npreset = \"tandem\"\n[grid]\nloss = { from = 0, to = 1, steps = 400 }\nseed = { from = 1, to = 400, steps = 400 }\n",
            "more than 100000 cells",
        ),
    ] {
        place.plan(plan);
        let output = place.sweep(&[]);
        let said = stderr(&output);
        assert!(said.contains(words), "{plan}\n{said}");
        assert_eq!(output.status.code(), Some(2), "{plan}\n{said}");
    }
}

#[test]
fn what_is_wrong_with_a_flag_is_said() {
    let place = Place::with("[base]\npreset = \"tandem\"\n");
    std::fs::write(place.at("wrong.toml"), "[[link]]\nbetween = [\"a\", \"a\"]\n").unwrap();
    place.plan("[base]\npreset = \"tandem\"\n[grid]\nloss = [0, \"1%\"]\n");
    for (flags, words, status) in [
        (&["--jobs", "0"][..], "--jobs: 0 jobs are not possible; write 1 to", 2),
        (&["--only", "loss"], "--only: `loss` is not KEY=VALUE", 2),
        (&["--only", "hops=2"], "--only: `hops` does not vary in this experiment; the only key that varies is loss", 2),
        (&["--only", "loss=3%"], "--only: no cell has loss = `3%`; the cells have 0, 1%", 2),
        (&["--csv", "/nowhere/a.csv"], "--csv: /nowhere/a.csv: No such file", 2),
        (&["--csv", "plan.toml"], "--csv: this file is the experiment or the store", 2),
        (&["--store", "plan.toml"], "--store: this file is the plan", 2),
        (&["--csv", "-", "--json"], "--csv: --json already uses standard output", 2),
        (&["--dry-run", "--force"], "cannot be used with", 2),
        (&["--store", "wrong.toml"], "wrong.toml: is not a store of results", 1),
        (&["--store", "/dev/full"], "/dev/full: is not a regular file", 1),
        (&["--store", "/nowhere/a.redb"], "/nowhere/a.redb: No such file", 1),
    ] {
        let output = place.sweep(flags);
        assert!(stderr(&output).contains(words), "{flags:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(status), "{flags:?}");
    }
    let output = run(&["sweep", "/nowhere.toml"]);
    assert!(stderr(&output).contains("/nowhere.toml: No such file") && output.status.code() == Some(1));
}
