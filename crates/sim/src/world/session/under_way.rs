//! The inner packets that have entered a tunnel or an endpoint and have not come out at the other end.

use super::label::Label;
use crate::world::node::Handoff;
use crate::world::packet::{Body, EcnFlags};
use std::collections::{BTreeMap, VecDeque};

/// Inner packets that have entered at one end and have not come out at the other.
///
/// Only a label passes through the tunnel. At the other end, the label is exchanged for the packet that is kept here.
/// This exchange works one time for each label. The exchange fails if a later packet of the same flow and direction has
/// already come out. A label whose exchange fails counts as a stray.
#[derive(Debug, Default)]
pub(in crate::world) struct UnderWay {
    /// For each inner flow: the sequence number of the first packet kept, then the packets.
    flows: BTreeMap<u32, (u64, VecDeque<Kept>)>,
    /// How many packets came out wrongly.
    strays: u64,
}

/// A packet that is kept.
#[derive(Debug)]
struct Kept {
    /// The packet's length, bytes.
    len: u32,
    /// Whether the packet has the flag CWR.
    cwr: bool,
    body: Body,
}

impl UnderWay {
    /// Keeps a packet of flow `flow` that enters a session, and returns its label. `len` is the length of the inner
    /// packet, bytes.
    pub(in crate::world) fn send(
        &mut self,
        flow: u32,
        back: bool,
        len: u32,
        immediate: bool,
        EcnFlags { ecn, cwr }: EcnFlags,
        body: Body,
    ) -> Label {
        let flow = inner_flow(flow, back);
        let (first, kept) = self.flows.entry(flow).or_default();
        let sequence = *first + kept.len() as u64;
        kept.push_back(Kept { len, cwr, body });
        Label { flow, sequence, len, immediate, ecn }
    }

    /// Takes a label that has come out of a session. Returns the packet that the label stands for, as a handoff to the
    /// host of its flow. The label has the packet's ECN field, because a session may mark the packet. Earlier packets of
    /// the flow are forgotten.
    ///
    /// Returns None if no such packet was kept. The label then counts as a stray.
    pub(in crate::world) fn deliver(&mut self, label: Option<Label>) -> Option<Handoff> {
        let found = label.and_then(|label| self.take(label));
        self.strays += u64::from(found.is_none());
        found
    }

    /// How many packets came out wrongly.
    pub(in crate::world) fn strays(&self) -> u64 {
        self.strays
    }

    /// Does what [`UnderWay::deliver`] does, but counts no strays.
    fn take(&mut self, label: Label) -> Option<Handoff> {
        let (first, kept) = self.flows.get_mut(&label.flow)?;
        while *first < label.sequence && kept.pop_front().is_some() {
            *first += 1;
        }
        if *first != label.sequence || kept.front()?.len != label.len {
            return None;
        }
        let Kept { cwr, body, .. } = kept.pop_front()?;
        *first += 1;
        Some(Handoff::Leave { flow: label.flow / 2, flags: EcnFlags { ecn: label.ecn, cwr }, body })
    }
}

/// The number of an inner flow. Inside a tunnel, a flow's data is one inner flow. The flow's acknowledgements (`back`)
/// are another inner flow.
fn inner_flow(flow: u32, back: bool) -> u32 {
    2 * flow + u32::from(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::world::packet::Ecn;

    #[test]
    fn a_packet_comes_out_once_and_in_order() {
        let mut under_way = UnderWay::default();
        let flags = EcnFlags { ecn: Ecn::Capable, cwr: true };
        let labels = [0, 1, 2].map(|k| under_way.send(3, false, 100 + k, false, flags, Body::Udp(u64::from(k))));
        // The flow, the flags and the number of the packet.
        let mut deliver = |label| match under_way.deliver(label) {
            Some(Handoff::Leave { flow, flags, body: Body::Udp(number) }) => Some((flow, flags, number)),
            _ => None,
        };
        assert_eq!(deliver(Some(labels[1])), Some((3, flags, 1)));
        assert_eq!(deliver(Some(labels[1])), None, "the packet came out a second time");
        assert_eq!(deliver(Some(labels[0])), None, "the packet came out after a later one");
        assert_eq!(deliver(Some(Label { len: 7, ..labels[2] })), None, "the length is wrong");
        assert_eq!(deliver(Some(Label { flow: 9, ..labels[2] })), None, "the flow is wrong");
        assert_eq!(deliver(None), None, "there is no label");
        let marked = Label { ecn: Ecn::Marked, ..labels[2] };
        assert_eq!(deliver(Some(marked)), Some((3, EcnFlags { ecn: Ecn::Marked, cwr: true }, 2)));
        assert_eq!(under_way.strays(), 5);
    }
}
