//! Tests of `ripstop emulate`, which runs a link between existing namespaces until the command is stopped.

use crate::common::{Fates, json, ripstop, schema, skip, stderr, stdout, with_namespaces};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Two namespaces. For each namespace, the path that names it on a command line.
fn hosts() -> [(Namespace, String); 2] {
    ["left", "right"].map(|name| {
        let namespace = Namespace::create(name).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), namespace.as_fd().as_raw_fd());
        (namespace, path)
    })
}

/// Starts the command between `hosts` and waits until both devices exist.
fn start(hosts: &[(Namespace, String); 2], words: &[&str]) -> Child {
    let mut child = ripstop()
        .args(["emulate", "--left", &hosts[0].1, "--right", &hosts[1].1])
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !hosts.iter().all(has_device) {
        assert!(child.try_wait().unwrap().is_none(), "{}", stderr(&child.wait_with_output().unwrap()));
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn has_device(host: &(Namespace, String)) -> bool {
    ip(&host.0, &["link", "show", "ripstop0"]).is_ok_and(|words| words.contains("UP"))
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

fn end(child: Child, signal: Signal) -> Output {
    send(&child, signal);
    child.wait_with_output().unwrap()
}

#[test]
fn counts_what_it_did_until_ctrl_c() {
    with_namespaces(|| {
        const PACKETS: usize = 400;
        const LOT: usize = 100;
        let hosts = hosts();
        let directory = tempfile::tempdir().unwrap();
        let fates = directory.path().join("fates");
        let log = format!("--fates={}", fates.display());
        let child =
            start(&hosts, &["--json", &log, "--rate=0", "--rtt=2ms", "--loss=20%", "--loss-back=0", "--seed=7"]);
        let receiver = hosts[1].0.run(|| UdpSocket::bind("198.18.0.2:4000")).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let sender = hosts[0].0.run(|| UdpSocket::bind("198.18.0.1:0")).unwrap().unwrap();
        let mut arrived = 0;
        // The packets are sent in groups that fit into the receiver's socket buffer, so that only the link loses
        // packets.
        for _ in 0..PACKETS / LOT {
            for _ in 0..LOT {
                sender.send_to(&[0xAB; 100], "198.18.0.2:4000").unwrap();
            }
            while receiver.recv(&mut [0; 200]).is_ok() {
                arrived += 1;
            }
        }
        let report = json(&end(child, Signal::SIGINT));
        schema::check("emulate.schema.json", &report);
        let link = &report["left_to_right"]["link"];
        assert_eq!(link["offered"], PACKETS, "{report}");
        assert_eq!(link["offered_bytes"], PACKETS * 128, "{report}");
        assert!(link["lost_channel"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(link["delivered"], arrived, "{report}");
        let fates = Fates::read(&fates);
        let forth = fates.of("", "forth");
        assert_eq!(forth.len(), PACKETS);
        assert_eq!(forth.iter().filter(|letter| **letter == b'.').count(), arrived);
        assert!(forth.iter().all(|letter| b".x".contains(letter)), "{}", String::from_utf8_lossy(forth));
        assert_eq!((&report["error"], &report["link"]["seed"]), (&serde_json::Value::Null, &7.into()));
        assert!(!hosts.iter().any(has_device));
    });
}

/// Real packets cross a link with a block code. Each packet that arrives has the bytes that were sent, although units
/// of it were lost.
#[test]
fn a_block_code_recovers_units() {
    with_namespaces(|| {
        const LOTS: u8 = 4;
        const LOT: u8 = 60;
        // The bytes of a packet follow from its number, and so does its length.
        let content = |k: u8| -> Vec<u8> {
            (0..60 + 4 * usize::from(k))
                .map(|i| if i == 0 { k } else { ((i * i * usize::from(k | 1)) >> 3) as u8 })
                .collect()
        };
        let hosts = hosts();
        let code = ["--fec-k=3", "--fec-n=5", "--unit=50B", "--unit-loss=20%", "--stay-bad=30%"];
        let child = start(&hosts, &[&["--json", "--rate=0", "--rtt=2ms", "--loss=0"][..], &code].concat());
        let receiver = hosts[1].0.run(|| UdpSocket::bind("198.18.0.2:4000")).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let sender = hosts[0].0.run(|| UdpSocket::bind("198.18.0.1:0")).unwrap().unwrap();
        let mut arrived = 0;
        for lot in 0..LOTS {
            for k in 0..LOT {
                sender.send_to(&content(lot * LOT + k), "198.18.0.2:4000").unwrap();
            }
            let mut packet = [0; 2000];
            while let Ok(len) = receiver.recv(&mut packet) {
                assert_eq!(packet[..len], content(packet[0]), "packet {} was changed", packet[0]);
                arrived += 1;
            }
        }
        let report = json(&end(child, Signal::SIGINT));
        schema::check("emulate.schema.json", &report);
        assert_eq!((&report["fec"]["n_units"], &report["fec"]["stay_bad"]), (&5.into(), &0.3.into()));
        let count = |way: &str, part: &str, name: &str| report[way][part][name].as_u64().unwrap();
        let link = |name: &str| count("left_to_right", "link", name);
        assert!(link("offered") >= u64::from(LOTS * LOT) && link("lost_channel") == link("lost_fec"), "{report}");
        for name in ["units_lost", "blocks_recovered", "blocks_lost", "lost_fec"] {
            assert!(link(name) > 0, "{name}: {report}");
        }
        // The kernel may have sent packets of its own too.
        assert!(arrived > 50 && arrived <= link("delivered"), "{arrived}: {report}");
        let coding = |name: &str| count("left_to_right", "coding", name);
        assert_eq!(5 * coding("blocks_encoded"), link("units_sent"), "{report}");
        assert!(coding("blocks_restored") > 0 && coding("units_recovered") > coding("blocks_restored"), "{report}");
        assert!(coding("blocks_restored") <= link("blocks_recovered"), "{report}");
        assert_eq!((coding("blocks_not_restored"), coding("disagreements")), (link("blocks_lost"), 0), "{report}");
        assert_eq!(count("right_to_left", "link", "units_sent"), 0);
        assert_eq!(count("right_to_left", "coding", "blocks_encoded"), 0);
    });
}

#[test]
fn seconds_and_sigterm_end_it_too() {
    with_namespaces(|| {
        let hosts = hosts();
        let output = start(&hosts, &["--seconds=0.3"]).wait_with_output().unwrap();
        let table = stdout(&output);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(table.contains("left to right") && table.contains("bytes offered"), "{table}");
        let output = end(start(&hosts, &["--left-address=fd00::1/64", "--right-address=fd00::2/64"]), Signal::SIGTERM);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!hosts.iter().any(has_device));
    });
}

#[test]
fn kill_9_takes_the_devices_away() {
    with_namespaces(|| {
        let hosts = hosts();
        assert!(!end(start(&hosts, &[]), Signal::SIGKILL).status.success());
        // The devices disappear when the kernel has closed the files of the killed process.
        while hosts.iter().any(has_device) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn a_link_that_breaks_down_is_a_failure_with_counters() {
    with_namespaces(|| {
        let hosts = hosts();
        let child = start(&hosts, &["--json"]);
        ip(&hosts[0].0, &["link", "del", "ripstop0"]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("the link failed"), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert!(report["error"].is_string(), "{report}");
    });
}

#[test]
fn a_file_that_is_not_a_namespace_is_refused() {
    with_namespaces(|| {
        let hosts = hosts();
        for (word, said) in [
            ("no-such-namespace", "no network namespace `no-such-namespace`"),
            ("/dev/null", "not a network namespace"),
            ("pid:none", "pid:NUMBER"),
        ] {
            let output = ripstop().args(["emulate", "--left", word, "--right", &hosts[1].1]).output().unwrap();
            let words = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{words}");
            assert!(words.contains("--left") && words.contains(said), "{words}");
        }
    });
}

#[test]
fn a_wrong_value_names_its_flag() {
    for (words, flag, said) in [
        (&["--aqm=codel", "--fec-k=20", "--fec-n=22"][..], "--aqm", "`pie` or `fifo`"),
        (&["--left-device=a b"], "--left-device", "15 characters"),
        (&["--right-device=.."], "--right-device", "15 characters"),
        (&["--left-address=10.0.0.1/24", "--left-address=10.0.1.1/24"], "--left-address", "one IPv4 address"),
        (&["--right-address=fd00::2/64", "--mtu=1000"], "--mtu", "1280"),
    ] {
        let output = ripstop().args(["emulate", "--left=a", "--right=b"]).args(words).output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.starts_with(&format!("error: {flag}: ")) && text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn without_privilege_it_says_what_to_do() {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_ripstop")]);
    match command.args(["emulate", "--left=a", "--right=b"]).output() {
        Ok(output) if !stderr(&output).contains("setpriv:") => {
            assert_eq!(output.status.code(), Some(1));
            let words = stderr(&output);
            assert!(words.contains("CAP_NET_ADMIN") && words.contains("root"), "{words}");
        }
        other => skip(&format!("setpriv: {other:?}")),
    }
}
