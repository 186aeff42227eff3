use super::*;
use ripstop_base::Seed;
use std::collections::BTreeMap;

const DEADLINE: Duration = Duration::from_secs(1);

fn packet(id: u64, flow: u64, order: Order) -> Delivered<u64> {
    Delivered { payload: id, meta: Meta { flow, order, len: 100, ack: None, is_syn: false } }
}

fn ids(ids: &[u64]) -> IdRanges {
    let mut ranges = IdRanges::new();
    ids.iter().for_each(|id| ranges.append(*id..*id + 1));
    ranges
}

fn drain(out: &mut InOrder<u64>) -> Vec<u64> {
    std::iter::from_fn(|| out.poll()).map(|(_, d)| d.payload).collect()
}

/// The flow and the gap of each symbol, as the sender computes them.
fn sent(flows: &[u64]) -> Vec<(u64, Gap)> {
    let mut last: BTreeMap<u64, usize> = BTreeMap::new();
    flows
        .iter()
        .enumerate()
        .map(|(id, flow)| (*flow, Gap::rounded(last.insert(*flow, id).map_or(0, |l| (id - l) as u64))))
        .collect()
}

#[test]
fn a_flow_waits_for_its_own_losses_only() {
    let mut out = InOrder::new();
    let missing = ids(&[1]);
    let (a, b) = (1, 2);
    // Symbols 0 to 3 belong to the flows a, b, a, b. Symbol 1 is lost.
    let sent = sent(&[a, b, a, b]);
    for id in [0u64, 2, 3] {
        let (flow, gap) = sent[id as usize];
        out.arrive(Time::ZERO, id, gap, packet(id, flow, Order::InOrder), &missing);
    }
    assert_eq!(drain(&mut out), [0, 2], "flow a must be delivered (its symbol 0 is known), and flow b must wait");
    let (flow, gap) = sent[1];
    out.arrive(Time::ZERO, 1, gap, packet(1, flow, Order::InOrder), &IdRanges::new());
    assert_eq!(drain(&mut out), [1, 3]);
    assert_eq!(out.counts().held, 1);
    assert_eq!(out.waiting(), 0);
}

#[test]
fn a_flow_goes_on_without_a_packet_after_the_deadline() {
    let mut out = InOrder::new();
    let missing = ids(&[0]);
    let ms = Time::from_millis;
    out.arrive(ms(10), 1, Gap::ADJACENT, packet(1, 1, Order::InOrder), &missing);
    out.arrive(ms(20), 2, Gap::ADJACENT, packet(2, 1, Order::InOrder), &missing);
    assert_eq!(drain(&mut out), []);
    let at = out.expires(DEADLINE).unwrap();
    out.expire(at, DEADLINE, &missing);
    assert_eq!(drain(&mut out), [1, 2], "both packets must be delivered, in order");
    assert_eq!(out.expires(DEADLINE), None);
    out.arrive(ms(2_000), 0, Gap::NONE, packet(0, 1, Order::InOrder), &IdRanges::new());
    assert_eq!(drain(&mut out), []);
    assert_eq!(out.counts(), OrderCounts { delivered: 2, held: 2, skipped: 1, late: 1, superseded: 0 });
}

#[test]
fn acknowledgements_neither_wait_nor_go_back() {
    let mut out = InOrder::new();
    let missing = ids(&[0, 1]);
    out.arrive(Time::ZERO, 2, Gap::NONE, packet(2, 1, Order::Immediate), &missing);
    out.arrive(Time::ZERO, 1, Gap::NONE, packet(1, 1, Order::Immediate), &ids(&[0]));
    assert_eq!(drain(&mut out), [2]);
    assert_eq!(out.counts().superseded, 1);
}

#[test]
fn any_order_of_arrival_gives_each_flow_in_order() {
    for run in 0..300 {
        let mut random = Seed::new(11).run(run).stream("in order");
        let flows: Vec<u64> = (0..200).map(|_| random.below(1 + run % 7)).collect();
        let sent = sent(&flows);
        let mut ids: Vec<u64> = (0..200).collect();
        for i in (1..ids.len()).rev() {
            let far = (random.below(12) as usize).min(i);
            ids.swap(i, i - far);
        }
        let lost: std::collections::BTreeSet<u64> = (0..200).filter(|_| random.chance(0.05)).collect();
        let mut missing = IdRanges::new();
        let mut end = 0;
        let mut out = InOrder::new();
        for id in ids.iter().filter(|id| !lost.contains(id)) {
            missing.append(end..*id);
            end = end.max(id + 1);
            missing.remove(*id);
            let (flow, gap) = sent[*id as usize];
            out.arrive(Time::ZERO, *id, gap, packet(*id, flow, Order::InOrder), &missing);
        }
        let mut got = drain(&mut out);
        out.expire(Time::from_millis(5_000), DEADLINE, &missing);
        got.extend(drain(&mut out));
        assert_eq!(out.waiting(), 0, "run {run}: packets still wait after the deadline");
        assert_eq!(got.len() + lost.len(), 200, "run {run}: a packet was neither delivered nor lost");
        let mut last = BTreeMap::new();
        for id in got {
            let before = last.insert(flows[id as usize], id);
            assert!(before < Some(id), "run {run}: {before:?} before {id}");
        }
    }
}

/// All buckets wait for the same missing symbols, which arrive highest first.
#[test]
fn a_symbol_for_which_all_buckets_wait_takes_little_work() {
    const MISSING: u64 = 1 << 12;
    let mut out = InOrder::new();
    let mut missing = IdRanges::new();
    missing.append(0..MISSING);
    let buckets = BUCKETS as u64;
    // A packet of each bucket waits for all missing symbols from `id + 1 - 2 * MISSING` on.
    let ids = 2 * MISSING..2 * MISSING + buckets;
    for id in ids.clone() {
        let flow = (0..).find(|flow| u64::from(bucket_of(*flow)) == id - ids.start).unwrap();
        out.arrive(Time::ZERO, id, Gap::rounded(MISSING), packet(id, flow, Order::InOrder), &missing);
    }
    assert_eq!((out.waiting(), out.blocked.touched), (BUCKETS, buckets));
    for id in (0..MISSING).rev() {
        missing.remove(id);
        out.resolve(id, &missing);
    }
    assert_eq!(drain(&mut out), ids.rev().collect::<Vec<_>>());
    assert_eq!(out.blocked.touched, 2 * buckets);
    assert!(out.blocked.first().is_none() && out.bytes() < 1_000, "{} bytes", out.bytes());
}

/// Each bucket waits for the symbol that it would find if it looked again whenever a symbol becomes known.
#[test]
fn groups_release_the_same_packets() {
    let mut held = 0;
    for run in 0..200 {
        let mut random = Seed::new(31).run(run).stream("groups");
        let mut out: InOrder<u64> = InOrder::new();
        let mut missing = IdRanges::new();
        missing.append(0..400);
        let (mut ids, flows) = ((0..400).collect::<Vec<u64>>(), 1 + run % 40);
        for i in (1..ids.len()).rev() {
            ids.swap(i, random.below(i as u64 + 1) as usize);
        }
        for (step, id) in ids.into_iter().enumerate() {
            missing.remove(id);
            let gap = Gap::rounded(random.below(500));
            match random.below(20) {
                0 => out.resolve(id, &missing),
                _ => out.arrive(Time::ZERO, id, gap, packet(id, random.below(flows), Order::InOrder), &missing),
            }
            if step % 100 == 99 {
                let base = missing.first().unwrap_or(0) + random.below(30);
                missing.remove_before(base);
                out.resolve_before(base, &missing);
            }
            for (index, flow) in out.flows.iter().enumerate() {
                let Some(flow) = flow else { continue };
                let Some((id, first)) = flow.waiting.first() else { continue };
                let waits = out.blocked.waits_for(index as u16);
                assert_eq!(waits, flow.blocker(id, first.gap, &missing), "run {run}, step {step}");
                assert!(waits.is_some(), "run {run}, step {step}: the packet need not wait");
            }
        }
        held += out.counts().held;
        assert_eq!(out.waiting(), 0, "run {run}");
    }
    assert!(held > 10_000, "{held}");
}

#[test]
fn arrivals_of_delivered_packets_are_forgotten() {
    let mut out = InOrder::new();
    // Flow 1 waits for symbol 0. Flow 2 waits for one symbol again and again.
    out.arrive(Time::ZERO, 1, Gap::ADJACENT, packet(1, 1, Order::InOrder), &ids(&[0]));
    for id in (2..20_000).step_by(2) {
        out.arrive(Time::ZERO, id + 1, Gap::ADJACENT, packet(id + 1, 2, Order::InOrder), &ids(&[0, id]));
        out.arrive(Time::ZERO, id, Gap::rounded(1), packet(id, 2, Order::InOrder), &ids(&[0]));
        assert!(out.arrivals.len() <= 2 * out.waiting() + FEW_ARRIVALS + 1, "{} entries", out.arrivals.len());
    }
    assert_eq!(out.waiting(), 1);
    assert_eq!(drain(&mut out).len(), 19_998);
    assert!(out.bytes() < 10_000);
    out.release_all();
    assert_eq!((drain(&mut out), out.bytes(), out.expires(DEADLINE)), (vec![1], 0, None));
}
