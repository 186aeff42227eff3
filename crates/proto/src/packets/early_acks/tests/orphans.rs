//! Connections that an earlier process of this end has answered early.

use super::*;

/// The remote TCP expects 5001, and the local TCP has forgotten everything before 9001.
fn round(acks: &mut EarlyAcks, local: Seg, wanted: u32) {
    assert!(acks.take_local(&local.packet(true)), "the tunnel carries the segment");
    assert!(acks.take_remote(ms(0), &mut Seg::new(70_001, wanted, 100, 0).symbol(false)));
}

#[test]
fn a_connection_whose_data_is_gone_is_reset_on_both_sides() {
    for last in [Seg::new(9001, 70_001, 500, 1000), Seg { fin: true, ..Seg::new(9001, 70_001, 500, 0) }] {
        let mut acks = EarlyAcks::default();
        for n in 0..3 {
            round(&mut acks, last.clone(), 5001);
            assert_eq!((acks.poll_local(), acks.poll_remote()), (None, None), "after {n} repetitions");
        }
        round(&mut acks, last.clone(), 5001);
        let [local, remote] = [acks.poll_local(), acks.poll_remote()].map(|rst| read(&rst.expect("a RST")).0);
        assert!(local.rst && remote.rst);
        assert_eq!((local.sequence_number, remote.sequence_number), (70_001, 5001), "what each TCP expects next");
        assert!(acks.poll_reset().is_some());
        assert_eq!(acks.counts().resets, 1);
    }
}

/// A TCP that has the data sends it first, however often it sends later data too.
#[test]
fn a_connection_that_repairs_itself_is_left_alone() {
    let mut acks = EarlyAcks::default();
    for _ in 0..10 {
        round(&mut acks, Seg::new(9001, 70_001, 500, 1000), 5001);
        round(&mut acks, Seg::new(5001, 70_001, 500, 1000), 5001);
    }
    // The remote TCP makes progress each time, or asks for what the local TCP repeats.
    let mut acks = [acks, EarlyAcks::default()];
    for n in 0..10 {
        round(&mut acks[1], Seg::new(9001 + 1000 * n, 70_001, 500, 1000), 9001 + 1000 * n);
        round(&mut acks[1], Seg::new(9001 + 1000 * n, 70_001, 500, 1000), 9001 + 1000 * n);
    }
    for acks in &mut acks {
        assert_eq!((acks.poll_local(), acks.poll_remote(), acks.counts().resets), (None, None, 0));
    }
}

/// Acknowledgements without data are no repetitions.
#[test]
fn a_receiver_of_data_is_left_alone() {
    let mut acks = EarlyAcks::default();
    for n in 0..100 {
        assert!(acks.take_local(&Seg::new(9001, 70_001 + n, 500, 0).packet(true)));
        assert!(acks.take_remote(ms(0), &mut Seg::new(70_001 + n, 5001, 100, 1000).symbol(false)));
    }
    assert_eq!(acks.counts().resets, 0);
}

#[test]
fn the_memory_for_unknown_connections_is_bounded() {
    let mut acks = EarlyAcks::default();
    for port in 0..3000 {
        assert!(acks.take_local(&Seg { port, ..Seg::new(9001, 70_001, 500, 1000) }.packet(true)));
        assert!(acks.orphans.len() <= 1024);
    }
}
