//! Code that all namespace tests share. This code obtains the privilege that a test needs, or reports that the test was
//! skipped.

use ripstop_net::os::netns::{self, Namespace};
use ripstop_net::os::tun::{Tun, TunConfig};
use std::io::Write;
use std::process::Command;

/// Runs `body` where network namespaces and TUN devices can be created: in this process, or in a new process inside a
/// user namespace, which runs only the calling test. If neither is allowed, the test is skipped.
pub(crate) fn with_namespaces(body: impl FnOnce()) {
    const INSIDE: &str = "RIPSTOP_TEST_INSIDE";
    if netns::is_privileged() {
        return match Namespace::create("probe") {
            Ok(probe) => match Tun::open(&probe, &TunConfig::default()) {
                Ok(_) => body(),
                Err(error) => skip(&error.to_string()),
            },
            Err(error) => skip(&error.to_string()),
        };
    }
    if std::env::var_os(INSIDE).is_some() {
        return skip("a user namespace gives no privilege here");
    }
    let mut command = Command::new(std::env::current_exe().expect("the test has a path"));
    let test = test_name();
    command.args([&test, "--exact", "--nocapture"]).env(INSIDE, "1");
    match netns::in_user_namespace(&mut command).status() {
        Ok(status) => assert!(status.success(), "{test} failed inside a user namespace: {status}"),
        Err(error) => skip(&format!("user namespaces are not allowed: {error}")),
    }
}

/// Writes to standard error that the calling test could not run, in a line that starts with `SKIPPED`. With
/// `RIPSTOP_REQUIRE_NAMESPACES` set, a skip is a failure.
pub(crate) fn skip(reason: &str) {
    let (test, reason) = (test_name(), reason.trim());
    assert!(std::env::var_os("RIPSTOP_REQUIRE_NAMESPACES").is_none(), "{test} could not run: {reason}");
    // The text is written to the stream directly, because the test harness captures `println!`.
    let _ = std::io::stderr().write_all(format!("\nSKIPPED {test}: {reason}\n").as_bytes());
}

/// The full name of the calling test. The test harness runs each test in a thread of this name.
fn test_name() -> String {
    std::thread::current().name().expect("the thread of a test has a name").to_owned()
}
