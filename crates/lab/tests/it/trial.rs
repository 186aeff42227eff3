//! The demonstration's measurement in virtual time: requests are answered, files arrive, figures
//! add up, equal seeds give equal runs, and all contenders meet the same losses.

use ripstop_base::{Bytes, Fraction, Rate, Seed, Span};
use ripstop_lab::trial::{BulkTraffic, PathKind, Scheme, Trial};
use ripstop_link::{DropReason, Fate, Link, LinkConfig, Loss};
use ripstop_sim::scenario::{FlowSpec, RunSpec, ScenarioReport, Tandem, TunnelSpec, run_once};
use ripstop_sim::tcp::Variant;
use ripstop_sim::world::Happening;
use std::time::Duration;

/// All contenders under test.
const SCHEMES: [Scheme; 8] = [
    Scheme::Packets,
    Scheme::Tcp(Variant::LinuxCubic, PathKind::Tunnel),
    Scheme::Tcp(Variant::Bbr, PathKind::Tunnel),
    Scheme::Tcp(Variant::LinuxCubic, PathKind::Link),
    Scheme::Tcp(Variant::Bbr, PathKind::Link),
    Scheme::Tcp(Variant::LinuxReno, PathKind::Link),
    Scheme::Tcp(Variant::NewReno, PathKind::Link),
    Scheme::Tcp(Variant::Sack, PathKind::Link),
];

/// A trial over 20 Mbit/s and 100 ms with this share of random losses. Requests are due every 50 ms
/// from 2 s to 4.75 s.
fn trial(scheme: Scheme, loss: f64, bulk: BulkTraffic) -> Trial {
    let link = LinkConfig::path(
        Rate::from_bps(20_000_000),
        Duration::from_millis(100),
        Fraction::new(loss).expect("a share from 0 to 1"),
    );
    Trial {
        links: [link.clone(), link],
        scheme,
        bulk,
        requests: (40..96).map(|k| Duration::from_millis(50 * k)).collect(),
        from: Duration::from_secs(2),
        until: Duration::from_secs(5),
        grace: Duration::from_secs(20),
        fates: false,
        seed: Seed::new(3),
    }
}

#[test]
fn every_request_is_answered_after_a_round_trip() {
    for scheme in SCHEMES {
        for bulk in [BulkTraffic::None, BulkTraffic::Endless] {
            let got = trial(scheme, 0.05, bulk).run(|_| ()).unwrap();
            let why = format!("{scheme:?} {bulk:?}, seed 3: {got:?}");
            assert_eq!(got.latencies.len(), 56);
            let answered = |l: &Result<Duration, Duration>| l.is_ok_and(|l| l >= Duration::from_millis(100));
            assert!(got.latencies.iter().all(answered), "{why}");
            assert!(got.request_bytes <= 5_600 && got.request_bytes > 0, "{why}");
            let any = bulk != BulkTraffic::None;
            assert_eq!(got.bulk_bytes.1 > 0, any, "{why}");
            assert_eq!(got.first_100kb.is_some(), got.bulk_bytes.1 >= 100_000, "{why}");
            assert_eq!(got.first_1mb.is_some(), got.bulk_bytes.1 >= 1_000_000, "{why}");
            assert!(got.link.lost_channel > 0, "{why}");
            assert!(got.delays.quantile_s(0.0).is_none_or(|least| least >= 0.05), "{why}");
            assert_eq!(got.delays.count() > 0, any, "{why}");
            assert_eq!((got.violations, got.unfired.len()), (0, 0), "{why}");
        }
    }
}

#[test]
fn a_file_arrives_whole_and_ends_the_run() {
    for scheme in SCHEMES.into_iter().filter(|scheme| *scheme != Scheme::Packets) {
        let trial = Trial {
            requests: Vec::new(),
            until: Duration::from_secs(600),
            ..trial(scheme, 0.01, BulkTraffic::File(1_234_567))
        };
        let got = trial.run(|_| ()).unwrap();
        let complete = got.complete.unwrap_or_else(|| panic!("{scheme:?}, seed 3: {got:?}"));
        assert_eq!(got.bulk_bytes.1, 1_234_567, "{scheme:?}, seed 3");
        assert!(got.first_1mb.is_some_and(|at| at < complete), "{scheme:?}, seed 3");
    }
}

#[test]
fn the_tunnel_hides_losses_that_stop_a_plain_tcp() {
    let goodput = |scheme| trial(scheme, 0.05, BulkTraffic::Endless).run(|_| ()).unwrap().bulk_bytes.0;
    for variant in [Variant::LinuxCubic, Variant::LinuxReno] {
        let [plain, hidden] = [PathKind::Link, PathKind::Tunnel].map(|way| goodput(Scheme::Tcp(variant, way)));
        assert!(hidden > 10 * plain && plain > 0, "{variant:?}, seed 3: {plain} {hidden}");
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    for scheme in SCHEMES {
        let run = |seed| {
            let got = Trial { seed: Seed::new(seed), ..trial(scheme, 0.1, BulkTraffic::Endless) };
            let got = got.run(|_| ()).unwrap();
            (got.bulk_bytes, got.offered_bytes, got.latencies, got.first_100kb, got.delays.count())
        };
        assert_eq!(run(7), run(7), "{scheme:?}");
        assert_ne!(run(7), run(8), "{scheme:?}");
    }
}

/// Whether the k-th packet on a link is lost does not depend on the contender. A link whose random
/// stream has the name that the emulator uses loses the same packets.
#[test]
fn all_contenders_meet_the_same_losses() {
    for loss in
        [Loss::bernoulli(Fraction::new(0.1).unwrap()), Loss::Gilbert { mean: Fraction::new(0.1).unwrap(), burst: 4.0 }]
    {
        for scheme in SCHEMES {
            let mut trial = Trial { fates: true, ..trial(scheme, 0.1, BulkTraffic::Endless) };
            trial.links.iter_mut().for_each(|link| link.loss = loss.clone());
            let got = trial.run(|_| ()).unwrap();
            let mut compared = 0;
            for ((fates, link), name) in got.fates.iter().zip(&trial.links).zip(["link/0", "link/1"]) {
                let unhurried =
                    LinkConfig { rate: Rate::from_bps(0), delay: Span::from(Duration::ZERO), ..link.clone() };
                let mut alone = Link::new(&unhurried, trial.seed, name).unwrap();
                for (k, fate) in fates.iter().enumerate() {
                    let chance = alone.offer(ripstop_base::Time::ZERO, 1500).reason();
                    // No random number is drawn for a packet that the queue refuses.
                    if !matches!(fate, Fate::Refused { .. }) {
                        assert_eq!(fate.reason(), chance, "{scheme:?}, {name}, packet {k}, seed 3");
                        compared += usize::from(chance == Some(DropReason::Channel));
                    }
                }
            }
            assert!(compared > 5, "{scheme:?}: {compared} losses");
        }
    }
}

/// `ripstop sim tandem --hops 1` (with `--tunnel`) and the trial simulate the same connection, so
/// bytes and fates are equal.
#[test]
fn a_chain_of_one_link_equals_the_trial() {
    for (variant, way) in [
        (Variant::LinuxCubic, PathKind::Tunnel),
        (Variant::Bbr, PathKind::Tunnel),
        (Variant::LinuxCubic, PathKind::Link),
        (Variant::Bbr, PathKind::Link),
    ] {
        let base = trial(Scheme::Tcp(variant, way), 0.05, BulkTraffic::Endless);
        let trial = Trial { fates: true, requests: Vec::new(), ..base };
        let got = trial.run(|_| ()).unwrap();
        let tunnel = (way == PathKind::Tunnel).then(|| TunnelSpec::new("tunnel", "", ""));
        let flow = FlowSpec {
            tcp: variant,
            window: u32::MAX,
            ack_every: 2,
            packet: Bytes::new(if way == PathKind::Tunnel { 1384 } else { 1448 }),
            ..FlowSpec::new("", "")
        };
        let run = RunSpec {
            start_jitter: Some(Span::from(Duration::ZERO)),
            duration: Span::from(trial.until),
            warmup: Span::from(trial.from),
            runs: 1,
            seed: 3,
            ..RunSpec::default()
        };
        let [forth, back] = trial.links.clone();
        let scenario = Tandem { run, hops: 1, forth, back, flows: vec![flow], tunnel }.scenario();
        let mut fates: [Vec<Fate>; 2] = [Vec::new(), Vec::new()];
        let totals = run_once(&scenario, 0, &mut |_: ripstop_base::Time, happening: Happening<'_>| {
            if let Happening::Offered { link, fate, .. } = happening {
                fates[link].extend(fate);
            }
        });
        let report = ScenarioReport::new(&scenario, &[totals.unwrap()]);
        let bytes = report.goodput_bps.mean.unwrap() / 8.0 * (trial.until - trial.from).as_secs_f64();
        assert!((bytes - got.bulk_bytes.0 as f64).abs() < 1e-3, "{variant:?} {way:?}, seed 3: {bytes} {got:?}");
        assert_eq!(fates, got.fates, "{variant:?} {way:?}, seed 3");
        assert!(fates.iter().all(|way| way.iter().filter(|fate| fate.reason().is_some()).count() > 3));
    }
}

#[test]
fn an_unanswered_request_waits_until_the_end() {
    for scheme in SCHEMES {
        let mut trial = Trial { grace: Duration::from_secs(2), ..trial(scheme, 0.0, BulkTraffic::None) };
        trial.links[1].loss = Loss::bernoulli(Fraction::new(1.0).expect("a loss of all packets"));
        let got = trial.run(|_| ()).unwrap();
        // The run ends at 7 s, grace included, and the first request is due at 2 s.
        assert_eq!(got.latencies.first(), Some(&Err(Duration::from_secs(5))), "{scheme:?}");
        assert!(got.latencies.iter().all(Result::is_err), "{scheme:?}");
    }
}
