//! Settings of former versions. Each is refused with what replaces it.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny};

/// The former setting `block` of a flow. No file may contain it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormerBlock;

impl<'de> Deserialize<'de> for FormerBlock {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FormerBlock, D::Error> {
        IgnoredAny::deserialize(from)?;
        Err(D::Error::custom(
            "a flow has no `block`: a block code is the code of a tunnel; add a [[tunnel]] with \
             `code = { block = { k = 32, n = 40 } }`, and name it in the flow's `tunnel`",
        ))
    }
}
