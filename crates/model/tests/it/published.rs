//! Compares the numbers printed in papers 000 to 004 with the models: every comparison of
//! `papers/*/model.toml`.

use ripstop_model::published::{Arguments, Value, agrees, evaluate};
use std::collections::BTreeSet;
use toml::{Table, Value as Toml};

const FILES: [(&str, &str); 5] = [
    ("000", include_str!("../../../../papers/000/model.toml")),
    ("001", include_str!("../../../../papers/001/model.toml")),
    ("002", include_str!("../../../../papers/002/model.toml")),
    ("003", include_str!("../../../../papers/003/model.toml")),
    ("004", include_str!("../../../../papers/004/model.toml")),
];

/// The fields that a comparison may have. A comparison must have the first [`NEEDED`] fields.
const FIELDS: [&str; 14] = [
    "id",
    "where",
    "column",
    "printed",
    "unit",
    "status",
    "function",
    "arguments",
    "published",
    "row",
    "relation",
    "reading",
    "corrected",
    "why",
];
/// The number of [`FIELDS`] that a comparison must have.
const NEEDED: usize = 8;

fn text<'a>(comparison: &'a Table, field: &str) -> Option<&'a str> {
    comparison.get(field).and_then(Toml::as_str)
}

fn arguments(comparison: &Table) -> Arguments {
    let pairs = comparison["arguments"].as_table().expect("arguments should be a table");
    let value = |value: &Toml| match value {
        Toml::Integer(number) => Value::Number(*number as f64),
        Toml::Float(number) => Value::Number(*number),
        Toml::String(word) => Value::Word(word.clone()),
        other => panic!("an argument is {other:?}"),
    };
    pairs.iter().map(|(name, given)| (name.clone(), value(given))).collect()
}

#[test]
fn every_comparison_comes_out_as_it_says() {
    let mut ids = BTreeSet::new();
    let mut counted = [0; 3];
    let mut wrong = Vec::new();
    for (paper, file) in FILES {
        let file: Table = file.parse().expect("the file should be TOML");
        assert_eq!(text(&file, "paper"), Some(paper));
        for comparison in file["comparison"].as_array().expect("the file should have comparisons") {
            let comparison = comparison.as_table().expect("a comparison should be a table");
            let id = text(comparison, "id").expect("an entry should have an id");
            assert!(
                ids.insert(id.to_owned()) && id.starts_with(paper),
                "{id} appears twice, or belongs to another paper"
            );
            for field in &FIELDS[..NEEDED] {
                assert!(comparison.contains_key(*field), "{id} has no {field}");
            }
            assert!(comparison.keys().all(|field| FIELDS.contains(&field.as_str())), "{id} has an unknown field");
            let value = evaluate(
                text(comparison, "function").expect("the comparison should name a function"),
                &arguments(comparison),
            )
            .unwrap_or_else(|error| panic!("{id}: {error}"));
            let printed = text(comparison, "printed").expect("`printed` should be text");
            let number: f64 = printed.parse().expect("`printed` should be a number");
            let holds = match text(comparison, "relation").unwrap_or("equals") {
                "equals" => agrees(value, printed).expect("`printed` should be a plain number"),
                "at least" => value >= number,
                "less than" => value < number,
                other => panic!("{id}: relation {other}"),
            };
            let right = match text(comparison, "status") {
                Some("exact") => {
                    counted[0] += 1;
                    holds
                }
                Some("reading") => {
                    counted[1] += 1;
                    assert!(comparison.contains_key("reading"), "{id} does not name its reading");
                    holds
                }
                Some("erratum") => {
                    counted[2] += 1;
                    assert!(comparison.contains_key("why"), "{id} does not say what is wrong");
                    let corrected = text(comparison, "corrected").expect("an erratum should have `corrected`");
                    !holds && agrees(value, corrected).expect("`corrected` should be a plain number")
                }
                Some("differs") => {
                    assert!(comparison.contains_key("why"), "{id} does not say why");
                    let ours = text(comparison, "corrected").expect("a difference should have `corrected`");
                    !holds && agrees(value, ours).expect("`corrected` should be a plain number")
                }
                other => panic!("{id}: status {other:?}"),
            };
            if !right {
                wrong.push(format!("{id}: {value}, printed {printed}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these comparisons do not hold: {wrong:#?}");
    // At least 67 comparisons are expected. A comparison that papers 000 and 001 share counts as
    // one.
    let shared = ids.iter().filter(|id| id.starts_with("001.")).count();
    assert!(counted[0] + counted[1] - shared >= 67, "only {counted:?} comparisons, {shared} of them shared");
    assert!(counted[2] >= 15, "too few errata: {counted:?}");
}

#[test]
fn every_erratum_says_what_is_printed_and_what_is_right() {
    let mut ids = BTreeSet::new();
    for (paper, file) in FILES {
        let file: Table = file.parse().expect("the file should be TOML");
        for erratum in file["erratum"].as_array().expect("the file should have errata") {
            let erratum = erratum.as_table().expect("an erratum should be a table");
            let id = text(erratum, "id").expect("an entry should have an id");
            assert!(
                ids.insert(id.to_owned()) && id.starts_with(&format!("{paper}.erratum.")),
                "{id} appears twice, or belongs to another paper"
            );
            let fields: Vec<&str> = erratum.keys().map(String::as_str).collect();
            assert_eq!(fields.len(), 4, "{id} should have four fields: {fields:?}");
            for field in ["where", "printed", "corrected"] {
                assert!(text(erratum, field).is_some_and(|text| !text.is_empty()), "{id} has no {field}");
            }
            assert_ne!(text(erratum, "printed"), text(erratum, "corrected"), "{id} corrects nothing");
        }
    }
    assert!(ids.len() >= 25, "only {} errata", ids.len());
}

#[test]
fn printed_forms_give_what_is_printed() {
    // If an erratum's printed value is the value of a printed formula, the printed form of the
    // function gives this value.
    let of = |pairs: &[(&str, Value)]| -> Arguments {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    let (number, printed) = (Value::Number, || Value::Word("printed".into()));
    for (function, arguments, digits) in [
        ("chain_states", of(&[("window", number(50.0)), ("form", printed())]), "1225"),
        (
            "tcpnc_packets",
            of(&[("loss", number(0.0)), ("srtt", number(1.0)), ("rounds", number(60.0)), ("form", printed())]),
            "1775",
        ),
        ("string_pairs", of(&[("nodes", number(5.0)), ("k", number(2.0)), ("form", printed())]), "1"),
        ("string_rho", of(&[("nodes", number(5.0)), ("ack_ratio", number(0.0))]), "0.2357"),
        ("fec_throughput", of(&[("n", number(21.0)), ("loss", number(0.01)), ("stay_bad", number(0.01))]), "982.8"),
        ("mesh_blocks", of(&[("hops", number(3.0)), ("block_time", number(0.4)), ("form", printed())]), "0"),
        ("mesh_kbps", of(&[("hops", number(3.0)), ("control_extra_bytes", number(24.0))]), "262.726"),
    ] {
        let value = evaluate(function, &arguments).unwrap();
        assert_eq!(agrees(value, digits), Some(true), "{function}: {value}, not {digits}");
    }
}
