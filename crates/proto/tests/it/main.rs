//! The integration tests of this crate. They are one program, because each program takes time to link. Tests of memory are
//! programs of their own: a counting allocator, or the memory of the process, is the program's.

mod arbitrary;
mod block_code;
mod bounds;
mod endpoint;
mod inner;
mod network;
mod secure;
mod wire;
