//! Flags of the networks that parameters describe, made from the lab's table of parameters.

use super::output::OutputFlags;
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
    /// What the command does: a line, and a paragraph.
    const ABOUT: [&str; 2];
    /// Examples, for the end of the help text.
    const EXAMPLES: &'static str;
}

/// The parameters that were given, and what becomes of the result.
pub(super) struct PresetFlags<C> {
    pub(super) given: Vec<(String, String)>,
    pub(super) output: OutputFlags,
    command: PhantomData<C>,
}

impl<C: PresetCommand> Args for PresetFlags<C> {
    fn augment_args(command: Command) -> Command {
        let [line, paragraph] = C::ABOUT;
        // `augment_args` sets the description to that of `OutputFlags`, so the command's own comes last.
        OutputFlags::augment_args(command.args(C::PRESET.parameters().map(argument)))
            .about(line)
            .long_about(format!("{line}\n\n{paragraph}"))
            .after_help(C::EXAMPLES)
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
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// How often and how long a scenario from a file is run, and what becomes of the result.
pub(super) struct MeasureFlags {
    pub(super) given: Vec<(String, String)>,
    pub(super) output: OutputFlags,
}

impl Args for MeasureFlags {
    fn augment_args(command: Command) -> Command {
        OutputFlags::augment_args(command.args(MEASURE.iter().map(argument)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MeasureFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let output = OutputFlags::from_arg_matches(matches)?;
        Ok(MeasureFlags { given: given(MEASURE.iter(), matches), output })
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

/// Whether a text is a value of the parameter's kind, so that what is wrong is said beside the flag.
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
        ParameterKind::Count => text
            .parse::<u64>()
            .map(drop)
            .map_err(|_| format!("`{text}` is not a whole number; write for example `10`")),
        ParameterKind::Switch | ParameterKind::Other => Ok(()),
    }
}

/// The parameters that stand on the command line.
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
