//! What a medium with ideal access counts.

use std::time::Duration;

/// What the links of a medium did since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The links. Links to stations with higher numbers come first, and links to stations with lower numbers follow.
    pub links: Vec<LinkActivity>,
    /// Entry m is the time in which exactly m links were active together.
    pub together: Vec<Duration>,
    /// The number of slots of scheduled access in which a link was active. 0 with CSMA.
    pub slots: u64,
}

/// What a link did since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkActivity {
    /// The station that sends.
    pub from: u32,
    /// The neighbour that receives.
    pub to: u32,
    /// The number of exchanges that the link has begun. With CSMA, each exchange follows a back-off.
    pub attempts: u64,
    /// The number of exchanges that have ended. Each exchange carries one packet.
    pub exchanges: u64,
    /// With CSMA: the number of back-offs that a link in conflict stopped. With scheduled access: the number of slots
    /// in which the link had a packet, but had to leave the medium to a link in conflict.
    pub deferrals: u64,
    /// The time in which the link was active.
    pub active: Duration,
}

impl Activity {
    /// The largest number of links that were active together.
    pub fn most_together(&self) -> usize {
        self.together.iter().rposition(|time| !time.is_zero()).unwrap_or(0)
    }
}
