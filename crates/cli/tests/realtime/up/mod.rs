//! Tests of `ripstop up`: two daemons in two namespaces, from the first key to the end of the session, and after
//! a kill. Every wait is for a condition and has a limit.

mod check;
mod early_acks;
mod log;
mod lookups;
mod rejected;
mod site;

use crate::common::{json, ripstop, run, schema, skip, stderr, stdout, with_namespaces};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ripstop_net::os::ip::ip;
use site::{LEFT, RIGHT, Site, until};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the shell script `script` on the left host with mounts and processes of its own. Its arguments are the program
/// and the configuration. The error says why this machine cannot.
fn in_own_mounts(site: &Site, script: &str) -> Result<Output, String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_ripstop")).arg(site.file("left.toml"));
    let output = site.hosts[LEFT].output(command).map_err(|error| error.to_string())?;
    let err = stderr(&output);
    if output.status.code() == Some(77) || err.contains("unshare:") { Err(err) } else { Ok(output) }
}

#[test]
fn it_runs_until_a_signal() {
    with_namespaces(|| {
        let site = Site::new();
        let (mut left, mut right) = (site.up(LEFT), site.up(RIGHT));
        site.connected();
        site.reach();
        for host in [LEFT, RIGHT] {
            let status = json(&site.status(host, &["--json"]));
            schema::check("status.schema.json", &status);
            assert!(status["peers"][0]["session"]["datagrams_received"].as_u64() > Some(0), "{status}");
        }
        let table = stdout(&site.status(LEFT, &[]));
        for words in [
            "rip0: port 5182, MTU 1436 B",
            "public key",
            "right  connected",
            "198.18.0.2:5182",
            "receives",
            "recovered",
            "right  interactive",
            "to right, bulk: R = ",
            "from right: R = ",
        ] {
            assert!(table.contains(words), "no `{words}` in:\n{table}");
        }
        assert!(left.log().contains(" INFO up device=rip0 port=5182 mtu=1436"), "{}", left.log());
        assert!(left.log().contains("connected peer=right again=false"), "{}", left.log());
        assert!(right.log().contains("learned the peer's address peer=left at=198.18.0.1:5182"), "{}", right.log());

        assert_eq!(right.signal(Signal::SIGTERM).code(), Some(0), "{}", right.log());
        assert!(right.log().contains("closing signal=SIGTERM"), "{}", right.log());
        assert!(!site.has_device(RIGHT) && !site.file("right.sock").exists());
        until("the good-bye is heard", || left.count("peer closed the session") == 1);
        let table = stdout(&site.status(LEFT, &[]));
        assert!(table.contains("right  closed"), "{table}");
        assert_eq!(left.signal(Signal::SIGINT).code(), Some(0), "{}", left.log());
        assert!(!site.has_device(LEFT) && !site.file("left.sock").exists());
        for up in [&left, &right] {
            assert!(!up.log().contains("WARN") && !up.log().contains("ERROR"), "{}", up.log());
        }
    });
}

/// A script that mounts an empty private /run, starts a daemon with the default status socket, and runs commands
/// that find this socket. `$0` is the program, `$1` a configuration.
const USUAL: &str = r#"
mount -t tmpfs tmpfs /run || exit 77
"$0" up "$1" &
tries=0
until "$0" status --json; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || exit 1
    sleep 0.05
done 2>/dev/null
"$0" status && "$0" status rip0 --json && stat -c %a /run/ripstop/rip0.sock || exit 1
kill $! && wait $! && ls /run/ripstop
"#;

#[test]
fn the_usual_socket_is_found_without_a_name() {
    with_namespaces(|| {
        let site = Site::new();
        let config = fs::read_to_string(site.file("left.toml")).unwrap();
        private(&site.file("left.toml"), &config.replace("status = \"left.sock\"", ""));
        let output = match in_own_mounts(&site, USUAL) {
            Ok(output) => output,
            Err(why) => return skip(&why),
        };
        let (out, err) = (stdout(&output), stderr(&output));
        assert!(output.status.success(), "{out}{err}");
        // The output is a JSON object, a table, a JSON object, and the mode of the socket. After the daemon's end,
        // the socket is gone.
        assert!(out.starts_with('{') && out.contains("\nright "), "{out}");
        assert!(out.ends_with("}\n600\n"), "{out}");
    });
}

#[test]
fn a_killed_end_leaves_its_socket_and_is_found_again() {
    with_namespaces(|| {
        let site = Site::new();
        let (left, mut right) = (site.up(LEFT), site.up(RIGHT));
        site.connected();
        site.reach();
        right.signal(Signal::SIGKILL);
        assert!(!site.has_device(RIGHT), "the device disappears with the process");
        assert!(site.file("right.sock").exists());
        let output = site.status(RIGHT, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("has ended"), "{}", stderr(&output));

        // The restarted daemon has no state and does not know the address of the other host.
        let _right = site.up(RIGHT);
        site.reach();
        site.connected();
        let peer = site.peer(LEFT);
        assert_eq!((&peer["restarts"], &peer["sessions"]), (&1.into(), &2.into()), "{peer}");
        assert!(left.log().contains("connected peer=right again=true"), "{}", left.log());
    });
}

#[test]
fn an_absent_peer_is_named_once() {
    with_namespaces(|| {
        let site = Site::new();
        let left = site.up(LEFT);
        until("it says that nobody answers", || left.count("peer unreachable; handshakes continue") == 1);
        assert!(stdout(&site.status(LEFT, &[])).contains("unreachable"));
        let calls = || json(&site.status(LEFT, &["--json"]))["totals"]["handshakes_repeated"].as_u64().unwrap();
        let before = calls();
        until("it is tried on", || calls() >= before + 2);
        let _right = site.up(RIGHT);
        until("it says that the peer answers", || left.count("peer reachable again") == 1);
        site.connected();
        site.reach();
        assert_eq!(left.count("peer unreachable"), 1, "{}", left.log());
    });
}

#[test]
fn a_running_daemon_has_one_capability() {
    with_namespaces(|| {
        let site = Site::new();
        let (left, _right) = (site.up(LEFT), site.up(RIGHT));
        site.connected();
        site.reach();
        let tasks = fs::read_dir(format!("/proc/{}/task", left.child.id())).unwrap();
        let threads: Vec<String> =
            tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap()).collect();
        assert!(threads.len() >= 3, "{}", threads.len());
        for status in &threads {
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap();
            for name in ["CapEff:", "CapPrm:"] {
                // Bit 12 is CAP_NET_ADMIN.
                assert_eq!(u64::from_str_radix(field(name), 16), Ok(1 << 12), "{status}");
            }
            assert_eq!(field("NoNewPrivs:"), "1");
        }
        // The device's MTU can still be changed: the search for the path's MTU has ended, or goes on.
        assert_eq!(left.count("could not set the device's MTU"), 0, "{}", left.log());
    });
}

/// The number of the user `nobody`; None if this process cannot change to this user.
fn nobody() -> Option<u32> {
    // In a user namespace with a single user, there is no other user to change to.
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    let users: u64 = map.split_whitespace().nth(2).and_then(|count| count.parse().ok()).unwrap();
    let id = Command::new("id").args(["-u", "nobody"]).output().unwrap();
    let uid: u32 = String::from_utf8_lossy(&id.stdout).trim().parse().unwrap_or(0);
    if uid == 0 || users <= u64::from(uid) {
        eprintln!("skipped: there is no user `nobody` here");
        return None;
    }
    Some(uid)
}

#[test]
fn the_daemon_changes_to_the_configured_user() {
    with_namespaces(|| {
        let Some(uid) = nobody() else { return };
        let site = Site::new();
        let path = site.file("right.toml");
        let old = fs::read_to_string(&path).unwrap();
        private(&path, &old.replace("[interface]", "[interface]\nuser = \"nobody\""));
        let (left, right) = (site.up(LEFT), site.up(RIGHT));
        site.connected();
        site.reach();
        for (up, wanted) in [(&left, 0), (&right, uid)] {
            let status = fs::read_to_string(format!("/proc/{}/status", up.child.id())).unwrap();
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap();
            // The real, the effective and the saved user, and the user of the file system.
            let users: Vec<u32> = field("Uid:").split_whitespace().map(|uid| uid.parse().unwrap()).collect();
            assert_eq!(users, [wanted; 4], "{status}");
            // Bit 12 is CAP_NET_ADMIN.
            assert_eq!(u64::from_str_radix(field("CapEff:"), 16), Ok(1 << 12), "{status}");
        }
        assert_eq!(fs::metadata(site.file("right.sock")).unwrap().uid(), uid, "the status socket belongs to the user");
    });
}

/// A script that mounts a private /run with a file at the default path of the status socket, and starts a daemon that
/// changes its user. It prints the owner of the file and its content, and then the daemon's log.
const OCCUPIED: &str = r#"
mount -t tmpfs tmpfs /run || exit 77
mkdir /run/ripstop && echo precious > /run/ripstop/rip0.sock
"$0" up "$1" 2> /run/log &
tries=0
until grep -q ' up device=' /run/log; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || exit 1
    sleep 0.05
done
kill $! && wait $!
stat -c %u /run/ripstop/rip0.sock && cat /run/ripstop/rip0.sock /run/log
"#;

/// The daemon gives only its own socket to the configured user.
#[test]
fn a_file_in_the_place_of_the_socket_keeps_its_owner() {
    with_namespaces(|| {
        let Some(_) = nobody() else { return };
        let site = Site::new();
        let path = site.file("left.toml");
        let config = fs::read_to_string(&path).unwrap();
        private(&path, &config.replace("status = \"left.sock\"", "user = \"nobody\""));
        let output = match in_own_mounts(&site, OCCUPIED) {
            Ok(output) => output,
            Err(why) => return skip(&why),
        };
        let (out, err) = (stdout(&output), stderr(&output));
        assert!(output.status.success() && out.starts_with("0\nprecious\n"), "{out}{err}");
        assert!(out.contains("there is no status socket"), "{out}");
    });
}

#[test]
fn a_hangup_reloads_the_peers() {
    with_namespaces(|| {
        let site = Site::new();
        let (left, _right) = (site.up(LEFT), site.up(RIGHT));
        site.connected();
        site.reach();
        let path = site.file("left.toml");
        let old = fs::read_to_string(&path).unwrap();
        let hangup = || kill(Pid::from_raw(left.child.id().try_into().unwrap()), Signal::SIGHUP).unwrap();
        // A peer is added, and the MTU, which needs a restart, is changed. The session with the other peer goes on.
        let key = stdout(&run(&["keys", "psk"]));
        let other =
            format!("[[peer]]\nname = \"other\"\npublic-key = \"{}\"\nallowed-ips = [\"10.99.0.0/16\"]\n", key.trim());
        private(
            &path,
            &old.replace("[interface]", "[interface]\nmtu = 1400").replace("[[peer]]", &format!("{other}[[peer]]")),
        );
        hangup();
        until("the new peer is there", || left.count("configuration reloaded peers=2") == 1);
        assert!(left.log().contains("peer added peer=other") && left.log().contains("setting=\"mtu"), "{}", left.log());
        let peers = json(&site.status(LEFT, &["--json"]))["peers"].clone();
        assert_eq!((&peers[0]["name"], &peers[1]["name"]), (&"right".into(), &"other".into()), "{peers}");
        let routes = || ip(&site.hosts[LEFT], &["route"]).unwrap();
        assert!(routes().contains("10.99.0.0/16 dev rip0"), "{}", routes());
        // A wrong file changes nothing.
        private(&path, "nonsense");
        hangup();
        until("the file is refused", || left.count("configuration not reloaded") == 1);
        // The first peer is removed, and comes back.
        private(&path, &old.replace("name = \"right\"", "name = \"east\""));
        hangup();
        until("the peer is gone", || left.count("peer removed peer=other") == 1);
        until("the route is gone", || !routes().contains("10.99.0.0"));
        site.reach();
        let peer = site.peer(LEFT);
        assert_eq!((&peer["name"], &peer["sessions"]), (&"east".into(), &1.into()), "{peer}");
    });
}

/// A new endpoint is checked as at the start: against the routes, and against the socket.
#[test]
fn a_hangup_checks_the_endpoints() {
    with_namespaces(|| {
        let site = Site::new();
        let path = site.file("left.toml");
        let old = fs::read_to_string(&path).unwrap();
        let old = old.replace("[interface]", "[interface]\nlisten = \"198.18.0.1:5182\"");
        let write = |endpoint: &str, more: &str| {
            let text = old.replace("\"fd77::2\"]", "\"fd77::2\", \"10.98.0.0/16\"]");
            private(&path, &(text.replace("198.18.0.2:5182", endpoint) + more));
        };
        write("198.18.0.2:5182", "");
        let left = site.up(LEFT);
        let reload = |count: usize| {
            kill(Pid::from_raw(left.child.id().try_into().unwrap()), Signal::SIGHUP).unwrap();
            until("the configuration is reloaded", || left.count("configuration reloaded") == count);
        };
        let has_route = || ip(&site.hosts[LEFT], &["route"]).unwrap().contains("10.98.0.0/16 dev rip0");
        assert!(has_route());
        // Datagrams to the new address would enter the tunnel.
        write("10.98.0.5:5182", "");
        reload(1);
        assert!(!has_route() && left.count("the peer at 10.98.0.5 lies inside the prefix") == 1, "{}", left.log());
        // The socket at an IPv4 address reaches no IPv6 address.
        let key = stdout(&run(&["keys", "psk"]));
        let other = format!(
            "[[peer]]\nname = \"other\"\npublic-key = \"{}\"\nallowed-ips = \"10.97.0.1\"\nendpoint = \"[fd00::9]:1\"\n",
            key.trim()
        );
        write("[fd00::8]:5182", &other);
        reload(2);
        assert!(has_route(), "{}", left.log());
        for peer in ["right", "other"] {
            let words = "no datagram can reach the peer: its address and this host's socket have different";
            let line = |line: &&str| line.contains(words) && line.contains(&format!("peer={peer}"));
            assert_eq!(left.log().lines().filter(line).count(), 1, "{}", left.log());
        }
    });
}

#[test]
fn a_device_taken_away_is_an_error() {
    with_namespaces(|| {
        let site = Site::new();
        let mut left = site.up(LEFT);
        // Another device takes the name, so the daemon cannot create its device again.
        let script = "ip link set rip0 name gone0 && ip tuntap add dev rip0 mode tap && ip link del gone0";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let output = site.hosts[LEFT].output(command).unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(left.child.wait().unwrap().code(), Some(1));
        assert!(left.log().contains("error: the tunnel failed"), "{}", left.log());
        assert!(!site.file("left.sock").exists());
    });
}

/// Writes a file that only its owner may read.
pub(crate) fn private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Changes the example configuration in one place. Returns the message of `ripstop up` about the changed configuration.
fn said(directory: &Path, from: &str, to: &str) -> String {
    let example =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/example.toml")).unwrap();
    assert!(example.contains(from), "{from}");
    let path = directory.join("test.toml");
    private(&path, &example.replace(from, to));
    let output = ripstop().arg("up").arg(&path).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn wrong_configurations_are_refused_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let cases = [
        ("# mtu = 1500", "mtu = 600", [":7: mtu: 600 is too small", "at least 640"]),
        ("# rate = \"fair\"", "rate = \"fast\"", ["rate: `fast` is not a rate", "20Mbit/s"]),
        ("# port = 5182", "prot = 5182", ["unknown field `prot`", "`port`"]),
        ("private-key = \"GG", "private-key = \"G", ["private-key: not a key", "`ripstop keys new`"]),
        ("private-key = \"", "# private-key = \"", ["no private-key", "`ripstop keys new`"]),
        ("# private-key-file = ", "private-key-file = ", ["private-key-file", "keep one of the two"]),
        ("[[peer]]", "[peer]", ["[[peer]]", "two brackets"]),
    ];
    for (from, to, words) in cases {
        let said = said(directory.path(), from, to);
        assert!(said.starts_with("error: ") && said.contains("test.toml:"), "{said}");
        for word in words {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
        assert!(!said.contains("ZpcnN0IGVuZ"), "a key is not repeated: {said}");
    }
    let output = run(&["up", "/no/such/file.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/no/such/file.toml: No such file"), "{}", stderr(&output));
}

#[test]
fn a_valid_configuration_is_summarised_with_its_warnings() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.toml");
    let example =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/example.toml")).unwrap();
    fs::write(&path, example).unwrap();
    let check = || ripstop().arg("up").arg(&path).arg("--check").output().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = check();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("other users have access") && stderr(&refused).contains("chmod 600"));
    let mut allowed = ripstop();
    let output = allowed.arg("up").arg(&path).args(["--check", "--allow-insecure-key"]).output().unwrap();
    assert!(output.status.success());
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(out.contains("is valid: rip0 with 10.77.0.1/24 and fd77::1/64, 2 peers, public key "), "{out}");
    assert!(err.contains("warning: ") && err.contains("chmod 600"), "{err}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let output = check();
    assert!(output.status.success() && !stderr(&output).contains("chmod"), "{}", stderr(&output));
}

#[test]
fn without_privilege_it_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.toml");
    let example =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/example.toml")).unwrap();
    private(&path, &example.replace("# port = 5182", "port = 0"));
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_ripstop"), "up"]).arg(&path);
    match command.output() {
        Ok(output) if !stderr(&output).contains("setpriv:") => {
            let words = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{words}");
            assert!(words.contains("starting the tunnel"), "{words}");
            assert!(words.contains("CAP_NET_ADMIN") || words.contains("/dev/net/tun is missing"), "{words}");
        }
        other => skip(&format!("setpriv: {other:?}")),
    }
}

#[test]
fn a_status_without_a_daemon_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("none.sock");
    let output = ripstop().args(["status", "--socket"]).arg(&socket).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("none.sock: is `ripstop up` running?"), "{}", stderr(&output));
    let output = run(&["status", "no-such-tunnel"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/run/ripstop/no-such-tunnel.sock"), "{}", stderr(&output));
}
