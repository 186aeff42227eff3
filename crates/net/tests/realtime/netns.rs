//! Namespaces, devices and the command `ip` on this machine.

use crate::common::with_namespaces;
use crate::transfer::transfer;
use ripstop_net::os::ip::{IpError, ip};
use ripstop_net::os::netns::{Namespace, NetnsError};
use ripstop_net::os::offload::join::Joiner;
use ripstop_net::os::tun::{READ_ROOM, Tun, TunConfig};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn namespaces_are_separate_hosts() {
    with_namespaces(|| {
        let (a, b) = (Namespace::create("a").unwrap(), Namespace::create("b").unwrap());
        let bind = || TcpListener::bind("127.0.0.1:7000");
        // The same port is free in both namespaces. From each namespace, only its own loopback
        // device can be reached.
        let listener = a.run(bind).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        assert!(a.run(|| TcpStream::connect(address)).unwrap().is_ok());
        assert!(b.run(|| TcpStream::connect(address)).unwrap().is_err());
        let _second = b.run(bind).unwrap().unwrap();
        assert!(a.run(bind).unwrap().is_err());
        assert_eq!(a.clone().to_string(), "a");
    });
}

#[test]
fn namespaces_are_found_by_file_and_process() {
    with_namespaces(|| {
        let made = Namespace::create("made").unwrap();
        let path = |n: &Namespace| format!("/proc/self/fd/{}", n.as_fd().as_raw_fd());
        let inode = |n: &Namespace| std::fs::read_link(path(n)).unwrap();
        let wanted = inode(&made);
        let by_path = Namespace::open(&path(&made)).unwrap();
        assert_eq!(inode(&by_path), wanted);
        let mut sleep = Command::new("sleep");
        sleep.arg("60");
        let mut child = made.spawn(sleep).unwrap();
        assert_eq!(inode(&Namespace::open(&format!("pid:{}", child.id())).unwrap()), wanted);
        child.kill().unwrap();
        child.wait().unwrap();
        let here = Namespace::current().unwrap();
        assert_ne!(inode(&here), wanted);
        // No privilege is needed to enter the namespace in which the thread is already.
        here.enter().unwrap();
        let inside = made.run(|| Namespace::current().unwrap()).unwrap();
        assert_eq!(inode(&inside), wanted);
    });
}

#[test]
fn wrong_names_are_answered_with_right_ones() {
    let error = |text: &str| Namespace::open(text).unwrap_err().to_string();
    assert!(error("no-such-namespace").contains("`no-such-namespace` under /run/netns"));
    assert!(matches!(Namespace::open(".."), Err(NetnsError::Unknown { .. })));
    assert!(error("pid:x").contains("pid:NUMBER"));
    assert!(error("/proc/self/status").contains("not a network namespace"));
    assert!(error("/proc/self/ns/mnt").contains("not a network namespace"));
    assert!(error("/no/such/file").contains("/no/such/file"));
}

#[test]
fn ip_does_what_it_is_told_and_errors_carry_its_words() {
    with_namespaces(|| {
        let host = Namespace::create("host").unwrap();
        assert!(ip(&host, &["link", "show", "lo"]).unwrap().contains("LOOPBACK,UP"));
        ip(&host, &["route", "add", "10.9.0.0/16", "dev", "lo"]).unwrap();
        assert!(ip(&host, &["route"]).unwrap().contains("10.9.0.0/16"));
        let error = ip(&host, &["link", "set", "nothing0", "up"]).unwrap_err();
        assert!(matches!(error, IpError::Failed { .. }), "{error:?}");
        assert!(error.to_string().contains("nothing0") && error.to_string().contains("host"), "{error}");
    });
}

#[test]
fn a_device_is_made_inside_and_carries_both_families() {
    with_namespaces(|| {
        let host = Namespace::create("host").unwrap();
        let config = TunConfig {
            name: Some("wire0".into()),
            addresses: vec!["10.0.0.1/24".parse().unwrap(), "fd00::1/64".parse().unwrap()],
            mtu: 1400,
            ..TunConfig::default()
        };
        let tun = Tun::open(&host, &config).unwrap();
        assert_eq!((tun.name(), tun.mtu(), tun.offload()), ("wire0", 1400, (false, false)));
        let shown = ip(&host, &["addr", "show", "dev", "wire0"]).unwrap();
        for part in ["10.0.0.1/24", "fd00::1/64", "mtu 1400", "UP"] {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(!shown.contains("fe80"), "{shown}");
        for (from, to, version) in [("10.0.0.1:5", "10.0.0.9:6", 4), ("[fd00::1]:5", "[fd00::9]:6", 6)] {
            let socket = host.run(|| UdpSocket::bind(from)).unwrap().unwrap();
            socket.send_to(b"hello", to).unwrap();
            // The kernel sends multicast announcements of its own; the test waits for the datagram.
            let mut packet = [0; 1500];
            let datagram = (0..10).find_map(|_| {
                let len = tun.recv(&mut packet).unwrap();
                packet[..len].ends_with(b"hello").then(|| packet[..len].to_vec())
            });
            assert_eq!(datagram.unwrap()[0] >> 4, version);
        }
        let second = Tun::open(&host, &config).unwrap_err();
        assert!(second.to_string().contains("wire0"), "{second}");
        assert_eq!(tun.overflows().unwrap(), 0);
        drop(tun);
        assert!(ip(&host, &["link", "show", "wire0"]).is_err(), "the device must disappear with its handle");
    });
}

#[test]
fn packets_that_are_not_read_are_counted() {
    with_namespaces(|| {
        let host = Namespace::create("host").unwrap();
        let addresses = vec!["10.0.0.1/24".parse().unwrap()];
        let tun = Tun::open(&host, &TunConfig { addresses, queue_packets: 4, ..TunConfig::default() }).unwrap();
        let socket = host.run(|| UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
        for _ in 0..10 {
            // The kernel may also report an error to the sender.
            let _ = socket.send_to(b"x", "10.0.0.9:6");
        }
        assert_eq!(tun.overflows().unwrap(), 6);
    });
}

/// Kernel TCP through two devices with offload, joined by a thread that moves packets between them.
#[test]
fn offloading_devices_cut_and_join_segments() {
    with_namespaces(|| {
        let device = |name, address: &str| {
            let host = Namespace::create(name).unwrap();
            let addresses = vec![address.parse().unwrap()];
            let tun = Tun::open(&host, &TunConfig { addresses, offload: true, ..TunConfig::default() }).unwrap();
            assert!(tun.offload().0);
            (host, Arc::new(tun))
        };
        let ((left, a), (right, b)) = (device("left", "10.0.0.1/24"), device("right", "10.0.0.2/24"));
        let cut = Arc::new(AtomicU64::new(0));
        let forwarding = [(a.clone(), b.clone()), (b, a)].map(|(from, to)| {
            let cut = cut.clone();
            std::thread::spawn(move || forward(&from, &to, &cut))
        });
        let sent: Vec<u8> = (0..2_000_000u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        transfer(&left, &right, &sent);
        assert!(cut.load(Ordering::Relaxed) > 0, "the kernel never sent a large segment");
        for host in [&left, &right] {
            ip(host, &["link", "del", "tun0"]).unwrap();
        }
        for thread in forwarding {
            thread.join().unwrap();
        }
    });
}

/// Moves packets from one device to the other until the first device is deleted. Counts packets cut from larger
/// segments.
fn forward(from: &Tun, to: &Tun, cut: &AtomicU64) {
    let mut scratch = vec![0; READ_ROOM];
    let mut joiner = Joiner::new(true, from.offload().1);
    let mut packets: Vec<Vec<u8>> = Vec::new();
    while from.read_packets(&mut scratch, |parts| packets.push(parts.concat())).is_ok() {
        cut.fetch_add(packets.len() as u64 - 1, Ordering::Relaxed);
        joiner.join(packets.iter().map(|packet| (0, packet.as_slice())));
        joiner.each(|index| &packets[index], |parts| drop(to.write_parts(parts)));
        packets.clear();
    }
}

/// The test runs in a mount namespace of its own. So the mounts of the test are not visible on the
/// machine.
#[test]
fn namespaces_are_found_by_name() {
    use nix::mount::{MsFlags, mount};
    with_namespaces(|| {
        let base = Namespace::create("base").unwrap();
        let work = || {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
            let nothing = None::<&str>;
            mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).unwrap();
            mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), nothing).unwrap();
            ip(&base, &["netns", "add", "blue"]).unwrap();
            let blue = Namespace::open("blue").unwrap();
            assert_eq!(blue.to_string(), "blue");
            assert!(ip(&blue, &["link"]).unwrap().contains("lo"));
            let wrong = Namespace::open("green").unwrap_err().to_string();
            assert!(wrong.contains("`green`") && wrong.contains("the existing namespaces are `blue`"), "{wrong}");
        };
        base.run(work).unwrap();
    });
}

const CHILD: &str = "RIPSTOP_TEST_CHILD";

/// Not a test of its own: this is the process that the next test kills.
#[test]
fn victim() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let (a, b) = (Namespace::create("a").unwrap(), Namespace::create("b").unwrap());
    let addresses = vec!["10.0.0.1/24".parse().unwrap()];
    let _tun = Tun::open(&a, &TunConfig { addresses, ..TunConfig::default() }).unwrap();
    let mut sleep = Command::new("sleep");
    sleep.arg("1000").stdout(Stdio::null()).stderr(Stdio::null());
    #[expect(clippy::zombie_processes, reason = "the child is killed when this process is killed")]
    let child = b.spawn(sleep).unwrap();
    let link = |n: &Namespace| n.run(|| std::fs::read_link("/proc/thread-self/ns/net").unwrap()).unwrap();
    println!("\nvictim {} {} {}", child.id(), link(&a).display(), link(&b).display());
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    with_namespaces(|| {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["netns::victim", "--exact", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|line| line.starts_with("victim ")).unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        assert!(holders(words[2]) && holders(words[3]), "the search must find the namespaces while the process runs");
        victim.kill().unwrap(); // SIGKILL
        victim.wait().unwrap();
        let gone = || !Path::new(&format!("/proc/{}", words[1])).exists() && !holders(words[2]) && !holders(words[3]);
        let start = Instant::now();
        while !gone() {
            assert!(start.elapsed() < Duration::from_secs(30), "something still holds {line}");
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

/// Whether a process, an open file or a mount keeps the namespace `net:[INODE]` alive.
fn holders(namespace: &str) -> bool {
    let is = |path: &Path| std::fs::read_link(path).is_ok_and(|to| to.as_os_str() == namespace);
    let children = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.contains(namespace)
        || children(Path::new("/proc"))
            .any(|process| is(&process.join("ns/net")) || children(&process.join("fd")).any(|fd| is(&fd)))
}
