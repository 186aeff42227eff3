//! What was searched by programs: the degree distributions of the optimised code, and where the
//! repairs of the systematic code start.

#[cfg(doc)]
use super::LtCode;
use super::MAX_BLOCK;

/// The degrees that are possible, each with its weight. The weights sum up to [`WEIGHTS`].
type Degrees = &'static [(u8, u8)];

/// The degree distributions of [`LtCode::Optimised`] for blocks of 8 and more symbols. A table is for blocks of up to the given
/// number of symbols. The entries of a table are degrees with their weights, in units of 1/64. The
/// tables are part of the wire format and never change.
///
/// They have the least mean degree for which the mean overhead is at most .05 symbols above that of
/// a random code over GF(2). The command `cargo run --release -p ripstop-codes --example
/// lt-degrees` computes them. An excess of .025 instead of .05 would cost .4 neighbours per symbol
/// at K = 16 and .6 at K = 64; an excess of .1 would save as much.
pub const DEGREES: [(usize, Degrees); 13] = [
    (8, &[(1, 4), (2, 13), (3, 20), (4, 17), (5, 9), (6, 1)]),
    (10, &[(1, 2), (2, 6), (3, 14), (4, 19), (5, 16), (6, 7)]),
    (12, &[(1, 1), (2, 3), (3, 9), (4, 17), (5, 19), (6, 12), (7, 3)]),
    (14, &[(2, 2), (3, 6), (4, 13), (5, 20), (6, 18), (7, 5)]),
    (16, &[(2, 1), (3, 3), (4, 10), (5, 20), (6, 22), (7, 8)]),
    (20, &[(3, 1), (4, 5), (5, 15), (6, 27), (7, 16)]),
    (24, &[(4, 2), (5, 9), (6, 26), (7, 27)]),
    (28, &[(5, 4), (6, 20), (7, 40)]),
    (32, &[(6, 9), (7, 55)]),
    (40, &[(7, 41), (8, 23)]),
    (48, &[(5, 9), (6, 29), (7, 2), (11, 24)]),
    (56, &[(4, 3), (5, 15), (6, 2), (7, 12), (10, 16), (11, 16)]),
    (64, &[(6, 24), (7, 20), (9, 1), (12, 3), (13, 16)]),
];

/// For each number K of source symbols, where the repairs of [`LtCode::Systematic`] start: the seed
/// s > K has the draws of seed s + `REPAIRS[K]`. The table is part of the wire format and never
/// changes.
///
/// All blocks of K symbols have the same repairs in the same order, so repairs that complement each
/// other can come first. The starts have the least mean overhead at losses from 5 to 39 %. Compared
/// with other repairs in each block, the overhead is 25 % smaller at K = 8, 17 % at K = 16 and 2 % at
/// K = 64. The command `cargo run --release -p ripstop-codes --example lt-repairs` computes the
/// table.
#[rustfmt::skip]
pub const REPAIRS: [u8; MAX_BLOCK + 1] = [
    0, 0, 56, 240, 68, 201, 164, 130, 217, 42, 145, 38, 66, 132, 129, 192,
    146, 81, 12, 59, 12, 78, 77, 108, 105, 253, 195, 29, 103, 189, 238, 168,
    103, 23, 32, 71, 183, 22, 17, 235, 78, 91, 91, 221, 198, 87, 204, 203,
    202, 193, 236, 90, 115, 197, 98, 90, 237, 228, 207, 253, 252, 171, 82, 115,
    115,
];

/// The sum of the weights of a table. It is part of the wire format. Half the value would cost up
/// to .04 neighbours per symbol; double the value would save less than .01.
pub(super) const WEIGHTS: usize = 64;

/// The smallest block that has a table. Smaller blocks have so few possible symbols that all of
/// them are equally likely. Half the value would need tables for blocks of 4 to 7 symbols. They
/// would save .5 neighbours of 3.5. Double the value would cost 3 neighbours of 8 at K = 15.
pub(super) const SMALLEST: usize = 8;

/// The degrees for blocks of `k` symbols, each as often as its weight says; None below
/// [`SMALLEST`].
pub(super) fn degrees(k: usize) -> Option<[u8; WEIGHTS]> {
    let table = DEGREES.iter().position(|(most, _)| k <= *most)?;
    (k >= SMALLEST).then_some(REPEATED[table])
}

/// [`DEGREES`] with each degree as often as its weight says.
const REPEATED: [[u8; WEIGHTS]; DEGREES.len()] = {
    let mut repeated = [[0; WEIGHTS]; DEGREES.len()];
    let mut table = 0;
    while table < DEGREES.len() {
        let (mut entry, mut end) = (0, 0);
        while entry < DEGREES[table].1.len() {
            let (degree, weight) = DEGREES[table].1[entry];
            let start = end;
            end += weight as usize;
            let mut at = start;
            while at < end {
                repeated[table][at] = degree;
                at += 1;
            }
            entry += 1;
        }
        table += 1;
    }
    repeated
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_degrees() {
        for k in SMALLEST..=MAX_BLOCK {
            // The weights sum up, so no degree is 0.
            let degrees = degrees(k).unwrap();
            assert!(degrees.iter().all(|degree| (1..=k).contains(&usize::from(*degree))), "K = {k}: {degrees:?}");
            // Symbols of even degrees alone never decode a block.
            assert!(degrees.iter().any(|degree| degree % 2 == 1));
            let (_, listed) = DEGREES.iter().find(|(most, _)| k <= *most).unwrap();
            for (degree, weight) in *listed {
                assert_eq!(degrees.iter().filter(|d| *d == degree).count(), usize::from(*weight), "K = {k}");
            }
        }
        assert_eq!(degrees(SMALLEST - 1), None);
    }
}
