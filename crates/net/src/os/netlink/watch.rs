//! Notifications about changes of links, addresses and routes.

use super::messages::{self, Message};
use super::{ROOM, Target};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The groups of notifications: links, addresses of both families, routes of both families (`RTNLGRP_*` of
/// linux/rtnetlink.h).
const GROUPS: [u32; 5] = [1, 5, 9, 7, 11];

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
        Ok(Watch { socket, room: Vec::with_capacity(ROOM) })
    }

    /// Reads all notifications. Returns whether one of them is about the device `index`, or about a route that `protocol`
    /// has made. If the kernel has dropped notifications, the answer is true.
    pub fn concerns(&mut self, index: u32, protocol: u8) -> bool {
        let mut concerns = false;
        loop {
            self.room.clear();
            match self.socket.recv(&mut self.room, 0) {
                Ok(_) => concerns |= messages::split(&self.room).any(|one| is_about(one, index, protocol)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return concerns,
                // ENOBUFS: there were more notifications than the socket holds.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => concerns = true,
                Err(_) => return true,
            }
        }
    }
}

fn is_about(message: &[u8], index: u32, protocol: u8) -> bool {
    let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message) else { return false };
    let NetlinkPayload::InnerMessage(inner) = message.payload else { return false };
    match messages::read(inner) {
        Some(Message::Link(link)) => link.index == index,
        Some(Message::Address(device, _)) => device == index,
        Some(Message::Route(route)) => {
            route.protocol == protocol || matches!(route.target, Target::Device { index: to, .. } if to == index)
        }
        None => false,
    }
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
