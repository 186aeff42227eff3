//! The 60 links. No link loses packets at random: plain TCP works well on all of them.

use std::fmt::Write;

/// One link, the same in both directions except for what `more` says of the direction of the data.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// What is special about the link.
    pub(crate) kind: &'static str,
    /// The rate, Mbit/s.
    pub(crate) mbps: f64,
    /// The round-trip time without queues, ms.
    pub(crate) rtt_ms: f64,
    /// Room in the queue, bytes.
    pub(crate) queue: f64,
    /// Further settings in the direction of the data, as TOML.
    pub(crate) more: String,
}

/// What carries the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheme {
    /// Congestion control of the TCP.
    pub(crate) tcp: &'static str,
    /// Whether the TCP runs through the tunnel.
    pub(crate) tunnel: bool,
}

/// Plain CUBIC, plain BBR, the tunnel with CUBIC, the tunnel with BBR.
pub(crate) const SCHEMES: [Scheme; 4] = [
    Scheme { tcp: "linux-cubic", tunnel: false },
    Scheme { tcp: "bbr", tunnel: false },
    Scheme { tcp: "linux-cubic", tunnel: true },
    Scheme { tcp: "bbr", tunnel: true },
];

/// Payload of a TCP segment in a plain packet of 1500 bytes, bytes.
pub(crate) const PLAIN_PAYLOAD: f64 = 1448.0;
/// Payload of a TCP segment in a tunnel whose path has an MTU of 1500, bytes.
pub(crate) const TUNNEL_PAYLOAD: f64 = 1384.0;
/// The size on the link of a tunnel's datagram with such a segment: 1436 bytes and the headers of 56 bytes.
pub(crate) const TUNNEL_DATAGRAM: f64 = 1492.0;

impl Path {
    fn new(kind: &'static str, mbps: f64, rtt_ms: f64, queue: f64) -> Path {
        Path { kind, mbps, rtt_ms, queue, more: String::new() }
    }

    fn with(self, more: impl Into<String>) -> Path {
        Path { more: format!(", {}", more.into()), ..self }
    }

    /// The bandwidth-delay product, bytes.
    fn bdp(mbps: f64, rtt_ms: f64) -> f64 {
        mbps * rtt_ms * 125.0
    }

    /// The name of the link: kind, rate, round trip, queue, further settings.
    pub(crate) fn name(&self) -> String {
        let mut name = format!("{} Mbit/s, {} ms, {:.0} kB", self.mbps, self.rtt_ms, self.queue / 1e3);
        if !self.more.is_empty() {
            let more: String = self.more.chars().filter(|c| !"\"{}".contains(*c)).collect();
            let _ = write!(name, "{}", more.replace(" = ", " ").replace("  ", " ").trim_end());
        }
        name
    }

    /// The scenario as TOML: the link with one endless transfer by `scheme`, `runs` times.
    pub(crate) fn scenario(&self, scheme: Scheme, runs: u32) -> String {
        let warmup = (20.0 * self.rtt_ms / 1e3).max(2.0);
        let duration = warmup + (60.0 * self.rtt_ms / 1e3).max(30.0);
        let way = format!(
            "rate = \"{}Mbit/s\", delay = \"{}ms\", queue = \"{:.0}B\"",
            self.mbps,
            self.rtt_ms / 2.0,
            self.queue
        );
        let (tunnel, through, payload) = match scheme.tunnel {
            true => ("[[tunnel]]\nname = \"t\"\nbetween = [\"a\", \"b\"]\n", "tunnel = \"t\"\n", TUNNEL_PAYLOAD),
            false => ("", "", PLAIN_PAYLOAD),
        };
        format!(
            "[run]\nduration = \"{duration}s\"\nwarmup = \"{warmup}s\"\nruns = {runs}\nseed = 1\n\
             [[link]]\nbetween = [\"a\", \"b\"]\nforth = {{ {way}{} }}\nback = {{ {way} }}\n{tunnel}\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = \"{}\"\nwindow = 40000\nack-every = 2\npacket = \"{payload}B\"\n{through}",
            self.more, scheme.tcp
        )
    }
}

/// All links.
pub(crate) fn links() -> Vec<Path> {
    let mut all = Vec::new();
    // A queue of less than a few packets, or of more than a few seconds, is no queue that anybody has.
    for (kind, bdps, least) in
        [("shallow queue", 0.25, 6_000.0), ("queue", 1.0, 15_000.0), ("deep queue", 4.0, 100_000.0)]
    {
        for mbps in [1.0, 5.0, 20.0, 100.0] {
            for rtt in [5.0, 100.0, 600.0] {
                all.push(Path::new(kind, mbps, rtt, f64::max(least, bdps * Path::bdp(mbps, rtt))));
            }
        }
    }
    let one = |kind, mbps, rtt| Path::new(kind, mbps, rtt, f64::max(30_000.0, Path::bdp(mbps, rtt)));
    for (mbps, rtt, rate, burst) in [
        (20.0, 5.0, 10, 30),
        (20.0, 100.0, 10, 15),
        (20.0, 100.0, 10, 125),
        (20.0, 300.0, 10, 60),
        (100.0, 30.0, 50, 60),
        (100.0, 100.0, 10, 125),
        (5.0, 30.0, 1, 15),
    ] {
        let policer = format!("policer = {{ rate = \"{rate}Mbit/s\", burst = \"{burst}kB\" }}");
        all.push(one("policer", mbps, rtt).with(policer));
    }
    for (mbps, rtt, percent, extra) in [
        (1.0, 100.0, 1.0, 30),
        (5.0, 30.0, 5.0, 5),
        (20.0, 100.0, 0.1, 10),
        (20.0, 100.0, 1.0, 20),
        (20.0, 300.0, 5.0, 30),
        (100.0, 30.0, 1.0, 3),
        (100.0, 100.0, 0.1, 20),
    ] {
        let reorder = format!("reorder = {{ probability = \"{percent}%\", extra_delay = \"{extra}ms\" }}");
        all.push(one("reordering", mbps, rtt).with(reorder));
    }
    for (mbps, rtt, jitter) in
        [(1.0, 100.0, 20), (5.0, 30.0, 5), (20.0, 30.0, 3), (20.0, 100.0, 20), (20.0, 600.0, 60), (100.0, 100.0, 5)]
    {
        all.push(one("jitter", mbps, rtt).with(format!("jitter = \"{jitter}ms\"")));
    }
    for (mbps, rtt, aqm) in [(5.0, 30.0, "codel"), (20.0, 100.0, "codel"), (20.0, 100.0, "fq"), (20.0, 100.0, "pie")] {
        let queue = 4.0 * Path::bdp(mbps, rtt);
        all.push(Path::new("AQM", mbps, rtt, queue).with(format!("queue_discipline = \"{aqm}\"")));
    }
    all
}
