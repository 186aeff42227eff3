//! Daemons in namespaces, as `ripstop up` runs them: real devices and sockets, the kernel's own TCP inside,
//! and an emulated link between them. Every wait is for a condition and has a limit; no test asserts a
//! duration.

mod alerts;
mod check;
mod codes;
mod counters;
mod device;
mod early_acks;
mod hostile;
mod hosts;
mod inside;
mod liveness;
mod log_table;
mod mtu;
mod peers;
mod recovery;
mod settings;
mod status_server;
mod stuck_nat;
mod traffic;
