//! Simulates users who start transfers at random, slot by slot: section IX-B of paper 000.
//!
//! In each slot (0.1 s in the paper), a user starts a transfer of a file with probability q times
//! the slot. The files of a user queue up and are served at the rate T. A user is *active* while a
//! file is in service.
//!
//! Users do not influence each other. So the code follows one user after the other from transfer to
//! transfer. The code records only the slots in which the user becomes active or idle. The
//! computing time grows with the number of transfers, not with the number of users times the number
//! of slots.

use super::network::whole;
use crate::domain::{DomainError, at_least, not_negative, positive, require, share};
use ripstop_base::Seed;

/// The experiment. [`Default`] gives fig. 18a at q = 0.02 and 1 Mbit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct MonteCarlo {
    /// N: the number of users.
    pub users: u32,
    /// q: the rate at which a user starts transfers, 1/s.
    pub arrivals_per_s: f64,
    /// The kinds of files: size in bits, and probability. The probabilities sum to 1.
    pub files: Vec<(f64, f64)>,
    /// T: the throughput of an active user, bit/s.
    pub throughput_bps: f64,
    /// The share of a station that an active user takes: max{B/B_max, 1/N_max} in equation (22).
    pub station_share: f64,
    /// The length of a slot, s.
    pub slot: f64,
    /// The length of the experiment, s.
    pub seconds: f64,
    /// The time at the start that the results leave out, s. The network is idle at first.
    pub warm_up: f64,
}

/// The means of one run over the counted slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonteCarloRun {
    /// The mean number of stations, rounded up in each slot. The paper plots this number.
    pub stations_whole: f64,
    /// The mean number of stations, not rounded.
    pub stations: f64,
    /// The share of users that are active.
    pub active_fraction: f64,
    /// The number of transfers started in the whole run.
    pub transfers: u64,
}

/// The files of section IX-B: 30 % documents, 30 % images, 30 % music, and 10 % videos (fig. 18a).
/// Sizes are in bits.
pub const MIX_A: [(f64, f64); 4] = [(64e3, 0.3), (8e6, 0.3), (24e6, 0.3), (160e6, 0.1)];

/// The same files with 26, 27, 27 and 20 % (fig. 18b).
pub const MIX_B: [(f64, f64); 4] = [(64e3, 0.26), (8e6, 0.27), (24e6, 0.27), (160e6, 0.2)];

impl Default for MonteCarlo {
    fn default() -> MonteCarlo {
        MonteCarlo {
            users: 1000,
            arrivals_per_s: 0.02,
            files: MIX_A.to_vec(),
            throughput_bps: 1e6,
            station_share: 1.0 / 200.0,
            slot: 0.1,
            seconds: 1000.0,
            warm_up: 0.0,
        }
    }
}

impl MonteCarlo {
    /// Runs the experiment one time, with the random numbers of the stream `stations` of `seed`.
    /// For independent runs, use `seed.run(i)`.
    ///
    /// # Errors
    /// An argument is outside its domain. For example: more than one transfer a slot on average,
    /// more than 1e8 slots, or probabilities that do not sum to 1 within 1e-9.
    pub fn run(&self, seed: Seed) -> Result<MonteCarloRun, DomainError> {
        let slots = self.check()?;
        let (slots, first) = (slots as usize, (self.warm_up / self.slot) as usize);
        let start = self.arrivals_per_s * self.slot;
        let served = self.throughput_bps * self.slot;
        let mut random = seed.stream("stations");
        // The number of users that become active in each slot, minus the number that become idle.
        let mut change = vec![0i32; slots + 1];
        let mut transfers = 0;
        // ln(1 - q slot), to draw the number of slots until the next transfer. This number has a
        // geometric distribution.
        let ln_idle = libm::log1p(-start);
        for _ in 0..self.users {
            // The time at which the user's queue becomes empty, in slots.
            let mut empty = 0.0f64;
            let mut slot = 0.0f64;
            loop {
                if start < 1.0 {
                    slot += libm::floor(libm::log1p(-random.unit()) / ln_idle);
                }
                // If q = 0, `slot` is infinite or NaN (0/0), so that nobody ever starts a transfer.
                if slot.is_nan() || slot >= slots as f64 {
                    break;
                }
                transfers += 1;
                let mut which = random.unit();
                let bits = self.files.iter().find(|(_, probability)| {
                    which -= probability;
                    which < 0.0
                });
                // The sum of the probabilities may be slightly below 1. The last kind of file gets
                // the rest.
                let bits = bits.or(self.files.last()).map_or(0.0, |file| file.0);
                let idle = slot >= libm::ceil(empty);
                let was = if idle { slot } else { empty };
                empty = was + bits / served;
                let from = if idle { slot } else { libm::ceil(was) };
                let to = libm::ceil(empty).min(slots as f64);
                if from < to {
                    change[from as usize] += 1;
                    change[to as usize] -= 1;
                }
                slot += 1.0;
            }
        }
        let (mut active, mut sum, mut whole_sum) = (0i64, 0.0, 0.0);
        for (slot, change) in change[..slots].iter().enumerate() {
            active += i64::from(*change);
            if slot >= first {
                sum += active as f64;
                whole_sum += whole(active as f64 * self.station_share);
            }
        }
        let counted = (slots - first) as f64;
        Ok(MonteCarloRun {
            stations_whole: whole_sum / counted,
            stations: sum * self.station_share / counted,
            active_fraction: sum / counted / f64::from(self.users),
            transfers,
        })
    }

    /// mu_f: the mean size of a file, bits.
    ///
    /// # Errors
    /// The same as for [`run`](MonteCarlo::run).
    pub fn mean_file(&self) -> Result<f64, DomainError> {
        self.check()?;
        Ok(self.files.iter().map(|(bits, probability)| bits * probability).sum())
    }

    /// Checks the arguments and returns the number of slots.
    pub(crate) fn check(&self) -> Result<f64, DomainError> {
        at_least("the number of users", self.users, 1, "1 or more")?;
        not_negative("the transfers started in a second", self.arrivals_per_s)?;
        positive("the throughput in bits a second", self.throughput_bps)?;
        positive("the share of a station", self.station_share)?;
        positive("the slot in seconds", self.slot)?;
        positive("the length of the experiment in seconds", self.seconds)?;
        not_negative("the seconds that are not counted", self.warm_up)?;
        let start = self.arrivals_per_s * self.slot;
        require(start <= 1.0, "the probability to start a transfer in a slot", start, "at most 1")?;
        let mut sum = 0.0;
        for (bits, probability) in &self.files {
            not_negative("the size of a file in bits", *bits)?;
            share("the probability of a file", *probability)?;
            sum += probability;
        }
        require((sum - 1.0).abs() <= 1e-9, "the sum of the files' probabilities", sum, "1")?;
        // 1000 s in slots of 0.1 s are 10 000 slots, even if the quotient rounds to less.
        let slots = libm::floor(self.seconds / self.slot * (1.0 + 1e-12));
        require((1.0..=1e8).contains(&slots), "the number of slots", slots, "1 to 1e8")?;
        require(
            self.warm_up < slots * self.slot * (1.0 - 1e-12),
            "the seconds that are not counted",
            self.warm_up,
            "less than the length of the experiment",
        )?;
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEED: Seed = Seed::new(18);

    /// The same experiment, computed slot by slot and user by user.
    fn slot_by_slot(experiment: &MonteCarlo, seed: Seed) -> [f64; 3] {
        let mut random = seed.stream("test");
        let slots = (experiment.seconds / experiment.slot).round() as usize;
        let first = (experiment.warm_up / experiment.slot) as usize;
        let mut left = vec![0.0; experiment.users as usize];
        let mut sums = [0.0; 3];
        for slot in 0..slots {
            let mut active = 0.0;
            for left in &mut left {
                if random.chance(experiment.arrivals_per_s * experiment.slot) {
                    let mut which = random.unit();
                    for (bits, probability) in &experiment.files {
                        which -= probability;
                        if which < 0.0 {
                            *left += bits;
                            break;
                        }
                    }
                }
                if *left > 0.0 {
                    active += 1.0;
                    *left -= experiment.throughput_bps * experiment.slot;
                    if *left < 0.0 {
                        *left = 0.0;
                    }
                }
            }
            if slot >= first {
                let stations = active * experiment.station_share;
                sums[0] += whole(stations);
                sums[1] += stations;
                sums[2] += active / f64::from(experiment.users);
            }
        }
        sums.map(|sum| sum / (slots - first) as f64)
    }

    /// The mean and its standard error.
    fn mean(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        (mean, (squares / (n - 1.0) / n).sqrt())
    }

    #[test]
    fn transfer_by_transfer_is_slot_by_slot() {
        let experiment = MonteCarlo { users: 100, seconds: 300.0, warm_up: 50.0, ..MonteCarlo::default() };
        let runs = 40;
        let quick: Vec<MonteCarloRun> = (0..runs).map(|i| experiment.run(SEED.run(i)).unwrap()).collect();
        let slow: Vec<[f64; 3]> = (0..runs).map(|i| slot_by_slot(&experiment, SEED.run(i))).collect();
        for (i, pick) in
            [(|r: &MonteCarloRun| r.stations_whole) as fn(&MonteCarloRun) -> f64, |r| r.stations, |r| r.active_fraction]
                .into_iter()
                .enumerate()
        {
            let (a, ea) = mean(&quick.iter().map(pick).collect::<Vec<_>>());
            let (b, eb) = mean(&slow.iter().map(|r| r[i]).collect::<Vec<_>>());
            assert!(
                (a - b).abs() <= 4.0 * (ea * ea + eb * eb).sqrt() + 1e-12,
                "value {i}: {a} +- {ea} by transfers, {b} +- {eb} by slots, seed {SEED}"
            );
        }
    }

    #[test]
    fn figure_18() {
        // Values computed independently with one seed. The first two are the mean of the rounded-up
        // number over all slots and over the second half. The last two are the same means of the
        // number that is not rounded.
        for (mix, q, mbps, want) in [
            (MIX_A, 0.02, 1.0, [2.841, 3.000, 2.279, 2.475]),
            (MIX_A, 0.03, 3.0, [2.958, 3.001, 2.482, 2.551]),
            (MIX_A, 0.04, 0.5, [4.807, 5.000, 4.554, 4.930]),
            (MIX_B, 0.02, 1.0, [3.718, 4.000, 3.237, 3.626]),
            (MIX_B, 0.03, 1.5, [3.819, 4.000, 3.410, 3.758]),
            (MIX_B, 0.03, 3.0, [4.292, 4.519, 3.866, 4.017]),
            (MIX_B, 0.04, 3.0, [5.768, 5.990, 5.173, 5.410]),
        ] {
            let share = (mbps / 300.0f64).max(1.0 / 200.0);
            let experiment = MonteCarlo {
                arrivals_per_s: q,
                files: mix.to_vec(),
                throughput_bps: mbps * 1e6,
                station_share: share,
                ..MonteCarlo::default()
            };
            let late = MonteCarlo { warm_up: 500.0, ..experiment.clone() };
            let over = |e: &MonteCarlo, pick: fn(&MonteCarloRun) -> f64| {
                let runs: Vec<f64> = (0..12).map(|i| pick(&e.run(SEED.run(i)).unwrap())).collect();
                let (centre, error) = mean(&runs);
                // The independent value comes from one run. So its deviation counts, and not the
                // error of the mean.
                (centre, 4.0 * error * 12f64.sqrt() + 6e-4)
            };
            for ((got, within), want) in [
                over(&experiment, |r| r.stations_whole),
                over(&late, |r| r.stations_whole),
                over(&experiment, |r| r.stations),
                over(&late, |r| r.stations),
            ]
            .into_iter()
            .zip(want)
            {
                assert!((got - want).abs() <= within, "q {q} B {mbps}: {got}, not {want} within {within}, seed {SEED}");
            }
        }
    }

    #[test]
    fn long_runs_come_to_equation_21() {
        // The load is far from 1. Near 1, 1000 s are short compared with the memory of the queue.
        let experiment = MonteCarlo {
            arrivals_per_s: 0.01,
            throughput_bps: 2e6,
            seconds: 5000.0,
            warm_up: 1000.0,
            ..MonteCarlo::default()
        };
        let want = 0.01 * experiment.mean_file().unwrap() / 2e6;
        let runs: Vec<f64> = (0..20).map(|i| experiment.run(SEED.run(i)).unwrap().active_fraction).collect();
        let (got, error) = mean(&runs);
        // A busy period ends with its slot. On average it takes half a slot more. With 0.01
        // transfers a second, this is 0.05 % of the time.
        let slots = 0.01 * 0.1 / 2.0;
        assert!((got - want - slots * (1.0 - want)).abs() <= 4.0 * error + slots / 2.0, "{got} +- {error}, not {want}");
        assert_eq!(experiment.run(SEED), experiment.run(SEED));
        assert!(experiment.run(SEED).unwrap().transfers > 40_000);
        // A transfer starts in each slot.
        let busy = MonteCarlo { arrivals_per_s: 10.0, ..MonteCarlo::default() }.run(SEED).unwrap();
        assert_eq!((busy.active_fraction, busy.transfers, busy.stations_whole), (1.0, 10_000_000, 5.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn wild_input_is_an_error_or_an_answer(
            x in prop::array::uniform7(prop::sample::select(vec![
                f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-310, 1e-9, 0.05, 0.5, 1.0, 3.0, 100.0, 1e300,
            ])),
            users in prop::sample::select(vec![0, 1, 20]),
        ) {
            let experiment = MonteCarlo {
                users, arrivals_per_s: x[0], files: vec![(x[1], 1.0)], throughput_bps: x[2], station_share: x[3],
                slot: x[4], seconds: x[5], warm_up: x[6],
            };
            // Slow experiments are left out here.
            let slots = x[5] / x[4];
            prop_assume!(slots.is_nan() || slots <= 1e5);
            if let Ok(run) = experiment.run(SEED) {
                prop_assert!(run.stations >= 0.0 && run.stations_whole >= 0.0, "{experiment:?}: negative stations: {run:?}");
                prop_assert!((0.0..=1.0).contains(&run.active_fraction), "{experiment:?}: not a share: {run:?}");
            }
        }
    }
}
