use super::*;
use crate::packets::Order;

const DEADLINE: Duration = Duration::from_secs(10);

fn meta(flow: u64, len: u32) -> Meta {
    Meta { flow, order: Order::InOrder, len, ack: None, is_syn: false }
}

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

#[test]
fn flows_share_by_bytes_and_new_ones_go_first() {
    let mut q = Ingress::new(1 << 20, 1500);
    for i in 0..100 {
        q.push(ms(0), (1, i), meta(1, 1500), 0.0);
    }
    for i in 0..300 {
        q.push(ms(0), (2, i), meta(2, 500), 0.0);
    }
    let mut sent = [0usize; 3];
    for _ in 0..200 {
        let head = q.pop(ms(1), DEADLINE, |_| false).unwrap();
        sent[head.payload.0] += head.meta.len as usize;
    }
    assert!(sent[1].abs_diff(sent[2]) <= 3000, "{sent:?}");
    q.push(ms(2), (3, 0), meta(3, 100), 0.0);
    let next: Vec<_> = (0..4).map(|_| q.pop(ms(2), DEADLINE, |_| false).unwrap().payload.0).collect();
    assert!(next.contains(&3), "{next:?}");
}

#[test]
fn order_within_a_flow_is_kept() {
    let mut q = Ingress::new(1 << 20, 1500);
    for i in 0..50 {
        q.push(ms(0), i, meta(i % 5, 700), 0.0);
    }
    let mut last = [None; 5];
    while let Some(head) = q.pop(ms(1), DEADLINE, |_| false) {
        let flow = (head.payload % 5) as usize;
        assert!(last[flow] < Some(head.payload));
        last[flow] = Some(head.payload);
    }
    assert!(q.is_empty() && q.backlog() == (0, 0));
}

#[test]
fn waiting_acknowledgements_are_thinned_but_not_duplicates() {
    let mut q = Ingress::new(1 << 20, 1500);
    let ack = |flow, number| Meta { flow, order: Order::Immediate, len: 52, ack: number, is_syn: false };
    let same_bucket = 1 + BUCKETS as u64;
    let numbers = [
        (1, Some(u32::MAX - 5)), // replaced, although the next number has wrapped around
        (1, Some(10)),           // replaced
        (1, Some(20)),           // stays: a duplicate follows
        (1, Some(20)),           // stays: is a duplicate
        (1, Some(20)),           // stays: is a duplicate
        (1, Some(30)),           // stays: a packet that is no plain acknowledgement follows
        (1, None),
        (1, Some(40)),           // stays: the next number is lower
        (1, Some(35)),           // stays: a packet of another flow follows
        (same_bucket, Some(50)), // replaced
        (same_bucket, Some(60)),
    ];
    for (i, (flow, number)) in numbers.into_iter().enumerate() {
        q.push(ms(i as u64), i, ack(flow, number), 0.0);
    }
    let left: Vec<_> = std::iter::from_fn(|| q.pop(ms(20), DEADLINE, |_| false)).map(|head| head.payload).collect();
    assert_eq!(left, [2, 3, 4, 5, 6, 7, 8, 10]);
    assert_eq!((q.drops().thinned, q.backlog()), (3, (0, 0)));
}

#[test]
fn a_standing_queue_is_cut_and_a_burst_is_not() {
    let mut q = Ingress::new(1 << 24, 1500);
    let mut serve = |arrivals: fn(u64) -> u64| {
        for t in 0..3_000u64 {
            for _ in 0..arrivals(t) {
                q.push(ms(t), (), meta(7, 1500), 0.0);
            }
            q.pop(ms(t), DEADLINE, |_| false);
        }
        let dropped = q.drops().aqm;
        while q.pop(ms(3_000), DEADLINE, |_| false).is_some() {}
        q.drops = QueueDrops::default();
        dropped
    };
    assert!(serve(|t| if t == 0 { 40 } else { 1 }) > 0, "CoDel does not drop from a queue of 40 ms that lasts 3 s");
    assert_eq!(serve(|t| if t % 100 == 0 { 60 } else { 0 }), 0, "CoDel drops from bursts that drain in time");
}

/// ECN-capable packets are marked where other packets are dropped, at the same moments.
#[test]
fn capable_packets_are_marked_instead_of_dropped() {
    let serve = |capable: bool| {
        let mut q = Ingress::new(1 << 24, 1500);
        let mut marks = 0;
        for t in 0..1_000u64 {
            for _ in 0..if t == 0 { 40 } else { 1 } {
                q.push(ms(t), false, meta(7, 1500), 0.0);
            }
            let mark = |packet: &mut bool| {
                *packet = capable;
                capable
            };
            marks += u64::from(q.pop(ms(t), DEADLINE, mark).is_some_and(|head| head.payload));
        }
        (q.drops(), marks)
    };
    let (dropped, none) = serve(false);
    assert!(dropped.aqm > 0 && dropped.marked == 0 && none == 0, "{dropped:?}");
    let (marked, marks) = serve(true);
    assert!(marked.aqm == 0 && marked.marked >= dropped.aqm && marks == marked.marked, "{marked:?} {marks}");
}

#[test]
fn what_does_not_fit_or_waits_too_long_is_counted() {
    let mut q = Ingress::new(15_000, 1500);
    for _ in 0..12 {
        q.push(ms(0), (), meta(1, 1500), 0.0);
    }
    assert_eq!(q.drops().full, 2);
    assert!(q.pop(ms(20_000), DEADLINE, |_| false).is_none());
    assert_eq!(q.drops().expired, 10);
}

#[test]
fn a_full_queue_drops_from_the_longest_bucket() {
    let mut q = Ingress::new(100_000, 1500);
    let mut random = ripstop_base::Seed::new(1).stream("longest");
    for step in 0..20_000u64 {
        if random.chance(0.7) {
            let held = |q: &Ingress<_>| -> Vec<usize> {
                q.buckets.iter().map(|bucket| bucket.as_ref().map_or(0, |bucket| bucket.held())).collect()
            };
            let before = held(&q);
            let longest = before.iter().copied().max().unwrap_or(0);
            let drops = q.drops().full;
            let len = 50 + random.below(1400) as u32;
            q.push(ms(step), (), meta(random.below(300).pow(2), len), 0.0);
            if q.drops().full == drops + 1 {
                let shorter = held(&q).into_iter().zip(before).find(|(now, before)| now < before);
                // A bucket of equal length may have taken the new packet's place.
                assert!(shorter.is_none_or(|(_, before)| before == longest), "step {step}");
            }
        } else {
            q.pop(ms(step), DEADLINE, |_| false);
        }
        assert!(q.backlog().1 <= 100_000);
    }
    assert!(q.drops().full > 1_000, "{:?}", q.drops());
    q.shrink_to(5_000);
    assert!((3_000..=5_000).contains(&q.backlog().1));
    q.shrink_to(0);
    assert!(q.is_empty() && q.pop(ms(20_000), DEADLINE, |_| false).is_none());
}

/// Small packets would take much more memory than their bytes.
#[test]
fn a_queue_of_small_packets_is_bounded() {
    let mut q = Ingress::new(16_000_000, 1500);
    for i in 0..200_000u64 {
        // A flow of large packets keeps its packets: the many small ones take more memory.
        q.push(ms(i / 100), (), meta(if i % 100 == 0 { 1 } else { 2 }, if i % 100 == 0 { 1500 } else { 28 }), 0.0);
    }
    assert_eq!(q.backlog().0, MOST_PACKETS);
    let large = q.buckets[1].as_ref().unwrap().queue.len();
    assert!(large > 1_800, "{large}");
}

/// A session hands its queue over to the next one. The packets keep their times.
#[test]
fn repeated_packets_go_first_in_their_bucket() {
    let mut q = Ingress::new(1 << 20, 1500);
    q.push(ms(0), 1, meta(7, 500), 0.0);
    q.push_front(ms(5), 0, meta(7, 500));
    q.restart();
    let left: Vec<_> = std::iter::from_fn(|| q.pop(ms(6), DEADLINE, |_| false)).collect();
    assert_eq!(left.iter().map(|head| (head.payload, head.since)).collect::<Vec<_>>(), [(0, ms(5)), (1, ms(0))]);
    assert_eq!((q.backlog(), q.drops()), ((0, 0), QueueDrops::default()));
}

#[test]
fn a_flow_of_small_rate_is_interactive() {
    let mut q = Ingress::new(1 << 20, 1500);
    let mut class = |now, flow, len| {
        q.push(now, (), meta(flow, len), 8_000.0);
        q.pop(now, DEADLINE, |_| false).unwrap().class
    };
    for i in 0..100u64 {
        assert_eq!(class(ms(50 * i), 1, 200), Class::Interactive);
    }
    let bulk = (0..100u64).filter(|i| class(ms(10 * i), 2, 1500) == Class::Bulk).count();
    assert!(bulk > 90, "{bulk}");
}
