//! The integration tests of this crate, in real time: namespaces, devices, sockets and the kernel's TCP. They wait most of
//! the time, so `make test` runs them beside the tests that compute.

mod common;
mod daemon;
mod emulator;
mod netns;
mod transfer;
mod udp;
