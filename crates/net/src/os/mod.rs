//! What Linux offers, made safe and small: network namespaces ([`netns`]), TUN devices ([`tun`]),
//! UDP in batches ([`udp`]), threads that keep time ([`priority`]), and the command `ip` for the rest ([`ip`]).

pub mod ip;
pub mod netns;
pub mod priority;
pub mod tun;
pub mod udp;
