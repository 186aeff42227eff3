//! What the sending half of the coder has sent.

use ripstop_base::counters;

counters! {
    /// Counts of the sending half.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct CodingCounts {
        /// Source symbols sent. Each piece of a packet is one.
        pub sources: u64 => ("sources_sent", "sent_sources_total"),
        /// Bytes of source symbols sent.
        pub source_bytes: u64,
        /// Bytes of repair symbols sent.
        pub repair_bytes: u64,
        /// Counts of symbols of bulk flows.
        pub bulk: ClassCounts,
        /// Counts of symbols of interactive flows.
        pub interactive: ClassCounts,
        /// Symbols that the sender gave up because memory was short and the peer was silent. They count as given up
        /// too.
        pub given_up_for_memory: u64 => ("given_up_for_memory", "given_up_for_memory_total"),
        /// Symbols that the peer had not decoded, according to its last report.
        pub peer_undecoded: u64,
        /// Repairs over a range of symbols (mostly proactive) that brought the peer nothing new, according to its
        /// last report.
        pub peer_redundant: u64 => ("repairs_wasted", "repairs_wasted_total"),
    }
}

counters! {
    /// Counts of the symbols of one class of flows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ClassCounts {
        /// Source symbols sent.
        pub packets: u64 => ("packets", "packets_total"),
        /// Bytes of these source symbols.
        pub bytes: u64 => ("packet_bytes", "packet_bytes_total"),
        /// Proactive repairs sent.
        pub repairs: u64 => ("repairs", "repairs_total"),
        /// Bytes of these proactive repairs.
        pub repair_bytes: u64 => ("repair_bytes", "repair_bytes_total"),
    }
}

impl CodingCounts {
    /// The counts of interactive flows, or of bulk flows.
    pub(super) fn of_class(&mut self, interactive: bool) -> &mut ClassCounts {
        if interactive { &mut self.interactive } else { &mut self.bulk }
    }
}
