//! Many host names and a name server that is silent at first.

use super::private;
use super::site::{LEFT, RIGHT, Site, Up, until};
use crate::common::{json, with_namespaces};
use ripstop_base::Seed;
use ripstop_net::os::ip::ip;
use ripstop_proto::secure::PrivateKey;
use std::fs::File;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The number of peers, each with a name of its own.
const PEERS: usize = 600;
/// The largest number of descriptors of the daemon. It is smaller than the number of names.
const DESCRIPTORS: usize = 200;
/// The largest number of threads that resolve names.
const MOST_THREADS: usize = 16;

/// Starts the daemon `$0 up $1` with the name server of `$2` and a limit of descriptors.
const SCRIPT: &str = "mount --bind \"$2\" /etc/resolv.conf || exit 77; ulimit -n \"$3\"; exec \"$0\" up \"$1\"";

/// A name server that answers each question about an IPv4 address with 198.18.0.2, as soon as it is switched on.
struct NameServer {
    answers: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    fn start(site: &Site) -> NameServer {
        let socket = site.hosts[LEFT].run(|| UdpSocket::bind("127.0.0.1:53")).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let [answers, stop] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let asked = Arc::new(AtomicUsize::new(0));
        let (answering, stopped, count) = (answers.clone(), stop.clone(), asked.clone());
        let work = move || {
            let mut question = [0; 512];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut question) else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                if answering.load(Ordering::Relaxed) {
                    socket.send_to(&answer_to(&question[..len]), from).unwrap();
                }
            }
        };
        NameServer { answers, asked, stop, thread: Some(std::thread::spawn(work)) }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The answer to a question (RFC 1035, section 4): a record for type A, and none for other types.
fn answer_to(question: &[u8]) -> Vec<u8> {
    let name = question[12..].iter().position(|byte| *byte == 0).unwrap();
    let end = 12 + name + 5;
    let is_a = question[end - 4..end - 2] == [0, 1];
    let head = [&question[..2], &[0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]].concat();
    let mut answer = [&head, &question[12..end]].concat();
    if is_a {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 2]);
    }
    answer
}

/// The daemon of the left host with many peers. None: this machine allows no own mounts.
fn start(site: &Site) -> Option<Up> {
    let mut keys = Seed::new(7).stream("keys");
    let mut text =
        "[interface]\nprivate-key-file = \"left.key\"\naddress = \"10.77.0.1/16\"\nstatus = \"left.sock\"\n".to_owned();
    for number in 0..PEERS {
        text.push_str(&format!(
            "[[peer]]\nname = \"peer{number}\"\npublic-key = \"{}\"\nallowed-ips = \"10.77.{}.{}\"\nendpoint = \"peer{number}.example:5182\"\n",
            PrivateKey::generate(&mut keys).public(),
            1 + number / 256,
            number % 256
        ));
    }
    private(&site.file("left.toml"), &text);
    std::fs::write(site.file("resolv.conf"), "nameserver 127.0.0.1\n").unwrap();
    let log = site.file("left.log");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", SCRIPT, env!("CARGO_BIN_EXE_ripstop")]);
    command.arg(site.file("left.toml")).arg(site.file("resolv.conf")).arg(DESCRIPTORS.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let mut up = Up { child: site.hosts[LEFT].spawn(command).unwrap(), log };
    let mut is_allowed = true;
    until("the daemon answers", || {
        if up.child.try_wait().unwrap().is_some() {
            let log = up.log();
            assert!(log.contains("mount:") || log.contains("unshare:"), "{log}");
            is_allowed = false;
        }
        !is_allowed || site.status(LEFT, &["--json"]).status.success()
    });
    is_allowed.then_some(up)
}

/// The number of threads of the daemon that resolve names.
fn resolvers(up: &Up) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", up.child.id())).unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "resolver").count()
}

#[test]
fn a_silent_name_server_takes_few_threads_and_few_lines() {
    with_namespaces(|| {
        let site = Site::new();
        let server = NameServer::start(&site);
        let Some(up) = start(&site) else {
            return eprintln!("SKIPPED a_silent_name_server_takes_few_threads_and_few_lines: no own mounts");
        };
        let resolved = || {
            let status = json(&site.status(LEFT, &["--json"]));
            let peers = status["peers"].as_array().unwrap().clone();
            peers.iter().filter(|peer| peer["endpoint"] == "198.18.0.2:5182").count()
        };
        until("all threads ask", || {
            assert!(resolvers(&up) <= MOST_THREADS);
            resolvers(&up) == MOST_THREADS && server.asked.load(Ordering::Relaxed) > 4 * MOST_THREADS
        });
        until("failures are logged", || up.count("could not be resolved") > 0);
        assert_eq!(resolved(), 0);
        assert!(up.count("WARN") + up.count("ERROR") <= 3, "{}", up.log());

        server.answers.store(true, Ordering::Relaxed);
        until("all names are in use", || resolved() == PEERS);
        assert!(up.count("could not be resolved") + up.count("trying this address") <= 12, "{}", up.log());
        until("the threads end", || resolvers(&up) == 0);
    });
}

/// Starts the left daemon with its peer at the name `two.example`, which has the addresses of `hosts`, a file in the form of
/// /etc/hosts. None if the machine allows no own mounts.
fn up_with_hosts(site: &Site, hosts: &str, until_so: impl Fn(&Up) -> bool) -> Option<Up> {
    let text = std::fs::read_to_string(site.file("left.toml")).unwrap();
    private(&site.file("left.toml"), &text.replace("198.18.0.2:5182", "two.example:5182"));
    std::fs::write(site.file("hosts"), hosts).unwrap();
    let log = site.file("left.log");
    let mut command = Command::new("unshare");
    let script = "mount --bind \"$2\" /etc/hosts || exit 77; exec \"$0\" up \"$1\"";
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_ripstop")]);
    command.arg(site.file("left.toml")).arg(site.file("hosts"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let mut up = Up { child: site.hosts[LEFT].spawn(command).unwrap(), log };
    let mut ended = false;
    until("the daemon is ready, or the machine allows no own mounts", || {
        ended = up.child.try_wait().unwrap().is_some();
        ended || until_so(&up)
    });
    if ended {
        eprintln!("SKIPPED: {}", up.log());
        return None;
    }
    Some(up)
}

fn is_connected(site: &Site) -> bool {
    site.status(LEFT, &["--json"]).status.success() && site.peer(LEFT)["connected"] == true
}

/// The first address of the name is dead. The second one is tried before the peer counts as unreachable.
#[test]
fn a_dead_address_is_followed_by_the_next() {
    with_namespaces(|| {
        let site = Site::new();
        let right = site.up(RIGHT);
        // The hosts file names a dead address of IPv6 first, as the system does by default.
        ip(&site.hosts[LEFT], &["-6", "addr", "add", "fd00:dead::1/64", "dev", "lo"]).unwrap();
        let hosts = "fd00:dead::2 two.example\n198.18.0.2 two.example\n";
        let Some(up) = up_with_hosts(&site, hosts, |_| is_connected(&site)) else { return };
        let tried = up.log();
        for address in ["[fd00:dead::2]:5182", "198.18.0.2:5182"] {
            assert!(tried.contains(&format!("to={address}")), "{tried}");
        }
        assert!(!tried.contains("peer unreachable"), "the next address must be tried before: {tried}");
        drop(right);
    });
}

/// Who answers for a peer's name must not lead the packets for a network behind a peer elsewhere.
#[test]
fn a_name_changes_no_route() {
    with_namespaces(|| {
        let site = Site::new();
        let right = site.up(RIGHT);
        let text = std::fs::read_to_string(site.file("left.toml")).unwrap();
        private(&site.file("left.toml"), &text.replace("allowed-ips = [", "allowed-ips = [\"10.9.0.0/16\", "));
        let routed = || {
            let routes = ip(&site.hosts[LEFT], &["-4", "route", "show", "10.9.0.0/16"]).unwrap();
            routes.contains("dev ") && routes.contains("unreachable")
        };
        // The only address is inside: the peer is not called.
        let warned = |up: &Up| up.count("resolves to an address in a prefix that is routed") > 0;
        let Some(up) = up_with_hosts(&site, "10.9.0.66 two.example\n", warned) else { return };
        assert!(routed() && up.count("trying this address") == 0, "{}", up.log());
        drop(up);
        // The next address is outside.
        let hosts = "10.9.0.66 two.example\n198.18.0.2 two.example\n";
        let Some(up) = up_with_hosts(&site, hosts, |_| is_connected(&site)) else { return };
        assert!(routed() && !up.log().contains("to=10.9.0.66"), "{}", up.log());
        drop(right);
    });
}
