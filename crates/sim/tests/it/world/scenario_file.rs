//! Scenarios as TOML: what is accepted, and which line each error names.

use ripstop_sim::scenario::Scenario;

/// A scenario with two nodes, one link and two flows. The tests change single lines of this scenario.
const TWO_NODES: &str = r#"
[run]
duration = "100s"

[[link]]
between = ["a", "b"]
forth = { rate = "2Mbit/s", delay = "100ms", queue = 200, loss = "1.5%" }

[[flow]]
from = "a"
to = "b"
count = 2
"#;

#[test]
fn a_scenario_survives_a_round_trip() {
    let scenario = Scenario::parse(TWO_NODES).unwrap();
    assert_eq!((scenario.flow[0].count, scenario.flow[0].window, scenario.link.len()), (2, 50, 1));
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
}

#[test]
fn a_rate_trace_may_be_in_a_file() {
    let text = TWO_NODES.replace("rate = \"2Mbit/s\"", "rate_trace = { file = \"lte.down\" }");
    let read = |file: &str| match file {
        "lte.down" => Ok("0s 5Mbit/s\n1s 2Mbit/s\n4s repeat\n".to_owned()),
        other => Err(format!("there is no {other}")),
    };
    let scenario = Scenario::parse_with(&text, read).unwrap();
    assert_eq!(scenario.link[0].forth.mean_rate().bps(), 2_750_000);
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "the steps replace the file");
    for (text, words) in [
        (text.clone(), "7:33: `link[0].forth.rate_trace.file`: `lte.down`: this command reads no further files"),
        (text.replace("{ file", "{ period = 1, file"), "the file gives the steps and the period"),
    ] {
        let none = |_: &str| Err("this command reads no further files".to_owned());
        let error = Scenario::parse_with(&text, none).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// If no link had a rate or a delay, virtual time would not advance.
#[test]
fn a_path_without_rate_and_delay_is_refused() {
    let bare = "[[link]]\nbetween = [\"a\", \"b\"]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let error = Scenario::parse(bare).expect_err(bare);
    let words = "`flow[0]`: no link on the way to `b` and back has a `rate` or a `delay`";
    assert!(error.problem.contains(words), "{error}");
    let tunnel = "[[tunnel]]\nbetween = [\"a\", \"b\"]\n".to_owned() + bare + "tunnel = \"tunnel\"\n";
    assert!(Scenario::parse(&tunnel).expect_err(&tunnel).problem.contains(words));
    for enough in ["forth = { delay = \"1ms\" }", "forth = {}\nback = { rate = \"1Gbit/s\" }"] {
        let text = bare.replace("[[flow]]", &format!("{enough}\n[[flow]]"));
        Scenario::parse(&text).expect(&text);
    }
    // A source of datagrams waits for no acknowledgement.
    Scenario::parse(&(bare.to_owned() + "udp = { constant = \"1Mbit/s\" }\n")).expect("virtual time advances");
}

#[test]
fn answers_must_fit_their_requests() {
    let asks = "source = { requests = { length = \"300B\", think = \"exp:1s\" } }";
    let answers = |from: &str, to: &str, count: u32| {
        format!(
            "[[flow]]\nname = \"answer\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\n\
                 source = {{ answers = {{ to = \"flow\", length = \"exp:20kB\" }} }}\n"
        )
    };
    let text = |more: &str| TWO_NODES.to_owned() + asks + "\n" + more;
    let scenario = Scenario::parse(&text(&answers("b", "a", 2))).unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    let twice = answers("b", "a", 2) + &answers("b", "a", 2).replace("\"answer\"", "\"other\"");
    for (more, words) in [
        (answers("a", "b", 2), "`flow[1].from`: the answers to `flow` go the other way; write from `b` to `a`"),
        (answers("b", "a", 3), "`flow[1].count`: 3 connections, but `flow` has 2"),
        (twice, "`flow[2].source.answers.to`: another flow answers `flow`"),
        (answers("b", "a", 2).replace("exp:20kB", "0"), "the answer has 0 bytes"),
    ] {
        let error = Scenario::parse(&text(&more)).expect_err(&more);
        assert!(error.problem.contains(words), "{more}\n{error}");
    }
}

/// Replaces `from` by `to` in the scenario of two nodes. The error must name the given line and
/// contain the given words.
fn assert_errors(cases: &[(&str, &str, usize, &str)]) {
    for (from, to, line, words) in cases {
        let text = TWO_NODES.replace(from, to);
        let error = Scenario::parse(&text).expect_err(&text);
        assert!(error.problem.contains(words) && error.line == *line, "{text}\n{error}");
    }
}

#[test]
fn errors_of_runs_links_and_tcp_name_their_line() {
    assert_errors(&[
        ("1.5%", "120%", 7, "loss"),
        ("count = 2", "count = 0", 12, "`flow[0].count`: 0 connections; write 1 to"),
        ("count = 2", "stop = \"0s\"", 12, "`flow[0].stop`: the flow stops before it starts"),
        ("count = 2", "stopp = 1", 12, "unknown field `stopp`"),
        ("to = \"b\"", "to = \"c\"", 11, "no link or medium names the node `c`; write one of `a`, `b`"),
        ("to = \"b\"", "to = \"a\"", 11, "both ends are one node"),
        ("count = 2", "route = [\"a\", \"b\", \"a\"]", 12, "`a` is on the route twice; remove the loop"),
        ("duration = \"100s\"", "warmup = \"1000s\"", 3, "leaves nothing"),
        ("duration = \"100s\"", "intervals = [[\"5s\", \"3s\"]]", 3, "an interval must end after it begins"),
        ("[\"a\", \"b\"]", "[\"a\", \"b\"]\none-way = true", 12, "no links lead from `b` to `a`"),
        ("duration = \"100s\"", "duration = \"100s\"\nstart-jitter = \"100s\"", 4, "is not within the run"),
        ("duration = \"100s\"", "runs = \"many\"", 3, "expected a whole number"),
        ("duration = \"100s\"", "intervals = 5", 3, "expected a list"),
        ("loss = \"1.5%\"", "duplicate = 1", 7, "expected a table"),
        ("count = 2", "udp = { constant = \"0\" }", 12, "`flow[0].udp`: a rate of 0 sends nothing"),
        (
            "count = 2",
            "udp = { poisson = \"1Mbit/s\" }\ntcp = \"cubic\"",
            13,
            "`flow[0].tcp`: the field belongs to TCP",
        ),
        (
            "count = 2",
            "udp = { on-off = { on = \"1ms\", off = \"1s\", rate = \"1Mbit/s\" } }",
            12,
            "1ms is shorter than the 8ms between two packets",
        ),
        ("count = 2", "window = 0", 12, "sends nothing"),
        ("count = 2", "vegas = { alpha = 1, beta = 3, gamma = 1 }", 12, "newreno does not use the thresholds of Vegas"),
        ("count = 2", "tcp = \"vegas\"\nvegas = { alpha = 4, beta = 3, gamma = 1 }", 13, "alpha, 4, is above beta, 3"),
        ("count = 2", "tcp = \"cubik\"", 12, "cubik"),
        (
            "count = 2",
            "tcp = \"cubic\"\ntick = \"1ms\"",
            13,
            "`flow[0].tick`: 1ms has no effect: cubic measures time exactly",
        ),
        ("count = 2", "rto-max = \"100ms\"", 12, "`flow[0].rto-max`: 100ms is below `rto-min`, 200ms"),
        ("count = 2", "rto-min = \"2min\"", 12, "`flow[0].rto-min`: 120s is above `rto-max`, 60s"),
        ("count = 2", "initial-window = 0", 12, "sends nothing"),
        ("count = 2", "nc = {}\nack-every = 2", 13, "`flow[0].ack-every`: TCP/NC acknowledges every"),
        ("count = 2", "nc = {}\nreceiver = \"go-back-n\"", 13, "`flow[0].receiver`: TCP/NC delivers in order"),
    ]);
}

#[test]
fn errors_of_sources_name_their_line() {
    assert_errors(&[
        ("count = 2", "source = \"endles\"", 12, "unknown variant `endles`, expected one of `endless`, `file`"),
        ("count = 2", "source = { file = 0 }", 12, "`flow[0].source.file`: the file has 0 bytes"),
        ("count = 2", "source = { file = \"1Mbit\" }", 12, "is not a size"),
        ("count = 2", "source = { on-off = { on = \"1s\", off = \"2s\" } }", 12, "missing field `rate`"),
        (
            "count = 2",
            "source = { on-off = { on = \"exp:1\", off = \"2s\", rate = 0 } }",
            12,
            "`flow[0].source.on-off.rate`: a rate of 0 sends nothing",
        ),
        (
            "count = 2",
            "source = { on-off = { on = \"1ms\", off = \"2s\", rate = \"1Mbit/s\" } }",
            12,
            "`flow[0].source.on-off.on`: 1ms is shorter than a packet at 1Mbit/s, 8ms",
        ),
        (
            "count = 2",
            "source = { on-off = { on = \"often\", off = \"2s\", rate = 1 } }",
            12,
            "`exp:` before the value",
        ),
        (
            "count = 2",
            "source = { requests = { length = \"1kB\", think = \"1s\" } }",
            12,
            "`flow[0].source.requests`: no flow answers these requests; add a flow in the other direction",
        ),
        ("count = 2", "source = { requests = { length = 0, think = \"1s\" } }", 12, "the request has 0 bytes"),
        (
            "count = 2",
            "source = { answers = { to = \"flow\", length = \"1kB\" } }",
            12,
            "`flow[0].source.answers.to`: no flow `flow` has `source.requests`",
        ),
    ]);
}
