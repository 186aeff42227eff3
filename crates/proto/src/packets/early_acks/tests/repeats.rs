//! Segments that the early acknowledgements send again for the local TCP.

use super::*;

#[test]
fn losses_behind_the_peer_are_repaired() {
    let mut open = Opened::new(Seg::default());
    for n in 0..5 {
        open.data(1001 + 1000 * n, 1000);
    }
    open.see(ms(10), &[]);
    open.early().unwrap();
    for n in 0..3 {
        assert_eq!(open.acks.poll_remote(), None, "after {n} duplicates");
        assert_eq!(open.remote(ms(20 + n), Seg::new(9001, 1001, 100, 0)), None);
    }
    let (again, data) = read(&open.acks.poll_remote().expect("the first segment"));
    assert_eq!((again.sequence_number, data.len()), (1001, 1000));
    assert!(data.iter().enumerate().all(|(at, byte)| *byte == byte_at(1001 + at as u32)));
    assert_eq!(open.acks.poll_remote(), None);
    // A partial acknowledgement sends the next ones.
    open.remote(ms(40), Seg::new(9001, 2001, 100, 0));
    let again: Vec<u32> = std::iter::from_fn(|| open.acks.poll_remote()).map(|s| read(&s).0.sequence_number).collect();
    assert_eq!(again, [2001, 3001]);
    open.remote(ms(60), Seg::new(9001, 6001, 100, 0));
    assert_eq!(open.acks.poll_remote(), None);
    assert_eq!((open.acks.counts().resent, open.acks.bytes()), (3, 0));
}

#[test]
fn a_repeated_segment_has_the_newest_acknowledgement_and_timestamps() {
    for v6 in [false, true] {
        let mut open = Opened::new(Seg { v6, ..Seg::default() });
        assert!(open.send(Seg::new(1001, 9001, 500, 1000).time(50, 5)));
        // The option may stand anywhere, and SACK blocks are old by now.
        let sack = TcpOptionElement::SelectiveAcknowledgement((9801, 9901), [None; 3]);
        let options = vec![TcpOptionElement::Noop, sack, TcpOptionElement::Noop];
        assert!(open.send(Seg { options, ..Seg::new(2001, 9001, 500, 1000) }.time(51, 5)));
        open.see(ms(10), &[]);
        open.early().unwrap();
        assert!(open.send(Seg::new(3001, 9801, 400, 0).time(77, 66)));
        open.acks.new_session(ms(20), Duration::from_millis(40));
        for seq in [1001, 2001] {
            let (again, data) = read(&open.acks.poll_remote().expect("both segments"));
            assert_eq!((again.sequence_number, data.len(), data[0]), (seq, 1000, byte_at(seq)));
            assert_eq!((again.acknowledgment_number, again.window_size), (9801, 400));
            let options: Vec<_> = again.options_iterator().filter(|o| *o != Ok(TcpOptionElement::Noop)).collect();
            assert_eq!(options, [Ok(TcpOptionElement::Timestamp(77, 66))]);
        }
    }
}

/// A short packet carries an exact gap behind it. The packet that is sent again must not carry the old gap.
#[test]
fn a_repeated_segment_has_no_old_gap() {
    let mut open = Opened::new(Seg::default());
    let seg = Seg::new(1001, 9001, 500, 1000).time(50, 5);
    assert!(open.acks.take_local(&seg.packet(true)));
    let mut symbol = seg.symbol(true);
    symbol.set_gap(Gap::exact(300));
    assert_eq!(symbol.len(), seg.symbol(true).len() + Gap::TRAILER);
    open.acks.sent(0, &symbol);
    open.next_id = 1;
    open.see(ms(10), &[]);
    assert_eq!(open.early().expect("the segment is kept").acknowledgment_number, 2001);
    open.acks.new_session(ms(20), Duration::from_millis(40));
    let mut again = open.acks.poll_remote().unwrap();
    again.set_gap(Gap::exact(7));
    assert_eq!((again.gap(), again.meta().map(|meta| meta.len)), (Gap::exact(7), Some(seg.packet(true).len() as u32)));
}

/// Data of the remote TCP is lost and sent again. The local TCP discards an acknowledgement with an older TSval than it
/// has seen by then.
#[test]
fn an_early_acknowledgement_has_the_newest_timestamp() {
    let mut open = Opened::new(Seg::default());
    // The data from 9001 to 9101 is lost at first.
    open.remote(ms(5), Seg::new(9101, 1001, 100, 100).time(20, 1)).unwrap();
    open.remote(ms(6), Seg::new(9001, 1001, 100, 100).time(30, 1)).unwrap();
    assert!(open.send(Seg::new(1001, 9201, 500, 0).time(60, 30)));
    open.remote(ms(7), Seg::new(9201, 1001, 100, 100).time(40, 1)).unwrap();
    open.data(1001, 1000);
    open.see(ms(10), &[]);
    let early = open.early().unwrap();
    let times = early.options_iterator().find_map(|option| match option {
        Ok(TcpOptionElement::Timestamp(value, _)) => Some(value),
        _ => None,
    });
    assert_eq!((early.sequence_number, times), (9301, Some(40)));
}

#[test]
fn without_progress_segments_are_repeated_and_then_the_connection_is_reset() {
    let mut open = Opened::new(Seg::default());
    open.data(1001, 1000);
    open.see(ms(10), &[]);
    open.early().unwrap();
    let (mut now, mut repeated) = (ms(10), Vec::new());
    while open.acks.counts().resets == 0 {
        now = now.max(open.acks.poll_timeout().expect("a time-out"));
        open.acks.handle_timeout(now, Some(Duration::from_millis(100)));
        while let Some(packet) = open.acks.poll_remote() {
            repeated.push((now.since(ms(10)).as_secs_f64(), read(&packet).0));
        }
    }
    assert!((100.0..101.0).contains(&now.since(ms(10)).as_secs_f64()), "{now:?}");
    let times: Vec<f64> = repeated.iter().map(|(at, _)| *at).collect();
    assert!(times[0] >= 1.0 && times[1] >= times[0] + 2.0 && (10..=20).contains(&times.len()), "{times:?}");
    let to_remote = repeated.pop().unwrap().1;
    assert!(to_remote.rst && to_remote.sequence_number == 1001, "what the remote TCP expects next: {to_remote:?}");
    let to_local = open.early().unwrap();
    assert!(to_local.rst && to_local.sequence_number == 9001, "what the local TCP expects next: {to_local:?}");
    assert_eq!(open.acks.poll_reset().unwrap().local.port(), LOCAL);
    assert_eq!((open.acks.bytes(), open.acks.poll_timeout()), (0, None));
    // Whatever comes later is answered.
    assert!(!open.send(Seg::new(2001, 9050, 500, 10)));
    assert!(open.early().unwrap().sequence_number == 9050);
    assert_eq!(open.remote(now, Seg::new(9001, 1501, 100, 10)), None);
    assert_eq!(read(&open.acks.poll_remote().unwrap()).0.sequence_number, 1501);
    open.acks.new_session(now, Duration::ZERO);
    assert!(read(&open.acks.poll_remote().unwrap()).0.rst, "the old session may have lost the first one");
    // The ports can be used again.
    assert!(open.send(Seg::syn(70_000, None)));
    assert!(open.remote(now, Seg::syn(80_000, Some(70_001))).unwrap().syn);
}

#[test]
fn a_new_session_repeats_what_is_not_acknowledged() {
    let mut open = Opened::new(Seg::default());
    for n in 0..3 {
        open.data(1001 + 1000 * n, 1000);
    }
    open.see(ms(10), &[2]);
    open.early().unwrap();
    open.remote(ms(20), Seg::new(9001, 2001, 100, 0));
    open.acks.new_session(ms(30), Duration::from_millis(40));
    let again: Vec<u32> = std::iter::from_fn(|| open.acks.poll_remote()).map(|s| read(&s).0.sequence_number).collect();
    assert_eq!(again, [2001, 3001]);
    // Numbers of the old session mean nothing now.
    open.next_id = 3;
    open.see(ms(40), &[]);
    assert!(open.early().is_none());
}

/// A peer begins a hundred sessions within a second. The stored segments are sent again at once, and one second later.
#[test]
fn many_new_sessions_repeat_once_a_second() {
    let mut open = Opened::new(Seg::default());
    for n in 0..3 {
        open.data(1001 + 1000 * n, 1000);
    }
    open.see(ms(10), &[]);
    open.early().unwrap();
    let repeated = |open: &mut Opened| std::iter::from_fn(|| open.acks.poll_remote()).count();
    open.acks.new_session(ms(20), Duration::from_millis(500));
    assert_eq!(repeated(&mut open), 3);
    for n in 0..100 {
        open.acks.new_session(ms(30 + 9 * n), Duration::from_millis(500));
    }
    assert_eq!(repeated(&mut open), 0);
    let srtt = Some(Duration::from_millis(500));
    (100..=101).for_each(|n| open.acks.handle_timeout(ms(10 * n), srtt));
    assert!(repeated(&mut open) == 0 && open.acks.poll_timeout().is_some_and(|at| at <= ms(1_020)));
    open.acks.handle_timeout(ms(1_020), srtt);
    assert_eq!(repeated(&mut open), 3, "the last session may have lost them");
    open.acks.handle_timeout(ms(1_030), srtt);
    assert_eq!(repeated(&mut open), 0);
}
