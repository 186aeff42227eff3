//! The decoder by hand: small cases whose answers can be worked out.

use super::*;
use crate::Symbol;
use crate::window::Encoder;

fn symbol(byte: u8) -> Symbol {
    Symbol::from_slice(&[byte; 5])
}

fn drain(decoder: &mut Decoder<Symbol>) -> Vec<(u64, u8)> {
    std::iter::from_fn(|| decoder.poll_decoded()).map(|(id, p)| (id, p.as_slice()[0])).collect()
}

/// Paper 000, fig. 1: p1+p2+p3 arrives, p1+2p2+p3 is lost, p1+2p2+2p3 arrives. Every arrival makes one
/// packet more *seen*, whatever was lost.
#[test]
fn figure_1_of_paper_000() {
    let mut encoder = Encoder::new(1);
    for byte in [11, 22, 33] {
        encoder.push(symbol(byte));
    }
    let members = Members::range(1..4);
    let mut decoder = Decoder::new(1, Limits::default());
    let receive = |decoder: &mut Decoder<Symbol>, coefficients: [u8; 3]| {
        let payload = encoder.explicit(&members, &coefficients).unwrap();
        decoder.repair(&members, &Coding::Explicit(coefficients.to_vec()), payload)
    };

    assert_eq!(receive(&mut decoder, [1, 1, 1]), Arrival::Innovative);
    assert!(decoder.is_seen(1) && !decoder.is_seen(2) && !decoder.is_decoded(1));
    assert_eq!((decoder.next_unseen(), decoder.next_undecoded(), decoder.deficit()), (2, 1, 2));

    // p1 + 2 p2 + p3 is lost.
    assert_eq!(receive(&mut decoder, [1, 2, 2]), Arrival::Innovative);
    assert!(decoder.is_seen(2) && !decoder.is_seen(3) && !decoder.is_decoded(2));
    assert_eq!((decoder.next_unseen(), decoder.deficit()), (3, 1));
    assert_eq!(decoder.unseen().collect::<Vec<_>>(), [3]);
    // The two differ by a multiple of p2 + p3, which the figure does not mention: p1 is determined.
    assert_eq!(drain(&mut decoder), [(1, 11)]);
    assert_eq!((decoder.rows(), decoder.next_undecoded()), (1, 2));
    assert_eq!(receive(&mut decoder, [1, 7, 7]), Arrival::Redundant);

    assert_eq!(receive(&mut decoder, [1, 2, 1]), Arrival::Innovative);
    assert_eq!(drain(&mut decoder), [(2, 22), (3, 33)]);
    assert_eq!((decoder.next_unseen(), decoder.next_undecoded(), decoder.deficit()), (4, 4, 0));
}
