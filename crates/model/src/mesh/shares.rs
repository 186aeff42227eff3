//! The rate of each flow of a gateway (paper 004, equations (3) to (7)), and the number of blocks
//! that the rate allows in flight (equations (8) to (11)).

use crate::domain::{DomainError, EquationForm, at_least, not_negative, positive, require, share};

/// A flow through a gateway. The paper's flows have weight 1 and no cap; weights and caps are ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GatewayFlow {
    /// The weight w: the flow's utility is w log x.
    pub weight: f64,
    /// The highest rate that the flow can use, bit/s. Infinite if only the gateway limits the flow.
    pub cap: f64,
}

impl Default for GatewayFlow {
    fn default() -> GatewayFlow {
        GatewayFlow { weight: 1.0, cap: f64::INFINITY }
    }
}

/// The rates x_s of flows s that maximise the sum of w_s log x_s, in the unit of `capacity`. These
/// are equations (3) to (6), with weights w_s and caps added.
///
/// The sum of the rates is at most `capacity`, and each rate is at most its cap. Without weights
/// and caps, each rate is C_g / |S_g|, equation (7): the gateway's capacity divided by the number
/// of its flows. Gateways are independent of each other (equation (6)), so call this function for
/// each gateway.
///
/// # Errors
/// There is no flow. Or the capacity is negative or not finite, a weight is not positive, or a cap
/// is not positive or is NaN.
pub fn shares(capacity: f64, flows: &[GatewayFlow]) -> Result<Vec<f64>, DomainError> {
    not_negative("the capacity", capacity)?;
    require(!flows.is_empty(), "the number of flows", 0.0, "1 or more")?;
    let mut weight = 0.0;
    for flow in flows {
        positive("the weight of a flow", flow.weight)?;
        require(flow.cap > 0.0, "the cap of a flow", flow.cap, "greater than 0")?;
        weight += flow.weight;
    }
    positive("the sum of the flows' weights", weight)?;
    // Go through the flows from the smallest cap / weight on. A flow whose cap is below its share
    // of the rest gets its cap. The flows after this flow share the remaining capacity.
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|a, b| (flows[*a].cap / flows[*a].weight).total_cmp(&(flows[*b].cap / flows[*b].weight)));
    let mut rates = vec![0.0; flows.len()];
    let mut left = capacity;
    for (i, &flow) in order.iter().enumerate() {
        // Sum again, so that the rounding errors of differences do not add up.
        let weights: f64 = order[i..].iter().map(|j| flows[*j].weight).sum();
        let fair = left * (flows[flow].weight / weights);
        rates[flow] = fair.min(flows[flow].cap);
        left = (left - rates[flow]).max(0.0);
    }
    Ok(rates)
}

/// The values that a gateway knows of a TCP/LT flow (the paper's TCP with LT codes, in blocks).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlocksInFlight {
    /// x_s: the rate that the gateway gave to the flow, bit/s. The rate counts coded packets, as in
    /// equation (8), so the goodput is x_s (1-P).
    pub rate_bps: f64,
    /// P_s: the share of packets that the path loses.
    pub loss: f64,
    /// T_s: the mean time from the first packet of a block to its acknowledgment, s.
    pub block_time: f64,
    /// L_Data: the length of a packet, bytes.
    pub packet_bytes: f64,
    /// L: the number of packets in a block.
    pub block: u32,
}

impl BlocksInFlight {
    /// N_s-MAX: the number of blocks that may be in flight, equation (11): floor(x_s (1-P) T_s / (8
    /// L_Data L)).
    ///
    /// As printed, the number can be 0, which stops the flow forever: without a block there is no
    /// new measurement of T_s. The corrected form is at least 1.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn most(&self, form: EquationForm) -> Result<f64, DomainError> {
        self.check()?;
        let blocks = self.rate_bps * (1.0 - self.loss) * self.block_time / self.block_bits();
        require(blocks.is_finite(), "the number of blocks", blocks, "finite")?;
        let whole = libm::floor(blocks * (1.0 + 1e-12));
        Ok(match form {
            EquationForm::Corrected => whole.max(1.0),
            EquationForm::AsPrinted => whole,
        })
    }

    /// The smallest T_s for which equation (11) as printed allows a block, s: 8 L_Data L / (x_s
    /// (1-P)). Infinite at P = 1.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn least_block_time(&self) -> Result<f64, DomainError> {
        self.check()?;
        Ok(self.block_bits() / (self.rate_bps * (1.0 - self.loss)))
    }

    /// The rate of coded packets with `blocks` blocks in flight, bit/s: 8 L_Data L `blocks` /
    /// ((1-P) T_s), the middle part of equation (8).
    ///
    /// # Errors
    /// An argument is outside its domain, or the loss is 1.
    pub fn coded_rate(&self, blocks: u32) -> Result<f64, DomainError> {
        self.check()?;
        require(self.loss < 1.0, "the loss probability of the path", self.loss, "less than 1")?;
        Ok(self.block_bits() * f64::from(blocks) / ((1.0 - self.loss) * self.block_time))
    }

    fn block_bits(&self) -> f64 {
        8.0 * self.packet_bytes * f64::from(self.block)
    }

    fn check(&self) -> Result<(), DomainError> {
        positive("the rate of the flow in bits a second", self.rate_bps)?;
        share("the loss probability of the path", self.loss)?;
        positive("the time of a block in seconds", self.block_time)?;
        positive("the packet in bytes", self.packet_bytes)?;
        at_least("the block in packets", self.block, 1, "1 or more")
    }
}

/// Updates an estimate of P_s or T_s: 7/8 of the old value and 1/8 of the sample, equations (9) and
/// (10). Without an old value the result is the sample; the paper leaves this case open.
///
/// # Errors
/// A value is not finite.
pub fn smoothed(old: Option<f64>, sample: f64) -> Result<f64, DomainError> {
    // The paper's weight of the old value. Twice the weight of a sample (1/4) follows changes
    // faster, and half the weight smooths more.
    const ALPHA: f64 = 7.0 / 8.0;
    require(sample.is_finite(), "the sample", sample, "finite")?;
    let old = old.unwrap_or(sample);
    require(old.is_finite(), "the old estimate", old, "finite")?;
    Ok(ALPHA * old + (1.0 - ALPHA) * sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::path::MeshFrames;
    use proptest::prelude::*;

    #[test]
    fn equation_7() {
        let capacity = MeshFrames::default().path_capacity(3, 0.0).unwrap();
        let got = shares(capacity, &[GatewayFlow::default(); 4]).unwrap();
        assert!(got.iter().all(|x| (x / 1e3 - 68.2640).abs() <= 5.1e-5), "not a quarter of the capacity each: {got:?}");
    }

    #[test]
    fn weights_and_caps() {
        let flow = |weight, cap| GatewayFlow { weight, cap };
        let free = f64::INFINITY;
        assert_eq!(shares(100.0, &[flow(1.0, free), flow(3.0, free)]), Ok(vec![25.0, 75.0]));
        // The capped flow gets 10. The other two share the remaining 90 as 1 : 2.
        assert_eq!(shares(100.0, &[flow(1.0, free), flow(2.0, free), flow(1.0, 10.0)]), Ok(vec![30.0, 60.0, 10.0]));
        // Capacity that no flow can use stays unused.
        assert_eq!(shares(100.0, &[flow(1.0, 10.0), flow(1.0, 20.0)]), Ok(vec![10.0, 20.0]));
        assert_eq!(shares(0.0, &[flow(1.0, free)]), Ok(vec![0.0]));
        for wrong in [f64::NAN, 0.0, -1.0] {
            assert!(shares(1.0, &[flow(wrong, free)]).is_err() && shares(1.0, &[flow(1.0, wrong)]).is_err());
        }
        assert!(shares(1.0, &[]).is_err() && shares(f64::NAN, &[flow(1.0, free)]).is_err());
        assert!(shares(f64::INFINITY, &[flow(1.0, free)]).is_err());
    }

    #[test]
    fn blocks_on_their_way() {
        let full =
            BlocksInFlight { rate_bps: 273_056.181, loss: 0.0, block_time: 1.0, packet_bytes: 1000.0, block: 16 };
        assert!((full.least_block_time().unwrap() - 0.4688).abs() <= 5.1e-5);
        let quarter = BlocksInFlight { rate_bps: full.rate_bps / 4.0, loss: 0.271, ..full };
        assert!((quarter.least_block_time().unwrap() - 2.5721).abs() <= 5.1e-5);
        let at = |block_time, form| BlocksInFlight { block_time, ..full }.most(form).unwrap();
        assert_eq!([0.4, 0.47, 1.0].map(|t| at(t, EquationForm::AsPrinted)), [0.0, 1.0, 2.0]);
        assert_eq!([0.4, 0.47, 1.0].map(|t| at(t, EquationForm::Corrected)), [1.0, 1.0, 2.0]);
        // Equation (8): this number of blocks takes at most x_s.
        let n = at(1.0, EquationForm::Corrected) as u32;
        assert!(full.coded_rate(n).unwrap() <= full.rate_bps && full.coded_rate(n + 1).unwrap() > full.rate_bps);
        // After a step of the samples from 0 to 1, the estimate reaches 0.9 with the 18th sample.
        let mut estimate = smoothed(None, 0.0).unwrap();
        let mut samples = 0;
        while estimate < 0.9 {
            estimate = smoothed(Some(estimate), 1.0).unwrap();
            samples += 1;
        }
        assert_eq!(samples, 18);
        assert!(smoothed(None, f64::NAN).is_err() && smoothed(Some(f64::NAN), 1.0).is_err());
        assert!(BlocksInFlight { loss: 1.0, ..full }.coded_rate(1).is_err());
        assert_eq!(BlocksInFlight { loss: 1.0, ..full }.most(EquationForm::Corrected), Ok(1.0));
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(BlocksInFlight { rate_bps: wrong, ..full }.most(EquationForm::Corrected).is_err());
            assert!(BlocksInFlight { loss: wrong, ..full }.most(EquationForm::Corrected).is_err());
        }
    }

    proptest! {
        #[test]
        fn shares_sum_to_the_capacity_and_none_could_be_better(
            capacity in 0.0f64..1e9,
            flows in prop::collection::vec((0.01f64..100.0, prop::option::of(1.0f64..1e9)), 1..40),
        ) {
            let flows: Vec<GatewayFlow> =
                flows.iter().map(|(weight, cap)| GatewayFlow { weight: *weight, cap: cap.unwrap_or(f64::INFINITY) }).collect();
            let rates = shares(capacity, &flows).unwrap();
            let sum: f64 = rates.iter().sum();
            let caps: f64 = flows.iter().map(|flow| flow.cap).sum();
            prop_assert!((sum - capacity.min(caps)).abs() <= 1e-9 * capacity, "the rates sum to {sum}, capacity {capacity}, caps {caps}");
            // Karush-Kuhn-Tucker conditions: w/x is the same for all flows that are below their
            // cap. For flows at their cap, w/x is at least as large.
            let level = flows.iter().zip(&rates).filter(|(f, x)| **x < f.cap).map(|(f, x)| x / f.weight).fold(0.0, f64::max);
            for (flow, x) in flows.iter().zip(&rates) {
                prop_assert!(*x <= flow.cap);
                if *x < flow.cap {
                    prop_assert!((x / flow.weight - level).abs() <= 1e-9 * level);
                } else if level > 0.0 {
                    prop_assert!(x / flow.weight <= level * (1.0 + 1e-9));
                }
            }
        }
    }
}
