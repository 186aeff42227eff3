//! Propagation: which stations hear a sender, how strongly, and how much later.

use super::config::{LIGHT, WifiConfig};
use std::f64::consts::PI;
use std::time::Duration;

/// The place of a station, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Along the string.
    pub x: f64,
    /// Across the string.
    pub y: f64,
}

impl Position {
    /// The distance to another place, in metres.
    pub fn distance(self, other: Position) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

/// A station that hears a sender: it senses the sender's frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hearer {
    /// The number of the station.
    pub(super) station: u32,
    /// How long a frame travels to the station.
    pub(super) delay: Duration,
    /// The received power divided by the sent power.
    pub(super) power: f64,
    /// Whether the station can decode a frame that nothing disturbs.
    pub(super) decodes: bool,
}

/// For each station, the stations that hear it, the nearest first.
pub(super) fn hearers(config: &WifiConfig, places: &[Position]) -> Vec<Vec<Hearer>> {
    let heard_from = |from: usize| {
        let mut hearers: Vec<Hearer> = (0..places.len())
            .filter(|to| *to != from)
            .filter_map(|to| {
                let distance = places[from].distance(places[to]);
                (distance <= config.sense_range).then(|| Hearer {
                    station: to as u32,
                    delay: Duration::from_nanos((distance / LIGHT * 1e9) as u64),
                    power: power(config, distance),
                    decodes: distance <= config.receive_range,
                })
            })
            .collect();
        hearers.sort_by_key(|hearer| (hearer.delay, hearer.station));
        hearers
    };
    (0..places.len()).map(heard_from).collect()
}

/// The received power divided by the sent power at a distance of `distance` metres. The two-ray ground model with
/// antennas of gain 1 gives this ratio.
///
/// Up to the crossover distance, the power falls with the square of the distance (Friis). Beyond the crossover
/// distance, it falls with the fourth power of the distance. Both formulas agree at the crossover distance.
pub(super) fn power(config: &WifiConfig, distance: f64) -> f64 {
    let (height, wavelength) = (config.antenna_height, LIGHT / config.frequency);
    let crossover = 4.0 * PI * height * height / wavelength;
    if distance <= crossover {
        let spread = 4.0 * PI * distance.max(1e-3) / wavelength;
        1.0 / (spread * spread)
    } else {
        let spread = distance * distance / (height * height);
        1.0 / (spread * spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(nodes: usize) -> Vec<Position> {
        (0..nodes).map(|k| Position { x: 200.0 * k as f64, y: 0.0 }).collect()
    }

    #[test]
    fn power_falls_with_the_fourth_power_and_joins_at_the_crossover() {
        let config = WifiConfig::ns2();
        let ratio = power(&config, 200.0) / power(&config, 400.0);
        assert!((ratio - 16.0).abs() < 1e-9, "{ratio}");
        let crossover = 86.142;
        let jump = power(&config, crossover - 1e-3) / power(&config, crossover + 1e-3);
        assert!((jump - 1.0).abs() < 1e-3, "{jump}");
    }

    #[test]
    fn a_station_of_a_string_is_heard_two_hops_away_and_decoded_one_hop_away() {
        let heard = hearers(&WifiConfig::ns2(), &string(6));
        let of = |k: usize| heard[k].iter().map(|h| (h.station, h.decodes)).collect::<Vec<_>>();
        assert_eq!(of(0), [(1, true), (2, false)]);
        assert_eq!(of(2), [(1, true), (3, true), (0, false), (4, false)]);
        assert_eq!(heard[2][0].delay, Duration::from_nanos(667));
    }
}
