//! Shows one hostile session of TCP/LT in detail.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example hostile-lt -- SEED [STEP_MS]
//! ```
//!
//! The program prints the state of both ends every STEP_MS (250 ms by default). Then it prints the counters of both
//! ends, what the judge has measured, and the faults.

#[path = "../tests/it/hostile/harness/mod.rs"]
#[allow(dead_code, reason = "this program shows one session")]
mod harness;

use harness::lt::scenario::LtScenario;
use harness::lt::world::LtWorld;
use ripstop_base::{Seed, Time};
use std::time::Duration;

/// The latest time that is shown, in case that the session never ends.
const LATEST: Time = Time::from_millis(600_000);

fn main() {
    let mut args = std::env::args().skip(1);
    let seed: Seed =
        args.next().expect("the first argument must be a seed").parse().expect("SEED must be a whole number");
    let step: u64 = args.next().map_or(250, |a| a.parse().expect("STEP_MS must be a whole number of milliseconds"));
    let scenario = LtScenario::random(seed);
    println!("{scenario:#?}");
    let mut world = LtWorld::new(&scenario, seed).expect("the links are valid");
    while world.now() < LATEST && !world.is_finished() && world.journal.faults.is_empty() {
        world.run_until(world.now() + Duration::from_millis(step));
        println!("{:8.3} {}", world.now().as_secs_f64(), world.state());
    }
    println!("{:#?}\n{:#?}", world.sums(), world.journal);
    println!("{:#?}", scenario.run(seed));
}
