//! Tests of `ripstop papers list`, `show` and `run`.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;
use std::path::Path;

/// A small experiment. The result agrees with the published number, and the claim holds.
const SMALL: &str = r#"
title = "A slow link"
where = "nowhere"
about = "A flow fills a link."

[[set]]
name = "flow"
quick = 1
grid = { rate = ["100kbit/s", "200kbit/s"] }
[set.base.run]
runs = 2
duration = "30s"
warmup = "10s"
start-jitter = "0s"
[set.base.tandem]
hops = 1
link = { rate = "$rate", delay = "10ms", queue = 50 }
flow = [{ tcp = "reno", window = 20 }]

[[check]]
set = "flow"
measure = "sink"
cells = [{ at = { rate = "100kbit/s" }, published = ["009.rate"] }]

[[claim]]
text = "Twice the rate, twice the goodput"
holds = ["within(goodput[flow, rate=200kbit/s], 2 * goodput[flow, rate=100kbit/s], 2%)"]

[[figure]]
title = "Goodput"
set = "flow"
x = "rate"
y = "goodput"
"#;

fn directory(experiment: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("009");
    std::fs::create_dir(&folder).unwrap();
    let published = "[[entry]]\nid = \"009.rate\"\nvalue = 0.1\n";
    std::fs::write(folder.join("published.toml"), published).unwrap();
    std::fs::write(folder.join("small.toml"), experiment).unwrap();
    directory
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn timeless(mut value: Value) -> Value {
    value.as_object_mut().unwrap().remove("wall_s");
    value
}

#[test]
fn experiments_are_listed_and_shown() {
    let listed = json(&run(&["papers", "list", "--json"]));
    let all = listed["experiments"].as_array().unwrap();
    assert!(all.len() >= 17 && all.iter().any(|one| one["id"] == "000.fig12"));
    assert!(stdout(&run(&["papers", "list"])).contains("003.fig13"));
    let shown = stdout(&run(&["papers", "show", "000.fig12"]));
    assert!(shown.contains("R = 1.12") && shown.contains("rising(sink[nc, R=*])"), "{shown}");
    // `sim run` accepts the scenario of a point.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("point.toml");
    std::fs::write(&file, stdout(&run(&["papers", "show", "000.fig2", "--scenario", "0"]))).unwrap();
    let result = json(&run(&["sim", "run", path(&file), "--json"]));
    assert_eq!(result["scenario"]["flow"][0]["tcp"], "reno");
    for wrong in
        [&["show", "000.fig99"][..], &["show", "000"], &["show", "000.fig2", "--scenario", "99"], &["run", "x"]]
    {
        assert_eq!(run(&[&["papers"], wrong].concat()).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn results_are_kept_and_do_not_depend_on_threads() {
    let papers = directory(SMALL);
    let kept = tempfile::tempdir().unwrap();
    let pages = tempfile::tempdir().unwrap();
    let words = ["papers", "run", "--json", "--dir", path(papers.path())];
    let store = kept.path().join("papers.redb");
    let more = ["--store", path(&store), "--pages", path(pages.path())];
    let first = json(&run(&[&words[..], &more].concat()));
    assert_eq!((&first["points_simulated"], &first["verdicts"]["reproduced"]), (&Value::from(2), &Value::from(2)));
    schema::check("papers.schema.json", &first);
    let second = json(&run(&[&words[..], &more].concat()));
    assert_eq!((&second["points_simulated"], &second["points_kept"]), (&Value::from(0), &Value::from(2)));
    assert_eq!(first["experiments"], second["experiments"]);
    let one = timeless(json(&run(&[&words[..], &["--fresh", "--threads", "1"]].concat())));
    let three = timeless(json(&run(&[&words[..], &["--fresh", "--threads", "3"]].concat())));
    assert_eq!(one, three);
    assert_eq!(one["experiments"], first["experiments"]);
    // With another seed, all points are simulated again. A file that is not a store is refused and not changed.
    let other = directory(&SMALL.replace("duration", "seed = 2\nduration"));
    let seed = ["papers", "run", "--json", "--dir", path(other.path()), "--store", path(&store)];
    assert_eq!(json(&run(&seed))["points_simulated"], 2);
    std::fs::write(&store, "{").unwrap();
    let refused = run(&[&words[..], &more].concat());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("not a store of results"), "{said}");
    assert_eq!(std::fs::read(&store).unwrap(), b"{");
    let page = std::fs::read_to_string(pages.path().join("009.md")).unwrap();
    assert!(page.contains("reproduced") && page.contains("figures/009.small-1.svg"), "{page}");
    let figure = std::fs::read_to_string(pages.path().join("figures/009.small-1.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.ends_with("</svg>\n") && !figure.contains("NaN"));
}

#[test]
fn what_does_not_hold_is_told_by_the_exit_status() {
    for (from, to, words) in [
        ("2%)", "0.0001%)", "does not hold"),
        ("within(", "2 < within(", "assertion"),
        ("cells = [{", "within = 0.000001\ncells = [{", "differs from the paper's by more than the check allows"),
        (
            "[\"009.rate\"] }",
            "[\"009.rate\"], expect = \"differs\", because = \"so\" }",
            "although the experiment says that it differs: so",
        ),
    ] {
        let papers = directory(&SMALL.replace(from, to));
        let output = run(&["papers", "run", "--fresh", "--dir", path(papers.path())]);
        let text = stdout(&output) + &stderr(&output);
        assert!(!output.status.success() && text.contains(words), "{to}: {text}");
    }
    // With the few runs of --quick, a number that is expected to differ stays undecided.
    let papers =
        directory(&SMALL.replace("[\"009.rate\"] }", "[\"009.rate\"], expect = \"differs\", because = \"so\" }"));
    let quick = json(&run(&["papers", "run", "--fresh", "--quick", "--json", "--dir", path(papers.path())]));
    assert_eq!(quick["verdicts"]["undecided"], 1);
}

#[test]
fn a_bad_file_is_named_with_its_line() {
    let papers = directory(&SMALL.replace("hops = 1", "hops = 0"));
    let output = run(&["papers", "run", "--fresh", "--dir", path(papers.path())]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("009/small.toml:16:8: tandem.hops: 0 links; write 1 to 1000"),
        "{}",
        stderr(&output)
    );
    let nowhere = run(&["papers", "run", "--dir", "/nonexistent"]);
    assert_eq!(nowhere.status.code(), Some(1));
}

#[test]
fn the_quick_subset_is_as_expected() {
    let output = run(&["papers", "run", "--quick", "--fresh", "000.fig2", "000.fig3", "000.plain-tcp", "003.fig5"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    assert!(text.contains("4 experiments:") && text.contains("reproduced"), "{text}");
}
