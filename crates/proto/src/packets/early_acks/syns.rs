//! What the SYNs of a connection say.

use super::segment::SynOptions;

/// The sequence numbers and the options of both SYNs, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Syns {
    pub(super) local: Option<(u32, SynOptions)>,
    pub(super) remote: Option<(u32, SynOptions)>,
}

impl Syns {
    /// Whether the known SYNs allow early acknowledgements.
    pub(super) fn are_plain(&self) -> bool {
        let plain = |syn: Option<(u32, SynOptions)>| syn.is_none_or(|(_, options)| options.plain);
        plain(self.local) && plain(self.remote)
    }

    /// The scale of the remote TCP's window (RFC 7323, section 2.2).
    pub(super) fn scale(&self) -> u8 {
        let scale = |syn: Option<(u32, SynOptions)>| syn.and_then(|(_, options)| options.scale);
        scale(self.local).and(scale(self.remote)).unwrap_or(0)
    }

    /// Whether the segments have timestamps.
    pub(super) fn have_timestamps(&self) -> bool {
        let has = |syn: Option<(u32, SynOptions)>| syn.is_some_and(|(_, options)| options.timestamps);
        has(self.local) && has(self.remote)
    }
}
