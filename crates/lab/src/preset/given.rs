//! Reads the values that a user gave for a preset's parameters, and checks that these parameters
//! may be given together.

use super::{Parameter, ParameterKind, Preset, PresetError};
use std::fmt::Display;
use std::str::FromStr;

/// The values that a user gave for the parameters of a preset.
#[derive(Debug)]
pub struct GivenParameters<'a> {
    preset: Preset,
    /// The name and the value of each parameter that was given, as texts.
    given: &'a [(String, String)],
}

impl<'a> GivenParameters<'a> {
    /// Checks four rules for each given parameter:
    ///
    /// - The preset has the parameter.
    /// - The parameter is given only one time, or may be given several times.
    /// - If the parameter requires another parameter, the other parameter is also given.
    /// - No conflicting parameter is given.
    ///
    /// For a switch that is off, only the first rule is checked.
    ///
    /// # Errors
    /// Fails at the first parameter that breaks one of these rules.
    pub fn new(preset: Preset, given: &'a [(String, String)]) -> Result<GivenParameters<'a>, PresetError> {
        let all = GivenParameters { preset, given };
        for (name, _) in given {
            let Some(parameter) = preset.parameter(name) else {
                let problem = format!("`sim {}` has no parameter `{name}`", preset.name());
                return Err(PresetError::new(name, problem));
            };
            if !all.is_given(name) {
                continue;
            }
            if !parameter.repeats && all.all(name).count() > 1 {
                return Err(PresetError::new(name, "takes one value"));
            }
            if let Some(needed) = parameter.requires.filter(|needed| !all.is_given(needed)) {
                return Err(PresetError::new(name, format!("needs --{needed} as well")));
            }
            if let Some(other) = parameter.conflicts.iter().find(|other| all.is_given(other)) {
                return Err(PresetError::new(name, format!("does not go with --{other}")));
            }
        }
        Ok(all)
    }

    /// Whether the parameter was given. A switch counts as given only if it is on.
    pub fn is_given(&self, name: &str) -> bool {
        let switch = self.preset.parameter(name).is_some_and(|known| known.kind == ParameterKind::Switch);
        self.all(name).any(|value| !switch || value == "true")
    }

    /// The value of a parameter, or its default if the parameter was not given.
    ///
    /// # Errors
    /// Fails when the text is not a value of type `T`.
    pub fn value<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, PresetError> {
        let default = || self.preset.parameter(name).and_then(|known| known.default).unwrap_or_default();
        self.read(name, self.all(name).next().unwrap_or_else(default))
    }

    /// The given value of a parameter. None if the parameter was not given; the default is not
    /// used.
    ///
    /// # Errors
    /// Fails when the text is not a value of type `T`.
    pub fn optional<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, PresetError> {
        self.all(name).next().map(|text| self.read(name, text)).transpose()
    }

    /// All given values of a parameter. A text with commas holds several values.
    ///
    /// # Errors
    /// Fails when a text is not a value of type `T`.
    pub fn list<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Vec<T>, PresetError> {
        self.all(name).flat_map(|text| text.split(',')).map(|text| self.read(name, text.trim())).collect()
    }

    /// The value of a parameter that takes one of a few words. `words` pairs each word with its
    /// value. If the parameter was not given, its default is used as the word.
    ///
    /// # Errors
    /// Fails when the parameter's word is not in `words`.
    pub fn choice<T: Clone>(&self, name: &str, words: &[(&str, T)]) -> Result<T, PresetError> {
        let text: String = self.value(name)?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            PresetError::new(name, format!("`{text}` is not a choice; write one of {}", known.join(", ")))
        })
    }

    /// The texts that were given for a parameter, under its name or its alias.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let given: &'a [(String, String)] = self.given;
        let parameter = self.preset.parameter(name);
        let is = move |known: &str| parameter.is_some_and(|it| it.name == known || it.alias == Some(known));
        given.iter().filter(move |(known, _)| is(known)).map(|(_, value)| value.as_str())
    }

    fn read<T: FromStr<Err: Display>>(&self, name: &str, text: &str) -> Result<T, PresetError> {
        text.trim().parse().map_err(|error: T::Err| {
            let count = |known: &Parameter| known.kind == ParameterKind::Count;
            let problem = match self.preset.parameter(name).is_some_and(count) {
                true => format!("`{text}` is not a whole number; write for example `10`"),
                false => error.to_string(),
            };
            PresetError::new(name, problem)
        })
    }
}
