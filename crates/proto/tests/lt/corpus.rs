//! The committed inputs of the fuzz target `lt`, through the same body. This test needs no fuzzer.

#[path = "../../../../fuzz/bodies/lt.rs"]
mod body;

use std::path::Path;

#[test]
fn the_inputs_of_the_fuzz_target_keep_all_properties() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/lt");
    let inputs = std::fs::read_dir(&folder).expect("the committed inputs");
    let mut inputs: Vec<_> = inputs.map(|entry| entry.expect("an entry").path()).collect();
    inputs.sort();
    for input in &inputs {
        let data = std::fs::read(input).expect("an input");
        let run = std::panic::catch_unwind(|| body::run(&data));
        assert!(run.is_ok(), "{}", input.display());
    }
    assert!(inputs.len() > 100, "{} inputs", inputs.len());
}
