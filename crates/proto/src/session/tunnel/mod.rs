//! The tunnel session. It takes inner packets from its user, exchanges coded datagrams with the
//! peer, and delivers inner packets to its user.
//!
//! ```text
//!  handle_inner -> packets::Supply -> coding -> path -> poll_transmit
//!  handle_datagram -> path -> coding -> packets::Delivery -> poll_deliver
//! ```
//!
//! Both ends run the same state machine. Each direction has its own rate control, loss estimate and
//! repairs. Three layers do the work, and the tunnel passes on what one of them has to tell another:
//!
//! * The [`path`](crate::path) numbers the datagrams, decides when one may leave, and learns what became of it.
//! * The coder ([`coding`](crate::coding)) decides what the datagrams carry: source symbols, and repairs of lost ones.
//! * The [`packets`](crate::packets) fill symbols, and deliver what arrives in the order of each flow.
//!
//! Terms of this module and its files:
//!
//! * An *inner packet* is an IP packet that the tunnel carries. The *user* of the session sends and
//!   receives inner packets.
//! * A *source symbol*, or source, holds one inner packet, or a piece of one: one byte (the kind, and the
//!   [`Gap`](crate::packets::Gap)), then the packet or the piece. Source symbols are numbered.
//! * A *datagram* carries one source symbol, one repair, one report, one window announcement, one probe, or the end of the
//!   session. Datagrams are numbered separately from symbols.
//! * A *report* (`Feedback`) tells the sender which datagrams arrived and which symbols are
//!   missing.
//! * The *deadline* is how long the ends wait for a symbol before they give up the symbol.
//! * A *probe* is a datagram that is sent to obtain a report. Most probes carry only padding.

mod bounds;
mod config;
mod deadline;
mod status;
mod transmit;

pub(crate) use bounds::{RANGE_WORK, REPORT_WORK};
pub use config::TunnelConfig;
pub use status::{ClassStatus, Status};

use crate::coding::{Coding, Sent, Turns};
use crate::packets::{Delivered, Delivery, DeliveryRoom, InnerPacket, SendQueue, Supply, Undelivered};
use crate::path::{Arrivals, Path, PathEvent, PathPacket};
use crate::session::{Received, Session, Transmit};
use crate::wire::{Datagram, Feedback, IPV4_UDP_LEN, MTU_OVERHEAD, Packet, SymbolReport, WireContext};
use deadline::Deadline;
use ripstop_base::{Seed, Time};
use std::time::Duration;

/// When a time-out is handled this late, this end was suspended. Then the round trips under way are not measured. With half
/// the value, a busy host may miss the samples of a slow path. With double the value, a suspension of 2 s makes the round-trip
/// time of a short path look four times as long for some round trips.
const SUSPENDED: Duration = Duration::from_secs(1);

/// One end of a tunnel.
///
/// The caller drives the tunnel through [`Session`]. The other methods request actions, change
/// settings or read the state.
#[derive(Debug)]
pub struct Tunnel<P: InnerPacket> {
    config: TunnelConfig,
    now: Time,
    path: Path<Sent>,
    coding: Coding<P>,
    supply: Supply<P>,
    /// The turns of what fills symbols: the packets alone.
    turns: Turns<1>,
    delivery: Delivery<P>,
    /// How long to wait for a symbol before the symbol is given up.
    deadline: Deadline,
    /// The ranges that the peer's reports have listed.
    ranges_listed: u64,
    /// The datagram number of the newest report of the peer.
    newest_report: Option<u64>,
}

/// An event that the tunnel reports to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// An event of the path.
    Path(PathEvent),
    /// The peer receives datagrams, but no block repairs: it is too old for [`Code::Block`](crate::coding::Code::Block).
    BlocksIgnored,
}

impl<P: InnerPacket> Tunnel<P> {
    /// Creates a tunnel that begins at `now`.
    ///
    /// `entropy` seeds all random numbers of the tunnel. These numbers decide when to probe for more rate, when to send
    /// repairs, and which coefficients the repairs have. In the daemon, `entropy` must differ at every start.
    pub fn new(now: Time, config: TunnelConfig, entropy: u64) -> Tunnel<P> {
        let seed = Seed::new(entropy);
        let supply = Supply::new(config.queue_bytes, config.classes.clone(), config.path_mtu, config.inner_mtu());
        let mut tunnel = Tunnel {
            now,
            path: Path::new(now, config.path(), entropy, seed.stream("rate")),
            coding: Coding::new(config.coding(), seed),
            supply,
            turns: Turns::new(config.path_mtu),
            delivery: Delivery::new(config.inner_mtu()),
            deadline: Deadline::new(now),
            ranges_listed: 0,
            newest_report: None,
            config,
        };
        tunnel.supply.set_rtt(tunnel.path.srtt());
        tunnel.update_deadline();
        tunnel
    }

    /// Requests a probe with `padding` zero bytes. The new probe replaces an earlier requested
    /// probe that has not been sent yet.
    ///
    /// A probe is a keep-alive, or tests whether the path carries datagrams of the probe's size.
    /// The probe is the next packet that [`Session::poll_transmit`] returns.
    pub fn request_probe(&mut self, padding: u16) {
        self.path.requests.request_probe(padding);
    }

    /// Sets the path's MTU: the length of the largest datagram, IP header included, bytes. Symbols that no longer fit a
    /// datagram are given up, together with all earlier symbols. Packets in the ingress queue that no longer fit are cut into
    /// pieces when their turn comes.
    pub fn set_path_mtu(&mut self, path_mtu: u32) {
        self.path.set_mtu(self.now, path_mtu);
        self.turns.set_quantum(path_mtu);
        self.supply.set_mtu(path_mtu, self.inner_mtu());
        self.coding.set_mtu(path_mtu, self.inner_mtu() + 1, &mut self.supply);
        self.update_deadline();
    }

    /// Sets the length of the IP and UDP headers of a datagram, bytes: 28 over IPv4, 48 over IPv6.
    /// Call [`Tunnel::set_path_mtu`] next.
    pub fn set_header(&mut self, header: u32) {
        self.path.set_header(header);
    }

    /// What the traffic since the last call says of the path's MTU, as far as the peer's reports say.
    pub fn take_arrivals(&mut self) -> Arrivals {
        self.path.take_arrivals()
    }

    /// Length of the IP and UDP headers of a datagram, bytes.
    pub fn header(&self) -> u32 {
        self.path.header()
    }

    /// The smoothed round-trip time (RFC 6298). Before the first sample, this is the round-trip
    /// time of the handshake.
    pub fn srtt(&self) -> Duration {
        self.path.srtt()
    }

    /// When the current silence began. `None`: there is no silence.
    ///
    /// During a silence the tunnel sends probes, because the peer has not reported in time.
    pub fn silent_since(&self) -> Option<Time> {
        self.path.silent_since()
    }

    /// The known numbers with which the parser completes the numbers in the peer's packets. On the
    /// wire, packets carry only the low bits of their numbers.
    pub fn expand(&self) -> WireContext {
        WireContext {
            id_near: self.coding.received().end(),
            sent_id: self.coding.next(),
            sent_number: self.path.next_number(),
            reported: self.path.reported(),
            redundant: self.coding.redundant(),
        }
    }

    /// Number of symbols from the window's base to the newest symbol sent. The base is the oldest
    /// symbol that is not given up and not known to be decoded.
    pub fn outstanding(&self) -> usize {
        self.coding.outstanding().0
    }

    /// Removes the ingress queue as a whole, for the next session with the peer.
    pub fn take_queue(&mut self) -> SendQueue<P> {
        self.supply.take_queue(self.config.queue_bytes, self.path.mtu())
    }

    /// Takes over the queue of an earlier session. The packets keep the times at which they entered the queue, so they
    /// expire as if there had been no new session. The work does not depend on the number of packets.
    pub fn put_queue(&mut self, queue: SendQueue<P>) {
        self.supply.put_queue(queue, self.path.mtu(), self.path.srtt());
    }

    /// Takes inner packets that this end sends again, because their senders were told that they have arrived. They leave
    /// before the packets of their flows that wait in the ingress queue. A packet that is longer than
    /// [`Tunnel::inner_mtu`] travels in pieces.
    pub fn handle_again(&mut self, now: Time, payloads: Vec<P>) {
        let now = self.tick(now);
        self.supply.take_again(now, payloads);
    }

    /// Length of the largest inner packet that the tunnel takes, bytes.
    pub fn inner_mtu(&self) -> u32 {
        self.path.mtu().saturating_sub(self.path.header() + (MTU_OVERHEAD - IPV4_UDP_LEN) as u32)
    }

    /// Number of packets in the ingress queue.
    pub fn backlog_packets(&self) -> usize {
        self.supply.backlog().0
    }

    /// Bytes of source symbols sent.
    pub fn sent_source_bytes(&self) -> u64 {
        self.coding.counts().source_bytes
    }

    /// Whether the ingress queue is empty and all symbols sent are decoded or given up.
    pub fn is_idle(&self) -> bool {
        self.supply.is_empty() && !self.coding.is_outstanding()
    }

    /// The state of the session, for people and metrics.
    pub fn status(&self) -> Status {
        status::of(self)
    }

    /// Requests a packet about the path: a challenge, or the answer to one. The packet leaves before
    /// all other packets. At most four packets wait; a further one is dropped.
    pub fn request_path_packet(&mut self, packet: PathPacket) {
        self.path.requests.request_packet(packet);
    }

    /// Whether a requested packet about the path waits to be sent.
    pub fn has_path_packet(&self) -> bool {
        self.path.requests.has_packet()
    }

    /// Ends the session. When the ingress queue is empty, [`Session::poll_transmit`] returns the
    /// packets that tell the peer about the end.
    pub fn close(&mut self) {
        self.path.requests.close();
    }

    /// Ends the session like [`Tunnel::close`], but does not wait for the ingress queue. Does nothing if the peer was told.
    pub fn close_now(&mut self) {
        self.path.requests.close_now();
    }

    /// Gives up all symbols that packets wait for, because the peer sends nothing more in this session.
    /// [`Session::poll_deliver`] then returns these packets.
    pub fn release_held(&mut self, now: Time) {
        self.coding.receiver().finish(now, &mut self.delivery);
        self.delivery.release();
    }

    /// Removes and returns the next packet for the user, like [`Session::poll_deliver`], if there is `room`.
    pub fn poll_deliver_within(&mut self, room: &mut DeliveryRoom) -> Option<Delivered<P>> {
        self.delivery.poll(self.now, room)
    }

    /// The memory of the packets that may be delivered now, bytes. They leave soon. None: there are no such packets.
    pub fn deliverable(&self) -> Option<usize> {
        let (packets, bytes) = self.delivery.ready();
        (packets > 0).then_some(bytes)
    }

    /// Removes the packets that may be delivered now, because the session is over. None: there are none.
    pub fn take_undelivered(&mut self) -> Option<Undelivered<P>> {
        self.deliverable().map(|_| self.delivery.take_undelivered())
    }

    /// Takes `feedback`, which datagram `number` of the peer carried. The datagram has `waited` in this host.
    ///
    /// The path's part of a report updates the path, which passes on what became of symbols. The symbols' part updates the
    /// coding window, and decides which exact repairs are due.
    fn on_feedback(&mut self, now: Time, waited: Duration, number: u64, feedback: &Feedback) {
        self.ranges_listed += bounds::ranges(feedback);
        if let Some(report) = &feedback.path {
            let (coding, supply) = (&mut self.coding, &mut self.supply);
            if !self.path.on_report(now, waited, report, |outcome| coding.settle(outcome, supply)) {
                return;
            }
        }
        // Reports may arrive out of order. Only the newest report says which symbols are missing
        // now.
        if self.newest_report.is_none_or(|newest| number > newest) {
            self.newest_report = Some(number);
            if let Some(report) = &feedback.symbols {
                self.on_symbol_report(now, report);
            }
            if let Some(report) = &feedback.path {
                self.path.note_newest(now, report.ce);
            }
        }
    }

    /// Takes the symbols' part of the newest report.
    fn on_symbol_report(&mut self, now: Time, report: &SymbolReport) {
        let holes = self.coding.take_report(report, &mut self.supply);
        self.update_deadline();
        let srtt = self.path.srtt();
        self.supply.note_recovery(now, srtt, self.coding.oldest(now).saturating_sub(srtt));
        let view = self.path_view(now);
        self.coding.repair_holes(now, &holes, report, &view);
        self.path.rest_unless_waiting(self.coding.is_outstanding());
    }

    /// Computes the deadline and marks the window announcement as outdated. The deadline and the
    /// announcement depend on the path's MTU, the round-trip time, the rate and the lost packets. So
    /// the tunnel calls this function after each report and each new MTU.
    fn update_deadline(&mut self) {
        let lost = self.coding.outstanding().1 as f64 * f64::from(self.path.mtu());
        let repairs = lost / self.path.pacing_rate(self.supply.backlog().1).max(1.0);
        let rtt = (self.path.srtt(), self.path.has_rtt() || self.config.initial_rtt.is_some());
        self.deadline.update(self.now, (&self.config, self.path.mtu()), rtt, (self.path.view().bandwidth, repairs));
        self.supply.set_expiry(self.deadline.in_queue());
        self.coding.outdate_announcement();
    }

    /// Takes the time of an input. Notices that this end was suspended, for example with its host.
    fn tick(&mut self, now: Time) -> Time {
        let is_late = |due: Time| now.since(due) >= SUSPENDED;
        if is_late(self.now) && self.poll_timeout().is_some_and(is_late) {
            self.path.resume(now);
        }
        self.now = self.now.max(now);
        self.now
    }
}

impl<P: InnerPacket> Session for Tunnel<P> {
    type Inner = P;
    type Incoming = Datagram<P>;
    type Outgoing = Datagram<P>;
    type Delivered = Delivered<P>;
    type Event = TunnelEvent;

    /// Takes an inner packet from the user. A malformed packet is counted and dropped. So is a packet longer than
    /// [`Tunnel::inner_mtu`], unless its sender makes no shorter packets: then it travels in pieces.
    fn handle_inner(&mut self, now: Time, payload: P) {
        let head = payload.meta_and_traffic();
        self.take_inner(now, payload, head, false);
    }

    /// Takes an authenticated datagram of the peer. A duplicate is counted and dropped.
    fn handle_datagram(&mut self, now: Time, received: Received<Datagram<P>>) {
        let now = self.tick(now);
        let Received { packet: Datagram { number, packet }, bytes, reception } = received;
        debug_assert_eq!(
            packet.check_carried(Some(&self.expand())),
            Ok(()),
            "the wire format would change this packet"
        );
        if !self.path.arrive(now, number, bytes, reception, packet.is_eliciting()) {
            return;
        }
        match packet {
            Packet::Source { .. } | Packet::Repair { .. } | Packet::BlockRepair { .. } => {
                self.coding.take(now, packet, &mut self.delivery);
            }
            Packet::Feedback(feedback) => self.on_feedback(now, reception.waited, number, &feedback),
            Packet::Window(window) => {
                self.path.received.set_interval(window.report_every);
                self.delivery.set_deadline(window.deadline);
                self.coding.take_window(now, &window, &mut self.delivery);
            }
            Packet::Probe { padding } => self.path.received.note_probe(padding),
            Packet::Challenge { .. } | Packet::Answer { .. } => {}
            Packet::Close => self.path.note_closed(),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        let now = self.tick(now);
        let deadline = self.deadline.get();
        self.delivery.expire(now, deadline, self.coding.received().missing());
        self.coding.receiver().go_on(now, &mut self.delivery);
        self.coding.expire(now, deadline, &mut self.supply);
        let outstanding = self.coding.is_outstanding();
        let (coding, supply) = (&mut self.coding, &mut self.supply);
        self.path.handle_silence(now, outstanding, |outcome| coding.settle(outcome, supply));
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        let now = self.tick(now);
        self.transmit(now)
    }

    fn poll_deliver(&mut self) -> Option<Delivered<P>> {
        self.delivery.poll(self.now, &mut DeliveryRoom::unlimited())
    }

    fn poll_event(&mut self) -> Option<TunnelEvent> {
        let ignored = || self.coding.take_blocks_ignored().then_some(TunnelEvent::BlocksIgnored);
        self.path.poll_event().map(TunnelEvent::Path).or_else(ignored)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.deadline.get();
        let view = self.path_view(self.now);
        let sending = if self.path.silent_since().is_none() && self.path.has_room() {
            let now = self.has_waiting().then_some(self.now);
            let due = self.coding.next_due(&self.path, &view);
            [now, due].into_iter().flatten().min().map(|at| at.max(self.path.opens()))
        } else {
            None
        };
        let [silence, tail] = self.path.silence_timers(self.coding.is_outstanding());
        let (decoding, report) = (self.coding.received().next_due(), self.path.received.report_due());
        let delivery = self.delivery.expires(deadline);
        let symbols = self.coding.expires(deadline);
        [sending, decoding, delivery, report, symbols, silence, tail].into_iter().flatten().min()
    }
}
