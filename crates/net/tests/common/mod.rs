//! What the namespace tests share: getting the privilege they need, or saying aloud that they
//! could not run.

use ripstop_net::os::netns::{self, Namespace};
use ripstop_net::os::tun::{Tun, TunConfig};
use std::io::Write;
use std::process::Command;

/// Runs `body` where network namespaces and TUN devices in them can be made: here, or in a process of its own inside a user
/// namespace (then `test` must be the full name of the calling test). Where neither is allowed the
/// test is skipped: a line that begins with `SKIPPED` says so on stderr, past the test harness. With
/// `RIPSTOP_REQUIRE_NAMESPACES` set, a skip is a failure.
pub(crate) fn with_namespaces(test: &str, body: impl FnOnce()) {
    const INSIDE: &str = "RIPSTOP_TEST_INSIDE";
    if netns::is_privileged() {
        return match Namespace::create("probe") {
            Ok(probe) => match Tun::open(&probe, &TunConfig::default()) {
                Ok(_) => body(),
                Err(error) => skip(test, &error.to_string()),
            },
            Err(error) => skip(test, &error.to_string()),
        };
    }
    if std::env::var_os(INSIDE).is_some() {
        return skip(test, "a user namespace gives no privilege here");
    }
    let mut command = Command::new(std::env::current_exe().expect("the test has a path"));
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    match netns::in_user_namespace(&mut command).status() {
        Ok(status) => assert!(status.success(), "{test} failed inside a user namespace: {status}"),
        Err(error) => skip(test, &format!("user namespaces are not allowed: {error}")),
    }
}

fn skip(test: &str, reason: &str) {
    assert!(std::env::var_os("RIPSTOP_REQUIRE_NAMESPACES").is_none(), "{test} could not run: {reason}");
    // Written to the stream itself: the test harness would swallow a `println!`.
    let _ = std::io::stderr().write_all(format!("\nSKIPPED {test}: {reason}\n").as_bytes());
}
