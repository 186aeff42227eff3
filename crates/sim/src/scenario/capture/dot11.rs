//! The bytes of IEEE 802.11 frames, with a radiotap header before each frame.
//!
//! No frame in a capture has its frame check sequence (FCS): a data frame is cut after its headers, so nobody could
//! check the FCS. The radiotap flags say that the FCS is missing, and the lengths do not count the FCS.

use std::time::Duration;

/// An IEEE 802 address.
pub(super) type MacAddress = [u8; 6];

/// The radiotap fields that are always there: TSFT, flags and channel (bits 0, 1 and 3; radiotap.org).
const ALWAYS_PRESENT: u32 = 1 << 0 | 1 << 1 | 1 << 3;
/// The bit of the field "rate".
const HAS_RATE: u32 = 1 << 2;
/// The bit of the field "antenna signal" in dBm.
const HAS_SIGNAL: u32 = 1 << 5;
/// Flag of a channel: complementary code keying, the modulation of 802.11b.
const CHANNEL_CCK: u16 = 0x0020;
/// Flag of a channel: orthogonal frequency-division multiplexing, the modulation of 802.11a and 802.11g.
const CHANNEL_OFDM: u16 = 0x0040;
/// Flag of a channel in the band at 2.4 GHz.
const CHANNEL_2GHZ: u16 = 0x0080;
/// Flag of a channel in the band at 5 GHz.
const CHANNEL_5GHZ: u16 = 0x0100;
/// The rates of 802.11b, bit/s. Other rates count as OFDM.
const RATES_802_11B: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// Bytes of the header of a data frame between stations without an access point.
pub(super) const DATA_HEADER: u32 = 24;
/// Bytes of the LLC and SNAP headers.
pub(super) const LLC_HEADER: u32 = 8;
/// The type of an IPv4 packet.
pub(super) const ETHERTYPE_IPV4: u16 = 0x0800;
/// The type of an XOR frame's body: Local Experimental Ethertype 1 of IEEE 802. Every vendor may use it, and no
/// registration is needed.
pub(super) const ETHERTYPE_XOR: u16 = 0x88b5;

/// What a radiotap header says about a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Radiotap {
    /// When the first bit after the preamble arrives, us.
    pub(super) timestamp: u64,
    /// Rate, bit/s. The header has the rate only if the rate is a multiple of 500 kbit/s and at most 127.5 Mbit/s.
    pub(super) rate: u64,
    /// Carrier frequency, Hz.
    pub(super) frequency: f64,
    /// The signal at the receiver, dBm.
    pub(super) signal: Option<f64>,
}

/// The header of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataHeader {
    /// How long the medium stays reserved after the frame.
    pub(super) reserves: Duration,
    /// Whether the sender has sent a frame with this packet before.
    pub(super) retry: bool,
    /// Receiver, sender, and the identifier of the network (BSSID).
    pub(super) addresses: [MacAddress; 3],
    /// The sequence number, 12 bits.
    pub(super) sequence: u16,
}

/// A control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// A request to send, with the sender's address.
    Rts(MacAddress),
    Cts,
    Ack,
}

impl Radiotap {
    /// Appends the header to `out`. All fields are little-endian, and each is aligned to its size.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let rate = u8::try_from(self.rate / 500_000).ok().filter(|_| self.rate.is_multiple_of(500_000));
        let signal = self.signal.map(|signal| signal.round().clamp(-128.0, 127.0) as i8);
        let mut present = ALWAYS_PRESENT;
        let mut fields = Vec::with_capacity(16);
        fields.extend(self.timestamp.to_le_bytes());
        // Flags: long preamble, no FCS.
        fields.push(0);
        if let Some(rate) = rate {
            present |= HAS_RATE;
            fields.push(rate);
        }
        // The channel is aligned to two bytes.
        fields.resize(fields.len().next_multiple_of(2), 0);
        fields.extend(((self.frequency / 1e6).round() as u16).to_le_bytes());
        fields.extend(self.channel_flags().to_le_bytes());
        if let Some(signal) = signal {
            present |= HAS_SIGNAL;
            fields.push(signal as u8);
        }
        // Version 0, padding, length, fields.
        out.extend([0, 0]);
        out.extend((fields.len() as u16 + 8).to_le_bytes());
        out.extend(present.to_le_bytes());
        out.extend(fields);
    }

    fn channel_flags(&self) -> u16 {
        let modulation = if RATES_802_11B.contains(&self.rate) { CHANNEL_CCK } else { CHANNEL_OFDM };
        let band = match self.frequency {
            hertz if (2.4e9..2.5e9).contains(&hertz) => CHANNEL_2GHZ,
            hertz if (4.9e9..5.95e9).contains(&hertz) => CHANNEL_5GHZ,
            _ => 0,
        };
        modulation | band
    }
}

impl DataHeader {
    /// Appends the MAC header of a data frame, and LLC and SNAP headers with `ethertype`.
    pub(super) fn write(&self, ethertype: u16, out: &mut Vec<u8>) {
        out.extend([0x08, if self.retry { 0x08 } else { 0 }]);
        out.extend(duration_field(self.reserves));
        out.extend(self.addresses.as_flattened());
        out.extend((self.sequence << 4).to_le_bytes());
        out.extend([0xaa, 0xaa, 0x03, 0, 0, 0]);
        out.extend(ethertype.to_be_bytes());
    }
}

impl Control {
    /// Appends the frame for `receiver`.
    pub(super) fn write(self, reserves: Duration, receiver: MacAddress, out: &mut Vec<u8>) {
        let kind = match self {
            Control::Rts(_) => 0xb4,
            Control::Cts => 0xc4,
            Control::Ack => 0xd4,
        };
        out.extend([kind, 0]);
        out.extend(duration_field(reserves));
        out.extend(receiver);
        if let Control::Rts(sender) = self {
            out.extend(sender);
        }
    }
}

/// The duration field: microseconds, rounded up, at most 32767 (IEEE 802.11-2016, 9.2.4.2).
fn duration_field(reserves: Duration) -> [u8; 2] {
    (reserves.as_nanos().div_ceil(1000).min(32_767) as u16).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radiotap_fields_are_aligned_and_the_length_counts_them() {
        let full = Radiotap { timestamp: 0x0102, rate: 11_000_000, frequency: 914e6, signal: Some(-60.4) };
        let mut out = Vec::new();
        full.write(&mut out);
        let want = [0, 0, 23, 0, 0x2f, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 22, 0x92, 3, 0x20, 0, 196];
        assert_eq!(out, want);
        // If the rate is left out, a byte of padding takes its place before the channel.
        let bare = Radiotap { timestamp: 0, rate: 1_234_567, frequency: 2.412e9, signal: None };
        out.clear();
        bare.write(&mut out);
        assert_eq!((out.len(), &out[..8]), (22, &[0, 0, 22, 0, 0x0b, 0, 0, 0][..]));
        assert_eq!(out[18..22], [0x6c, 9, 0xc0, 0]);
    }

    #[test]
    fn control_frames_have_their_lengths_without_fcs() {
        let frame = |control: Control, reserves| {
            let mut out = Vec::new();
            control.write(reserves, [2, 0, 0, 0, 0, 7], &mut out);
            out
        };
        let rts = frame(Control::Rts([2, 0, 0, 0, 0, 1]), Duration::from_micros(1500));
        assert_eq!(rts, [0xb4, 0, 0xdc, 5, 2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1]);
        let cts = frame(Control::Cts, Duration::from_nanos(1001));
        assert_eq!(cts, [0xc4, 0, 2, 0, 2, 0, 0, 0, 0, 7]);
        let ack = frame(Control::Ack, Duration::ZERO);
        assert_eq!(ack, [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 7]);
        // The field has 15 bits.
        assert_eq!(frame(Control::Ack, Duration::from_secs(1))[2..4], [0xff, 0x7f]);
    }

    #[test]
    fn a_data_header_has_retry_bit_sequence_number_and_snap() {
        let [to, from, network] = [1, 2, 3].map(|k| [2, 0, 0, 0, 0, k]);
        let header = DataHeader {
            reserves: Duration::from_micros(258),
            retry: true,
            addresses: [to, from, network],
            sequence: 0xabc,
        };
        let mut out = Vec::new();
        header.write(ETHERTYPE_IPV4, &mut out);
        assert_eq!(out.len() as u32, DATA_HEADER + LLC_HEADER);
        assert_eq!(out[..4], [0x08, 0x08, 2, 1]);
        assert_eq!([&out[4..10], &out[10..16], &out[16..22]], [&to[..], &from[..], &network[..]]);
        assert_eq!(out[22..], [0xc0, 0xab, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    }
}
