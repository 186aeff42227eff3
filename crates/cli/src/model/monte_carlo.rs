//! `ripstop model stations --monte-carlo`: simulates each user's transfers (paper 000, section IX-B).

use super::arguments::{Named, answer};
use super::print::Lines;
use crate::failure::{Failure, Outcome};
use clap::Args;
use ripstop_base::{Bytes, Fraction, Seed, Span};
use ripstop_model::stations::CellularNetwork;
use ripstop_model::stations::monte_carlo::{MIX_A, MonteCarlo};
use ripstop_sim::engine::{Sample, Statistic};
use serde::Serialize;

/// Flags of the simulation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Users one by one")]
pub(super) struct MonteCarloFlags {
    /// Also simulate the random transfers of each user, in slots of 0.1 s, and count the stations that the active
    /// users need
    #[arg(long)]
    monte_carlo: bool,
    /// Number of independent runs
    #[arg(long, value_name = "N", default_value = "100", requires = "monte_carlo", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Length of a run. At the start of a run, no user transfers anything
    #[arg(long, value_name = "TIME", default_value = "1000s", requires = "monte_carlo")]
    seconds: Span,
    /// Time at the start of each run. The results leave out this time (the paper leaves out nothing)
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "monte_carlo")]
    warmup: Span,
    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value = "1", requires = "monte_carlo")]
    seed: u64,
    /// Files, and the share of each file in the transfers. A file is `doc` (8 kB), `image` (1 MB), `mp3` (3 MB),
    /// `video` (20 MB), or a size [default: the files of fig. 18a, doc=30%,image=30%,mp3=30%,video=10%, scaled to
    /// --file-mean]
    #[arg(long, value_name = "FILE=SHARE", value_delimiter = ',', value_parser = share_of_file)]
    file_mix: Vec<(f64, f64)>,
}

/// The largest number of random draws in one command. A larger number of draws would take minutes,
/// and is probably due to a mistyped flag.
const MOST_DRAWS: f64 = 2e9;

/// The files that users transfer: the size of each file in bits, and the file's share of the transfers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mix(Vec<(f64, f64)>);

/// The results.
#[derive(Debug, Serialize)]
pub(super) struct MonteCarloReport {
    /// The number of stations that a slot (0.1 s) needs is rounded up; this is the mean over all
    /// slots. The paper plots this mean.
    mean_of_ceiling: Statistic,
    /// The mean over all slots of the number of stations that a slot needs, without rounding.
    mean_fractional: Statistic,
    active_fraction: Statistic,
    transfers: Statistic,
    runs: u32,
    seconds_s: f64,
    warmup_s: f64,
    seed: u64,
}

impl MonteCarloFlags {
    pub(super) fn asked(&self) -> bool {
        self.monte_carlo
    }

    /// The files of `--file-mix`; None without that flag.
    ///
    /// # Errors
    /// The shares do not sum to 1, or `--file-mix` would have no effect.
    pub(super) fn mix(&self, mean_is_given: bool) -> Outcome<Option<Mix>> {
        if self.file_mix.is_empty() {
            return Ok(None);
        }
        if mean_is_given && !self.monte_carlo {
            let problem = "with --file-mean, this flag has an effect only on --monte-carlo; add --monte-carlo, leave \
                           out --file-mean, or leave out --file-mix";
            return Err(Failure::flag("--file-mix", problem));
        }
        let sum: f64 = self.file_mix.iter().map(|file| file.1).sum();
        if (sum - 1.0).abs() > 1e-9 {
            let problem = format!(
                "the shares sum to {sum}; write shares that sum to 1, such as `doc=30%,image=30%,mp3=30%,video=10%`"
            );
            return Err(Failure::flag("--file-mix", problem));
        }
        Ok(Some(Mix(self.file_mix.clone())))
    }
}

impl Mix {
    /// The mean size of a file.
    pub(super) fn mean_bits(&self) -> f64 {
        self.0.iter().map(|(bits, share)| bits * share).sum()
    }

    /// The files of fig. 18a of paper 000. The sizes are scaled so that the mean size is `bits`.
    fn of_mean(bits: f64) -> Mix {
        let paper = Mix(MIX_A.to_vec());
        let scale = bits / paper.mean_bits();
        Mix(paper.0.into_iter().map(|(size, share)| (size * scale, share)).collect())
    }
}

/// Runs the simulation. An active user gets `throughput_bps`.
pub(super) fn run(
    network: &CellularNetwork,
    throughput_bps: f64,
    mix: Option<Mix>,
    flags: &MonteCarloFlags,
    named: Named,
) -> Outcome<MonteCarloReport> {
    let experiment = MonteCarlo {
        users: network.users,
        arrivals_per_s: network.arrivals_per_s,
        files: mix.unwrap_or_else(|| Mix::of_mean(network.file_bits)).0,
        throughput_bps,
        station_share: (network.user_bps / network.station_bps).max(1.0 / f64::from(network.station_users)),
        seconds: flags.seconds.duration().as_secs_f64(),
        warm_up: flags.warmup.duration().as_secs_f64(),
        ..MonteCarlo::default()
    };
    // A user makes one draw for the waiting time before each transfer. One more draw gives a waiting time that ends
    // after the run.
    let draws = f64::from(network.users) * (network.arrivals_per_s * experiment.seconds + 1.0) * f64::from(flags.runs);
    if draws > MOST_DRAWS {
        let problem = format!(
            "{draws:.1e} random draws (users x transfers per user x runs) take too long; the limit is {MOST_DRAWS:.0e} \
             draws: reduce --users, --seconds or --runs"
        );
        return Err(Failure::flag("--monte-carlo", problem));
    }
    let [mut ceiling, mut fractional, mut active, mut transfers] = [Sample::default(); 4];
    for i in 0..flags.runs {
        let run = answer(experiment.run(Seed::new(flags.seed).run(u64::from(i))), named)?;
        ceiling.push(run.stations_whole);
        fractional.push(run.stations);
        active.push(run.active_fraction);
        transfers.push(run.transfers as f64);
    }
    Ok(MonteCarloReport {
        mean_of_ceiling: ceiling.statistic(),
        mean_fractional: fractional.statistic(),
        active_fraction: active.statistic(),
        transfers: transfers.statistic(),
        runs: flags.runs,
        seconds_s: experiment.seconds,
        warmup_s: experiment.warm_up,
        seed: flags.seed,
    })
}

impl MonteCarloReport {
    pub(super) fn lines(&self, lines: &mut Lines) {
        let interval = |s: &Statistic| match (s.mean, s.ci95) {
            (Some(mean), Some(ci95)) => format!("{mean:.3} +-{ci95:.3}"),
            (Some(mean), None) => format!("{mean:.3}"),
            _ => "-".to_owned(),
        };
        let what = format!("rounded up in each slot; {} runs of {} s, seed {}", self.runs, self.seconds_s, self.seed);
        lines.line("stations, simulated user by user", interval(&self.mean_of_ceiling), &what);
        lines.line("", interval(&self.mean_fractional), "not rounded");
        lines.line("active users", interval(&self.active_fraction), "share of all users");
    }
}

/// Parses a file and its share: `doc=30%` or `1.5MB=0.3`. Returns the size in bits and the share.
fn share_of_file(text: &str) -> Result<(f64, f64), String> {
    let wrong = |what: &str| format!("`{text}`: {what}; write for example `doc=30%` or `1.5MB=0.3`");
    let (file, share) = text.split_once('=').ok_or_else(|| wrong("write a file, `=`, and its share"))?;
    let share: Fraction = share.parse().map_err(|_| wrong("the share is not a number from 0 to 100 %"))?;
    let bytes = match file.trim() {
        "doc" => 8e3,
        "image" => 1e6,
        "mp3" => 3e6,
        "video" => 20e6,
        size => size
            .parse::<Bytes>()
            .map_err(|_| wrong("the file is not a size and not `doc`, `image`, `mp3` or `video`"))?
            .get() as f64,
    };
    Ok((bytes * 8.0, share.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_shares() {
        assert_eq!(share_of_file("doc=30%"), Ok((64e3, 0.3)));
        assert_eq!(share_of_file("1.5MB=0.25"), Ok((12e6, 0.25)));
        for wrong in ["doc", "doc=x", "docs=0.3", "=0.3", "video=130%"] {
            assert!(share_of_file(wrong).unwrap_err().contains("doc=30%"), "{wrong}");
        }
        let mix = Mix::of_mean(25.6e6);
        assert!((mix.mean_bits() - 25.6e6).abs() < 1e-6);
    }
}
