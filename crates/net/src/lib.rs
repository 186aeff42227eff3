//! The edge to the operating system: the only crate that reads clocks and opens devices.
//!
//! [`os`] wraps interfaces of Linux: network namespaces, TUN devices, UDP in batches. [`emulate`]
//! runs the link model [`ripstop_link`], which the simulator also uses, between two namespaces in
//! real time. [`daemon`] runs one end of the tunnel, and [`log`] is its log. [`workload`] sends traffic with the kernel's
//! own TCP between two namespaces. [`testbed`] combines these modules: two hosts, a link, and
//! measurements of the traffic over the link. [`speed`] times the tunnel's computations on this
//! machine.

// A write to a full or closed standard error would panic: `log` and the callers write what people read.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

#[cfg(not(target_os = "linux"))]
compile_error!("ripstop-net needs Linux: network namespaces and TUN devices");

pub mod daemon;
pub mod emulate;
pub mod log;
pub mod os;
pub mod speed;
pub mod testbed;
mod worker;
pub mod workload;
