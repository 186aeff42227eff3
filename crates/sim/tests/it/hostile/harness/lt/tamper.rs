//! Faults that tests build into a world.

use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_schemes::lt::LtDelivered;

/// A fault that a test builds into a world. The judge must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tamper {
    /// The packet of this number is not delivered.
    Lose(u64),
    /// The packet of this number is delivered twice.
    Repeat(u64),
    /// The packet of this number is delivered with another byte.
    Change(u64),
    /// The sender sends nothing from this time on.
    Silence(Time),
    /// The ends do not begin again when they learn of a restart.
    IgnoreReports,
}

impl Tamper {
    /// What the sink gets in the place of `delivered`.
    pub(super) fn change(self, delivered: LtDelivered<Symbol>) -> Vec<LtDelivered<Symbol>> {
        let LtDelivered::Packet { number, mut payload } = delivered else { return vec![delivered] };
        if self == Tamper::Change(number) {
            payload.edit(|bytes| bytes[19] ^= 1);
        }
        let copies = if self == Tamper::Lose(number) { 0 } else { 1 + usize::from(self == Tamper::Repeat(number)) };
        vec![LtDelivered::Packet { number, payload }; copies]
    }
}
