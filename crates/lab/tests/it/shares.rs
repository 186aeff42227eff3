//! The tunnel's share of each link, compared with snapshots in the sources. A change of behaviour
//! shows as a diff.
//!
//! Each run has one bulk source over the tunnel alone, or one TCP connection through the tunnel, in
//! virtual time under one seed. The figures are exact and the same on every machine. This command
//! rewrites the snapshots:
//!
//! ```text
//! UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --test it shares
//! ```

use ripstop_base::{Fraction, Rate, Seed};
use ripstop_lab::trial::{BulkTraffic, PathKind, Scheme, Trial};
use ripstop_link::{LinkConfig, Loss};
use ripstop_sim::tcp::Variant;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The seed of all runs. Another seed gives other figures, so the snapshots must be rewritten.
const SEED: u64 = 1;

/// Shares of packets that each of the two links loses. Each share is a column of the tables.
const LOSSES: [f64; 6] = [0.0, 0.01, 0.05, 0.10, 0.20, 0.30];

/// The links of the bulk source: name, rate in bit/s, round-trip time in ms, and mean length of a
/// loss burst in packets.
const LINKS: [(&str, u64, u64, f64); 6] = [
    ("1 Mbit/s, 50 ms", 1_000_000, 50, 1.0),
    ("2 Mbit/s, 800 ms", 2_000_000, 800, 1.0),
    ("20 Mbit/s, 100 ms", 20_000_000, 100, 1.0),
    ("20 Mbit/s, 100 ms, bursts of 4", 20_000_000, 100, 4.0),
    ("20 Mbit/s, 600 ms", 20_000_000, 600, 1.0),
    ("100 Mbit/s, 20 ms", 100_000_000, 20, 1.0),
];

/// The links of a TCP inside the tunnel: name, rate in bit/s, round-trip time in ms, and queue in
/// packets. Here the TCP limits what is sent, so short paths and a short queue are included.
const TCP_LINKS: [(&str, u64, u64, Option<&str>); 6] = [
    ("5 Mbit/s, 50 ms", 5_000_000, 50, None),
    ("20 Mbit/s, 10 ms", 20_000_000, 10, None),
    ("20 Mbit/s, 100 ms", 20_000_000, 100, None),
    ("20 Mbit/s, 100 ms, queue of 15", 20_000_000, 100, Some("15")),
    ("100 Mbit/s, 3 ms", 100_000_000, 3, None),
    ("100 Mbit/s, 30 ms", 100_000_000, 30, None),
];

/// Bytes on the link for each useful byte at the default MTU: 1500 / (1436 - 52).
const HEADERS: f64 = 1500.0 / 1384.0;

#[test]
fn shares_match_the_snapshot() {
    compare("shares.txt", &table());
}

#[test]
fn shares_of_cubic_inside_match_the_snapshot() {
    let mut text = String::from(
        "# The figures of shares.txt for one TCP connection (Linux's CUBIC) through the tunnel. Its headers are not useful bytes.\n\
         # UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --test it shares\n",
    );
    rows(
        &mut text,
        &TCP_LINKS
            .map(|(name, rate, rtt, queue)| (name, move |p| measure_tcp(rate, rtt, p, queue, Variant::LinuxCubic))),
    );
    compare("tcp.txt", &text);
}

#[test]
fn shares_of_bbr_inside_match_the_snapshot() {
    let mut text = String::from(
        "# The figures of shares.txt for one TCP connection (BBR) through the tunnel. Its headers are not useful bytes.\n\
         # UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --test it shares\n",
    );
    rows(
        &mut text,
        &TCP_LINKS.map(|(name, rate, rtt, queue)| (name, move |p| measure_tcp(rate, rtt, p, queue, Variant::Bbr))),
    );
    compare("bbr.txt", &text);
}

/// The table of the bulk source.
fn table() -> String {
    let mut text = String::from(
        "# Each cell has two figures: the goodput as a share of C(1-p), and sent bytes per useful byte times (1-p)/h.\n\
         # C is the link's rate, p the loss in both directions (the columns), and h = 1500/1384 the bytes sent per useful byte.\n\
         # One bulk source sends through the tunnel alone, in virtual time, seed 1. Measured over\n\
         # [max(2 s, 20 RTT), max(10 s, 60 RTT)].\n\
         # UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --test it shares\n",
    );
    rows(&mut text, &LINKS.map(|(name, rate, rtt, burst)| (name, move |p| measure(rate, rtt, p, burst))));
    text
}

/// Writes a title and one line for each link: share and sent/useful for each loss.
fn rows(text: &mut String, links: &[(&str, impl Fn(f64) -> (f64, f64))]) {
    let titles = LOSSES.map(|p| format!("{:>13}", format!("{:.0}%", 100.0 * p)));
    let _ = writeln!(text, "{:32}{}", "", titles.concat());
    for (name, measure) in links {
        let cells = LOSSES.map(|p| {
            let (share, sent) = measure(p);
            format!("{share:>7.3}{sent:>6.3}")
        });
        let _ = writeln!(text, "{name:32}{}", cells.concat());
    }
}

/// Share and sent/useful of a bulk source over the tunnel alone.
fn measure(rate: u64, rtt: u64, p: f64, burst: f64) -> (f64, f64) {
    let rtt = Duration::from_millis(rtt);
    let loss = Fraction::new(p).expect("a share from 0 to 1");
    let mut link = LinkConfig::path(Rate::from_bps(rate), rtt, loss);
    if burst > 1.0 && p > 0.0 {
        link.loss = Loss::Gilbert { mean: loss, burst };
    }
    figures(link, rtt, p, Scheme::Packets)
}

/// Share and sent/useful of a TCP connection through the tunnel.
fn measure_tcp(rate: u64, rtt: u64, p: f64, queue: Option<&str>, variant: Variant) -> (f64, f64) {
    let rtt = Duration::from_millis(rtt);
    let mut link = LinkConfig::path(Rate::from_bps(rate), rtt, Fraction::new(p).expect("a share from 0 to 1"));
    if let Some(queue) = queue {
        link.queue = Some(queue.parse().expect("the queue limit is valid"));
    }
    figures(link, rtt, p, Scheme::Tcp(variant, PathKind::Tunnel))
}

/// Share and sent/useful over equal links in both directions.
fn figures(link: LinkConfig, rtt: Duration, p: f64, scheme: Scheme) -> (f64, f64) {
    let rate = link.rate.bps();
    let trial = Trial {
        links: [link.clone(), link],
        scheme,
        bulk: BulkTraffic::Endless,
        requests: Vec::new(),
        from: (20 * rtt).max(Duration::from_secs(2)),
        until: (60 * rtt).max(Duration::from_secs(10)),
        grace: Duration::ZERO,
        fates: false,
        seed: Seed::new(SEED),
    };
    let got = trial.run(|_| ()).expect("the link is valid");
    assert_eq!(got.violations, 0, "seed {SEED}, {rate} bit/s, {rtt:?}, loss {p}");
    // Loss is the only impairment configured. The link back is not checked, because it carries few
    // packets and a rare burst may not occur.
    assert_eq!(got.link.lost_channel > 0, p > 0.0, "seed {SEED}, {rate} bit/s, {rtt:?}, loss {p}");
    let useful = got.bulk_bytes.0 as f64;
    let share = 8.0 * useful / (trial.until - trial.from).as_secs_f64() / (rate as f64 * (1.0 - p));
    (share, got.offered_bytes as f64 / useful * (1.0 - p) / HEADERS)
}

/// Asserts that `text` equals the file tests/snapshots/`name`, or stores `text` in this file.
fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(
        stored == text,
        "the figures differ from {}.\nstored:\n{stored}\nnow:\n{text}\nIf the change is intended: UPDATE_SNAPSHOTS=1 cargo \
         test -p ripstop-lab --test it shares, and state the reason in the commit.",
        path.display()
    );
}
