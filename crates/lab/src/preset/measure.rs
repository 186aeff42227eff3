//! The parameters that every preset has. They set the duration of a run, the number of runs, and
//! what is measured. A preset is a network that a few parameters describe (see `mod.rs`).

use super::{GivenParameters, Parameter, ParameterKind as Kind, Preset, PresetError};
use ripstop_base::Span;
use ripstop_sim::scenario::{ExpectSpec, RunSpec, Scenario};

/// Heading of these parameters in the help text.
const HEADING: &str = "The measurement";

/// The parameters of the measurement: duration, warm-up, runs, seed, intervals, sampling and
/// expectations.
#[rustfmt::skip]
pub const MEASURE: &[Parameter] = &[
    Parameter::new("duration", Kind::Span, "TIME", HEADING, "Virtual time of a run, including the warm-up [default: 1000s, of a string 100s, of a file its own]"),
    Parameter::new("warmup", Kind::Span, "TIME", HEADING, "Time at the beginning of a run that is not measured [default: 0s, of a file its own]"),
    Parameter::new("runs", Kind::Count, "N", HEADING, "Number of independent runs. Confidence intervals are computed over the runs with Student's t [default: 10, of a file its own]"),
    Parameter::new("seed", Kind::Count, "N", HEADING, "The seed of all random numbers [default: 1, of a file its own]"),
    Parameter::new("start-jitter", Kind::Span, "TIME", HEADING, "Largest random delay of the start of each flow [default: the time of a full packet on the slowest link of the flow]"),
    Parameter::new("interval", Kind::Other, "A,B", HEADING, "Also measure this part of the run separately; may be given several times").repeats(),
    Parameter::new("sample", Kind::Span, "TIME", HEADING, "Also measure consecutive intervals of this length. `--json` contains the results as a time series"),
    Parameter::new("expect", Kind::Other, "CLAIM", HEADING, "Exit with status 1 unless the result satisfies this claim, such as `goodput_bps>=480e3` or `flows[0].timeouts<=3` (docs/researchers/claims.md); may be given several times").repeats(),
];

/// Replaces the settings of `run` for which the user gave a value.
///
/// # Errors
/// Fails when a value is invalid.
pub(super) fn apply(given: &GivenParameters<'_>, run: &mut RunSpec) -> Result<(), PresetError> {
    run.duration = given.optional("duration")?.unwrap_or(run.duration);
    run.warmup = given.optional("warmup")?.unwrap_or(run.warmup);
    run.runs = given.optional("runs")?.unwrap_or(run.runs);
    run.seed = given.optional("seed")?.unwrap_or(run.seed);
    run.start_jitter = given.optional("start-jitter")?.or(run.start_jitter);
    run.sample = given.optional("sample")?.or(run.sample);
    let intervals: Vec<[Span; 2]> = given
        .all("interval")
        .map(|text| interval(text).map_err(|problem| PresetError::new("interval", problem)))
        .collect::<Result<_, _>>()?;
    if !intervals.is_empty() {
        run.intervals = intervals;
    }
    Ok(())
}

/// Adds the expectations that were given with `expect` to the scenario.
pub(super) fn expect(given: &GivenParameters<'_>, mut scenario: Scenario) -> Scenario {
    let spec = |text: &str| ExpectSpec { holds: Some(text.to_owned()), ..ExpectSpec::default() };
    scenario.expect.extend(given.all("expect").map(spec));
    scenario
}

/// Replaces the measurement settings of `scenario` with the given ones, and adds the given
/// expectations to those of `scenario`.
///
/// # Errors
/// Fails when a parameter is unknown or its value is invalid.
pub fn measured(mut scenario: Scenario, given: &[(String, String)]) -> Result<Scenario, PresetError> {
    // Any preset would do here, because all presets have the parameters in `MEASURE`.
    let given = GivenParameters::new(Preset::Tandem, given)?;
    apply(&given, &mut scenario.run)?;
    Ok(expect(&given, scenario))
}

/// The parameter in [`MEASURE`] that sets the scenario's field `field`. None if no parameter in
/// [`MEASURE`] sets the field.
pub fn parameter_of_run(field: &str) -> Option<&'static str> {
    if field.starts_with("expect") {
        return Some("expect");
    }
    let name = field.strip_prefix("run.")?;
    [
        ("duration", "duration"),
        ("warmup", "warmup"),
        ("runs", "runs"),
        ("seed", "seed"),
        ("start-jitter", "start-jitter"),
        ("intervals", "interval"),
        ("sample", "sample"),
    ]
    .into_iter()
    .find_map(|(field, parameter)| name.starts_with(field).then_some(parameter))
}

/// Reads an interval such as `350s,650s`.
///
/// # Errors
/// The text says what is wrong and what would be right.
fn interval(text: &str) -> Result<[Span; 2], String> {
    let (from, to) = text.split_once(',').ok_or("write two moments with a comma between them, such as `350s,650s`")?;
    let span = |text: &str| text.trim().parse::<Span>().map_err(|error| error.to_string());
    Ok([span(from)?, span(to)?])
}
