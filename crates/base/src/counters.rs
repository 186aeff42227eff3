//! Counters that are defined once: a field, its documentation, its key in JSON, and its name as a metric.
//!
//! [`counters!`](crate::counters!) defines a struct of counters where they are counted. Everything that shows counters reads
//! the definition through [`Counters`]: JSON, metrics, and the tests of the documents that list them.

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// The definition of a counter that is shown to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The key in JSON, which ends in the unit if there is one.
    pub key: &'static str,
    /// The name as a metric, without what the page puts before all names; None: it is no metric.
    pub metric: Option<&'static str>,
    doc: &'static str,
}

impl Counter {
    /// Only for [`counters!`](crate::counters!): the counter of `field`, whose documentation is in `docs`.
    #[doc(hidden)]
    pub const fn new(
        key: &'static str,
        metric: &'static [&'static str],
        field: &str,
        docs: &[(&str, &'static str)],
    ) -> Counter {
        let metric = if let [name] = metric { Some(*name) } else { None };
        let mut at = 0;
        while !is_same(docs[at].0, field) {
            at += 1;
        }
        Counter { key, metric, doc: docs[at].1 }
    }

    /// What is counted: the documentation of the field, without the period at its end.
    pub fn help(&self) -> &'static str {
        self.doc.trim_start().trim_end_matches('.')
    }
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A struct of counters that [`counters!`](crate::counters!) has defined.
pub trait Counters: Default {
    /// The definitions of the counters that are shown, in the order of the fields.
    const COUNTERS: &'static [Counter];

    /// The values of these counters.
    #[doc(hidden)]
    fn cells(&mut self) -> impl Iterator<Item = &mut u64>;

    /// The counters and their values.
    fn counters(&self) -> impl Iterator<Item = (&'static Counter, u64)>;

    /// The sums of these counters and those of `other`. Fields that are not shown stay.
    #[must_use]
    fn plus(mut self, other: &Self) -> Self {
        self.cells().zip(other.counters()).for_each(|(sum, (_, value))| *sum += value);
        self
    }
}

/// Defines a struct of counters. A counter that is shown has its key in JSON and, after a comma, its name as a metric. Its
/// documentation is its help text. JSON has the counters that are shown, and reads those that are missing as 0. Other fields
/// may have any type.
///
/// ```
/// ripstop_base::counters! {
///     /// What a sender counts.
///     #[derive(Clone, Copy, Debug, Default)]
///     pub struct SendCounts {
///         /// Datagrams sent.
///         pub datagrams: u64 => ("datagrams_sent", "sent_datagrams_total"),
///         /// Datagram numbers left out.
///         pub skipped: u64 => ("numbers_skipped"),
///         /// Packets taken.
///         pub taken: u64,
///     }
/// }
/// use ripstop_base::Counters;
/// let counts = SendCounts { datagrams: 3, skipped: 1, taken: 9 };
/// assert_eq!(serde_json::to_string(&counts).unwrap(), r#"{"datagrams_sent":3,"numbers_skipped":1}"#);
/// assert_eq!(SendCounts::COUNTERS[0].help(), "Datagrams sent");
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$about:meta])*
        $visible:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field_visible:vis $field:ident: $type:ty $(=> ($key:literal $(, $metric:literal)?))?,
            )*
        }
    ) => {
        $(#[$about])*
        $visible struct $name {
            $($(#[doc = $doc])+ $field_visible $field: $type,)*
        }

        impl $crate::Counters for $name {
            const COUNTERS: &'static [$crate::Counter] = {
                const DOCS: &[(&str, &str)] = &[$((stringify!($field), concat!($($doc),+))),*];
                &[$($($crate::Counter::new($key, &[$($metric)?], stringify!($field), DOCS),)?)*]
            };

            fn cells(&mut self) -> impl Iterator<Item = &mut u64> {
                [$($($crate::counters!(@cell $key &mut self.$field),)?)*].into_iter()
            }

            fn counters(&self) -> impl Iterator<Item = (&'static $crate::Counter, u64)> {
                Self::COUNTERS.iter().zip([$($($crate::counters!(@cell $key self.$field),)?)*])
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::serialize_counters(self, serializer)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $crate::deserialize_counters(deserializer)
            }
        }
    };
    (@cell $key:literal $cell:expr) => { $cell };
}

/// Only for [`counters!`](crate::counters!): an object with a key for each counter.
#[doc(hidden)]
pub fn serialize_counters<T: Counters, S: Serializer>(counters: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(T::COUNTERS.len()))?;
    for (counter, value) in counters.counters() {
        map.serialize_entry(counter.key, &value)?;
    }
    map.end()
}

/// Only for [`counters!`](crate::counters!): reads such an object. Other keys in it are ignored.
#[doc(hidden)]
pub fn deserialize_counters<'de, T: Counters, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(CounterVisitor(PhantomData))
}

struct CounterVisitor<T>(PhantomData<T>);

impl<'de, T: Counters> Visitor<'de> for CounterVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with counters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut counters = T::default();
        while let Some(key) = map.next_key::<String>()? {
            let at = T::COUNTERS.iter().position(|counter| counter.key == key);
            match at.and_then(|at| counters.cells().nth(at)) {
                Some(cell) => *cell = map.next_value()?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    counters! {
        /// Counters of a test.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        struct Counts {
            /// Datagrams sent. All of
            /// them.
            sent: u64 => ("datagrams_sent", "sent_total"),
            /// Not shown.
            hidden: [u64; 3],
            /// Bytes.
            bytes: u64 => ("sent_bytes"),
        }
    }

    /// Counters of two kinds beside other values, as in a status.
    #[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
    struct Status {
        name: String,
        #[serde(flatten)]
        counts: Counts,
        also: Counts,
    }

    #[test]
    fn a_definition_gives_names_help_and_values() {
        let counts = Counts { sent: 3, hidden: [9; 3], bytes: 40 };
        let shown: Vec<_> = counts.counters().map(|(c, value)| (c.key, c.metric, c.help(), value)).collect();
        let sent = ("datagrams_sent", Some("sent_total"), "Datagrams sent. All of them", 3);
        assert_eq!(shown, [sent, ("sent_bytes", None, "Bytes", 40)]);
        let other = Counts { sent: 1, hidden: [1; 3], bytes: 2 };
        assert_eq!(counts.plus(&other), Counts { sent: 4, hidden: [9; 3], bytes: 42 });
    }

    #[test]
    fn counters_stand_in_json_beside_other_values() {
        let counts = Counts { sent: 3, hidden: [0; 3], bytes: 40 };
        let status = Status { name: "a".to_owned(), counts, also: Counts { sent: 1, ..counts } };
        let text = r#"{"name":"a","datagrams_sent":3,"sent_bytes":40,"also":{"datagrams_sent":1,"sent_bytes":40}}"#;
        assert_eq!(serde_json::to_string(&status).unwrap(), text);
        assert_eq!(serde_json::from_str::<Status>(text).unwrap(), status);
        // An older daemon knows fewer counters, a newer one more.
        let other = r#"{"name":"a","sent_bytes":40,"new":[1],"also":{}}"#;
        let read: Status = serde_json::from_str(other).unwrap();
        assert_eq!((read.counts.bytes, read.also), (40, Counts::default()));
        assert!(serde_json::from_str::<Status>(r#"{"name":"a","sent_bytes":-1,"also":{}}"#).is_err());
    }
}
