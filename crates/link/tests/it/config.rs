//! Settings as text: the texts that people may write, and the errors that wrong values give.

use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span};
use ripstop_link::{
    Blackout, Change, Discipline, Duplicate, Fec, Link, LinkConfig, Loss, Mark, Policer, RateTrace, Reorder,
};
use std::time::Duration;

fn parse(text: &str) -> Result<LinkConfig, String> {
    let config: LinkConfig = serde_json::from_str(text).map_err(|e| e.to_string())?;
    config.check().map_err(|e| e.to_string())?;
    Ok(config)
}

fn everything() -> LinkConfig {
    let ms = |n| Span::from(Duration::from_millis(n));
    let share = |p| Fraction::new(p).unwrap();
    LinkConfig {
        rate: Rate::from_bps(20_000_000),
        rate_trace: None,
        queue: Some(QueueLimit::Bytes(300_000)),
        queue_discipline: Discipline::Pie { target: ms(10) },
        ecn: true,
        mark: Some(Mark::Queue(QueueLimit::Packets(30))),
        delay: ms(50),
        jitter: ms(2),
        mtu: Some(Bytes::new(1500)),
        policer: Some(Policer { rate: Rate::from_bps(10_000_000), burst: Bytes::new(15_000) }),
        loss: Loss::Gilbert { mean: share(0.05), burst: 4.0 },
        fec: Some(Fec { unit: Bytes::new(48), ..Fec::new(22, 20, Loss::gilbert(share(0.01), share(0.75))) }),
        reorder: Some(Reorder { probability: share(0.01), extra_delay: ms(3) }),
        duplicate: Some(Duplicate { probability: share(0.02), extra_delay: ms(0) }),
        corrupt: share(0.03),
        blackouts: vec![Blackout { at: ms(5000), length: ms(200), every: Some(ms(60_000)) }],
        schedule: vec![Change { at: ms(10_000), rate: Some(Rate::from_bps(5_000_000)), ..Change::default() }],
        schedule_period: Some(ms(60_000)),
    }
}

/// A blackout may be written by its length or by its end. A policer's bucket has a default size.
#[test]
fn parts_have_short_forms() {
    let ms = |n| Span::from(Duration::from_millis(n));
    let link = |text: &str| serde_json::from_str::<LinkConfig>(text);
    for text in [r#"["30s", "40s"]"#, r#"{"from": "30s", "to": "40s"}"#, r#"{"at": "30s", "length": "10s"}"#] {
        let read = link(&format!(r#"{{"blackouts": [{text}]}}"#)).unwrap();
        assert_eq!(read.blackouts, [Blackout { at: ms(30_000), length: ms(10_000), every: None }], "{text}");
    }
    for (text, words) in [
        (r#"["40s", "30s"]"#, "from 40s to 30s ends before it begins"),
        (r#"{"at": "30s", "to": "40s"}"#, "`at` and `length`, or `from` and `to`"),
        (r#"["30s"]"#, "blackouts"),
        (r#"7"#, "a pair, such as"),
    ] {
        let error = link(&format!(r#"{{"blackouts": [{text}]}}"#)).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    let read = link(r#"{"policer": {"rate": "10Mbit/s"}}"#).unwrap();
    assert_eq!(read.policer, Some(Policer::new(Rate::from_bps(10_000_000))));
    assert_eq!(read.policer.unwrap().burst, Bytes::new(62_500));
}

#[test]
fn reads_what_people_write() {
    let text = r#"{
        "rate": "20Mbit/s", "queue": "300kB", "mark": "30",
        "queue_discipline": {"name": "pie", "target": "10ms"}, "ecn": true, "delay": "50ms", "jitter": "2ms", "mtu": 1500,
        "policer": {"rate": "10Mbit/s", "burst": "15kB"},
        "loss": {"model": "gilbert", "mean": "5%", "burst": 4},
        "fec": {"k": 20, "n": 22, "unit": 48, "loss": {"model": "gilbert", "mean": "1%", "stay_bad": 0.75}},
        "reorder": {"probability": "1%", "extra_delay": "3ms"},
        "duplicate": {"probability": 0.02},
        "corrupt": "3%",
        "blackouts": [{"at": "5s", "length": "200ms", "every": "1min"}],
        "schedule": [{"at": "10s", "rate": "5Mbit/s"}], "schedule_period": "1min"
    }"#;
    assert_eq!(parse(text), Ok(everything()));
    assert_eq!(parse("{}"), Ok(LinkConfig::default()));
    let bare = parse(r#"{"fec": {"k": 20, "n": 20}}"#).unwrap().fec;
    assert_eq!(bare, Some(Fec { k: 20, n: 20, unit: Bytes::new(53), loss: Loss::None }));
    let five = Loss::bernoulli(Fraction::new(0.05).unwrap());
    for loss in [r#""5%""#, "0.05", r#"{"model": "bernoulli", "probability": "5%"}"#] {
        assert_eq!(parse(&format!(r#"{{"loss": {loss}}}"#)).unwrap().loss, five, "{loss}");
    }
    for loss in [
        r#"{"model": "none"}"#,
        r#"{"model": "gilbert_elliott", "to_bad": "1%", "to_good": "25%"}"#,
        r#"{"model": "indices", "lost": [1, 5], "period": 10}"#,
        r#"{"model": "sequence", "pattern": "0010"}"#,
    ] {
        parse(&format!(r#"{{"loss": {loss}}}"#)).unwrap();
    }
}

#[test]
fn written_settings_read_back() {
    let steps =
        vec![(Span::from(Duration::ZERO), Rate::from_bps(1)), (Span::from(Duration::from_secs(2)), Rate::from_bps(0))];
    let trace = RateTrace { steps, period: Some(Span::from(Duration::from_secs(5))), file: None };
    let traced = LinkConfig { rate_trace: Some(trace), ..LinkConfig::default() };
    for config in [everything(), LinkConfig::default(), traced] {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(parse(&text), Ok(config));
    }
    for loss in [
        Loss::GilbertElliott {
            to_bad: Fraction::new(0.1).unwrap(),
            to_good: Fraction::new(0.2).unwrap(),
            loss_good: Fraction::ZERO,
            loss_bad: Fraction::new(0.9).unwrap(),
        },
        Loss::Indices { lost: vec![3], period: None },
        Loss::Sequence { pattern: "01".into() },
    ] {
        let config = LinkConfig { loss, ..LinkConfig::default() };
        assert_eq!(parse(&serde_json::to_string(&config).unwrap()), Ok(config));
    }
}

#[test]
fn disciplines_and_marks_have_short_forms() {
    let share = |p| Some(Mark::Share(Fraction::new(p).unwrap()));
    let ms = |n| Span::from(Duration::from_millis(n));
    for (text, mark) in [
        (r#""30""#, Some(Mark::Queue(QueueLimit::Packets(30)))),
        ("30", Some(Mark::Queue(QueueLimit::Packets(30)))),
        (r#""300kB""#, Some(Mark::Queue(QueueLimit::Bytes(300_000)))),
        (r#""5%""#, share(0.05)),
        (r#""0.05""#, share(0.05)),
        ("0.05", share(0.05)),
        ("1.0", share(1.0)),
        (r#""1.0""#, share(1.0)),
        (r#""1e-7""#, share(1e-7)),
        (r#""5ms""#, Some(Mark::Wait(ms(5)))),
    ] {
        let read = parse(&format!(r#"{{"mark": {text}}}"#)).unwrap();
        assert_eq!(read.mark, mark, "{text}");
        assert_eq!(parse(&serde_json::to_string(&read).unwrap()), Ok(read), "{text}");
    }
    let fq = Discipline::Fq { target: ms(10), interval: ms(200), quantum: Bytes::new(300), flows: 16 };
    for (text, discipline) in [
        (r#""fifo""#, Discipline::Fifo),
        (r#""codel""#, Discipline::codel()),
        (r#""pie""#, Discipline::pie()),
        (r#"{"name": "fq"}"#, Discipline::fq()),
        (r#"{"name": "codel", "target": "10ms"}"#, Discipline::Codel { target: ms(10), interval: ms(100) }),
        (r#"{"name": "fq", "target": "10ms", "interval": "200ms", "quantum": 300, "flows": 16}"#, fq),
    ] {
        let read = parse(&format!(r#"{{"queue_discipline": {text}}}"#)).unwrap();
        assert_eq!(read.queue_discipline, discipline, "{text}");
        assert_eq!(parse(&serde_json::to_string(&read).unwrap()), Ok(read), "{text}");
    }
}

#[test]
fn errors_name_the_setting_and_a_valid_value() {
    for (text, words) in [
        (r#"{"rate": "fast"}"#, ["`rate`", "20Mbit/s"]),
        (r#"{"delay": "-1ms"}"#, ["`delay`", "100ms"]),
        (r#"{"queue": "10ms"}"#, ["`queue`", "300kB"]),
        (r#"{"loss": "200%"}"#, ["`loss`", "5%"]),
        (r#"{"loss": {"model": "weather"}}"#, ["`loss`", "gilbert"]),
        (r#"{"loss": {"model": "gilbert", "mean": "5%", "burst": 0.5}}"#, ["loss.burst", "1 packet"]),
        (r#"{"loss": {"model": "gilbert", "mean": "80%", "burst": 2}}"#, ["loss.mean", "0.6667"]),
        (r#"{"loss": {"model": "indices", "lost": [10], "period": 10}}"#, ["loss.lost", "10 packets"]),
        (r#"{"loss": {"model": "indices", "lost": [], "period": 0}}"#, ["loss.period", "1 or more"]),
        (r#"{"loss": {"model": "sequence", "pattern": "01x"}}"#, ["loss.pattern", "`1`"]),
        (r#"{"loss": {"model": "gilbert", "mean": "5%"}}"#, ["burst", "stay_bad"]),
        (r#"{"loss": {"model": "gilbert", "mean": "5%", "burst": 2, "stay_bad": 0.5}}"#, ["either", "stay_bad"]),
        (r#"{"loss": {"model": "gilbert", "mean": "5%", "stay_bad": 1}}"#, ["stay_bad", "0.75"]),
        (r#"{"fec": {"k": 0, "n": 3}}"#, ["`fec.k`", "1 to 255"]),
        (r#"{"fec": {"k": 256, "n": 256}}"#, ["`fec.k`", "1 to 255"]),
        (r#"{"fec": {"k": 20, "n": 19}}"#, ["`fec.n`", "20 to 255"]),
        (r#"{"fec": {"k": 20, "n": 256}}"#, ["`fec.n`", "20 to 255"]),
        (r#"{"fec": {"k": 20, "n": 22, "unit": 0}}"#, ["`fec.unit`", "1 to 65535"]),
        (r#"{"fec": {"k": 20, "n": 22, "unit": "66kB"}}"#, ["`fec.unit`", "1 to 65535"]),
        (r#"{"fec": {"k": 20}}"#, ["`fec`", "`n`"]),
        (r#"{"fec": {"k": -1, "n": 2}}"#, ["`k`", "-1"]),
        (r#"{"fec": {"k": 1, "n": 2, "loss": "2"}}"#, ["`loss`", "5%"]),
        (
            r#"{"fec": {"k": 1, "n": 2, "loss": {"model": "gilbert", "mean": "80%", "stay_bad": 0.5}}}"#,
            ["fec.loss.mean", "bursts of 2 units"],
        ),
        (
            r#"{"fec": {"k": 1, "n": 2, "loss": {"model": "gilbert", "mean": 0, "burst": 0}}}"#,
            ["fec.loss.burst", "1 unit"],
        ),
        (r#"{"schedule": [{"at": 1, "fec": {"k": 1, "n": 2}}]}"#, ["`schedule`", "`fec`"]),
        (r#"{"policer": {"rate": 0, "burst": 1}}"#, ["policer.rate", "20Mbit/s"]),
        (r#"{"policer": {"rate": 1, "burst": 0}}"#, ["policer.burst", "packet"]),
        (r#"{"policer": {"burst": 1}}"#, ["`policer`", "rate"]),
        (r#"{"mtu": 0}"#, ["`mtu`", "1500"]),
        (r#"{"reorder": {"probability": "1%", "extra_delay": 0}}"#, ["reorder.extra_delay", "10ms"]),
        (r#"{"blackouts": [{"at": 1, "length": 0}]}"#, ["blackouts[0].length", "longer"]),
        (r#"{"blackouts": [{"at": 1, "length": 2, "every": 2}]}"#, ["blackouts[0].every", "2s"]),
        (r#"{"schedule": [{"at": 1}]}"#, ["schedule[0]", "nothing"]),
        (r#"{"schedule": [{"at": 1, "mtu": 9}, {"at": 1, "mtu": 8}]}"#, ["schedule[1].at", "order"]),
        (r#"{"schedule": [{"at": 1, "mtu": 0}]}"#, ["schedule[0].mtu", "1500"]),
        (
            r#"{"schedule": [{"at": 1, "loss": {"model": "gilbert", "mean": 0, "burst": 0}}]}"#,
            ["schedule[0].loss.burst", "1"],
        ),
        (r#"{"lag": "5ms"}"#, ["`lag`", "`delay`"]),
        (r#"{"mark": "soon"}"#, ["`mark`", "5%"]),
        (r#"{"mark": 1.5}"#, ["`mark`", "a share such as `5%`"]),
        (r#"{"mark": 0.0}"#, ["`mark`", "marks nothing"]),
        (r#"{"mark": "0ms"}"#, ["`mark`", "100%"]),
        (r#"{"queue_discipline": "red"}"#, ["`queue_discipline`", "fifo, codel, pie, fq"]),
        (r#"{"queue_discipline": {"name": "pie", "interval": "1s"}}"#, ["`pie` has no `interval`", "remove"]),
        (r#"{"queue_discipline": {"name": "codel", "target": 0}}"#, ["queue_discipline.target", "5ms"]),
        (r#"{"queue_discipline": {"name": "codel", "target": 1}}"#, ["queue_discipline.interval", "100ms"]),
        (r#"{"queue_discipline": {"name": "fq", "quantum": 1}}"#, ["queue_discipline.quantum", "64"]),
        (r#"{"queue_discipline": {"name": "fq", "flows": 0}}"#, ["queue_discipline.flows", "65536"]),
        (r#"{"ecn": true}"#, ["`ecn`", "codel"]),
        (r#"{"rate_trace": {}}"#, ["rate_trace.steps", "20Mbit/s"]),
        (r#"{"rate_trace": {"file": "lte"}}"#, ["rate_trace.file", "has not been read"]),
        (r#"{"rate_trace": {"steps": [[0, 9], [0, 8]]}}"#, ["rate_trace.steps", "order of time"]),
        (r#"{"rate_trace": {"steps": [[0, "9x"]]}}"#, ["`rate_trace`", "20Mbit/s"]),
        (r#"{"rate_trace": {"steps": [[0, 9]], "period": 0}}"#, ["rate_trace.period", "not later than"]),
        (r#"{"rate_trace": {"steps": [[0, 9]], "period": "1us"}}"#, ["rate_trace.period", "1ms"]),
        (r#"{"rate": 5, "rate_trace": {"steps": [[0, 9]]}}"#, ["`rate`", "remove `rate` or `rate_trace`"]),
        (
            r#"{"rate_trace": {"steps": [[0, 9]]}, "schedule": [{"at": 1, "rate": 2}]}"#,
            ["schedule[0].rate", "add the change"],
        ),
        (r#"{"schedule_period": 5}"#, ["`schedule_period`", "no `schedule`"]),
        (r#"{"schedule": [{"at": 5, "mtu": 9}], "schedule_period": 5}"#, ["`schedule_period`", "5s"]),
        (r#"{"queue_discipline": "fq", "fec": {"k": 1, "n": 2}}"#, ["`queue_discipline`", "pie"]),
    ] {
        let error = parse(text).expect_err(text);
        for word in words {
            assert!(error.contains(word), "{text} gives `{error}`, which does not say {word}");
        }
    }
}

#[test]
fn a_path_has_half_its_round_trip_and_one_product_of_queue() {
    let loss = Fraction::new(0.05).unwrap();
    let config = LinkConfig::path(Rate::from_bps(20_000_000), Duration::from_millis(100), loss);
    assert_eq!(config.queue, Some(QueueLimit::Bytes(250_000)));
    assert_eq!(config.delay.duration(), Duration::from_millis(50));
    assert_eq!(config.loss, Loss::bernoulli(loss));
    assert_eq!(LinkConfig::path(Rate::from_bps(0), Duration::ZERO, Fraction::ZERO), LinkConfig::default());
    assert!(Link::new(&LinkConfig { mtu: Some(Bytes::new(0)), ..config }, Seed::new(1), "x").is_err());
}
