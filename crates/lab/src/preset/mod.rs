//! Networks that are described by a few parameters: `ripstop sim tandem` and `ripstop sim fec`, and the presets of experiments.
//!
//! One table per preset names each parameter with its kind, its default and its help. Files of experiments, the Python package and the
//! program's flags all read that table.

mod fec;
mod given;
mod measure;
mod tandem;

pub use given::GivenParameters;
pub(crate) use tandem::MOST_HOPS;

pub use tandem::loss_model;

pub use measure::{MEASURE, measured, parameter_of_run};

use crate::expect::check_scenario;
use ripstop_sim::scenario::{Scenario, ScenarioError};

/// A network that parameters describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// A chain of equal links (paper 000, fig. 8).
    Tandem,
    /// A link with a block code (paper 003).
    Fec,
}

/// What kind of value a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Bits in a second.
    Rate,
    /// A time.
    Span,
    /// A share, from 0 to 1.
    Fraction,
    /// A size.
    Bytes,
    /// Packets or bytes that may wait.
    Queue,
    /// On, or left out.
    Switch,
    /// A whole number.
    Count,
    /// A name, several values with commas, or a number without a unit.
    Other,
}

/// A parameter of a preset.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name: that of the flag without the dashes.
    pub name: &'static str,
    /// An older name, which is still understood.
    pub alias: Option<&'static str>,
    /// What it takes.
    pub kind: ParameterKind,
    /// What it is when it is left out; None where that depends on other parameters.
    pub default: Option<&'static str>,
    /// What stands for its value in a help text.
    pub value_name: &'static str,
    /// The group that it belongs to in a help text.
    pub heading: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// A parameter without which this one has no effect.
    pub requires: Option<&'static str>,
    /// Parameters that do not go with this one.
    pub conflicts: &'static [&'static str],
}

impl Parameter {
    /// A parameter with a value and without a default.
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

/// A parameter whose value cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetError {
    /// Its name; None when no single parameter is at fault.
    pub parameter: Option<String>,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl PresetError {
    /// What is wrong with the parameter `name`.
    pub fn new(name: &str, problem: impl Into<String>) -> PresetError {
        PresetError { parameter: Some(name.to_owned()), problem: problem.into() }
    }
}

impl Preset {
    /// The preset of this name.
    pub fn named(name: &str) -> Option<Preset> {
        [Preset::Tandem, Preset::Fec].into_iter().find(|preset| preset.name() == name)
    }

    /// As in `ripstop sim NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Tandem => "tandem",
            Preset::Fec => "fec",
        }
    }

    /// Its parameters, those of the measurement last.
    pub fn parameters(self) -> impl Iterator<Item = &'static Parameter> {
        let own = match self {
            Preset::Tandem => tandem::PARAMETERS,
            Preset::Fec => fec::PARAMETERS,
        };
        own.iter().chain(MEASURE)
    }

    /// The parameter of this name or alias.
    pub fn parameter(self, name: &str) -> Option<&'static Parameter> {
        self.parameters().find(|parameter| parameter.name == name || parameter.alias == Some(name))
    }

    /// The scenario that parameters describe: pairs of a name and a value, a switch with `true` or `false`.
    ///
    /// # Errors
    /// The parameter whose value cannot be.
    pub fn scenario(self, given: &[(String, String)]) -> Result<Scenario, PresetError> {
        let given = GivenParameters::new(self, given)?;
        let scenario = match self {
            Preset::Tandem => tandem::scenario(&given),
            Preset::Fec => fec::scenario(&given),
        }?;
        check_scenario(&scenario).map_err(|error| self.blame(&error))?;
        Ok(scenario)
    }

    /// Parameters that were given and have no effect, a sentence each.
    ///
    /// # Errors
    /// The parameter whose value cannot be.
    pub fn warnings(self, given: &[(String, String)]) -> Result<Vec<String>, PresetError> {
        let given = GivenParameters::new(self, given)?;
        Ok(match self {
            Preset::Tandem => tandem::warnings(&given)?,
            Preset::Fec => Vec::new(),
        })
    }

    /// The parameter that a field of the scenario was given by.
    pub fn blame(self, error: &ScenarioError) -> PresetError {
        let name = match self {
            Preset::Tandem => tandem::parameter_of(&error.field),
            Preset::Fec => fec::parameter_of(&error.field),
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
            (Preset::Tandem, &[("hops", "0")], "hops", "0 links; from 1 to 1000"),
            (Preset::Tandem, &[("hops", "many")], "hops", "`many` is not a whole number"),
            (Preset::Tandem, &[("wmax", "0")], "wmax", "a window of 0 packets"),
            (Preset::Tandem, &[("redundancy", "1.2")], "redundancy", "needs --nc as well"),
            (Preset::Tandem, &[("nc", "true"), ("tunnel", "true")], "nc", "does not go with --tunnel"),
            (Preset::Tandem, &[("receiver", "none")], "receiver", "there are buffer, go-back-n"),
            (Preset::Tandem, &[("loss", "0"), ("loss", "1%")], "loss", "takes one value"),
            (Preset::Tandem, &[("los", "0")], "los", "no parameter `los`"),
            (Preset::Fec, &[("n", "19")], "n", "19 units cannot carry the 20"),
        ] {
            let wrong = of(preset, given).unwrap_err();
            assert_eq!(wrong.parameter.as_deref().unwrap_or_default(), name, "{wrong:?}");
            assert!(wrong.problem.contains(problem), "{wrong:?}");
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_parameter() {
        for preset in [Preset::Tandem, Preset::Fec] {
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
