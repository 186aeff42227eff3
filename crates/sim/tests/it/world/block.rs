//! Tunnels with a block code in the simulator: CUBIC over a code without repetition, and settings that cannot work.

use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{Scenario, ScenarioReport, run};

/// A link of 5 Mbit/s and 80 ms that loses `loss` of the packets of CUBIC. `carrier` has more lines of the flow, and the
/// tunnel.
fn scenario(loss: &str, carrier: &str) -> String {
    format!(
        r#"
        [run]
        duration = "60s"
        warmup = "5s"
        runs = 3
        [[link]]
        between = ["host", "client"]
        forth = {{ rate = "5Mbit/s", delay = "40ms", queue = "60", loss = "{loss}" }}
        back = {{ rate = "5Mbit/s", delay = "40ms" }}
        [[flow]]
        from = "host"
        to = "client"
        tcp = "linux-cubic"
        window = 10000
        packet = 1384
        ack-every = 2
        {carrier}
        "#
    )
}

/// The flow's carrier: a tunnel whose code is written as `code`.
fn tunnel(code: &str) -> String {
    format!("tunnel = \"t\"\n[[tunnel]]\nname = \"t\"\nbetween = [\"host\", \"client\"]\ncode = {code}")
}

fn report(text: &str) -> ScenarioReport {
    let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, 2, || ()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn mean(statistic: &Statistic) -> f64 {
    statistic.mean.unwrap()
}

#[test]
fn a_block_code_hides_the_losses_from_tcp() {
    let block = tunnel("{ block = { k = 32, n = 40 } }");
    let coded = report(&scenario("5%", &block));
    let plain = report(&scenario("5%", ""));
    let [coded_bps, plain_bps] = [&coded, &plain].map(|report| mean(&report.flows[0].goodput_bps));
    assert!(coded_bps > 3.2e6 && plain_bps < 1.5e6, "coded {coded_bps}, plain {plain_bps}");
    let way = &coded.tunnels[0].directions[0];
    let sent = way.block.as_ref().unwrap();
    assert!(mean(&way.recovered) > 500.0, "{way:?}");
    // Nothing is sent again: each packet is one source symbol, and no repair answers a report. A few packets were taken
    // in before the measured time.
    assert_eq!((mean(&way.repairs_exact), mean(&way.repairs_ahead)), (0.0, 0.0));
    assert!(mean(&way.sources) < mean(&way.taken_packets) + 100.0, "{way:?}");
    // A full block has 8 repairs, and a block that ends early has fewer. The repairs of a block may be on the other side of
    // an end of the measured time.
    let [blocks, flushed, repairs] = [&sent.blocks, &sent.flushed, &sent.repairs].map(mean);
    assert!((repairs - 8.0 * blocks).abs() <= 8.0 * (flushed + 1.0), "{sent:?}");
    // A sender that pauses ends its blocks early.
    let pauses = "ack-every = 2\nsource = { on-off = { on = \"100ms\", off = \"1s\", rate = \"1Mbit/s\" } }";
    let slow = report(&scenario("5%", &block).replace("ack-every = 2", pauses));
    let slow = slow.tunnels[0].directions[0].block.clone().unwrap();
    assert!(mean(&slow.flushed) > 20.0, "{slow:?}");
    assert!(plain.tunnels.is_empty());
    let window = report(&scenario("5%", &tunnel("\"window\"")));
    assert!(window.tunnels[0].directions[0].block.is_none());
}

#[test]
fn two_scenarios_with_one_stream_lose_the_same_packets() {
    let lost = |text: &str, link: usize| report(text).links[link].lost_packets.mean.unwrap();
    // A source of datagrams, so that the losses do not change what is sent.
    let udp = |stream: &str, more: &str| {
        format!(
            "[run]\nduration = \"20s\"\nruns = 1\nstart-jitter = \"0s\"\n{more}\n[[link]]\nbetween = [\"a\", \"b\"]\n{stream}\n\
             forth = {{ rate = \"5Mbit/s\", loss = \"5%\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\npacket = 1000\n\
             udp = {{ constant = \"2Mbit/s\" }}\n"
        )
    };
    let far = "[[link]]\nbetween = [\"c\", \"d\"]\n";
    let alone = lost(&udp("", ""), 0);
    assert_eq!(lost(&udp("stream = \"link\"", far), 2), alone);
    assert_ne!(lost(&udp("", far), 2), alone, "a link of two has another stream");
}

#[test]
fn a_code_is_read_as_it_is_written() {
    for code in
        ["\"window\"", "\"block\"", "{ block = { k = 32, n = 40 } }", "{ block = { loss = \"2%\", burst = 3 } }"]
    {
        let scenario = Scenario::parse(&scenario("5%", &tunnel(code))).unwrap();
        let text = scenario.to_toml().unwrap();
        assert_eq!(Scenario::parse(&text).unwrap(), scenario, "{text}");
        assert_eq!(text.contains("code"), code != "\"window\"", "the default is left out: {text}");
    }
}

#[test]
fn settings_that_cannot_work_name_their_field() {
    let with = |code: &str| scenario("5%", &tunnel(code));
    let former = "block = { at = \"host\", k = 32, n = 40, flush = \"100ms\" }";
    let cases = [
        (with("{ block = { k = 9, n = 8 } }"), "block.n: `8` is wrong; write 9 to 73"),
        (with("{ block = { k = 65 } }"), "block.k: `65` is wrong; write 1 to 64"),
        (with("\"rlnc\""), "`rlnc` is not a code"),
        (scenario("5%", former), "code = { block = { k = 32, n = 40 } }"),
        (
            scenario("5%", "[[link]]\nbetween = [\"client\", \"far\"]\nstream = \"link\"")
                .replace("between = [\"host\", \"client\"]", "between = [\"host\", \"client\"]\nstream = \"link\""),
            "stream",
        ),
    ];
    for (text, words) in cases {
        let message = match Scenario::parse(&text) {
            Ok(scenario) => run(&scenario, 2, || ()).expect_err(&text).to_string(),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(words), "`{words}` is missing in: {message}");
    }
}
