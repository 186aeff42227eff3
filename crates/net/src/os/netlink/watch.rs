//! Notifications about changes of links, addresses and routes.

use super::{ROOM, messages};
use ipnet::IpNet;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The groups of notifications: links, addresses of both families, routes of both families (`RTNLGRP_*` of
/// linux/rtnetlink.h).
const GROUPS: [u32; 5] = [1, 5, 9, 7, 11];
/// Room for notifications in the kernel, in bytes: those of about 8000 routes, which take 1 kB each. With half the value,
/// a program that sets 5000 routes at once makes [`Notice::Missed`]. Double the value has no effect on this host's own
/// routes.
const QUEUE: usize = 8 << 20;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The link with this number, or one of its addresses.
    Link(u32),
    /// A route of the main table.
    Route(RouteNotice),
    /// The kernel has dropped notifications, because there were more than the socket holds.
    Missed,
}

/// A route that was set or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteNotice {
    /// The destinations.
    pub prefix: IpNet,
    /// Of several routes to one prefix, the kernel uses the one with the lowest metric.
    pub metric: u32,
    /// The device through which packets leave. None: there are several next hops, or the route refuses packets.
    pub device: Option<u32>,
    /// Who has made the route, by a number of rtnetlink(7), `rtm_protocol`.
    pub protocol: u8,
    /// Whether the route was set. A route that takes the place of another one is set; the other is not said to be removed.
    pub is_set: bool,
}

/// A descriptor that becomes readable when a link, an address or a route has changed.
pub struct Watch {
    socket: Socket,
    room: Vec<u8>,
}

impl Watch {
    /// Watches the network namespace of the calling thread.
    ///
    /// # Errors
    /// The system's error.
    pub fn open() -> io::Result<Watch> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        socket.set_non_blocking(true)?;
        let watch = Watch { socket, room: Vec::with_capacity(ROOM) };
        // Without the right to do so, notifications are lost earlier, which `Notice::Missed` repairs.
        let _ = setsockopt(&watch, sockopt::RcvBufForce, &QUEUE);
        Ok(watch)
    }

    /// Calls `take` for all notifications that have arrived.
    pub fn read(&mut self, mut take: impl FnMut(Notice)) {
        loop {
            self.room.clear();
            match self.socket.recv(&mut self.room, 0) {
                Ok(_) => messages::split(&self.room).filter_map(notice_in).for_each(&mut take),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => take(Notice::Missed),
                Err(_) => return take(Notice::Missed),
            }
        }
    }
}

fn notice_in(message: &[u8]) -> Option<Notice> {
    let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message).ok()?;
    let NetlinkPayload::InnerMessage(inner) = message.payload else { return None };
    messages::read_notice(inner)
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        #[allow(unsafe_code, reason = "the socket lends its descriptor only as a number")]
        // SAFETY: the socket owns the descriptor and lives as long as the borrow of `self`.
        unsafe {
            BorrowedFd::borrow_raw(self.socket.as_raw_fd())
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
