//! What every other crate agrees on before it says anything: what a moment is ([`Time`]), how
//! people write quantities ([`Rate`], [`Span`], [`Fraction`], [`Bytes`], [`QueueLimit`]), and how
//! one master seed becomes independent random streams ([`Seed`], [`Stream`]); and how values in
//! files are read ([`Word`], [`word`]) and complaints say where they stand ([`Place`]), without the names of Rust's types ([`plain_words`]). [`Delays`] keeps many
//! delays in little room.
//!
//! Nothing here reads a clock or a source of entropy.

mod delays;
mod plain;
mod quantity;
mod seed;
mod time;
mod written;

pub use delays::Delays;
pub use plain::plain_words;
pub use quantity::{Bytes, Fraction, QuantityError, QueueLimit, Rate, Span};
pub use seed::{Seed, Stream};
pub use time::Time;
pub use written::{Place, Word, word};
