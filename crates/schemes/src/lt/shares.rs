//! The rates that a gateway gives to its flows: equations (3) to (7) of paper 004.

use ripstop_base::Time;
use ripstop_model::mesh::shares::{GatewayFlow, shares};
use std::collections::BTreeMap;
use std::time::Duration;

/// Identifies a flow of a gateway. The caller chooses the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// What a gateway knows of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowShare {
    /// The flow's weight: its utility is weight times log x_s. Must be positive.
    pub weight: f64,
    /// The highest rate that the flow may use, bit/s. None: only the gateway limits the flow.
    pub cap: Option<u64>,
}

impl Default for FlowShare {
    /// Weight 1 and no cap, as in paper 004.
    fn default() -> FlowShare {
        FlowShare { weight: 1.0, cap: None }
    }
}

/// The flows of a gateway and their rates x_s. The rates maximise the sum of the utilities within
/// the gateway's capacity C_g.
///
/// Paper 004 computes x_s when a flow begins, and keeps it. Here [`Shares::rate`] is right for the
/// flows that are active now, so a caller that asks again after each change follows flows as they
/// come and go. A flow without packets for [`IDLE`] is not active.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    /// C_g, bit/s.
    capacity: u64,
    flows: BTreeMap<FlowId, Flow>,
    /// When the flows are next checked for activity.
    check_at: Time,
}

/// A flow of the gateway.
#[derive(Clone, Copy, Debug)]
struct Flow {
    share: FlowShare,
    rate: u64,
    /// When the flow's last packet came.
    last: Time,
    is_active: bool,
}

/// A flow that has no packet for this time gives its share to the others. The longest pause of a
/// flow with data is a time-out of its TCP, which rarely takes more than a few seconds. With half the
/// value, such pauses take the share away. With double the value, the share of a flow that has ended
/// is unused for longer.
pub const IDLE: Duration = Duration::from_secs(10);

impl Shares {
    /// A gateway with a capacity of `capacity` bit/s, without flows.
    pub fn new(capacity: u64) -> Shares {
        Shares { capacity, ..Shares::default() }
    }

    /// Adds a flow at `now`, or changes what is known of the flow, and returns x_s in bit/s. A weight
    /// or a cap that is not positive counts as the default.
    pub fn open(&mut self, flow: FlowId, share: FlowShare, now: Time) -> u64 {
        let weight = if share.weight > 0.0 && share.weight.is_finite() { share.weight } else { 1.0 };
        let share = FlowShare { weight, cap: share.cap.filter(|cap| *cap > 0) };
        self.flows.insert(flow, Flow { share, rate: 0, last: now, is_active: true });
        self.share_out();
        self.rate(flow).unwrap_or(0)
    }

    /// A packet of a flow has come at `now`. A flow that was not active is active again. Flows
    /// without packets for [`IDLE`] are not active any more.
    pub fn touch(&mut self, flow: FlowId, now: Time) {
        let mut has_changed = false;
        if let Some(flow) = self.flows.get_mut(&flow) {
            has_changed = !flow.is_active;
            (flow.is_active, flow.last) = (true, now);
        }
        if self.check_at <= now {
            self.check_at = now + IDLE / 8;
            for flow in self.flows.values_mut().filter(|flow| flow.is_active && flow.last + IDLE <= now) {
                flow.is_active = false;
                has_changed = true;
            }
        }
        if has_changed {
            self.share_out();
        }
    }

    /// Removes a flow. Returns whether the flow was there.
    pub fn close(&mut self, flow: FlowId) -> bool {
        let was_there = self.flows.remove(&flow).is_some();
        self.share_out();
        was_there
    }

    /// Changes the capacity, bit/s.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.share_out();
    }

    /// x_s of a flow, bit/s. A flow that is not active keeps its last rate. None: there is no such
    /// flow.
    pub fn rate(&self, flow: FlowId) -> Option<u64> {
        self.flows.get(&flow).map(|flow| flow.rate)
    }

    /// The number of active flows.
    pub fn active(&self) -> usize {
        self.flows.values().filter(|flow| flow.is_active).count()
    }

    fn share_out(&mut self) {
        let active = || self.flows.values().filter(|flow| flow.is_active);
        let flow = |flow: &Flow| GatewayFlow {
            weight: flow.share.weight,
            cap: flow.share.cap.map_or(f64::INFINITY, |cap| cap as f64),
        };
        let flows: Vec<GatewayFlow> = active().map(flow).collect();
        if let Ok(rates) = shares(self.capacity as f64, &flows) {
            for (flow, rate) in self.flows.values_mut().filter(|flow| flow.is_active).zip(rates) {
                flow.rate = rate as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_by_weight_and_cap_and_others_get_what_is_left() {
        let mut shares = Shares::new(273_056);
        let open = |shares: &mut Shares, k, weight, cap| shares.open(FlowId(k), FlowShare { weight, cap }, Time::ZERO);
        assert_eq!(open(&mut shares, 0, 1.0, None), 273_056);
        assert_eq!(open(&mut shares, 1, 1.0, None), 136_528);
        assert_eq!(open(&mut shares, 2, 2.0, None), 136_528);
        assert_eq!(shares.rate(FlowId(0)), Some(68_264));
        assert_eq!(open(&mut shares, 2, 2.0, Some(73_056)), 73_056);
        assert_eq!(shares.rate(FlowId(0)), Some(100_000));
        assert!(shares.close(FlowId(2)) && !shares.close(FlowId(2)));
        shares.set_capacity(100_000);
        assert_eq!((shares.rate(FlowId(1)), shares.rate(FlowId(2)), shares.active()), (Some(50_000), None, 2));
        assert_eq!(open(&mut shares, 3, f64::NAN, Some(0)), 33_333);
    }
    #[test]
    fn a_flow_without_packets_gives_its_share_away_until_a_packet_comes() {
        let mut shares = Shares::new(200);
        for k in 0..2 {
            shares.open(FlowId(k), FlowShare::default(), Time::ZERO);
        }
        for second in 1..=12 {
            shares.touch(FlowId(0), Time::from_millis(1000 * second));
        }
        assert_eq!((shares.rate(FlowId(0)), shares.active()), (Some(200), 1));
        shares.touch(FlowId(1), Time::from_millis(13_000));
        assert_eq!((shares.rate(FlowId(0)), shares.rate(FlowId(1))), (Some(100), Some(100)));
        shares.touch(FlowId(7), Time::from_millis(14_000));
        assert_eq!((shares.rate(FlowId(7)), shares.active()), (None, 2));
    }
}
