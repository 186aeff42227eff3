//! The budget that limits proactive repairs.

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
    /// Creates a budget with a limit of 20 packets of `packet` bytes. The budget starts with this
    /// limit times min(`share`, 1).
    pub(super) fn new(share: f64, packet: u32) -> Budget {
        let burst = 20.0 * f64::from(packet);
        Budget { share, tokens: share.min(1.0) * burst, burst }
    }

    pub(super) fn earn(&mut self, bytes: u32) {
        self.tokens = (self.tokens + self.share * f64::from(bytes)).min(self.burst);
    }

    pub(super) fn allows(&self, bytes: u32) -> bool {
        self.tokens >= f64::from(bytes)
    }

    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens -= f64::from(bytes);
    }
}
