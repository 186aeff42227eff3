//! The TCP receiver: what it acknowledges, and when.

use ripstop_sim::tcp::{Reassembly, Receiver};

fn acks(receiver: &mut Receiver, numbers: &[u64]) -> Vec<Option<u64>> {
    numbers.iter().map(|n| receiver.on_packet(*n).map(|ack| ack.next)).collect()
}

#[test]
fn packets_out_of_order_are_kept_and_reported() {
    let mut receiver = Receiver::new(Reassembly::Buffer, 1);
    assert_eq!(acks(&mut receiver, &[0, 2, 3, 6, 1, 1, 5, 4]), [1, 1, 1, 1, 4, 4, 4, 7].map(Some));
    assert_eq!((receiver.in_order(), receiver.duplicates()), (7, 1));
    receiver.on_packet(9);
    receiver.on_packet(12);
    let ack = receiver.on_packet(10).unwrap();
    assert_eq!(ack.blocks().collect::<Vec<_>>(), [9..11, 12..13]);
}

#[test]
fn go_back_n_drops_packets_out_of_order() {
    let mut receiver = Receiver::new(Reassembly::GoBackN, 1);
    assert_eq!(acks(&mut receiver, &[0, 2, 1, 2]), [1, 1, 2, 3].map(Some));
}

#[test]
fn disorder_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(Reassembly::Buffer, 2);
    assert_eq!(acks(&mut receiver, &[0, 1, 2, 3, 5, 4, 6]), [Some(1), None, Some(3), None, Some(4), Some(6), None]);
    assert_eq!(receiver.flush().map(|ack| ack.next), Some(7));
    assert_eq!(receiver.flush(), None);
}

#[test]
fn a_copy_of_the_last_packet_may_wait_for_its_acknowledgement() {
    // ns-2's sink treats the copy as a packet in order, because an immediate answer would be a duplicate
    // acknowledgement.
    let mut receiver = Receiver::new(Reassembly::Buffer, 2);
    assert_eq!(acks(&mut receiver, &[0, 1, 2, 2, 3]), [Some(1), None, Some(3), None, Some(4)]);
    // The rule does not hold in two cases: after a gap, and for the SYN.
    assert_eq!(acks(&mut receiver, &[5, 3]), [Some(4), Some(4)]);
    let mut receiver = Receiver::new(Reassembly::Buffer, 2);
    assert_eq!(acks(&mut receiver, &[0, 0]), [Some(1), Some(1)]);
}

#[test]
fn three_blocks_are_kept_and_the_newest_comes_first() {
    let mut receiver = Receiver::new(Reassembly::Buffer, 1);
    let mut blocks = |number| -> Vec<(u64, u64)> {
        receiver.on_packet(number).unwrap().blocks().map(|block| (block.start, block.end)).collect()
    };
    blocks(0);
    blocks(2);
    blocks(4);
    blocks(6);
    assert_eq!(blocks(8), [(8, 9), (6, 7), (4, 5)]);
    // First a copy of a packet in a known run arrives, then a copy of a packet whose run was dropped.
    assert_eq!(blocks(4), [(4, 5), (8, 9), (6, 7)]);
    assert_eq!(blocks(2), [(2, 3), (4, 5), (8, 9)]);
    // The run grows in both directions. In one direction it absorbs a run that was dropped.
    assert_eq!(blocks(7), [(6, 9), (2, 3), (4, 5)]);
    // An acknowledged run is no longer a block.
    assert_eq!(blocks(1), [(6, 9), (4, 5)]);
    assert_eq!(blocks(3), [(6, 9)]);
}

/// A mark is echoed in every acknowledgement until a packet with the flag CWR arrives (RFC 3168, section 6.1.3).
#[test]
fn marks_are_echoed_until_the_sender_has_reacted() {
    let mut receiver = Receiver::new(Reassembly::Buffer, 2);
    let mut echo = |number, marked, reduced| {
        receiver.on_ecn(marked, reduced);
        receiver.on_packet(number).map(|ack| ack.echo)
    };
    assert_eq!([echo(0, false, false), echo(1, false, false), echo(2, false, false)], [Some(false), None, Some(false)]);
    assert_eq!(echo(3, true, false), Some(true), "the first echo is not delayed");
    assert_eq!([echo(4, true, false), echo(5, false, false)], [None, Some(true)]);
    assert_eq!([echo(6, false, true), echo(7, false, false)], [None, Some(false)]);
    // A packet may have both: the sender has reacted to old marks, and the packet met new congestion.
    assert_eq!(echo(8, true, true), Some(true));
    assert_eq!(receiver.marked(), 3);
}
