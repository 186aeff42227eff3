//! Compares the device with what is wanted, and restores what is missing.

use super::{PROTOCOL, Wish};
use crate::os::netlink::{Change, Netlink, Route, Target};
use crate::os::tun::restrict_ipv6;
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// The metric of the IPv6 route to the prefix of an address, as the kernel sets it.
const V6_CONNECTED_METRIC: u32 = 256;

/// Restores one device.
#[derive(Debug)]
pub(super) struct Restorer {
    netlink: Netlink,
    /// The kernel's number of the device.
    index: u32,
    guard_metric: u32,
    /// What the last call has set: what is missing later was removed by somebody else.
    applied: Option<Wish>,
    /// The prefixes whose routes the kernel refuses.
    refused: BTreeSet<IpNet>,
}

/// What one call has restored, after a change by another program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Restored {
    pub(super) brought_up: bool,
    pub(super) mtu: bool,
    pub(super) addresses: u64,
    pub(super) routes: u64,
}

impl Restorer {
    pub(super) fn new(netlink: Netlink, index: u32, guard_metric: u32) -> Restorer {
        Restorer { netlink, index, guard_metric, applied: None, refused: BTreeSet::new() }
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// The device has another number now, because it was created again.
    pub(super) fn set_index(&mut self, index: u32) {
        self.index = index;
        self.applied = None;
    }

    /// The prefixes whose routes the kernel refuses.
    pub(super) fn refused(&self) -> &BTreeSet<IpNet> {
        &self.refused
    }

    /// Brings the device and its routes into the wanted state. Returns what somebody else had changed; None if the
    /// device does not exist in this namespace any more.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub(super) fn restore(&mut self, wish: &Wish) -> io::Result<Option<Restored>> {
        let Some(link) = self.netlink.link(self.index)? else {
            // Packets must be refused until there is a device again.
            self.restore_routes(wish)?;
            return Ok(None);
        };
        let mut restored = Restored::default();
        let is_right = self.applied.as_ref().is_some_and(|applied| applied.mtu == wish.mtu);
        if link.mtu != wish.mtu && self.apply_one(Change::SetMtu(self.index, wish.mtu), "the MTU was not set") {
            restored.mtu = is_right;
        }
        if !link.is_up && self.apply_one(Change::SetUp(self.index), "the device was not brought up") {
            restored.brought_up = true;
        }
        let present = self.netlink.addresses(self.index)?;
        let missing: Vec<IpNet> = wish.addresses.iter().copied().filter(|one| !present.contains(one)).collect();
        if missing.iter().any(|address| address.addr().is_ipv6()) {
            // An MTU below 1280, or `disable_ipv6`, has switched IPv6 off on the device.
            restrict_ipv6(&link.name, true);
        }
        for address in missing {
            if self.apply_one(Change::AddAddress(self.index, address), "an address of the device was not set") {
                restored.addresses += 1;
            }
        }
        restored.routes = self.restore_routes(wish)?;
        self.applied = Some(wish.clone());
        Ok(Some(restored))
    }

    /// Removes the guard routes.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub(super) fn remove_guards(&mut self) -> io::Result<()> {
        let routes = self.netlink.routes(None, PROTOCOL)?;
        let guards = routes.into_iter().filter(|route| self.is_guard(route));
        let changes: Vec<Change> = guards.map(Change::RemoveRoute).collect();
        self.netlink.apply(&changes).map(drop)
    }

    /// Makes a change, and logs why it failed. Returns whether it was made.
    fn apply_one(&mut self, change: Change, problem: &str) -> bool {
        let result = self.netlink.apply(std::slice::from_ref(&change));
        match result.and_then(|results| results.into_iter().collect()) {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(?change, %error, "{problem}");
                false
            }
        }
    }

    /// Sets the missing routes, and removes those that are not wanted any more. Returns how many routes somebody else had
    /// removed.
    fn restore_routes(&mut self, wish: &Wish) -> io::Result<u64> {
        let actual = self.netlink.routes(Some(self.index), PROTOCOL)?;
        let (adds, removes) = self.compare(&actual, wish);
        let changes: Vec<Change> =
            adds.iter().copied().map(Change::AddRoute).chain(removes.into_iter().map(Change::RemoveRoute)).collect();
        let results = self.netlink.apply(&changes)?;
        let before = std::mem::take(&mut self.refused);
        let mut restored = 0;
        for (route, result) in adds.iter().zip(results) {
            match result {
                Ok(()) => restored += u64::from(self.was_applied(&route.prefix) && !before.contains(&route.prefix)),
                // The device is gone, and is created again.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENETDOWN)) => {}
                Err(error) => {
                    if !before.contains(&route.prefix) {
                        warn_of_refused(&route.prefix, &error);
                    }
                    self.refused.insert(route.prefix);
                }
            }
        }
        Ok(restored)
    }

    /// The routes to add, the guard routes first, and the routes to remove, the guard routes last.
    fn compare(&self, actual: &[Route], wish: &Wish) -> (Vec<Route>, Vec<Route>) {
        let leads = |route: &&Route| matches!(route.target, Target::Device { index, .. } if index == self.index);
        let guarded: BTreeSet<IpNet> = actual.iter().filter(|one| self.is_guard(one)).map(|one| one.prefix).collect();
        let routed: BTreeSet<IpNet> = actual.iter().filter(leads).map(|route| route.prefix).collect();
        let through = |prefix: IpNet, metric, source| {
            let target = Target::Device { index: self.index, source };
            Route { prefix, target, metric, protocol: PROTOCOL }
        };
        let guards = wish.routes.inside().filter(|prefix| !guarded.contains(prefix)).map(|prefix| Route {
            prefix,
            target: Target::Unreachable,
            metric: self.guard_metric,
            protocol: PROTOCOL,
        });
        let connected = wish.routes.connected.iter().map(|(prefix, address)| match address {
            IpAddr::V4(_) => through(*prefix, 0, Some(*address)),
            IpAddr::V6(_) => through(*prefix, V6_CONNECTED_METRIC, None),
        });
        let others = wish.routes.routed.iter().map(|prefix| through(*prefix, 0, None));
        let adds = guards.chain(connected.chain(others).filter(|route| !routed.contains(&route.prefix))).collect();
        let wanted: BTreeSet<IpNet> = wish.routes.inside().collect();
        let ours = actual.iter().filter(|route| route.protocol == PROTOCOL && !wanted.contains(&route.prefix));
        let (guards, others): (Vec<Route>, Vec<Route>) =
            ours.filter(|route| leads(route) || self.is_guard(route)).partition(|route| self.is_guard(route));
        (adds, others.into_iter().chain(guards).collect())
    }

    fn is_guard(&self, route: &Route) -> bool {
        route.target == Target::Unreachable && route.protocol == PROTOCOL && route.metric == self.guard_metric
    }

    fn was_applied(&self, prefix: &IpNet) -> bool {
        self.applied.as_ref().is_some_and(|applied| applied.routes.inside().any(|one| one == *prefix))
    }
}

fn warn_of_refused(prefix: &IpNet, error: &io::Error) {
    let reason = match error.kind() {
        io::ErrorKind::AlreadyExists => "another route to this prefix exists".to_owned(),
        _ => error.to_string(),
    };
    tracing::warn!(%prefix, "no route set: {reason}; remove it, or set the routes yourself");
}
