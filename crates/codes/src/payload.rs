//! What a symbol carries.

/// placeholder until the coders land
pub struct Symbol;
/// placeholder until the coders land
pub struct Length;
/// placeholder until the coders land
pub struct Matrix;
/// placeholder until the coders land
pub trait Payload {}
