//! The number of base stations by Little's law: equations (21) and (22) of paper 000, with the
//! throughputs of section X.

use crate::domain::{DomainError, at_least, not_negative, positive, require, share};
use crate::tcp::Tcp;
use crate::tcpnc::{CodedFlow, FlowDuration};

/// A cellular network: users who start transfers at random, and the stations that serve them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellularNetwork {
    /// N: the number of users.
    pub users: u32,
    /// q: the rate at which a user starts transfers, 1/s.
    pub arrivals_per_s: f64,
    /// mu_f: the mean size of a file, bits.
    pub file_bits: f64,
    /// B: the bandwidth of each active user, bit/s. The bandwidth includes redundancy and losses.
    pub user_bps: f64,
    /// B_max: the bandwidth of a station, bit/s.
    pub station_bps: f64,
    /// N_max: the largest number of active users that a station serves at the same time.
    pub station_users: u32,
    /// p: the probability that a packet is lost.
    pub loss: f64,
    /// The protocol of the transfers.
    pub protocol: Protocol,
}

/// The protocol of a transfer. The protocol determines the throughput T of a user with bandwidth B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocol {
    /// T = B at any loss: the best case of section IX.
    Ideal,
    /// TCP: T by equation (16), and at most B (1-p).
    Tcp {
        /// The round-trip time, s.
        rtt: f64,
        /// The length of the first time-out, s.
        first_time_out: f64,
        /// W_max: the largest window, packets.
        max_window: f64,
        /// The size of a packet, bytes.
        packet_bytes: f64,
    },
    /// TCP/NC: T by equation (20), and at most B (1-p).
    TcpNc {
        /// SRTT: the smoothed round-trip time, s.
        srtt: f64,
        /// W_max: the largest window, packets.
        max_window: f64,
        /// `E[W_1]`: the window at the start, packets.
        first_window: f64,
        /// The size of a packet, bytes.
        packet_bytes: f64,
        /// R: the redundancy. The paper's figures have R = 1/(1-p).
        redundancy: f64,
        /// The duration of a flow. The paper does not state the duration. The paper's plateau of 4
        /// Mbit/s needs [`FlowDuration::Infinite`].
        duration: FlowDuration,
        /// Whether the user's bandwidth pays for redundancy beyond 1/(1-p), so that T <= B/R as in
        /// section VI-C. Section X does not charge for this redundancy.
        redundancy_charged: bool,
    },
}

/// The stations that a [`CellularNetwork`] needs, and the values behind this number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationsNeeded {
    /// T: the throughput of an active user, bit/s.
    pub throughput_bps: f64,
    /// The share of the time for which a user is active: equation (21). This is Little's law for
    /// the transfer in service. Further transfers of the user may wait.
    pub active_fraction: f64,
    /// N_bs, the number of stations as a real number: equation (22).
    pub stations: f64,
    /// The number of stations to build: N_bs rounded up.
    pub whole_stations: f64,
}

impl Default for CellularNetwork {
    /// The values of figs. 17a and 18a: 1000 users, files of 3.2024 MB (given in bits), 300 Mbit/s
    /// and 200 users a station, no loss, q = 0.02, and 1 Mbit/s for each user.
    fn default() -> CellularNetwork {
        CellularNetwork {
            users: 1000,
            arrivals_per_s: 0.02,
            file_bits: 3_202_400.0 * 8.0,
            user_bps: 1e6,
            station_bps: 300e6,
            station_users: 200,
            loss: 0.0,
            protocol: Protocol::Ideal,
        }
    }
}

impl Protocol {
    /// TCP as in section X: a window of 50 packets of 1000 bytes, a round-trip time of 0.1 s, and a
    /// first time-out of 3 s.
    pub const PAPER_TCP: Protocol =
        Protocol::Tcp { rtt: 0.1, first_time_out: 3.0, max_window: 50.0, packet_bytes: 1000.0 };

    /// TCP/NC as in section X, with as much redundancy as `loss` needs.
    pub fn paper_tcp_nc(loss: f64) -> Protocol {
        Protocol::TcpNc {
            srtt: 0.1,
            max_window: 50.0,
            first_window: 1.0,
            packet_bytes: 1000.0,
            // At p = 1 nothing arrives with any R.
            redundancy: if loss < 1.0 { 1.0 / (1.0 - loss) } else { 1.0 },
            duration: FlowDuration::Infinite,
            redundancy_charged: false,
        }
    }

    /// The same protocol with a round-trip time of `seconds`.
    pub fn with_rtt(mut self, seconds: f64) -> Protocol {
        match &mut self {
            Protocol::Ideal => {}
            Protocol::Tcp { rtt, .. } | Protocol::TcpNc { srtt: rtt, .. } => *rtt = seconds,
        }
        self
    }

    /// The same protocol with a largest window of `packets`.
    pub fn with_max_window(mut self, packets: f64) -> Protocol {
        match &mut self {
            Protocol::Ideal => {}
            Protocol::Tcp { max_window, .. } | Protocol::TcpNc { max_window, .. } => *max_window = packets,
        }
        self
    }
}

impl CellularNetwork {
    /// Computes the stations that the users need, and the values behind this number.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn predict(&self) -> Result<StationsNeeded, DomainError> {
        self.check()?;
        let throughput_bps = self.throughput()?;
        let active_fraction = self.active_fraction(throughput_bps);
        let stations = f64::from(self.users) * active_fraction * self.share_of_station();
        Ok(StationsNeeded { throughput_bps, active_fraction, stations, whole_stations: whole(stations) })
    }

    /// The number of users that `stations` stations can serve: the largest N for which equation
    /// (22) gives at most `stations`. `None` if users transfer nothing and so need no station.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn users_served(&self, stations: u32) -> Result<Option<f64>, DomainError> {
        self.check()?;
        let each = self.active_fraction(self.throughput()?) * self.share_of_station();
        if each == 0.0 {
            return Ok(None);
        }
        // A number within a rounding error of an integer counts as the integer.
        Ok(Some(libm::floor(f64::from(stations) / each * (1.0 + 1e-12))))
    }

    /// The power of the stations to build, in watts, at `station_w` watts each. Section VII quotes
    /// 2 to 3 kW.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn power_w(&self, station_w: f64) -> Result<f64, DomainError> {
        not_negative("the power of a station in watts", station_w)?;
        Ok(self.predict()?.whole_stations * station_w)
    }

    /// The load q mu_f / T of a user: the number of transfers in service by Little's law, without
    /// the limit of 1 in equation (21). Infinite at T = 0.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn load(&self) -> Result<f64, DomainError> {
        self.check()?;
        Ok(self.load_at(self.throughput()?))
    }

    /// The larger of the two shares of a station that an active user takes: max{B/B_max, 1/N_max}
    /// in equation (22).
    fn share_of_station(&self) -> f64 {
        (self.user_bps / self.station_bps).max(1.0 / f64::from(self.station_users))
    }

    fn load_at(&self, throughput: f64) -> f64 {
        let offered = self.arrivals_per_s * self.file_bits;
        // A user without transfers is never active, not even at T = 0.
        if offered == 0.0 { 0.0 } else { offered / throughput }
    }

    fn active_fraction(&self, throughput: f64) -> f64 {
        self.load_at(throughput).min(1.0)
    }

    fn throughput(&self) -> Result<f64, DomainError> {
        let arrives = self.user_bps * (1.0 - self.loss);
        match self.protocol {
            Protocol::Ideal => Ok(self.user_bps),
            Protocol::Tcp { rtt, first_time_out, max_window, packet_bytes } => {
                positive("the round-trip time in seconds", rtt)?;
                positive("the time-out in seconds", first_time_out)?;
                positive("the largest window in packets", max_window)?;
                positive("the packet size in bytes", packet_bytes)?;
                let tcp = Tcp { rtt, time_out: first_time_out / rtt, window: max_window };
                Ok(arrives.min(tcp.throughput(self.loss) * packet_bytes * 8.0))
            }
            Protocol::TcpNc {
                srtt,
                max_window,
                first_window,
                packet_bytes,
                redundancy,
                duration,
                redundancy_charged,
            } => {
                let coded = CodedFlow {
                    loss: self.loss,
                    redundancy,
                    srtt,
                    first_window,
                    max_window,
                    packet_bytes,
                    duration,
                    ..CodedFlow::default()
                };
                let paid = if redundancy_charged { self.user_bps / redundancy } else { f64::INFINITY };
                Ok(arrives.min(paid).min(coded.predict()?.throughput_bps))
            }
        }
    }

    fn check(&self) -> Result<(), DomainError> {
        at_least("the number of users", self.users, 1, "1 or more")?;
        not_negative("the transfers started in a second", self.arrivals_per_s)?;
        not_negative("the mean file size in bits", self.file_bits)?;
        positive("the bandwidth of a user in bits a second", self.user_bps)?;
        positive("the bandwidth of a station in bits a second", self.station_bps)?;
        at_least("the number of users of a station", self.station_users, 1, "1 or more")?;
        share("the loss probability", self.loss)?;
        let part = self.user_bps / self.station_bps;
        require(part.is_finite(), "the bandwidth of a user over that of a station", part, "finite")?;
        let offered = self.arrivals_per_s * self.file_bits;
        require(offered.is_finite(), "the bits that a user asks for in a second", offered, "finite")
    }
}

/// `stations` rounded up to an integer. A number within a rounding error of an integer counts as
/// that integer.
pub(super) fn whole(stations: f64) -> f64 {
    libm::ceil(stations * (1.0 - 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LARGE: f64 = 5_082_080.0 * 8.0;

    fn stations(network: CellularNetwork) -> f64 {
        network.predict().unwrap().stations
    }

    #[test]
    fn figures_17() {
        let at = |q: f64, mbps: f64, file_bits: f64| {
            stations(CellularNetwork {
                arrivals_per_s: q,
                user_bps: mbps * 1e6,
                file_bits,
                ..CellularNetwork::default()
            })
        };
        // Values computed independently; figs. 17a and 17b.
        for (file, q, mbps, want) in [
            (25_619_200.0, 0.02, 1.0, 2.562),
            (25_619_200.0, 0.03, 3.0, 2.562),
            (25_619_200.0, 0.04, 0.5, 5.0),
            (LARGE, 0.02, 1.0, 4.066),
            (LARGE, 0.03, 1.5, 4.066),
            (LARGE, 0.03, 3.0, 4.066),
            (LARGE, 0.04, 3.0, 5.421),
        ] {
            assert!(
                (at(q, mbps, file) - want).abs() <= 1.1e-3,
                "file {file} q {q} B {mbps}: wrong number of stations {}",
                at(q, mbps, file)
            );
        }
        // Fig. 17b at q = 0.03: 5 stations up to 1.22 Mbit/s, 6.1/B up to 1.5 Mbit/s, 4.07 beyond.
        // At q = 0.04: 5 stations, then 1000 B / 300, then 5.42.
        for (q, mbps, want) in [
            (0.03, 0.1, 5.0),
            (0.03, 1.2192, 5.0),
            (0.03, 1.3, 6.0985 / 1.3),
            (0.03, 1.5, 4.0657),
            (0.03, 4.0, 4.0657),
            (0.04, 1.5, 5.0),
            (0.04, 1.6, 1600.0 / 300.0),
            (0.04, 1.7, 5.4209),
            (0.04, 4.0, 5.4209),
        ] {
            assert!(
                (at(q, mbps, LARGE) - want).abs() < 1e-3,
                "q {q} B {mbps}: wrong number of stations {}",
                at(q, mbps, LARGE)
            );
        }
        // The paper prints the number for 5.08 and 3.2 MB.
        assert!((at(0.04, 4.0, 5.08e6 * 8.0) - 5.4187).abs() <= 5.1e-5);
        assert!((at(0.03, 4.0, 5.08e6 * 8.0) - 4.064).abs() <= 5.1e-4);
    }

    #[test]
    fn loads_of_section_x() {
        // T_tcp in Mbit/s, and the loads at q = 0.01 to 0.04 for both files. Values computed
        // independently.
        for (p, mbps, small, large) in [
            (0.0, 4.0, [0.064, 0.128, 0.192, 0.256], [0.102, 0.203, 0.305, 0.406]),
            (0.01, 0.8092, [0.316, 0.633, 0.949, 1.265], [0.502, 1.004, 1.507, 2.009]),
            (0.02, 0.5314, [0.482, 0.964, 1.445, 1.927], [0.765, 1.530, 2.294, 3.059]),
            (0.03, 0.4104, [0.624, 1.248, 1.872, 2.495], [0.990, 1.981, 2.971, 3.961]),
            (0.04, 0.3392, [0.755, 1.509, 2.264, 3.019], [1.198, 2.396, 3.594, 4.793]),
            (0.05, 0.2912, [0.879, 1.758, 2.637, 3.517], [1.396, 2.791, 4.187, 5.582]),
        ] {
            for (file, loads) in [(3.2e6, small), (5.08e6, large)] {
                for (q, want) in [0.01, 0.02, 0.03, 0.04].into_iter().zip(loads) {
                    let network = CellularNetwork {
                        arrivals_per_s: q,
                        file_bits: file * 8.0,
                        user_bps: 8e6,
                        loss: p,
                        protocol: Protocol::PAPER_TCP,
                        ..CellularNetwork::default()
                    };
                    let tcp = network.predict().unwrap().throughput_bps / 1e6;
                    assert!((tcp - mbps).abs() <= 1.1e-4, "p {p}: wrong throughput {tcp} Mbit/s");
                    let load = network.load().unwrap();
                    assert!((load - want).abs() <= 1.1e-3, "p {p} q {q} file {file}: load {load}, not {want}");
                }
            }
        }
    }

    #[test]
    fn coded_users_follow_their_bandwidth() {
        for p in [0.0, 0.02, 0.05] {
            let protocol = Protocol::paper_tcp_nc(p);
            let at = |mbps: f64| {
                let network = CellularNetwork { loss: p, protocol, user_bps: mbps * 1e6, ..CellularNetwork::default() };
                network.predict().unwrap().throughput_bps / 1e6
            };
            assert!((at(2.0) - 2.0 * (1.0 - p)).abs() < 1e-9 && (at(9.0) - 4.0).abs() < 1e-9);
        }
        // Redundancy above the need is free in section X, and paid for in section VI-C.
        let Protocol::TcpNc { srtt, max_window, first_window, packet_bytes, duration, .. } =
            Protocol::paper_tcp_nc(0.1)
        else {
            panic!("TCP/NC")
        };
        for (redundancy_charged, want) in [(false, 0.9e6), (true, 0.8e6)] {
            let protocol = Protocol::TcpNc {
                srtt,
                max_window,
                first_window,
                packet_bytes,
                duration,
                redundancy: 1.25,
                redundancy_charged,
            };
            let got =
                CellularNetwork { loss: 0.1, protocol, ..CellularNetwork::default() }.predict().unwrap().throughput_bps;
            assert!((got - want).abs() < 1e-3, "{got} bit/s, not {want}");
        }
    }

    #[test]
    fn users_and_power() {
        let network = CellularNetwork { arrivals_per_s: 0.04, user_bps: 0.5e6, ..CellularNetwork::default() };
        let got = network.predict().unwrap();
        assert_eq!((got.active_fraction, got.stations, got.whole_stations), (1.0, 5.0, 5.0));
        assert_eq!(network.users_served(5), Ok(Some(1000.0)));
        assert_eq!(network.power_w(2500.0), Ok(12_500.0));
        let idle = CellularNetwork { arrivals_per_s: 0.0, ..network };
        assert_eq!((idle.users_served(5), idle.power_w(2500.0)), (Ok(None), Ok(0.0)));
        let dead = CellularNetwork { loss: 1.0, protocol: Protocol::PAPER_TCP, ..network };
        assert_eq!(dead.predict().unwrap().active_fraction, 1.0);
        assert!(dead.load().unwrap().is_infinite());
    }

    proptest! {
        #[test]
        fn as_many_users_as_the_stations_serve(
            q in 1e-4f64..0.1, mbps in 0.01f64..10.0, p in 0.0f64..0.3, k in 1u32..50, coded in any::<bool>(),
        ) {
            let protocol = if coded { Protocol::paper_tcp_nc(p) } else { Protocol::PAPER_TCP };
            let network = CellularNetwork { arrivals_per_s: q, user_bps: mbps * 1e6, loss: p, protocol, ..CellularNetwork::default() };
            let users = network.users_served(k).unwrap().unwrap();
            prop_assume!(users < 4e9);
            let with = |users: f64| stations(CellularNetwork { users: users as u32, ..network });
            prop_assert!(users < 1.0 || with(users) <= f64::from(k) * (1.0 + 1e-9));
            let more = with(users + 1.0);
            prop_assert!(more > f64::from(k) * (1.0 - 1e-9));
            // Coding never needs more stations.
            let uncoded = stations(CellularNetwork { protocol: Protocol::PAPER_TCP, ..network });
            prop_assert!(stations(network) <= uncoded * (1.0 + 1e-12));
        }

        #[test]
        fn wild_input_is_an_error_or_an_answer(
            x in prop::array::uniform8(prop::sample::select(vec![
                f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-310, 1e-9, 0.5, 1.0, 3.0, 1e300,
            ])),
            n in prop::array::uniform3(prop::sample::select(vec![0, 1, 200, u32::MAX])), which in 0usize..3,
        ) {
            let protocol = [
                Protocol::Ideal,
                Protocol::Tcp { rtt: x[5], first_time_out: x[6], max_window: x[7], packet_bytes: 1000.0 },
                Protocol::TcpNc {
                    srtt: x[5], max_window: x[6], first_window: 1.0, packet_bytes: 1000.0, redundancy: x[7],
                    duration: FlowDuration::Infinite, redundancy_charged: true,
                },
            ][which];
            let network = CellularNetwork {
                users: n[0], arrivals_per_s: x[0], file_bits: x[1], user_bps: x[2], station_bps: x[3],
                station_users: n[1], loss: x[4], protocol,
            };
            if let Ok(got) = network.predict() {
                prop_assert!(got.stations >= 0.0 && got.whole_stations >= 0.0 && got.throughput_bps >= 0.0
                    && (0.0..=1.0).contains(&got.active_fraction), "{network:?}: a result is outside its range: {got:?}");
                prop_assert!(network.users_served(n[2]).unwrap().is_none_or(|users| users >= 0.0));
                prop_assert!(network.load().unwrap() >= 0.0);
            }
        }
    }
}
