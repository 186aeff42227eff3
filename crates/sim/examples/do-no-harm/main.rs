//! Checks that the tunnel does no harm on 60 links where plain TCP works well: its goodput is at most
//! 2 % and its headers below the better of plain CUBIC and plain BBR.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example do-no-harm -- [WORD ...] > table.md
//! ```
//!
//! The program prints one line for each link. Words select the links whose kind or name contains one of
//! them. Environment: RUNS=4 sets the number of runs (default 6), PRINT=1 prints the scenarios instead of
//! running them, JSON=1 prints the whole report of each cell of the tunnel.

mod links;

use links::{PLAIN_PAYLOAD, Path, SCHEMES, TUNNEL_DATAGRAM, TUNNEL_PAYLOAD, links};
use ripstop_sim::scenario::Scenario;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest share of goodput that the tunnel may lose beside its headers.
const ALLOWED: f64 = 0.02;

/// The goodput of each of [`SCHEMES`] on one link, bit/s.
type Goodputs = [f64; 4];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runs = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(6);
    let is_wanted = |path: &Path| {
        let name = format!("{} {}", path.kind, path.name());
        words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
    };
    let links: Vec<Path> = links().into_iter().filter(is_wanted).collect();
    if std::env::var_os("PRINT").is_some() {
        for (path, scheme) in links.iter().flat_map(|path| SCHEMES.map(|scheme| (path, scheme))) {
            println!("# {}\n{}", path.name(), path.scenario(scheme, runs));
        }
        return ExitCode::SUCCESS;
    }
    match measure(&links, runs) {
        Ok(goodputs) => {
            print(&links, &goodputs);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("do-no-harm: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates each scheme on each link, on all cores.
///
/// # Errors
/// A scenario is refused. The error is a sentence.
fn measure(links: &[Path], runs: u32) -> Result<Vec<Goodputs>, String> {
    let cells: Vec<_> =
        (0..links.len()).flat_map(|link| (0..SCHEMES.len()).map(move |scheme| (link, scheme))).collect();
    // A refused scenario is found before minutes of simulation, not after.
    for (link, scheme) in &cells {
        parse(&links[*link].scenario(SCHEMES[*scheme], runs))?;
    }
    let (next, results) = (AtomicUsize::new(0), Mutex::new(vec![Goodputs::default(); links.len()]));
    let problem = Mutex::new(None);
    let work = || {
        while let Some((link, scheme)) = cells.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            let outcome = goodput(&links[link].scenario(SCHEMES[scheme], runs));
            match outcome {
                Ok(bps) => results.lock().expect("no panic")[link][scheme] = bps,
                Err(words) => *problem.lock().expect("no panic") = Some(words),
            }
            eprint!("\r{} of {} cells", next.load(Ordering::Relaxed).min(cells.len()), cells.len());
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    #[expect(clippy::disallowed_methods, reason = "the simulations are independent")]
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    eprintln!();
    match problem.into_inner().expect("no panic") {
        Some(words) => Err(words),
        None => Ok(results.into_inner().expect("no panic")),
    }
}

/// The mean goodput of the flow of a scenario, bit/s.
fn goodput(text: &str) -> Result<f64, String> {
    let report = ripstop_sim::scenario::run(&parse(text)?, 1, || {}).map_err(|error| error.to_string())?;
    if std::env::var_os("JSON").is_some() && !report.tunnels.is_empty() {
        println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
    }
    report.flows.first().and_then(|flow| flow.goodput_bps.mean).ok_or_else(|| "no goodput".to_owned())
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text).map_err(|error| format!("{error}\n{text}"))
}

/// Prints the table and the number of links on which the tunnel does harm.
fn print(links: &[Path], goodputs: &[Goodputs]) {
    let headers = (TUNNEL_PAYLOAD / TUNNEL_DATAGRAM) / (PLAIN_PAYLOAD / 1500.0);
    println!("| kind | link | CUBIC | BBR | tunnel, CUBIC | tunnel, BBR | difference | with CUBIC inside | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut harmed, mut cubic_harmed) = (0, 0);
    for (path, each) in links.iter().zip(goodputs) {
        let most = headers * each[0].max(each[1]);
        let (better, cubic) = (each[2].max(each[3]) / most - 1.0, each[2] / most - 1.0);
        harmed += u32::from(better < -ALLOWED);
        cubic_harmed += u32::from(cubic < -ALLOWED);
        let mbps: Vec<String> = each.iter().map(|bps| format!("{:.3}", bps / 1e6)).collect();
        let mark = if better < -ALLOWED { "harm" } else { "" };
        let row = format!("{:+.1} % | {:+.1} % | {mark}", 100.0 * better, 100.0 * cubic);
        println!("| {} | {} | {} | {row} |", path.kind, path.name(), mbps.join(" | "));
    }
    println!("\nLinks: {}. Harm: {harmed}. Harm with CUBIC inside: {cubic_harmed}.", links.len());
}
