//! The inner packets that are inside a tunnel or between two endpoints.

use super::label::Label;
use crate::world::packet::Body;
use std::collections::{BTreeMap, VecDeque};

/// Inner packets that one end has sent and the other has not delivered.
///
/// A label goes through the coders in the packet's place, and brings the packet back at the other end: once, and never after
/// a later packet of the same flow and direction. Whatever comes out otherwise is a stray.
#[derive(Debug, Default)]
pub(in crate::world) struct UnderWay {
    /// By inner flow: the sequence number of the first packet kept, then the packets with their lengths.
    flows: BTreeMap<u32, (u64, VecDeque<(u32, Body)>)>,
    strays: u64,
}

impl UnderWay {
    /// A packet of flow `flow` goes in; returns its label.
    pub(in crate::world) fn send(
        &mut self,
        flow: u32,
        back: bool,
        len: u32,
        immediate: bool,
        body: Body,
    ) -> Label {
        let flow = inner_flow(flow, back);
        let (first, kept) = self.flows.entry(flow).or_default();
        let sequence = *first + kept.len() as u64;
        kept.push_back((len, body));
        Label { flow, sequence, len, immediate }
    }

    /// The packet with this label has come out: the number of its flow, and what it is. Earlier packets of its flow never
    /// will. None: no such packet was under way, which is counted.
    pub(in crate::world) fn deliver(&mut self, label: Option<Label>) -> Option<(u32, Body)> {
        let found = label.and_then(|label| self.take(label));
        self.strays += u64::from(found.is_none());
        found
    }

    /// How many packets came out that were not under way.
    pub(in crate::world) fn strays(&self) -> u64 {
        self.strays
    }

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

/// What tells a flow's data and acknowledgements apart inside.
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
        assert_eq!(under_way.deliver(Some(labels[1])), None, "a second time");
        assert_eq!(under_way.deliver(Some(labels[0])), None, "after a later one");
        assert_eq!(under_way.deliver(Some(Label { len: 7, ..labels[2] })), None, "of another length");
        assert_eq!(under_way.deliver(Some(Label { flow: 9, ..labels[2] })), None, "of another flow");
        assert_eq!(under_way.deliver(None), None, "nobody's");
        assert_eq!(under_way.strays(), 5);
        assert_eq!(under_way.deliver(Some(labels[2])), Some((3, Body::Udp(2))));
    }
}
