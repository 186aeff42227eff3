//! `acks = "seen"` on a host whose daemon is killed: the data that it keeps is gone.

use super::site::{LEFT, RIGHT, Site, until};
use crate::common::with_namespaces;
use nix::sys::signal::Signal;
use ripstop_net::os::ip::ip;
use ripstop_net::os::tcp::unacknowledged;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

#[test]
fn a_connection_whose_data_is_gone_is_reset_when_the_daemon_is_back() {
    with_namespaces(|| {
        let site = Site::new();
        let config = fs::read_to_string(site.file("left.toml")).unwrap();
        super::private(&site.file("left.toml"), &config.replace("[[peer]]", "acks = \"seen\"\n[[peer]]"));
        let (mut left, _right) = (site.up(LEFT), site.up(RIGHT));
        site.connected();
        let listener = site.hosts[RIGHT].run(|| TcpListener::bind("10.77.0.2:7000")).unwrap().unwrap();
        let mut sender = site.hosts[LEFT].run(|| TcpStream::connect("10.77.0.2:7000")).unwrap().unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        for stream in [&sender, &receiver] {
            stream.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        }
        sender.write_all(b"first").unwrap();
        receiver.read_exact(&mut [0; 5]).unwrap();
        until("the first bytes are acknowledged", || unacknowledged(&sender).unwrap() == 0);

        // The right host drops what comes through the tunnel, because there is no way back to its source.
        let right = &site.hosts[RIGHT];
        right.run(|| fs::write("/proc/sys/net/ipv4/conf/rip0/rp_filter", "1")).unwrap().unwrap();
        ip(right, &["route", "add", "blackhole", "10.77.0.1/32"]).unwrap();
        sender.write_all(&[7; 10_000]).unwrap();
        until("the data is acknowledged early", || unacknowledged(&sender).unwrap() == 0);
        left.signal(Signal::SIGKILL);
        ip(right, &["route", "del", "blackhole", "10.77.0.1/32"]).unwrap();
        let _again = site.up(LEFT);
        site.connected();
        sender.shutdown(Shutdown::Write).unwrap();
        let error = receiver.read(&mut [0; 100]).expect_err("a part of the stream is missing");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the receiver: {error}");
        let error = sender.read(&mut [0; 100]).expect_err("the data did not arrive");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the sender: {error}");
        assert_eq!(site.peer(LEFT)["early_acks"]["resets"], 1);
    });
}
