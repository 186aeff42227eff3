//! Random hostile sessions: `cargo run --release -p ripstop-sim --example soak -- RUNS [FIRST]`.

use ripstop_base::Seed;
use ripstop_sim::hostile::Scenario;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let (runs, first) = (args.next().unwrap_or(100), args.next().unwrap_or(0));
    let (mut failed, mut sent, mut residual, mut calm_sent, mut events) = (0, 0, 0, 0, 0);
    for master in first..first + runs {
        let seed = Seed::new(master);
        let scenario = Scenario::random(seed);
        let outcome = scenario.run(seed);
        sent += outcome.sent;
        events += outcome.events;
        let calm = !scenario.interrupted && scenario.loss <= 0.3;
        if calm {
            calm_sent += outcome.delivered;
            residual += outcome.residual;
        }
        if !outcome.faults.is_empty() || (calm && outcome.residual > 0) {
            failed += u64::from(!outcome.faults.is_empty());
            println!(
                "seed {master}: rate {} delay {} loss {:?} {:?} sent {} delivered {} queue {} residual {} ({} given up, {} late) calm {calm} {:?}",
                scenario.links[0].rate,
                scenario.links[0].delay,
                scenario.links[0].loss,
                scenario.links[1].loss,
                outcome.sent,
                outcome.delivered,
                outcome.queue_drops,
                outcome.residual,
                outcome.given_up,
                outcome.late,
                outcome.faults.iter().take(3).collect::<Vec<_>>()
            );
        }
    }
    println!(
        "{runs} sessions, {failed} failed, {sent} packets, {events} events, residual loss in calm ones {residual} of {calm_sent}"
    );
}
