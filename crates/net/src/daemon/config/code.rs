//! The setting `code`: `"window"`, `"block"`, or a table with the block code's settings.

use ripstop_base::{Fraction, Word};
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::control::loss::Losses;
use ripstop_proto::wire::{MAX_BLOCK_REPAIRS, MAX_BLOCK_SOURCES};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;

/// The value as it is written.
pub(super) enum CodeSetting {
    Name(String),
    Block(BlockTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeTable {
    block: BlockTable,
}

/// The settings of a block code as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockTable {
    k: Option<Word>,
    n: Option<Word>,
    loss: Option<Word>,
    burst: Option<Word>,
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
        Ok(CodeSetting::Name(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CodeSetting, A::Error> {
        CodeTable::deserialize(MapAccessDeserializer::new(map)).map(|table| CodeSetting::Block(table.block))
    }
}

impl CodeSetting {
    /// The code. An error says what would be right.
    pub(super) fn code(&self) -> Result<Code, String> {
        match self {
            CodeSetting::Name(name) => match name.as_str() {
                "window" => Ok(Code::Window),
                "block" => Ok(Code::Block(BlockSettings::default())),
                other => Err(format!(
                    "`{other}` is not a code; write \"window\", \"block\", or for example {{ block = {{ k = 16, n = 20 }} }}"
                )),
            },
            CodeSetting::Block(table) => table.settings().map(Code::Block),
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
