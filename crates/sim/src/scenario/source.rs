//! What a flow of a scenario has to send.

use super::check::refuse;
use super::{FlowSpec, Scenario, ScenarioError};
use crate::tcp::{Distribution, Pattern};
use ripstop_base::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What there is to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum SourceSpec {
    /// Always more.
    #[default]
    Endless,
    /// One file; the flow ends with it.
    File(Bytes),
    /// At a rate while on, nothing while off; the first period is on.
    OnOff {
        /// How long it is on.
        #[serde(with = "ripstop_base::word")]
        on: Distribution<Span>,
        /// How long it is off.
        #[serde(with = "ripstop_base::word")]
        off: Distribution<Span>,
        /// Payload while on.
        rate: Rate,
    },
    /// Requests, which another flow answers: each a while after the answer to the one before has arrived.
    Requests {
        /// Of a request.
        #[serde(with = "ripstop_base::word")]
        length: Distribution<Bytes>,
        /// From an answer to the next request.
        #[serde(with = "ripstop_base::word")]
        think: Distribution<Span>,
    },
    /// Answers to another flow's requests, one for each, at once.
    Answers {
        /// The flow that asks, by its name.
        to: String,
        /// Of an answer.
        #[serde(with = "ripstop_base::word")]
        length: Distribution<Bytes>,
    },
}

impl SourceSpec {
    /// Whether it is the one that needs no word.
    pub(super) fn is_endless(&self) -> bool {
        *self == SourceSpec::Endless
    }

    /// Whether it sends transfers that have an end.
    pub fn transfers(&self) -> bool {
        !matches!(self, SourceSpec::Endless | SourceSpec::OnOff { .. })
    }

    /// As the network wants it.
    pub(super) fn pattern(&self) -> Pattern {
        match self {
            SourceSpec::Endless => Pattern::Endless,
            SourceSpec::File(bytes) => Pattern::File(bytes.get()),
            SourceSpec::OnOff { on, off, rate } => {
                Pattern::OnOff { on: on.map(Span::duration), off: off.map(Span::duration), rate: *rate }
            }
            SourceSpec::Requests { length, think } => {
                Pattern::Requests { length: length.map(Bytes::get), think: think.map(Span::duration) }
            }
            SourceSpec::Answers { length, .. } => Pattern::Answers { length: length.map(Bytes::get) },
        }
    }

    /// The field and what is wrong with it, when a packet carries `payload` bytes.
    pub(super) fn check(&self, payload: u64) -> Result<(), (&'static str, String)> {
        let wrong = |field, problem: &str| Err((field, problem.to_owned()));
        match self {
            SourceSpec::File(bytes) if bytes.get() == 0 => {
                wrong("source.file", "0 bytes are no file; write at least 1")
            }
            SourceSpec::OnOff { rate, .. } if rate.bps() == 0 => {
                wrong("source.on-off.rate", "0 sends nothing; write for example `1Mbit/s`")
            }
            SourceSpec::OnOff { on, rate, .. } => {
                let packet = rate.time_for(payload as usize);
                if on.mean().duration() >= packet.max(Duration::from_nanos(1)) {
                    return Ok(());
                }
                let problem = format!("{on} is less than a packet takes at {rate}, {packet:?}; write more");
                Err(("source.on-off.on", problem))
            }
            SourceSpec::Requests { length, .. } if length.mean().get() == 0 => {
                wrong("source.requests.length", "a request has at least 1 byte")
            }
            SourceSpec::Answers { length, .. } if length.mean().get() == 0 => {
                wrong("source.answers.length", "an answer has at least 1 byte")
            }
            _ => Ok(()),
        }
    }
}

impl Scenario {
    /// Which flows ask and which answer: request_answer_pairs of places in the list of flows.
    ///
    /// # Errors
    /// A flow that asks and is not answered, or the other way round.
    pub(super) fn request_answer_pairs(&self) -> Result<Vec<(usize, usize)>, ScenarioError> {
        let mut request_answer_pairs: Vec<(usize, usize)> = Vec::new();
        for (k, flow) in self.flow.iter().enumerate() {
            let SourceSpec::Answers { to, .. } = &flow.source else { continue };
            let wrong = |name: &str, problem: String| refuse(format!("flow[{k}].{name}"), problem);
            let asks =
                |other: &FlowSpec| other.name == *to && matches!(other.source, SourceSpec::Requests { .. });
            let Some(other) = self.flow.iter().position(asks) else {
                return wrong("source.answers.to", format!("no flow `{to}` has `source.requests`; name one"));
            };
            let asking = &self.flow[other];
            if request_answer_pairs.iter().any(|(answered, _)| *answered == other) {
                return wrong("source.answers.to", format!("`{to}` has answers already; give each its own"));
            }
            if asking.from != flow.to || asking.to != flow.from {
                let problem =
                    format!("answers `{to}`, and must go from `{}` to `{}`", asking.to, asking.from);
                return wrong("from", problem);
            }
            if asking.count != flow.count {
                let problem =
                    format!("{} connections for the {} of `{to}`; write as many", flow.count, asking.count);
                return wrong("count", problem);
            }
            request_answer_pairs.push((other, k));
        }
        for (k, flow) in self.flow.iter().enumerate() {
            let asks = matches!(flow.source, SourceSpec::Requests { .. });
            if asks && !request_answer_pairs.iter().any(|(asking, _)| *asking == k) {
                let problem = format!(
                    "nobody answers; add a flow the other way with `source = {{ answers = {{ to = \"{}\", length = \"10kB\" }} }}`",
                    flow.name
                );
                return refuse(format!("flow[{k}].source.requests"), problem);
            }
        }
        Ok(request_answer_pairs)
    }
}
