//! The look-ups of peers' endpoints: of host names, and of all endpoints while the peer is unreachable.
//!
//! A name that has several addresses is tried at one address after the other, until the peer answers. Look-ups that fail
//! are repeated. All of them together are limited in rate, so that thousands of names do not burden the name server. When
//! a look-up succeeds after a time without success, or after look-ups without an answer, the name server works again, and all
//! failed look-ups are due at once.

use super::network::Network;
use super::peer_state::PeerState;
use crate::daemon::resolve::{Answer, LookupCounters, Resolver};
use crate::log::{Admitted, LineLimit};
use nix::sys::eventfd::EventFd;
use ripstop_base::Time;
use ripstop_proto::endpoint::Endpoint;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Time between two look-ups of a peer's endpoint while the peer is unreachable. A changed DNS entry is noticed after this
/// time at the latest. Half the value doubles the load on the name server. The load is small with both values.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
/// The wait before the first repetition of a failed look-up. Each further wait is 1 s longer, up to [`LONGEST_RETRY`].
const RETRY_STEP: Duration = Duration::from_secs(1);
/// The longest wait before the repetition of a failed look-up while few names fail. A name that resolves late is used after
/// this time and the time of a look-up, 5 s in all. Half the value doubles the load on the name server, double the value
/// the delay.
const LONGEST_RETRY: Duration = Duration::from_secs(3);
/// The least time between two repetitions without an answer, for all names together: five a second. While the name server is
/// silent, they keep 10 of the 16 threads busy. With half the value, the threads do not suffice. With double the value, it takes twice
/// as long until the last of several names that fail for reasons of their own is asked again.
const RETRY_SPACING: Duration = Duration::from_millis(200);
/// The same while the name server answers that names do not exist: 50 a second. So 200 such names are asked for every 4 s,
/// and 5000 every 100 s. Half the value doubles the load on the name server.
const QUICK_SPACING: Duration = Duration::from_millis(20);
/// A look-up that fails after this time had no answer. The system's resolver waits for 1 s or longer. With half the value, a
/// slow answer counts as none. With double the value, a name server that is silent for a moment is not noticed.
const NO_ANSWER: Duration = Duration::from_secs(1);
/// The least time between two moments at which the name server works again. With half the value, a name server that answers
/// one question in ten is asked twice as often. Double the value delays names by 1 s after two failures of the name server.
const RECOVERY: Duration = Duration::from_secs(1);
/// If no look-up has succeeded for this time, a success means that the name server works again. With half the value, names
/// that do not exist are asked for more often. With double the value, a short failure of the name server is repaired
/// more slowly.
const NO_SUCCESS: Duration = Duration::from_secs(5);
/// How long a peer's address is tried before the next one, if the peer has never answered: 1 s, four tries of the
/// handshake. With half the value, peers behind 500 ms are tried at the next address in vain. Double the value doubles the
/// delay behind a dead address.
const FIRST_TRY: Duration = Duration::from_secs(1);
/// The same, after the peer has become unreachable.
const LATER_TRY: Duration = Duration::from_secs(3);
/// The least time between two log lines about names that cannot be resolved; it doubles up to [`LONGEST_LOG_INTERVAL`].
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// The longest time between two of these lines. Double the value says half as often that a name is still not resolved.
const LONGEST_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The look-ups of all peers.
#[derive(Debug)]
pub(super) struct Lookups {
    /// The times of the next look-ups, and the indices of the peers: all `next_lookup` of the peers.
    due: BTreeSet<(Time, usize)>,
    resolver: Resolver,
    /// The number of peers whose last look-up has failed.
    failed: usize,
    /// The last success.
    succeeded: Option<Time>,
    /// When the name server last worked again.
    recovered: Option<Time>,
    /// The last failure without an answer.
    unanswered: Option<Time>,
    /// When the next line about failures may be logged, and the time until the one after it.
    log: (Time, Duration),
    /// The limits of lines about addresses that are tried, and about peers without a usable address.
    tried: LineLimit,
    unusable: LineLimit,
}

impl Lookups {
    /// Nothing is due yet. An answer wakes the packet thread by `wakeup`.
    pub(super) fn new(wakeup: Arc<EventFd>) -> Lookups {
        Lookups {
            due: BTreeSet::new(),
            resolver: Resolver::new(wakeup),
            failed: 0,
            succeeded: None,
            recovered: None,
            unanswered: None,
            log: (Time::ZERO, Duration::ZERO),
            tried: LineLimit::default(),
            unusable: LineLimit::default(),
        }
    }

    /// How many look-ups there were.
    pub(super) fn counts(&self) -> LookupCounters {
        self.resolver.counts()
    }

    /// When the next look-up is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes over the times of the peers' next look-ups, after the peers have changed.
    pub(super) fn follow(&mut self, peers: &[PeerState]) {
        let peers = peers.iter().enumerate();
        self.due = peers.filter_map(|(index, peer)| Some((peer.next_lookup?, index))).collect();
    }

    /// Starts the look-ups of peers' endpoints that are due, and uses the answers that have come.
    pub(super) fn advance(&mut self, now: Time, endpoint: &mut Endpoint, network: &Network, peers: &mut [PeerState]) {
        while let Some((at, index)) = self.due.first().copied()
            && at <= now
        {
            self.schedule(peers, index, None);
            let Some(peer) = peers.get_mut(index) else { continue };
            if let Some(next) = peer.untried.pop_front() {
                self.try_address(now, endpoint, peers, index, next);
            } else if let Some(name) = peer.configured.as_ref().filter(|_| peer.asked.is_none()) {
                peer.asked = Some(now);
                self.resolver.ask(index, name);
            }
        }
        while let Some(answer) = self.resolver.poll() {
            self.take(now, endpoint, network, peers, answer);
        }
    }

    /// Uses the answer to a look-up.
    fn take(&mut self, now: Time, endpoint: &mut Endpoint, network: &Network, peers: &mut [PeerState], answer: Answer) {
        let index = answer.peer;
        let Some(peer) = peers.get_mut(index).filter(|peer| peer.awaits(&answer)) else { return };
        let asked = peer.asked.take();
        let addresses = match answer.addresses {
            Ok(addresses) => addresses,
            Err(error) => return self.note_failure(now, peers, index, asked, &error),
        };
        let known = endpoint.peer_address(peer.id);
        // Datagrams to an address inside the tunnel would enter the tunnel. The routes stay: otherwise who answers
        // for this name could lead the packets for another peer's network elsewhere.
        let is_inside = |address: &SocketAddr| endpoint.is_inside(address.ip());
        let inside = addresses.iter().copied().find(is_inside);
        let is_usable = |address: &SocketAddr| network.udp.reaches(address) && !is_inside(address);
        let usable = addresses.into_iter().filter(is_usable).collect();
        peer.untried = peer.in_turn(usable, known);
        match peer.untried.pop_front() {
            Some(first) => self.try_address(now, endpoint, peers, index, first),
            None => {
                if let Some(Admitted { left_out }) = self.unusable.admit() {
                    match inside {
                        None => tracing::warn!(
                            peer = %peer.name,
                            left_out,
                            "the peer's endpoint has no address that this host can reach"
                        ),
                        Some(address) => tracing::warn!(
                            peer = %peer.name,
                            %address,
                            left_out,
                            "the peer's endpoint resolves to an address in a prefix that is routed into the tunnel, so it is not \
                             called; write the address as `endpoint`, or a smaller prefix in `allowed-ips`"
                        ),
                    }
                }
                self.schedule(peers, index, Some(now + RESOLVE_INTERVAL));
            }
        }
        self.note_success(now, peers, index);
    }

    /// Sets when to look up the endpoint of the peer with this index, or to try its next address; None: neither is needed.
    pub(super) fn schedule(&mut self, peers: &mut [PeerState], index: usize, at: Option<Time>) {
        let Some(peer) = peers.get_mut(index) else { return };
        let at = at.filter(|_| peer.configured.is_some());
        if let Some(before) = std::mem::replace(&mut peer.next_lookup, at) {
            self.due.remove(&(before, index));
        }
        self.due.extend(at.map(|at| (at, index)));
    }

    /// Sends to this address of a peer from now on. If the peer does not answer, its next address is tried later.
    fn try_address(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        peers: &mut [PeerState],
        index: usize,
        to: SocketAddr,
    ) {
        let Some(peer) = peers.get_mut(index) else { return };
        let known = endpoint.peer_address(peer.id);
        if peer.connected.is_some() && !peer.unreachable {
            peer.untried.clear();
        }
        let next = match (peer.unreachable, peer.untried.is_empty()) {
            (false, true) => None,
            (false, false) => Some(FIRST_TRY),
            (true, true) => Some(RESOLVE_INTERVAL),
            (true, false) => Some(LATER_TRY),
        };
        if known != Some(to)
            && let Some(Admitted { left_out }) = self.tried.admit()
        {
            tracing::info!(peer = %peer.name, %to, left_out, "trying this address of the peer");
        }
        endpoint.set_endpoint(now, peer.id, to);
        self.schedule(peers, index, next.map(|wait| now + wait));
    }

    fn note_success(&mut self, now: Time, peers: &mut [PeerState], index: usize) {
        if let Some(peer) = peers.get_mut(index)
            && std::mem::take(&mut peer.failures) > 0
        {
            self.failed = self.failed.saturating_sub(1);
        }
        let was_silent = self.unanswered > self.recovered && self.recovered.is_none_or(|at| now.since(at) >= RECOVERY);
        let works_again = was_silent || self.succeeded.is_none_or(|last| now.since(last) >= NO_SUCCESS);
        self.succeeded = Some(now);
        if works_again {
            self.recovered = Some(now);
        }
        if self.failed == 0 {
            self.log.1 = Duration::ZERO;
        } else if works_again {
            let failed = |(index, peer): (usize, &PeerState)| (peer.failures > 0 && !peer.removed).then_some(index);
            let due: Vec<usize> = peers.iter().enumerate().filter_map(failed).collect();
            due.into_iter().for_each(|index| self.schedule(peers, index, Some(now)));
        }
    }

    fn note_failure(&mut self, now: Time, peers: &mut [PeerState], index: usize, asked: Option<Time>, error: &str) {
        let Some(peer) = peers.get_mut(index) else { return };
        self.failed += usize::from(peer.failures == 0);
        peer.failures = peer.failures.saturating_add(1);
        let wait = (RETRY_STEP * peer.failures.min(10)).min(LONGEST_RETRY);
        let is_unanswered = asked.is_some_and(|asked| now.since(asked) >= NO_ANSWER);
        if is_unanswered {
            self.unanswered = Some(now);
        }
        let step = if is_unanswered { RETRY_SPACING } else { QUICK_SPACING };
        let spacing = step * u32::try_from(self.failed).unwrap_or(u32::MAX);
        if now >= self.log.0 {
            let name = peer.configured.as_ref().map(|name| name.host.clone()).unwrap_or_default();
            match self.failed {
                1 => {
                    tracing::warn!(peer = %peer.name, %name, %error, "the peer's name could not be resolved; trying again")
                }
                names => tracing::warn!(
                    names,
                    "names of peers could not be resolved (one of them: {name}: {error}); trying again"
                ),
            }
            self.log.1 = (self.log.1 * 2).clamp(LOG_INTERVAL, LONGEST_LOG_INTERVAL);
            self.log.0 = now + self.log.1;
        }
        // A question from before the name server worked again is repeated like those that had failed before.
        let is_due = asked < self.recovered;
        self.schedule(peers, index, Some(if is_due { now } else { now + wait.max(spacing) }));
    }

    /// Notes that a peer whose look-ups have failed `failures` times is not looked up any more.
    pub(super) fn forget(&mut self, failures: u32) {
        self.failed = self.failed.saturating_sub(usize::from(failures > 0));
    }
}
