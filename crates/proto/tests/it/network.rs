//! What the virtual networks of `endpoint` and `secure` have in common: the keys of the ends, and the datagrams in
//! flight.

use ripstop_base::{Seed, Time};
use ripstop_proto::secure::PrivateKey;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// A datagram on the network.
#[derive(Clone)]
pub(crate) struct Flying {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// The datagrams in flight, in the order of their arrival. Datagrams that arrive at the same time keep their order.
#[derive(Default)]
pub(crate) struct InFlight {
    datagrams: BTreeMap<(Time, u64), Flying>,
    count: u64,
}

impl InFlight {
    /// Adds a datagram that arrives at `arrival`.
    pub(crate) fn add(&mut self, arrival: Time, flying: Flying) {
        self.count += 1;
        self.datagrams.insert((arrival, self.count), flying);
    }

    /// The time of the next arrival; None: nothing is in flight.
    pub(crate) fn next(&self) -> Option<Time> {
        self.datagrams.keys().next().map(|(at, _)| *at)
    }

    /// Removes and returns the datagram that arrives next.
    pub(crate) fn take(&mut self) -> Option<Flying> {
        self.datagrams.pop_first().map(|(_, flying)| flying)
    }
}

/// The private key of end `n`.
pub(crate) fn private(seed: Seed, n: usize) -> PrivateKey {
    PrivateKey::generate(&mut seed.stream(&format!("key/{n}")))
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
