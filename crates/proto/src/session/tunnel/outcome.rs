//! Passes a datagram's outcome to the parts of the tunnel that need it. A *late* datagram arrived
//! after it was declared lost.

use super::blocks::Blocks;
use super::repair::Repairs;
use super::sent_history::{Content, Outcome};
use super::sources::Sources;
use super::too_large::TooLarge;
use super::{InnerPacket, Tunnel, TunnelEvent};
use std::collections::VecDeque;

/// Tells the part of the tunnel that supplied a datagram's content what became of the datagram.
///
/// Sets `announce` when a window announcement was lost, so that a new announcement is sent. Adds an
/// event when a probe was received or lost.
pub(super) fn apply_outcome<P: InnerPacket>(
    outcome: Outcome,
    sources: &mut Sources<P>,
    repairs: &mut Repairs,
    announce: &mut bool,
    events: &mut VecDeque<TunnelEvent>,
    blocks: &mut Option<Blocks<P>>,
    too_large: &mut TooLarge,
) {
    match outcome {
        Outcome::Received(Content::Source(id)) | Outcome::Late(Content::Source(id)) => sources.received(id),
        Outcome::Lost(Content::Source(id)) => sources.lost(id),
        Outcome::Received(Content::Exact(group)) => repairs.exact_settled(group, true),
        Outcome::Lost(Content::Exact(group)) => repairs.exact_settled(group, false),
        Outcome::Received(Content::Proactive(number)) => repairs.proactive_settled(number, true),
        Outcome::Lost(Content::Proactive(number)) => repairs.proactive_settled(number, false),
        Outcome::Received(Content::BlockRepair) => events.extend(Tunnel::<P>::note_block_fate(blocks, true)),
        Outcome::Lost(Content::BlockRepair) => events.extend(Tunnel::<P>::note_block_fate(blocks, false)),
        Outcome::Lost(Content::Window) => *announce = true,
        Outcome::Received(Content::Probe(padding) | Content::LargerProbe(padding)) => {
            events.push_back(TunnelEvent::Probe { padding, received: true });
        }
        Outcome::Lost(Content::Probe(padding)) => events.push_back(TunnelEvent::Probe { padding, received: false }),
        Outcome::Lost(Content::LargerProbe(padding)) => {
            too_large.add(1);
            events.push_back(TunnelEvent::Probe { padding, received: false });
        }
        Outcome::Received(Content::TooLarge(number)) | Outcome::Late(Content::TooLarge(number)) => {
            too_large.settled(number, true);
        }
        Outcome::Lost(Content::TooLarge(number)) => too_large.settled(number, false),
        _ => {}
    }
}
