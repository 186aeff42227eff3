//! What a medium with ideal access counts.

use std::time::Duration;

/// What the links of a medium did since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The links: first those to higher stations, then those to lower ones.
    pub links: Vec<LinkActivity>,
    /// For each m, the time in which exactly m links were active.
    pub together: Vec<Duration>,
    /// Slots of scheduled access in which a link was active. 0 with CSMA.
    pub slots: u64,
}

/// What a link did since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkActivity {
    /// The station that sends.
    pub from: u32,
    /// Its neighbour that receives.
    pub to: u32,
    /// Exchanges begun. With CSMA, each ends a back-off.
    pub attempts: u64,
    /// Exchanges ended, each with one packet.
    pub exchanges: u64,
    /// With CSMA, back-offs that a link in conflict stopped. With scheduled access, slots that the link had to leave to
    /// a link in conflict although it had a packet.
    pub deferrals: u64,
    /// The time in which it was active.
    pub active: Duration,
}

impl Activity {
    /// The largest number of links that were active together.
    pub fn most_together(&self) -> usize {
        self.together.iter().rposition(|time| !time.is_zero()).unwrap_or(0)
    }
}
