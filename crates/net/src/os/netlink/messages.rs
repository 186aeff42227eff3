//! Requests to rtnetlink, and what its messages mean here.

use super::watch::{Notice, RouteNotice};
use super::{Change, Link, Route, Target};
use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;

/// The length of the header of a message, in bytes.
const HEADER: usize = 16;

/// The part of a message that this module understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Link(Link),
    /// The number of a device, and its address.
    Address(u32, IpNet),
    /// A route of the main table.
    Route(Route),
}

/// The messages in these bytes. Ends at a message that is not whole.
pub(super) fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let message = rest.get(..len).filter(|message| message.len() >= HEADER)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The request for a change, and its flags.
pub(super) fn request_of(change: &Change) -> (RouteNetlinkMessage, u16) {
    match change {
        Change::AddRoute(route) => (RouteNetlinkMessage::NewRoute(message_of(route)), NLM_F_CREATE | NLM_F_EXCL),
        Change::PutRoute(route) => {
            let replace = if route.prefix.addr().is_ipv6() { NLM_F_REPLACE } else { 0 };
            (RouteNetlinkMessage::NewRoute(message_of(route)), NLM_F_CREATE | replace)
        }
        Change::RemoveRoute(route) => (RouteNetlinkMessage::DelRoute(message_of(route)), 0),
        Change::SetUp(index) => {
            let mut message = link_message(*index);
            message.header.flags = LinkFlags::Up;
            message.header.change_mask = LinkFlags::Up;
            (RouteNetlinkMessage::SetLink(message), 0)
        }
        Change::SetMtu(index, mtu) => (set_link(*index, LinkAttribute::Mtu(*mtu)), 0),
        Change::SetQueue(index, packets) => (set_link(*index, LinkAttribute::TxQueueLen(*packets)), 0),
        Change::AddAddress(index, address) => {
            let mut message = AddressMessage::default();
            message.header.family = family(address.addr().is_ipv6());
            message.header.prefix_len = address.prefix_len();
            message.header.index = *index;
            message.attributes =
                vec![AddressAttribute::Local(address.addr()), AddressAttribute::Address(address.addr())];
            (RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
        }
    }
}

/// The request for the list of devices.
pub(super) fn dump_of_links() -> RouteNetlinkMessage {
    RouteNetlinkMessage::GetLink(LinkMessage::default())
}

/// The request for the list of all addresses.
pub(super) fn dump_of_addresses() -> RouteNetlinkMessage {
    RouteNetlinkMessage::GetAddress(AddressMessage::default())
}

/// The request for the list of the main table's routes. The kernel may ignore the filters `device` and `made_by`.
pub(super) fn dump_of_routes(v6: bool, device: Option<u32>, made_by: Option<u8>) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(v6);
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = made_by.map_or(RouteProtocol::Unspec, RouteProtocol::from);
    message.attributes = device.map(RouteAttribute::Oif).into_iter().collect();
    RouteNetlinkMessage::GetRoute(message)
}

/// What an element of a list says. None for what is of no interest here.
pub(super) fn read(message: RouteNetlinkMessage) -> Option<Message> {
    match message {
        RouteNetlinkMessage::NewLink(link) => Some(Message::Link(link_of(&link))),
        RouteNetlinkMessage::NewAddress(address) => address_of(&address),
        RouteNetlinkMessage::NewRoute(route) => route_of(&route).map(Message::Route),
        _ => None,
    }
}

/// What a notification says. None for what is of no interest here.
pub(super) fn read_notice(message: RouteNetlinkMessage) -> Option<Notice> {
    match message {
        RouteNetlinkMessage::NewLink(link) | RouteNetlinkMessage::DelLink(link) => {
            Some(Notice::Link(link.header.index))
        }
        RouteNetlinkMessage::NewAddress(address) | RouteNetlinkMessage::DelAddress(address) => {
            Some(Notice::Link(address.header.index))
        }
        RouteNetlinkMessage::NewRoute(route) => notice_of(&route, true),
        RouteNetlinkMessage::DelRoute(route) => notice_of(&route, false),
        _ => None,
    }
}

fn link_of(message: &LinkMessage) -> Link {
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        is_up: message.header.flags.contains(LinkFlags::Up),
        mtu: 0,
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            _ => {}
        }
    }
    link
}

fn address_of(message: &AddressMessage) -> Option<Message> {
    // For a device to one other host, `Address` is the other host's address, and `Local` this host's.
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = local.or_else(|| {
        message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    });
    Some(Message::Address(message.header.index, IpNet::new(address?, message.header.prefix_len).ok()?))
}

/// None for a route with several next hops, or of another kind.
fn route_of(message: &RouteMessage) -> Option<Route> {
    let RouteParts { prefix, metric, device, source } = parts_of(message)?;
    let target = match message.header.kind {
        RouteType::Unicast => Target::Device { index: device?, source },
        RouteType::Unreachable => Target::Unreachable,
        _ => return None,
    };
    Some(Route { prefix, target, metric, protocol: message.header.protocol.into() })
}

fn notice_of(message: &RouteMessage, is_set: bool) -> Option<Notice> {
    let RouteParts { prefix, metric, device, .. } = parts_of(message)?;
    let protocol = message.header.protocol.into();
    Some(Notice::Route(RouteNotice { prefix, metric, device, protocol, is_set }))
}

/// What all kinds of routes have.
struct RouteParts {
    prefix: IpNet,
    metric: u32,
    device: Option<u32>,
    source: Option<IpAddr>,
}

/// None for a route of another table than the main table.
fn parts_of(message: &RouteMessage) -> Option<RouteParts> {
    let header = &message.header;
    let v6 = match header.address_family {
        AddressFamily::Inet => false,
        AddressFamily::Inet6 => true,
        _ => return None,
    };
    let mut address: IpAddr = if v6 { [0_u16; 8].into() } else { [0_u8; 4].into() };
    let (mut metric, mut table, mut device, mut source) = (0, u32::from(header.table), None, None);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(to) => address = ip_of(to)?,
            RouteAttribute::PrefSource(from) => source = ip_of(from),
            RouteAttribute::Priority(priority) => metric = *priority,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Oif(index) => device = Some(*index),
            _ => {}
        }
    }
    let prefix = IpNet::new(address, header.destination_prefix_length).ok()?;
    (table == u32::from(RouteHeader::RT_TABLE_MAIN)).then_some(RouteParts { prefix, metric, device, source })
}

fn ip_of(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}

fn message_of(route: &Route) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(route.prefix.addr().is_ipv6());
    message.header.destination_prefix_length = route.prefix.prefix_len();
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = route.protocol.into();
    message.attributes.push(RouteAttribute::Destination(route.prefix.network().into()));
    if route.metric != 0 {
        message.attributes.push(RouteAttribute::Priority(route.metric));
    }
    match route.target {
        Target::Device { index, source } => {
            message.header.kind = RouteType::Unicast;
            message.header.scope = RouteScope::Link;
            message.attributes.push(RouteAttribute::Oif(index));
            message.attributes.extend(source.map(|source| RouteAttribute::PrefSource(source.into())));
        }
        Target::Unreachable => {
            message.header.kind = RouteType::Unreachable;
            message.header.scope = RouteScope::Universe;
        }
    }
    message
}

fn link_message(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

fn set_link(index: u32, attribute: LinkAttribute) -> RouteNetlinkMessage {
    let mut message = link_message(index);
    message.attributes.push(attribute);
    RouteNetlinkMessage::SetLink(message)
}

fn family(v6: bool) -> AddressFamily {
    if v6 { AddressFamily::Inet6 } else { AddressFamily::Inet }
}
