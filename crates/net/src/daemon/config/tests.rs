//! Tests that every error message names the place of the error, and tests of the documented
//! examples.

use super::*;
use ripstop_base::Seed;
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::control::loss::Losses;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::control::redundancy::Redundancy;
use ripstop_proto::endpoint::Acks;
use ripstop_proto::packets::{Hint, Traffic};

fn key(seed: u64) -> PrivateKey {
    PrivateKey::generate(&mut Seed::new(seed).stream("key"))
}

fn parse(text: &str) -> Result<DaemonConfig, String> {
    DaemonConfig::parse(text, Path::new("t.toml")).map_err(|error| error.to_string())
}

/// A valid configuration. `interface` and `peer` are added to its sections.
fn with(interface: &str, peer: &str) -> String {
    format!(
        "[interface]\nprivate-key = \"{}\"\naddress = [\"10.77.0.1/24\", \"fd77::1/64\"]\n{interface}\n\
         [[peer]]\npublic-key = \"{}\"\nallowed-ips = [\"10.77.0.2\", \"fd77::2/128\"]\n{peer}\n",
        *key(1).to_base64(),
        key(2).public()
    )
}

#[test]
fn every_setting_is_read() {
    let config = parse(&with(
        "listen = \"0.0.0.0:6000\"\nname = \"tunnel7\"\nmtu = 1400\nrate = \"20Mbit/s\"\nredundancy = 1.25\n\
         max-overhead = { bulk = \"50%\", interactive = 2 }\nmemory = \"256MB\"\nwork = \"1GB\"\ndeadline = \"2s\"\nacks = \"seen\"\ncode = { block = { k = 8, n = 11 } }\nmetrics = \"127.0.0.1:9482\"\n\
         status = \"a.sock\"",
        "endpoint = \"vpn.example.org:5182\"\nkeepalive = \"25s\"\nname = \"berlin\"",
    ))
    .unwrap();
    assert_eq!(config.public(), key(1).public());
    assert_eq!(config.listen, Listen::At("0.0.0.0:6000".parse().unwrap()));
    assert_eq!((config.name.as_str(), config.tunnel.path_mtu), ("tunnel7", 1400));
    assert_eq!(config.tunnel.rate, RateMode::Fixed("20Mbit/s".parse().unwrap()));
    assert_eq!(config.tunnel.redundancy, Redundancy::Fixed(1.25));
    assert_eq!((config.tunnel.max_overhead_bulk, config.tunnel.max_overhead_interactive), (0.5, 2.0));
    assert_eq!(config.tunnel.deadline, Some(Duration::from_secs(2)));
    assert_eq!(config.acks, Acks::Seen);
    assert_eq!(config.tunnel.code, Code::Block(BlockSettings { k: 8, n: BlockLength::Fixed(11) }));
    assert_eq!((config.memory, config.work_per_second), (256_000_000, 1_000_000_000));
    assert_eq!(config.status, Some(StatusSocket::At("a.sock".into())));
    let peer = &config.peers[0];
    assert_eq!(peer.endpoint.as_ref().unwrap().to_string(), "vpn.example.org:5182");
    assert_eq!((peer.keepalive, peer.name.as_str()), (Some(Duration::from_secs(25)), "berlin"));
    assert_eq!(peer.allowed_ips[0].to_string(), "10.77.0.2/32");
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn rules_for_classes_are_added_to_the_default_rules() {
    let hints = |interface: &str| parse(&with(interface, "")).unwrap().tunnel.classes;
    let tcp = |port| Traffic { protocol: 6, ports: Some((port, 50_000)), ..Traffic::default() };
    let dscp = |dscp| Traffic { dscp, ..Traffic::default() };
    let changed = hints(
        "classes = { interactive = [\"tcp/5900-5910\", \"dscp/af21\"], bulk = \"tcp/22\", neutral = [\"dscp/cs1\"] }",
    );
    assert_eq!([tcp(5_901), dscp(18), dscp(46)].map(|t| changed.of(t)), [Hint::Interactive; 3]);
    assert_eq!([tcp(22), tcp(873)].map(|t| changed.of(t)), [Hint::Bulk; 2]);
    assert_eq!([dscp(8), tcp(443)].map(|t| changed.of(t)), [Hint::None; 2]);
    assert_eq!(hints("").of(tcp(22)), Hint::Interactive);
}

#[test]
fn missing_settings_have_defaults() {
    let config = parse(&with("", "")).unwrap();
    assert_eq!((config.listen, config.name.as_str()), (Listen::Everywhere(5182), "rip0"));
    assert_eq!((config.tunnel.inner_mtu(), config.acks), (1436, Acks::EndToEnd));
    assert_eq!((config.memory, config.work_per_second), (1_000_000_000, 4_000_000_000));
    assert_eq!(config.status, Some(StatusSocket::Default("/run/ripstop/rip0.sock".into())));
    assert_eq!(config.peers[0].name, key(2).public().to_string());
    let v6 = parse(&with("", "endpoint = \"[2001:db8::1]:5182\"")).unwrap();
    assert_eq!(v6.tunnel.inner_mtu(), 1416);
}

#[test]
fn a_code_is_a_name_or_a_table() {
    let code = |text: &str| parse(&with(&format!("code = {text}"), "")).map(|config| config.tunnel.code);
    assert_eq!(code("\"window\""), Ok(Code::Window));
    assert_eq!(code("\"block\""), Ok(Code::Block(BlockSettings { k: 16, n: BlockLength::Measured })));
    let losses = BlockLength::For(Losses { share: 0.02, burst: 1.5 });
    assert_eq!(
        code("{ block = { k = 20, loss = \"2%\", burst = 1.5 } }"),
        Ok(Code::Block(BlockSettings { k: 20, n: losses }))
    );
    for (wrong, words) in [
        ("\"rlnc\"", "\"window\", \"block\""),
        ("7", "\"window\", \"block\""),
        ("{ block = { k = 0 } }", "block.k: `0` is wrong; write 1 to 64"),
        ("{ block = { k = 20, n = 19 } }", "write 20 to 84"),
        ("{ block = { n = 20, loss = \"1%\" } }", "either n or loss"),
        ("{ block = { burst = 2 } }", "needs block.loss"),
        ("{ block = { loss = \"100%\" } }", "less than 100%"),
        ("{ block = { loss = 0.1, burst = 0.5 } }", "1 to 1000"),
        ("{ block = { m = 2 } }", "unknown field `m`"),
        ("{ window = {} }", "unknown field `window`"),
    ] {
        let error = code(wrong).unwrap_err();
        assert!(error.starts_with("t.toml:4:") && error.contains(words), "{wrong}: {error}");
    }
}

#[test]
fn the_former_name_of_deadline_still_works() {
    let config = parse(&with("patience = \"2s\"", "")).unwrap();
    assert_eq!(config.tunnel.deadline, Some(Duration::from_secs(2)));
    let error = parse(&with("patience = \"2h\"", "")).unwrap_err();
    assert!(error.starts_with("t.toml:4:12: deadline: "), "{error}");
    let both = parse(&with("deadline = \"2s\"\npatience = \"2s\"", "")).unwrap_err();
    assert!(both.contains("duplicate field `deadline`"), "{both}");
}

#[test]
fn every_error_names_its_place() {
    let second = format!("[[peer]]\npublic-key = \"{}\"\nallowed-ips = [\"10.9.0.0/16\"]", key(3).public());
    let cases: [(String, &str, &str); 34] = [
        (with("", "").replace("[[peer]]", "[peer]"), "t.toml:5:1:", "[[peer]], in two brackets"),
        (with("", &second).replace("[[peer]]", "[peer]"), "t.toml:8:2:", "[[peer]], in two brackets"),
        (with("colour = \"red\"", ""), "t.toml:4:1:", "unknown field `colour`"),
        (with("", "port = 1"), "t.toml:8:1:", "unknown field `port`"),
        (with("mtu = ", ""), "t.toml:4:", ""),
        (with("mtu = 1400\nmtu = 1400", ""), "t.toml:5:", "duplicate key"),
        (with("mtu = \"big\"", ""), "t.toml:4:7:", "for example 1500"),
        (with("mtu = 600", ""), "t.toml:4:7:", "at least 640"),
        (with("rate = \"20 bananas\"", ""), "t.toml:4:8:", "\"scavenge\""),
        (with("redundancy = 0.5", ""), "t.toml:4:14:", "1 to 10"),
        (with("max-overhead = { bulk = \"-1%\" }", ""), "t.toml:4:25:", "max-overhead.bulk"),
        (with("max-overhead = { total = 1 }", ""), "t.toml:4:18:", "unknown field `total`"),
        (with("memory = \"1MB\"", ""), "t.toml:4:10:", "memory: 1MB is out of range; write 16MB to 1000GB"),
        (with("memory = \"much\"", ""), "t.toml:4:10:", "`3.2MB`"),
        (with("work = \"1kB\"", ""), "t.toml:4:8:", "write 10MB to 1000GB per second"),
        (with("classes = { slow = [] }", ""), "t.toml:4:13:", "unknown field `slow`"),
        (with("classes = { bulk = [\"tcp/0\"] }", ""), "t.toml:4:21:", "classes.bulk: `tcp/0` has no port"),
        (with("classes = { interactive = \"ef\" }", ""), "t.toml:4:27:", "\"dscp/ef\""),
        (
            with("classes = { interactive = [\"dscp/ef\"], bulk = [\"dscp/46\"] }", ""),
            "t.toml:4:48:",
            "`dscp/ef` appears twice",
        ),
        (with("deadline = \"soon\"", ""), "t.toml:4:12:", "100ms"),
        (with("deadline = \"2h\"", ""), "t.toml:4:12:", "to 600s"),
        (with("acks = \"early\"", ""), "t.toml:4:8:", "\"end-to-end\" or \"seen\""),
        (with("metrics = \"9482\"", ""), "t.toml:4:11:", "127.0.0.1:9482"),
        (with("listen = \"everywhere\"", ""), "t.toml:4:10:", "0.0.0.0:5182"),
        (with("port = 70000", ""), "t.toml:4:8:", "65535"),
        (with("port = 1\nlisten = \"0.0.0.0:1\"", ""), "t.toml:4:8:", "keep one"),
        (with("name = \"a/b\"", ""), "t.toml:4:8:", "15 letters"),
        (with("", "endpoint = \"example.org\""), "t.toml:8:12:", "example.org:5182"),
        (with("", "keepalive = \"1ms\""), "t.toml:8:13:", "write 1s to"),
        (with("", &second.replace("10.9.0.0/16", "10.77.0.2/32")), "t.toml:10:16:", "belongs to the peer"),
        (with("", &second.replace("10.9.0.0/16", "10.9.0.0/40")), "t.toml:10:16:", "not an address prefix"),
        (with("", &second.replace(&key(3).public().to_string(), "abc")), "t.toml:9:14:", "44 characters"),
        (
            with("", &second.replace(&key(3).public().to_string(), &key(2).public().to_string())),
            "t.toml:9:14:",
            "has this key already",
        ),
        (
            with("", &second.replace(&key(3).public().to_string(), &key(1).public().to_string())),
            "t.toml:9:14:",
            "own key",
        ),
    ];
    for (text, place, words) in cases {
        let error = parse(&text).unwrap_err();
        assert!(error.starts_with(place) && error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn missing_settings_are_named() {
    let key = key(1).to_base64();
    for (text, words) in [
        ("", "[interface]"),
        ("[interface]\naddress = [\"10.0.0.1/24\"]", "`ripstop keys new`"),
        ("[interface]\nprivate-key = \"short\"\naddress = [\"10.0.0.1/24\"]", "private-key: not a key"),
        ("[interface]\nprivate-key-file = \"/no/such/file\"\naddress = [\"10.0.0.1/24\"]", "/no/such/file"),
        (&format!("[interface]\nprivate-key = \"{}\"", *key), "has no address"),
        (&format!("[interface]\nprivate-key = \"{}\"\naddress = [\"10.0.0.1\"]", *key), "10.77.0.1/24"),
        (&with("", "[[peer]]\nallowed-ips = [\"10.0.0.0/8\"]"), "no public-key"),
        (&with("", &format!("[[peer]]\npublic-key = \"{}\"", super::tests::key(5).public())), "no allowed-ips"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with("t.toml:") && error.contains(words), "{text}\n{error}");
        assert!(!error.contains("short"), "the message repeats a wrong key: {error}");
    }
    let no_v6 = with("", "").replace(", \"fd77::1/64\"", "");
    assert!(parse(&no_v6).unwrap_err().contains("no IPv6 address"));
}

#[test]
fn a_single_text_is_a_list_of_one() {
    let text = with("", "").replace("[\"10.77.0.1/24\", \"fd77::1/64\"]", "\"10.77.0.9/24\"");
    let text = text.replace("[\"10.77.0.2\", \"fd77::2/128\"]", "\"10.77.0.2\"");
    let config = parse(&text).unwrap();
    assert_eq!(config.addresses, ["10.77.0.9/24".parse().unwrap()]);
    assert_eq!(config.peers[0].allowed_ips.len(), 1);
    let error = parse(&text.replace("10.77.0.9/24", "10.77.0.9")).unwrap_err();
    assert!(error.starts_with("t.toml:3:11: address: `10.77.0.9` is not an address with a prefix"), "{error}");
    let error = parse(&text.replace("\"10.77.0.9/24\"", "7")).unwrap_err();
    assert!(error.starts_with("t.toml:3:11:") && error.contains("a list of texts"), "{error}");
}

#[test]
fn a_wireguard_file_is_recognised() {
    let text = "# from the provider\n[Interface]\nPrivateKey = kAAA=\nAddress = 10.7.0.2/24\nDNS = 1.1.1.1\n\n\
                [Peer]\nPublicKey = xTIB=\nAllowedIPs = 0.0.0.0/0\nEndpoint = a.example:51820\n";
    let error = parse(text).unwrap_err();
    assert!(error.starts_with("t.toml:2:1: this is a WireGuard configuration"), "{error}");
    for words in ["PrivateKey = private-key", "AllowedIPs = allowed-ips", "DNS = nothing", "ripstop keys new"] {
        assert!(error.contains(words), "no `{words}` in: {error}");
    }
    assert!(!error.contains("kAAA") && !error.contains("keepalive"), "{error}");
    assert!(parse(&with("# like [Interface] of WireGuard", "")).is_ok());
}

#[test]
fn keys_that_other_users_can_read_are_noted() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path
    };
    let text = with("", "preshared-key-file = \"shared\"");
    let load = |own: u32, shared: u32| {
        let path = write("a.toml", &text, own);
        write("shared", &key(3).to_base64(), shared);
        let config = DaemonConfig::load(&path).unwrap();
        let names =
            config.insecure_files.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        [load(0o600, 0o400), load(0o644, 0o600), load(0o600, 0o640), load(0o604, 0o622)].join(","),
        ",a.toml,shared,a.toml shared"
    );
    let config = DaemonConfig::load(&directory.path().join("a.toml")).unwrap();
    assert!(config.peers[0].preshared.is_some());
    let both = with("", "preshared-key = \"x\"\npreshared-key-file = \"shared\"");
    let error = parse(&both).unwrap_err();
    assert!(error.starts_with("t.toml:9:22: preshared-key-file") && error.contains("keep one"), "{error}");
    let error = parse(&with("", "preshared-key = \"a secret\"")).unwrap_err();
    assert!(error.starts_with("t.toml:8:17: preshared-key: not a key") && !error.contains("secret"), "{error}");
}

#[test]
fn a_small_mtu_needs_no_warning() {
    let config = parse(&with("mtu = 1300", "")).unwrap();
    assert!(config.warnings.is_empty(), "IPv6 packets of 1280 bytes travel in pieces: {:?}", config.warnings);
    assert_eq!(config.tunnel.inner_mtu(), 1236);
}

#[test]
fn endpoints_are_hosts_with_ports() {
    for (text, host) in [("a.example:1", "a.example"), ("10.0.0.1:5182", "10.0.0.1"), ("[fd00::1]:5182", "fd00::1")] {
        let endpoint = HostPort::parse(text).unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.to_string().as_str()), (host, text));
    }
    for text in ["", "a", "a:", ":1", "a:0", "a:65536", "fd00::1:5182", "[a]:1", "[fd00::1]", "a b:1", "[::1:1"] {
        assert_eq!(HostPort::parse(text), None, "{text}");
    }
}

/// docs/operators/example.toml, with or without the settings in its comments.
fn example(with_comments: bool) -> String {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/example.toml")).unwrap();
    let is_setting = |line: &str| {
        let name = line.split_once(" = ").map_or("", |(name, _)| name);
        // These two settings exclude `private-key` and `port`, which the text already sets.
        !name.is_empty() && !name.contains(' ') && !name.ends_with("key-file") && name != "listen"
    };
    let line = |line: &str| match line.strip_prefix("# ") {
        Some(setting) if with_comments && is_setting(setting) => setting.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_is_valid_and_its_comments_show_the_defaults() {
    let plain = parse(&example(false)).unwrap();
    assert_eq!((plain.peers.len(), &plain.warnings), (2, &Vec::new()));
    let mut full = parse(&example(true)).unwrap();
    assert_eq!(full.metrics.take(), Some("127.0.0.1:9482".parse().unwrap()));
    assert_eq!(full.tunnel.deadline.take(), Some(Duration::from_secs(1)));
    assert_eq!(full.user.take().as_deref(), Some("nobody"));
    assert!(full.peers[0].preshared.take().is_some());
    assert_eq!(full.peers[0].keepalive.take(), Some(Duration::from_secs(25)));
    assert_eq!(full.status.take().unwrap().path(), plain.status.as_ref().unwrap().path());
    full.status = plain.status.clone();
    assert_eq!(format!("{full:?}"), format!("{plain:?}"));
}

#[test]
fn the_documents_have_every_field() {
    let example = example(false);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/configuration.md");
    let document = std::fs::read_to_string(path).unwrap();
    for (text, least) in [
        (with("colour = 1", ""), 17),
        (with("", "colour = 1"), 7),
        (with("max-overhead = { colour = 1 }", ""), 2),
        (with("classes = { colour = 1 }", ""), 3),
    ] {
        let error = parse(&text).unwrap_err();
        // `patience` is the former name of `deadline`.
        let fields = error.split('`').skip(3).step_by(2).filter(|field| *field != "patience");
        let fields: Vec<&str> = fields.collect();
        assert!(fields.len() >= least, "{error}");
        for field in fields {
            assert!(example.contains(&format!("{field} = ")), "docs/operators/example.toml has no `{field}`");
            let is_part =
                ["bulk", "interactive", "neutral"].contains(&field) && document.contains(&format!("{field} = "));
            let has_row = document.contains(&format!("| `{field}` |"));
            assert!(is_part || has_row, "docs/operators/configuration.md has no `{field}`");
        }
    }
}

#[test]
fn no_single_typing_error_causes_a_panic() {
    let text = example(true);
    let lines = text.lines().count();
    let mut refused = 0;
    for (at, old) in text.char_indices() {
        for new in ["", "\"", "é"] {
            let slipped = [&text[..at], new, &text[at + old.len_utf8()..]].concat();
            if let Err(error) = DaemonConfig::parse(&slipped, Path::new("t.toml")) {
                let DaemonConfigError::Content { line, column, problem, .. } = error else { panic!("{error}") };
                assert!((1..=lines + 2).contains(&line) && column >= 1 && !problem.is_empty(), "{slipped}");
                refused += 1;
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}
