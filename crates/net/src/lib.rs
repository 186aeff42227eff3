//! The edge to the operating system: the only crate that reads clocks and opens devices.
//!
//! [`os`] wraps what Linux offers (network namespaces, TUN devices); [`emulate`] runs
//! [`ripstop_link`] between two namespaces in real time.

#[cfg(not(target_os = "linux"))]
compile_error!("ripstop-net needs Linux: network namespaces and TUN devices");

pub mod emulate;
pub mod os;
