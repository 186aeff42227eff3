//! Compares the device with what is wanted, and restores what is missing.

use super::{PROTOCOL, Wish};
use crate::os::netlink::{Change, Netlink, Route, Target};
use crate::os::tun::restrict_ipv6;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

/// The metric of the IPv6 routes: the lowest that a route can ask for. So a route of another program to the same prefix
/// never comes first by its metric. A higher value lets such routes come first. IPv4 has 0.
const V6_METRIC: u32 = 1;

/// Restores one device.
#[derive(Debug)]
pub(super) struct Restorer {
    netlink: Netlink,
    /// The kernel's number of the device.
    index: u32,
    guard_metric: u32,
    /// What the last call has set: what is missing later was removed by somebody else.
    applied: Option<Wish>,
    /// The prefixes whose packets went into the device after the last call. Such a prefix is defended: a route of another
    /// program to the same prefix gets a place behind the route into the device.
    held: BTreeSet<IpNet>,
    /// The prefixes whose routes the kernel refuses.
    refused: BTreeSet<IpNet>,
    /// The prefixes to which another program has set a route since the last call, each with the lowest metric.
    rivals: BTreeMap<IpNet, u32>,
    /// Any prefix may have a rival, because notifications were lost.
    doubts_all: bool,
}

/// What one call has restored, after a change by another program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Restored {
    pub(super) brought_up: bool,
    pub(super) mtu: bool,
    pub(super) addresses: Vec<IpNet>,
    pub(super) routes: Vec<IpNet>,
}

impl Restorer {
    pub(super) fn new(netlink: Netlink, index: u32, guard_metric: u32) -> Restorer {
        Restorer {
            netlink,
            index,
            guard_metric,
            applied: None,
            held: BTreeSet::new(),
            refused: BTreeSet::new(),
            rivals: BTreeMap::new(),
            doubts_all: false,
        }
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// The device has another number now, because it was created again.
    pub(super) fn set_index(&mut self, index: u32) {
        self.index = index;
        self.applied = None;
    }

    pub(super) fn guard_metric(&self) -> u32 {
        self.guard_metric
    }

    /// Notes that another program has set a route to `prefix`. The next call looks whether that route comes first.
    pub(super) fn note_rival(&mut self, prefix: IpNet, metric: u32) {
        let lowest = self.rivals.entry(prefix).or_insert(metric);
        *lowest = metric.min(*lowest);
    }

    /// Notes that another program may have set routes to any prefix.
    pub(super) fn doubt_all(&mut self) {
        self.doubts_all = true;
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
                restored.addresses.push(address);
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

    /// Sets the missing routes, puts them before those of other programs, and removes those that are not wanted any more.
    /// Returns the prefixes whose route somebody else had removed or replaced.
    fn restore_routes(&mut self, wish: &Wish) -> io::Result<Vec<IpNet>> {
        let actual = self.netlink.routes(Some(self.index), PROTOCOL)?;
        let before = std::mem::take(&mut self.refused);
        let taken = self.taken(wish, &actual)?;
        for prefix in taken.iter().filter(|prefix| !self.held.contains(prefix)) {
            warn_of_refused(prefix, &io::ErrorKind::AlreadyExists.into(), &before);
            self.refused.insert(*prefix);
        }
        let (sets, removes) = self.compare(&actual, &taken, wish);
        let changes: Vec<Change> = sets.iter().cloned().chain(removes.into_iter().map(Change::RemoveRoute)).collect();
        let results = self.netlink.apply(&changes)?;
        let mut restored = BTreeSet::new();
        for (change, result) in sets.iter().zip(results) {
            let (Change::AddRoute(route) | Change::PutRoute(route)) = change else { continue };
            match result {
                Ok(()) if self.was_applied(&route.prefix) && !before.contains(&route.prefix) => {
                    restored.insert(route.prefix);
                }
                Ok(()) => {}
                // The device is gone, and is created again.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENETDOWN)) => {}
                Err(error) => {
                    warn_of_refused(&route.prefix, &error, &before);
                    self.refused.insert(route.prefix);
                }
            }
        }
        self.held = wish.routes.inside().filter(|prefix| !self.refused.contains(prefix)).collect();
        self.rivals.clear();
        self.doubts_all = false;
        Ok(restored.into_iter().collect())
    }

    /// The prefixes for which a route of another program comes before the route into the device.
    fn taken(&mut self, wish: &Wish, actual: &[Route]) -> io::Result<BTreeSet<IpNet>> {
        // The kernel makes the routes to the prefixes of addresses, and puts them behind those that exist.
        let connected = wish.routes.connected.iter().map(|(prefix, _)| *prefix);
        let doubtful: BTreeSet<IpNet> = if self.doubts_all {
            wish.routes.inside().collect()
        } else {
            connected.filter(|prefix| !self.held.contains(prefix)).collect()
        };
        let mut taken = self.netlink.taken(self.index, &doubtful)?;
        for route in actual.iter().filter(|route| self.leads(route)) {
            if self.rivals.get(&route.prefix).is_some_and(|metric| *metric <= route.metric) {
                taken.insert(route.prefix);
            }
        }
        // A route that is missing is set in any case.
        let routed = self.routed(actual);
        taken.retain(|prefix| routed.contains(prefix));
        Ok(taken)
    }

    /// The routes to set, the guard routes first, and the routes to remove, the guard routes last.
    fn compare(&self, actual: &[Route], taken: &BTreeSet<IpNet>, wish: &Wish) -> (Vec<Change>, Vec<Route>) {
        let guarded: BTreeSet<IpNet> = actual.iter().filter(|one| self.is_guard(one)).map(|one| one.prefix).collect();
        let routed = self.routed(actual);
        let mut sets = Vec::new();
        for prefix in wish.routes.inside().filter(|prefix| !guarded.contains(prefix)) {
            let (target, metric) = (Target::Unreachable, self.guard_metric);
            sets.push(Change::AddRoute(Route { prefix, target, metric, protocol: PROTOCOL }));
        }
        let connected = wish.routes.connected.iter().map(|(prefix, address)| (*prefix, Some(*address)));
        for (prefix, address) in connected.chain(wish.routes.routed.iter().map(|prefix| (*prefix, None))) {
            if self.refused.contains(&prefix) {
                continue;
            }
            let metric = if prefix.addr().is_ipv6() { V6_METRIC } else { 0 };
            let source = address.filter(IpAddr::is_ipv4);
            let target = Target::Device { index: self.index, source };
            let route = Route { prefix, target, metric, protocol: PROTOCOL };
            match (self.held.contains(&prefix), routed.contains(&prefix)) {
                (true, false) => sets.push(Change::PutRoute(route)),
                (false, false) => sets.push(Change::AddRoute(route)),
                (_, true) if taken.contains(&prefix) => {
                    let own = |one: &&Route| one.prefix == prefix && one.protocol == PROTOCOL && self.leads(one);
                    sets.extend(actual.iter().filter(own).copied().map(Change::RemoveRoute));
                    sets.push(Change::PutRoute(route));
                }
                (_, true) => {}
            }
        }
        let wanted: BTreeSet<IpNet> = wish.routes.inside().collect();
        let ours = actual.iter().filter(|route| route.protocol == PROTOCOL && !wanted.contains(&route.prefix));
        let (guards, others): (Vec<Route>, Vec<Route>) =
            ours.filter(|route| self.leads(route) || self.is_guard(route)).partition(|route| self.is_guard(route));
        (sets, others.into_iter().chain(guards).collect())
    }

    /// The prefixes that have a route into the device.
    fn routed(&self, actual: &[Route]) -> BTreeSet<IpNet> {
        actual.iter().filter(|route| self.leads(route)).map(|route| route.prefix).collect()
    }

    fn leads(&self, route: &Route) -> bool {
        matches!(route.target, Target::Device { index, .. } if index == self.index)
    }

    fn is_guard(&self, route: &Route) -> bool {
        route.target == Target::Unreachable && route.protocol == PROTOCOL && route.metric == self.guard_metric
    }

    fn was_applied(&self, prefix: &IpNet) -> bool {
        self.applied.as_ref().is_some_and(|applied| applied.routes.inside().any(|one| one == *prefix))
    }
}

/// Logs that a prefix gets no route, unless it got none `before`.
fn warn_of_refused(prefix: &IpNet, error: &io::Error, before: &BTreeSet<IpNet>) {
    if before.contains(prefix) {
        return;
    }
    let reason = match error.kind() {
        io::ErrorKind::AlreadyExists => {
            "another program has set a route to this prefix before; remove that route".to_owned()
        }
        _ => format!("{error}; set the routes yourself"),
    };
    tracing::warn!(%prefix, "no route set: {reason}");
}
