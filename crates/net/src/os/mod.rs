//! Safe wrappers of Linux interfaces: a clock that goes on in a suspend ([`clock`]), waiting for many descriptors
//! ([`epoll`]), network namespaces ([`netns`]), TUN
//! devices ([`tun`]) with large segments ([`offload`]), UDP in batches ([`udp`]), counters of TCP connections ([`tcp`]),
//! real-time threads ([`priority`]), memory that was freed ([`heap`]), capabilities ([`privileges`]), files with settings ([`settings_file`]), addresses with
//! zones ([`zoned`]), links, addresses and routes through rtnetlink ([`netlink`]), and the command `ip` ([`ip`]).

pub mod clock;
pub mod epoll;
pub mod heap;
pub mod ip;
pub mod netlink;
pub mod netns;
pub mod offload;
pub mod priority;
pub mod privileges;
pub mod settings_file;
pub mod tcp;
pub mod tun;
pub mod udp;
pub mod zoned;
