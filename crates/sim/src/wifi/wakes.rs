//! When each station of a medium has something to do next.

use ripstop_base::Time;

/// The stations of a block share one entry with the earliest of their times. With a block of 4 or of 64, the search for
/// the first station takes longer, for 200 stations by about a half.
const BLOCK: usize = 16;

/// The time at which each station wakes next.
///
/// Times change far more often than a station wakes, so a change is cheap: the search for the first station does the
/// work. It looks at one entry for each block of stations, and then at the stations of one block.
#[derive(Clone, Debug)]
pub(super) struct Wakes {
    /// For each station: when it wakes. [`Time::NEVER`] if it has nothing to do.
    stations: Vec<Time>,
    /// For each block: a time before which none of its stations wakes.
    blocks: Vec<Time>,
}

impl Wakes {
    /// `stations` stations that have nothing to do.
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

    /// The station that wakes first, and when. Of stations that wake at the same time, the one with the smallest number.
    /// [`Time::NEVER`] if no station wakes.
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

/// The place and the value of the earliest of these times. None if there are none.
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
