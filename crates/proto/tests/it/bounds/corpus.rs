//! The bodies of the fuzz targets, with random inputs, and with committed inputs where there are some. These tests need no
//! fuzzer, and keep the targets compiling.

#[path = "../../../../../fuzz/bodies/body.rs"]
mod body;
#[path = "../../../../../fuzz/bodies/decoder.rs"]
mod decoder;
#[path = "../../../../../fuzz/bodies/endpoint.rs"]
mod endpoint;
#[path = "../../../../../fuzz/bodies/feedback.rs"]
mod feedback;
#[path = "../../../../../fuzz/bodies/handshake.rs"]
mod handshake;
#[path = "../../../../../fuzz/bodies/inner.rs"]
mod inner;
#[path = "../../../../../fuzz/bodies/kinds.rs"]
mod kinds;
#[path = "../../../../../fuzz/bodies/tunnel.rs"]
mod tunnel;

use ripstop_proto::wire::{Kind, SymbolKind};
use std::collections::BTreeSet;
use std::path::Path;

/// Runs `body` on the inputs in the folder `target`.
fn replay<T>(target: &str, body: fn(&[u8]) -> T) -> Vec<T> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let inputs = std::fs::read_dir(&folder).expect("the committed inputs");
    let mut inputs: Vec<_> = inputs.map(|entry| entry.expect("an entry").path()).collect();
    inputs.sort();
    assert!(inputs.len() > 50, "{} inputs", inputs.len());
    let run = |input: &std::path::PathBuf| {
        let data = std::fs::read(input).expect("an input");
        let run = std::panic::catch_unwind(|| body(&data));
        run.unwrap_or_else(|_| panic!("{}", input.display()))
    };
    inputs.iter().map(run).collect()
}

/// Checks that the inputs reach what packets of each of `kinds` cause. A new type byte, or another form of a body, would
/// otherwise make the inputs useless.
fn assert_accepted(accepted: &[BTreeSet<u8>], kinds: &[Kind]) {
    for kind in kinds {
        let inputs = accepted.iter().filter(|accepted| accepted.contains(&kind.byte())).count();
        println!("{kind:?}: accepted in {inputs} inputs");
        assert!(inputs > 0, "no input has an acceptable {kind:?}");
    }
}

/// The kinds of packets that the inputs bring to sessions.
const KINDS: [Kind; 11] = [
    Kind::Source(SymbolKind::Packet),
    Kind::RepairBySeed,
    Kind::RepairExplicit,
    Kind::Report,
    Kind::PathReport,
    Kind::SymbolReport,
    Kind::Window,
    Kind::Probe,
    Kind::Close,
    Kind::Source(SymbolKind::Piece),
    Kind::RepairOfBlock,
];

/// Runs `body` on inputs of random bytes.
fn random<T>(body: fn(&[u8]) -> T) {
    for run in 0..200 {
        let mut random = ripstop_base::Seed::new(9).run(run).stream("input");
        let mut data = vec![0; random.below(600) as usize];
        random.fill(&mut data);
        // Short events reach deeper than long ones.
        data.iter_mut().skip(3).step_by(7).for_each(|byte| *byte %= 16);
        let outcome = std::panic::catch_unwind(|| body(&data));
        assert!(outcome.is_ok(), "run {run}");
    }
}

#[test]
fn the_decoder_keeps_all_properties() {
    random(decoder::run);
    replay("decoder", decoder::run);
}

#[test]
fn the_tunnel_keeps_all_properties() {
    random(tunnel::run);
    let accepted = replay("tunnel", tunnel::run);
    assert_accepted(&accepted, &KINDS);
}

#[test]
fn the_endpoint_keeps_all_properties() {
    random(endpoint::run);
    let accepted = replay("endpoint", endpoint::run);
    assert_accepted(&accepted, &KINDS);
    assert_accepted(&accepted, &[Kind::Challenge, Kind::Answer]);
}

#[test]
fn the_parsers_keep_all_properties() {
    [body::run, feedback::run, handshake::run, inner::run].into_iter().for_each(random);
}
