//! Runs two tunnel daemons on a hostile link in real time, and checks each byte that the kernel's TCP carries through
//! the tunnel. `make soak-wire` runs this program.
//!
//! ```text
//! soak-wire PROGRAM [--time SECONDS] [--seed N]
//! ```
//!
//! `PROGRAM` is the program `ripstop`. Two hosts are network namespaces with an emulated link between them. The link's
//! loss, rate and MTU change all the time (`hosts.rs`). Every few seconds one of these mishaps happens:
//!
//! - a daemon is killed with SIGKILL and started again,
//! - a host changes its address, or both do,
//! - a daemon reads its configuration again,
//! - the link is down for a few seconds,
//! - a stranger sends random datagrams to both daemons, and expects no answer.
//!
//! Meanwhile files go over TCP in both directions, one connection after the other (`transfers.rs`). Each file must
//! arrive with its bytes unchanged, in bounded time. UDP datagrams must get through at least once a minute
//! (`probes.rs`). The exit status is 1 if a file was lost or changed, if nothing came for too long, if a daemon ended by
//! itself, if a stranger got an answer, or if a mishap never happened.

mod gap;
mod hosts;
mod probes;
mod transfers;

use hosts::Hosts;
use probes::Probes;
use ripstop_base::{Seed, Stream};
use ripstop_net::os::netns::gain_privilege;
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::time::{Duration, Instant};
use transfers::Transfers;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The mean time between two mishaps. With half the value, few files arrive between two mishaps. With double the value,
/// a short run sees fewer of them.
const PAUSE: Duration = Duration::from_secs(6);

/// The longest time without a datagram through the tunnel. It includes two mishaps one after the other, the time until an
/// end tries another address of its peer (30 s), and lost handshakes. Half the value blames an end for this wait. Double
/// the value hides tunnels that hang for a minute.
const MOST_SILENCE: Duration = Duration::from_secs(60);

/// The longest time without a new byte in one of the directions. A TCP waits up to 2 minutes for its next
/// retransmission, and a mishap may meet this one too. Half the value may blame the tunnel for TCP's waiting. Double the
/// value hides connections that hang for minutes.
const MOST_STALL: Duration = Duration::from_secs(300);

/// The number of mishaps that a fault is printed with.
const RECENT: usize = 40;

/// The names of the mishaps.
const MISHAPS: [&str; 8] = [
    "left killed",
    "right killed",
    "left moved",
    "right moved",
    "both moved",
    "configuration read",
    "link down",
    "stranger",
];

fn main() -> Outcome<()> {
    gain_privilege()?;
    let (mut program, mut time, mut seed) = (None, Duration::from_secs(120), Seed::new(1));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--time" => time = Duration::from_secs_f64(value()?.parse()?),
            "--seed" => seed = value()?.parse()?,
            _ => program = Some(argument),
        }
    }
    let program = program.ok_or("usage: soak-wire PROGRAM [--time SECONDS] [--seed N]")?;
    // The program is also started in another directory.
    let program = std::fs::canonicalize(&program).map_err(|error| format!("{program}: {error}"))?;
    let program = program.to_str().ok_or("the path of PROGRAM is not UTF-8")?.to_owned();
    println!("seed {}, {} s", seed.master(), time.as_secs());
    let faults = run(&program, time, seed)?;
    faults.iter().for_each(|fault| println!("FAULT {fault} (seed {})", seed.master()));
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults", faults.len()).into()) }
}

/// Runs the soak. Returns the faults in words.
fn run(program: &str, time: Duration, seed: Seed) -> Outcome<Vec<String>> {
    let mut random = seed.stream("mishaps");
    let mut hosts = Hosts::set_up(program, seed)?;
    let transfers = Transfers::start(&hosts, seed);
    let mut probes = Probes::start(&hosts);
    let mut recent = VecDeque::new();
    let (mut counts, mut faults) = (BTreeMap::from(MISHAPS.map(|name| (name, 0))), Vec::new());
    let end = Instant::now() + time;
    let mut turn = 0;
    while Instant::now() < end && faults.is_empty() {
        // Each mishap happens in the first round. Then chance decides.
        let name = MISHAPS.get(turn).copied().unwrap_or_else(|| MISHAPS[random.below(MISHAPS.len() as u64) as usize]);
        turn += 1;
        let pause = PAUSE.mul_f64(0.3 + 1.4 * random.unit());
        std::thread::sleep(pause.min(end.saturating_duration_since(Instant::now())));
        mishap(name, &mut hosts, &mut random)?;
        *counts.entry(name).or_default() += 1;
        recent.push_back((Instant::now(), name));
        recent.drain(..recent.len().saturating_sub(RECENT));
        faults.extend(hosts.faults());
        faults.extend(transfers.faults(MOST_STALL));
        faults.extend(probes.faults(MOST_SILENCE));
    }
    let evidence = |hosts: &Hosts, faults: &[String]| {
        if !faults.is_empty() {
            let mishaps = recent.iter().map(|(at, name)| format!("{name} {:.0} s ago", at.elapsed().as_secs_f64()));
            println!("mishaps: {}", mishaps.collect::<Vec<_>>().join(", "));
            println!("{}", hosts.evidence());
        }
    };
    evidence(&hosts, &faults);
    hosts.calm()?;
    let unfinished = transfers.finish(MOST_STALL);
    evidence(&hosts, &unfinished);
    faults.extend(unfinished);
    if faults.is_empty() {
        faults.extend(probes.faults(MOST_SILENCE));
    }
    probes.finish();
    faults.extend(hosts.faults());
    print_summary(&counts, &hosts, &transfers, &probes);
    if time >= PAUSE * 2 * MISHAPS.len() as u32 {
        let idle = counts.iter().filter(|(_, count)| **count == 0);
        faults.extend(idle.map(|(name, _)| format!("the mishap `{name}` never happened")));
        faults.extend(hosts.unfired());
    }
    Ok(faults)
}

fn mishap(name: &str, hosts: &mut Hosts, random: &mut Stream) -> Outcome<()> {
    match name {
        "left killed" => hosts.kill(0),
        "right killed" => hosts.kill(1),
        "left moved" => hosts.move_to(&[0], random),
        "right moved" => hosts.move_to(&[1], random),
        "both moved" => hosts.move_to(&[0, 1], random),
        "configuration read" => hosts.reload(),
        "link down" => hosts.interrupt(Duration::from_secs_f64(0.5 + 4.0 * random.unit())),
        _ => hosts.disturb(random),
    }
}

fn print_summary(counts: &BTreeMap<&str, u64>, hosts: &Hosts, transfers: &Transfers, probes: &Probes) {
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    println!("mishaps: {}", counts.join(", "));
    println!("daemons: {}", hosts.summary());
    println!("files: {}", transfers.summary());
    println!("datagrams: {}", probes.summary());
}
