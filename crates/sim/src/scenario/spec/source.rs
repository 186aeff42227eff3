//! The traffic source of a TCP flow in a scenario.

use crate::tcp::{Distribution, Pattern};
use ripstop_base::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

/// The data of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum SourceSpec {
    /// Data without end.
    #[default]
    Endless,
    /// One file of this size. The flow ends when the file is complete.
    File(Bytes),
    /// On periods and off periods alternate. In an on period the source has data at a rate. In an off period it has no
    /// data. The first period is on.
    OnOff {
        /// Length of an on period.
        #[serde(with = "ripstop_base::word")]
        on: Distribution<Span>,
        /// Length of an off period.
        #[serde(with = "ripstop_base::word")]
        off: Distribution<Span>,
        /// Payload rate while on.
        rate: Rate,
    },
    /// Requests that another flow answers. Each request is sent when a think time has passed since the answer to the
    /// previous request arrived.
    Requests {
        /// Size of a request.
        #[serde(with = "ripstop_base::word")]
        length: Distribution<Bytes>,
        /// Time from an answer to the next request.
        #[serde(with = "ripstop_base::word")]
        think: Distribution<Span>,
    },
    /// Answers to another flow's requests. Each request is answered without delay.
    Answers {
        /// The name of the flow that sends the requests.
        to: String,
        /// Size of an answer.
        #[serde(with = "ripstop_base::word")]
        length: Distribution<Bytes>,
    },
}

impl SourceSpec {
    /// Whether the source is the default, [`SourceSpec::Endless`].
    pub(in crate::scenario) fn is_endless(&self) -> bool {
        *self == SourceSpec::Endless
    }

    /// Whether the source sends transfers that have an end.
    pub fn transfers(&self) -> bool {
        !matches!(self, SourceSpec::Endless | SourceSpec::OnOff { .. })
    }

    /// The pattern of the simulated source.
    pub(in crate::scenario) fn pattern(&self) -> Pattern {
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

    /// Checks a source whose packets have `payload` bytes of payload. An error has the field and the problem.
    pub(in crate::scenario) fn check(&self, payload: u64) -> Result<(), (&'static str, String)> {
        self.pattern().check().map_err(|error| (error.field, error.problem.to_owned()))?;
        if let SourceSpec::OnOff { on, rate, .. } = self {
            let packet = rate.time_for(payload as usize);
            if on.mean().duration() < packet {
                let problem = format!("{on} is shorter than a packet at {rate}, {packet:?}; write a longer time");
                return Err(("source.on-off.on", problem));
            }
        }
        Ok(())
    }
}
