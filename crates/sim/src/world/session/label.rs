//! Inner packets of a tunnel without their bytes: the encoder and the decoder work on a 16-byte label instead, which
//! saves time.

use crate::world::packet::Ecn;
use ripstop_codes::{Matrix, Payload, Sketch};
use ripstop_proto::packets::{Gap, InnerPacket, Meta, Order};

/// The identity of an inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::world) struct Label {
    /// The number of the packet's flow inside the tunnel. Each direction of a flow has its own number.
    pub(in crate::world) flow: u32,
    /// The packet's number in the flow, from 0.
    pub(in crate::world) sequence: u64,
    /// The packet's length, bytes.
    pub(in crate::world) len: u32,
    /// Whether the other end delivers the packet as soon as it arrives, instead of in order.
    pub(in crate::world) immediate: bool,
    /// The packet's ECN field.
    pub(in crate::world) ecn: Ecn,
}

/// An inner packet without its bytes. Repairs are real combinations of labels, so a decoder with an error delivers a
/// wrong label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelledPacket(Sketch);

impl LabelledPacket {
    /// The packet with this label. The 16 bytes are: the [`Gap`] (1 byte), immediate and ECN field (1), flow (4), length
    /// (2), the distance of an exact gap (2), sequence (6).
    pub(in crate::world) fn new(label: Label) -> LabelledPacket {
        let mut content = [0; 16];
        content[1] = u8::from(label.immediate) << 2 | label.ecn.bits();
        content[2..6].copy_from_slice(&label.flow.to_be_bytes());
        content[6..8].copy_from_slice(&label.len.to_be_bytes()[2..]);
        content[10..].copy_from_slice(&label.sequence.to_be_bytes()[2..]);
        LabelledPacket(Sketch::new(label.len as usize + 1, content))
    }

    /// The packet's label. None if [`LabelledPacket::new`] makes no packet with this content.
    pub(in crate::world) fn label(&self) -> Option<Label> {
        let content = self.0.content();
        let four = |at: usize| u32::from_be_bytes([content[at], content[at + 1], content[at + 2], content[at + 3]]);
        let sequence = (u64::from(content[10]) << 40) | (u64::from(content[11]) << 32) | u64::from(four(12));
        let len = u32::from(u16::from_be_bytes([content[6], content[7]]));
        let ecn = Ecn::from_bits(content[1] & 3)?;
        Some(Label { flow: four(2), sequence, len, immediate: content[1] >> 2 == 1, ecn })
            .filter(|label| label.len > 0 && content[1] >> 2 <= 1)
    }
}

impl Payload for LabelledPacket {
    fn combine(coefficients: &Matrix, sources: &[&LabelledPacket]) -> Vec<LabelledPacket> {
        let sources: Vec<&Sketch> = sources.iter().map(|packet| &packet.0).collect();
        Sketch::combine(coefficients, &sources).into_iter().map(LabelledPacket).collect()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl InnerPacket for LabelledPacket {
    fn set_gap(&mut self, gap: Gap) {
        let mut content = self.0.content();
        let trailer = gap.trailer();
        content[0] = gap.nibble();
        content[8..10].copy_from_slice(&trailer.unwrap_or_default());
        self.0 = Sketch::new(self.0.len() + trailer.map_or(0, |trailer| trailer.len()), content);
    }

    fn gap(&self) -> Gap {
        let content = self.0.content();
        Gap::read(content[0], Some([content[8], content[9]])).unwrap_or(Gap::NONE)
    }

    fn meta(&self) -> Option<Meta> {
        let label = self.label()?;
        let order = if label.immediate { Order::Immediate } else { Order::InOrder };
        Some(Meta { flow: u64::from(label.flow), order, len: label.len, ack: None, is_syn: false })
    }

    fn mark_congestion(&mut self) -> bool {
        let Some(label) = self.label().filter(|label| label.ecn != Ecn::NotCapable) else { return false };
        let mut content = self.0.content();
        content[1] = LabelledPacket::new(Label { ecn: Ecn::Marked, ..label }).0.content()[1];
        self.0 = Sketch::new(self.0.len(), content);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_survives() {
        let label = Label { flow: 7, sequence: 1 << 40, len: 60_000, immediate: true, ecn: Ecn::Capable };
        let mut packet = LabelledPacket::new(label);
        packet.set_gap(Gap::ADJACENT);
        assert_eq!((packet.label(), packet.len(), packet.gap()), (Some(label), 60_001, Gap::ADJACENT));
        assert_eq!(LabelledPacket(Sketch::new(0, [255; 16])).label(), None);
        assert!(packet.mark_congestion());
        let marked = Label { ecn: Ecn::Marked, ..label };
        assert_eq!((packet.label(), packet.len(), packet.gap()), (Some(marked), 60_001, Gap::ADJACENT));
        let mut exact = LabelledPacket::new(label);
        exact.set_gap(Gap::exact(300));
        assert_eq!((exact.label(), exact.len(), exact.gap()), (Some(label), 60_003, Gap::exact(300)));
        let mut plain = LabelledPacket::new(Label { ecn: Ecn::NotCapable, ..label });
        assert!(!plain.mark_congestion() && plain.label().is_some_and(|label| label.ecn == Ecn::NotCapable));
    }
}
