//! Flags for what flows have to send.

use crate::failure::WrongFlag;
use ripstop_base::{Bytes, Rate, Span};
use ripstop_sim::scenario::{Drawn, FlowSpec, SourceSpec};
use std::fmt::Display;
use std::str::FromStr;

/// What the flows have to send; without end when no flag says otherwise.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "What they send")]
pub(super) struct SourceFlags {
    /// One file of this size each; the flow ends with it
    #[arg(long, value_name = "SIZE")]
    file: Option<Bytes>,
    /// Bursts at a rate: how long on, how long off, what of payload while on; a time with `exp:` before it is the mean of an
    /// exponential distribution
    #[arg(long, value_name = "ON,OFF,RATE", conflicts_with = "file")]
    on_off: Option<String>,
    /// Requests of this size, the answers to them, and the time from an answer to the next request; each may have `exp:` before it.
    /// The answers are flows of their own, `answer`
    #[arg(long, value_name = "SIZE,SIZE,TIME", conflicts_with_all = ["file", "on_off"])]
    requests: Option<String>,
}

impl SourceFlags {
    /// The flows, each kind of `flows` with its source, and those that answer them.
    pub(super) fn apply(&self, flows: Vec<FlowSpec>) -> Result<Vec<FlowSpec>, WrongFlag> {
        let source = |source: SourceSpec| {
            flows.iter().map(|flow| FlowSpec { source: source.clone(), ..flow.clone() }).collect::<Vec<_>>()
        };
        if let Some(bytes) = self.file {
            return Ok(source(SourceSpec::File(bytes)));
        }
        if let Some(text) = &self.on_off {
            let [on, off, rate] = three("--on-off", text, "`1s,exp:2s,500kbit/s`")?;
            return Ok(source(SourceSpec::OnOff {
                on: part("--on-off", on)?,
                off: part("--on-off", off)?,
                rate: part::<Rate>("--on-off", rate)?,
            }));
        }
        let Some(text) = &self.requests else { return Ok(flows) };
        let [request, answer, think] = three("--requests", text, "`300B,exp:20kB,exp:1s`")?;
        let length: Drawn<Bytes> = part("--requests", answer)?;
        let asks = SourceSpec::Requests {
            length: part("--requests", request)?,
            think: part::<Drawn<Span>>("--requests", think)?,
        };
        let answers = flows.iter().map(|flow| FlowSpec {
            name: flow.name.replacen("flow", "answer", 1),
            source: SourceSpec::Answers { to: flow.name.clone(), length },
            ..flow.clone()
        });
        let answers: Vec<FlowSpec> = answers.collect();
        Ok(source(asks).into_iter().chain(answers).collect())
    }
}

fn three<'a>(flag: &str, text: &'a str, example: &str) -> Result<[&'a str; 3], WrongFlag> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    <[&str; 3]>::try_from(parts).map_err(|parts| {
        WrongFlag::new(flag, format!("{} parts in `{text}`; write three, such as {example}", parts.len()))
    })
}

fn part<T: FromStr<Err: Display>>(flag: &str, text: &str) -> Result<T, WrongFlag> {
    text.parse().map_err(|error: T::Err| WrongFlag::new(flag, error.to_string()))
}
