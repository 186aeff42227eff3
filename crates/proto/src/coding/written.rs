//! The setting `code` in the files of a daemon and of a scenario: `"window"`, `"block"`, or a table with the block code's
//! settings.

use super::{BlockLength, BlockSettings, Code};
use crate::control::loss::Losses;
use crate::wire::{MAX_BLOCK_REPAIRS, MAX_BLOCK_SOURCES};
use ripstop_base::{Fraction, Word};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The value as it is written. [`CodeSetting::code`] checks it.
#[derive(Clone, Debug)]
pub struct CodeSetting(Written);

/// Writes a code as [`deserialize`] reads it. The attribute `#[serde(with = "ripstop_proto::coding::written")]` uses both.
///
/// # Errors
/// The serializer's error.
pub fn serialize<S: Serializer>(code: &Code, to: S) -> Result<S::Ok, S::Error> {
    match code {
        Code::Window => to.serialize_str("window"),
        Code::Block(settings) => {
            let mut table = to.serialize_map(Some(1))?;
            table.serialize_entry("block", &BlockNumbers::of(settings))?;
            table.end()
        }
    }
}

/// Reads a code: `"window"`, `"block"`, or for example `{ block = { k = 16, n = 20 } }`.
///
/// # Errors
/// The value is not a code. The message says what would be right.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Code, D::Error> {
    CodeSetting::deserialize(from)?.code().map_err(D::Error::custom)
}

#[derive(Clone, Debug)]
enum Written {
    Name(String),
    Block(BlockTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeTable {
    block: BlockTable,
}

/// The settings of a block code as they are written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockTable {
    k: Option<Word>,
    n: Option<Word>,
    loss: Option<Word>,
    burst: Option<Word>,
}

/// The settings of a block code as a program writes them.
#[derive(Serialize)]
struct BlockNumbers {
    k: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<f64>,
}

impl BlockNumbers {
    fn of(settings: &BlockSettings) -> BlockNumbers {
        let (n, losses) = match settings.n {
            BlockLength::Fixed(n) => (Some(n), None),
            BlockLength::For(losses) => (None, Some(losses)),
            BlockLength::Measured => (None, None),
        };
        BlockNumbers {
            k: settings.k,
            n,
            loss: losses.map(|losses| losses.share),
            burst: losses.map(|losses| losses.burst),
        }
    }
}

impl<'de> Deserialize<'de> for CodeSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CodeSetting, D::Error> {
        deserializer.deserialize_any(CodeVisitor)
    }
}

struct CodeVisitor;

impl<'de> Visitor<'de> for CodeVisitor {
    type Value = CodeSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"window\", \"block\", or a table such as { block = { k = 16, n = 20 } }")
    }

    fn visit_str<E>(self, text: &str) -> Result<CodeSetting, E> {
        Ok(CodeSetting(Written::Name(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CodeSetting, A::Error> {
        CodeTable::deserialize(MapAccessDeserializer::new(map)).map(|table| CodeSetting(Written::Block(table.block)))
    }
}

impl CodeSetting {
    /// The code.
    ///
    /// # Errors
    /// The value is not a code. The message says what would be right.
    pub fn code(&self) -> Result<Code, String> {
        match &self.0 {
            Written::Name(name) => match name.as_str() {
                "window" => Ok(Code::Window),
                "block" => Ok(Code::Block(BlockSettings::default())),
                other => Err(format!(
                    "`{other}` is not a code; write \"window\", \"block\", or for example {{ block = {{ k = 16, n = 20 }} }}"
                )),
            },
            Written::Block(table) => table.settings().map(Code::Block),
        }
    }
}

impl BlockTable {
    fn settings(&self) -> Result<BlockSettings, String> {
        let within = |word: &Word, name: &str, least: u8, most: u8| {
            let number = word.as_ref().parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("block.{name}: `{}` is wrong; write {least} to {most}", word.as_ref()))
        };
        let k = match &self.k {
            Some(word) => within(word, "k", 1, MAX_BLOCK_SOURCES)?,
            None => BlockSettings::default().k,
        };
        let n = match (&self.n, &self.loss, &self.burst) {
            (Some(n), None, None) => BlockLength::Fixed(within(n, "n", k, k + MAX_BLOCK_REPAIRS)?),
            (None, Some(loss), burst) => BlockLength::For(losses(loss, burst.as_ref())?),
            (None, None, None) => BlockLength::Measured,
            (None, None, Some(_)) => return Err("block.burst needs block.loss; write for example loss = \"2%\"".into()),
            (Some(_), _, _) => {
                return Err("block.n is chosen for block.loss and block.burst; write either n or loss and burst".into());
            }
        };
        Ok(BlockSettings { k, n })
    }
}

fn losses(loss: &Word, burst: Option<&Word>) -> Result<Losses, String> {
    let share: Fraction = loss.as_ref().parse().map_err(|problem| format!("block.loss: {problem}"))?;
    if share.get() >= 1.0 {
        return Err("block.loss: all packets would be lost; write less than 100%".into());
    }
    let burst = match burst {
        None => 1.0,
        Some(word) => {
            word.as_ref().parse().ok().filter(|burst: &f64| (1.0..=1000.0).contains(burst)).ok_or_else(|| {
                format!("block.burst: `{}` is not a mean length; write 1 to 1000, in packets", word.as_ref())
            })?
        }
    };
    Ok(Losses { share: share.get(), burst })
}
