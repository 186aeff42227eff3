//! The tunnel session. It takes inner packets from its user, exchanges coded datagrams with the
//! peer, and delivers inner packets to its user.
//!
//! ```text
//!  handle_inner -> ingress (FQ-CoDel) -> sources (coding window) -+-> path -> poll_transmit
//!                                        repairs -----------------+
//!  handle_datagram -> path: report -> what became of datagrams -> sources, repairs
//!                     source, repair -> receive (decoder) -> order -> poll_deliver
//!                                               +-> reports -> path -> poll_transmit
//! ```
//!
//! Both ends run the same state machine. Each direction has its own rate control, loss estimate and
//! repairs. The [`path`](crate::path) numbers the datagrams, decides when one may leave, and learns what became of it. The
//! tunnel decides what the datagrams carry.
//!
//! Terms of this module and its files:
//!
//! * An *inner packet* is an IP packet that the tunnel carries. The *user* of the session sends and
//!   receives inner packets.
//! * A *source symbol*, or source, is one inner packet in the form that the coder uses: one byte
//!   (the kind, and the [`Gap`](crate::packets::Gap)), then the packet. Source symbols are numbered.
//! * A *repair* is a linear combination of source symbols. These symbols are the *members* of the
//!   repair. The repair *spans* its members.
//! * The *coding window* holds the source symbols that repairs may still span. These symbols are
//!   *outstanding*.
//! * A *datagram* carries one source symbol, one repair, one report, one window announcement (see
//!   `announcement.rs`), one probe, or the end of the session. Datagrams are numbered separately
//!   from symbols.
//! * A *report* (`Feedback`) tells the sender which datagrams arrived and which symbols are
//!   missing.
//! * An *exact repair* answers a report. A *proactive repair* is sent before a loss is known.
//! * The *deadline* is how long the ends wait for a symbol before they give up the symbol.
//! * A *probe* is a datagram that is sent to obtain a report. Most probes carry only padding.

mod announcement;
mod blocks;
mod bounds;
mod config;
mod deadline;
mod event;
mod feedback;
mod recovery_wait;
mod repair;
mod sent;
mod sources;
mod state;
mod status;
mod transmit;

pub use blocks::BlockCounts;
pub(crate) use bounds::{RANGE_WORK, REPORT_WORK};
pub use config::{BlockLength, BlockSettings, Code, TunnelConfig};
pub use event::TunnelEvent;
pub use repair::RepairCounts;
pub use status::{ClassCounts, ClassStatus, SendCounts, Status};

use crate::coding::Receiver;
use crate::packets::ingress::{Ingress, Queued};
use crate::packets::{Delivered, Delivery, DeliveryRoom, InnerPacket, SendQueue};
use crate::path::{Arrivals, Content, Path, PathConfig};
use crate::session::{Received, Session, Transmit};
use crate::wire::{Datagram, Feedback, IPV4_UDP_LEN, MTU_OVERHEAD, Packet, Window, WireContext};
use blocks::Blocks;
use deadline::Deadline;
use recovery_wait::RecoveryWait;
use repair::Repairs;
use ripstop_base::{Seed, Time};
use sent::{Sent, apply_outcome};
use sources::Sources;
use std::collections::VecDeque;
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
    ingress: Ingress<P>,
    /// The rest of a packet that was cut, in pieces. They leave before the next packet of the ingress queue.
    pieces: VecDeque<Queued<P>>,
    sources: Sources<P>,
    repairs: Repairs,
    /// None: the code is not a block code.
    blocks: Option<Blocks<P>>,
    receiver: Receiver<P>,
    delivery: Delivery<P>,
    /// The last window announcement that was sent to the peer (see `announcement.rs`).
    announced: Window,
    /// Whether the window must be announced again.
    announce: bool,
    /// Set when the report interval or the deadline may differ from the last window announcement.
    /// Cleared by `announcement_due`.
    window_outdated: bool,
    /// How long to wait for a symbol before the symbol is given up.
    deadline: Deadline,
    /// The ranges that the peer's reports have listed.
    ranges_listed: u64,
    /// The datagram number of the newest report of the peer.
    newest_report: Option<u64>,
    /// The largest number of redundant repairs in the peer's reports.
    redundant: u64,
    recovery_wait: RecoveryWait,
    /// The bytes from which the coding window no longer grows, while the process is short of memory.
    memory_limit: Option<usize>,
    /// The seed of the last repair's coefficients. Each repair takes the next seed.
    seed: u16,
    events: VecDeque<TunnelEvent>,
    counts: SendCounts,
}

impl<P: InnerPacket> Tunnel<P> {
    /// Creates a tunnel that begins at `now`.
    ///
    /// `entropy` seeds all random numbers of the tunnel. These numbers decide when to probe for more rate, when to send
    /// repairs, and which coefficients the repairs have. In the daemon, `entropy` must differ at every start.
    pub fn new(now: Time, config: TunnelConfig, entropy: u64) -> Tunnel<P> {
        let seed = Seed::new(entropy);
        let path = PathConfig {
            mtu: config.path_mtu,
            header: config.header,
            rate: config.rate,
            tuning: config.tuning,
            ecn: config.ecn,
            first_rtt: config.first_rtt(),
        };
        let repairs = Repairs::new(
            config.redundancy,
            config.max_overhead_bulk,
            config.max_overhead_interactive,
            config.path_mtu,
            seed.stream("repairs"),
        );
        let mut tunnel = Tunnel {
            now,
            path: Path::new(now, path, entropy, seed.stream("rate")),
            ingress: Ingress::new(config.queue_bytes, config.path_mtu),
            pieces: VecDeque::new(),
            sources: Sources::new(),
            repairs,
            blocks: match config.code {
                Code::Window => None,
                Code::Block(settings) => Some(Blocks::new(settings)),
            },
            receiver: Receiver::new(config.window_symbols, config.matrix_bytes),
            delivery: Delivery::new(config.inner_mtu()),
            announced: Window { base: 0, reach: 0, report_every: Duration::ZERO, deadline: Duration::ZERO },
            announce: true,
            window_outdated: true,
            deadline: Deadline::new(now),
            ranges_listed: 0,
            newest_report: None,
            redundant: 0,
            recovery_wait: RecoveryWait::default(),
            memory_limit: None,
            seed: seed.stream("coefficients").next_u64() as u16,
            events: VecDeque::new(),
            counts: SendCounts::default(),
            config,
        };
        tunnel.ingress.set_rtt(tunnel.path.srtt(), Duration::ZERO);
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
        self.ingress.set_quantum(path_mtu);
        self.repairs.set_packet(path_mtu);
        self.drop_long_pieces();
        if self.sources.give_up_longer(self.inner_mtu() + 1) {
            self.announce = true;
        }
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
            id_near: self.receiver.end(),
            sent_id: self.sources.next(),
            sent_number: self.path.next_number(),
            reported: self.path.reported(),
            redundant: self.redundant,
        }
    }

    /// Number of symbols from the window's base to the newest symbol sent. The base is the oldest
    /// symbol that is not given up and not known to be decoded.
    pub fn outstanding(&self) -> usize {
        self.sources.len()
    }

    /// Removes the ingress queue as a whole, for the next session with the peer.
    pub fn take_queue(&mut self) -> SendQueue<P> {
        let empty = Ingress::new(self.config.queue_bytes, self.path.mtu());
        let longest_wait = self.ingress.longest_wait(self.deadline.in_queue());
        SendQueue { ingress: std::mem::replace(&mut self.ingress, empty), longest_wait }
    }

    /// Takes over the queue of an earlier session. The packets keep the times at which they entered the queue, so they
    /// expire as if there had been no new session. The work does not depend on the number of packets.
    pub fn put_queue(&mut self, queue: SendQueue<P>) {
        self.ingress = queue.ingress;
        self.ingress.restart();
        self.ingress.set_quantum(self.path.mtu());
        self.ingress.set_rtt(self.path.srtt(), Duration::ZERO);
    }

    /// Takes inner packets that this end sends again, because their senders were told that they have arrived. They leave
    /// before the packets of their flows that wait in the ingress queue. A packet that is longer than
    /// [`Tunnel::inner_mtu`] travels in pieces.
    pub fn handle_again(&mut self, now: Time, payloads: Vec<P>) {
        let now = self.tick(now);
        for payload in payloads.into_iter().rev() {
            match payload.meta() {
                None => self.counts.malformed += 1,
                Some(meta) => {
                    self.counts.taken += 1;
                    self.ingress.push_front(now, payload, meta);
                }
            }
        }
    }

    /// Length of the largest inner packet that the tunnel takes, bytes.
    pub fn inner_mtu(&self) -> u32 {
        self.path.mtu().saturating_sub(self.path.header() + (MTU_OVERHEAD - IPV4_UDP_LEN) as u32)
    }

    /// Number of packets in the ingress queue.
    pub fn backlog_packets(&self) -> usize {
        self.ingress.backlog().0
    }

    /// Bytes of source symbols sent.
    pub fn sent_source_bytes(&self) -> u64 {
        self.counts.source_bytes
    }

    /// Whether the ingress queue is empty and all symbols sent are decoded or given up.
    pub fn is_idle(&self) -> bool {
        self.ingress.is_empty() && self.pieces.is_empty() && self.sources.len() == 0
    }

    /// The state of the session, for people and metrics.
    pub fn status(&self) -> Status {
        status::of(self)
    }

    /// Makes a report if one is due.
    fn report(&mut self, now: Time) -> Option<Feedback> {
        let path = self.path.received.report(now)?;
        let (report, is_cut) = Feedback { path: Some(path), symbols: Some(self.receiver.report()) }.cut();
        if is_cut {
            self.path.received.note_cut();
        }
        Some(report)
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
        self.take_inner(now, payload, false);
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
            Packet::Source { id, payload, .. } => self.receiver.source(now, id, payload, &mut self.delivery),
            Packet::Repair { members, coding, payload } => {
                self.receiver.repair(now, &members, &coding, payload, &mut self.delivery);
            }
            Packet::BlockRepair { first, k, number, payload } => {
                self.on_block_repair(now, first, k, number, payload);
            }
            Packet::Feedback(feedback) => self.on_feedback(now, reception.waited, number, &feedback),
            Packet::Window(window) => {
                self.path.received.set_interval(window.report_every);
                self.delivery.set_deadline(window.deadline);
                self.receiver.window(now, &window, &mut self.delivery);
            }
            Packet::Probe { padding } => self.path.received.note_probe(padding),
            Packet::Challenge { .. } | Packet::Answer { .. } => {}
            Packet::Close => self.path.note_closed(),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        let now = self.tick(now);
        let deadline = self.deadline();
        self.delivery.expire(now, deadline, self.receiver.missing());
        self.receiver.go_on(now, &mut self.delivery);
        if self.sources.expire(now, deadline) {
            self.announce = true;
        }
        let outstanding = self.is_outstanding();
        let (sources, repairs, announce) = (&mut self.sources, &mut self.repairs, &mut self.announce);
        let (events, blocks) = (&mut self.events, &mut self.blocks);
        self.path.handle_silence(now, outstanding, |outcome| {
            apply_outcome(outcome, sources, repairs, announce, events, blocks);
        });
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        let now = self.tick(now);
        if let Some((content, packet)) = self.path.own_packet() {
            return Some(self.send(now, content, packet));
        }
        if let Some(report) = self.report(now) {
            return Some(self.send(now, Content::Unasking, Packet::Feedback(Box::new(report))));
        }
        if self.path.requests.take_close(self.ingress.is_empty()) {
            return Some(self.send(now, Content::Unasking, Packet::Close));
        }
        if self.announcement_due() {
            return Some(self.send_announcement(now));
        }
        if self.path.silent_since().is_some() {
            return self.send_probe(now);
        }
        if !self.path.is_open(now) {
            let held = self.path.has_room() && self.has_waiting();
            self.path.hold(held);
            return None;
        }
        if self.path.is_tail_probe_due() {
            return Some(self.send_tail_probe(now));
        }
        if self.blocks.is_some() {
            let sent = self.send_block_repair(now).or_else(|| self.send_source(now));
            if sent.is_none() {
                self.path.hold(false);
            }
            return sent;
        }
        let path = self.path_view(now);
        if let Some(plan) = self.repairs.plan(now, &mut self.sources, &path)
            && let Some(sent) = self.send_repair(now, &plan)
        {
            return Some(sent);
        }
        let sent = self.send_source(now);
        if sent.is_none() {
            self.path.hold(false);
        }
        sent
    }

    fn poll_deliver(&mut self) -> Option<Delivered<P>> {
        self.delivery.poll(self.now, &mut DeliveryRoom::unlimited())
    }

    fn poll_event(&mut self) -> Option<TunnelEvent> {
        self.path.poll_event().map(TunnelEvent::Path).or_else(|| self.events.pop_front())
    }

    fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.deadline();
        let path = self.path_view(self.now);
        let sending = if self.path.silent_since().is_none() && self.path.has_room() {
            let now = self.has_waiting().then_some(self.now);
            let due = match &self.blocks {
                Some(blocks) => blocks.next_due(self.block_flush()),
                None => self.repairs.next_due(&self.sources, &path),
            };
            [now, due].into_iter().flatten().min().map(|at| at.max(self.path.opens()))
        } else {
            None
        };
        let [silence, tail] = self.path.silence_timers(self.is_outstanding());
        let (decoding, report) = (self.receiver.next_due(), self.path.received.report_due());
        let delivery = self.delivery.expires(deadline);
        [sending, decoding, delivery, report, self.sources.expires(deadline), silence, tail].into_iter().flatten().min()
    }
}
