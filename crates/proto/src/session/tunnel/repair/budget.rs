//! The budget that limits proactive repairs.

/// The budget saves up for at most this number of full packets.
///
/// Half the value refuses repairs for runs of losses on a path that lost nothing before. Double the value lets a flow that
/// was clean for long send twice as many repairs at once.
const BURST_PACKETS: f64 = 20.0;

/// A budget of repair bytes (a token bucket). Each source symbol sent adds tokens in proportion to
/// its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Repair bytes that each source byte adds.
    share: f64,
    /// Repair bytes that may be sent now.
    tokens: f64,
    /// Limit on `tokens`.
    burst: f64,
}

impl Budget {
    /// Creates a budget for packets of `packet` bytes. The budget starts with its limit times
    /// min(`share`, 1).
    pub(super) fn new(share: f64, packet: u32) -> Budget {
        let burst = BURST_PACKETS * f64::from(packet);
        Budget { share, tokens: share.min(1.0) * burst, burst }
    }

    /// Sets the length of the packets, bytes.
    pub(super) fn set_packet(&mut self, packet: u32) {
        self.burst = BURST_PACKETS * f64::from(packet);
        self.tokens = self.tokens.min(self.burst);
    }

    pub(super) fn earn(&mut self, bytes: u32) {
        self.tokens = (self.tokens + self.share * f64::from(bytes)).min(self.burst);
    }

    pub(super) fn allows(&self, bytes: u32) -> bool {
        self.tokens >= f64::from(bytes)
    }

    /// Takes a repair of `bytes` bytes from the budget. Probes of a silence leave without asking [`Budget::allows`], so
    /// the debt is limited too.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens = (self.tokens - f64::from(bytes)).max(-self.burst);
    }
}
