//! What an endpoint knows of one peer: the tunnel session, the packets that wait for the next
//! session, and the search for the path's MTU. Keep-alives, and handshakes with a silent peer, are
//! here too.

use super::budget::PeerWork;
use super::config::{Acks, EndpointConfig, EndpointEvent, PeerStatus};
use super::delivery;
use super::liveness::Liveness;
use super::mtu::MtuSearch;
use super::path_packets::PathLimits;
use super::waiting::Waiting;
use crate::packets::early_acks::EarlyAcks;
use crate::packets::{Delivered, DeliveryRoom, InnerPacket, Meta, Traffic, Undelivered};
use crate::path::{PathEvent, silence_limit};
use crate::secure::PeerId;
use crate::session::tunnel::{REPORT_WORK, Tunnel, TunnelConfig, TunnelEvent};
use crate::session::{Received, Reception, Session, Transmit};
use crate::tokens::TokenBucket;
use crate::wire::{Datagram, HEADER_LEN, Packet, TAG_LEN, WireContext};
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Shortest time between two handshakes that this end starts because the peer is silent. The pause
/// limits the cost: for each handshake, both ends compute curve multiplications. Half the value
/// finds a restarted peer up to 2.5 s sooner, and doubles the number of handshakes on a path that
/// is down.
const HANDSHAKE_PAUSE: Duration = Duration::from_secs(5);

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

/// The state of one peer.
pub(super) struct PeerPath {
    pub(super) id: PeerId,
    /// The epoch that the tunnel session belongs to. Each restart of an end begins a new epoch
    /// ([`crate::secure`]).
    pub(super) epoch: Option<u64>,
    pub(super) tunnel: Option<Tunnel<Symbol>>,
    /// Whether the peer is in the endpoint's list of peers that may have something to send.
    pub(super) is_ready: bool,
    /// Whether the packets and events that the last inputs have caused were collected.
    pub(super) is_collected: bool,
    /// The time under which the peer is in the endpoint's table of timers.
    pub(super) timer: Option<Time>,
    /// Packets that wait for a session.
    pub(super) waiting: Waiting,
    /// Packets that former sessions have not delivered yet, the oldest session first.
    pub(super) undelivered: VecDeque<Undelivered<Symbol>>,
    /// Packets and bytes of the peer that the caller has not taken yet: [`Endpoint::poll_deliver`](super::Endpoint).
    pub(super) handed_over: (usize, usize),
    /// Whether packets are left for the next turn.
    pub(super) is_left: bool,
    pub(super) mtu: Option<MtuSearch>,
    /// None: acknowledgements are end to end.
    pub(super) early_acks: Option<Box<EarlyAcks>>,
    /// The largest inner packet that the peer accepts, bytes. 0 before the first session.
    peer_mtu: u32,
    pub(super) liveness: Liveness,
    /// Whether the peer's address is configured, so that this end calls the peer.
    pub(super) calls: bool,
    /// When the peer closed the session. None: there is a session, or none has begun.
    pub(super) closed: Option<Time>,
    /// The epoch of a session that the peer has closed, and that was forgotten.
    pub(super) ended: Option<u64>,
    /// Whether a datagram must be sent because new keys are in use: the peer uses the keys only
    /// after the first datagram under them. If no other datagram is to be sent, a probe is sent.
    pub(super) greet: bool,
    /// When the last datagram was sent.
    pub(super) last_sent: Time,
    /// When this end last started a handshake because the peer was silent.
    last_handshake: Option<Time>,
    /// When the first handshake message was sent, and whether no other message has followed. If
    /// none has followed, the time until the answer is a round-trip time.
    handshake_sent: Option<(Time, bool)>,
    /// Whether the session must end, because the peer has sent a false report.
    pub(super) must_end: bool,
    /// The work of earlier sessions and of the beginnings of all sessions, in the unit of [`Tunnel::work`].
    pub(super) past_work: u64,
    /// How many sessions have begun.
    sessions: u64,
    lost_in_restarts: u64,
    pub(super) path_limits: PathLimits,
    /// ICMP messages that may be sent.
    answers: TokenBucket,
    /// The session's memory as counted in the budget of the endpoint, bytes.
    pub(super) memory: usize,
    /// The peer's part of the budget of work.
    pub(super) work: PeerWork,
    pub(super) over_work: u64,
    pub(super) unasked_reports: u64,
    pub(super) shrunk: u64,
}

impl PeerPath {
    pub(super) fn new(id: PeerId, now: Time, acks: Acks) -> PeerPath {
        PeerPath {
            id,
            epoch: None,
            tunnel: None,
            is_ready: false,
            is_collected: true,
            timer: None,
            waiting: Waiting::default(),
            undelivered: VecDeque::new(),
            handed_over: (0, 0),
            is_left: false,
            mtu: None,
            early_acks: (acks == Acks::Seen).then(Box::default),
            peer_mtu: 0,
            liveness: Liveness::default(),
            calls: false,
            closed: None,
            ended: None,
            greet: false,
            last_sent: now,
            last_handshake: None,
            handshake_sent: None,
            must_end: false,
            past_work: 0,
            sessions: 0,
            lost_in_restarts: 0,
            path_limits: PathLimits::new(now),
            answers: TokenBucket::full(ANSWERS_PER_SECOND, ANSWERS, now),
            memory: 0,
            work: PeerWork::new(now),
            over_work: 0,
            unasked_reports: 0,
            shrunk: 0,
        }
    }

    /// Notes that a handshake message to the peer leaves.
    pub(super) fn note_handshake(&mut self, now: Time) {
        self.handshake_sent = Some(match self.handshake_sent {
            None => (now, true),
            Some((at, _)) => (at, false),
        });
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
        self.greet = true;
        let sample = self.handshake_sent.take().filter(|(_, once)| *once).map(|(at, _)| now.since(at));
        if self.epoch == Some(epoch) {
            return;
        }
        let header = address.map_or(config.tunnel.header, |a| super::ip_udp_len(&a));
        let mut tunnel = config.tunnel.clone();
        tunnel.header = header;
        // A value below 512 counts as 512.
        self.peer_mtu = u32::from(peer_mtu).max(512);
        tunnel.path_mtu = self.most_path_mtu(&tunnel);
        if let Some(rtt) = sample {
            tunnel.initial_rtt = Some(rtt.max(Duration::from_micros(100)));
        }
        self.mtu = Some(MtuSearch::new(now, tunnel.path_mtu));
        let again = self.sessions > 0;
        self.past_work += SESSION_WORK + self.held() as u64;
        if let Some(mut old) = self.tunnel.take() {
            self.keep_waiting(now, &mut old);
        }
        self.closed = None;
        let mut fresh = Tunnel::new(now, tunnel, entropy);
        self.waiting.move_to(now, &mut fresh);
        if let Some(early) = &mut self.early_acks {
            // What the old session has not delivered is older than what waits.
            self.past_work += REPORT_WORK * early.compared();
            early.new_session(now, fresh.srtt());
            fresh.handle_again(now, std::iter::from_fn(|| early.poll_remote()).collect());
        }
        events.push_back(EndpointEvent::Mtu { peer: self.id, inner_mtu: fresh.inner_mtu(), is_found: false });
        events.push_back(EndpointEvent::Connected { peer: self.id, again });
        self.tunnel = Some(fresh);
        self.epoch = Some(epoch);
        self.sessions += 1;
    }

    /// Keeps the packets of an old session that had not been sent: they go into the next session. Keeps the packets that
    /// it has still to deliver.
    pub(super) fn keep_waiting(&mut self, now: Time, old: &mut Tunnel<Symbol>) {
        self.lost_in_restarts += old.outstanding() as u64;
        self.past_work += old.work();
        self.undelivered.extend(old.take_undelivered());
        self.waiting.keep(now, old.take_queue());
    }

    /// The largest datagram that the settings of the tunnel and the peer's MTU allow, bytes.
    fn most_path_mtu(&self, tunnel: &TunnelConfig) -> u32 {
        let overhead = tunnel.path_mtu - tunnel.inner_mtu();
        tunnel.path_mtu.min(self.peer_mtu + overhead)
    }

    /// Notes the address to which datagrams go from now on. If it has another address family than
    /// the last one, the IP header has another length. Then the search for the path's MTU begins
    /// anew.
    pub(super) fn address_changed(
        &mut self,
        now: Time,
        address: &SocketAddr,
        config: &EndpointConfig,
        events: &mut VecDeque<EndpointEvent>,
    ) {
        let header = super::ip_udp_len(address);
        let settings = TunnelConfig { header, ..config.tunnel.clone() };
        let path_mtu = self.most_path_mtu(&settings);
        let Some(tunnel) = self.tunnel.as_mut().filter(|tunnel| tunnel.header() != header) else { return };
        tunnel.set_header(header);
        tunnel.set_path_mtu(path_mtu);
        events.push_back(EndpointEvent::Mtu { peer: self.id, inner_mtu: tunnel.inner_mtu(), is_found: false });
        self.mtu = Some(MtuSearch::new(now, path_mtu));
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
        if let (Some(tunnel), None) = (&mut self.tunnel, self.closed) {
            tunnel.handle_parsed(now, symbol, head);
            return true;
        }
        self.waiting.push(now, symbol, config.waiting_packets);
        false
    }

    /// The numbers with which truncated numbers from the peer are completed: see [`WireContext`]. None before the first
    /// session.
    pub(super) fn expand(&self) -> Option<WireContext> {
        self.tunnel.as_ref().map(Tunnel::expand)
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
        let Some(tunnel) = &mut self.tunnel else { return };
        if let (Some(early), Packet::Feedback(feedback)) = (&mut self.early_acks, &packet) {
            early.given_up(tunnel.window_base());
            if let Some(report) = &feedback.symbols {
                early.report(now, report);
            }
        }
        tunnel.handle_datagram(now, Received { packet: Datagram { number, packet }, bytes, reception });
        self.tell_early_acks(now);
    }

    /// Whether a report of the peer is taken at `now`: see [`Tunnel::takes_report`].
    pub(super) fn takes_report(&mut self, now: Time) -> bool {
        self.tunnel.as_mut().is_some_and(|tunnel| tunnel.takes_report(now))
    }

    /// Notes that a packet has arrived, although it is not taken in for the work that it causes. See
    /// [`Tunnel::note_refused`].
    pub(super) fn refuse_packet(
        &mut self,
        now: Time,
        number: u64,
        packet: Option<&Packet<Symbol>>,
        bytes: u32,
        reception: Reception,
    ) {
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.note_refused(now, number, packet, bytes, reception);
        }
    }

    /// Passes what the tunnel has given up to the early acknowledgements, and their packets to the tunnel.
    pub(super) fn tell_early_acks(&mut self, now: Time) {
        let (Some(early), Some(tunnel), None) = (&mut self.early_acks, &mut self.tunnel, self.closed) else { return };
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
            if let (Some(clamped), Some(tunnel), true) = (&mut clamped, &self.tunnel, delivered.meta.is_syn) {
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
        self.tunnel.as_mut()?.poll_deliver_within(room)
    }

    /// Memory of the packets that may be delivered now, bytes. None: there are none.
    pub(super) fn deliverable(&self) -> Option<usize> {
        let tunnel = self.tunnel.as_ref().and_then(Tunnel::deliverable);
        let former = self.undelivered.iter().map(Undelivered::memory);
        tunnel.into_iter().chain(former).reduce(|all, one| all + one)
    }

    /// Removes and returns the next packet that this end itself sends to the inside.
    pub(super) fn poll_local(&mut self) -> Option<Delivered<Symbol>> {
        let payload = self.early_acks.as_mut()?.poll_local()?;
        let meta = payload.meta()?;
        Some(Delivered { payload, meta })
    }

    /// Sends an empty probe soon. The peer reports it.
    pub(super) fn request_probe(&mut self) {
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.request_probe(0);
        }
    }

    /// Whether a packet about the path waits to be sent.
    pub(super) fn has_path_packet(&self) -> bool {
        self.tunnel.as_ref().is_some_and(Tunnel::has_path_packet)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.waiting.expire(now);
        let tunnel = self.tunnel.as_mut().filter(|_| self.closed.is_none());
        let srtt = tunnel.map(|tunnel| {
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
        let idle_too_long = self.greet || self.keepalive_due().is_some_and(|at| at <= now);
        let tunnel = self.tunnel.as_mut()?;
        let probe = self.mtu.as_mut().and_then(|mtu| mtu.poll_probe(now));
        if let Some(size) = probe {
            let overhead = tunnel.header() + (HEADER_LEN + TAG_LEN) as u32;
            tunnel.request_probe(size.saturating_sub(overhead).min(65_535) as u16);
        }
        let mut sent = tunnel.poll_transmit(now);
        if sent.is_none() && idle_too_long {
            tunnel.request_probe(0);
            sent = tunnel.poll_transmit(now);
        }
        if let Some(Transmit { packet: Datagram { packet, .. }, .. }) = &sent {
            self.greet = false;
            self.last_sent = now;
            if let (Some(early), Packet::Source { id, payload, .. }) = (&mut self.early_acks, packet) {
                early.sent(*id, payload);
            }
        }
        sent
    }

    /// Turns the tunnel's events into events of the endpoint, and passes the results of probes to
    /// the MTU search.
    pub(super) fn take_events(&mut self, now: Time, events: &mut VecDeque<EndpointEvent>) {
        self.take_resets(events);
        let Some(tunnel) = &mut self.tunnel else { return };
        let peer = self.id;
        while let Some(event) = tunnel.poll_event() {
            if self.closed.is_some() {
                continue;
            }
            events.push_back(match event {
                TunnelEvent::Path(PathEvent::Silent) => EndpointEvent::Silent { peer },
                TunnelEvent::Path(PathEvent::Heard) => EndpointEvent::Heard { peer },
                TunnelEvent::Path(PathEvent::Closed) => {
                    self.closed = Some(now);
                    EndpointEvent::Closed { peer }
                }
                TunnelEvent::BlocksIgnored => EndpointEvent::BlocksIgnored { peer },
                TunnelEvent::Path(PathEvent::LargeLost) => {
                    if let Some(mtu) = &mut self.mtu {
                        mtu.doubt(now);
                    }
                    continue;
                }
                TunnelEvent::Path(PathEvent::LargeReceived) => {
                    if let Some(mtu) = &mut self.mtu {
                        mtu.prove(now);
                    }
                    continue;
                }
                TunnelEvent::Path(PathEvent::FalseReport) => {
                    // The first false report ends the session, so that there is one event.
                    if std::mem::replace(&mut self.must_end, true) {
                        continue;
                    }
                    EndpointEvent::FalseReport { peer }
                }
                TunnelEvent::Path(PathEvent::Probe { padding, received }) => {
                    let overhead = tunnel.header() + (HEADER_LEN + TAG_LEN) as u32;
                    let Some(mtu) = &mut self.mtu else { continue };
                    if padding == 0 {
                        continue;
                    }
                    if mtu.settled(now, padding + overhead, received, tunnel.take_arrivals()) {
                        tunnel.set_path_mtu(mtu.current());
                    } else if !mtu.is_first_proof() {
                        continue;
                    }
                    mtu.note_announced();
                    EndpointEvent::Mtu { peer, inner_mtu: tunnel.inner_mtu(), is_found: true }
                }
            });
        }
    }

    /// Reports the connections that were reset.
    pub(super) fn take_resets(&mut self, events: &mut VecDeque<EndpointEvent>) {
        let Some(early) = &mut self.early_acks else { return };
        while let Some(connection) = early.poll_reset() {
            events.push_back(EndpointEvent::ConnectionReset { peer: self.id, connection });
        }
    }

    /// Whether the peer has been silent for so long that a new handshake is due. A silent peer may
    /// have restarted and lost the keys.
    pub(super) fn wants_handshake(&mut self, now: Time) -> bool {
        let due = self.handshake_due().is_some_and(|at| at <= now);
        if due {
            self.last_handshake = Some(now);
        }
        due
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let tunnel = self.tunnel.as_ref()?;
        let probe = self.mtu.as_ref().and_then(MtuSearch::next_probe);
        let early = self.early_acks.as_ref().and_then(|early| early.poll_timeout());
        let (session, liveness) = (tunnel.poll_timeout(), self.liveness.next_due());
        let due = [session, probe, early, self.keepalive_due(), self.handshake_due(), liveness];
        due.into_iter().flatten().min()
    }

    /// Whether an ICMP message about a packet that is too long may be sent. If so, counts it.
    pub(super) fn may_answer(&mut self, now: Time) -> bool {
        self.answers.take(now, 1.0)
    }

    /// The next time-out while there is no usable key, or the peer has closed the session.
    pub(super) fn poll_timeout_without_key(&self, now: Time) -> Option<Time> {
        let keepalive = self.keepalive_due().filter(|at| *at > now);
        let early = self.early_acks.as_ref().and_then(|early| early.poll_timeout()).filter(|at| *at > now);
        let liveness = self.liveness.next_due().filter(|_| self.has_session());
        let due = [keepalive, early, self.handshake_due(), liveness, self.forget_due(), self.waiting.next_due()];
        due.into_iter().flatten().min()
    }

    /// The largest inner packet, bytes.
    pub(super) fn inner_mtu(&self, config: &EndpointConfig) -> u32 {
        self.tunnel.as_ref().map_or_else(|| config.tunnel.inner_mtu(), Tunnel::inner_mtu)
    }

    pub(super) fn status(&self, endpoint: Option<SocketAddr>, config: &EndpointConfig) -> PeerStatus {
        PeerStatus {
            endpoint,
            last_heard: self.liveness.last_heard(),
            tunnel: self.tunnel.as_ref().filter(|_| self.closed.is_none()).map(Tunnel::status),
            inner_mtu: self.inner_mtu(config),
            sessions: self.sessions,
            waiting: self.waiting.len(),
            waited_in_vain: self.waiting.in_vain(),
            lost_in_restarts: self.lost_in_restarts,
            memory: self.held(),
            work: self.caused_work(),
            over_work: self.over_work,
            unasked_reports: self.unasked_reports,
            shrunk: self.shrunk,
            early_acks: self.early_acks.as_ref().map(|early| early.counts()).unwrap_or_default(),
        }
    }

    /// When the next keep-alive is due.
    pub(super) fn keepalive_due(&self) -> Option<Time> {
        self.liveness.keepalive.map(|every| self.last_sent + every)
    }

    /// When the next handshake is due because the peer is silent. None if the peer is not silent.
    fn handshake_due(&self) -> Option<Time> {
        let tunnel = self.tunnel.as_ref().filter(|_| self.closed.is_none())?;
        let since = tunnel.silent_since()?;
        let at = since + silence_limit(tunnel.srtt());
        Some(self.last_handshake.map_or(at, |last| at.max(last + HANDSHAKE_PAUSE)))
    }
}
