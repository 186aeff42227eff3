//! Tests of `ripstop papers check`, which compares what the papers state with what the models compute.

use crate::common::{json, run, schema, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAPERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");

/// Copies the folders of the repository's papers whose names begin with `papers` to a new directory, without results.
fn copied(papers: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let is_wanted = |path: &PathBuf| path.is_dir() && path.file_name().unwrap().to_str().unwrap().starts_with(papers);
    for folder in entries(Path::new(PAPERS)).into_iter().filter(is_wanted) {
        let own = directory.path().join(folder.file_name().unwrap());
        std::fs::create_dir(&own).unwrap();
        for path in entries(&folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "toml")) {
            std::fs::copy(&path, own.join(path.file_name().unwrap())).unwrap();
        }
    }
    directory
}

/// Copies the folder of a paper to a new directory, and changes one file there.
fn altered(file: &str, from: &str, to: &str) -> tempfile::TempDir {
    let directory = copied(file.split('/').next().unwrap());
    let path = directory.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    directory
}

fn entries(path: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn all<'a>(report: &'a Value, what: &'a str) -> impl Iterator<Item = &'a Value> {
    report["papers"].as_array().unwrap().iter().flat_map(move |paper| paper[what].as_array().unwrap())
}

/// Whether experiments decide this number or trend.
fn is_simulated(one: &Value) -> bool {
    !one["run"].as_array().unwrap().is_empty()
}

#[test]
fn every_number_and_every_trend_has_its_verdict() {
    let report = json(&run(&["papers", "check", "--require-all", "--json"]));
    schema::check("check.schema.json", &report);
    fn of<'a>(kinds: &'a [&str]) -> impl Fn(&&Value) -> bool + 'a {
        move |one| kinds.contains(&one["verdict"].as_str().unwrap())
    }
    // Papers 000 and 001 share numbers. Such a number is counted one time.
    let own = |one: &&Value| !one["id"].as_str().unwrap().starts_with("001.");
    let reproduced = all(&report, "numbers").filter(of(&["reproduced", "reading"])).filter(own).count();
    assert!(reproduced >= 67, "{reproduced}");
    for one in all(&report, "numbers") {
        let is = |key: &str| !one[key].is_null();
        match one["verdict"].as_str().unwrap() {
            "reproduced" => assert!(is("printed") && (is("ours") || is_simulated(one)), "{one}"),
            "reading" => assert!(is("ours") && is("why"), "{one}"),
            "differs" | "not-reproducible" if is_simulated(one) => assert!(is("why"), "{one}"),
            "erratum" | "differs" => assert!(is("ours") && is("corrected") && is("why"), "{one}"),
            "not-checkable" => assert!(is("why"), "{one}"),
            other => panic!("{other}: {one}"),
        }
    }
    assert!(all(&report, "numbers").filter(of(&["erratum"])).count() >= 15);
    assert_eq!(all(&report, "trends").count(), 76);
    for one in all(&report, "trends") {
        let decided = (one["decided_by"].as_str().unwrap(), one["verdict"].as_str().unwrap());
        match decided {
            ("model", "holds") => assert!(!one["evidence"].as_str().unwrap().is_empty(), "{one}"),
            ("simulation", "reproduced" | "differs") => assert!(is_simulated(one), "{one}"),
            ("nothing", "not-checkable") => {
                assert!(one["why"].as_str().unwrap().starts_with("needs "), "{one}")
            }
            other => panic!("{other:?}: {one}"),
        }
    }
    assert!(all(&report, "trends").filter(of(&["holds"])).count() >= 35);
    assert!(all(&report, "errata").count() >= 25);
    let counted: u64 = report["numbers"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(counted as usize, all(&report, "numbers").count());
    // The files built into the program are the same as in the repository.
    assert_eq!(report, json(&run(&["papers", "check", "--json", "--dir", PAPERS])));
}

#[test]
fn what_no_experiment_decided_is_not_run() {
    let papers = copied("");
    let words = ["papers", "check", "--json", "--dir", papers.path().to_str().unwrap()];
    let report = json(&run(&words));
    let not_run = |what| {
        let is = |one: &&Value| one["verdict"] == "not-run" && is_simulated(one);
        all(&report, what).filter(is).count()
    };
    assert_eq!((not_run("numbers"), not_run("trends")), (50, 41));
    let output = run(&[&words[..], &["--require-all"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("91 verdicts need experiments that were not run"), "{}", stderr(&output));
    // The stored numbers of an experiment decide only as long as the experiment's scenarios are unchanged.
    let results = papers.path().join("000/results");
    std::fs::create_dir(&results).unwrap();
    std::fs::copy(Path::new(PAPERS).join("000/results/fig12.json"), results.join("fig12.json")).unwrap();
    let verdict = || {
        let report = json(&run(&words));
        let trend = all(&report, "trends").find(|one| one["id"] == "000.t.fig12.jump").unwrap();
        trend["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(), "reproduced");
    let path = papers.path().join("000/fig12.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("runs = 20", "runs = 21")).unwrap();
    assert_eq!(verdict(), "not-run");
}

/// The results of one experiment of paper 003 were made by other code.
#[test]
fn outdated_results_are_told_by_the_exit_status() {
    let papers = copied("003");
    let (here, there) = (papers.path().join("003/results"), Path::new(PAPERS).join("003/results"));
    std::fs::create_dir(&here).unwrap();
    for path in entries(&there) {
        std::fs::copy(&path, here.join(path.file_name().unwrap())).unwrap();
    }
    let words = ["papers", "check", "--json", "--dir", papers.path().to_str().unwrap(), "--require-all"];
    assert_eq!(json(&run(&words))["outdated"], serde_json::json!([]));
    let path = here.join("fig5.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("core+tcp-classic:", "core+tcp-classic:0", 1)).unwrap();
    let output = run(&words);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the results of 003.fig5 are outdated"), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["outdated"], serde_json::json!(["003.fig5"]));
    // Without the flag, the list is enough.
    assert!(run(&words[..5]).status.success());
}

#[test]
fn tables_for_people_by_paper() {
    let text = stdout(&run(&["papers", "check", "002", "004"]));
    for words in [
        "002  Network Coding",
        "0.231689",
        "002.table3.tau.5",
        "rho* rounded to three digits first",
        "right: ",
        "0.6295 and 0.6295",
    ] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
    assert!(stdout(&run(&["papers", "check", "003"])).contains("`ripstop papers run 003.fig9`"));
    assert!(!text.contains("000.table1") && text.contains("trends: "), "{text}");
    let output = run(&["papers", "check", "009"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("000, 001, 002, 003, 004"), "{}", stderr(&output));
    assert!(stdout(&run(&["papers", "check", "--help"])).contains("Examples:"));
    let nothing = tempfile::tempdir().unwrap();
    std::fs::create_dir(nothing.path().join("009")).unwrap();
    std::fs::write(nothing.path().join("009/published.toml"), "").unwrap();
    let output = run(&["papers", "check", "--dir", nothing.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// A changed file of the papers: the file, the text before and after the change, and the one entry that is then wrong,
/// with its verdict and words of its reason.
type Change<'a> = [&'a str; 6];

/// Checks the papers with each of `changes`.
fn check_changes(changes: &[Change<'_>]) {
    let mut shown = BTreeSet::new();
    for &[file, from, to, id, verdict, words] in changes {
        let papers = altered(file, from, to);
        let words_of = ["papers", "check", "--dir", papers.path().to_str().unwrap()];
        let output = run(&[&words_of[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{to}: {}", stderr(&output));
        let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let wrong: Vec<&Value> = all(&report, "numbers")
            .chain(all(&report, "trends"))
            .filter(|one| matches!(one["verdict"].as_str(), Some("failed" | "unexpected" | "error")))
            .collect();
        assert!(wrong.len() == 1 && wrong[0]["id"] == id && wrong[0]["verdict"] == verdict, "{to}: {wrong:?}");
        assert!(wrong[0]["why"].as_str().unwrap().contains(words), "{to}: {wrong:?}");
        // The table reads the same report, so one table of each verdict is enough.
        if shown.insert(verdict) {
            let text = stdout(&run(&words_of));
            assert!(text.contains(&verdict.to_uppercase()) && text.contains(words), "{to}: {text}");
        }
    }
}

#[test]
fn a_number_that_should_hold_and_does_not_is_told_by_the_exit_status() {
    let entry = "[[entry]]\nid = \"002.new\"\nkind = \"analytic\"\nvalue = 1\n\n[[entry]]\n";
    check_changes(&[
        [
            "000/model.toml",
            "printed = \"0.0667\"",
            "printed = \"0.0668\"",
            "000.table1.tcp.1",
            "failed",
            "is not 0.0668",
        ],
        [
            "000/model.toml",
            "{ link_loss = 0.005, rtt = 0.8",
            "{ link_loss = 0.006, rtt = 0.8",
            "000.table1.tcp.1",
            "failed",
            "is not 0.0667",
        ],
        ["000/model.toml", "corrected = \"1248\"", "corrected = \"1249\"", "000.eq18.states", "failed", "is not 1249"],
        [
            "000/model.toml",
            "printed = \"1225\"",
            "printed = \"1248\"",
            "000.eq18.states",
            "unexpected",
            "although `model.toml` says that it does not",
        ],
        [
            "003/model.toml",
            "printed = \"2700\"",
            "printed = \"2800\"",
            "003.fig8.total",
            "failed",
            "is not at least 2800",
        ],
        ["002/published.toml", "[[entry]]\n", entry, "002.new", "failed", "`model.toml` does not mention it"],
    ]);
}

#[test]
fn a_trend_that_should_hold_and_does_not_is_told_by_the_exit_status() {
    let fig20b = "id = \"000.t.fig20b\"\ndecided-by = \"model\"\n";
    let fails = format!("{fig20b}fails = true\nbecause = \"so\"\n");
    let (published, more) = ("[[trends]]\n", "[[trends]]\nid = \"000.t.new\"\nassertion = \"n\"\n\n[[trends]]\n");
    check_changes(&[
        [
            "000/trends.toml",
            fig20b,
            &fails,
            "000.t.fig20b",
            "unexpected",
            "although `trends.toml` says that it does not: so",
        ],
        // The same claims with parameters for which the claims do not hold.
        [
            "000/trends.toml",
            "loss=2%, protocol=\"tcp\") >= 1",
            "loss=1%, protocol=\"tcp\") >= 1",
            "000.t.fig20b",
            "failed",
            "does not hold",
        ],
        ["000/trends.toml", "max(bs) <= 5'", "max(bs) <= 4.9'", "000.t.fig17b.q003", "failed", "does not hold"],
        ["000/trends.toml", "count=\"real\"", "count=\"whole\"", "000.t.fig18", "failed", "does not hold"],
        ["000/trends.toml", "q in {0.01, 0.02, 0.03}, within", "q in {0.005}, within", "000.t.fig21bc", "failed", ""],
        ["003/trends.toml", "all(q in 0.01..0.99", "all(q in 1.01..1.02", "003.t.fig11", "error", "cannot be"],
        ["000/published.toml", published, more, "000.t.new", "failed", "does not say what decides this trend"],
    ]);
}

#[test]
fn a_bad_file_is_named() {
    for (file, from, to, words) in [
        ("000/model.toml", "function = \"path_loss\"", "function = \"path_lost\"", "no function `path_lost`"),
        ("000/model.toml", "link_loss = 0.005, links = 4", "link_loss = 0.005, lines = 4", "`links`"),
        ("000/model.toml", "link_loss = 0.005, links = 4", "link_loss = 5, links = 4", "between 0 and 1"),
        ("000/model.toml", "paper = \"000\"", "paper = \"001\"", "the folder is \"000\""),
        (
            "000/model.toml",
            "published = \"000.sec6b.jump\"",
            "published = \"000.sec6b.hump\"",
            "no entry `000.sec6b.hump`",
        ),
        ("000/model.toml", "[\"000.fig13\"]", "[\"000.fig99\"]", "no experiment `000.fig99`"),
        ("000/model.toml", "status = \"exact\"", "status = \"wrong\"", "000/model.toml:"),
        ("000/trends.toml", "id = \"000.t.fig5\"", "id = \"000.t.fig55\"", "no trend `000.t.fig55`"),
        (
            "000/trends.toml",
            "[\"000.fig12\"]",
            "[\"000.fig13\"]",
            "`000.fig13` has no claim with the id `000.t.fig12.jump`",
        ),
        ("000/trends.toml", "[\"000.fig12\"]", "[\"000.fig99\"]", "no experiment `000.fig99`"),
        ("000/trends.toml", "decided-by = \"simulation\"", "decided-by = \"model\"", "`holds` must have claims"),
        ("000/trends.toml", "\ndecided-by", "\ndecided-bye", "000/trends.toml:"),
    ] {
        let papers = altered(file, from, to);
        let output = run(&["papers", "check", "--dir", papers.path().to_str().unwrap()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{to}: {text}");
        assert!(text.contains(file) && text.contains(words), "{to}: {text}");
    }
}

#[test]
fn figures_of_closed_forms_are_listed_shown_and_drawn() {
    let listed = json(&run(&["papers", "list", "--json"]));
    let ids: Vec<&str> =
        listed["figures"].as_array().unwrap().iter().map(|figure| figure["id"].as_str().unwrap()).collect();
    assert!(ids.len() >= 25 && ids.contains(&"000.fig21d") && ids.contains(&"003.fig12"), "{ids:?}");
    assert!(stdout(&run(&["papers", "list"])).contains("002.table3"));
    // The points of fig. 2.
    let figure = json(&run(&["papers", "show", "003.fig2", "--json"]));
    let curve = &figure["curves"][1];
    let at = |k: usize| (curve["x"][k].as_f64().unwrap(), curve["y"][k].as_f64().unwrap());
    assert_eq!(curve["name"], "K = 20");
    assert!((at(2).0 - 1.1).abs() < 1e-12 && (at(2).1 - 1196.86).abs() < 0.006, "{:?}", at(2));
    assert!(stdout(&run(&["papers", "show", "002.table3"])).contains("three digits"));
    assert_eq!(run(&["papers", "show", "003.fig2", "--scenario", "0"]).status.code(), Some(2));
    // The pages that --pages writes.
    let pages = tempfile::tempdir().unwrap();
    let output = run(&["papers", "check", "002", "003", "--pages", pages.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(pages.path().join("003-models.md")).unwrap();
    for words in ["## Numbers", "## Trends", "## Misprints", "figures/003.fig10.svg", "| 43.74 | 43.7409 |"] {
        assert!(page.contains(words), "no {words} in {page}");
    }
    let figures = entries(&pages.path().join("figures"));
    assert_eq!(figures.len(), 10);
    for path in figures {
        let svg = std::fs::read_to_string(&path).unwrap();
        let whole = svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.matches("<path d=\"M").count() > 10;
        assert!(whole && !svg.contains("NaN") && !svg.contains("inf"), "{}", path.display());
    }
    let table = std::fs::read_to_string(pages.path().join("figures/002.table3.svg")).unwrap();
    assert!(table.contains("published, reference"));
    assert!(!pages.path().join("000-models.md").exists());
    for (from, to, words) in [
        ("x-over = \"k\"", "x-over = \"loss\"\nlog-z = true", "unknown field `log-z`"),
        ("id = \"003.fig2\"", "id = \"003.fig5\"", "two experiments or figures are called `003.fig5`"),
        ("function = \"fec_throughput\"", "function = \"fec\"", "no function `fec`"),
    ] {
        let papers = altered("003/figures.toml", from, to);
        let output = run(&["papers", "check", "--dir", papers.path().to_str().unwrap()]);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains(words), "{to}: {said}");
    }
}
