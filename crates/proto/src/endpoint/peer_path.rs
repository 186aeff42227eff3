//! What an endpoint knows of one peer: the session, the packets that wait for the next session, and what former sessions
//! have left. Inner packets and datagrams pass through here between the endpoint and the tunnel.

use super::config::{Acks, EndpointConfig, EndpointEvent, PeerStatus};
use super::delivery::{self, HandedOver};
use super::handshakes::Handshakes;
use super::liveness::Liveness;
use super::path_packets::PathLimits;
use super::paths::Place;
use super::session::PeerSession;
use super::sharing::Share;
use super::waiting::Waiting;
use crate::packets::early_acks::EarlyAcks;
use crate::packets::{Delivered, DeliveryRoom, InnerPacket, Meta, Traffic, Undelivered};
use crate::path::PathPacket;
use crate::secure::PeerId;
use crate::session::tunnel::{REPORT_WORK, Tunnel};
use crate::session::{Received, Reception, Session, Transmit};
use crate::tokens::TokenBucket;
use crate::wire::{Datagram, Packet};
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Largest rate of ICMP messages about packets that are too long for one peer. Unit: messages per
/// second. Path MTU discovery needs one message for each destination. Half the value delays the
/// discovery when many flows start at the same time. Double the value lets a host that ignores the
/// messages cause twice as many.
const ANSWERS_PER_SECOND: f64 = 50.0;
/// Largest number of such messages at the same time. Half and double the value act like those of
/// [`ANSWERS_PER_SECOND`].
const ANSWERS: f64 = 50.0;

/// Work of the beginning of a session, in the unit of [`Tunnel::work`]: bytes combined.
///
/// The handshake and the new tables take about 250 us, the time for 5 MB. What the former session holds must be freed too.
/// That takes about as long as combining its bytes, and counts separately. With half or double the value, a peer that begins
/// sessions is in debt after twice or half as many.
const SESSION_WORK: u64 = 5_000_000;

/// What an endpoint knows of one peer.
pub(super) struct PeerPath {
    pub(super) id: PeerId,
    /// The session, which the peer may have closed.
    pub(super) session: Option<PeerSession>,
    /// The epoch of the last session, if the peer has closed it, and it was forgotten.
    pub(super) ended: Option<u64>,
    /// Packets that wait for a session.
    pub(super) waiting: Waiting,
    /// Packets that former sessions have not delivered yet, the oldest session first.
    pub(super) undelivered: VecDeque<Undelivered<Symbol>>,
    pub(super) handed_over: HandedOver,
    /// None: acknowledgements are end to end.
    pub(super) early_acks: Option<Box<EarlyAcks>>,
    pub(super) liveness: Liveness,
    pub(super) handshakes: Handshakes,
    /// When the last datagram was sent.
    pub(super) last_sent: Time,
    /// How many sessions have begun.
    sessions: u64,
    pub(super) lost_in_restarts: u64,
    path_limits: PathLimits,
    /// ICMP messages that may be sent.
    answers: TokenBucket,
    pub(super) share: Share,
    pub(super) place: Place,
}

impl PeerPath {
    pub(super) fn new(id: PeerId, now: Time, acks: Acks) -> PeerPath {
        PeerPath {
            id,
            session: None,
            ended: None,
            waiting: Waiting::default(),
            undelivered: VecDeque::new(),
            handed_over: HandedOver::default(),
            early_acks: (acks == Acks::Seen).then(Box::default),
            liveness: Liveness::default(),
            handshakes: Handshakes::default(),
            last_sent: now,
            sessions: 0,
            lost_in_restarts: 0,
            path_limits: PathLimits::new(now),
            answers: TokenBucket::full(ANSWERS_PER_SECOND, ANSWERS, now),
            share: Share::new(now),
            place: Place::default(),
        }
    }

    /// Starts to use new keys. If the keys begin a new epoch, a new tunnel session starts. Packets
    /// that were queued in the old session move to the new session.
    #[expect(clippy::too_many_arguments, reason = "the results of the handshake, and the list of events")]
    pub(super) fn established(
        &mut self,
        now: Time,
        epoch: u64,
        peer_mtu: u16,
        address: Option<SocketAddr>,
        entropy: u64,
        config: &EndpointConfig,
        events: &mut VecDeque<EndpointEvent>,
    ) {
        let rtt = self.handshakes.take_round_trip(now);
        if let Some(session) = self.session.as_mut().filter(|session| session.epoch == epoch) {
            session.greet = true;
            return;
        }
        let again = self.sessions > 0;
        self.share.past_work += SESSION_WORK + self.held() as u64;
        self.end_session(now);
        self.ended = None;
        let mut fresh = PeerSession::new(now, (self.id, epoch), peer_mtu, address, rtt, entropy, config);
        self.waiting.move_to(now, &mut fresh.tunnel);
        if let Some(early) = &mut self.early_acks {
            // What the old session has not delivered is older than what waits.
            self.share.past_work += REPORT_WORK * early.compared();
            early.new_session(now, fresh.tunnel.srtt());
            fresh.tunnel.handle_again(now, std::iter::from_fn(|| early.poll_remote()).collect());
        }
        let inner_mtu = fresh.tunnel.inner_mtu();
        events.push_back(EndpointEvent::Mtu { peer: self.id, inner_mtu, is_found: false });
        events.push_back(EndpointEvent::Connected { peer: self.id, again });
        self.session = Some(fresh);
        self.sessions += 1;
    }

    /// Whether there is a session that the peer has not closed.
    pub(super) fn has_session(&self) -> bool {
        self.session.as_ref().is_some_and(PeerSession::is_open)
    }

    /// The epoch of the session.
    pub(super) fn epoch(&self) -> Option<u64> {
        self.session.as_ref().map(|session| session.epoch)
    }

    pub(super) fn tunnel(&self) -> Option<&Tunnel<Symbol>> {
        self.session.as_ref().map(|session| &session.tunnel)
    }

    pub(super) fn tunnel_mut(&mut self) -> Option<&mut Tunnel<Symbol>> {
        self.session.as_mut().map(|session| &mut session.tunnel)
    }

    /// Processes an inner packet, whose header says `head`. Returns false if there is no session yet: the packet then waits
    /// for a session.
    pub(super) fn handle_inner(
        &mut self,
        now: Time,
        symbol: Symbol,
        head: (Meta, Traffic),
        config: &EndpointConfig,
    ) -> bool {
        if let Some(early) = &mut self.early_acks
            && !early.take_local(&symbol.as_slice()[1..])
        {
            return true;
        }
        if let Some(session) = self.session.as_mut().filter(|session| session.is_open()) {
            session.tunnel.handle_parsed(now, symbol, head);
            return true;
        }
        self.waiting.push(now, symbol, config.waiting_packets);
        false
    }

    /// Passes a packet of the peer to the tunnel.
    pub(super) fn handle_packet(
        &mut self,
        now: Time,
        number: u64,
        packet: Packet<Symbol>,
        bytes: u32,
        reception: Reception,
    ) {
        let Some(PeerSession { tunnel, .. }) = &mut self.session else { return };
        if let (Some(early), Packet::Feedback(feedback)) = (&mut self.early_acks, &packet) {
            early.given_up(tunnel.window_base());
            if let Some(report) = &feedback.symbols {
                early.report(now, report);
            }
        }
        tunnel.handle_datagram(now, Received { packet: Datagram { number, packet }, bytes, reception });
        self.tell_early_acks(now);
    }

    /// Sends a packet about the path soon. Drops the packet if there were too many.
    pub(super) fn request_path_packet(&mut self, now: Time, packet: PathPacket) {
        if let Some(session) = &mut self.session
            && self.path_limits.admits(now, &packet)
        {
            session.tunnel.request_path_packet(packet);
        }
    }

    /// Passes what the tunnel has given up to the early acknowledgements, and their packets to the tunnel.
    pub(super) fn tell_early_acks(&mut self, now: Time) {
        let session = self.session.as_mut().filter(|session| session.is_open());
        let (Some(early), Some(PeerSession { tunnel, .. })) = (&mut self.early_acks, session) else { return };
        early.given_up(tunnel.window_base());
        while let Some(symbol) = early.poll_remote() {
            tunnel.handle_acknowledged(now, symbol);
        }
    }

    /// Removes and returns the next packet for the inside that came through the tunnel. May change it, or leave it out,
    /// for `acks = "seen"`. None if there is no more `room` either. `is_allowed` says whether the peer may send the packet; `refused` counts the others. `clamped`
    /// counts the TCP SYNs whose MSS was reduced; None: no MSS is reduced.
    ///
    /// The peer reduces the MSS too, but it may not know how small the path to it is: the peer may have sent only small
    /// packets so far, and the two directions of a path may have different MTUs.
    pub(super) fn poll_deliver(
        &mut self,
        now: Time,
        room: &mut DeliveryRoom,
        is_allowed: impl Fn(&Delivered<Symbol>) -> bool,
        refused: &mut u64,
        mut clamped: Option<&mut u64>,
    ) -> Option<Delivered<Symbol>> {
        // What this end has made itself is older than what comes now, so acknowledgement numbers only grow.
        if let Some(delivered) = self.poll_local() {
            return Some(delivered);
        }
        while let Some(mut delivered) = self.poll_sessions(now, room) {
            if !is_allowed(&delivered) {
                *refused += 1;
                continue;
            }
            if let (Some(clamped), Some(tunnel), true) = (&mut clamped, self.tunnel(), delivered.meta.is_syn) {
                **clamped += u64::from(delivery::clamp_symbol(&mut delivered.payload, tunnel.inner_mtu()));
            }
            let Some(early) = &mut self.early_acks else { return Some(delivered) };
            if early.take_remote(now, &mut delivered.payload) {
                return Some(delivered);
            }
        }
        self.tell_early_acks(now);
        None
    }

    /// Removes and returns the next packet that a session delivers, the oldest session first.
    fn poll_sessions(&mut self, now: Time, room: &mut DeliveryRoom) -> Option<Delivered<Symbol>> {
        while let Some(oldest) = self.undelivered.front_mut() {
            let delivered = oldest.poll(now, room);
            if delivered.is_none() && !oldest.is_empty() {
                return None;
            }
            if oldest.is_empty() {
                self.undelivered.pop_front();
            }
            if delivered.is_some() {
                return delivered;
            }
        }
        self.tunnel_mut()?.poll_deliver_within(room)
    }

    /// Memory of the packets that may be delivered now, bytes. None: there are none.
    pub(super) fn deliverable(&self) -> Option<usize> {
        let tunnel = self.tunnel().and_then(Tunnel::deliverable);
        let former = self.undelivered.iter().map(Undelivered::memory);
        tunnel.into_iter().chain(former).reduce(|all, one| all + one)
    }

    /// Removes and returns the next packet that this end itself sends to the inside.
    pub(super) fn poll_local(&mut self) -> Option<Delivered<Symbol>> {
        let payload = self.early_acks.as_mut()?.poll_local()?;
        let meta = payload.meta()?;
        Some(Delivered { payload, meta })
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.waiting.expire(now);
        let session = self.session.as_mut().filter(|session| session.is_open());
        let srtt = session.map(|PeerSession { tunnel, .. }| {
            tunnel.handle_timeout(now);
            tunnel.srtt()
        });
        if let Some(early) = &mut self.early_acks {
            early.handle_timeout(now, srtt);
        }
        self.tell_early_acks(now);
    }

    /// The next datagram to send.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Datagram<Symbol>>> {
        let is_quiet = self.keepalive_due().is_some_and(|at| at <= now);
        let sent = self.session.as_mut()?.poll_transmit(now, is_quiet)?;
        self.last_sent = now;
        if let (Some(early), Packet::Source { id, payload, .. }) = (&mut self.early_acks, &sent.packet.packet) {
            early.sent(*id, payload);
        }
        Some(sent)
    }

    /// Takes the events of the session and of the early acknowledgements.
    pub(super) fn take_events(&mut self, now: Time, events: &mut VecDeque<EndpointEvent>) {
        self.take_resets(events);
        if let Some(session) = &mut self.session {
            session.take_events(now, events);
        }
    }

    /// Reports the connections that were reset.
    pub(super) fn take_resets(&mut self, events: &mut VecDeque<EndpointEvent>) {
        let Some(early) = &mut self.early_acks else { return };
        while let Some(connection) = early.poll_reset() {
            events.push_back(EndpointEvent::ConnectionReset { peer: self.id, connection });
        }
    }

    /// Whether the peer has been silent for so long that a new handshake is due.
    pub(super) fn wants_handshake(&mut self, now: Time) -> bool {
        let silent = self.session.as_ref().and_then(PeerSession::silent_too_long);
        self.handshakes.take_due(now, silent)
    }

    /// When the calls of the peer end, which it has not answered since `since`.
    pub(super) fn calls_end(&self, since: Option<Time>) -> Option<Time> {
        self.handshakes.calls_end(since, self.waiting.newest())
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let session = self.session.as_ref()?;
        let early = self.early_acks.as_ref().and_then(|early| early.poll_timeout());
        let due = [
            session.poll_timeout(),
            early,
            self.keepalive_due(),
            self.handshakes.due(session.silent_too_long()),
            self.liveness.next_due(),
        ];
        due.into_iter().flatten().min()
    }

    /// The next time-out while there is no usable key, or the peer has closed the session.
    pub(super) fn poll_timeout_without_key(&self, now: Time) -> Option<Time> {
        let session = self.session.as_ref();
        let keepalive = self.keepalive_due().filter(|at| *at > now);
        let early = self.early_acks.as_ref().and_then(|early| early.poll_timeout()).filter(|at| *at > now);
        let handshake = self.handshakes.due(session.and_then(PeerSession::silent_too_long));
        let liveness = self.liveness.next_due().filter(|_| self.has_session());
        let forget = session.and_then(PeerSession::forget_due);
        [keepalive, early, handshake, liveness, forget, self.waiting.next_due()].into_iter().flatten().min()
    }

    /// Whether an ICMP message about a packet that is too long may be sent. If so, counts it.
    pub(super) fn may_answer(&mut self, now: Time) -> bool {
        self.answers.take(now, 1.0)
    }

    /// The largest inner packet, bytes.
    pub(super) fn inner_mtu(&self, config: &EndpointConfig) -> u32 {
        self.tunnel().map_or_else(|| config.tunnel.inner_mtu(), Tunnel::inner_mtu)
    }

    pub(super) fn status(&self, endpoint: Option<SocketAddr>, config: &EndpointConfig) -> PeerStatus {
        PeerStatus {
            endpoint,
            last_heard: self.liveness.last_heard(),
            tunnel: self.tunnel().filter(|_| self.has_session()).map(Tunnel::status),
            inner_mtu: self.inner_mtu(config),
            sessions: self.sessions,
            waiting: self.waiting.len(),
            waited_in_vain: self.waiting.in_vain(),
            lost_in_restarts: self.lost_in_restarts,
            memory: self.held(),
            work: self.caused_work(),
            over_work: self.share.over_work,
            unasked_reports: self.share.unasked_reports,
            shrunk: self.share.shrunk,
            early_acks: self.early_acks.as_ref().map(|early| early.counts()).unwrap_or_default(),
        }
    }

    /// When the next keep-alive is due.
    pub(super) fn keepalive_due(&self) -> Option<Time> {
        self.liveness.keepalive.map(|every| self.last_sent + every)
    }
}
