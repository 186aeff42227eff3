//! Strategies that several test files share.

pub(crate) mod arbitrary;
