//! Links, addresses and routes through rtnetlink, the interface that the command `ip` uses. Many changes share one
//! system call, and no process is started.
//!
//! [`Netlink`] asks and changes. [`Watch`] becomes readable when something has changed, whoever changed it. Both stay in
//! the network namespace of the thread that opened them.

mod messages;
mod watch;

pub use watch::{Notice, RouteNotice, Watch};

use ipnet::IpNet;
use messages::{Message, dump_of_addresses, dump_of_links, dump_of_routes, request_of};
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

/// How many changes are sent in one system call. The kernel queues an answer of about 800 bytes to each of them, and the
/// socket has room for 200 kB. With half the value, 1500 routes take 47 calls instead of 24. At four times the value, the
/// answers may not fit.
const BATCH: usize = 64;
/// Room for what the kernel sends in one call: 32 kB, the longest part of a list that it makes. With half the value, the
/// kernel makes shorter parts. Double the value has no effect.
const ROOM: usize = 32_768;

/// A socket to the kernel's tables of links, addresses and routes.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    room: Vec<u8>,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number of the device. The number stays when the device gets another name.
    pub index: u32,
    /// The device's name.
    pub name: String,
    /// Whether the device is up.
    pub is_up: bool,
    /// The MTU in bytes.
    pub mtu: u32,
}

/// A route of the main table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// The destinations. The host bits are zero.
    pub prefix: IpNet,
    /// What happens to the packets.
    pub target: Target,
    /// Of several routes to one prefix, the kernel uses the one with the lowest metric. 0 lets the kernel choose the
    /// metric for IPv6 (1024).
    pub metric: u32,
    /// Who has made the route, by a number of rtnetlink(7), `rtm_protocol`.
    pub protocol: u8,
}

/// What a route does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// They leave through the device with this number.
    Device {
        /// The device.
        index: u32,
        /// The source address of packets whose sender has chosen none.
        source: Option<IpAddr>,
    },
    /// They are refused, and their sender gets an error: "No route to host".
    Unreachable,
}

/// A change of the kernel's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds a route. Refused with [`io::ErrorKind::AlreadyExists`] if there is a route to the same prefix with this metric.
    AddRoute(Route),
    /// Sets a route before all other routes to the same prefix with this metric. An IPv6 route takes the place of another one
    /// with this metric, because the kernel gives such routes no order.
    PutRoute(Route),
    /// Removes a route.
    RemoveRoute(Route),
    /// Brings the device with this number up.
    SetUp(u32),
    /// Sets the MTU of the device with this number.
    SetMtu(u32, u32),
    /// Sets the length of the queue of the device with this number, in packets.
    SetQueue(u32, u32),
    /// Gives the device with this number an address.
    AddAddress(u32, IpNet),
}

impl Netlink {
    /// Opens a socket in the network namespace of the calling thread. Changes need CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The system's error.
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Both save time and are missing in old kernels: short answers, and lists that the kernel filters.
        let _ = socket.set_cap_ack(true);
        let _ = socket.set_netlink_get_strict_chk(true);
        Ok(Netlink { socket, sequence: 0, room: Vec::with_capacity(ROOM) })
    }

    /// Makes the changes in this order, and returns the result of each.
    ///
    /// # Errors
    /// The system's error if the kernel cannot be asked at all.
    pub fn apply(&mut self, changes: &[Change]) -> io::Result<Vec<io::Result<()>>> {
        let mut results = Vec::with_capacity(changes.len());
        for batch in changes.chunks(BATCH) {
            let first = self.sequence.wrapping_add(1);
            let mut bytes = Vec::new();
            for change in batch {
                let (message, flags) = request_of(change);
                self.append(&mut bytes, message, flags | NLM_F_ACK);
            }
            self.socket.send(&bytes, 0)?;
            let mut answers: Vec<Option<io::Result<()>>> = batch.iter().map(|_| None).collect();
            while answers.iter().any(Option::is_none) {
                self.receive(|sequence, payload| {
                    let place = answers.get_mut(sequence.wrapping_sub(first) as usize);
                    if let (Some(place), NetlinkPayload::Error(error)) = (place, payload) {
                        *place = Some(result_of(error.code.map(|code| code.get())));
                    }
                    true
                })?;
            }
            results.extend(answers.into_iter().flatten());
        }
        Ok(results)
    }

    /// The device with this name.
    ///
    /// # Errors
    /// The system's error. A device that does not exist is no error.
    pub fn link_named(&mut self, name: &str) -> io::Result<Option<Link>> {
        Ok(self.links()?.into_iter().find(|link| link.name == name))
    }

    /// The device with this number.
    ///
    /// # Errors
    /// The system's error. A device that does not exist is no error.
    pub fn link(&mut self, index: u32) -> io::Result<Option<Link>> {
        Ok(self.links()?.into_iter().find(|link| link.index == index))
    }

    /// The addresses of the device with this number.
    ///
    /// # Errors
    /// The system's error.
    pub fn addresses(&mut self, index: u32) -> io::Result<Vec<IpNet>> {
        let mut addresses = Vec::new();
        self.list(dump_of_addresses(), |message| {
            if let Message::Address(device, address) = message
                && device == index
            {
                addresses.push(address);
            }
        })?;
        Ok(addresses)
    }

    /// The routes of the main table that lead to the device `index`, and those that `protocol` has made.
    ///
    /// # Errors
    /// The system's error.
    pub fn routes(&mut self, index: Option<u32>, protocol: u8) -> io::Result<Vec<Route>> {
        let mut routes = Vec::new();
        let leads = |route: &Route| matches!(route.target, Target::Device { index: to, .. } if Some(to) == index);
        for v6 in [false, true] {
            let filters = [index.map(|index| (Some(index), None)), Some((None, Some(protocol)))];
            for (device, made_by) in filters.into_iter().flatten() {
                let asked = self.list(dump_of_routes(v6, device, made_by), |message| {
                    if let Message::Route(route) = message
                        && (leads(&route) || route.protocol == protocol)
                        && !routes.contains(&route)
                    {
                        routes.push(route);
                    }
                });
                match asked {
                    // The device is gone, or the kernel has no IPv6.
                    Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EAFNOSUPPORT)) => {}
                    other => other?,
                }
            }
        }
        Ok(routes)
    }

    /// Those of `prefixes` whose packets the main table sends elsewhere than to the device `index`, although a route to this
    /// device may exist. Reads the whole table, which takes about a second for a million routes.
    ///
    /// # Errors
    /// The system's error.
    pub fn taken(&mut self, index: u32, prefixes: &BTreeSet<IpNet>) -> io::Result<BTreeSet<IpNet>> {
        let mut first: BTreeMap<IpNet, RouteNotice> = BTreeMap::new();
        for v6 in [false, true] {
            if !prefixes.iter().any(|prefix| prefix.addr().is_ipv6() == v6) {
                continue;
            }
            self.list_all(dump_of_routes(v6, None, None), |message| {
                let Some(Notice::Route(route)) = messages::read_notice(message) else { return };
                // The kernel lists IPv4 routes with the same metric in the order in which it uses them. For IPv6 there is
                // no order, so the route of another program counts as the first.
                let precedes = |known: &RouteNotice| {
                    (route.metric, v6 && route.device == Some(index))
                        < (known.metric, v6 && known.device == Some(index))
                };
                if prefixes.contains(&route.prefix) && first.get(&route.prefix).is_none_or(precedes) {
                    first.insert(route.prefix, route);
                }
            })?;
        }
        Ok(first.into_values().filter(|route| route.device != Some(index)).map(|route| route.prefix).collect())
    }

    fn links(&mut self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        self.list(dump_of_links(), |message| {
            if let Message::Link(link) = message {
                links.push(link);
            }
        })?;
        Ok(links)
    }

    /// Asks for a list, and calls `take` for each of its elements that are of interest.
    fn list(&mut self, message: RouteNetlinkMessage, mut take: impl FnMut(Message)) -> io::Result<()> {
        self.list_all(message, |element| {
            if let Some(element) = messages::read(element) {
                take(element);
            }
        })
    }

    /// Asks for a list, and calls `take` for each of its elements.
    fn list_all(&mut self, message: RouteNetlinkMessage, mut take: impl FnMut(RouteNetlinkMessage)) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.append(&mut bytes, message, NLM_F_DUMP);
        self.socket.send(&bytes, 0)?;
        let (wanted, mut end) = (self.sequence, None);
        while end.is_none() {
            self.receive(|sequence, payload| {
                match payload {
                    _ if sequence != wanted => {}
                    NetlinkPayload::InnerMessage(inner) => take(inner),
                    NetlinkPayload::Done(done) => end = Some(result_of(Some(done.code).filter(|code| *code != 0))),
                    NetlinkPayload::Error(error) => end = Some(result_of(error.code.map(|code| code.get()))),
                    _ => {}
                }
                end.is_none()
            })?;
        }
        end.unwrap_or(Ok(()))
    }

    /// Appends a request with a new sequence number.
    fn append(&mut self, bytes: &mut Vec<u8>, message: RouteNetlinkMessage, flags: u16) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let start = bytes.len();
        bytes.resize(start + request.buffer_len().next_multiple_of(4), 0);
        request.serialize(&mut bytes[start..]);
    }

    /// Receives once, and calls `take` with the sequence number and the content of each message until it returns false.
    fn receive(&mut self, mut take: impl FnMut(u32, NetlinkPayload<RouteNetlinkMessage>) -> bool) -> io::Result<()> {
        self.room.clear();
        match self.socket.recv(&mut self.room, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            result => result?,
        };
        for message in messages::split(&self.room) {
            // A message that this library does not understand is not one that was asked for.
            if let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message)
                && !take(message.header.sequence_number, message.payload)
            {
                break;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Netlink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Netlink").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

/// The kernel's answer: a negative error number, or none.
fn result_of(code: Option<i32>) -> io::Result<()> {
    match code {
        Some(code) => Err(io::Error::from_raw_os_error(code.wrapping_abs())),
        None => Ok(()),
    }
}
