//! The status socket and the metrics server.

use super::hosts::{End, Host, Pair, lossy, until};
use super::inside::tcp_both_ways;
use crate::common::with_namespaces;
use ripstop_net::daemon::{Daemon, DaemonStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[test]
fn metrics_are_well_formed_and_say_what_happened() {
    with_namespaces(|| {
        let pair = Pair::raise(&lossy(0.05), 1500, "metrics = \"127.0.0.1:9482\"");
        tcp_both_ways(&pair.left.host, &pair.right.host, pair.right.host.v4(), 500_000);
        let (head, body) = http(&pair.left, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        every_metric_is_documented(&body);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("version=0.0.4"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        let samples = samples(&body);
        for name in [
            "udp_sent_bytes_total",
            "device_in_packets_total",
            "device_out_bytes_total",
            "handshakes_total",
            "interface_mtu_bytes",
            "cpu_seconds_total",
            "peer_connected{peer=\"host2\"}",
            "peer_inner_received_bytes_total{peer=\"host2\"}",
            "peer_sent_bytes_total{peer=\"host2\"}",
            "peer_lost_datagrams_total{peer=\"host2\"}",
            "peer_recovered_total{peer=\"host2\"}",
            "peer_srtt_seconds{peer=\"host2\"}",
            "peer_bandwidth_bits_per_second{peer=\"host2\"}",
            "peer_loss_to_peer_ratio{peer=\"host2\"}",
            "peer_loss_from_peer_ratio{peer=\"host2\"}",
            "peer_repairs_total{peer=\"host2\",purpose=\"bulk\"}",
            "peer_class_packets_total{peer=\"host2\",class=\"bulk\"}",
            "peer_class_repair_bytes_total{peer=\"host2\",class=\"bulk\"}",
            "peer_class_redundancy_ratio{peer=\"host2\",class=\"interactive\"}",
            "peer_class_expected_loss_ratio{peer=\"host2\",class=\"bulk\"}",
        ] {
            assert!(samples.get(name).is_some_and(|value| *value > 0.0), "{name} in:\n{body}");
        }
        for name in [
            "rejected_total{reason=\"forged\"}",
            "peer_queue_drops_total{peer=\"host2\",reason=\"expired\"}",
            // A repair on request may or may not have been needed.
            "peer_repairs_total{peer=\"host2\",purpose=\"exact\"}",
        ] {
            assert!(samples.contains_key(name), "{name} in:\n{body}");
        }

        // A wrong request gets an error or no answer, and the next request is served.
        let status = |request: &str| http(&pair.left, request).0.split(' ').nth(1).map(str::to_owned);
        assert_eq!(status("GET /metrics?x=1 HTTP/1.0\r\n\r\n").as_deref(), Some("200"));
        assert_eq!(status("GET /secrets HTTP/1.1\r\n\r\n").as_deref(), Some("404"));
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n").as_deref(), Some("405"));
        assert_eq!(status("\r\n\r\n").as_deref(), Some("405"));
        assert_eq!(status("GET /met"), None);
        // Idle connections, and clients that send their requests slowly, keep no other client out.
        let idle: Vec<TcpStream> = (0..130).map(|_| connect(&pair.left)).collect();
        let mut slow = connect(&pair.left);
        slow.write_all(b"GET /met").unwrap();
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n").as_deref(), Some("200"));
        slow.write_all(b"rics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        // Idle connections are closed when there are too many.
        let mut closed = &idle[0];
        closed.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert!(matches!(closed.read(&mut [0; 10]), Ok(0) | Err(_)));
    });
}

fn every_metric_is_documented(page: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/monitoring.md");
    let document = std::fs::read_to_string(path).unwrap();
    let names = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let missing: Vec<_> = names.filter(|(name, kind)| !document.contains(&format!("| `{name}` | {kind} |"))).collect();
    assert!(missing.is_empty(), "not in docs/operators/monitoring.md: {missing:?}");
}

fn connect(end: &End) -> TcpStream {
    end.host.namespace.run(|| TcpStream::connect("127.0.0.1:9482")).unwrap().unwrap()
}

/// The head and the body of the answer. Both are empty if there is no answer.
fn http(end: &End, request: &str) -> (String, String) {
    let mut stream = connect(end);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (format!("{head}\r\n"), body.to_owned())
}

/// Parses the exposition format strictly. Maps each name (without `ripstop_`, with labels) to its value.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut types = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => {
                assert!(help.ends_with('.') && helped.insert(name), "{line}");
            }
            ["#", "TYPE", name, kind] => {
                assert!(helped.contains(name) && types.insert(name, kind).is_none(), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            }
            [..] => {
                let (name, value) = line.rsplit_once(' ').expect("a name and a value");
                let bare = name.split('{').next().unwrap();
                assert!(types.contains_key(bare), "{line}");
                assert!(bare.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit()), "{line}");
                let name = name.strip_prefix("ripstop_").expect("our names have a prefix").to_owned();
                assert!(samples.insert(name, value.parse().unwrap()).is_none(), "twice: {line}");
            }
        }
    }
    samples
}

#[test]
fn names_are_escaped() {
    with_namespaces(|| {
        let peer = Host::new(2).as_peer("").replace("\"host2\"", r#"'a "b" \c'"#);
        let end = Host::new(1).up("metrics = \"127.0.0.1:9482\"", &[peer]);
        let (_, body) = http(&end, "GET /metrics HTTP/1.1\r\n\r\n");
        let name = r#"peer_connected{peer="a \"b\" \\c"}"#;
        assert_eq!(samples(&body).get(name), Some(&0.0), "{body}");
    });
}

/// A directory that is removed at the end of the test.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        Directory(nix::unistd::mkdtemp(&std::env::temp_dir().join("ripstop-XXXXXX")).unwrap())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ask(socket: &Path) -> DaemonStatus {
    let mut text = String::new();
    UnixStream::connect(socket).unwrap().read_to_string(&mut text).unwrap();
    assert!(text.ends_with('\n') && text.lines().count() == 1, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_status_socket_answers_its_owner() {
    with_namespaces(|| {
        let directory = Directory::new();
        let socket = directory.0.join("rip0.sock");
        let line = |name: &str| format!("name = \"{name}\"\nport = 0\nstatus = \"{}\"", socket.display());
        // A killed daemon leaves its socket behind.
        drop(UnixListener::bind(&socket).unwrap());
        let host = Host::new(1);
        let end = host.up(&line("rip0"), &[Host::new(2).as_peer("")]);
        assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        let status = ask(&socket);
        assert_eq!((status.interface.name.as_str(), status.peers[0].name.as_str()), ("rip0", "host2"));
        assert_eq!(status.interface.public_key, super::hosts::key(1).public().to_string());
        // Clients that do not read their answers do not block other clients.
        for _ in 0..50 {
            drop(UnixStream::connect(&socket).unwrap());
        }
        assert_eq!(ask(&socket).interface.port, status.interface.port);

        let refused = |interface: &str| {
            let config = host.config(interface, &[]);
            host.namespace.run(|| Daemon::start(&config)).unwrap().map(|_| ()).unwrap_err().to_string()
        };
        let words = refused(&line("rip1"));
        assert!(words.contains("rip0.sock") && words.contains("another ripstop"), "{words}");
        let file = directory.0.join("file");
        std::fs::write(&file, "precious").unwrap();
        let words = refused(&line("rip1").replace("rip0.sock", "file"));
        assert!(words.contains("not a socket"), "{words}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
        let words = refused(&line("rip1").replace("rip0.sock", "none/rip0.sock"));
        assert!(words.contains("none/rip0.sock") && words.contains("No such file"), "{words}");

        end.daemon.stop();
        until("the socket is removed", || !socket.exists());
    });
}
