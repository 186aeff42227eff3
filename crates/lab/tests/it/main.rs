//! The integration tests of this crate. They are one program, because each program takes time to link.

mod shares;
mod trial;
