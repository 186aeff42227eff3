//! The traffic source of a TCP flow: what it offers to the sender, and which transfers it reports
//! as complete.

use ripstop_base::{Rate, Seed, Time};
use ripstop_sim::tcp::{Completion, Demand, Distribution, Packing, Pattern, Period, SourceConfig, TrafficSource};
use std::time::Duration;

const MS: fn(u64) -> Time = Time::from_millis;

fn source(pattern: Pattern) -> TrafficSource {
    let config = SourceConfig { pattern, start: MS(100), stop: MS(60_000), ..SourceConfig::default() };
    TrafficSource::new(config, Seed::new(1).stream("source")).expect("the settings are valid")
}

fn span(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn an_endless_source_starts_and_stops() {
    let mut source = source(Pattern::Endless);
    assert_eq!((source.poll(MS(99)), source.next_due()), (None, MS(100)));
    assert_eq!(source.poll(MS(100)), Some(Demand::Offer(u64::MAX)));
    assert_eq!((source.poll(MS(100)), source.next_due()), (None, MS(60_000)));
    assert_eq!(source.poll(MS(60_000)), Some(Demand::Stop));
    assert_eq!((source.poll(MS(70_000)), source.next_due()), (None, Time::NEVER));
}

#[test]
fn a_file_is_complete_when_its_last_byte_has_arrived() {
    let mut source = source(Pattern::File(2_001));
    assert_eq!(source.poll(MS(100)), Some(Demand::Offer(3_000)), "the last packet is padded");
    assert_eq!((source.on_delivered(MS(200), 2_000), source.poll_completion()), (0, None));
    assert_eq!(source.on_delivered(MS(300), 3_000), 1);
    let done = Completion { began: MS(100), ended: MS(300), bytes: 2_001 };
    assert_eq!((source.poll_completion(), source.poll_completion()), (Some(done), None));
}

#[test]
fn an_on_off_source_keeps_its_rate_and_its_share_of_time() {
    let rate = Rate::from_bps(800_000);
    let fixed = Pattern::OnOff { on: Period::Fixed(span(30)), off: Period::Fixed(span(70)), rate };
    let mut source_ = source(fixed);
    let mut at = Vec::new();
    while source_.next_due() < MS(300) {
        let due = source_.next_due();
        assert_eq!(source_.poll(due), Some(Demand::Offer(1_000)));
        at.push(due.as_nanos() / 1_000_000);
    }
    assert_eq!(at, [100, 110, 120, 200, 210, 220]);
    // The source is on for a third of the time, at 100 packets a second: 1997 packets in 59.9 s,
    // standard deviation about 100.
    let mean = |ms| Period::Exponential(span(ms));
    let mut random = source(Pattern::OnOff { on: mean(100), off: mean(200), rate });
    while random.next_due() < MS(60_000) {
        random.poll(random.next_due());
    }
    assert!((1_700_000..2_500_000).contains(&random.offered()), "{}", random.offered());
}

#[test]
fn the_next_request_waits_for_the_answer_and_the_think_time() {
    let length = Distribution::Fixed(1_500);
    let mut client = source(Pattern::Requests { length, think: Period::Fixed(span(50)) });
    let mut server = source(Pattern::Answers { length: Distribution::Exponential(9_000) });
    assert_eq!((client.poll(MS(100)), client.poll(MS(100))), (Some(Demand::Offer(2_000)), None));
    assert_eq!((client.on_delivered(MS(150), 2_000), client.poll_completion()), (1, None));
    assert_eq!(server.next_due(), MS(60_000));
    server.on_arrival(MS(150));
    server.on_arrival(MS(150));
    let Some(Demand::Offer(bytes)) = server.poll(MS(150)) else { panic!("the server sends no answer") };
    assert!(server.poll(MS(150)).is_some() && server.poll(MS(150)).is_none(), "two requests have two answers");
    assert_eq!(server.on_delivered(MS(200), bytes), 1);
    assert_eq!(server.poll_completion().map(|c| (c.began, c.ended)), Some((MS(150), MS(200))));
    client.on_arrival(MS(200));
    assert_eq!(client.poll_completion(), Some(Completion { began: MS(100), ended: MS(200), bytes: 1_500 }));
    assert_eq!(client.next_due(), MS(250));
    // An answer without a request starts no think time.
    client.on_arrival(MS(210));
    assert_eq!(client.next_due(), MS(250));
}

#[test]
fn scheduled_requests_do_not_wait_for_answers() {
    let pattern = Pattern::Scheduled { length: Distribution::Fixed(100) };
    let config = SourceConfig { pattern, packing: Packing::Exact, start: MS(10), ..SourceConfig::default() };
    let mut client = TrafficSource::new(config, Seed::new(1).stream("source")).expect("the settings are valid");
    assert_eq!(client.next_due(), Time::NEVER);
    client.schedule(&[MS(5), MS(20), MS(20)]);
    client.schedule(&[MS(30)]);
    assert_eq!((client.next_due(), client.poll(MS(10))), (MS(10), Some(Demand::Offer(100))));
    assert_eq!(client.next_due(), MS(20));
    assert_eq!([0; 3].map(|_| client.poll(MS(25))), [Some(Demand::Offer(100)), Some(Demand::Offer(100)), None]);
    assert_eq!(client.on_delivered(MS(26), 250), 2);
    client.on_arrival(MS(40));
    assert_eq!(
        (client.poll_completion().map(|c| (c.began, c.ended)), client.next_due()),
        (Some((MS(10), MS(40))), MS(30))
    );
    client.schedule(&[MS(50)]);
    assert!(client.poll(MS(30)).is_some());
    assert_eq!(client.next_due(), MS(50));
}

#[test]
fn an_error_names_the_invalid_setting() {
    let base = SourceConfig::default();
    let on = Period::Fixed(Duration::ZERO);
    let rate = Rate::from_bps(1);
    for (config, words) in [
        (SourceConfig { payload: 0, ..base }, "payload: 0 bytes; a packet carries"),
        (SourceConfig { stop: Time::ZERO, ..base }, "stop: must be later"),
        (SourceConfig { pattern: Pattern::File(0), ..base }, "source.file: the file has 0 bytes"),
        (SourceConfig { pattern: Pattern::OnOff { on, off: on, rate }, ..base }, "source.on-off.on: a time of 0 s"),
        (
            SourceConfig { pattern: Pattern::Answers { length: Distribution::Fixed(0) }, ..base },
            "source.answers.length: ",
        ),
    ] {
        let error = TrafficSource::new(config, Seed::new(1).stream("x")).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
