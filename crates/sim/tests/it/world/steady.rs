//! Costs stay constant in a long run. Memory does not grow with virtual time. The work per packet does not grow with
//! the number of flows.
//!
//! Observers, and pauses between two calls of `run_until`, do not change results.

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Fec, LinkConfig, Loss};
use ripstop_schemes::nc::{CombinationRate, Factor, NcConfig, Rounding};
use ripstop_sim::tcp::Variant;
use ripstop_sim::world::{Carrier, Happening, NcLayer, TcpConfig, World};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

/// The system's allocator, with a count of the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "a counting allocator implements an unsafe trait")]
// SAFETY: every call goes to the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A link of `mbits` Mbit/s and 100 ms with this share of random losses.
fn link(mbits: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(mbits * 1_000_000),
        delay: Span::from(Duration::from_millis(100)),
        queue: Some(QueueLimit::Packets(200)),
        loss: if loss > 0.0 { Loss::bernoulli(Fraction::new(loss).expect("a share from 0 to 1")) } else { Loss::None },
        ..LinkConfig::default()
    }
}

/// A world of equal flows over a chain of `hops` links.
fn chain(hop: &LinkConfig, hops: usize, flows: usize, variant: Variant) -> World {
    coded_chain(hop, hops, flows, variant, None)
}

/// Like [`chain`]. With `redundancy`, TCP/NC runs below each flow.
fn coded_chain(hop: &LinkConfig, hops: usize, flows: usize, variant: Variant, redundancy: Option<f64>) -> World {
    let mut world = World::new(Seed::new(11));
    let mut add = |way: &str| -> Vec<usize> {
        (0..hops).map(|k| world.add_link(hop, &format!("{way}/{k}")).expect("the link is valid")).collect()
    };
    let (there, back) = (add("there"), add("back"));
    for k in 0..flows {
        let config = TcpConfig { variant, ..TcpConfig::default() };
        let coding = redundancy.map(|factor| {
            let factor = Factor::new(factor).expect("the factor is valid");
            let redundancy = CombinationRate::Fixed { factor, rounding: Rounding::Accumulator };
            NcLayer { session: NcConfig { redundancy, ..NcConfig::default() }, relays: Vec::new() }
        });
        let carrier = match &coding {
            Some(coding) => Carrier::Coded(&there, &back, coding),
            None => Carrier::Links(&there, &back),
        };
        world.add_tcp(config, &carrier, &format!("flow/{k}")).expect("the flow is valid");
    }
    world
}

#[test]
fn nothing_is_allocated_in_the_steady_state() {
    let fec = Fec {
        k: 20,
        n: 22,
        unit: "53B".parse().expect("the size is valid"),
        loss: Loss::bernoulli(Fraction::new(0.01).expect("a share from 0 to 1")),
    };
    let coded = LinkConfig { fec: Some(fec), ..link(2, 0.0) };
    let cases = [
        ("plain", link(2, 0.0), Variant::Reno, None),
        ("losses", link(2, 0.01), Variant::NewReno, None),
        ("selective", link(2, 0.01), Variant::Sack, None),
        ("block code", coded, Variant::Reno, None),
        ("TCP/NC", link(2, 0.01), Variant::Reno, Some(1.2)),
    ];
    for (name, hop, variant, redundancy) in cases {
        let mut world = coded_chain(&hop, 4, 2, variant, redundancy);
        world.run_until(Time::from_millis(2_000_000), &mut ());
        let (packets, before) = (world.totals(0).packets, ALLOCATIONS.get());
        world.run_until(Time::from_millis(3_000_000), &mut ());
        let (packets, allocated) = (world.totals(0).packets - packets, ALLOCATIONS.get() - before);
        assert!(packets > 500, "{name}: {packets} packets, seed 11");
        // The decoder's memory grows with the longest wait so far, and a longer wait is rare.
        let most = if redundancy.is_some() { 12 } else { 0 };
        assert!(allocated <= most, "{name}: {allocated} allocations for {packets} packets, seed 11");
    }
}

/// All counters of a world as text.
fn counters(world: &World) -> String {
    let links: Vec<_> = (0..world.links()).map(|k| (world.link(k), world.on_link(k))).collect();
    let flows: Vec<_> = (0..world.flows()).map(|k| world.totals(k)).collect();
    format!("{} {links:?} {flows:?}", world.events())
}

#[test]
fn an_observer_changes_nothing() {
    // With an observer, every packet stops at every node. Without an observer, packets can pass several links in one
    // step.
    for (loss, variant) in [(0.0, Variant::Reno), (0.02, Variant::Sack), (0.005, Variant::Cubic)] {
        let hop = link(2, loss);
        let (mut passing, mut stopping, mut cut) =
            (chain(&hop, 4, 3, variant), chain(&hop, 4, 3, variant), chain(&hop, 4, 3, variant));
        let mut seen = 0u64;
        for second in 1..=100u64 {
            let end = Time::from_millis(1000 * second);
            passing.run_until(end, &mut ());
            stopping.run_until(end, &mut |_: Time, _: Happening<'_>| seen += 1);
            for part in 1..=10 {
                cut.run_until(Time::from_millis(1000 * (second - 1) + 100 * part), &mut ());
            }
            assert_eq!(counters(&passing), counters(&stopping), "{variant:?}, {second} s, seed 11");
            assert_eq!(counters(&passing), counters(&cut), "{variant:?}, {second} s, in tenths, seed 11");
        }
        assert!(seen > passing.events(), "{variant:?}");
    }
}

#[test]
fn packets_stop_at_shared_links() {
    // Two flows share a link and part again. Packets from two links must keep their order on the shared link.
    let join = |looking: bool| {
        let mut world = World::new(Seed::new(12));
        let links: Vec<usize> = (0..7)
            .map(|k| world.add_link(&link(1 + k % 3, 0.01), &format!("link/{k}")).expect("the link is valid"))
            .collect();
        let l = |k: usize| links[k];
        for (k, there) in [[l(0), l(2), l(3)], [l(1), l(2), l(4)]].iter().enumerate() {
            let carrier = Carrier::Links(there, &[l(5), l(6)]);
            world.add_tcp(TcpConfig::default(), &carrier, &format!("flow/{k}")).expect("the flow is valid");
        }
        let end = Time::from_millis(200_000);
        if looking {
            world.run_until(end, &mut |_: Time, _: Happening<'_>| ());
        } else {
            world.run_until(end, &mut ());
        }
        counters(&world)
    };
    assert_eq!(join(false), join(true), "seed 12");
}

#[test]
fn work_per_packet_does_not_grow_with_flows() {
    // The number of events for each packet sent, over a chain whose rate grows with the number of
    // flows.
    let share = |flows: usize| {
        let hop = LinkConfig { queue: None, ..link(2 * flows as u64, 0.0) };
        let mut world = chain(&hop, 4, flows, Variant::Reno);
        world.run_until(Time::from_millis(10_000), &mut ());
        let sent: u64 = (0..flows).map(|k| world.totals(k).sent).sum();
        assert!(sent > 100 * flows as u64, "{flows} flows sent {sent}, seed 11");
        world.events() as f64 / sent as f64
    };
    // A packet and its acknowledgement pass eight links. Packets in flight at the end have passed fewer links, and
    // timers are few.
    for flows in [2, 50, 1000] {
        let events = share(flows);
        assert!(events < 8.0 + 0.25, "{flows} flows: {events} events a packet, seed 11");
    }
}
