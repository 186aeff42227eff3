//! The class of a packet, interactive or bulk. The class decides how many proactive repairs protect the packet.
//!
//! Two things decide the class:
//!
//! - A *hint* is a starting point. It comes from the packet's DSCP (RFC 2474) or its ports. A hint acts on the first
//!   packet of a flow.
//! - The flow's behaviour: its rate, and its bytes in the ingress queue. A flow that is hinted as interactive and sends
//!   much becomes bulk, for example a file copy over SSH.
//!
//! A flow without a hint is interactive while its rate is small, so the first packets of every flow are interactive. A
//! packet that is hinted as bulk is always bulk: it loses nothing but early repairs.

use super::inner_packet::Order;
use std::fmt;
use std::str::FromStr;

/// A flow is interactive when its rate is below this share of the path's estimated rate.
///
/// Interactive flows may spend more repair bytes per source byte than *bulk* flows (all other
/// flows). The share is small, so the repairs of an interactive flow take little of the path's
/// rate. With double the share, flows with up to twice the rate are interactive, and their repairs
/// cost up to twice as much. With half the share, more flows are bulk. `Ingress::push` has further
/// conditions for interactive packets.
const INTERACTIVE_SHARE: f64 = 0.02;
/// A flow below this rate is interactive on every path that carries much more, byte/s. See [`INTERACTIVE_MOST`].
///
/// The floor decides on paths slower than 400 kB/s, where [`INTERACTIVE_SHARE`] gives a lower rate.
/// With half the floor, more small flows on slow paths are bulk. With double the floor, faster
/// flows on slow paths also get the repairs of interactive flows.
const INTERACTIVE_FLOOR: f64 = 8_000.0;
/// No flow above this share of the path's estimated rate is interactive without a hint.
///
/// On a path below 128 kB/s, a bulk transfer is slower than [`INTERACTIVE_FLOOR`], and its repairs would take most of the
/// path. At 200 kbit/s and 5 % loss, CUBIC inside has .52 of the rate, with double the value .29, and without the limit
/// .09. With half the value .61, but at 500 kbit/s nine of ten requests then take 381 ms instead of 221.
const INTERACTIVE_MOST: f64 = 0.0625;
/// A flow that is hinted as interactive may have this number of times the rate of other interactive
/// flows.
///
/// At 20 Mbit/s a hinted flow stays interactive up to 1.6 Mbit/s: a video call. A file copy over SSH
/// is above this rate after 100 kB. With half the value, the packets of a video call become bulk
/// while the picture moves. With double the value, a file copy gets the repairs of interactive
/// packets for twice as long.
const HINTED: f64 = 4.0;
/// Packets that need not be delivered in order (such as bare acknowledgements) are interactive below
/// this share of the rate below which other packets are.
///
/// The next acknowledgement makes up for a lost one. But of a full-size packet's predecessor, the
/// receiver knows only a range of numbers ([`Gap`](super::Gap)), and the packet waits for a lost
/// acknowledgement in this range. While small packets had such ranges too, the 99th percentile of
/// requests at 5 % loss was 165 ms without this protection, and 104 ms with it. Half the value leaves more acknowledgements unprotected.
/// Double the value also protects those of transfers of up to 3 Mbit/s.
const IMMEDIATE_SHARE: f64 = 0.25;

/// The class of a packet. The class decides how many proactive repairs protect the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// The packet is not [`Class::Interactive`]. Each repair costs bandwidth that other packets
    /// need.
    #[default]
    Bulk,
    /// The packet's flow uses little of the path's rate. So repairs of the packet are cheap.
    Interactive,
}

/// What the DSCP or the ports of a packet say about its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing. The flow's behaviour alone decides.
    #[default]
    None,
    /// The packet belongs to an application for which delay matters.
    Interactive,
    /// The packet belongs to a background transfer.
    Bulk,
}

/// The fields of an inner packet from which a hint follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The differentiated services code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// The IP protocol number.
    pub protocol: u8,
    /// The source and destination ports; None without ports, and for bare TCP acknowledgements.
    pub ports: Option<(u16, u16)>,
}

/// Packets that get a hint. The text form is `dscp/ef`, `dscp/46`, `tcp/22` or `udp/5004-5005`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassRule {
    /// Packets with this differentiated services code point.
    Dscp(u8),
    /// Packets of this IP protocol (6: TCP, 17: UDP) whose source or destination port is in a range. A
    /// range of dynamic ports (from 49152 on) does not match a packet whose other port is below 32768.
    Ports {
        /// The IP protocol number.
        protocol: u8,
        /// The first port of the range.
        first: u16,
        /// The last port of the range.
        last: u16,
    },
}

/// The rules that give hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassHints {
    /// The hint of each code point.
    dscp: [Hint; 64],
    /// The rules for ports. The first rule that matches counts.
    ports: Vec<(u8, u16, u16, Hint)>,
}

/// IP protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The first dynamic port (RFC 6335, section 6). Clients get dynamic ports at random, so a port of a range from here on
/// may be a client's port. Half or double the value does not name this range.
const DYNAMIC: u16 = 49_152;
/// The first port that Linux gives to clients (`net.ipv4.ip_local_port_range`). A packet with a lower port is one of a
/// server at this port, and the other port is a client's random port: one in 16 lies in the range of mosh. With half the
/// value, servers at ports from 16384 on are not recognised. Double the value hides the hint from mosh: its clients have
/// ports from this value on.
const CLIENT: u16 = 32_768;

/// The names of code points (IANA registry "Differentiated Services Field Codepoints").
const DSCP_NAMES: [(&str, u8); 23] = [
    ("cs0", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// Code points that are interactive by default. RFC 8325 maps the same ones to the access categories voice and video of
/// Wi-Fi, but for AF3x and CS3: these are streams, which a receiver buffers.
///
/// - CS4, AF41 to AF43: real-time interactive, and multimedia conferencing (RFC 4594, sections 4.3 and 4.4).
/// - CS5, EF, VA: signalling and telephony (RFC 4594, sections 4.1 and 4.2; RFC 5865).
/// - CS6: routing protocols (RFC 4594, section 3.1).
const INTERACTIVE_DSCP: [u8; 8] = [32, 34, 36, 38, 40, 44, 46, 48];
/// Code points that are bulk by default: lower effort (RFC 8622), and CS1 for low-priority data (RFC 4594, section 4.10).
const BULK_DSCP: [u8; 2] = [1, 8];
/// Ports that are interactive by default: SSH, DNS (also over TLS), RTP and RTCP at their registered ports, SIP, STUN and
/// TURN, and mosh.
const INTERACTIVE_PORTS: [(u8, u16, u16); 10] = [
    (TCP, 22, 22),
    (TCP, 53, 53),
    (UDP, 53, 53),
    (TCP, 853, 853),
    (UDP, 5004, 5005),
    (TCP, 5060, 5061),
    (UDP, 5060, 5061),
    (TCP, 3478, 3478),
    (UDP, 3478, 3478),
    (UDP, 60_000, 61_000),
];
/// Ports that are bulk by default: rsync.
const BULK_PORTS: [(u8, u16, u16); 1] = [(TCP, 873, 873)];

impl Default for ClassHints {
    /// The hints of the table in `docs/operators/configuration.md`.
    fn default() -> ClassHints {
        let mut hints = ClassHints::none();
        INTERACTIVE_DSCP.iter().for_each(|dscp| hints.dscp[usize::from(*dscp)] = Hint::Interactive);
        BULK_DSCP.iter().for_each(|dscp| hints.dscp[usize::from(*dscp)] = Hint::Bulk);
        let interactive =
            INTERACTIVE_PORTS.iter().map(|(protocol, first, last)| (*protocol, *first, *last, Hint::Interactive));
        let bulk = BULK_PORTS.iter().map(|(protocol, first, last)| (*protocol, *first, *last, Hint::Bulk));
        hints.ports.extend(interactive.chain(bulk));
        hints
    }
}

impl ClassHints {
    /// Rules that give no hints.
    pub fn none() -> ClassHints {
        ClassHints { dscp: [Hint::None; 64], ports: Vec::new() }
    }

    /// Adds a rule. It precedes the rules so far.
    pub fn add(&mut self, rule: ClassRule, hint: Hint) {
        match rule {
            ClassRule::Dscp(dscp) => {
                if let Some(entry) = self.dscp.get_mut(usize::from(dscp)) {
                    *entry = hint;
                }
            }
            ClassRule::Ports { protocol, first, last } => self.ports.insert(0, (protocol, first, last, hint)),
        }
    }

    /// The hint for a packet. A hint of the DSCP precedes a hint of the ports, because the application or an
    /// administrator has set the DSCP of just these packets.
    pub fn of(&self, traffic: Traffic) -> Hint {
        match self.dscp.get(usize::from(traffic.dscp)) {
            Some(Hint::None) | None => {}
            Some(hint) => return *hint,
        }
        let Some((source, destination)) = traffic.ports else { return Hint::None };
        let matches = |protocol: u8, first: u16, last: u16| {
            let within = |port: u16, other: u16| (first..=last).contains(&port) && (first < DYNAMIC || other >= CLIENT);
            protocol == traffic.protocol && (within(source, destination) || within(destination, source))
        };
        let rule = self.ports.iter().find(|(protocol, first, last, _)| matches(*protocol, *first, *last));
        rule.map_or(Hint::None, |(.., hint)| *hint)
    }
}

/// The rate below which a flow is interactive, byte/s. `bandwidth` is the path's estimated rate, byte/s. The result is 0
/// for bulk packets.
pub(crate) fn interactive_below(bandwidth: f64, hint: Hint, order: Order) -> f64 {
    let below = (bandwidth * INTERACTIVE_SHARE).max(INTERACTIVE_FLOOR.min(bandwidth * INTERACTIVE_MOST));
    match (hint, order) {
        (Hint::Bulk, _) => 0.0,
        (Hint::Interactive, _) => HINTED * below,
        (Hint::None, Order::InOrder) => below,
        (Hint::None, Order::Immediate) => IMMEDIATE_SHARE * below,
    }
}

impl FromStr for ClassRule {
    type Err = String;

    fn from_str(text: &str) -> Result<ClassRule, String> {
        const EXAMPLES: &str = "write for example \"tcp/22\", \"udp/5004-5005\", \"dscp/ef\" or \"dscp/46\"";
        let wrong = |problem: &str| format!("`{text}` {problem}; {EXAMPLES}");
        let Some((kind, value)) = text.trim().split_once('/') else {
            return Err(wrong("is not a rule for a class"));
        };
        let protocol = match kind {
            "dscp" => {
                let named = DSCP_NAMES.iter().find(|(name, _)| value.eq_ignore_ascii_case(name)).map(|(_, dscp)| *dscp);
                let dscp = named.or_else(|| value.parse().ok().filter(|dscp| *dscp < 64));
                return dscp.map(ClassRule::Dscp).ok_or_else(|| wrong("is not a DSCP from 0 to 63"));
            }
            "tcp" => TCP,
            "udp" => UDP,
            _ => return Err(wrong("begins with none of `tcp/`, `udp/` and `dscp/`")),
        };
        let (first, last) = value.split_once('-').unwrap_or((value, value));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last && first > 0 => Ok(ClassRule::Ports { protocol, first, last }),
            _ => Err(wrong("has no port, and no range of ports, from 1 to 65535")),
        }
    }
}

impl fmt::Display for ClassRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassRule::Dscp(dscp) => match DSCP_NAMES.iter().find(|(_, value)| value == dscp) {
                Some((name, _)) => write!(f, "dscp/{name}"),
                None => write!(f, "dscp/{dscp}"),
            },
            ClassRule::Ports { protocol, first, last } => {
                let name = if *protocol == TCP { "tcp" } else { "udp" };
                if first == last { write!(f, "{name}/{first}") } else { write!(f, "{name}/{first}-{last}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> ClassRule {
        text.parse().unwrap()
    }

    fn packet(dscp: u8, protocol: u8, from: u16, to: u16) -> Traffic {
        Traffic { dscp, protocol, ports: Some((from, to)) }
    }

    #[test]
    fn the_default_hints_follow_the_rfcs() {
        let hints = ClassHints::default();
        let of = |dscp| hints.of(Traffic { dscp, ..Traffic::default() });
        let named = |name: &str| match rule(&format!("dscp/{name}")) {
            ClassRule::Dscp(dscp) => of(dscp),
            rule => panic!("{rule}"),
        };
        for name in ["ef", "va", "AF41", "af42", "af43", "cs4", "cs5", "cs6"] {
            assert_eq!(named(name), Hint::Interactive, "{name}");
        }
        assert_eq!([named("le"), named("cs1")], [Hint::Bulk; 2]);
        for name in ["cs0", "cs2", "cs3", "cs7", "af11", "af21", "af31"] {
            assert_eq!(named(name), Hint::None, "{name}");
        }
        let port =
            |protocol, port| [hints.of(packet(0, protocol, 50_000, port)), hints.of(packet(0, protocol, port, 50_000))];
        for (protocol, number) in [(TCP, 22), (UDP, 53), (UDP, 5060), (UDP, 5004), (UDP, 60_123)] {
            assert_eq!(port(protocol, number), [Hint::Interactive; 2], "{protocol} {number}");
        }
        assert_eq!(
            (port(TCP, 873), port(TCP, 443), port(UDP, 22)),
            ([Hint::Bulk; 2], [Hint::None; 2], [Hint::None; 2])
        );
    }

    /// A client of a QUIC server has a random port, which may lie in the range of mosh.
    #[test]
    fn a_random_port_of_a_client_gives_no_hint() {
        let mut hints = ClassHints::default();
        let both = |hints: &ClassHints, a, b| [hints.of(packet(0, UDP, a, b)), hints.of(packet(0, UDP, b, a))];
        for server in [443, 4433, 8443, 32_767] {
            assert_eq!(both(&hints, 60_500, server), [Hint::None; 2], "{server}");
        }
        for client in [32_768, 51_000, 60_500, 65_535] {
            assert_eq!(both(&hints, client, 60_001), [Hint::Interactive; 2], "{client}");
        }
        hints.add(rule("udp/40000-61000"), Hint::Bulk);
        assert_eq!(both(&hints, 60_500, 443), [Hint::Bulk; 2], "the range begins below the dynamic ports");
    }

    #[test]
    fn a_dscp_precedes_ports_and_later_rules_precede_earlier_ones() {
        let mut hints = ClassHints::default();
        assert_eq!(hints.of(packet(8, TCP, 22, 50_000)), Hint::Bulk);
        hints.add(rule("tcp/20-30"), Hint::Bulk);
        hints.add(rule("tcp/873"), Hint::None);
        hints.add(rule("dscp/cs1"), Hint::None);
        assert_eq!(hints.of(packet(8, TCP, 22, 50_000)), Hint::Bulk);
        assert_eq!(hints.of(packet(8, TCP, 873, 50_000)), Hint::None);
        assert_eq!(ClassHints::none().of(packet(46, TCP, 22, 22)), Hint::None);
    }

    #[test]
    fn rules_are_read_and_written() {
        for text in ["dscp/ef", "dscp/63", "tcp/22", "udp/5004-5005"] {
            assert_eq!(rule(text).to_string(), text);
        }
        for (text, words) in [
            ("22", "not a rule"),
            ("sctp/22", "none of"),
            ("tcp/0", "no port"),
            ("udp/9-5", "no port"),
            ("udp/70000", "no port"),
            ("dscp/64", "from 0 to 63"),
            ("dscp/gold", "from 0 to 63"),
        ] {
            let error = ClassRule::from_str(text).unwrap_err();
            assert!(error.contains(words) && error.contains("dscp/ef"), "{error}");
        }
    }

    #[test]
    fn a_hint_moves_the_threshold() {
        let below = |hint, order| interactive_below(1e6, hint, order);
        assert_eq!(below(Hint::None, Order::InOrder), 20_000.0);
        assert_eq!(below(Hint::None, Order::Immediate), 5_000.0);
        assert_eq!([Order::InOrder, Order::Immediate].map(|order| below(Hint::Interactive, order)), [80_000.0; 2]);
        assert_eq!(below(Hint::Bulk, Order::InOrder), 0.0);
        let slow = |bandwidth| interactive_below(bandwidth, Hint::None, Order::InOrder);
        assert_eq!([slow(400e3), slow(128e3), slow(16e3)], [INTERACTIVE_FLOOR, INTERACTIVE_FLOOR, 1_000.0]);
    }
}
