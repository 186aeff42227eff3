//! The TCP connection at the two ends of a TCP/LT session: a source that gives packets to the sender, and a sink that
//! takes packets from the receiver and checks them.

use ripstop_base::{Stream, Time};
use ripstop_codes::Symbol;
use ripstop_schemes::lt::{LtDelivered, LtInner, LtMode, Segment, TcpAck};
use std::time::Duration;

/// How long the source waits for an acknowledgement before it sends again. RFC 6298 begins with 1 s. Half the value
/// gives the sender more repeated packets; double the value makes sessions with losses before the sender longer.
const RETRANSMISSION_TIME: Duration = Duration::from_secs(1);

/// A TCP source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceConfig {
    /// How many packets the connection has.
    pub(crate) packets: u64,
    /// TCP's window in packets.
    pub(crate) window: u64,
    /// The share of packets that are lost between the source and the sender.
    pub(crate) wired_loss: f64,
    /// The length of the longest packet, bytes, at least 20.
    pub(crate) most_bytes: u64,
    /// The number of packets that the application sends before each pause, and the length of the pause. None: no pauses.
    pub(crate) pause: Option<(u64, Duration)>,
}

/// Packet `number` of a connection. Its length varies, and is in its first bytes.
pub(crate) fn content(connection: u32, number: u64, most_bytes: u64) -> Symbol {
    let len = 20 + (number * 37 % (most_bytes - 19)) as usize;
    Symbol::build(len, |bytes| {
        let mix = number as u8 ^ connection as u8;
        bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i as u8).wrapping_mul(31) ^ mix);
        bytes[..2].copy_from_slice(&(len as u16).to_be_bytes());
        bytes[2..6].copy_from_slice(&connection.to_be_bytes());
        bytes[6..14].copy_from_slice(&number.to_be_bytes());
    })
}

/// The sending end of a connection.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) connection: u32,
    config: SourceConfig,
    draws: Stream,
    /// The number of the packet after the last one.
    end: u64,
    /// The application has given TCP the packets before this one.
    released: u64,
    /// When the application goes on.
    resumes: Time,
    /// The first packet that is not acknowledged.
    acknowledged: u64,
    /// The next packet to send.
    next: u64,
    /// One more than the highest packet that was sent.
    highest: u64,
    /// TCP may send the packets before this one. None: the connection is not open.
    edge: Option<u64>,
    /// Acknowledgements that repeat the last one.
    repeats: u32,
    /// When TCP sends again.
    again: Time,
    /// Whether the first missing packet, or the SYN, must be sent again.
    resends: bool,
    /// What the sender did wrong.
    pub(crate) fault: Option<String>,
}

impl Source {
    /// The source of a connection whose first packet has the number `first`. In the improved mode it begins with a SYN.
    pub(crate) fn new(connection: u32, config: SourceConfig, mode: LtMode, first: u64, draws: Stream) -> Source {
        let opens = mode == LtMode::Improved;
        Source {
            connection,
            config,
            draws,
            end: first + config.packets,
            released: first,
            resumes: Time::ZERO,
            acknowledged: first,
            next: first,
            highest: first,
            edge: if opens { None } else { Some(u64::MAX) },
            repeats: 0,
            again: Time::ZERO,
            resends: opens,
            fault: None,
        }
    }

    /// Whether everything is acknowledged.
    pub(crate) fn is_done(&self) -> bool {
        self.acknowledged == self.end
    }

    /// The number of the packet after the last one.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// How many packets are acknowledged, from number 0 on. An open connection counts as one more.
    pub(crate) fn progress(&self) -> u64 {
        self.acknowledged + u64::from(self.edge.is_some())
    }

    /// Whether TCP waits for the session: packets are not acknowledged, or the connection is not open.
    pub(crate) fn waits(&self) -> bool {
        self.edge.is_none() || self.acknowledged < self.released
    }

    /// The state in words.
    pub(crate) fn state(&self) -> String {
        let Source { connection, acknowledged, next, end, edge, .. } = self;
        format!("connection {connection}: acknowledged {acknowledged}, next {next}, end {end}, window edge {edge:?}")
    }

    /// Adds packets to a connection that is done, so that the sender must use the path again.
    pub(crate) fn extend(&mut self, packets: u64) {
        self.end += packets;
    }

    /// Takes an acknowledgement of the sender.
    pub(crate) fn acknowledge(&mut self, ack: TcpAck, now: Time) {
        if ack.next > self.highest || ack.next < self.acknowledged {
            let (next, known, sent) = (ack.next, self.acknowledged, self.highest);
            self.fault = Some(format!("the sender acknowledged {next} after {known}, and TCP has sent {sent}"));
            return;
        }
        let edge = self.edge.unwrap_or(0).max(ack.room.map_or(u64::MAX, |room| ack.next + u64::from(room)));
        let is_update = self.edge != Some(edge);
        self.edge = Some(edge);
        if ack.next > self.acknowledged {
            (self.acknowledged, self.repeats) = (ack.next, 0);
            self.next = self.next.max(ack.next);
            self.again = now + RETRANSMISSION_TIME;
        } else if !is_update {
            self.repeats += 1;
            self.resends |= self.repeats == 3;
        }
    }

    /// The next packet or SYN that TCP gives to the sender. None: TCP waits.
    pub(crate) fn poll(&mut self, now: Time) -> Option<LtInner<Symbol>> {
        loop {
            if self.released < self.end && self.resumes <= now {
                let (packets, pause) = self.config.pause.unwrap_or((u64::MAX, Duration::ZERO));
                self.released = self.released.saturating_add(packets).min(self.end);
                self.resumes = now + pause;
            }
            let Some(edge) = self.edge else {
                let opens = std::mem::take(&mut self.resends);
                self.again = if opens { now + RETRANSMISSION_TIME } else { self.again };
                return opens.then_some(LtInner::Open);
            };
            let most = self.released.min(self.acknowledged + self.config.window);
            let number = match std::mem::take(&mut self.resends) {
                true if self.acknowledged < most => self.acknowledged,
                _ if self.next < most.min(edge) => self.next,
                _ => return None,
            };
            self.next = self.next.max(number + 1);
            self.highest = self.highest.max(self.next);
            self.again = self.again.max(now + RETRANSMISSION_TIME);
            if !self.draws.chance(self.config.wired_loss) {
                let payload = content(self.connection, number, self.config.most_bytes);
                return Some(LtInner::Segment(Segment { number, payload }));
            }
        }
    }

    /// Sends again if the time is over. Beyond a closed window, this is TCP's window probe.
    pub(crate) fn timeout(&mut self, now: Time) {
        if self.due() <= now && self.waits() {
            self.again = now + RETRANSMISSION_TIME;
            self.resends = true;
            // TCP goes back: packets after the first missing one may be missing too.
            self.next = self.acknowledged;
            self.repeats = 0;
        }
    }

    /// When the source must be polled.
    pub(crate) fn due(&self) -> Time {
        let resumes = if self.released < self.end { self.resumes } else { Time::NEVER };
        if self.waits() { self.again.min(resumes) } else { resumes }
    }
}

/// The receiving end of a connection.
#[derive(Debug)]
pub(crate) struct Sink {
    most_bytes: u64,
    /// Whether a SYN was delivered.
    is_open: bool,
    /// The connection whose packets come. None before the first packet.
    pub(crate) connection: Option<u32>,
    /// The number of the next packet.
    pub(crate) next: u64,
    /// Packets delivered.
    pub(crate) packets: u64,
    /// What the receiver did wrong.
    pub(crate) fault: Option<String>,
}

impl Sink {
    /// A sink that expects packet `first`. In the paper's modes, a SYN is not delivered.
    pub(crate) fn new(mode: LtMode, first: u64, most_bytes: u64) -> Sink {
        let is_open = mode != LtMode::Improved;
        Sink { most_bytes, is_open, connection: None, next: first, packets: 0, fault: None }
    }

    /// Takes what the receiver delivers. Returns whether it is a SYN, which the sink accepts.
    pub(crate) fn take(&mut self, delivered: LtDelivered<Symbol>) -> bool {
        let LtDelivered::Packet { number, payload } = delivered else {
            // A receiver that is not used yet may change to another session, and delivers its SYN as well.
            if self.packets > 0 {
                self.fault = Some(format!("a SYN was delivered after {} packets", self.packets));
            }
            self.is_open = true;
            return true;
        };
        let wrong = self.check(number, payload.as_slice());
        self.fault = self.fault.take().or(wrong);
        self.packets += 1;
        self.next = number + 1;
        false
    }

    /// What is wrong with a delivered packet, in words.
    fn check(&mut self, number: u64, bytes: &[u8]) -> Option<String> {
        if !self.is_open {
            return Some("a packet was delivered before the SYN".into());
        }
        if number != self.next {
            return Some(format!("packet {number} was delivered in the place of packet {}", self.next));
        }
        let connection = bytes.get(2..6).map_or(0, |id| id.iter().fold(0, |id, byte| id << 8 | u32::from(*byte)));
        if *self.connection.get_or_insert(connection) != connection {
            return Some(format!(
                "packet {number} of connection {connection} came into connection {:?}",
                self.connection
            ));
        }
        let right = content(connection, number, self.most_bytes);
        let (content, padding) = bytes.split_at_checked(right.len())?;
        let is_right = content == right.as_slice() && padding.iter().all(|byte| *byte == 0);
        (!is_right).then(|| format!("packet {number} has wrong bytes"))
    }
}
