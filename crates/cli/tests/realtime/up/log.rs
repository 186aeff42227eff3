//! The log of `ripstop up`: whatever happens to standard error, traffic, reload and shutdown go on.

use super::site::{LEFT, RIGHT, Site, Up, until};
use crate::common::{json, with_namespaces};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader};
use std::process::Stdio;
use std::time::Instant;

/// Bytes of the smallest pipe.
const PIPE: i32 = 4096;

/// A left host whose standard error is `stderr`, and a right host with a usual log. Both are connected.
fn start(stderr: Stdio) -> (Site, Up, Up) {
    let site = Site::new();
    let left = site.up_with(LEFT, stderr);
    let right = site.up(RIGHT);
    site.connected();
    (site, left, right)
}

/// Reloads the left host's configuration, and waits until the new name of the peer is in use.
fn reload(site: &Site, left: &Up, name: &str) {
    let path = site.file("left.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| match line.starts_with("name = ") {
        true => format!("name = \"{name}\"\n"),
        false => format!("{line}\n"),
    });
    super::private(&path, &lines.collect::<String>());
    kill(Pid::from_raw(left.child.id().try_into().unwrap()), Signal::SIGHUP).unwrap();
    until("the new configuration is in use", || site.peer(LEFT)["name"] == name);
}

fn lost(site: &Site) -> u64 {
    json(&site.status(LEFT, &["--json"]))["log_lines_lost"].as_u64().unwrap()
}

/// Traffic flows, a reload takes effect, and the daemon ends with status 0.
fn goes_on(site: &Site, mut left: Up) {
    site.reach();
    reload(site, &left, "still-here");
    site.reach();
    assert_eq!(left.signal(Signal::SIGTERM).code(), Some(0));
    assert!(!site.has_device(LEFT));
}

/// A pipe with little room. Returns its reader, and its writer for a daemon.
fn small_pipe() -> (PipeReader, Stdio) {
    let (reader, writer) = std::io::pipe().unwrap();
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(PIPE)).unwrap();
    (reader, writer.into())
}

#[test]
fn a_full_disk_does_not_end_the_tunnel() {
    with_namespaces(|| {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (site, left, _right) = start(full.into());
        until("lost lines are counted", || lost(&site) >= 2);
        goes_on(&site, left);
    });
}

#[test]
fn a_log_whose_reader_has_ended_does_not_end_the_tunnel() {
    with_namespaces(|| {
        let (reader, writer) = small_pipe();
        drop(reader);
        let (site, left, _right) = start(writer);
        until("lost lines are counted", || lost(&site) >= 2);
        goes_on(&site, left);
    });
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_the_tunnel() {
    with_namespaces(|| {
        let (reader, writer) = small_pipe();
        let (site, left, _right) = start(writer);
        // Each reload logs at least one line of 60 bytes. More lines than the pipe holds.
        for n in 0..PIPE / 60 {
            reload(&site, &left, &format!("right-{n}"));
        }
        goes_on(&site, left);
        // The lines until the pipe was full are there.
        let lines: Vec<String> = BufReader::new(reader).lines().map(Result::unwrap).collect();
        assert!(lines[0].contains("INFO up device=rip0"), "{lines:?}");
        assert!(lines.len() > 20 && !lines.iter().any(|line| line.contains("closing")), "{lines:?}");
    });
}

#[test]
fn lost_lines_are_reported_when_the_log_is_read_again() {
    with_namespaces(|| {
        let (reader, writer) = small_pipe();
        let site = Site::new();
        let left = site.up_with(LEFT, writer);
        // The log quotes the wrong value, so few reloads fill the queue.
        let path = site.file("left.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let wrong = format!("[interface]\nmtu = \"{}\"", "x".repeat(20_000));
        super::private(&path, &text.replace("[interface]", &wrong));
        until("lines are lost", || {
            kill(Pid::from_raw(left.child.id().try_into().unwrap()), Signal::SIGHUP).unwrap();
            lost(&site) > 0
        });
        let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("WARN log lines were lost") && line.contains("lines=")));
    });
}

#[test]
fn a_peer_that_connects_again_and_again_fills_no_log() {
    with_namespaces(|| {
        let site = Site::new();
        let (began, left) = (Instant::now(), site.up(LEFT));
        const RESTARTS: u64 = 8;
        for n in 1..=RESTARTS {
            let mut right = site.up(RIGHT);
            until("a session begins", || {
                site.reach();
                site.peer(LEFT)["sessions"].as_u64() >= Some(n)
            });
            right.signal(Signal::SIGTERM);
        }
        // Five lines at once, then one in 10 s.
        let most = 5 + began.elapsed().as_secs() as usize / 10;
        assert!(left.count(" connected ") <= most, "{}", left.log());
    });
}

#[test]
fn a_closed_standard_error_does_not_end_the_tunnel() {
    with_namespaces(|| {
        let site = Site::new();
        // The shell closes the descriptors and becomes the daemon.
        let left = site.up_from_shell(LEFT, "exec \"$0\" \"$@\" >&- 2>&-");
        let _right = site.up(RIGHT);
        site.connected();
        goes_on(&site, left);
    });
}
