//! The interference range k of each node of a string, in hops (paper 002, section II-A). A
//! transmitter up to k hops away disturbs reception at the node.

use crate::domain::{DomainError, positive, require};

/// The reason why a node cannot receive while another node transmits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interference {
    /// The other transmitter is within this distance, m, so the node senses its carrier. ns-2 has
    /// 550 m. With neighbours 200 m apart this gives the paper's k = 2.
    CarrierSense(f64),
    /// The ratio of signal to interference and noise (SINR) is too small: the paper's definition.
    /// With ns-2's capture ratio of 10 and exponent of 4, neighbours at equal distances give k = 1.
    /// The reason is that an interferer two hops away leaves an SINR of 2^4, which is above 10.
    Sinr(Radio),
}

/// A radio with path loss by a power law, as in the definition of k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// beta: the smallest ratio of signal to interference and noise at which a frame is received.
    /// The value is a plain number, not dB.
    pub capture: f64,
    /// zeta: the exponent of the power law.
    pub exponent: f64,
    /// N_0: the noise power divided by the transmit power.
    pub noise: f64,
    /// d_0: the distance at which the power law starts, m.
    pub reference: f64,
}

/// Computes k for each node of a string. `spacings` has the distances between neighbours, m. It has
/// one value less than the number of nodes.
///
/// k is counted on both sides of the node, and the larger count is used. k is at least 1, because
/// neighbours hear each other by definition. k is at most the number of nodes on that side.
///
/// # Errors
/// There is no spacing, a spacing is not positive, or a range or radio is not positive. It is also
/// an error if a neighbour cannot be heard even without interference.
pub fn interference_range(spacings: &[f64], range: Interference) -> Result<Vec<u32>, DomainError> {
    require(!spacings.is_empty(), "the number of spacings", 0.0, "1 or more")?;
    for spacing in spacings {
        positive("the spacing of two nodes in metres", *spacing)?;
    }
    if let Interference::Sinr(radio) = range {
        positive("the capture ratio", radio.capture)?;
        positive("the exponent of the path loss", radio.exponent)?;
        require(radio.noise >= 0.0 && radio.noise.is_finite(), "the noise", radio.noise, "0 or more, and finite")?;
        positive("the reference distance in metres", radio.reference)?;
    }
    let nodes = spacings.len() + 1;
    let mut positions = vec![0.0; nodes];
    for (i, spacing) in spacings.iter().enumerate() {
        positions[i + 1] = positions[i] + spacing;
    }
    let mut ranges = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let metres = match range {
            Interference::CarrierSense(metres) => {
                positive("the carrier-sense range in metres", metres)?;
                metres
            }
            Interference::Sinr(radio) => {
                // The node must receive the weaker of its two neighbours.
                let sides = [node.checked_sub(1), Some(node)].into_iter().flatten();
                let link = sides.filter_map(|i| spacings.get(i)).fold(0.0f64, |far, near| far.max(*near));
                radio.reach(link)?
            }
        };
        let before = positions[..node].iter().rev().take_while(|x| positions[node] - *x <= metres).count();
        let behind = positions[node + 1..].iter().take_while(|x| *x - positions[node] <= metres).count();
        ranges.push(before.max(behind).max(1) as u32);
    }
    Ok(ranges)
}

impl Radio {
    /// The distance up to which an interferer disturbs the reception over a link of `link` metres,
    /// m. Up to this distance SINR < beta.
    fn reach(&self, link: f64) -> Result<f64, DomainError> {
        let signal = libm::pow(link / self.reference, -self.exponent);
        // The interference at which SINR = beta. At this interference the frame is received, so the
        // result is slightly less than the distance of this interference.
        let most = signal / self.capture - self.noise;
        require(
            most > 0.0,
            "the spacing of two nodes in metres",
            link,
            "short enough to be received without interference",
        )?;
        let reach = self.reference * libm::pow(most, -1.0 / self.exponent);
        Ok(reach * (1.0 - 1e-12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS2: Radio = Radio { capture: 10.0, exponent: 4.0, noise: 0.0, reference: 1.0 };

    #[test]
    fn equal_spacing() {
        let spacings = [200.0; 9];
        assert_eq!(interference_range(&spacings, Interference::CarrierSense(550.0)), Ok(vec![2; 10]));
        assert_eq!(interference_range(&spacings, Interference::Sinr(NS2)), Ok(vec![1; 10]));
        // A capture of more than 16 gives k = 2. The SINR is 16 at two hops and 81 at three.
        for (capture, k) in [(16.0, 1), (16.1, 2), (81.0, 2), (81.1, 3)] {
            let range = Interference::Sinr(Radio { capture, ..NS2 });
            assert_eq!(interference_range(&[200.0; 12], range).unwrap()[5], k, "wrong k at capture {capture}");
        }
        // With noise, the range is larger than by distance alone.
        let noisy = Radio { noise: 0.9 * libm::pow(200.0, -4.0) / 10.0, ..NS2 };
        assert_eq!(interference_range(&spacings, Interference::Sinr(noisy)).unwrap()[4], 3);
    }

    #[test]
    fn by_the_definition() {
        // SINR(k) < beta <= SINR(k+1), evaluated as printed.
        for (capture, exponent, noise) in [(10.0, 4.0, 1e-12), (10.0, 2.0, 1e-7), (3.0, 3.0, 0.0), (40.0, 2.5, 0.0)] {
            let radio = Radio { capture, exponent, noise, reference: 1.0 };
            let k = interference_range(&[200.0; 60], Interference::Sinr(radio)).unwrap()[30];
            let sinr = |hops: u32| {
                let power = |d: f64| libm::pow(d, -exponent);
                power(200.0) / (noise + power(f64::from(hops) * 200.0))
            };
            assert!(sinr(k) < capture && sinr(k + 1) >= capture, "{radio:?}: k = {k} contradicts the definition");
        }
    }

    #[test]
    fn unequal_spacing_gives_each_node_its_own() {
        let ranges = interference_range(
            &[250.0, 80.0, 80.0, 80.0, 80.0, 250.0, 250.0, 250.0],
            Interference::CarrierSense(550.0),
        );
        assert_eq!(ranges, Ok(vec![4, 4, 4, 3, 4, 4, 4, 2, 2]));
    }

    #[test]
    fn wrong_positions() {
        assert!(interference_range(&[], Interference::CarrierSense(550.0)).is_err());
        for wrong in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            assert!(interference_range(&[wrong], Interference::CarrierSense(550.0)).is_err());
            assert!(interference_range(&[200.0], Interference::CarrierSense(wrong)).is_err());
            assert!(interference_range(&[200.0], Interference::Sinr(Radio { capture: wrong, ..NS2 })).is_err());
        }
        // The neighbours are too far apart to receive each other at all.
        let deaf = Radio { noise: 1.0, ..NS2 };
        let error = interference_range(&[200.0], Interference::Sinr(deaf)).unwrap_err();
        assert!(error.to_string().contains("short enough"), "wrong message: {error}");
        // A neighbour counts even if it is outside the range.
        assert_eq!(interference_range(&[200.0], Interference::CarrierSense(1.0)), Ok(vec![1, 1]));
    }
}
