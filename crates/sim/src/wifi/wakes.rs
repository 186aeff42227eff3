//! When each station of a medium has something to do next.
//!
//! The world's [`Scheduler`](crate::engine::Scheduler) updates a tree with each change of an alarm. A frame on its way
//! changes the times of all stations that sense it, so a medium keeps these times itself, and has one alarm.

use ripstop_base::Time;

/// The number of stations in a block: 16. The stations of a block share one entry, which is no later than any of their
/// times. A search among n stations looks at n / 16 + 16 entries. For 200 stations these are 29; with blocks of 8 stations
/// 33, and with blocks of 32 stations 39.
const BLOCK: usize = 16;

/// The time at which each station wakes next.
///
/// Times change far more often than stations wake. So a change is cheap, and the search for the first station does the
/// work. The search looks at the entries of all blocks, and then at the stations of the block with the earliest entry.
#[derive(Clone, Debug)]
pub(super) struct Wakes {
    /// The time at which each station wakes. [`Time::NEVER`] for a station that has nothing to do.
    stations: Vec<Time>,
    /// For each block, a time before which no station of the block wakes.
    blocks: Vec<Time>,
}

impl Wakes {
    /// The times of `stations` stations. No station has anything to do yet.
    pub(super) fn new(stations: usize) -> Wakes {
        let blocks = stations.div_ceil(BLOCK);
        Wakes { stations: vec![Time::NEVER; stations], blocks: vec![Time::NEVER; blocks] }
    }

    /// Lets station `station` wake at `when`.
    #[inline]
    pub(super) fn set(&mut self, station: usize, when: Time) {
        self.stations[station] = when;
        let block = &mut self.blocks[station / BLOCK];
        *block = when.min(*block);
    }

    /// The station that wakes first, and the time at which it wakes. Among stations that wake at the same time, the
    /// station with the smallest number comes first. The time is [`Time::NEVER`] if no station wakes.
    #[inline]
    pub(super) fn first(&mut self) -> (usize, Time) {
        loop {
            let Some((block, bound)) = earliest(&self.blocks) else { return (0, Time::NEVER) };
            let from = block * BLOCK;
            let to = (from + BLOCK).min(self.stations.len());
            let Some((station, when)) = earliest(&self.stations[from..to]) else { return (0, Time::NEVER) };
            if when == bound {
                return (from + station, when);
            }
            self.blocks[block] = when;
        }
    }
}

/// The place and the value of the earliest time in `times`. None if `times` is empty.
#[inline]
fn earliest(times: &[Time]) -> Option<(usize, Time)> {
    let mut first = (0, *times.first()?);
    for (place, time) in times.iter().enumerate().skip(1) {
        first = std::hint::select_unpredictable(*time < first.1, (place, *time), first);
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_stations_is_found_after_any_change() {
        let (mut wakes, mut times) = (Wakes::new(100), vec![Time::NEVER; 100]);
        assert_eq!(wakes.first(), (0, Time::NEVER));
        let mut draws = ripstop_base::Seed::new(1).stream("wakes");
        for _ in 0..10_000 {
            let (station, when) = (draws.below(100) as usize, Time::from_nanos(draws.below(1000)));
            wakes.set(station, when);
            times[station] = when;
            let first = times.iter().enumerate().min_by_key(|(_, time)| **time).map(|(k, time)| (k, *time));
            assert_eq!(Some(wakes.first()), first);
        }
        assert_eq!(Wakes::new(0).first(), (0, Time::NEVER));
    }
}
