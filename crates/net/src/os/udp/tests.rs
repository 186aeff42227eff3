//! Sockets on loopback.

use super::*;
use std::os::fd::AsRawFd;

/// Sends datagrams of these sizes over loopback. The first byte of each datagram is its number.
fn round_trip(listen: &str, sizes: &[usize]) -> (Vec<Vec<u8>>, Udp, Udp) {
    let mut from = Udp::bind(listen.parse().unwrap()).unwrap();
    let mut to = Udp::bind(listen.parse().unwrap()).unwrap();
    let address = to.local_addr().unwrap();
    let mut batch = DatagramBatch::default();
    for (i, size) in sizes.iter().enumerate() {
        batch.room()[..*size].fill(i as u8);
        if !batch.push(address, *size, true, from.segments()) {
            assert_eq!(from.send(&mut batch), SendOutcome::All);
        }
    }
    while !batch.is_empty() {
        assert_eq!(from.send(&mut batch), SendOutcome::All);
    }
    let (mut got, mut buffers) = (Vec::new(), ReceiveBuffers::default());
    let here = from.local_addr().unwrap();
    while to
        .receive(&mut buffers, |sender, bytes, reception| {
            assert_eq!((sender, reception.ce), (here, false));
            got.push(bytes.to_vec());
            true
        })
        .is_ok()
    {}
    (got, from, to)
}

/// Receives until nothing is left, and returns the number of datagrams.
fn receive_all(to: &mut Udp, buffers: &mut ReceiveBuffers) -> usize {
    let mut got = 0;
    let mut take = |_: SocketAddr, _: &mut [u8], _: Reception| {
        got += 1;
        true
    };
    while to.receive(buffers, &mut take).is_ok() {}
    got
}

#[test]
fn batches_arrive_as_they_were_gathered() {
    let sizes: Vec<usize> = [vec![1400; 100], vec![700, 1400, 1400, 900, 1, 65_000, 1400], vec![1400; 3]].concat();
    let (got, from, to) = round_trip("127.0.0.1:0", &sizes);
    let wanted: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(i, n)| vec![i as u8; *n]).collect();
    assert!(got == wanted, "{:?}", got.iter().map(Vec::len).collect::<Vec<_>>());
    let (sent, received) = (from.counters(), to.counters());
    assert_eq!((sent.sent, sent.sent_bytes), (sizes.len() as u64, sizes.iter().sum::<usize>() as u64));
    assert_eq!((received.received, received.received_bytes), (sent.sent, sent.sent_bytes));
    if from.segments() > 1 {
        assert!(sent.segmented > 100 && sent.send_calls < 12, "{sent:?}");
    }
}

#[test]
fn ipv4_peers_of_a_dual_socket_show_as_ipv4() {
    let mut dual = Udp::bind_any(0).unwrap();
    let port = dual.local_addr().unwrap().port();
    let mut four = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut batch = DatagramBatch::default();
    batch.room()[..5].copy_from_slice(b"hello");
    batch.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), 5, false, 1);
    assert_eq!(four.send(&mut batch), SendOutcome::All);
    let mut seen = None;
    let mut buffers = ReceiveBuffers::default();
    dual.receive(&mut buffers, |from, bytes, _| {
        seen = Some((from, bytes.to_vec()));
        true
    })
    .unwrap();
    let (from, bytes) = seen.unwrap();
    assert_eq!((from, &bytes[..]), (four.local_addr().unwrap(), &b"hello"[..]));
    // The answer goes to the IPv4 address that the dual-stack socket showed.
    batch.push(from, 5, false, 1);
    assert_eq!(dual.send(&mut batch), SendOutcome::All);
    assert_eq!(four.receive(&mut buffers, |_, _, _| true).unwrap(), Received { datagrams: 1, bytes: 5, full: false });
}

#[test]
fn a_socket_reaches_the_families_that_it_serves() {
    let reached = |listen: &str| {
        let socket = Udp::bind(listen.parse().unwrap()).unwrap();
        ["192.0.2.1:1", "[::ffff:192.0.2.1]:1", "[2001:db8::1]:1"].map(|to| socket.reaches(&to.parse().unwrap()))
    };
    assert_eq!(reached("127.0.0.1:0"), [true, false, false]);
    assert_eq!(reached("[::]:0"), [true; 3]);
    // A socket at one IPv6 address cannot send to IPv4.
    assert_eq!(reached("[::1]:0"), [false, false, true]);
}

#[test]
fn the_kernel_stamps_arrivals() {
    let mut to = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut from = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (mut batch, mut buffers) = (DatagramBatch::default(), ReceiveBuffers::default());
    let (wait, mut measured, mut sent) = (Duration::from_millis(20), Duration::ZERO, 0);
    // The kernel begins to stamp arrivals a moment after the first socket asks for stamps. Until then it stamps the
    // datagram when it is read.
    while measured < wait && sent < 50 {
        batch.push(to.local_addr().unwrap(), 5, false, 1);
        assert_eq!(from.send(&mut batch), SendOutcome::All);
        std::thread::sleep(wait);
        to.receive(&mut buffers, |_, _, reception| {
            measured = reception.waited;
            true
        })
        .unwrap();
        sent += 1;
    }
    assert!(measured >= wait, "{measured:?} after {sent} datagrams");
    assert!((1..=sent).contains(&to.counters().stamped), "{:?}", to.counters());
}

#[test]
fn a_stamp_from_another_time_counts_as_no_wait() {
    let now = Duration::from_secs(1_000);
    assert_eq!(waited(now, Some(now - Duration::from_millis(7))), Duration::from_millis(7));
    for stamp in [None, Some(Duration::ZERO), Some(now + Duration::from_millis(1))] {
        assert_eq!(waited(now, stamp), Duration::ZERO, "{stamp:?}");
    }
}

#[test]
fn too_large_datagrams_are_counted_and_harmless() {
    let mut socket = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let here = socket.local_addr().unwrap();
    let mut batch = DatagramBatch::default();
    assert!(!batch.push(here, MAX_DATAGRAM, false, 1));
    assert_eq!(socket.send(&mut batch), SendOutcome::All);
    assert_eq!((socket.counters().too_large, socket.counters().sent), (1, 0));
    let mut buffers = ReceiveBuffers::default();
    let nothing = socket.receive(&mut buffers, |_, _, _| true).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
}

/// Switches an option of the socket on.
fn switch_on(socket: &Udp, level: libc::c_int, option: libc::c_int) {
    #[allow(unsafe_code, reason = "neither nix nor socket2 has these options")]
    // SAFETY: the option's value is an integer that lives until the call returns.
    let outcome = unsafe {
        let one: libc::c_int = 1;
        let value = (&raw const one).cast();
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, value, size_of_val(&one) as u32)
    };
    assert_eq!(outcome, 0);
}

/// Sends three datagrams together.
fn send_three(from: &mut Udp, to: SocketAddr) -> SendOutcome {
    let mut batch = DatagramBatch::default();
    for _ in 0..3 {
        batch.push(to, 100, true, 64);
    }
    from.send(&mut batch)
}

#[test]
fn a_refused_destination_does_not_switch_gso_off() {
    let mut from = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut to = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let before = from.segments();
    // The kernel refuses port 0 with EINVAL: three datagrams together, and one alone.
    let nowhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    assert_eq!(send_three(&mut from, nowhere), SendOutcome::All);
    let mut batch = DatagramBatch::default();
    batch.push(nowhere, 100, true, 1);
    assert_eq!(from.send(&mut batch), SendOutcome::All);
    assert_eq!((from.counters().refused, from.counters().sent, from.segments()), (4, 0, before));
    // The next datagrams leave together, and the one after them has ECN.
    let (here, calls) = (to.local_addr().unwrap(), from.counters().send_calls);
    assert_eq!(send_three(&mut from, here), SendOutcome::All);
    assert_eq!(from.counters().sent, 3);
    if before > 1 {
        assert_eq!(from.counters().send_calls, calls + 1);
    }
    let mut buffers = ReceiveBuffers::default();
    assert_eq!(receive_all(&mut to, &mut buffers), 3);
    batch.push(here, 100, true, 1);
    assert_eq!(from.send(&mut batch), SendOutcome::All);
    assert_eq!(receive_all(&mut to, &mut buffers), 1);
    assert_eq!(buffers.meta[0].ecn, Some(EcnCodepoint::Ect0));
}

#[test]
fn a_socket_without_gso_is_noticed() {
    let mut from = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut to = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // The kernel refuses GSO on a socket without checksums, with EINVAL.
    switch_on(&from, libc::SOL_SOCKET, libc::SO_NO_CHECK);
    assert_eq!(send_three(&mut from, to.local_addr().unwrap()), SendOutcome::All);
    assert_eq!((from.counters().sent, from.counters().refused, from.segments()), (3, 0, 1));
    assert_eq!(receive_all(&mut to, &mut ReceiveBuffers::default()), 3);
}

/// Sends 20 datagrams of 1000 bytes and one of 500 together, with this mark.
fn send_marked(from: &Udp, to: SocketAddr, ecn: Option<EcnCodepoint>) {
    let contents: Vec<u8> = (0..20_500).map(|at| (at / 1000) as u8).collect();
    let transmit = Transmit { destination: to, ecn, contents: &contents, segment_size: Some(1000), src_ip: None };
    from.state.try_send((&from.socket).into(), &transmit).unwrap();
}

/// Receives the datagrams of [`send_marked`], and checks all that does not depend on the mark. Returns what their
/// receptions have in common.
fn receive_marked(to: &mut Udp, buffers: &mut ReceiveBuffers, sender: SocketAddr) -> Reception {
    let before = to.counters();
    let mut got = Vec::new();
    let received = to
        .receive(buffers, |from, datagram, reception| {
            assert_eq!((from, datagram.len()), (sender, if got.len() == 20 { 500 } else { 1000 }));
            assert!(datagram.iter().all(|byte| usize::from(*byte) == got.len()));
            got.push(reception);
            true
        })
        .unwrap();
    assert_eq!(received, Received { datagrams: 21, bytes: 20_500, full: false });
    assert!(got.windows(2).all(|pair| pair[0] == pair[1]), "{got:?}");
    // One buffer held all of them, and the kernel had room for all that it says about them.
    let after = to.counters();
    assert_eq!((after.receive_calls, after.coalesced), (before.receive_calls + 1, before.coalesced + 21));
    assert_eq!(buffers.meta[0].stride, 1000);
    assert_eq!(after.control_truncated, 0);
    got[0]
}

/// Datagrams that arrive in one buffer come with their mark, the address that they were sent to, and the time of their
/// arrival. Each needs a control message besides that of the datagrams' size.
fn coalesced_datagrams_keep_all(listen: &str, from: &str, called: &str) {
    let mut to = Udp::bind(listen.parse().unwrap()).unwrap();
    let from = Udp::bind(from.parse().unwrap()).unwrap();
    let (sender, called): (_, IpAddr) = (from.local_addr().unwrap(), called.parse().unwrap());
    let address = SocketAddr::new(called, to.local_addr().unwrap().port());
    let mut buffers = ReceiveBuffers::default();
    let (wait, mut measured, mut sent) = (Duration::from_millis(20), Duration::ZERO, 0);
    // Until the kernel begins to stamp arrivals, it stamps the datagrams when they are read.
    while measured < wait && sent < 50 {
        for ecn in [Some(EcnCodepoint::Ce), Some(EcnCodepoint::Ect0), None, Some(EcnCodepoint::Ect1)] {
            send_marked(&from, address, ecn);
            if ecn.is_none() {
                std::thread::sleep(wait);
            }
            let reception = receive_marked(&mut to, &mut buffers, sender);
            assert_eq!((reception.ce, buffers.meta[0].ecn), (ecn == Some(EcnCodepoint::Ce), ecn));
            assert_eq!(buffers.meta[0].local.map(|local| local.to_canonical()), Some(called));
            if ecn.is_none() {
                measured = reception.waited;
            }
            sent += 1;
        }
    }
    assert!((wait..LONGEST_WAIT).contains(&measured), "{measured:?} after {sent} batches");
    assert_eq!(to.counters().stamped, sent * 21);
    if let Some(locals) = &mut to.locals {
        assert_eq!(locals.of(&sender), Some(called));
    }
}

#[test]
fn coalesced_datagrams_keep_all_on_an_ipv4_socket() {
    coalesced_datagrams_keep_all("0.0.0.0:0", "127.0.0.1:0", "127.0.0.2");
}

#[test]
fn coalesced_datagrams_keep_all_on_a_dual_stack_socket() {
    coalesced_datagrams_keep_all("[::]:0", "127.0.0.1:0", "127.0.0.2");
    coalesced_datagrams_keep_all("[::]:0", "[::1]:0", "::1");
}

#[test]
fn coalesced_datagrams_keep_all_on_an_ipv6_socket() {
    coalesced_datagrams_keep_all("[::1]:0", "[::1]:0", "::1");
}

/// One call fills several buffers, and each has its own sender and mark.
#[test]
fn each_buffer_has_its_own_mark() {
    let mut to = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let from: Vec<Udp> = (0..RECEIVE_BUFFERS + 1).map(|_| Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap()).collect();
    let is_marked = |number: usize| number % 3 == 1;
    for (number, from) in from.iter().enumerate() {
        let ecn = is_marked(number).then_some(EcnCodepoint::Ce);
        send_marked(from, to.local_addr().unwrap(), ecn);
    }
    let (mut got, mut buffers) = (0, ReceiveBuffers::default());
    for full in [true, false] {
        let received = to.receive(&mut buffers, |sender, _, reception| {
            let number = got / 21;
            assert_eq!((sender, reception.ce), (from[number].local_addr().unwrap(), is_marked(number)));
            got += 1;
            true
        });
        assert_eq!(received.unwrap().full, full);
    }
    assert_eq!(got, 21 * from.len());
}

/// The kernel cuts off the last control messages if they have no room, and says so.
#[test]
fn truncated_control_data_is_counted() {
    let mut to = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let from = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // Two messages of 24 and 32 bytes more. The second one follows the ECN field.
    switch_on(&to, libc::IPPROTO_IP, libc::IP_RECVTTL);
    switch_on(&to, libc::IPPROTO_IP, libc::IP_RECVORIGDSTADDR);
    send_marked(&from, to.local_addr().unwrap(), Some(EcnCodepoint::Ce));
    let mut marked = 0;
    to.receive(&mut ReceiveBuffers::default(), |_, _, reception| {
        marked += u64::from(reception.ce);
        true
    })
    .unwrap();
    assert_eq!((to.counters().control_truncated, marked), (21, 21));
}
