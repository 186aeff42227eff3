//! Networks that are given by flags, for those who give the flags in a file.

use super::{fec, tandem};
use crate::failure::WrongFlag;
use clap::{ArgAction, Args, Command, FromArgMatches};
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use ripstop_sim::scenario::{Scenario, ScenarioError};
use std::any::TypeId;
use std::error::Error;

/// A command whose flags describe a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// `ripstop sim tandem`
    Tandem,
    /// `ripstop sim fec`
    Fec,
}

/// What kind of value a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagKind {
    Rate,
    Span,
    Fraction,
    Bytes,
    Queue,
    Switch,
    /// A name or a number without a unit.
    Other,
}

/// A flag that describes a network.
#[derive(Clone, Debug)]
pub(crate) struct PresetFlag {
    /// Without its dashes.
    pub(crate) name: String,
    pub(crate) kind: FlagKind,
    /// As it would be written, where there is one.
    pub(crate) default: Option<String>,
}

/// Flags that say what becomes of a result, not what is simulated.
const OF_THE_OUTPUT: [&str; 6] = ["threads", "pcap", "trace", "json", "per-run", "print-scenario"];

impl Preset {
    /// The preset of this name.
    pub(crate) fn named(name: &str) -> Option<Preset> {
        [Preset::Tandem, Preset::Fec].into_iter().find(|preset| preset.name() == name)
    }

    /// As in `ripstop sim NAME`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Preset::Tandem => "tandem",
            Preset::Fec => "fec",
        }
    }

    /// Its flags, in the order of `--help`.
    pub(crate) fn flags(self) -> Vec<PresetFlag> {
        let flag = |argument: &clap::Arg| {
            let name = argument.get_long()?.to_owned();
            let switch = matches!(argument.get_action(), ArgAction::SetTrue);
            let takes = argument.get_value_parser().type_id();
            let kinds = [
                (TypeId::of::<Rate>(), FlagKind::Rate),
                (TypeId::of::<Span>(), FlagKind::Span),
                (TypeId::of::<Fraction>(), FlagKind::Fraction),
                (TypeId::of::<Bytes>(), FlagKind::Bytes),
                (TypeId::of::<QueueLimit>(), FlagKind::Queue),
            ];
            let kind =
                kinds.into_iter().find(|(id, _)| takes == *id).map_or(FlagKind::Other, |(_, kind)| kind);
            let defaults = argument.get_default_values();
            let default = defaults.first().and_then(|text| text.to_str()).map(str::to_owned);
            Some(match switch {
                true => PresetFlag { name, kind: FlagKind::Switch, default: Some("false".to_owned()) },
                false => PresetFlag { name, kind, default },
            })
        };
        let known = self.command();
        known.get_arguments().filter_map(flag).filter(|f| !OF_THE_OUTPUT.contains(&f.name.as_str())).collect()
    }

    /// The scenario that `words` stand for: flags with their values, such as `--loss=1%`.
    ///
    /// # Errors
    /// The flag whose value cannot be.
    pub(crate) fn scenario(self, words: &[String]) -> Result<Scenario, WrongFlag> {
        let matches = self.command().try_get_matches_from(words).map_err(|error| wrong(&error))?;
        let scenario = match self {
            Preset::Tandem => tandem::Flags::from_arg_matches(&matches)
                .map_err(|error| wrong(&error))
                .and_then(|flags| tandem::scenario(&flags)),
            Preset::Fec => fec::Flags::from_arg_matches(&matches)
                .map_err(|error| wrong(&error))
                .and_then(|flags| fec::scenario(&flags)),
        }?;
        scenario.check().map_err(|error| self.wrong_field(error))?;
        Ok(scenario)
    }

    fn wrong_field(self, error: ScenarioError) -> WrongFlag {
        let flag = match self {
            Preset::Tandem => tandem::flag(&error.field),
            Preset::Fec => fec::flag(&error.field),
        };
        match flag {
            Some(flag) => WrongFlag::new(flag, error.problem),
            None => WrongFlag { flag: None, problem: error.to_string() },
        }
    }

    fn command(self) -> Command {
        let bare = Command::new(self.name()).no_binary_name(true).disable_help_flag(true);
        match self {
            Preset::Tandem => tandem::Flags::augment_args(bare),
            Preset::Fec => fec::Flags::augment_args(bare),
        }
    }
}

/// What clap says, without its way of saying it.
fn wrong(error: &clap::Error) -> WrongFlag {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    // `--loss <SHARE>`, or `--loss`.
    let flag = named.and_then(|text| text.split([' ', '=']).next()).filter(|text| text.starts_with("--"));
    if error.kind() == ErrorKind::MissingRequiredArgument {
        // What is missing is no fault of its own: another flag wants it.
        return WrongFlag {
            flag: None,
            problem: format!("needs {} as well", named.unwrap_or("another flag")),
        };
    }
    let problem = match error.source() {
        Some(cause) => cause.to_string(),
        None => {
            let text = error.to_string();
            let paragraphs = text.lines().take_while(|line| !line.starts_with("Usage:"));
            let words = paragraphs.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
            words.strip_prefix("error: ").unwrap_or(&words).to_owned()
        }
    };
    WrongFlag { flag: flag.map(str::to_owned), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(preset: Preset, words: &[&str]) -> Result<Scenario, WrongFlag> {
        preset.scenario(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_become_a_scenario() {
        let scenario =
            of(Preset::Tandem, &["--hops=2", "--loss=1%", "--nc", "--start=0s", "--start=5s"]).unwrap();
        assert_eq!((scenario.link.len(), scenario.flow.len()), (2, 2));
        assert!(scenario.flow[0].nc.is_some());
        assert_eq!(of(Preset::Fec, &["--k=10"]).unwrap().link.len(), 1);
    }

    #[test]
    fn what_cannot_be_names_its_flag() {
        for (preset, words, flag, problem) in [
            (Preset::Tandem, &["--loss=2"][..], "--loss", "`2` is not a share"),
            (Preset::Tandem, &["--hops=0"], "--hops", "0 links; from 1 to 1000"),
            (Preset::Tandem, &["--wmax=0"], "--wmax", "a window of 0 packets"),
            (Preset::Tandem, &["--redundancy=1.2"], "", "needs --nc as well"),
            (Preset::Tandem, &["--receiver=none"], "--receiver", "[possible values: buffer, go-back-n]"),
            (Preset::Fec, &["--n=19"], "--n", "19 units cannot carry the 20"),
        ] {
            let wrong = of(preset, words).unwrap_err();
            assert_eq!(wrong.flag.as_deref().unwrap_or_default(), flag, "{wrong:?}");
            assert!(wrong.problem.contains(problem), "{wrong:?}");
        }
    }

    #[test]
    fn flags_know_what_they_take() {
        let flags = Preset::Tandem.flags();
        let kind = |name: &str| flags.iter().find(|flag| flag.name == name).map(|flag| flag.kind);
        assert_eq!(kind("rate"), Some(FlagKind::Rate));
        assert_eq!(kind("duration"), Some(FlagKind::Span));
        assert_eq!(kind("queue"), Some(FlagKind::Queue));
        assert_eq!(kind("nc"), Some(FlagKind::Switch));
        assert_eq!(kind("tcp"), Some(FlagKind::Other));
        assert!(kind("json").is_none() && kind("help").is_none());
    }
}
