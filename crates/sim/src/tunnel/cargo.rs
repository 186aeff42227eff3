//! InnerPacket packets that the world can make, and knows again when they come out.

use ripstop_codes::{Payload, Sketch};
use ripstop_proto::session::tunnel::{InnerPacket, Meta, Order};
use ripstop_proto::wire::Gap;

/// What identifies a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// Its flow.
    pub flow: u32,
    /// Its place in the flow, from 0.
    pub sequence: u64,
    /// Its length, bytes.
    pub len: u32,
    /// How it is to be delivered.
    pub immediate: bool,
}

/// An inner packet that can be made from a label and read back.
pub trait Cargo: InnerPacket {
    /// The packet with this label.
    fn load(label: Label) -> Self;
    /// Its label; None when the packet is not one that [`Cargo::load`] makes, byte for byte.
    fn unload(&self) -> Option<Label>;
}

/// A packet without bytes: its label alone goes through the coders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel(Sketch);

impl Payload for Parcel {
    fn combine(coefficients: &ripstop_codes::Matrix, sources: &[&Parcel]) -> Vec<Parcel> {
        let sources: Vec<&Sketch> = sources.iter().map(|parcel| &parcel.0).collect();
        Sketch::combine(coefficients, &sources).into_iter().map(Parcel).collect()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Layout of the sixteen bytes: gap 1, immediate 1, flow 4, length 4, sequence 6.
impl Cargo for Parcel {
    fn load(label: Label) -> Parcel {
        let mut content = [0; 16];
        content[1] = u8::from(label.immediate);
        content[2..6].copy_from_slice(&label.flow.to_be_bytes());
        content[6..10].copy_from_slice(&label.len.to_be_bytes());
        content[10..].copy_from_slice(&label.sequence.to_be_bytes()[2..]);
        Parcel(Sketch::new(label.len as usize + 1, content))
    }

    fn unload(&self) -> Option<Label> {
        let content = self.0.content();
        let four =
            |at: usize| u32::from_be_bytes([content[at], content[at + 1], content[at + 2], content[at + 3]]);
        let sequence = (u64::from(content[10]) << 40) | (u64::from(content[11]) << 32) | u64::from(four(12));
        Some(Label { flow: four(2), sequence, len: four(6), immediate: content[1] == 1 })
            .filter(|label| (1..=65_535).contains(&label.len) && content[1] <= 1)
    }
}

impl InnerPacket for Parcel {
    fn set_gap(&mut self, gap: Gap) {
        let mut content = self.0.content();
        content[0] = gap.nibble();
        self.0 = Sketch::new(self.0.len(), content);
    }

    fn gap(&self) -> Gap {
        Gap::from_nibble(self.0.content()[0])
    }

    fn meta(&self) -> Option<Meta> {
        let label = self.unload()?;
        let order = if label.immediate { Order::Immediate } else { Order::InOrder };
        Some(Meta { flow: u64::from(label.flow), order, len: label.len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_survives() {
        let label = Label { flow: 7, sequence: 1 << 40, len: 1436, immediate: true };
        let mut parcel = Parcel::load(label);
        parcel.set_gap(Gap::ADJACENT);
        assert_eq!((parcel.unload(), parcel.len(), parcel.gap()), (Some(label), 1437, Gap::ADJACENT));
        assert_eq!(Parcel(Sketch::new(0, [255; 16])).unload(), None);
    }
}
