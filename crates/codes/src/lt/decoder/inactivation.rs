//! Inactivation decoding on masks: a plan how to compute all missing source symbols.
//!
//! 1. *Peel.* A received symbol with one active neighbour gives this neighbour, which is then no
//!    longer active. If there is no such symbol, the active source symbol with the most occurrences
//!    becomes *inactive*: it counts as known from now on, and its value follows later.
//! 2. *Eliminate.* A received symbol that gave no source symbol has only inactive and peeled
//!    neighbours. When sums replace the peeled neighbours, it becomes an equation for the inactive
//!    symbols. Gaussian elimination finds the sum of received symbols that gives each inactive
//!    symbol.
//! 3. *Substitute.* With the inactive symbols, the received symbols give the peeled symbols.

use crate::lt::{MAX_BLOCK, Ones};

/// How to compute the missing source symbols.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Peeled source symbols in the order of peeling, each with the received symbol that gives it.
    peeled: [(u8, u8); MAX_BLOCK],
    peeled_count: usize,
    /// The source symbols that are inactive.
    inactive: u64,
    /// The sum that gives each missing source symbol. An inactive symbol is a sum of received
    /// symbols only.
    sums: [Sum; MAX_BLOCK],
}

/// A sum of inactive and of received symbols. The known neighbours of the received symbols must be
/// added.
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// Bit i stands for source symbol i.
    inactive: u64,
    /// Bit i stands for received symbol i.
    received: u64,
}

impl Sum {
    const ZERO: Sum = Sum { inactive: 0, received: 0 };

    #[inline]
    fn plus(self, other: Sum) -> Sum {
        Sum { inactive: self.inactive ^ other.inactive, received: self.received ^ other.received }
    }
}

impl Plan {
    /// A plan for the source symbols `missing`. `unknown` has the unknown neighbours of the received
    /// symbols, of which there are at most 64. None if the received symbols do not determine the
    /// missing symbols.
    pub(super) fn new(unknown: &[u64], missing: u64) -> Option<Plan> {
        let peeled = [(0, 0); MAX_BLOCK];
        let mut plan = Plan { peeled, peeled_count: 0, inactive: 0, sums: [Sum::ZERO; MAX_BLOCK] };
        let unused = plan.peel(unknown, missing);
        plan.eliminate(unknown, unused).then_some(plan)
    }

    /// Peeled source symbols in the order of peeling, each with the index of the received symbol
    /// that gives it: `(received, source)`.
    pub(super) fn peeled(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.peeled[..self.peeled_count].iter().map(|(row, symbol)| (usize::from(*row), usize::from(*symbol)))
    }

    /// The inactive source symbols.
    pub(super) fn inactive(&self) -> u64 {
        self.inactive
    }

    /// The received symbols whose sum gives an inactive source symbol, after their known neighbours
    /// have been added. Bit i stands for received symbol i.
    pub(super) fn solution(&self, symbol: usize) -> u64 {
        self.sums[symbol].received
    }

    /// Step 1. Returns the received symbols that gave no source symbol: bit i stands for received
    /// symbol i.
    fn peel(&mut self, unknown: &[u64], missing: u64) -> u64 {
        // For each source symbol, the received symbols that have it as a neighbour, and their number.
        let mut columns = [(0u64, 0u8); MAX_BLOCK];
        // The number of active neighbours of each received symbol.
        let mut degrees = [0u8; MAX_BLOCK];
        let (mut unused, mut single) = (0u64, 0u64);
        for (row, (mask, degree)) in unknown.iter().zip(&mut degrees).enumerate() {
            for symbol in Ones(*mask) {
                columns[symbol].0 |= 1 << row;
                columns[symbol].1 += 1;
                *degree += 1;
            }
            unused |= 1 << row;
            single |= u64::from(*degree == 1) << row;
        }
        let mut active = missing;
        while active != 0 {
            let symbol = if single != 0 {
                let row = single.trailing_zeros() as usize;
                let symbol = (unknown[row] & active).trailing_zeros() as usize % MAX_BLOCK;
                self.peeled[self.peeled_count] = (row as u8, symbol as u8);
                self.peeled_count += 1;
                self.sums[symbol] = self.sum(unknown[row] & !(1 << symbol), row);
                unused &= !(1 << row);
                symbol
            } else {
                // The number of unused symbols in a column does not change while the column's source
                // symbol is active, because a used symbol has no other active neighbour.
                let symbol = Ones(active).max_by_key(|symbol| columns[*symbol].1).unwrap_or(0);
                self.inactive |= 1 << symbol;
                symbol
            };
            active &= !(1 << symbol);
            for row in Ones(columns[symbol].0 & unused) {
                degrees[row] -= 1;
                match degrees[row] {
                    0 => single &= !(1 << row),
                    1 => single |= 1 << row,
                    _ => {}
                }
            }
            single &= unused;
        }
        unused
    }

    /// The received symbol `row` plus its inactive and peeled neighbours `neighbours`, with their
    /// sums in place of the peeled neighbours.
    fn sum(&self, neighbours: u64, row: usize) -> Sum {
        let start = Sum { inactive: neighbours & self.inactive, received: 1 << row };
        Ones(neighbours & !self.inactive).fold(start, |sum, symbol| sum.plus(self.sums[symbol]))
    }

    /// Step 2. Returns false if the `unused` received symbols do not determine all inactive symbols.
    fn eliminate(&mut self, unknown: &[u64], unused: u64) -> bool {
        // Equations with different lowest inactive symbols: each sum is zero.
        let mut equations = [Sum::ZERO; MAX_BLOCK];
        let mut missing = self.inactive.count_ones();
        for row in Ones(unused) {
            let mut sum = self.sum(unknown[row], row);
            while sum.inactive != 0 {
                let equation = &mut equations[sum.inactive.trailing_zeros() as usize];
                if equation.inactive == 0 {
                    *equation = sum;
                    missing -= 1;
                    break;
                }
                sum = sum.plus(*equation);
            }
        }
        if missing > 0 {
            return false;
        }
        for symbol in Ones(self.inactive) {
            let mut sum = Sum { inactive: 1 << symbol, received: 0 };
            while sum.inactive != 0 {
                sum = sum.plus(equations[sum.inactive.trailing_zeros() as usize]);
            }
            self.sums[symbol] = sum;
        }
        true
    }
}
