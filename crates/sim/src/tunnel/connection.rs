//! A TCP connection between the two hosts, as the kernels at both ends of a real one would have it: what a session or a link
//! delays, drops or delivers in bursts shows in its windows as it would in theirs.

use super::cargo::Label;
use super::world::Side;
use crate::tcp::{Ack, Mechanisms, Reassembly, Receiver, Sender, SenderConfig, SenderCounts, Variant};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A receiver acknowledges every second packet, and a single one after so long (Linux).
const ACK_EVERY: u32 = 2;
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// Bytes of the IPv4 and TCP headers, with time stamps: all of an acknowledgement, and of the first packet, which carries no
/// data.
pub const TCP_IP_HEADERS: u32 = 52;
/// Inner flows of a connection in the tunnel: data and bare acknowledgements, each there and back.
pub const INNER_FLOWS: u32 = 4;

/// How packets get from host to host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the tunnel.
    Tunnel,
    /// Over the link as they are.
    Link,
}

/// What the client of a connection sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Always more.
    Endless,
    /// One file of so many bytes.
    File(u64),
    /// Requests of so many bytes, each due at its moment; the server answers each at once with as many.
    Requests(u32, Vec<Time>),
}

/// What a connection is.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionConfig {
    /// The host that opens it and sends first.
    pub from: Side,
    /// Congestion control of both ends.
    pub variant: Variant,
    /// How its packets get from host to host.
    pub way: Way,
    /// Bytes of a full packet, headers included.
    pub packet: u32,
    /// What its client sends.
    pub load: Load,
}

/// What a connection is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionStatus<'a> {
    /// Packets of data that the server has in order.
    pub in_order: u64,
    /// Bytes of payload that the server has in order.
    pub bytes: u64,
    /// When the server had the first 100 kB in order, and the first MB.
    pub marks: [Option<Time>; 2],
    /// When the server had the whole file.
    pub complete: Option<Time>,
    /// From each packet's first transmission by the client to its delivery in order, s.
    pub delays: &'a [f64],
    /// From the moment each request was due until its answer had come, in the order of the requests, those that were
    /// answered.
    pub latencies: &'a [Duration],
    /// The client's congestion window, packets.
    pub window: f64,
    /// What the client's sender did.
    pub counts: SenderCounts,
    /// How often its mechanisms did their work.
    pub mechanisms: Mechanisms,
}

/// A packet of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Its number; None: it carries no data.
    pub(super) data: Option<u64>,
    /// The acknowledgement that it carries.
    pub(super) ack: Option<Ack>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) config: ConnectionConfig,
    /// The first of its inner flows.
    flow: u32,
    /// The client, and the server.
    hosts: [Host; 2],
    /// Packets of data that a file has.
    packets: Option<u64>,
    /// When packets were first sent that the server does not have in order yet, from number `delivered` on.
    first_sent: VecDeque<Time>,
    delivered: u64,
    bytes: u64,
    marks: [Option<Time>; 2],
    complete: Option<Time>,
    delays: Vec<f64>,
    /// Delays of packets first sent before this moment are not kept.
    delays_from: Time,
    /// How many requests were sent.
    asked: usize,
    latencies: Vec<Duration>,
}

/// One end.
#[derive(Debug)]
struct Host {
    sender: Sender,
    receiver: Receiver,
    /// What leaves next, and when an acknowledgement that is delayed does.
    ready: VecDeque<Ack>,
    delayed: Time,
    /// What is under way from here through a tunnel, by places in the inner flows: packets of data, bare acknowledgements.
    data: UnderWay,
    acks: UnderWay,
    /// Requests or answers in packets that the other end does not have in order.
    messages: Messages,
}

impl Connection {
    /// A connection that begins at `now`; `random` is for the senders, `flow` is the first of its inner flows.
    pub(super) fn new(now: Time, config: ConnectionConfig, flow: u32, random: &mut Stream) -> Connection {
        let mut host = || Host {
            sender: Sender::new(config.variant, SenderConfig::linux(), random),
            receiver: Receiver::new(Reassembly::Buffer, ACK_EVERY),
            ready: VecDeque::with_capacity(16),
            delayed: Time::NEVER,
            data: UnderWay::default(),
            acks: UnderWay::default(),
            messages: Messages::default(),
        };
        let mut hosts = [host(), host()];
        let packets = match &config.load {
            Load::File(bytes) => Some(bytes.div_ceil(u64::from(config.packet - TCP_IP_HEADERS))),
            _ => None,
        };
        // Requests come when they are due.
        let offered = if matches!(config.load, Load::Requests(..)) { 0 } else { packets.unwrap_or(u64::MAX) };
        hosts[0].sender.offer(now, offered);
        Connection {
            config,
            flow,
            hosts,
            packets,
            first_sent: VecDeque::with_capacity(64),
            delivered: 0,
            bytes: 0,
            marks: [None; 2],
            complete: None,
            delays: Vec::new(),
            delays_from: Time::ZERO,
            asked: 0,
            latencies: Vec::new(),
        }
    }

    /// Takes a packet that came out of the tunnel on `side`; whether it is one of this connection.
    pub(super) fn take(&mut self, now: Time, side: Side, label: Label) -> bool {
        let Some(kind) = label.flow.checked_sub(self.flow).filter(|kind| *kind < INNER_FLOWS) else {
            return false;
        };
        let source = &mut self.hosts[usize::from(side == self.config.from)];
        let under_way = if kind.is_multiple_of(2) { &mut source.data } else { &mut source.acks };
        if let Some(segment) = under_way.take(label.sequence) {
            self.receive(now, side, segment);
        }
        true
    }

    /// The next packet that leaves `side` for the tunnel: its inner flow, its length, and whether it is a bare
    /// acknowledgement. It has the next place in that flow.
    pub(super) fn poll_tunnel(&mut self, now: Time, side: Side) -> Option<(u32, u32, bool)> {
        let (segment, len) = self.poll(now, side)?;
        let at = usize::from(side != self.config.from);
        let bare = segment.data.is_none();
        let host = &mut self.hosts[at];
        let under_way = if bare { &mut host.acks } else { &mut host.data };
        under_way.contents.push_back(segment);
        Some((self.flow + 2 * at as u32 + u32::from(bare), len, bare))
    }

    /// The next packet that leaves `side`, and its length in bytes.
    pub(super) fn poll(&mut self, now: Time, side: Side) -> Option<(Segment, u32)> {
        let at = usize::from(side != self.config.from);
        let host = &mut self.hosts[at];
        if let Some(number) = host.sender.poll_transmit() {
            // An acknowledgement goes with data where there is any.
            let ack = host.ready.pop_front().or_else(|| host.flush());
            host.messages.leave(number);
            if at == 0 && number >= self.delivered + self.first_sent.len() as u64 {
                self.first_sent.push_back(now);
            }
            return Some((Segment { data: Some(number), ack }, TCP_IP_HEADERS + self.payload(at, number)));
        }
        if !host.ready.is_empty()
            && let Some(ack) = host.flush()
        {
            // The odd one of what came at this moment goes with it.
            host.acknowledge(ack);
        }
        host.ready.pop_front().map(|ack| (Segment { data: None, ack: Some(ack) }, TCP_IP_HEADERS))
    }

    /// A packet has come to the host on `side`.
    pub(super) fn receive(&mut self, now: Time, side: Side, segment: Segment) {
        let at = usize::from(side != self.config.from);
        let host = &mut self.hosts[at];
        if let Some(ack) = segment.ack {
            host.sender.on_ack(now, &ack);
        }
        let Some(number) = segment.data else { return };
        let before = host.receiver.in_order();
        match host.receiver.on_packet(number) {
            Some(ack) => host.acknowledge(ack),
            None => host.delayed = host.delayed.min(now + DELAYED_ACK),
        }
        let arrived = before..host.receiver.in_order();
        let most = self.messages_a_packet();
        for number in arrived {
            match (at, most) {
                (0, _) => self.answered(now, number),
                (_, None) => self.deliver(now, number),
                (_, Some(most)) => {
                    self.deliver(now, number);
                    let [client, server] = &mut self.hosts;
                    if number == 0 {
                        // What answers the first packet is the first one the other way; it carries no data either.
                        server.sender.offer(now, 0);
                    }
                    (0..client.messages.take(number)).for_each(|_| server.write(now, most));
                }
            }
        }
    }

    /// Timers, and requests that are due.
    pub(super) fn on_timeout(&mut self, now: Time) {
        for host in &mut self.hosts {
            host.sender.on_timeout(now);
            if now >= host.delayed {
                let ack = host.flush();
                host.ready.extend(ack);
            }
        }
        while self.next_request().is_some_and(|due| due <= now) {
            self.asked += 1;
            let most = self.messages_a_packet().unwrap_or(1);
            self.hosts[0].write(now, most);
        }
    }

    /// When one of its timers or requests is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        let timers = self.hosts.iter().map(|host| host.sender.timeout().min(host.delayed));
        timers.chain(self.next_request()).min().filter(|due| *due != Time::NEVER)
    }

    pub(super) fn status(&self) -> ConnectionStatus<'_> {
        let sender = &self.hosts[0].sender;
        ConnectionStatus {
            in_order: self.delivered.saturating_sub(1),
            bytes: self.bytes,
            marks: self.marks,
            complete: self.complete,
            delays: &self.delays,
            latencies: &self.latencies,
            window: sender.cwnd(),
            counts: sender.counts(),
            mechanisms: sender.mechanisms(),
        }
    }

    /// Keeps the delays of packets first sent from `now` on only.
    pub(super) fn forget_delays(&mut self, now: Time) {
        self.delays.clear();
        self.delays_from = now;
    }

    fn next_request(&self) -> Option<Time> {
        match &self.config.load {
            Load::Requests(_, due) => due.get(self.asked).copied(),
            _ => None,
        }
    }

    /// Requests that a packet has room for; None: there are none.
    fn messages_a_packet(&self) -> Option<u32> {
        match &self.config.load {
            Load::Requests(bytes, _) => {
                Some((self.config.packet - TCP_IP_HEADERS).checked_div(*bytes).unwrap_or(1).max(1))
            }
            _ => None,
        }
    }

    /// Bytes of payload in packet `number` of the host `at`.
    fn payload(&self, at: usize, number: u64) -> u32 {
        let full = self.config.packet - TCP_IP_HEADERS;
        match &self.config.load {
            _ if number == 0 => 0,
            Load::Requests(bytes, _) => self.hosts[at].messages.of(number) * *bytes,
            // What is left for the last one.
            Load::File(bytes) if Some(number) == self.packets => {
                (bytes - (number - 1) * u64::from(full)) as u32
            }
            _ => full,
        }
    }

    /// The server has packet `number` in order.
    fn deliver(&mut self, now: Time, number: u64) {
        if let Some(sent) = self.first_sent.pop_front()
            && number > 0
            && sent >= self.delays_from
        {
            self.delays.push(now.since(sent).as_secs_f64());
        }
        self.delivered = number + 1;
        self.bytes += u64::from(self.payload(0, number));
        for (mark, bytes) in self.marks.iter_mut().zip([100_000, 1_000_000]) {
            *mark = mark.or((self.bytes >= bytes).then_some(now));
        }
        if Some(number) == self.packets {
            self.complete = Some(now);
        }
    }

    /// The client has packet `number` of the answers in order.
    fn answered(&mut self, now: Time, number: u64) {
        let Load::Requests(_, due) = &self.config.load else { return };
        let answers = self.hosts[1].messages.take(number) as usize;
        let due = due.iter().skip(self.latencies.len()).take(answers);
        self.latencies.extend(due.map(|due| now.since(*due)));
    }
}

impl Host {
    /// What arrives in order at one moment is merged by offload, and acknowledged once.
    fn acknowledge(&mut self, ack: Ack) {
        let plain = |ack: &Ack| ack.duplicate.is_none() && ack.blocks().next().is_none();
        if plain(&ack) && self.ready.back().is_some_and(plain) {
            self.ready.pop_back();
        }
        self.ready.push_back(ack);
        // It says what a delayed one would have said.
        self.delayed = Time::NEVER;
    }

    /// The application writes a message: it leaves with those that wait already, up to `most` in a packet.
    fn write(&mut self, now: Time, most: u32) {
        if !self.messages.join(most) {
            self.sender.offer(now, 1);
        }
    }

    /// The acknowledgement that was put off, if there is one.
    fn flush(&mut self) -> Option<Ack> {
        self.delayed = Time::NEVER;
        self.receiver.flush()
    }
}

/// Messages in packets: what the application writes while nothing may leave goes into one packet, as a kernel does it.
#[derive(Debug)]
struct Messages {
    /// How many are in each packet from number `first` on.
    counts: VecDeque<u32>,
    first: u64,
    /// The first packet that was never sent.
    unsent: u64,
}

impl Default for Messages {
    /// The first packet of a connection has none.
    fn default() -> Messages {
        Messages { counts: VecDeque::with_capacity(16), first: 1, unsent: 0 }
    }
}

impl Messages {
    /// Adds a message; whether there was a packet for it.
    fn join(&mut self, most: u32) -> bool {
        let end = self.first + self.counts.len() as u64;
        match self.counts.back_mut().filter(|count| self.unsent < end && **count < most) {
            Some(count) => {
                *count += 1;
                true
            }
            None => {
                self.counts.push_back(1);
                false
            }
        }
    }

    /// Packet `number` leaves.
    fn leave(&mut self, number: u64) {
        self.unsent = self.unsent.max(number + 1);
    }

    /// How many are in packet `number`; what was taken counts for one.
    fn of(&self, number: u64) -> u32 {
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.counts.get(at)).copied().unwrap_or(1)
    }

    /// Takes those in packet `number`, the first of those kept.
    fn take(&mut self, number: u64) -> u32 {
        if number != self.first {
            return 0;
        }
        self.first += 1;
        self.counts.pop_front().unwrap_or(0)
    }
}

/// The packets of an inner flow that are under way, by their places in it, from the first of them on.
#[derive(Debug)]
struct UnderWay {
    first: u64,
    contents: VecDeque<Segment>,
}

impl Default for UnderWay {
    fn default() -> UnderWay {
        UnderWay { first: 0, contents: VecDeque::with_capacity(64) }
    }
}

impl UnderWay {
    /// The packet in this place. A flow is delivered in order: what is older will never come.
    fn take(&mut self, place: u64) -> Option<Segment> {
        let at =
            usize::try_from(place.checked_sub(self.first)?).ok().filter(|at| *at < self.contents.len())?;
        self.first = place + 1;
        self.contents.drain(..=at).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_goes_together() {
        let mut messages = Messages::default();
        messages.leave(0);
        assert!(!messages.join(3), "packet 1");
        messages.leave(1);
        assert!(!messages.join(3), "packet 1 has left");
        assert!(messages.join(3) && messages.join(3), "packet 2 waits");
        assert!(!messages.join(3), "it is full");
        assert_eq!([1, 2, 3].map(|number| messages.of(number)), [1, 3, 1]);
        assert_eq!([1, 2, 2, 3].map(|number| messages.take(number)), [1, 3, 0, 1]);
        assert_eq!(messages.of(1), 1, "sent again after it was taken");
        assert!(!messages.join(3), "packet 3 is gone, sent or not");
    }
}
