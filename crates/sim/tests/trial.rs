//! The measurement of the tunnel alone: requests are answered, figures add up, equal seeds give equal runs.

use ripstop_base::{Fraction, Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_sim::tunnel::Trial;
use std::time::Duration;

fn trial(loss: f64, bulk: bool) -> Trial {
    let link = LinkConfig::path(
        Rate::from_bps(20_000_000),
        Duration::from_millis(100),
        Fraction::new(loss).expect("a share"),
    );
    Trial {
        links: [link.clone(), link],
        bulk,
        requests: (40..96).map(|k| Duration::from_millis(50 * k)).collect(),
        from: Duration::from_secs(2),
        until: Duration::from_secs(5),
        grace: Duration::from_secs(2),
        seed: Seed::new(3),
    }
}

#[test]
fn requests_take_a_round_trip_and_all_are_answered() {
    for bulk in [false, true] {
        let got = trial(0.1, bulk).run(|_| ()).unwrap();
        assert_eq!(got.latencies.len(), 56);
        let latencies: Vec<Duration> =
            got.latencies.iter().map(|l| l.expect("every request is answered, seed 3")).collect();
        assert!(latencies.iter().all(|l| *l >= Duration::from_millis(100)), "{latencies:?}");
        assert_eq!(got.request_bytes, 5_600);
        assert_eq!(got.bulk_bytes.1 > 1_000_000, bulk);
        assert_eq!(got.first_1mb.is_some(), bulk);
        assert!(got.first_100kb <= got.first_1mb && got.link.lost_channel > 0);
        assert_eq!((got.violations, got.unfired.len()), (0, 0));
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let got = Trial { seed: Seed::new(seed), ..trial(0.1, true) }.run(|_| ()).unwrap();
        (got.bulk_bytes, got.offered_bytes, got.latencies, got.first_100kb)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn what_nobody_answers_has_waited_until_the_end() {
    let mut trial = trial(0.0, false);
    trial.links[1].loss = ripstop_link::Loss::bernoulli(Fraction::new(1.0).expect("all"));
    let got = trial.run(|_| ()).unwrap();
    // The run goes on for the grace: 7 s; the first request was due at 2 s.
    assert_eq!(got.latencies.first(), Some(&Err(Duration::from_secs(5))));
    assert!(got.latencies.iter().all(Result::is_err));
}
