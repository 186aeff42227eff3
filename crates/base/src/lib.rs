//! Types that several other crates use.
//!
//! * [`Time`]: a moment in time.
//! * [`Rate`], [`Span`], [`Fraction`], [`Bytes`], [`Distance`], [`QueueLimit`]: quantities as people write them.
//! * [`Seed`], [`Stream`]: a master seed, and the independent random streams made from it.
//! * [`Word`], [`word`]: values in files, written as a text or as a number.
//! * [`Place`]: a line and a column in a file.
//! * [`plain_words`]: rewrites a parser's error message without the names of Rust's types.
//! * [`readable`]: numbers as text for people.
//! * [`text`]: how texts are read, and made safe to print.
//! * [`DelayHistogram`]: the distribution of many delays in little memory.
//! * [`counters!`], [`Counters`]: structs of counters, each defined once with its names and its help text.
//! * [`Codel`]: the control law of the active queue management CoDel.
//!
//! Nothing in this crate reads a clock or a source of entropy.

mod codel;
mod counters;
mod delay_histogram;
mod plain;
mod quantity;
pub mod readable;
mod seed;
pub mod text;
mod time;
mod written;

pub use codel::Codel;
pub use counters::{Counter, Counters, deserialize_counters, serialize_counters};
pub use delay_histogram::DelayHistogram;
pub use plain::plain_words;
pub use quantity::{Bytes, Distance, Fraction, QuantityError, QueueLimit, Rate, Span};
pub use seed::{Seed, Stream};
#[doc(hidden)]
pub use serde;
pub use time::Time;
pub use written::{Place, Word, word};
