//! The integration tests of this crate. They are one program, because each program takes time to link. The tests in
//! `allocations.rs` are a program of their own: its allocator counts.

mod block;
mod lt;
mod lt_overhead;
mod oracle;
mod recoding;
