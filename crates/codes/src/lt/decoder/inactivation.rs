//! Inactivation decoding on masks: a plan how to compute all missing source symbols.
//!
//! 1. *Peel.* A received symbol with one active neighbour gives this neighbour, which is then no
//!    longer active. If there is no such symbol, the active source symbol with the most occurrences
//!    becomes *inactive*: it counts as known from now on, and its value follows later. Each peeled
//!    symbol is the sum of a *partial sum*, which contains no inactive symbol, and of some inactive
//!    symbols, its *expression*.
//! 2. *Eliminate.* A received symbol that gave no source symbol has only inactive and peeled
//!    neighbours. The expressions replace the peeled neighbours. This gives an equation for the
//!    inactive symbols. Gaussian elimination solves these equations.
//! 3. *Substitute.* With the inactive symbols, the received symbols give the peeled symbols.

use crate::lt::{MAX_BLOCK, Ones};

/// How to compute the missing source symbols. In its masks, bit i stands for source symbol i.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Peeled source symbols in the order of peeling, each with the received symbol that gives it.
    peeled: [(u8, u8); MAX_BLOCK],
    peeled_count: usize,
    /// For each peeled source symbol: the inactive symbols that its partial sum lacks. For each
    /// inactive source symbol: the equations whose sum gives this symbol; bit i stands for equation
    /// i.
    expressions: [u64; MAX_BLOCK],
    /// The source symbols that are inactive.
    inactive: u64,
    /// The peeled source symbols whose partial sums are needed for the equations.
    needed: u64,
    /// The received symbols that give the equations.
    equations: [u8; MAX_BLOCK],
    equation_count: usize,
}

impl Plan {
    /// A plan for the source symbols `missing`. `unknown` has the unknown neighbours of the received
    /// symbols, of which there are at most 64. None if the received symbols do not determine the
    /// missing symbols.
    pub(super) fn new(unknown: &[u64], missing: u64) -> Option<Plan> {
        let mut plan = Plan {
            peeled: [(0, 0); MAX_BLOCK],
            peeled_count: 0,
            expressions: [0; MAX_BLOCK],
            inactive: 0,
            needed: 0,
            equations: [0; MAX_BLOCK],
            equation_count: 0,
        };
        let unused = plan.peel(unknown, missing);
        plan.express(unknown);
        plan.eliminate(unknown, unused)?;
        plan.need(unknown);
        Some(plan)
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

    /// Whether the partial sum of a peeled source symbol is needed for the equations.
    pub(super) fn needs(&self, symbol: usize) -> bool {
        self.needed >> symbol & 1 == 1
    }

    /// The inactive symbols that a peeled symbol's partial sum lacks.
    pub(super) fn expression(&self, symbol: usize) -> u64 {
        self.expressions[symbol]
    }

    /// The indices of the received symbols that give the equations.
    pub(super) fn equations(&self) -> impl Iterator<Item = usize> + '_ {
        self.equations[..self.equation_count].iter().map(|row| usize::from(*row))
    }

    /// The equations whose sum gives an inactive symbol.
    pub(super) fn solution(&self, symbol: usize) -> u64 {
        self.expressions[symbol]
    }

    /// Step 1 without the expressions. Returns the received symbols that gave no source symbol: bit
    /// i stands for received symbol i.
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
                unused &= !(1 << row);
                self.peeled[self.peeled_count] = (row as u8, symbol as u8);
                self.peeled_count += 1;
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

    /// Computes the expressions of the peeled symbols.
    fn express(&mut self, unknown: &[u64]) {
        for (row, symbol) in &self.peeled[..self.peeled_count] {
            let (row, symbol) = (usize::from(*row), usize::from(*symbol));
            self.expressions[symbol] = self.expressed(unknown[row] & !(1 << symbol));
        }
    }

    /// A sum of inactive and peeled symbols, as a sum of inactive symbols.
    fn expressed(&self, sum: u64) -> u64 {
        Ones(sum & !self.inactive).fold(sum & self.inactive, |sum, symbol| sum ^ self.expressions[symbol])
    }

    /// Step 2: chooses independent equations among the `unused` received symbols and solves them.
    /// None if they do not determine all inactive symbols.
    fn eliminate(&mut self, unknown: &[u64], unused: u64) -> Option<()> {
        // Reduced equations by their lowest bits, each with the equations whose sum it is.
        let (mut rows, mut sums) = ([0u64; MAX_BLOCK], [0u64; MAX_BLOCK]);
        for received in Ones(unused) {
            let (mut row, mut sum) = (self.expressed(unknown[received]), 1u64 << (self.equation_count % MAX_BLOCK));
            while row != 0 {
                let pivot = row.trailing_zeros() as usize;
                if rows[pivot] == 0 {
                    (rows[pivot], sums[pivot]) = (row, sum);
                    self.equations[self.equation_count] = received as u8;
                    self.equation_count += 1;
                    break;
                }
                row ^= rows[pivot];
                sum ^= sums[pivot];
            }
        }
        if self.equation_count < self.inactive.count_ones() as usize {
            return None;
        }
        for symbol in Ones(self.inactive) {
            let (mut rest, mut solution) = (1u64 << symbol, 0);
            while rest != 0 {
                let pivot = rest.trailing_zeros() as usize;
                rest ^= rows[pivot];
                solution ^= sums[pivot];
            }
            self.expressions[symbol] = solution;
        }
        Some(())
    }

    /// Finds the peeled symbols whose partial sums are needed, directly or for other partial sums.
    fn need(&mut self, unknown: &[u64]) {
        let mut needed = 0;
        for row in &self.equations[..self.equation_count] {
            needed |= unknown[usize::from(*row)];
        }
        for (row, symbol) in self.peeled[..self.peeled_count].iter().rev() {
            if needed >> symbol & 1 == 1 {
                needed |= unknown[usize::from(*row)];
            }
        }
        self.needed = needed & !self.inactive;
    }
}
