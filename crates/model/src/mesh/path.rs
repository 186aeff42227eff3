//! The capacity of a path of an 802.11 mesh: equations (1), (2) and (12) of paper 004.
//!
//! A path is a chain of hops. A *cycle* is the time in which one hop carries one packet one time,
//! with RTS, CTS, data, MAC acknowledgment and the waits between them. The MAC layer does not
//! retransmit. In this file p is the loss probability of a hop, and P is the loss probability of
//! the whole path.

use crate::domain::{DomainError, at_least, not_negative, positive, require, share};

/// The lengths, rates and times of 802.11 frames. [`Default`] has the values of table I of paper
/// 004.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshFrames {
    /// L_Data: the length of a packet, bytes.
    pub data_bytes: f64,
    /// L_H_MAC: the length of the MAC header, bytes.
    pub mac_header_bytes: f64,
    /// L_ACK: the length of the MAC acknowledgment, bytes.
    pub ack_bytes: f64,
    /// L_RTS: the length of an RTS, bytes. Includes 24 bytes for preamble and PHY header.
    pub rts_bytes: f64,
    /// L_CTS: the length of a CTS, bytes. Includes 24 bytes for preamble and PHY header.
    pub cts_bytes: f64,
    /// T_p + T_PHY: the time of preamble and PHY header before a data frame or a MAC
    /// acknowledgment, s.
    pub preamble: f64,
    /// data_rate: the rate of data frames and MAC acknowledgments, bit/s.
    pub data_bps: f64,
    /// basic_rate: the rate of RTS and CTS, bit/s.
    pub basic_bps: f64,
    /// T_SIFS: the short interframe space, s.
    pub sifs: f64,
    /// T_DIFS: the distributed interframe space, s.
    pub difs: f64,
    /// T_slot: the length of a slot, s.
    pub slot: f64,
    /// CW_min: the smallest contention window, slots.
    pub cw_min: f64,
}

impl Default for MeshFrames {
    fn default() -> MeshFrames {
        MeshFrames {
            data_bytes: 1000.0,
            mac_header_bytes: 28.0,
            ack_bytes: 14.0,
            rts_bytes: 44.0,
            cts_bytes: 38.0,
            preamble: 192e-6,
            data_bps: 1e6,
            basic_bps: 1e6,
            sifs: 10e-6,
            difs: 50e-6,
            slot: 20e-6,
            cw_min: 31.0,
        }
    }
}

impl MeshFrames {
    /// T_pkt, the length of a cycle, s: equation (2). With the values of table I, T_pkt is 9766 us.
    ///
    /// # Errors
    /// A length or time is negative, the packet's length or a rate is 0 or less, or a value is not
    /// finite.
    pub fn packet_time(&self) -> Result<f64, DomainError> {
        positive("the packet in bytes", self.data_bytes)?;
        not_negative("the MAC header in bytes", self.mac_header_bytes)?;
        not_negative("the MAC acknowledgment in bytes", self.ack_bytes)?;
        not_negative("the RTS in bytes", self.rts_bytes)?;
        not_negative("the CTS in bytes", self.cts_bytes)?;
        not_negative("preamble and PHY header in seconds", self.preamble)?;
        positive("the data rate in bits a second", self.data_bps)?;
        positive("the basic rate in bits a second", self.basic_bps)?;
        not_negative("SIFS in seconds", self.sifs)?;
        not_negative("DIFS in seconds", self.difs)?;
        not_negative("the slot in seconds", self.slot)?;
        not_negative("CW_min in slots", self.cw_min)?;
        let data = self.preamble + (self.mac_header_bytes + self.data_bytes) * 8.0 / self.data_bps;
        let ack = self.preamble + self.ack_bytes * 8.0 / self.data_bps;
        let control = (self.rts_bytes + self.cts_bytes) * 8.0 / self.basic_bps;
        let cycle = data + ack + control + 3.0 * self.sifs + self.cw_min * self.slot / 2.0 + self.difs;
        positive("the time of a packet in seconds", cycle).map(|()| cycle)
    }

    /// C_path: the capacity of a path of h = `hops` hops, bit/s, by equation (12). Each hop loses a
    /// packet with probability p = `link_loss`. At p = 0, equation (12) equals equation (1).
    ///
    /// A hop carries only the packets that the hops before it did not lose. So a packet takes 1 +
    /// (1-p) + (1-p)^2 + ... cycles on average, one term for each hop. A share (1-p)^h of the
    /// packets arrives.
    ///
    /// On up to four hops, only one hop can transmit at a time. On a longer path, the first and the
    /// last hop can transmit at the same time (paper 002, lemma 3.1 with k = 2). Paper 004 bounds
    /// the number of simultaneous transmissions by h/4, which this function reads as ceil(h/4).
    /// Then the first four hops limit the path, because they carry the most packets.
    ///
    /// # Errors
    /// There is no hop, the loss is outside 0 to 1, or the frames are wrong.
    pub fn path_capacity(&self, hops: u32, link_loss: f64) -> Result<f64, DomainError> {
        let cycle = self.packet_time()?;
        at_least("the number of hops", hops, 1, "1 or more")?;
        share("the loss probability of a link", link_loss)?;
        let arrive = 1.0 - link_loss;
        let cycles: f64 = (0..hops.min(4)).map(|hop| libm::pow(arrive, f64::from(hop))).sum();
        Ok(self.data_bytes * 8.0 / cycle * libm::pow(arrive, f64::from(hops)) / cycles)
    }

    /// The capacity that several paths through one gateway have together, bit/s. `hops` has the
    /// number of hops of each path. If all paths are equally long, the result is the capacity of
    /// one path.
    ///
    /// # Errors
    /// There is no path, or [`path_capacity`](MeshFrames::path_capacity) of a path gives an error.
    pub fn joint_capacity(&self, hops: &[u32], link_loss: f64, joint: JointCapacity) -> Result<f64, DomainError> {
        require(!hops.is_empty(), "the number of paths", 0.0, "1 or more")?;
        let mut least = f64::INFINITY;
        let mut sum = 0.0;
        for &hops in hops {
            let capacity = self.path_capacity(hops, link_loss)?;
            least = least.min(capacity);
            sum += capacity;
        }
        Ok(match joint {
            JointCapacity::LongestPath => least,
            JointCapacity::EqualAirtime => sum / hops.len() as f64,
            JointCapacity::EqualRates => {
                let mut inverse = 0.0;
                for &hops in hops {
                    inverse += 1.0 / self.path_capacity(hops, link_loss)?;
                }
                hops.len() as f64 / inverse
            }
        })
    }
}

/// How paths of different lengths share the channel of their gateway. Only one path transmits at a
/// time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JointCapacity {
    /// All paths count as if they were as long as the longest path: "usually depends to the longest
    /// path" (paper 004, section 4). Shorter paths need less channel time than the longest path, so
    /// the channel is idle at times.
    #[default]
    LongestPath,
    /// Each path has the channel for the same share of time. The result is the mean of the paths'
    /// capacities. This reading is ours, not the paper's. Equal airtime maximises the sum of the
    /// logarithms of the paths' rates.
    EqualAirtime,
    /// Each path has the same rate, so a longer path has the channel for longer. The result is the
    /// harmonic mean of the paths' capacities. This reading is ours, not the paper's.
    EqualRates,
}

/// R = 1/(1-P): the packets to send for each packet that should arrive (paper 004, section 5.1). P
/// = `path_loss` is the share of packets that the path loses. The result is at most `cap`, because
/// the paper's R is infinite at P = 1.
///
/// # Errors
/// The loss is outside 0 to 1, or the cap is below 1.
pub fn redundancy(path_loss: f64, cap: f64) -> Result<f64, DomainError> {
    share("the loss probability of the path", path_loss)?;
    require(cap >= 1.0 && cap.is_finite(), "the largest redundancy", cap, "1 or more, and finite")?;
    Ok(if path_loss < 1.0 { (1.0 / (1.0 - path_loss)).min(cap) } else { cap })
}

/// ceil(L R): the packets to send for a block of L = `block` packets, with R = `redundancy`. A
/// product within a rounding error of an integer counts as that integer: 16/(1-0.5) gives 32, not
/// 33.
///
/// # Errors
/// The block has no packet, or the redundancy is below 1 or above 1e9.
pub fn coded_packets(block: u32, redundancy: f64) -> Result<u64, DomainError> {
    at_least("the block in packets", block, 1, "1 or more")?;
    require((1.0..=1e9).contains(&redundancy), "the redundancy", redundancy, "1 to 1e9")?;
    Ok(libm::ceil(f64::from(block) * redundancy * (1.0 - 1e-12)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(got: f64, want: f64, decimals: i32) {
        assert!((got - want).abs() <= 0.51 * libm::pow(10.0, f64::from(-decimals)), "{got}, not {want}");
    }

    #[test]
    fn table_i_and_equation_1() {
        let frames = MeshFrames::default();
        near(frames.packet_time().unwrap() * 1e6, 9766.0, 6);
        for (hops, kbps) in [(1, 819.1685), (2, 409.5843), (3, 273.056181)] {
            near(frames.path_capacity(hops, 0.0).unwrap() / 1e3, kbps, 4);
        }
        near(frames.path_capacity(3, 0.0).unwrap() / 1e3, 273.056181, 6);
        // The lengths of RTS and CTS include the PHY header. Adding the PHY header again gives
        // another number.
        let again = MeshFrames { rts_bytes: 44.0 + 24.0, cts_bytes: 38.0 + 24.0, ..frames };
        near(again.path_capacity(3, 0.0).unwrap() / 1e3, 262.726, 3);
        assert_eq!(frames.path_capacity(4, 0.0), frames.path_capacity(9, 0.0));
    }

    #[test]
    fn equation_12() {
        // p (loss of a hop), P (loss of the path), C_path in kbit/s, ratio of C_path to equation
        // (1), R, ceil(16 R).
        for (p, lost, kbps, ratio, r, packets) in [
            (0.0, 0.0, 273.0562, 1.0000, 1.0000, 16),
            (0.01, 0.029701, 267.6134, 0.9801, 1.0306, 17),
            (0.02, 0.058808, 262.2075, 0.9603, 1.0625, 17),
            (0.05, 0.142625, 246.2172, 0.9017, 1.1664, 19),
            (0.08, 0.221312, 230.5801, 0.8444, 1.2842, 21),
            (0.10, 0.271000, 220.3594, 0.8070, 1.3717, 22),
            (0.15, 0.385875, 195.5576, 0.7162, 1.6283, 27),
            (0.20, 0.488000, 171.8911, 0.6295, 1.9531, 32),
        ] {
            let frames = MeshFrames::default();
            let got = frames.path_capacity(3, p).unwrap();
            near(got / 1e3, kbps, 4);
            near(got / frames.path_capacity(3, 0.0).unwrap(), ratio, 4);
            // As printed, equation (12) is L p (1-p)^3 / (T_pkt (1 - (1-p)^3)), where L is the
            // packet length in bits.
            if p > 0.0 {
                let s = libm::pow(1.0 - p, 3.0);
                near(got / (8000.0 * p * s / (9766e-6 * (1.0 - s))), 1.0, 12);
            }
            let path = crate::prediction::path_loss(p, 3).unwrap();
            near(path, lost, 6);
            near(redundancy(path, 10.0).unwrap(), r, 4);
            assert_eq!(coded_packets(16, redundancy(path, 10.0).unwrap()), Ok(packets));
        }
        assert_eq!(MeshFrames::default().path_capacity(3, 1.0), Ok(0.0));
        assert_eq!((redundancy(1.0, 8.0), redundancy(0.5, 8.0)), (Ok(8.0), Ok(2.0)));
        assert_eq!(coded_packets(16, redundancy(0.5, 9.0).unwrap()), Ok(32));
    }

    #[test]
    fn paths_of_different_length() {
        let frames = MeshFrames::default();
        let joint = |joint| frames.joint_capacity(&[3, 2, 3], 0.0, joint).unwrap() / 1e3;
        near(joint(JointCapacity::LongestPath), 273.0562, 4);
        near(joint(JointCapacity::EqualAirtime), (2.0 * 273.05618 + 409.58427) / 3.0, 3);
        // Three packets take 3 + 2 + 3 cycles.
        near(joint(JointCapacity::EqualRates), 3.0 * 8000.0 / (8.0 * 9.766), 3);
        assert!(frames.joint_capacity(&[], 0.0, JointCapacity::LongestPath).is_err());
        assert!(frames.path_capacity(0, 0.0).is_err() && frames.path_capacity(3, f64::NAN).is_err());
        assert_eq!(frames.joint_capacity(&[3, 2], 1.0, JointCapacity::EqualRates), Ok(0.0));
        for wrong in [f64::NAN, -1.0, f64::INFINITY] {
            assert!(MeshFrames { data_bps: wrong, ..frames }.packet_time().is_err());
            assert!(MeshFrames { preamble: wrong, ..frames }.packet_time().is_err());
            assert!(redundancy(wrong, 2.0).is_err() && redundancy(0.1, wrong).is_err());
            assert!(coded_packets(16, wrong).is_err());
        }
        assert!(coded_packets(0, 1.0).is_err());
    }

    proptest! {
        #[test]
        fn capacity_falls_with_loss_and_length(hops in 1u32..20, p in 0.0f64..=1.0, x in 0.0f64..=1.0) {
            let frames = MeshFrames::default();
            let got = frames.path_capacity(hops, p).unwrap();
            let lossier = frames.path_capacity(hops, p + x * (1.0 - p)).unwrap();
            let longer = frames.path_capacity(hops + 1, p).unwrap();
            prop_assert!(lossier <= got * (1.0 + 1e-12) && longer <= got * (1.0 + 1e-12));
            for joint in [JointCapacity::LongestPath, JointCapacity::EqualAirtime, JointCapacity::EqualRates] {
                let of = frames.joint_capacity(&[hops, hops + 1], p, joint).unwrap();
                prop_assert!(of <= got * (1.0 + 1e-12) && of >= longer * (1.0 - 1e-12));
            }
        }
    }
}
