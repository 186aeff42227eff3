//! Daemons in namespaces, as `ripstop up` runs them: real devices, real sockets, the kernel's own TCP inside, and an
//! emulated link between them. Every wait is for a condition, and bounded; nothing asserts a time.

#[path = "../common/mod.rs"]
mod common;
mod desk;
mod hostile;
mod hosts;
mod inside;
mod mtu;
mod peers;
mod recovery;
mod settings;
mod traffic;
