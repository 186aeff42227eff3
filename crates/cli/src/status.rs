//! `ripstop status`: shows the state of a running tunnel.

use crate::failure::{Failure, Outcome};
use crate::output::{self, Table, or_dash};
use clap::Args;
use ripstop_base::text::printable;
use ripstop_net::daemon::{
    ClassRedundancy, DaemonPeerStatus, DaemonStatus, STATUS_DIRECTORY, SessionStatus, StatusSocket,
};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Show the state of a running tunnel
///
/// Asks the daemon over the daemon's status socket. Only the daemon's user and root may use this socket. Without
/// NAME, the command asks the only tunnel that runs on this host.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// Name of the tunnel's device [default: the device of the only running tunnel]
    #[arg(value_name = "NAME", conflicts_with = "socket")]
    name: Option<String>,
    /// Path of the status socket: the value of `status` in the tunnel's configuration
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print the daemon's answer, one JSON object (docs/schemas/status.schema.json)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ripstop status
  ripstop status rip1
  ripstop status --json | jq '.peers[].session.srtt_s'";

/// The longest wait for the daemon's answer. The answer usually comes within milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest number of bytes that are read as an answer. An answer about ten thousand peers is far shorter.
const MAX_ANSWER: u64 = 1 << 26;

/// The estimated rate of the path is shown only while this host sends at least this share of it. An end that only
/// receives sends little, and cannot know the rate. With half the value, the rate is shown to more ends that cannot know
/// it. With double the value, it is hidden from ends with pauses.
const LEAST_USE: f64 = 0.1;

/// Runs the command.
///
/// # Errors
/// There is no daemon, the daemon does not answer, or the name is wrong.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let path = match (&flags.socket, &flags.name) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) if name.is_empty() || name.contains('/') => {
            return Err(Failure::flag("NAME", format!("`{name}` is not a device name; write for example `rip0`")));
        }
        (None, Some(name)) => named(Path::new(STATUS_DIRECTORY), name),
        (None, None) => only_one(Path::new(STATUS_DIRECTORY))?,
    };
    let answer = ask(&path)?;
    let strange = |error| Failure::work(format!("reading the answer from {}", path.display()), error);
    if flags.json {
        // The answer is printed unchanged, because the fields of the answer depend on the daemon's version.
        serde_json::from_str::<serde::de::IgnoredAny>(&answer).map_err(strange)?;
        return output::print(&format!("{}\n", answer.trim_end()));
    }
    let status: DaemonStatus = serde_json::from_str(&answer).map_err(strange)?;
    output::print(&table(&status))
}

/// The socket in `directory` of the tunnel with the device `name`. The file's name may be another one than the device's,
/// if the configuration sets the path. If no tunnel answers with this name, this is the default path of the socket.
fn named(directory: &Path, name: &str) -> PathBuf {
    let sockets = in_use(directory);
    sockets
        .into_iter()
        .find(|path| device(path).as_deref() == Some(name))
        .unwrap_or_else(|| StatusSocket::default_path(name))
}

/// The name of the device of the tunnel that answers at this socket.
fn device(socket: &Path) -> Option<String> {
    let answer = ask(socket).ok()?;
    serde_json::from_str::<DaemonStatus>(&answer).ok().map(|status| status.interface.name)
}

/// The sockets in `directory` at which a daemon listens.
fn in_use(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sockets: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        // A killed daemon leaves its socket behind.
        .filter(
            |path| !matches!(UnixStream::connect(path), Err(error) if error.kind() == io::ErrorKind::ConnectionRefused),
        )
        .collect();
    sockets.sort();
    sockets
}

/// The socket in `directory` that is in use, if there is exactly one.
fn only_one(directory: &Path) -> Outcome<PathBuf> {
    let sockets = in_use(directory);
    match &sockets[..] {
        [one] => Ok(one.clone()),
        [] => Err(Failure::Work(format!(
            "no tunnel answers in {}: is `ripstop up` running? If the tunnel's configuration sets `status`, give this \
             path with --socket",
            directory.display()
        ))),
        many => {
            let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let names: Vec<_> = many.iter().filter_map(|path| device(path).or_else(|| stem(path))).collect();
            Err(Failure::Usage(format!("several tunnels run here; name one of them: {}", names.join(", "))))
        }
    }
}

fn ask(path: &Path) -> Outcome<String> {
    let shown = path.display();
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Work(format!(
            "there is no status socket {shown}: is `ripstop up` running? If the tunnel's configuration sets `status`, \
             give this path with --socket"
        )),
        io::ErrorKind::ConnectionRefused => {
            Failure::Work(format!("no daemon answers at {shown}: the tunnel has ended; start it with `ripstop up`"))
        }
        io::ErrorKind::PermissionDenied => Failure::Work(format!(
            "only the owner of {shown} may use this socket; run `ripstop status` as the user who runs the tunnel, or \
             as root"
        )),
        _ => Failure::work(format!("asking {shown}"), error),
    })?;
    let mut answer = String::new();
    stream
        .set_read_timeout(Some(ANSWER_TIMEOUT))
        .and_then(|()| (&mut stream).take(MAX_ANSWER).read_to_string(&mut answer))
        .map_err(|error| Failure::work(format!("waiting for an answer from {shown}"), error))?;
    match answer.is_empty() {
        true => Err(Failure::Work(format!("the tunnel at {shown} has just ended"))),
        false => Ok(answer),
    }
}

fn table(status: &DaemonStatus) -> String {
    let interface = &status.interface;
    let mut text = format!(
        "{}: port {}, MTU {} B, up {}, CPU {}\npublic key {}\n\n",
        printable(&interface.name),
        interface.port,
        interface.mtu_bytes,
        age(interface.uptime_s),
        output::time(interface.cpu_s),
        printable(&interface.public_key)
    );
    let mut table = Table::titled([
        "peer",
        "state",
        "since",
        "heard",
        "endpoint",
        "RTT",
        "sends",
        "receives",
        "rate",
        "loss to",
        "from",
        "burst",
        "overhead",
        "recovered",
        "wasted",
        "queue",
        "MTU",
    ]);
    for peer in &status.peers {
        table.row(row(peer));
    }
    text.push_str(&table.render());
    text.push_str(&redundancy(status));
    let dropped: Vec<String> = status
        .rejected
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    if !dropped.is_empty() {
        text.push_str(&format!("\ndatagrams dropped on arrival: {}\n", dropped.join(", ")));
    }
    text.push_str(&restored(status));
    text
}

/// What other programs have changed on the device. Empty if they have changed nothing.
fn restored(status: &DaemonStatus) -> String {
    let device = &status.device.restored;
    let counts = [
        ("created again", device.recreated),
        ("brought up", device.brought_up),
        ("MTUs", device.mtu),
        ("addresses", device.addresses),
        ("routes", device.routes),
    ];
    let words: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what} {count}")).collect();
    let mut text = String::new();
    if !words.is_empty() {
        text.push_str(&format!("\nrestored after changes of the device by other programs: {}\n", words.join(", ")));
    }
    if device.refused > 0 {
        text.push_str(&format!("\nprefixes without a route, see the log: {}\n", device.refused));
    }
    text
}

fn row(peer: &DaemonPeerStatus) -> Vec<String> {
    let session = peer.session.as_ref();
    let of = |show: fn(&SessionStatus) -> String| or_dash(session, show);
    vec![
        peer.name.clone(),
        state(peer).to_owned(),
        or_dash(peer.connected_s, age),
        or_dash(peer.last_heard_s, age),
        endpoint(peer),
        of(|s| output::time(s.srtt_s)),
        or_dash(session, |_| output::rate(peer.sending_bps)),
        or_dash(session, |_| output::rate(peer.receiving_bps)),
        or_dash(session.filter(|s| peer.sending_bps >= LEAST_USE * s.bandwidth_bps), |s| output::rate(s.bandwidth_bps)),
        of(|s| percent(s.loss_to_peer)),
        or_dash(session.and_then(|s| s.loss_from_peer), percent),
        of(|s| format!("{:.1}", s.mean_burst_packets)),
        or_dash(session.and_then(|s| s.overhead), percent),
        of(|s| s.received.recovered.to_string()),
        of(|s| s.sent.peer_redundant.to_string()),
        of(|s| output::bytes(s.queue_bytes as f64)),
        peer.mtu_bytes.to_string(),
    ]
}

/// The peer's address. Before an address is known, this is the name in the configuration.
fn endpoint(peer: &DaemonPeerStatus) -> String {
    match (&peer.endpoint, &peer.configured_endpoint) {
        (Some(address), _) => address.clone(),
        (None, Some(name)) => format!("{name} (not resolved)"),
        (None, None) => or_dash(None::<()>, |()| String::new()),
    }
}

/// Why each session has its redundancy. Empty without a session. What is known of an unreachable peer is no longer true.
fn redundancy(status: &DaemonStatus) -> String {
    let mut table =
        Table::titled(["peer", "class", "R", "loss", "burst", "target", "packets", "repairs", "overhead", "limit"]);
    let mut words = String::new();
    for peer in status.peers.iter().filter(|peer| !peer.unreachable) {
        let Some(redundancy) = peer.session.as_ref().map(|session| &session.redundancy) else { continue };
        let (to, from) = (&redundancy.to_peer, &redundancy.from_peer);
        let name = printable(&peer.name);
        for (class_name, class) in [("interactive", &to.interactive), ("bulk", &to.bulk)] {
            table.row(class_row(&peer.name, class_name, class));
            words.push_str(&format!("to {name}, {class_name}: {}\n", class.explanation));
        }
        words.push_str(&format!("from {name}: {}\n", from.explanation));
    }
    match words.is_empty() {
        true => String::new(),
        false => format!("\nredundancy\n{}\n{words}", table.render()),
    }
}

fn class_row(peer: &str, name: &str, class: &ClassRedundancy) -> Vec<String> {
    let overhead = (class.counts.bytes > 0).then(|| class.counts.repair_bytes as f64 / class.counts.bytes as f64);
    vec![
        peer.to_owned(),
        name.to_owned(),
        format!("{:.2}", class.r),
        percent(class.expected_loss),
        format!("{:.1}", class.mean_burst_packets),
        or_dash(class.residual_loss_target, percent),
        class.counts.packets.to_string(),
        class.counts.repairs.to_string(),
        or_dash(overhead, percent),
        class.limit.to_string(),
    ]
}

/// The state of the peer, in one word.
fn state(peer: &DaemonPeerStatus) -> &'static str {
    match peer {
        _ if peer.unreachable => "unreachable",
        _ if peer.connected && peer.silent => "silent",
        _ if peer.connected => "connected",
        _ if peer.counts.sessions > 0 => "closed",
        _ => "waiting",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A long time in its two largest units: `3d 4h`.
fn age(seconds: f64) -> String {
    let s = seconds.max(0.0) as u64;
    match s {
        0..60 => format!("{s}s"),
        60..3_600 => format!("{}min {}s", s / 60, s % 60),
        3_600..86_400 => format!("{}h {}min", s / 3_600, s / 60 % 60),
        _ => format!("{}d {}h", s / 86_400, s / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn ages_have_two_units() {
        assert_eq!([5.9, 61.0, 7_500.0, 270_000.0, -1.0].map(age), ["5s", "1min 1s", "2h 5min", "3d 3h", "0s"]);
    }

    #[test]
    fn the_only_tunnel_needs_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let words = |outcome: Outcome<PathBuf>| match outcome.unwrap_err() {
            Failure::Work(words) | Failure::Usage(words) => words,
            other => panic!("{other:?}"),
        };
        assert!(words(only_one(directory.path())).contains("ripstop up"));
        // The socket of a killed daemon.
        drop(UnixListener::bind(directory.path().join("dead.sock")).unwrap());
        assert!(words(only_one(directory.path())).contains("--socket"));
        // A daemon that ends while it is asked: its answer is empty. Without an answer, `device` waits for seconds.
        let listener = |name: &str| {
            let listener = UnixListener::bind(directory.path().join(name)).unwrap();
            let other = listener.try_clone().unwrap();
            std::thread::spawn(move || while other.accept().is_ok() {});
            listener
        };
        let one = listener("rip0.sock");
        assert_eq!(only_one(directory.path()).unwrap(), directory.path().join("rip0.sock"));
        let _two = listener("rip1.sock");
        assert!(words(only_one(directory.path())).contains("rip0, rip1"));
        std::fs::remove_file(directory.path().join("rip0.sock")).unwrap();
        drop(one);
        assert_eq!(only_one(directory.path()).unwrap(), directory.path().join("rip1.sock"));
    }
}
