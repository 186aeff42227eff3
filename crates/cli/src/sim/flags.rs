//! The flags of `ripstop sim` and its subcommands, made from the lab's tables of parameters.
//!
//! A *preset* is a kind of network that a few parameters describe, such as `sim tandem`; see
//! [`ripstop_lab::preset`]. Each parameter of a preset becomes a flag.

use super::output::OutputFlags;
use super::record::AirFlags;
use crate::failure::{Failure, WrongFlag};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use ripstop_lab::preset::{MEASURE, Parameter, ParameterKind, Preset, PresetError};
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

/// A command whose flags are the parameters of a preset.
pub(super) trait PresetCommand {
    /// The preset.
    const PRESET: Preset;
    /// Whether the scenarios of the preset have a medium. If so, the frames on the air can be recorded.
    const HAS_AIR: bool = false;
    /// The description in the help text: a line, and a paragraph.
    const ABOUT: [&str; 2];
    /// Examples, for the end of the help text.
    const EXAMPLES: &'static str;
}

/// The flags of a preset's command: the parameters that the user gave, and what to do with the
/// result.
pub(super) struct PresetFlags<C> {
    pub(super) given: Vec<(String, String)>,
    pub(super) output: OutputFlags,
    pub(super) air: AirFlags,
    command: PhantomData<C>,
}

impl<C: PresetCommand> Args for PresetFlags<C> {
    fn augment_args(command: Command) -> Command {
        let [line, paragraph] = C::ABOUT;
        // `OutputFlags::augment_args` and `AirFlags::augment_args` overwrite the command's description.
        // Therefore the description is set after these calls.
        let command = OutputFlags::augment_args(command.args(C::PRESET.parameters().map(argument)));
        let command = if C::HAS_AIR { AirFlags::augment_args(command) } else { command };
        command.about(line).long_about(format!("{line}\n\n{paragraph}")).after_help(C::EXAMPLES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: PresetCommand> FromArgMatches for PresetFlags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(PresetFlags {
            given: given(C::PRESET.parameters(), matches),
            output: OutputFlags::from_arg_matches(matches)?,
            air: if C::HAS_AIR { AirFlags::from_arg_matches(matches)? } else { AirFlags::default() },
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags of `sim run`: how many times and for how long to run the scenario of a file, and what
/// to do with the result.
pub(super) struct MeasureFlags {
    pub(super) given: Vec<(String, String)>,
    pub(super) output: OutputFlags,
    pub(super) air: AirFlags,
}

impl Args for MeasureFlags {
    fn augment_args(command: Command) -> Command {
        AirFlags::augment_args(OutputFlags::augment_args(command.args(MEASURE.iter().map(argument))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MeasureFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (output, air) = (OutputFlags::from_arg_matches(matches)?, AirFlags::from_arg_matches(matches)?);
        Ok(MeasureFlags { given: given(MEASURE.iter(), matches), output, air })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl From<PresetError> for Failure {
    fn from(error: PresetError) -> Failure {
        let flag = error.parameter.map(|name| format!("--{name}"));
        WrongFlag { flag, problem: error.problem }.into()
    }
}

/// The flag of a parameter.
fn argument(parameter: &'static Parameter) -> Arg {
    let flag = Arg::new(parameter.name)
        .long(parameter.name)
        .help(parameter.help)
        .help_heading(parameter.heading)
        .conflicts_with_all(parameter.conflicts.iter().copied());
    let flag = match parameter.alias {
        Some(alias) => flag.alias(alias),
        None => flag,
    };
    let flag = match parameter.requires {
        Some(other) => flag.requires(other),
        None => flag,
    };
    if parameter.kind == ParameterKind::Switch {
        return flag.action(ArgAction::SetTrue);
    }
    let flag = flag
        .value_name(parameter.value_name)
        .allow_negative_numbers(true)
        .value_parser(move |text: &str| check(parameter, text).map(|()| text.to_owned()))
        .action(if parameter.repeats { ArgAction::Append } else { ArgAction::Set });
    match parameter.default {
        Some(default) => flag.default_value(default),
        None => flag,
    }
}

/// Checks that `text` is a value of the parameter's kind. With this check, clap reports a wrong
/// value together with the flag. Parameters that may be repeated, and parameters of the kind
/// [`ParameterKind::Other`], are checked later.
fn check(parameter: &Parameter, text: &str) -> Result<(), String> {
    fn is<T: FromStr<Err: Display>>(text: &str) -> Result<(), String> {
        text.trim().parse::<T>().map(drop).map_err(|error| error.to_string())
    }
    match parameter.kind {
        _ if parameter.repeats => Ok(()),
        ParameterKind::Rate => is::<Rate>(text),
        ParameterKind::Span => is::<Span>(text),
        ParameterKind::Fraction => is::<Fraction>(text),
        ParameterKind::Bytes => is::<Bytes>(text),
        ParameterKind::Queue => is::<QueueLimit>(text),
        ParameterKind::Count => {
            text.parse::<u64>().map(drop).map_err(|_| format!("`{text}` is not a whole number; write for example `10`"))
        }
        ParameterKind::Switch | ParameterKind::Other => Ok(()),
    }
}

/// The name and text of every parameter that is given on the command line. Defaults are left out.
fn given<'a>(parameters: impl Iterator<Item = &'a Parameter>, matches: &ArgMatches) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for parameter in parameters {
        if matches.value_source(parameter.name) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        if parameter.kind == ParameterKind::Switch {
            all.push((parameter.name.to_owned(), "true".to_owned()));
            continue;
        }
        let values = matches.get_many::<String>(parameter.name).into_iter().flatten();
        all.extend(values.map(|value| (parameter.name.to_owned(), value.clone())));
    }
    all
}
