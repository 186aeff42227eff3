//! Presets: networks that a few parameters describe, for `ripstop sim tandem`, `fec`, `string` and
//! `mesh`, and for experiments. A parameter is a setting with a name, such as `loss`.
//!
//! One table per preset lists each parameter with its kind, default and help text. Experiment
//! files, the Python package and the program's flags all read this table. [`Preset::scenario`]
//! turns given values into a [`Scenario`].

mod fec;
mod given;
mod ideal;
mod measure;
mod mesh;
mod string;
mod tandem;

pub use given::GivenParameters;
pub(crate) use tandem::MOST_HOPS;

pub use tandem::loss_model;

pub use measure::{MEASURE, measured, parameter_of_run};

use crate::expect::check_scenario;
use ripstop_sim::scenario::{Scenario, ScenarioError};

/// A kind of network that a few parameters describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// A chain of links with equal settings (figure 8 of paper 000).
    Tandem,
    /// One link with a block code (paper 003).
    Fec,
    /// A string of 802.11 stations (paper 002).
    String,
    /// A string of 802.11 stations behind a wired link (paper 004).
    Mesh,
}

/// The kind of value that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A rate in bits per second.
    Rate,
    /// A duration.
    Span,
    /// A share, from 0 to 1.
    Fraction,
    /// A size in bytes.
    Bytes,
    /// The capacity of a queue, in packets or bytes.
    Queue,
    /// A switch. The parameter is on or off, and its flag has no value.
    Switch,
    /// A whole number.
    Count,
    /// A name, a comma-separated list of values, or a number without a unit.
    Other,
}

/// A parameter of a preset. The program makes a flag of `ripstop sim` from each parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name of the parameter: the flag without its dashes.
    pub name: &'static str,
    /// An older name that is still accepted.
    pub alias: Option<&'static str>,
    /// The kind of its value.
    pub kind: ParameterKind,
    /// The value if the parameter is not given. None if there is no fixed default.
    pub default: Option<&'static str>,
    /// Placeholder for the value in the help text.
    pub value_name: &'static str,
    /// Heading of the group in the help text.
    pub heading: &'static str,
    /// The help text.
    pub help: &'static str,
    /// Whether the parameter may be given several times.
    pub repeats: bool,
    /// Another parameter that must be given if this parameter is given.
    pub requires: Option<&'static str>,
    /// Parameters that must not be given together with this parameter.
    pub conflicts: &'static [&'static str],
}

impl Parameter {
    /// A parameter without a default. The parameter may be given only one time, and needs no other
    /// parameter.
    const fn new(
        name: &'static str,
        kind: ParameterKind,
        value_name: &'static str,
        heading: &'static str,
        help: &'static str,
    ) -> Parameter {
        Parameter {
            name,
            alias: None,
            kind,
            default: None,
            value_name,
            heading,
            help,
            repeats: false,
            requires: None,
            conflicts: &[],
        }
    }

    const fn or(self, default: &'static str) -> Parameter {
        Parameter { default: Some(default), ..self }
    }

    const fn or_named(self, alias: &'static str) -> Parameter {
        Parameter { alias: Some(alias), ..self }
    }

    const fn requires(self, name: &'static str) -> Parameter {
        Parameter { requires: Some(name), ..self }
    }

    const fn repeats(self) -> Parameter {
        Parameter { repeats: true, ..self }
    }

    const fn conflicts(self, names: &'static [&'static str]) -> Parameter {
        Parameter { conflicts: names, ..self }
    }
}

/// An invalid parameter, with an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetError {
    /// Name of the parameter; None if no single parameter is wrong.
    pub parameter: Option<String>,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl PresetError {
    /// An error in the parameter `name`.
    pub fn new(name: &str, problem: impl Into<String>) -> PresetError {
        PresetError { parameter: Some(name.to_owned()), problem: problem.into() }
    }
}

impl Preset {
    /// All presets.
    const ALL: [Preset; 4] = [Preset::Tandem, Preset::Fec, Preset::String, Preset::Mesh];

    /// The preset with the name `name`.
    pub fn named(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The name, as in `ripstop sim NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Tandem => "tandem",
            Preset::Fec => "fec",
            Preset::String => "string",
            Preset::Mesh => "mesh",
        }
    }

    /// The preset's own parameters, followed by those in [`MEASURE`]. For the preset `string`, the parameters of ideal
    /// access come in between.
    pub fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let own = match self {
            Preset::Tandem => tandem::PARAMETERS,
            Preset::Fec => fec::PARAMETERS,
            Preset::String => string::PARAMETERS,
            Preset::Mesh => mesh::PARAMETERS,
        };
        let ideal = if self == Preset::String { ideal::PARAMETERS } else { &[] };
        own.iter().chain(ideal).chain(MEASURE)
    }

    /// The parameter with this name or alias.
    pub fn parameter(self, name: &str) -> Option<&'static Parameter> {
        self.parameters().find(|parameter| parameter.name == name || parameter.alias == Some(name))
    }

    /// Makes a scenario from pairs of a parameter's name and value. A switch has the value `true`
    /// or `false`.
    ///
    /// # Errors
    /// Fails at the first parameter that is unknown, invalid, or conflicts with another.
    pub fn scenario(self, given: &[(String, String)]) -> Result<Scenario, PresetError> {
        let given = GivenParameters::new(self, given)?;
        let scenario = match self {
            Preset::Tandem => tandem::scenario(&given),
            Preset::Fec => fec::scenario(&given),
            Preset::String => string::scenario(&given),
            Preset::Mesh => mesh::scenario(&given),
        }?;
        check_scenario(&scenario).map_err(|error| self.blame(&error))?;
        Ok(scenario)
    }

    /// Warnings about given parameters that have no effect, one sentence each.
    ///
    /// # Errors
    /// Fails when a parameter is unknown or invalid.
    pub fn warnings(self, given: &[(String, String)]) -> Result<Vec<String>, PresetError> {
        let given = GivenParameters::new(self, given)?;
        Ok(match self {
            Preset::Tandem => tandem::warnings(&given)?,
            Preset::Mesh => mesh::warnings(&given)?,
            Preset::Fec | Preset::String => Vec::new(),
        })
    }

    /// Turns an error in a scenario's field into an error in the parameter that set the field.
    pub fn blame(self, error: &ScenarioError) -> PresetError {
        let name = match self {
            Preset::Tandem => tandem::parameter_of(&error.field),
            Preset::Fec => fec::parameter_of(&error.field),
            Preset::String => string::parameter_of(&error.field),
            Preset::Mesh => mesh::parameter_of(&error.field),
        };
        match name.or_else(|| parameter_of_run(&error.field)) {
            Some(name) => PresetError::new(name, error.problem.clone()),
            None => PresetError { parameter: None, problem: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(preset: Preset, given: &[(&str, &str)]) -> Result<Scenario, PresetError> {
        let given: Vec<(String, String)> =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        preset.scenario(&given)
    }

    #[test]
    fn parameters_become_a_scenario() {
        let given = [("hops", "2"), ("loss", "1%"), ("nc", "true"), ("start", "0s"), ("start", "5s")];
        let scenario = of(Preset::Tandem, &given).unwrap();
        assert_eq!((scenario.link.len(), scenario.flow.len()), (2, 2));
        assert!(scenario.flow[0].nc.is_some());
        assert_eq!(of(Preset::Fec, &[("k", "10")]).unwrap().link.len(), 1);
        assert!(of(Preset::Tandem, &[("nc", "false")]).unwrap().flow[0].nc.is_none());
    }

    #[test]
    fn what_cannot_be_names_its_parameter() {
        for (preset, given, name, problem) in [
            (Preset::Tandem, &[("loss", "2")][..], "loss", "`2` is not a share"),
            (Preset::Tandem, &[("hops", "0")], "hops", "0 links; write 1 to 1000"),
            (Preset::Tandem, &[("hops", "many")], "hops", "`many` is not a whole number"),
            (Preset::Tandem, &[("wmax", "0")], "wmax", "a window of 0 packets"),
            (Preset::Tandem, &[("redundancy", "1.2")], "redundancy", "needs --nc as well"),
            (Preset::Tandem, &[("nc", "true"), ("tunnel", "true")], "nc", "does not go with --tunnel"),
            (Preset::Tandem, &[("receiver", "none")], "receiver", "write one of buffer, go-back-n"),
            (Preset::Tandem, &[("loss", "0"), ("loss", "1%")], "loss", "takes one value"),
            (Preset::Tandem, &[("los", "0")], "los", "no parameter `los`"),
            (Preset::Fec, &[("n", "19")], "n", "19 units cannot carry the 20"),
            (Preset::Mesh, &[("hops", "0")], "hops", "0 hops; write 1 to 999"),
            (Preset::Mesh, &[("scheme", "nc")], "scheme", "write one of tcp, tcp-nc"),
            (Preset::Mesh, &[("redundancy", "2")], "redundancy", "plain TCP sends no combinations"),
            (Preset::Mesh, &[("down", "0")], "down", "there is no flow"),
        ] {
            let wrong = of(preset, given).unwrap_err();
            assert_eq!(wrong.parameter.as_deref().unwrap_or_default(), name, "{wrong:?}");
            assert!(wrong.problem.contains(problem), "{wrong:?}");
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_parameter() {
        for preset in [Preset::Tandem, Preset::Fec, Preset::Mesh] {
            assert!(of(preset, &[]).is_ok());
            let defaults = preset.parameters().filter(|parameter| parameter.requires.is_none());
            for parameter in defaults.filter(|parameter| parameter.default.is_some()) {
                let given = [(parameter.name, parameter.default.unwrap_or_default())];
                assert_eq!(of(preset, &given), of(preset, &[]), "{}", parameter.name);
            }
            let mut names: Vec<&str> = preset.parameters().map(|parameter| parameter.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
    }
}
