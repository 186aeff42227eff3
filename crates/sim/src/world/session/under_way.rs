//! The inner packets that have entered a tunnel or an endpoint and have not come out at the other end.

use super::label::Label;
use crate::world::packet::Body;
use std::collections::{BTreeMap, VecDeque};

/// Inner packets that have entered at one end and have not come out at the other.
///
/// Only a label passes through the tunnel. At the other end, the label is exchanged for the packet that is kept here.
/// This exchange works one time for each label. The exchange fails if a later packet of the same flow and direction has
/// already come out. A label whose exchange fails counts as a stray.
#[derive(Debug, Default)]
pub(in crate::world) struct UnderWay {
    /// For each inner flow: the sequence number of the first packet kept, then the packets with their lengths in bytes.
    flows: BTreeMap<u32, (u64, VecDeque<(u32, Body)>)>,
    /// How many packets came out wrongly.
    strays: u64,
}

impl UnderWay {
    /// Keeps a packet of flow `flow` that enters a session, and returns its label.
    pub(in crate::world) fn send(&mut self, flow: u32, back: bool, len: u32, immediate: bool, body: Body) -> Label {
        let flow = inner_flow(flow, back);
        let (first, kept) = self.flows.entry(flow).or_default();
        let sequence = *first + kept.len() as u64;
        kept.push_back((len, body));
        Label { flow, sequence, len, immediate }
    }

    /// Takes a label that has come out of a session. Returns the number of the flow, and the packet that the label
    /// stands for. Earlier packets of the flow are forgotten.
    ///
    /// Returns None if no such packet was kept. The label then counts as a stray.
    pub(in crate::world) fn deliver(&mut self, label: Option<Label>) -> Option<(u32, Body)> {
        let found = label.and_then(|label| self.take(label));
        self.strays += u64::from(found.is_none());
        found
    }

    /// How many packets came out wrongly.
    pub(in crate::world) fn strays(&self) -> u64 {
        self.strays
    }

    /// Does what [`UnderWay::deliver`] does, but counts no strays.
    fn take(&mut self, label: Label) -> Option<(u32, Body)> {
        let (first, kept) = self.flows.get_mut(&label.flow)?;
        while *first < label.sequence && kept.pop_front().is_some() {
            *first += 1;
        }
        if *first != label.sequence || kept.front()?.0 != label.len {
            return None;
        }
        let (_, body) = kept.pop_front()?;
        *first += 1;
        Some((label.flow / 2, body))
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

    #[test]
    fn a_packet_comes_out_once_and_in_order() {
        let mut under_way = UnderWay::default();
        let labels = [0, 1, 2].map(|k| under_way.send(3, false, 100 + k, false, Body::Udp(u64::from(k))));
        assert_eq!(under_way.deliver(Some(labels[1])), Some((3, Body::Udp(1))));
        assert_eq!(under_way.deliver(Some(labels[1])), None, "the packet came out a second time");
        assert_eq!(under_way.deliver(Some(labels[0])), None, "the packet came out after a later one");
        assert_eq!(under_way.deliver(Some(Label { len: 7, ..labels[2] })), None, "the length is wrong");
        assert_eq!(under_way.deliver(Some(Label { flow: 9, ..labels[2] })), None, "the flow is wrong");
        assert_eq!(under_way.deliver(None), None, "there is no label");
        assert_eq!(under_way.strays(), 5);
        assert_eq!(under_way.deliver(Some(labels[2])), Some((3, Body::Udp(2))));
    }
}
