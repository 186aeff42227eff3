//! Safe wrappers of Linux interfaces: network namespaces ([`netns`]), TUN devices ([`tun`]), UDP in batches
//! ([`udp`]), counters of TCP connections ([`tcp`]), real-time threads ([`priority`]), and the command `ip`
//! ([`ip`]).

pub mod ip;
pub mod netns;
pub mod priority;
pub mod tcp;
pub mod tun;
pub mod udp;
