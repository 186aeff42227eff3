//! The time that an exchange takes on the air: tables I and II of paper 002. An exchange is a frame
//! and the MAC acknowledgments that answer it. A coded frame (data XOR a TCP acknowledgment) has
//! two receivers, so every exchange counts two MAC acknowledgments.

use crate::domain::{DomainError, not_negative, positive};

/// Frame lengths, rates and gaps. [`Default`] has the values of tables I and II.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Airtime {
    /// The payload of a TCP data segment, bytes.
    pub tcp_data_bytes: f64,
    /// The length of a TCP acknowledgment, bytes. Table II counts the TCP and IP headers in
    /// addition.
    pub tcp_ack_bytes: f64,
    /// The length of TCP and IP headers, bytes.
    pub ip_header_bytes: f64,
    /// The length of the MAC header, bytes. Table II of the paper follows from 47 bytes. The
    /// example of section III-B, with its attempt ratios 4.108 and 3.166, follows from 44 bytes.
    pub mac_header_bytes: f64,
    /// The length of the MAC acknowledgment, bytes. Table II counts no preamble and no PHY header
    /// for this acknowledgment, so exchanges are shorter than real exchanges.
    pub mac_ack_bytes: f64,
    /// The length of PHY preamble and header, bytes.
    pub phy_bytes: f64,
    /// The rate of data frames, bit/s.
    pub data_bps: f64,
    /// The rate of MAC acknowledgments, bit/s.
    pub basic_bps: f64,
    /// The rate of PHY preamble and header, bit/s.
    pub phy_bps: f64,
    /// The short interframe space (SIFS), s.
    pub sifs: f64,
    /// The distributed interframe space (DIFS), s.
    pub difs: f64,
    /// The length of a slot, s.
    pub slot: f64,
    /// The smallest contention window (CW_min), slots.
    pub cw_min: f64,
}

impl Default for Airtime {
    fn default() -> Airtime {
        Airtime {
            tcp_data_bytes: 1460.0,
            tcp_ack_bytes: 40.0,
            ip_header_bytes: 40.0,
            mac_header_bytes: 47.0,
            mac_ack_bytes: 18.0,
            phy_bytes: 24.0,
            data_bps: 11e6,
            basic_bps: 2e6,
            phy_bps: 1e6,
            sifs: 10e-6,
            difs: 50e-6,
            slot: 20e-6,
            cw_min: 31.0,
        }
    }
}

/// The times and ratios that follow from an [`Airtime`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// T_TCP-DATA: the time of a data exchange, coded or plain, with both MAC acknowledgments, s.
    pub data: f64,
    /// T_TCP-ACK: the time of an exchange of a TCP acknowledgment, s.
    pub ack: f64,
    /// eta = T_TCP-ACK / T_TCP-DATA, equation (5).
    pub ack_ratio: f64,
    /// The mean back-off of an attempt, DIFS + CW_min/2 slots, s.
    pub back_off: f64,
    /// The largest attempt ratio x_i = beta_i / mu_i of a data link: T_TCP-DATA divided by the mean
    /// back-off. beta_i is the rate of attempts on link i, and 1/mu_i the mean time of an exchange.
    pub attempt_cap: f64,
    /// The largest attempt ratio of the reverse link, which carries TCP acknowledgments. This ratio
    /// never limits the throughput.
    pub ack_attempt_cap: f64,
    /// The number of bits that a data exchange carries at the network layer.
    pub packet_bits: f64,
    /// The throughput of a link that always carries data: `packet_bits` divided by T_TCP-DATA,
    /// bit/s. In the paper this is tau* / rho*.
    pub full_bps: f64,
    /// EIFS, the extended interframe space, s: SIFS + DIFS + PHY + a MAC acknowledgment of 14 bytes
    /// at the PHY header's rate. This reading gives the 364 us of table I. At the basic rate, EIFS
    /// would be 308 us.
    pub eifs: f64,
}

impl Airtime {
    /// Computes the durations of section IV-A of the paper, and their ratios.
    ///
    /// # Errors
    /// A length or gap is negative or not finite, a rate is not positive, or an exchange or the
    /// mean back-off takes no time.
    pub fn exchange(&self) -> Result<Exchange, DomainError> {
        not_negative("the TCP data in bytes", self.tcp_data_bytes)?;
        not_negative("the TCP acknowledgment in bytes", self.tcp_ack_bytes)?;
        not_negative("the TCP and IP headers in bytes", self.ip_header_bytes)?;
        not_negative("the MAC header in bytes", self.mac_header_bytes)?;
        not_negative("the MAC acknowledgment in bytes", self.mac_ack_bytes)?;
        not_negative("the PHY header in bytes", self.phy_bytes)?;
        positive("the data rate in bits a second", self.data_bps)?;
        positive("the basic rate in bits a second", self.basic_bps)?;
        positive("the rate of the PHY header in bits a second", self.phy_bps)?;
        not_negative("SIFS in seconds", self.sifs)?;
        not_negative("DIFS in seconds", self.difs)?;
        not_negative("the slot in seconds", self.slot)?;
        not_negative("CW_min in slots", self.cw_min)?;
        let phy = self.phy_bytes * 8.0 / self.phy_bps;
        let headers = phy + (self.mac_header_bytes + self.ip_header_bytes) * 8.0 / self.data_bps;
        let answered = headers + 2.0 * self.sifs + 2.0 * self.mac_ack_bytes * 8.0 / self.basic_bps;
        let data = answered + self.tcp_data_bytes * 8.0 / self.data_bps;
        let ack = answered + self.tcp_ack_bytes * 8.0 / self.data_bps;
        let back_off = self.difs + self.cw_min / 2.0 * self.slot;
        positive("the time of a data exchange in seconds", data)?;
        positive("the time of an exchange of an acknowledgment in seconds", ack)?;
        positive("the mean back-off in seconds", back_off)?;
        let packet_bits = (self.tcp_data_bytes + self.ip_header_bytes) * 8.0;
        Ok(Exchange {
            data,
            ack,
            ack_ratio: ack / data,
            back_off,
            attempt_cap: data / back_off,
            ack_attempt_cap: ack / back_off,
            packet_bits,
            full_bps: packet_bits / data,
            eifs: self.sifs + self.difs + phy + 14.0 * 8.0 / self.phy_bps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_iv_a() {
        let got = Airtime::default().exchange().unwrap();
        for (value, want, within) in [
            (got.data * 1e6, 1481.0909, 5.1e-5),
            (got.ack * 1e6, 448.3636, 5.1e-5),
            (got.ack_ratio, 0.302725, 5.1e-7),
            (got.full_bps / 1e6, 8.102136, 5.1e-7),
            (got.eifs * 1e6, 364.0, 1e-9),
            (got.attempt_cap, 4.114141, 5.1e-7),
            (got.ack_attempt_cap, 1.2455, 5.1e-5),
            (got.back_off * 1e6, 360.0, 1e-9),
        ] {
            assert!((value - want).abs() <= within, "{value}, not {want}");
        }
        // The example of section III-B was computed with another MAC header.
        let got = Airtime { mac_header_bytes: 44.0, ..Airtime::default() }.exchange().unwrap();
        assert!((got.attempt_cap - 4.108081).abs() <= 5.1e-7 && (got.ack_ratio - 0.301697).abs() <= 5.1e-7);
    }

    #[test]
    fn wrong_lengths_and_rates() {
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(Airtime { tcp_data_bytes: wrong, ..Airtime::default() }.exchange().is_err());
            assert!(Airtime { data_bps: wrong, ..Airtime::default() }.exchange().is_err());
            assert!(Airtime { sifs: wrong, ..Airtime::default() }.exchange().is_err());
        }
        let error = Airtime { basic_bps: 0.0, ..Airtime::default() }.exchange().unwrap_err();
        assert!(error.to_string().contains("basic rate"), "wrong message: {error}");
        assert!(Airtime { cw_min: 0.0, difs: 0.0, ..Airtime::default() }.exchange().is_err());
    }
}
