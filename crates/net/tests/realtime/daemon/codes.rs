//! `code = "block"` with the kernel's own TCP inside.

use super::hosts::{Pair, lossy, noise};
use super::inside::connected;
use crate::common::with_namespaces;
use ripstop_net::daemon::SessionStatus;
use ripstop_net::os::tcp::retransmits;
use std::io::{Read, Write};

/// Transfers 2 MB from the left host to the right host. Returns how many segments TCP has sent again, and the sessions.
/// The rate is fixed, so that only the link's random losses remain.
fn transfer(code: &str) -> (u64, [SessionStatus; 2]) {
    let pair = Pair::raise(&lossy(0.03), 1500, &format!("rate = \"20Mbit/s\"\ncode = {code}"));
    let (mut sender, mut receiver) = connected(&pair);
    let content = noise("code", 2_000_000);
    let again = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            sender.write_all(&content).unwrap();
            sender.shutdown(std::net::Shutdown::Write).unwrap();
            // The end of the other direction comes when the receiver has all.
            assert_eq!(sender.read(&mut [0]).unwrap(), 0);
            retransmits(&sender).unwrap()
        });
        let mut got = Vec::new();
        receiver.read_to_end(&mut got).unwrap();
        assert!(got == content, "{} of {} bytes, or they differ", got.len(), content.len());
        drop(receiver);
        sending.join().unwrap()
    });
    (again, [pair.left.session(), pair.right.session()])
}

#[test]
fn a_block_code_hides_losses_from_tcp() {
    with_namespaces(|| {
        let (plain, [sender, receiver]) = transfer("{ block = { k = 16, n = 16 } }");
        assert_eq!((sender.block_n, sender.repairs_sent.values().sum::<u64>()), (Some(16), 0), "{sender:?}");
        assert_eq!((receiver.received.recovered, receiver.received.repairs), (0, 0), "{receiver:?}");
        let (coded, [sender, receiver]) = transfer("{ block = { k = 16, n = 24 } }");
        assert!(receiver.received.recovered > 20, "{receiver:?}");
        let sent = &sender.repairs_sent;
        assert!(sent["block"] > 200 && sent["exact"] + sent["bulk"] + sent["interactive"] == 0, "{sent:?}");
        // A busy host delays packets, and TCP then sends some again that were not lost.
        assert!(coded < plain, "TCP has sent {plain} segments again without repairs, and {coded} with repairs");
        // N follows the measured loss.
        let (_, [sender, receiver]) = transfer("\"block\"");
        assert!(receiver.received.recovered > 0 && sender.block_n > Some(16), "{sender:?}");
    });
}
