//! Shows one hostile session in detail.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example hostile -- SEED [STEP_MS]
//! ```
//!
//! The program prints the state of both ends every STEP_MS (250 ms by default). Then it prints the events and counters
//! of both ends, and the faults that were found.
//!
//! In a line of state, rates are in Mbit/s (`rate` is the estimate of the path's rate, `pacing` is the
//! sending rate). `window` and `in flight` are in bytes. `queue` (the path's queueing delay), `srtt` and
//! `min rtt` are in milliseconds. `refused` counts the datagrams that the link's full queue refused.

#[path = "../tests/it/hostile/harness/mod.rs"]
#[allow(dead_code, reason = "this program shows one session")]
mod harness;

use harness::attacker::{Attacker, STEP};
use harness::judge::HostileSession;
use harness::scenario::{HostileScenario, Side};
use ripstop_base::{Seed, Time};
use std::time::Duration;

fn main() {
    let mut args = std::env::args().skip(1);
    let seed: Seed =
        args.next().expect("the first argument must be a seed").parse().expect("SEED must be a whole number");
    let step: u64 = args.next().map_or(250, |a| a.parse().expect("STEP_MS must be a whole number of milliseconds"));
    let scenario = HostileScenario::random(seed);
    println!("{scenario:#?}");
    let mut world = scenario.world(seed).expect("the links are valid");
    let mut attacker = scenario.attack.map(|plan| Attacker::new(plan, &mut world, seed));
    let mut at = Time::ZERO;
    while at < scenario.stop + Duration::from_secs(60) {
        let (mut moment, until) = (at, at + Duration::from_millis(step));
        if let Some(attacker) = attacker.as_mut().filter(|_| moment < scenario.stop) {
            while moment < until {
                moment = (moment + STEP).min(until);
                world.world.run_until(moment, &mut ());
                attacker.act(&mut world);
            }
        }
        at = until;
        world.world.run_until(at, &mut ());
        scenario.look_up_names(&mut world);
        for side in Side::BOTH {
            let (Some(s), Some(peer)) =
                (world.status(side).and_then(|s| s.tunnel), world.status(side.other()).and_then(|s| s.tunnel))
            else {
                println!("{:7.3} {side:?} no session", at.as_secs_f64());
                continue;
            };
            println!(
                "{:7.3} {side:?} {:8} rate {:6.2} pacing {:6.2} window {:7} in flight {:7} queue {:6.2} srtt {:6.1} min rtt {:5.1} erasure floor {:.3} loss {:.3} burst {:.1} settled {:?} spurious {} refused {} backlog {:?} outstanding {:?} given up {} silences {} peer receiving {:?} peer's reports {} {:?} {:?}",
                at.as_secs_f64(),
                s.path.view.state,
                s.path.view.bandwidth * 8e-6,
                s.path.pacing_rate * 8e-6,
                s.path.window,
                s.path.in_flight,
                s.path.view.queue * 1e3,
                s.path.srtt.as_secs_f64() * 1e3,
                s.path.view.min_rtt * 1e3,
                s.path.view.erasure_floor,
                s.path.loss,
                s.path.mean_burst,
                s.path.settled,
                s.path.spurious,
                world.world.link(side as usize).refused_queue,
                s.backlog,
                s.outstanding,
                s.taken.given_up,
                s.path.sent.silences,
                peer.receiving,
                peer.path.received.reports,
                s.repairs,
                peer.received,
            );
        }
    }
    for side in Side::BOTH {
        for (at, event) in world.world.endpoint_events(side as usize) {
            println!("{:7.3} {side:?} {event:?}", at.as_secs_f64());
        }
        println!("{side:?} {:?}", world.world.endpoint_counters(side as usize));
        println!("{side:?} {:?}", world.status(side));
    }
    let outcome = HostileSession::run(seed.master()).outcome;
    println!("{outcome:#?}");
}
