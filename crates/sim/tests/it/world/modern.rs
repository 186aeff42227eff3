//! CUBIC (by the RFCs and as in Linux), BBR and Reno on the modern sender, over a bare link.
//!
//! Every mechanism must act where it should, and every file must arrive. A table of shares is
//! compared with a snapshot, which this command rewrites:
//!
//! ```text
//! UPDATE_SNAPSHOTS=1 cargo test -p ripstop-sim --test it world::modern
//! ```

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Change, Duplicate, LinkConfig, Loss, Policer, Reorder};
use ripstop_sim::tcp::{Mechanisms, Pattern, Period, SenderConfig, Variant};
use ripstop_sim::world::{Carrier, FlowTotals, Happening, Hosts, TcpConfig, World};
use std::fmt::Write;
use std::time::Duration;

/// The seed of most runs here. Another seed gives another snapshot.
const SEED: Seed = Seed::new(1);
/// Payload of a full packet, bytes: 1500 less 52 bytes of headers.
const PAYLOAD: u32 = 1448;
/// All algorithms of the modern sender.
const ALL: [Variant; 4] = [Variant::Cubic, Variant::LinuxCubic, Variant::Bbr, Variant::LinuxReno];

/// One connection between kernels over a link. The link back has no queue limit and no policer.
struct Path {
    world: World,
    /// The largest congestion window during the last [`Path::run`], packets.
    cwnd: f64,
}

impl Path {
    fn new(variant: Variant, link: &LinkConfig, seed: Seed, pattern: Pattern) -> Path {
        Path::until(variant, link, seed, pattern, Time::NEVER)
    }

    /// Like [`Path::new`], but the connection sends nothing new from `stop` on.
    fn until(variant: Variant, link: &LinkConfig, seed: Seed, pattern: Pattern, stop: Time) -> Path {
        let back = LinkConfig { queue: None, policer: None, ..link.clone() };
        let mut world = World::new(seed);
        let links = [(link, "there"), (&back, "back")];
        let links = links.map(|(link, name)| world.add_link(link, name).expect("the link is valid"));
        let flow = TcpConfig {
            variant,
            sender: SenderConfig { window: 20_000, ..SenderConfig::linux() },
            hosts: Hosts::Kernels,
            ack_every: 2,
            payload: PAYLOAD,
            pattern,
            stop,
            ..TcpConfig::default()
        };
        world.add_tcp(flow, &Carrier::Links(&links[..1], &links[1..]), "flow").expect("the flow is valid");
        Path { world, cwnd: 0.0 }
    }

    /// Runs until `end`, in seconds. Returns how many data packets have arrived in order by `end`.
    fn run(&mut self, end: f64) -> u64 {
        self.cwnd = 0.0;
        let cwnd = &mut self.cwnd;
        self.world.run_until(Time::from_secs_f64(end), &mut |_: Time, happening: Happening<'_>| {
            if let Happening::Window { cwnd: now, .. } = happening {
                *cwnd = cwnd.max(now);
            }
        });
        self.world.totals(0).packets
    }

    fn counters(&self) -> (FlowTotals, Mechanisms) {
        (self.world.totals(0), self.world.mechanisms(0).expect("the sender has modern mechanisms"))
    }
}

fn share(value: f64) -> Fraction {
    Fraction::new(value).expect("a share from 0 to 1")
}

fn ms(n: u64) -> Span {
    Span::from(Duration::from_millis(n))
}

/// A link of 20 Mbit/s and 100 ms with this share of random losses, and a queue of one bandwidth-delay product.
fn path(loss: f64) -> LinkConfig {
    LinkConfig::path(Rate::from_bps(20_000_000), Duration::from_millis(100), share(loss))
}

fn run(variant: Variant, link: &LinkConfig, seconds: f64) -> (FlowTotals, Mechanisms) {
    let mut path = Path::new(variant, link, SEED, Pattern::Endless);
    path.run(seconds);
    path.counters()
}

#[test]
fn slow_start_ends_when_the_delay_rises() {
    // The queue is deep enough: slow start ends before a loss.
    let deep = LinkConfig { queue: Some(QueueLimit::Packets(1500)), ..path(0.0) };
    let (counts, did) = run(Variant::Cubic, &deep, 10.0);
    assert!(did.conservative_starts > 0 && did.hystart_exits == 1, "{did:?}");
    assert_eq!((counts.retransmits, counts.timeouts), (0, 0), "{counts:?}");
    let (counts, did) = run(Variant::LinuxCubic, &deep, 10.0);
    assert_eq!((did.conservative_starts, did.hystart_exits, counts.retransmits), (0, 1, 0), "{did:?}");
    // A short rise of the delay does not end slow start.
    let change = |at, delay| Change { at: ms(at), delay: Some(ms(delay)), ..Change::default() };
    let passing = LinkConfig { schedule: vec![change(350, 75), change(450, 50)], ..path(0.0) };
    let (_, did) = run(Variant::Cubic, &passing, 1.5);
    assert!(did.resumed_starts > 0, "{did:?}");
}

/// Linux's CUBIC has sent 3 MB after 5.60 s at 20 Mbit/s and 600 ms, and after 2.76 s at 50 Mbit/s and 300 ms. Linux's
/// CUBIC leaves slow start when the path is full.
///
/// If HyStart's rounds begin in the middle of a flight, they mistake the flight's own queue for a
/// full path. The transfers then take 9.4 s and 2.94 s.
#[test]
fn slow_start_lasts_until_a_long_path_is_full() {
    for (rate, rtt, kernel) in [(20_000_000, 600, 5.60), (50_000_000, 300, 2.76)] {
        let link = LinkConfig::path(Rate::from_bps(rate), Duration::from_millis(rtt), share(0.0));
        let whole = 3_000_000_u64.div_ceil(u64::from(PAYLOAD));
        let arrived = |by: f64| Path::new(Variant::LinuxCubic, &link, SEED, Pattern::Endless).run(by);
        let (early, late) = (arrived(0.97 * kernel), arrived(1.03 * kernel));
        assert!(early < whole && whole <= late, "{rate} bit/s, {rtt} ms: {early} {late} of {whole}");
    }
}

#[test]
fn losses_are_detected_by_time_and_repaired_in_proportion() {
    let (counts, did) = run(Variant::Cubic, &path(0.02), 60.0);
    assert!(did.rack_losses > 50 && did.rack_lost_again > 0 && did.proportional > did.rack_losses, "{did:?}");
    assert!(did.fast_convergences > 0 && did.reno_friendly > 0 && did.reorder_timeouts > 0, "{did:?}");
    assert!(counts.timeouts < counts.fast_retransmits / 10, "{counts:?}");
    let (_, did) = run(Variant::Bbr, &path(0.02), 10.0);
    assert!(did.rack_losses > 100 && did.conserved > 0 && did.proportional == 0, "{did:?}");
}

#[test]
fn a_lost_tail_triggers_a_probe() {
    for variant in ALL {
        // The link loses the last of 21 packets; the first packet carries no data. The next burst
        // follows 2 s later.
        let on_off = Pattern::OnOff {
            on: Period::Fixed(Duration::from_nanos(20 * u64::from(PAYLOAD))),
            off: Period::Fixed(Duration::from_secs(2)),
            rate: Rate::from_bps(8_000_000_000),
        };
        let link = LinkConfig { loss: Loss::Indices { lost: vec![20], period: None }, ..path(0.0) };
        let mut path = Path::new(variant, &link, SEED, on_off);
        let arrived = path.run(1.9);
        let (counts, did) = path.counters();
        assert_eq!((arrived, counts.timeouts, did.tail_probes), (20, 0, 1), "{variant:?} {did:?}");
        path.run(3.0);
        let (_, did) = path.counters();
        assert_eq!((did.tail_losses, did.needless), (1, 0), "{variant:?} {did:?}");
        assert!(did.app_limited > 0, "{variant:?} {did:?}");
        // An idle period reduces CUBIC's window, but not BBR's.
        path.run(30.0);
        assert_eq!(path.counters().1.idle_restarts > 0, variant != Variant::Bbr);
    }
}

#[test]
fn reordering_is_learned_and_spurious_recoveries_are_undone() {
    let reorder = Some(Reorder { probability: share(0.01), extra_delay: ms(40) });
    let (counts, did) = run(Variant::Cubic, &LinkConfig { reorder, ..path(0.0) }, 60.0);
    assert!(did.reordered > 0 && did.reorder_timeouts > 0, "{did:?}");
    assert!(did.needless > 0 && did.undone_recoveries > 0, "{did:?}");
    assert!(counts.retransmits < counts.sent / 100, "{counts:?}");
    let (_, did) = run(Variant::Bbr, &LinkConfig { reorder, ..path(0.0) }, 20.0);
    assert!(did.undone_recoveries > 0, "{did:?}");
}

#[test]
fn a_spurious_time_out_is_undone() {
    for variant in ALL {
        // The delay grows by more than the retransmission time-out.
        let longer = Change { at: ms(5_000), delay: Some(ms(2_000)), ..Change::default() };
        let link = LinkConfig { schedule: vec![longer], ..path(0.0) };
        let mut path = Path::new(variant, &link, SEED, Pattern::Endless);
        path.run(12.0);
        path.run(20.0);
        let (counts, did) = path.counters();
        assert!(counts.timeouts > 0 && did.undone_timeouts > 0, "{variant:?} {counts:?} {did:?}");
        assert!(path.cwnd > 50.0, "{variant:?}: {}", path.cwnd);
    }
}

#[test]
fn bbr_finds_the_rate_drains_and_probes() {
    // Jitter hides the smallest round-trip time, so BBR must probe for it.
    let (counts, did) = run(Variant::Bbr, &LinkConfig { jitter: ms(2), ..path(0.0) }, 25.0);
    assert_eq!((did.full_pipes, did.drains, counts.timeouts), (1, 1, 0), "{did:?}");
    assert!(did.rtt_probes >= 1 && did.gain_phases > 100 && did.paced > 10_000, "{did:?}");
    assert!(did.aggregated > 0 && did.app_limited > 0, "{did:?}");
}

#[test]
fn bbr_finds_a_policer() {
    let policer = Some(Policer { rate: Rate::from_bps(4_000_000), burst: "60kB".parse().unwrap() });
    let link = LinkConfig { policer, ..path(0.0) };
    let mut path = Path::new(Variant::Bbr, &link, SEED, Pattern::Endless);
    path.run(10.0);
    let before = path.counters();
    let arrived = path.run(15.0);
    let after = path.counters();
    assert!(after.1.policed > 0, "{after:?}");
    // After BBR has detected the policer, few packets are lost.
    let lost = after.1.rack_losses - before.1.rack_losses;
    assert!(arrived > 3_000 && lost * 10 < after.0.sent - before.0.sent, "{arrived} {before:?} {after:?}");
}

#[test]
fn every_file_arrives_whole() {
    for run in 0..24 {
        let seed = Seed::new(9).run(run);
        let mut random = seed.stream("scenario");
        let rate = Rate::from_bps(500_000 << random.below(7));
        let rtt = Duration::from_millis(5 + random.below(400));
        let link = LinkConfig {
            jitter: ms(random.below(20)),
            reorder: Some(Reorder { probability: share(0.02 * random.unit()), extra_delay: ms(30) }),
            duplicate: Some(Duplicate { probability: share(0.05 * random.unit()), extra_delay: ms(5) }),
            queue: Some(QueueLimit::Packets(4 + random.below(100))),
            ..LinkConfig::path(rate, rtt, share(0.25 * random.unit()))
        };
        for variant in ALL {
            let mut path = Path::new(variant, &link, seed, Pattern::File(300_500));
            path.run(900.0);
            let totals = path.world.totals(0);
            assert_eq!((totals.completed, totals.bytes), (1, 300_500), "seed 9 run {run}, {variant:?}: {totals:?}");
            // Nothing is sent after the file is complete.
            path.run(1200.0);
            assert_eq!(path.world.totals(0).sent, totals.sent, "seed 9 run {run}, {variant:?}");
        }
    }
}

/// Equal seeds give equal runs, and a stopped sender only retransmits.
#[test]
fn equal_seeds_give_equal_runs_and_a_stopped_sender_ends() {
    for variant in ALL {
        let link = path(0.05);
        let mut path = Path::until(variant, &link, SEED, Pattern::Endless, Time::from_secs_f64(3.0));
        path.run(2.9);
        assert_eq!(path.counters(), run(variant, &link, 2.9));
        let arrived = path.run(20.0);
        let counts = path.counters().0;
        // The first packet carries no data.
        assert_eq!(counts.sent - counts.retransmits, arrived + 1, "{variant:?}: {counts:?}");
        path.run(60.0);
        assert_eq!(path.counters().0.sent, counts.sent, "{variant:?}");
    }
}

#[test]
fn shares_match_the_snapshot() {
    const LOSSES: [f64; 6] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2];
    let mut text = String::from(
        "# Payload rate of one TCP alone, divided by C (1-p). C = 20 Mbit/s is the link's rate, and p is the loss in each direction.\n\
         # The round trip is 100 ms, the queue holds one bandwidth-delay product, and packets of 1500 bytes carry 1448 bytes.\n\
         # Measured from 2 s to 60 s: mean over the runs 0 to 3 of seed 1.\n\
         # UPDATE_SNAPSHOTS=1 cargo test -p ripstop-sim --test it world::modern\n",
    );
    let _ = writeln!(text, "{:8}{}", "", LOSSES.map(|p| format!("{:>8}", format!("{:.0}%", 100.0 * p))).concat());
    for variant in ALL {
        let cells = LOSSES.map(|p| {
            let shares = (0..4).map(|run| {
                let mut tcp = Path::new(variant, &path(p), SEED.run(run), Pattern::Endless);
                let before = tcp.run(2.0);
                (tcp.run(60.0) - before) as f64 * 8.0 * f64::from(PAYLOAD) / (58.0 * 20e6 * (1.0 - p))
            });
            format!("{:>8.4}", shares.sum::<f64>() / 4.0)
        });
        let _ = writeln!(text, "{:12}{}", format!("{variant:?}"), cells.concat());
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/bare.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == text, "the figures differ from {}.\nstored:\n{stored}\nnow:\n{text}", file.display());
}
