//! What `ripstop up` and its `--check` refuse before anything is opened.

use super::site::{LEFT, Site, until};
use super::{in_own_mounts, private};
use crate::common::{ripstop, run, skip, stderr, stdout, with_namespaces};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, chown, mkfifo};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A directory with a valid configuration, `a.toml`, and its key, `key`.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        let files = Files(tempfile::tempdir().unwrap());
        let made = ripstop().args(["keys", "new", "--out"]).arg(files.path("key")).output().unwrap();
        assert!(made.status.success());
        files.write("", "");
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes the configuration with these lines added to its sections.
    fn write(&self, interface: &str, peer: &str) {
        let other = stdout(&run(&["keys", "psk"]));
        let text = format!(
            "[interface]\nprivate-key-file = \"key\"\naddress = \"10.77.0.1/24\"\n{interface}\n[[peer]]\npublic-key = \"{}\"\n\
             allowed-ips = \"10.77.0.2\"\n{peer}\n",
            other.trim()
        );
        private(&self.path("a.toml"), &text);
    }

    fn check(&self) -> Output {
        ripstop().args(["up", "--check"]).arg(self.path("a.toml")).output().unwrap()
    }

    /// The message of a refusal.
    fn refused(&self) -> String {
        let output = self.check();
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
        stderr(&output)
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn settings_that_no_host_meets_are_refused_with_their_place() {
    let files = Files::new();
    let long = format!("/tmp/{}", "x".repeat(103));
    let cases = [
        ("user = \"no-such-user\"".to_owned(), ":4:8: user: this host has no user `no-such-user`"),
        ("status = \"none/a.sock\"".to_owned(), "none does not exist; run `mkdir -p"),
        ("status = \"key\"".to_owned(), "key exists and is not a socket"),
        (format!("status = \"{long}\""), ":4:10: status: the path has 108 bytes"),
        ("metrics = \"[fe80::1]:9482\"".to_owned(), ":4:11: metrics: `[fe80::1]:9482` is link-local and has no zone"),
        ("listen = \"10.77.0.1:5182\"".to_owned(), ":4:10: listen: this is the tunnel's own address"),
    ];
    for (line, words) in cases {
        files.write(&line, "");
        let said = files.refused();
        assert!(said.contains(words), "{line}: {said}");
        // The start refuses the same, with the same exit status: systemd must not try again.
        let output = ripstop().arg("up").arg(files.path("a.toml")).output().unwrap();
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{line}: {}", stderr(&output));
    }
    files.write("listen = \"198.18.0.1:5182\"", "endpoint = \"[2001:db8::1]:5182\"");
    let output = files.check();
    assert!(output.status.success() && stderr(&output).contains("warning: listen: "), "{}", stderr(&output));
}

#[test]
fn a_text_that_is_printed_has_no_control_characters() {
    let files = Files::new();
    for name in ["a\\nb", "a\\u001b[2Jb", "\\u202eb", " "] {
        files.write("", &format!("name = \"{name}\""));
        let said = files.refused();
        assert!(said.contains("a.toml:8:8: name: ") && said.contains("no control characters"), "{said}");
    }
    files.write("metrics = \"a\\u001b[2J\\nerror: b\"", "");
    let said = files.refused();
    assert!(said.contains("`a\\u{1b}[2J\\nerror: b` is not an address") && said.lines().count() == 1, "{said}");
    let output = ripstop().args(["up", "--check", "/no/such\x1b[2J"]).output().unwrap();
    assert!(stderr(&output).contains("/no/such\\u{1b}[2J: No such file"), "{}", stderr(&output));
}

#[test]
fn a_byte_order_mark_is_left_out_and_utf16_is_named() {
    let files = Files::new();
    for name in ["key", "a.toml"] {
        let text = fs::read_to_string(files.path(name)).unwrap();
        private(&files.path(name), &format!("\u{FEFF}{text}"));
        assert!(files.check().status.success(), "{name}");
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(files.path(name), [b"\xFF\xFE".to_vec(), utf16].concat()).unwrap();
        let said = files.refused();
        assert!(said.contains(name) && said.contains("the text is UTF-16; save it as UTF-8"), "{said}");
        private(&files.path(name), &text);
    }
    let shown = ripstop().args(["keys", "show"]).arg(files.path("key")).output().unwrap();
    private(&files.path("key"), &format!("\u{FEFF}{}", fs::read_to_string(files.path("key")).unwrap()));
    let again = ripstop().args(["keys", "show"]).arg(files.path("key")).output().unwrap();
    assert!(shown.status.success() && stdout(&shown) == stdout(&again));
}

#[test]
fn files_that_others_can_change_are_refused() {
    let files = Files::new();
    mode(&files.path("a.toml"), 0o666);
    let said = files.refused();
    assert!(said.contains("other users may change") && said.contains("run `chmod go-w"), "{said}");
    mode(&files.path("a.toml"), 0o644);
    assert!(files.check().status.success(), "a configuration without a key may be read by all");
    mode(files.0.path(), 0o777);
    let output = files.check();
    assert!(output.status.success() && stderr(&output).contains("other users may replace"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1);
    mode(files.0.path(), 0o700);
    if chown(&files.path("key"), Some(Uid::from_raw(4321)), None).is_err() {
        return skip("only root can give a file away");
    }
    let said = files.refused();
    assert!(said.contains("holds a secret key, and belongs to the user 4321; run `chown root "), "{said}");
    let allowed = ripstop().args(["up", "--check", "--allow-insecure-key"]).arg(files.path("a.toml")).output().unwrap();
    assert!(allowed.status.success() && stderr(&allowed).contains("warning: "), "{}", stderr(&allowed));
    // The owner has started the program with sudo.
    let by_owner =
        ripstop().args(["up", "--check"]).arg(files.path("a.toml")).env("SUDO_UID", "4321").output().unwrap();
    assert!(by_owner.status.success(), "{}", stderr(&by_owner));
}

#[test]
fn a_pipe_is_refused_without_waiting() {
    let files = Files::new();
    for name in ["key", "a.toml"] {
        fs::remove_file(files.path(name)).unwrap();
        mkfifo(&files.path(name), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        let said = files.refused();
        assert!(said.contains("this is a pipe, not a regular file"), "{said}");
        let shown = ripstop().args(["keys", "show"]).arg(files.path(name)).output().unwrap();
        assert!(shown.status.code() == Some(2) && stderr(&shown).contains("a pipe"), "{}", stderr(&shown));
    }
    let output = ripstop().args(["up", "--check", "/dev/zero"]).output().unwrap();
    assert!(stderr(&output).contains("/dev/zero: this is a device"), "{}", stderr(&output));
}

#[test]
fn a_hangup_does_not_wait_for_a_pipe() {
    with_namespaces(|| {
        let site = Site::new();
        let mut left = site.up(LEFT);
        fs::remove_file(site.file("left.toml")).unwrap();
        mkfifo(&site.file("left.toml"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        kill(Pid::from_raw(left.child.id().try_into().unwrap()), Signal::SIGHUP).unwrap();
        until("the pipe is refused", || left.count("configuration not reloaded") == 1);
        assert_eq!(left.signal(Signal::SIGTERM).code(), Some(0), "{}", left.log());
    });
}

/// A script that switches IPv6 off and keeps it off, as in a container, and starts a daemon.
const WITHOUT_IPV6: &str = r#"
mount -o bind /proc/sys /proc/sys || exit 77
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 || exit 77
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || exit 77
mount -o remount,bind,ro /proc/sys || exit 77
exec "$0" up "$1"
"#;

#[test]
fn ipv6_switched_off_is_named() {
    with_namespaces(|| {
        let site = Site::new();
        match in_own_mounts(&site, WITHOUT_IPV6) {
            Err(why) => skip(&why),
            Ok(output) => {
                let said = stderr(&output);
                assert_eq!(output.status.code(), Some(1), "{said}");
                for words in ["IPv6 is switched off here", "fd77::1/64", "net.ipv6.conf.all.disable_ipv6=0", "--sysctl"]
                {
                    assert!(said.contains(words), "no `{words}` in: {said}");
                }
            }
        }
    });
}
