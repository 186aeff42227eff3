//! Expectations of one scenario: claims about the numbers in its result. A claim is an assertion
//! such as `goodput_bps >= 480e3` (see `claim/mod.rs`).
//!
//! An `[[expect]]` section of a scenario file holds a claim, such as
//! `holds = "goodput_bps >= 480e3"`. The older form `value = "goodput_bps"`, `least = 480e3` is
//! translated into the same claim.

use crate::claim::{ClaimExpression, ClaimReference, ClaimScope, ClaimValue, check_claim, decide};
use crate::measure::result_path::find;
use ripstop_sim::scenario::{ExpectSpec, Scenario, ScenarioError, ScenarioReport};
use serde::Serialize;
use serde_json::Value;

/// The verdict on one expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectVerdict {
    /// The claim, as text.
    pub claim: String,
    /// Whether the claim holds. `None` when it cannot be evaluated.
    pub met: Option<bool>,
    /// The values that decided the claim, or why the claim cannot be evaluated.
    pub values: String,
}

/// Checks a scenario and the claims about its result.
///
/// # Errors
/// The setting that is invalid, and why.
pub fn check_scenario(scenario: &Scenario) -> Result<(), ScenarioError> {
    scenario.check()?;
    if scenario.expect.is_empty() {
        return Ok(());
    }
    // The report of zero runs has the name of every number, but no values. The names in the claims
    // are looked up in this report.
    let empty = serde_json::to_value(ScenarioReport::new(scenario, &[])).unwrap_or(Value::Null);
    for (k, spec) in scenario.expect.iter().enumerate() {
        for text in claims(spec).map_err(|(field, problem)| wrong(k, field, problem))? {
            let field = if spec.holds.is_some() { "holds" } else { "value" };
            let claim: ClaimExpression = text.parse().map_err(|problem| wrong(k, field, problem))?;
            check_claim(&claim, &ResultScope { result: &empty }).map_err(|problem| wrong(k, field, problem))?;
        }
    }
    Ok(())
}

/// Decides the expectations of `scenario` from its `result`, which has the fields of a [`ScenarioReport`].
///
/// The scenario must have passed [`check_scenario`]: expectations that cannot be read are left out.
pub fn judge_expectations(scenario: &Scenario, result: &Value) -> Vec<ExpectVerdict> {
    if scenario.expect.is_empty() {
        return Vec::new();
    }
    let texts = scenario.expect.iter().flat_map(|spec| claims(spec).unwrap_or_default());
    let judge = |claim: String| {
        let found = claim.parse().and_then(|read| decide(&read, &ResultScope { result }));
        let (met, values) = match found {
            Ok(finding) => (Some(finding.holds), finding.values),
            Err(problem) => (None, problem),
        };
        ExpectVerdict { claim, met, values }
    };
    texts.map(judge).collect()
}

/// An error about `field` of the `k`-th expectation, counted from 0.
fn wrong(k: usize, field: &str, problem: String) -> ScenarioError {
    ScenarioError { field: format!("expect[{k}].{field}"), problem }
}

/// Converts an expectation into claims: one for `holds`, or one for each bound of `value`.
///
/// # Errors
/// The name of the wrong field, and what is wrong with it.
fn claims(spec: &ExpectSpec) -> Result<Vec<String>, (&'static str, String)> {
    let ExpectSpec { holds, value, least, most } = spec;
    match (holds, value) {
        (Some(claim), None) if least.is_none() && most.is_none() => Ok(vec![claim.clone()]),
        (Some(_), _) => Err(("holds", "stands alone; leave out `value`, `least` and `most`".into())),
        (None, None) => Err(("holds", "is missing; write a claim, such as `goodput_bps >= 480e3`".into())),
        (None, Some(value)) => match (*least, *most) {
            (None, None) => Err(("value", "no bound is given; add `least`, `most` or both".into())),
            (least, most) if [least, most].into_iter().flatten().any(f64::is_nan) => {
                Err(("value", "NaN bounds nothing; write a number".into()))
            }
            (Some(least), Some(most)) if least > most => {
                Err(("least", format!("{least} is above `most`, {most}; nothing lies between")))
            }
            (least, most) => {
                let bounds = [least.map(|bound| (">=", bound)), most.map(|bound| ("<=", bound))];
                Ok(bounds.into_iter().flatten().map(|(sign, bound)| format!("{value} {sign} {bound}")).collect())
            }
        },
    }
}

/// A scope in which names are paths into the JSON of a result, such as `flows[0].timeouts`.
struct ResultScope<'a> {
    result: &'a Value,
}

impl ClaimScope for ResultScope<'_> {
    fn check(&self, reference: &ClaimReference) -> Result<(), String> {
        find(self.result, &reference.text).map(drop)
    }

    fn read(&self, reference: &ClaimReference) -> Result<ClaimValue, String> {
        let found = find(self.result, &reference.text)?;
        found.map(ClaimValue::Number).ok_or_else(|| format!("`{}` has no value", reference.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_sim::scenario::run;

    fn scenario(expect: &str) -> Scenario {
        let text = "[run]\nduration = \"20s\"\nruns = 2\nsample = \"5s\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
                    forth = { rate = \"1Mbit/s\", delay = \"100ms\", loss = \"2%\" }\n\
                    [[flow]]\nname = \"bulk\"\ncount = 2\nfrom = \"a\"\nto = \"b\"\n";
        Scenario::parse(&format!("{text}{expect}")).expect("the scenario should parse")
    }

    fn holds(claims: &[&str]) -> Scenario {
        scenario(&claims.iter().map(|claim| format!("[[expect]]\nholds = \"{claim}\"\n")).collect::<String>())
    }

    #[test]
    fn figures_are_found_by_place_and_name() {
        let scenario = holds(&[
            "goodput_bps>=1",
            "goodput_bps<=1",
            "flows[0].timeouts <= 1e9",
            "1 <= flows[bulk1].cwnd_packets <= 2 * flows[bulk0].cwnd_packets + 1000",
            "flows[1].delay_s.p99>=0.1",
            "links[a>b].lost_packets>=1e9",
            "series.flows[0].goodput_bps[1]>=1",
            "flows[0].completion_s<=1",
            "flows[0].nc.rows<=1",
        ]);
        check_scenario(&scenario).expect("the claims should be valid");
        let report = run(&scenario, 1, || ()).expect("the scenario should run");
        let all = judge_expectations(&scenario, &serde_json::to_value(&report).unwrap());
        let met: Vec<Option<bool>> = all.iter().map(|one| one.met).collect();
        let [yes, no, unknown] = [Some(true), Some(false), None];
        assert_eq!(met, [yes, no, yes, yes, yes, no, yes, unknown, unknown]);
        // If a number in a claim has no value, the claim cannot be evaluated.
        assert_eq!(all[7].values, "`flows[0].completion_s` has no value");
        let again = Scenario::parse(&scenario.to_toml().expect("TOML should be written")).expect("TOML should parse");
        assert_eq!(again, scenario);
    }

    #[test]
    fn the_older_form_means_the_same() {
        let spec = scenario("[[expect]]\nvalue = \"goodput_bps\"\nleast = 480e3\nmost = 1e6\n");
        check_scenario(&spec).expect("the claims should be valid");
        let report = ScenarioReport::new(&spec, &[]);
        let report = serde_json::to_value(&report).unwrap();
        let claims: Vec<String> = judge_expectations(&spec, &report).into_iter().map(|one| one.claim).collect();
        assert_eq!(claims, ["goodput_bps >= 480000", "goodput_bps <= 1000000"]);
        for (text, field, words) in [
            ("value = \"goodput_bps\"", "value", "no bound is given"),
            ("value = \"goodput_bps\"\nleast = 5\nmost = 4", "least", "nothing lies between"),
            ("value = \"goodput_bps\"\nleast = nan", "value", "NaN bounds nothing"),
            ("holds = \"goodput_bps > 1\"\nleast = 5", "holds", "stands alone"),
            ("", "holds", "is missing"),
        ] {
            let error = check_scenario(&scenario(&format!("[[expect]]\n{text}\n"))).expect_err(text);
            assert!(error.field == format!("expect[0].{field}") && error.problem.contains(words), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_expected_is_named() {
        for (text, words) in [
            ("goodput>=1", "there is no `goodput`; the names are `acks_per_packet`, `capacity_bps`"),
            ("flows>=1", "`flows` is not one number; the items are [bulk0], [bulk1]"),
            ("flows[9].timeouts>=1", "there is no [9]; the items are [bulk0], [bulk1]"),
            ("flows.timeouts>=1", "write which list item has `timeouts`"),
            ("flows[0]>=1", "is not one number; its parts are `flows[0]."),
            ("flows[0].name>=1", "is not a number"),
            ("flows[0].name.x>=1", "has no parts"),
            ("flows[0>=1", "`]` was expected"),
            (".goodput_bps>=1", "is not a number"),
            (">=1", "a number, a name or a function"),
            ("goodput_bps", "this is a value, not an assertion"),
            ("goodput_bps>=many", "there is no `many`"),
        ] {
            let error = check_scenario(&holds(&[text])).expect_err(text);
            assert!(error.field == "expect[0].holds" && error.problem.contains(words), "{text}: {error}");
        }
    }
}
