//! Queue disciplines: which waiting packet is sent next, and which packets are dropped or marked to
//! keep the queue short.

use crate::error::LinkConfigError;
use crate::field;
use ripstop_base::{Bytes, Span};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How the packets that wait for serialisation are managed.
///
/// A configuration gives a name, for example `"codel"`, or a table such as
/// `{ name = "codel", target = "10ms" }`. The limit [`queue`](crate::LinkConfig::queue) holds for
/// every discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// Drop-tail: packets leave in the order in which they were offered. Only the limit of the
    /// queue drops packets.
    #[default]
    Fifo,
    /// CoDel (RFC 8289) drops packets at the head of the queue while the packets' waiting time
    /// stays above a target.
    Codel {
        /// The longest waiting time that may stand.
        target: Span,
        /// How long the waiting time must exceed the target before the first drop. About the
        /// longest round-trip time of the flows.
        interval: Span,
    },
    /// PIE (RFC 8033) drops packets on their arrival, with a probability that follows the waiting
    /// time.
    Pie {
        /// The waiting time that PIE steers for.
        target: Span,
    },
    /// FQ-CoDel (RFC 8290): flows share the link by deficit round robin, and each flow's queue has
    /// its own CoDel. Flows with little traffic go first. When the queue is full, the first packet
    /// of the longest flow's queue is dropped.
    Fq {
        /// As in [`Discipline::Codel`].
        target: Span,
        /// As in [`Discipline::Codel`].
        interval: Span,
        /// Bytes that a flow sends in its turn.
        quantum: Bytes,
        /// The number of queues. Flows are hashed to queues.
        flows: u32,
    },
}

/// CoDel's default target (RFC 8289, section 4.4). Half the value drops packets of a single flow at
/// a rate below 2.4 Mbit/s, where one packet takes longer. Double the value doubles the queue.
const CODEL_TARGET: Duration = Duration::from_millis(5);
/// CoDel's default interval (RFC 8289, section 4.3). Half the value costs throughput on paths with
/// an RTT of 100 ms. Double the value reacts to a standing queue one round trip later.
const CODEL_INTERVAL: Duration = Duration::from_millis(100);
/// PIE's default target, QDELAY_REF (RFC 8033, section 4.2). Half or double the value halves or
/// doubles the mean queue.
const PIE_TARGET: Duration = Duration::from_millis(15);
/// The default quantum of FQ: a full packet with its Ethernet header (RFC 8290, section 5.2.4). Half
/// the value gives flows with small packets more turns. Double the value makes bursts longer.
const FQ_QUANTUM: Bytes = Bytes::new(1514);
/// The default number of queues of FQ (RFC 8290, section 5.2.2). Half or double the number doubles
/// or halves the chance that two flows share a queue.
const FQ_FLOWS: u32 = 1024;
/// The largest number of queues. A queue takes about 100 bytes of memory, so this number takes 7 MB.
const MAX_FLOWS: u32 = 65_536;
/// The least quantum in bytes. A packet of 65 535 bytes then takes at most 1024 turns.
const LEAST_QUANTUM: u64 = 64;

impl Discipline {
    /// The names of the disciplines in files and flags.
    pub const NAMES: [&str; 4] = ["fifo", "codel", "pie", "fq"];

    /// CoDel with the target (5 ms) and the interval (100 ms) of RFC 8289.
    pub fn codel() -> Discipline {
        Discipline::Codel { target: CODEL_TARGET.into(), interval: CODEL_INTERVAL.into() }
    }

    /// PIE with the target of RFC 8033, 15 ms.
    pub fn pie() -> Discipline {
        Discipline::Pie { target: PIE_TARGET.into() }
    }

    /// FQ-CoDel with the settings of RFC 8290: 1024 queues, a quantum of 1514 bytes, and CoDel's
    /// target and interval.
    pub fn fq() -> Discipline {
        Discipline::Fq {
            target: CODEL_TARGET.into(),
            interval: CODEL_INTERVAL.into(),
            quantum: FQ_QUANTUM,
            flows: FQ_FLOWS,
        }
    }

    /// The discipline's name in files and flags.
    pub fn name(&self) -> &'static str {
        match self {
            Discipline::Fifo => "fifo",
            Discipline::Codel { .. } => "codel",
            Discipline::Pie { .. } => "pie",
            Discipline::Fq { .. } => "fq",
        }
    }

    /// Whether the discipline may drop or mark a packet to keep the queue short (active queue
    /// management).
    pub fn is_aqm(&self) -> bool {
        *self != Discipline::Fifo
    }

    /// Whether the fate of a waiting packet can depend on packets that are offered later. Then
    /// [`Link::poll`](crate::Link::poll) tells the fate.
    pub fn is_scheduled(&self) -> bool {
        matches!(self, Discipline::Codel { .. } | Discipline::Fq { .. })
    }

    /// Checks the settings. `field` names the discipline in the error.
    pub(crate) fn check(&self, field: &str) -> Result<(), LinkConfigError> {
        let wrong = |part: &str, problem: String| Err(LinkConfigError::new(format!("{field}.{part}"), problem));
        let (target, interval) = match *self {
            Discipline::Fifo => return Ok(()),
            Discipline::Pie { target } => (target, None),
            Discipline::Codel { target, interval } | Discipline::Fq { target, interval, .. } => {
                (target, Some(interval))
            }
        };
        if target.duration().is_zero() {
            return wrong("target", "0 s leaves no queue; write for example `5ms`".to_owned());
        }
        if interval.is_some_and(|interval| interval < target) {
            return wrong("interval", format!("must be at least the target of {target}; write for example `100ms`"));
        }
        if let Discipline::Fq { quantum, flows, .. } = *self {
            if quantum.get() < LEAST_QUANTUM {
                return wrong("quantum", format!("must be at least {LEAST_QUANTUM} bytes; write for example 1514"));
            }
            if !(1..=MAX_FLOWS).contains(&flows) {
                return wrong("flows", format!("must be from 1 to {MAX_FLOWS}; write for example 1024"));
            }
        }
        Ok(())
    }
}

impl FromStr for Discipline {
    type Err = String;

    fn from_str(name: &str) -> Result<Discipline, String> {
        match name.trim() {
            "fifo" => Ok(Discipline::Fifo),
            "codel" => Ok(Discipline::codel()),
            "pie" => Ok(Discipline::pie()),
            "fq" => Ok(Discipline::fq()),
            other => Err(format!("`{other}` is not a queue discipline; write one of {}", Discipline::NAMES.join(", "))),
        }
    }
}

/// A discipline as a table of a configuration file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DisciplineTable {
    name: String,
    #[serde(default, deserialize_with = "field::target", skip_serializing_if = "Option::is_none")]
    target: Option<Span>,
    #[serde(default, deserialize_with = "field::interval", skip_serializing_if = "Option::is_none")]
    interval: Option<Span>,
    #[serde(default, deserialize_with = "field::quantum", skip_serializing_if = "Option::is_none")]
    quantum: Option<Bytes>,
    #[serde(default, deserialize_with = "field::flows", skip_serializing_if = "Option::is_none")]
    flows: Option<u32>,
}

impl TryFrom<DisciplineTable> for Discipline {
    type Error = String;

    fn try_from(table: DisciplineTable) -> Result<Discipline, String> {
        fn set<T>(to: &mut T, from: &mut Option<T>) {
            if let Some(value) = from.take() {
                *to = value;
            }
        }
        let DisciplineTable { name, target: mut t, interval: mut i, quantum: mut q, flows: mut f } = table;
        let mut discipline: Discipline = name.parse()?;
        match &mut discipline {
            Discipline::Fifo => {}
            Discipline::Codel { target, interval } => {
                set(target, &mut t);
                set(interval, &mut i);
            }
            Discipline::Pie { target } => set(target, &mut t),
            Discipline::Fq { target, interval, quantum, flows } => {
                set(target, &mut t);
                set(interval, &mut i);
                set(quantum, &mut q);
                set(flows, &mut f);
            }
        }
        let left =
            [("target", t.is_some()), ("interval", i.is_some()), ("quantum", q.is_some()), ("flows", f.is_some())];
        match left.into_iter().find(|(_, is_left)| *is_left) {
            Some((field, _)) => Err(format!("`{name}` has no `{field}`; remove `{field}`")),
            None => Ok(discipline),
        }
    }
}

impl Serialize for Discipline {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let name = self.name();
        if name.parse() == Ok(*self) {
            return to.serialize_str(name);
        }
        let mut table =
            DisciplineTable { name: name.to_owned(), target: None, interval: None, quantum: None, flows: None };
        match *self {
            Discipline::Fifo => {}
            Discipline::Pie { target } => table.target = Some(target),
            Discipline::Codel { target, interval } => {
                (table.target, table.interval) = (Some(target), Some(interval));
            }
            Discipline::Fq { target, interval, quantum, flows } => {
                (table.target, table.interval) = (Some(target), Some(interval));
                (table.quantum, table.flows) = (Some(quantum), Some(flows));
            }
        }
        table.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Discipline {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Discipline, D::Error> {
        struct Reader;

        impl<'de> de::Visitor<'de> for Reader {
            type Value = Discipline;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "one of {}, or a table with a `name`", Discipline::NAMES.join(", "))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Discipline, E> {
                name.parse().map_err(E::custom)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Discipline, A::Error> {
                DisciplineTable::deserialize(MapAccessDeserializer::new(map))?.try_into().map_err(de::Error::custom)
            }
        }

        from.deserialize_any(Reader)
    }
}
