//! A net below the store: simulates a sample of the stored results again, and compares.
//!
//! A stored result counts as long as the code of the parts that it used is the same. If the table of parts is wrong, a
//! change of the code may leave an outdated result valid. A sample finds that.

use crate::cell::{CellKey, hexadecimal};
use crate::error::LabResult;
use crate::merge::compared;
use ripstop_base::Seed;

/// Whether a sample with this `seed`, which takes about the `share` of all results, takes the result with this key.
pub fn is_drawn(key: &CellKey, share: f64, seed: u64) -> bool {
    Seed::new(seed).stream(&hexadecimal(key)).unit() < share
}

/// Whether two results of one cell are equal, apart from what depends on the machine.
///
/// # Errors
/// A text is not valid JSON.
pub fn are_equal(stored: &str, again: &str) -> LabResult<bool> {
    Ok(stored == again || compared(stored)? == compared(again)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_and_depends_on_the_seed() {
        let keys: Vec<CellKey> = (0..2000_u16).map(|k| crate::cell::hash_of(&[&k.to_string()])).collect();
        let drawn = |share: f64, seed: u64| keys.iter().filter(|key| is_drawn(key, share, seed)).collect::<Vec<_>>();
        assert!((60..140).contains(&drawn(0.05, 1).len()), "{}", drawn(0.05, 1).len());
        assert_ne!(drawn(0.05, 1), drawn(0.05, 2));
        assert_eq!((drawn(0.0, 1).len(), drawn(1.0, 1).len()), (0, keys.len()));
    }

    #[test]
    fn only_what_depends_on_the_machine_may_differ() {
        let result = |goodput: u32, wall: u32| format!("{{\"goodput_bps\":{goodput},\"wall_s\":{wall}}}");
        assert!(are_equal(&result(1, 1), &result(1, 2)).unwrap());
        assert!(!are_equal(&result(1, 1), &result(2, 1)).unwrap());
        assert!(are_equal("{", "}").is_err());
    }
}
