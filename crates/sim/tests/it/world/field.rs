//! The scenarios of links from the field, in the directory `scenarios` of the repository.

use ripstop_base::Span;
use ripstop_sim::scenario::{Scenario, run};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest time for which a link is simulated: the time in which it carries this number of bits. The fastest link
/// takes most of the test's time. With half the value, rare losses may not happen.
const MOST_BITS: f64 = 5e9;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// The scenarios with their file names, in alphabetical order.
fn scenarios() -> Vec<(String, Scenario)> {
    let entries = std::fs::read_dir(directory()).expect("there is a directory of scenarios");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let read = |name: &str| std::fs::read_to_string(directory().join(name)).map_err(|error| error.to_string());
    let scenario = |file: PathBuf| {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("the file is readable");
        let scenario = Scenario::parse_with(&text, read).unwrap_or_else(|error| panic!("{name}:{error}"));
        (name, scenario)
    };
    files.into_iter().map(scenario).collect()
}

/// Every setting that a scenario writes has an effect, and every flow gets a part of its link.
#[test]
fn every_impairment_acts() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 7, "only {} scenarios", scenarios.len());
    for (name, mut scenario) in scenarios {
        let rate = scenario.link[0].forth.mean_rate().bps() as f64;
        let most = Duration::from_secs_f64(MOST_BITS / rate);
        scenario.run.duration = scenario.run.duration.min(Span::from(most));
        scenario.run.warmup = Span::from(Duration::ZERO);
        scenario.run.runs = 1;
        let report = run(&scenario, 1, || ()).unwrap_or_else(|error| panic!("{name}: {error}"));
        for link in &report.links {
            assert!(link.unfired.is_empty(), "{name}, {}: {:?} had no effect", link.name, link.unfired);
        }
        for flow in &report.flows {
            let goodput = flow.goodput_bps.mean.expect("the flow ran");
            assert!(goodput > 0.01 * rate, "{name}: the flow {} got {goodput} bit/s of {rate}", flow.name);
        }
    }
}

/// The three flows of a scenario have equal links, and none of them is limited by its receiver's window.
#[test]
fn the_flows_of_a_scenario_have_equal_links() {
    for (name, scenario) in scenarios() {
        assert_eq!(scenario.flow.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(), ["cubic", "bbr", "tunnel"]);
        for link in &scenario.link {
            assert_eq!((&link.forth, &link.back), (&scenario.link[0].forth, &scenario.link[0].back), "{name}");
        }
        assert!(scenario.flow.iter().all(|flow| flow.window >= 100_000), "{name}");
    }
}
