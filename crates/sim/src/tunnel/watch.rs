//! Watches what comes out: each packet is one that went in, at most once, in order within its flow.

use super::cargo::{Cargo, Label};
use ripstop_base::Time;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A packet came out that never went in.
    Foreign(String),
    /// A packet came out twice, or after a later one of its flow.
    Order {
        /// The packet.
        label: Label,
        /// The least sequence number that would have been right.
        expected: u64,
    },
}

/// What a flow went through.
#[derive(Clone, Debug, Default)]
pub struct FlowReport {
    /// Packets that went in.
    pub sent: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Bytes that came out.
    pub bytes: u64,
    /// How long each delivered packet was under way, s, in order of delivery.
    pub delays: Vec<f64>,
}

/// The packets under way in one direction.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    flows: BTreeMap<u32, Flow>,
    pub(crate) violations: Vec<Violation>,
    /// Delays of packets sent before this moment are not kept.
    delays_from: Time,
}

#[derive(Debug, Default)]
struct Flow {
    report: FlowReport,
    /// Sequence number of the first packet under way, and what is known of it and of those after it.
    first: u64,
    under_way: VecDeque<(Time, u32)>,
}

impl Watch {
    /// The next packet of `flow`, of `len` bytes, goes in.
    pub(crate) fn send(&mut self, now: Time, flow: u32, len: u32, immediate: bool) -> Label {
        let entry = self.flows.entry(flow).or_default();
        let label = Label { flow, sequence: entry.report.sent, len, immediate };
        entry.report.sent += 1;
        entry.under_way.push_back((now, len));
        label
    }

    /// A packet comes out: its label, when it is one that was under way.
    pub(crate) fn deliver<C: Cargo + std::fmt::Debug>(&mut self, now: Time, packet: &C) -> Option<Label> {
        let known =
            packet.unload().and_then(|label| self.flows.get_mut(&label.flow).map(|flow| (label, flow)));
        let Some((label, flow)) = known else {
            self.violations.push(Violation::Foreign(format!("{packet:?}")));
            return None;
        };
        if label.sequence < flow.first {
            self.violations.push(Violation::Order { label, expected: flow.first });
            return None;
        }
        let ahead = (label.sequence - flow.first) as usize;
        let Some((sent, len)) = flow.under_way.get(ahead).copied().filter(|(_, len)| *len == label.len)
        else {
            self.violations.push(Violation::Foreign(format!("{label:?}")));
            return None;
        };
        flow.under_way.drain(..=ahead);
        flow.first = label.sequence + 1;
        flow.report.delivered += 1;
        flow.report.bytes += u64::from(len);
        if sent >= self.delays_from {
            flow.report.delays.push(now.since(sent).max(Duration::ZERO).as_secs_f64());
        }
        Some(label)
    }

    /// Keeps the delays of packets sent from `now` on only.
    pub(crate) fn forget_delays(&mut self, now: Time) {
        self.delays_from = now;
        self.flows.values_mut().for_each(|flow| flow.report.delays.clear());
    }

    /// What became of each flow.
    pub(crate) fn reports(&self) -> impl Iterator<Item = (u32, &FlowReport)> {
        self.flows.iter().map(|(flow, entry)| (*flow, &entry.report))
    }
}
