//! Block codes in the simulator: CUBIC over a code behind the link's queue, and settings that cannot work.

use ripstop_sim::scenario::{Scenario, ScenarioReport, run};

/// A sender, a queue, and a link of 5 Mbit/s and 80 ms that loses `loss` of the packets. `block` is the flow's code.
fn scenario(loss: &str, block: &str) -> String {
    format!(
        r#"
        [run]
        duration = "60s"
        warmup = "5s"
        runs = 3
        [[link]]
        between = ["host", "coder"]
        forth = {{ rate = "4Mbit/s", queue = "60" }}
        back = {{}}
        [[link]]
        between = ["coder", "client"]
        stream = "link"
        forth = {{ rate = "5Mbit/s", delay = "40ms", loss = "{loss}" }}
        back = {{ rate = "5Mbit/s", delay = "40ms" }}
        [[flow]]
        from = "host"
        to = "client"
        tcp = "linux-cubic"
        window = 10000
        packet = 1448
        ack-every = 2
        {block}
        "#
    )
}

fn report(text: &str) -> ScenarioReport {
    let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, 2, || ()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_block_code_hides_the_losses_from_tcp() {
    let block = "block = { at = \"coder\", k = 32, n = 40, flush = \"100ms\" }";
    let coded = report(&scenario("5%", block));
    let plain = report(&scenario("5%", ""));
    let [coded_bps, plain_bps] = [&coded, &plain].map(|report| report.flows[0].goodput_bps.mean.unwrap());
    assert!(coded_bps > 3.4e6 && plain_bps < 1.5e6, "coded {coded_bps}, plain {plain_bps}");
    let counts = coded.flows[0].block.clone().unwrap();
    let mean = |statistic: ripstop_sim::engine::Statistic| statistic.mean.unwrap();
    assert!(mean(counts.recovered) > 500.0, "{:?}", coded.flows[0].block);
    // A slower sender pauses after each window.
    let slow = report(&scenario("5%", block).replace("window = 10000", "window = 8"));
    assert!(mean(slow.flows[0].block.clone().unwrap().flushed) > 100.0, "{:?}", slow.flows[0].block);
    // The code repairs what the link loses: 8 repairs for 32 packets.
    assert!(mean(counts.repairs) / mean(counts.blocks) == 8.0);
    assert!(plain.flows[0].block.is_none());
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
fn settings_that_cannot_work_name_their_field() {
    let with = |block: &str| scenario("5%", block);
    let cases = [
        (with("block = { at = \"coder\", k = 9, n = 8, flush = \"1ms\" }"), "flow[0].block"),
        (with("block = { at = \"coder\", k = 8, n = 9, flush = \"0s\" }"), "20ms"),
        (with("block = { at = \"client\", k = 8, n = 9, flush = \"1ms\" }"), "flow[0].block.at"),
        (with("block = { at = \"nowhere\", k = 8, n = 9, flush = \"1ms\" }"), "flow[0].block.at"),
        (with("block = { at = \"coder\", k = 8, n = 9, flush = \"1ms\" }\nsource = { file = \"1MB\" }"), "`source`"),
        (
            with("block = { at = \"coder\", k = 8, n = 9, flush = \"1ms\" }\nnc = {}").replace("ack-every = 2", ""),
            "remove `block` or `nc`",
        ),
        (
            with("").replace("between = [\"host\", \"coder\"]", "between = [\"host\", \"coder\"]\nstream = \"link\""),
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
