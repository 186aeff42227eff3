//! Code that all namespace tests share. This code obtains the privilege that a test needs, or reports that the test was
//! skipped.

use ripstop_net::os::netns::{self, Namespace};
use ripstop_net::os::tun::{Tun, TunConfig};
use std::io::Write;
use std::process::Command;

/// Runs `body` where network namespaces and TUN devices can be created: in this process, or in a new process inside a
/// user namespace. In the second case `test` must be the full name of the calling test. If neither is allowed, the test
/// is skipped, and a line starting with `SKIPPED` appears on stderr. With `RIPSTOP_REQUIRE_NAMESPACES` set, a skip is a
/// failure.
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
    // The text is written to the stream directly, because the test harness captures `println!`.
    let _ = std::io::stderr().write_all(format!("\nSKIPPED {test}: {reason}\n").as_bytes());
}
