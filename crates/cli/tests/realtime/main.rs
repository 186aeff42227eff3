//! The tests of the program in real time: daemons, demonstrations and the emulator. They wait most of the time, so
//! `make test` runs them beside the tests that compute, which are in `it`.

#[path = "../common/mod.rs"]
mod common;
mod demo;
mod emulate;
mod up;
