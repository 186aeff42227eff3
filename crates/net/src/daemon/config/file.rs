//! The sections and settings of the configuration file, with their places in the text.

use ripstop_base::Word;
use ripstop_proto::coding::written::CodeSetting;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;
use toml::Spanned;

/// The sections of the file. Most values are still texts, which are checked later.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) interface: Option<Spanned<Interface>>,
    #[serde(default)]
    pub(super) peer: Vec<Spanned<Peer>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Interface {
    pub(super) private_key: Option<Spanned<String>>,
    pub(super) private_key_file: Option<Spanned<String>>,
    pub(super) address: Option<Spanned<Texts>>,
    pub(super) listen: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<Word>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) mtu: Option<Spanned<Word>>,
    pub(super) rate: Option<Spanned<Word>>,
    pub(super) redundancy: Option<Spanned<Word>>,
    pub(super) ecn: Option<bool>,
    pub(super) code: Option<Spanned<CodeSetting>>,
    pub(super) acks: Option<Spanned<String>>,
    pub(super) max_overhead: Option<MaxOverhead>,
    pub(super) classes: Option<Classes>,
    /// `patience` is the former name of this setting.
    #[serde(alias = "patience")]
    pub(super) deadline: Option<Spanned<Word>>,
    pub(super) memory: Option<Spanned<Word>>,
    pub(super) work: Option<Spanned<Word>>,
    pub(super) metrics: Option<Spanned<String>>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) status: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MaxOverhead {
    pub(super) bulk: Option<Spanned<Word>>,
    pub(super) interactive: Option<Spanned<Word>>,
}

/// Lists of rules, such as `tcp/22`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Classes {
    pub(super) interactive: Option<Spanned<Texts>>,
    pub(super) bulk: Option<Spanned<Texts>>,
    pub(super) neutral: Option<Spanned<Texts>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Peer {
    pub(super) public_key: Option<Spanned<String>>,
    pub(super) preshared_key: Option<Spanned<String>>,
    pub(super) preshared_key_file: Option<Spanned<String>>,
    pub(super) endpoint: Option<Spanned<String>>,
    pub(super) allowed_ips: Option<Spanned<Texts>>,
    pub(super) keepalive: Option<Spanned<Word>>,
    pub(super) name: Option<Spanned<String>>,
}

/// A list of texts. A single text counts as a list of one text.
pub(super) enum Texts {
    One(String),
    Many(Vec<Spanned<String>>),
}

/// The texts of a setting with their places. Without the setting, the list is empty.
pub(super) fn texts(setting: Option<&Spanned<Texts>>) -> Vec<Spanned<String>> {
    match setting.map(|setting| (setting.span(), setting.get_ref())) {
        None => Vec::new(),
        Some((span, Texts::One(text))) => vec![Spanned::new(span, text.clone())],
        Some((_, Texts::Many(list))) => list.clone(),
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts, such as [\"10.77.0.1/24\"]")
    }

    fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Texts, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Texts::Many(list))
    }
}
