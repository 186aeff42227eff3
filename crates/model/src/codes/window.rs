//! The residual loss and delay of a sliding-window code. The sender sends a repair after every few
//! source packets, and further repairs after feedback. The window moves on with time, so a packet
//! that stays missing is given up.
//!
//! A lost source packet opens a *gap*. The *deficit* is the number of source packets lost in the
//! gap, less the repairs that have arrived since the gap opened. At a deficit of 0 the gap closes:
//! all its packets are decoded. While the gap is open, nothing is delivered in order.
//!
//! The sender learns of a gap `feedback` packets after the gap opened. From then on, the sender
//! sends only repairs until the gap closes. The code calls these repairs *exact*. If the gap is
//! still open `span` packets after it opened, the window has moved past the gap, and the missing
//! packets are given up.
//!
//! The schedule of source packets and repairs repeats in *cycles*: a number of source packets, then
//! one repair. The *phase* is the position of the next packet in its cycle. Exact repairs do not
//! advance the phase.
//!
//! All results follow from two things: how long a gap lasts, and at which phase the next gap opens.
//! The results are exact for this idealised sender, and a test compares them with a simulation of
//! this sender. A real sender learns of each change of the deficit after a delay. Until then, it
//! assumes that the mean share of its repairs in flight arrives.
//!
//! Losses follow the two-state chain of [`PacketLosses`]. In this file, `lose[0]` is the
//! probability of a loss after a packet that arrived, and `lose[1]` after a lost packet. `bad` is 1
//! if the last packet was lost.

use super::{PacketLosses, Residual, small};
use crate::domain::{DomainError, require};

/// The settings of a sliding-window sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowCode {
    /// The number of source packets after which a repair is sent. `None`: no repair is sent before
    /// feedback.
    pub repair_every: Option<u32>,
    /// The number of packets sent after a gap opened until the gap is given up.
    pub span: u32,
    /// The number of packets sent in one round trip: the sender learns of a gap with this delay.
    /// `None`: there is no feedback.
    pub feedback: Option<u32>,
}

/// The longest span that is computed, packets. The work grows with the span (see
/// [`WindowCode::residual`]).
pub const LONGEST_SPAN: u32 = 5000;

/// The largest number of source packets between two repairs. Twice the value doubles the number of
/// phases to compute.
pub const LONGEST_CYCLE: u32 = 64;

/// The computation of a gap ends when the probability that the gap is still open falls below this
/// value. With a larger value, the computation is faster and less exact.
const NEGLIGIBLE: f64 = 1e-16;

/// The computation of a gap leaves out deficits with a probability of at most this value. With a
/// larger value, the computation is faster and less exact.
const UNLIKELY: f64 = 1e-25;

impl WindowCode {
    /// The residual loss and delay of this window.
    ///
    /// The computing time is proportional to the product of three numbers: the source packets of a
    /// cycle, the packets of a gap, and the different deficits of a gap. The time is less than a
    /// millisecond for spans of a hundred packets. For long spans in which repairs barely keep up
    /// with losses, the time is seconds.
    ///
    /// # Errors
    /// `repair_every` is outside 1 to 64, `span` is outside 1 to 5000, `feedback` is 0, or the
    /// losses are outside their domain.
    pub fn residual(&self, losses: PacketLosses) -> Result<Residual, DomainError> {
        if let Some(every) = self.repair_every {
            small("the number of source packets for a repair", every, LONGEST_CYCLE, "1 to 64")?;
        }
        small("the span in packets", self.span, LONGEST_SPAN, "1 to 5000")?;
        if let Some(feedback) = self.feedback {
            require(feedback >= 1, "the packets of a round trip", f64::from(feedback), "1 or more")?;
        }
        let lose = losses.chain()?;
        if losses.share() == 0.0 {
            return Ok(Residual::new(0.0, self.cycle() as f64 / self.sources() as f64, Vec::new()));
        }
        let sources = self.sources();
        let gaps: Vec<Gap> = (0..sources).map(|phase| self.gap(phase, lose)).collect();
        // The index of `opens` is the phase and the state in which a gap ends. Each entry describes
        // the time from the end of this gap to the next gap.
        let turns = self.turns(lose);
        let ends = (0..self.cycle()).flat_map(|phase| [(phase, 0), (phase, 1)]);
        let opens: Vec<Idle> = ends.map(|(phase, bad)| self.idle(phase, bad, lose, &turns)).collect();
        let after = |gap: &Gap| {
            let mut after = vec![0.0; sources];
            for (idle, ends) in opens.iter().zip(&gap.ends) {
                after.iter_mut().zip(&idle.phases).for_each(|(share, opens)| *share += ends * opens);
            }
            after
        };
        let after: Vec<Vec<f64>> = gaps.iter().map(after).collect();
        // The share of gaps that open at each phase, by iteration from equal shares.
        let mut often = vec![1.0 / sources as f64; sources];
        for _ in 0..10_000 {
            let mut then = vec![0.0; sources];
            for (after, weight) in after.iter().zip(&often) {
                then.iter_mut().zip(after).for_each(|(share, opens)| *share += weight * opens);
            }
            let sum: f64 = then.iter().sum();
            then.iter_mut().for_each(|share| *share /= sum);
            let moved = then.iter().zip(&often).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // Take half a step, so that the iteration also converges for periodic cycles.
            often = then.iter().zip(&often).map(|(a, b)| (a + b) / 2.0).collect();
            if moved < 1e-14 {
                break;
            }
        }
        // Means for one gap together with the time until the next gap: source packets sent, all
        // packets sent, and source packets lost.
        let (mut all, mut sent, mut lost) = (0.0, 0.0, 0.0);
        let mut late = Vec::new();
        for (gap, weight) in gaps.iter().zip(&often) {
            lost += weight * gap.lost;
            // Count the packet that opens the gap, and the packets sent while the gap is open.
            sent += weight * (1.0 + gap.open[..gap.open.len() - 1].iter().sum::<f64>());
            for (state, ends) in gap.ends.iter().enumerate() {
                all += weight * ends * opens[state].sources;
                sent += weight * ends * opens[state].packets;
            }
            late.resize(late.len().max(gap.open.len()), 0.0);
            // A source packet sent at time `at` of a gap is still waiting at time `at` + d if the
            // gap is open at that time. Add these probabilities for all source packets of the gap.
            // The source packets are all packets before the feedback, except the repairs. So take a
            // difference of two suffix sums of `open`, and subtract the repairs.
            let told = gap.is_source.len().min(self.feedback.map_or(usize::MAX, |packets| packets as usize));
            let repairs: Vec<usize> = (0..told).filter(|at| !gap.is_source[*at]).collect();
            let mut beyond = vec![0.0; gap.open.len() + 1];
            for (at, open) in gap.open.iter().enumerate().rev() {
                beyond[at] = beyond[at + 1] + open;
            }
            for (d, late) in late.iter_mut().enumerate().take(gap.open.len()) {
                let end = (d + told).min(gap.open.len());
                let of_repairs: f64 = repairs.iter().map_while(|at| gap.open.get(at + d)).sum();
                *late += weight * (beyond[d] - beyond[end] - of_repairs).max(0.0);
            }
            let sent_open = gap.is_source.iter().zip(&gap.open).filter(|(source, _)| **source);
            all += weight * sent_open.map(|(_, open)| open).sum::<f64>();
        }
        late.iter_mut().for_each(|late| *late /= all);
        Ok(Residual::new(lost / all, sent / all, late))
    }

    /// The number of source packets in a cycle. A schedule without repairs has cycles of one source
    /// packet.
    fn sources(&self) -> usize {
        self.repair_every.unwrap_or(1) as usize
    }

    /// The number of packets in a cycle.
    fn cycle(&self) -> usize {
        self.sources() + usize::from(self.repair_every.is_some())
    }

    /// Computes a gap that opens with the loss of the source packet at `phase` of the cycle.
    fn gap(&self, phase: usize, lose: [f64; 2]) -> Gap {
        let (cycle, sources) = (self.cycle(), self.sources());
        let feedback = self.feedback.map_or(usize::MAX, |packets| packets as usize);
        let mut schedule = (phase + 1) % cycle;
        // The state of the open gap: the first index is the deficit, and the second says whether
        // the last packet was lost. Each entry holds the probability of a state, and this
        // probability times the expected number of lost source packets.
        let mut at = vec![[[0.0f64; 2]; 2]; self.span as usize + 2];
        at[1][1] = [1.0, 1.0];
        let mut gap = Gap { open: vec![1.0], is_source: vec![true], ends: vec![0.0; 2 * cycle], lost: 0.0 };
        let mut next = at.clone();
        // The smallest and the largest deficit with a probability above `UNLIKELY`.
        let (mut least, mut most) = (1, 1);
        for elapsed in 1..self.span as usize {
            let exact = elapsed >= feedback;
            let source = !exact && schedule < sources;
            next[least - 1..=most + 1].fill([[0.0; 2]; 2]);
            let mut closed = 0.0;
            for (deficit, from) in at.iter().enumerate().take(most + 1).skip(least) {
                for bad in [0, 1] {
                    let [mass, lost] = from[bad];
                    let (arrives, loses) = (1.0 - lose[bad], lose[bad]);
                    if source {
                        add(&mut next[deficit][0], mass * arrives, lost * arrives);
                        add(&mut next[deficit + 1][1], mass * loses, (lost + mass) * loses);
                    } else {
                        if deficit == 1 {
                            closed += mass * arrives;
                        } else {
                            add(&mut next[deficit - 1][0], mass * arrives, lost * arrives);
                        }
                        add(&mut next[deficit][1], mass * loses, lost * loses);
                    }
                }
            }
            std::mem::swap(&mut at, &mut next);
            let likely = |d: &usize| at[*d][0][0] + at[*d][1][0] > UNLIKELY;
            let (lowest, highest) = ((least - 1).max(1), most + 1);
            most = (lowest..=highest).rev().find(likely).unwrap_or(lowest);
            least = (lowest..=most).find(likely).unwrap_or(most);
            if !exact {
                schedule = (schedule + 1) % cycle;
            }
            gap.ends[2 * schedule] += closed;
            let open: f64 = at[least..=most].iter().flatten().map(|[mass, _]| mass).sum();
            gap.is_source.push(source);
            gap.open.push(open);
            if open < NEGLIGIBLE {
                break;
            }
        }
        let at = &at[least..=most];
        // A gap that is still open is given up now. The next packet is the next packet of the
        // schedule.
        for (bad, share) in [0, 1].map(|bad| (bad, at.iter().map(|from| from[bad][0]).sum::<f64>())) {
            gap.ends[2 * schedule + bad] += share;
        }
        gap.lost = at.iter().flatten().map(|[_, lost]| lost).sum();
        gap
    }

    /// Computes the time until the next gap, from a moment at which no gap is open. At this moment
    /// the schedule is at `phase`, and `bad` tells whether the last packet was lost.
    fn idle(&self, phase: usize, bad: usize, lose: [f64; 2], turns: &[Idle; 2]) -> Idle {
        let mut idle = Idle::none(self.sources());
        let left = self.to_the_end(phase, bad, lose, &mut idle);
        for (turn, left) in turns.iter().zip(left) {
            idle.add(turn, left);
        }
        idle
    }

    /// The time to the next gap as in [`idle`](WindowCode::idle), from the start of a cycle. Index
    /// 0 is after a packet that arrived, index 1 after a lost packet.
    fn turns(&self, lose: [f64; 2]) -> [Idle; 2] {
        let mut turns = [Idle::none(self.sources()), Idle::none(self.sources())];
        let left = [0, 1].map(|bad| self.to_the_end(0, bad, lose, &mut turns[bad]));
        // A cycle without a lost source packet leads to the start of the next cycle. This gives two
        // linear equations, one for each state at the start. `opens` is the probability that a gap
        // opens in a cycle. This probability is computed as a sum of small numbers, because a
        // difference from 1 would lose the digits of these numbers.
        let opens = [0, 1].map(|bad| turns[bad].phases.iter().sum::<f64>());
        let [mut good, mut bad] = turns;
        let leaves_bad = left[1][0] + opens[1];
        if leaves_bad > 0.0 {
            // From the state after a loss, any number of cycles end in the same state. Then a cycle
            // ends in the other state, or a gap opens.
            let mut from_good = good.clone();
            from_good.add(&bad, left[0][1] / leaves_bad);
            from_good.scale(1.0 / (opens[0] + left[0][1] * opens[1] / leaves_bad));
            good = from_good;
            bad.add(&good, left[1][0]);
            bad.scale(1.0 / leaves_bad);
        }
        [good, bad]
    }

    /// Computes the rest of a cycle, from `phase` on. Adds to `idle` what happens until a gap
    /// opens. The result is the state at the cycle's end if no gap opens.
    fn to_the_end(self, phase: usize, bad: usize, lose: [f64; 2], idle: &mut Idle) -> [f64; 2] {
        let mut state = [0.0; 2];
        state[bad] = 1.0;
        for phase in phase..self.cycle() {
            let arrives = state[0] * (1.0 - lose[0]) + state[1] * (1.0 - lose[1]);
            let loses = state[0] * lose[0] + state[1] * lose[1];
            if phase < self.sources() {
                idle.phases[phase] += loses;
                // The lost source packet opens the gap and belongs to the gap.
                idle.sources += arrives;
                idle.packets += arrives;
                state = [arrives, 0.0];
            } else {
                idle.packets += arrives + loses;
                state = [arrives, loses];
            }
        }
        state
    }
}

/// A gap. Time is counted in packets since the loss that opened the gap.
struct Gap {
    /// The probability that the gap is still open, by time.
    open: Vec<f64>,
    /// Whether the packet sent at each time is a source packet.
    is_source: Vec<bool>,
    /// The probability of each way in which the gap ends. The index is twice the phase of the next
    /// packet, plus 1 if the last packet was lost.
    ends: Vec<f64>,
    /// The expected number of source packets that are given up with the gap.
    lost: f64,
}

/// The time from the end of one gap to the next gap.
#[derive(Clone)]
struct Idle {
    /// The probability that the next gap opens at each phase.
    phases: Vec<f64>,
    /// The expected number of source packets that arrive until the next gap opens.
    sources: f64,
    /// The expected number of packets until the next gap opens. The packet that opens the gap does
    /// not count.
    packets: f64,
}

impl Idle {
    fn none(sources: usize) -> Idle {
        Idle { phases: vec![0.0; sources], sources: 0.0, packets: 0.0 }
    }

    fn add(&mut self, other: &Idle, weight: f64) {
        self.phases.iter_mut().zip(&other.phases).for_each(|(to, from)| *to += weight * from);
        self.sources += weight * other.sources;
        self.packets += weight * other.packets;
    }

    fn scale(&mut self, factor: f64) {
        self.phases.iter_mut().for_each(|phase| *phase *= factor);
        self.sources *= factor;
        self.packets *= factor;
    }
}

fn add(to: &mut [f64; 2], mass: f64, lost: f64) {
    to[0] += mass;
    to[1] += lost;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fec::gilbert::Gilbert;
    use proptest::prelude::*;
    use ripstop_base::Seed;

    /// Simulates the sender packet by packet. Returns the residual loss, the packets sent for each
    /// source packet, the mean delay, and the share of source packets delayed by more than `d`.
    fn simulated(window: WindowCode, lose: [f64; 2], packets: usize, d: usize, seed: Seed) -> [f64; 4] {
        let mut random = seed.stream("window");
        let (mut bad, mut schedule, mut deficit, mut opened) = (false, 0, 0usize, 0usize);
        let (mut sources, mut lost, mut delay, mut late) = (0usize, 0usize, 0usize, 0usize);
        let mut waiting: Vec<(usize, bool)> = Vec::new();
        for now in 0..packets {
            if deficit > 0 && now - opened == window.span as usize {
                for (sent, was_lost) in waiting.drain(..) {
                    lost += usize::from(was_lost);
                    delay += now - sent;
                    late += usize::from(now - sent > d);
                }
                deficit = 0;
            }
            let exact = deficit > 0 && window.feedback.is_some_and(|f| now - opened >= f as usize);
            let source = !exact && schedule < window.sources();
            if !exact {
                schedule = (schedule + 1) % window.cycle();
            }
            bad = random.chance(lose[usize::from(bad)]);
            if source {
                sources += 1;
                if bad && deficit == 0 {
                    opened = now;
                }
                deficit += usize::from(bad);
                if deficit > 0 {
                    waiting.push((now, bad));
                }
            } else if !bad && deficit > 0 {
                deficit -= 1;
                if deficit == 0 {
                    for (sent, _) in waiting.drain(..) {
                        delay += now - sent;
                        late += usize::from(now - sent > d);
                    }
                }
            }
        }
        [lost, packets, delay, late].map(|sum| sum as f64 / sources as f64)
    }

    #[test]
    fn windows_in_virtual_time() {
        let seed = Seed::new(12);
        for (i, (repair_every, span, feedback, loss, q)) in [
            (Some(8), 60, None, 0.05, 0.05),
            (Some(4), 30, None, 0.1, 0.5),
            (Some(10), 100, Some(25), 0.08, 0.08),
            (None, 200, Some(40), 0.1, 0.1),
            (None, 50, None, 0.1, 0.6),
            (Some(1), 15, Some(40), 0.4, 0.4),
            (Some(20), 300, Some(50), 0.05, 0.7),
            // The deficit reaches hundreds before feedback arrives.
            (Some(10), 3000, Some(1200), 0.3, 0.3),
        ]
        .into_iter()
        .enumerate()
        {
            let window = WindowCode { repair_every, span, feedback };
            let losses = PacketLosses::Bursts(Gilbert { loss, stay_bad: q });
            let got = window.residual(losses).unwrap();
            let d = span as usize / 4;
            let want = simulated(window, losses.chain().unwrap(), 2_000_000, d, seed.run(i as u64));
            let late = got.late.get(d).copied().unwrap_or(0.0);
            let ours = [got.loss, got.sent_per_source, got.mean_delay(), late];
            for (got, want) in ours.into_iter().zip(want) {
                assert!((got - want).abs() <= 0.05 * want + 2e-4, "{window:?}: {ours:?}, not {want}, seed {seed}");
            }
        }
    }

    #[test]
    fn nothing_lost_nothing_repaired_and_all_lost() {
        let window = WindowCode { repair_every: Some(9), span: 100, feedback: Some(20) };
        let clean = window.residual(PacketLosses::Independent(0.0)).unwrap();
        assert_eq!((clean.loss, clean.mean_delay(), clean.delay(1.0)), (0.0, 0.0, Ok(0)));
        assert!((clean.sent_per_source - 10.0 / 9.0).abs() < 1e-12);
        // Without repairs, every lost packet is given up.
        let bare = WindowCode { repair_every: None, span: 10, feedback: None };
        let got = bare.residual(PacketLosses::Independent(0.2)).unwrap();
        assert!(
            (got.loss - 0.2).abs() < 1e-12 && (got.sent_per_source - 1.0).abs() < 1e-12,
            "wrong loss without repairs: {got:?}"
        );
        let dead = bare.residual(PacketLosses::Independent(1.0)).unwrap();
        assert!((dead.loss - 1.0).abs() < 1e-12);
        // With a loss of 1e-14, a difference from 1 would have almost no correct digits. The lost
        // packet and the source packets up to the next repair wait. On average, 5 packets wait.
        let slow = WindowCode { repair_every: Some(9), span: 1000, feedback: None };
        let rare = slow.residual(PacketLosses::Independent(1e-14)).unwrap();
        assert!(
            (rare.late[0] / 5e-14 - 1.0).abs() < 1e-9 && rare.loss < 1e-30,
            "a rare loss lost its digits: {rare:?}"
        );
        for (repair_every, span, feedback) in [
            (Some(0), 9, None),
            (Some(u32::MAX), 9, None),
            (Some(2), 0, None),
            (Some(2), u32::MAX, None),
            (None, 9, Some(0)),
        ] {
            assert!(WindowCode { repair_every, span, feedback }.residual(PacketLosses::Independent(0.1)).is_err());
        }
        assert!(window.residual(PacketLosses::Independent(f64::NAN)).is_err());
    }

    #[test]
    fn feedback_alone_costs_what_is_lost() {
        // The sender sends repairs until one arrives for each lost packet. So each source packet
        // costs 1/(1-p) packets.
        for p in [0.01, 0.1, 0.3] {
            let window = WindowCode { repair_every: None, span: 5000, feedback: Some(10) };
            let got = window.residual(PacketLosses::Independent(p)).unwrap();
            assert!(
                (got.sent_per_source * (1.0 - p) - 1.0).abs() < 1e-9 && got.loss < 1e-12,
                "p {p}: wrong cost of feedback: {got:?}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn more_repairs_or_a_longer_span_lose_less(every in 1u32..20, span in 2u32..120, p in 0.001f64..0.5, q in 0.0f64..0.9) {
            let losses = PacketLosses::Bursts(Gilbert { loss: p, stay_bad: q.max(2.0 - 1.0 / p) });
            let window = WindowCode { repair_every: Some(every), span, feedback: None };
            let one = window.residual(losses).unwrap();
            prop_assert!((0.0..=p * (1.0 + 1e-9)).contains(&one.loss), "more loss than without a code: {one:?}");
            prop_assert!(one.sent_per_source >= 1.0 && one.mean_delay() <= f64::from(span));
            prop_assert!(one.late.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12));
            // Without feedback, the sender always sends whole cycles.
            prop_assert!((one.sent_per_source - f64::from(every + 1) / f64::from(every)).abs() < 1e-6, "not whole cycles were sent: {one:?}");
            let told = WindowCode { feedback: Some(span / 2 + 1), ..window }.residual(losses).unwrap();
            // At q < p, a packet after a loss is less likely to be lost than other packets. Then a
            // repair sent in between can move a source packet to a position with a higher loss
            // probability, and feedback can raise the loss.
            prop_assert!(q < p || told.loss <= one.loss * (1.0 + 1e-9) + 1e-12, "feedback raised the loss: {told:?}, without {one:?}");
        }
    }
}
