//! How frames reach a station.
//!
//! A frame that is not for a station changes only the state of this station when it begins and ends there. So the
//! station does not wake for such a frame. The frame waits in the station's list of frames under way. Before anything
//! else happens at the station, [`Medium::hear`] applies beginnings and ends of frames in order, each with its own
//! time. A frame on its way sets a reception timer only at stations that must act at its end. These are its receivers,
//! and stations that wait to overhear its sender (Cadence). At all stations that sense the frame, the frame may move
//! the back-off timer.

use super::frame::Frame;
use super::medium::Medium;
use super::propagation::Hearer;
use super::queue::Packet;
use super::receiver::{Beginning, Ending, Reception};
use super::timers::Timer;
use ripstop_base::Time;
use std::collections::VecDeque;

/// Frames whose beginning has not reached a station yet, or has not been applied at the station yet.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    /// The frames, in the order in which they begin.
    frames: VecDeque<Reception>,
}

impl UnderWay {
    pub(super) fn new() -> UnderWay {
        UnderWay { frames: VecDeque::with_capacity(4) }
    }

    /// Adds a frame. If two frames begin at the same time, the weaker frame comes first. It comes from farther away, so
    /// it was sent earlier.
    #[inline]
    fn push(&mut self, frame: Reception) {
        let is_later = |other: &Reception| {
            other.begins > frame.begins || (other.begins == frame.begins && other.power > frame.power)
        };
        // Most frames begin after all frames in the list.
        match self.frames.back() {
            Some(last) if is_later(last) => {
                let at = self.frames.iter().position(is_later).unwrap_or(0);
                self.frames.insert(at, frame);
            }
            _ => self.frames.push_back(frame),
        }
    }

    /// The frames that the station can decode if nothing disturbs them.
    pub(super) fn readable(&self) -> impl Iterator<Item = &Reception> {
        self.frames.iter().filter(|frame| frame.is_readable())
    }

    /// When the first frame begins. [`Time::NEVER`] if no frame is under way.
    #[inline]
    fn begins(&self) -> Time {
        self.frames.front().map_or(Time::NEVER, |frame| frame.begins)
    }
}

impl<P: Packet> Medium<P> {
    /// Sends the frame of station `sender` on its way to all stations that sense it.
    pub(super) fn radiate(&mut self, sender: usize, frame: Frame, now: Time) {
        for &Hearer { station, power, delay, decodes } in &self.hearers[sender] {
            let begins = now + delay;
            let ends = begins + frame.airtime;
            let (head, reserved) = (frame.head, ends + frame.reserves);
            let hearer = &mut self.stations[station as usize];
            let is_lost = decodes && hearer.losses.loses_frame();
            let sender = sender as u32;
            let reception = Reception { sender, head, decodes, is_lost, power, begins, ends, reserved };
            let mut is_changed = hearer.meet_frame(&reception, &self.config);
            hearer.under_way.push(reception);
            let is_awaited = head.is_for(station as usize) || hearer.rhythm.watches(sender);
            if reception.is_readable() && is_awaited {
                hearer.timers.set_at_most(Timer::Reception, ends);
                is_changed = true;
            }
            if is_changed {
                self.wakes.set(station as usize, hearer.next_wake());
            }
        }
    }

    /// Applies to station `k` what has reached it, in order. Beginnings of frames are applied if they come before
    /// `begin_before`. Three other kinds of events are applied up to `now`: the ends of frames, packets that leave the
    /// link layer, and the beginning and the end of the station's own MAC ACK.
    #[inline]
    pub(super) fn hear(&mut self, k: usize, begin_before: Time, now: Time) {
        loop {
            let station = &mut self.stations[k];
            let (begins, ends) = (station.under_way.begins(), station.receiver.ends());
            let (leaves, answers) = (station.link_layer.leaves(), station.answers);
            if leaves <= ends.min(answers).min(begins) {
                if leaves > now {
                    return;
                }
                self.leave_link_layer(k);
            } else if ends <= answers.min(begins) {
                if ends > now {
                    return;
                }
                self.end_reception(k, ends);
            } else if answers <= begins {
                if answers > now {
                    return;
                }
                self.go_on_answering(k, answers);
            } else {
                if begins >= begin_before {
                    return;
                }
                if let Some(frame) = station.under_way.frames.pop_front() {
                    self.begin_reception(k, frame, begins);
                }
            }
        }
    }

    /// Sets the reception timer of station `k`. The timer ends at the earliest end of a frame that is for the station,
    /// or that the station waits to overhear (Cadence).
    pub(super) fn await_reception(&mut self, k: usize) {
        let station = &mut self.stations[k];
        let followed = station.receiver.followed();
        for reception in station.under_way.frames.iter().chain(followed) {
            let is_awaited = reception.head.is_for(k) || station.rhythm.watches(reception.sender);
            if reception.is_readable() && is_awaited {
                station.timers.set_at_most(Timer::Reception, reception.ends);
            }
        }
    }

    /// A frame begins at station `k`.
    fn begin_reception(&mut self, k: usize, frame: Reception, now: Time) {
        let followed = self.followed_for_record(k);
        let station = &mut self.stations[k];
        let ends = frame.ends;
        let is_sending = station.is_sending(now);
        let beginning = station.receiver.begin(frame, is_sending, self.config.capture);
        match beginning {
            Beginning::Followed => self.turn_busy(k, now),
            Beginning::Ignored => {
                station.counters.ignored += 1;
                station.shy_until = station.shy_until.max(ends + self.config.shyness());
            }
            Beginning::Collision { lost, intact } => {
                // The lost frame is counted now. The other frame is counted when it ends.
                station.counters.collided += 1;
                station.counters.collisions += u64::from(lost.carries_packet_for(k) && intact);
            }
        }
        self.record_beginning(k, followed, frame, beginning);
        self.record_state(k, now);
    }

    /// The frame that station `k` follows ends.
    fn end_reception(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        let Some((reception, ending)) = station.receiver.end() else { return };
        let head = reception.head;
        match ending {
            Ending::Decoded => station.counters.received += 1,
            Ending::TooWeak => station.counters.too_weak += 1,
            Ending::Lost => station.counters.lost_frames += 1,
            Ending::Deaf => station.counters.deaf += 1,
            Ending::Collided { intact } => {
                station.counters.collided += 1;
                station.counters.collisions += u64::from(head.carries_packet_for(k) && intact);
            }
        }
        if station.is_sending(now) {
            // A station that sends does not notice the end of a frame.
        } else if ending != Ending::Decoded {
            station.shy_until = station.shy_until.max(now + self.config.shyness());
        } else {
            debug_assert!(reception.begins >= station.decoded_until, "two frames that overlap were both decoded");
            station.decoded_until = now;
            if self.config.immediate_access {
                // A decoded frame ends the wait for EIFS (10.3.2.3.7).
                station.shy_until = now;
            }
            self.overhear(k, &reception, now);
            if head.is_for(k) {
                self.receive(k, &reception, now);
            } else {
                let station = &mut self.stations[k];
                station.nav = station.nav.max(reception.reserved);
            }
        }
        let station = &mut self.stations[k];
        station.receiver.release();
        station.quiet_since = now;
        // A fast path: the back-off does not go on if the next frame begins before DIFS has passed.
        let is_quiet = station.under_way.begins() >= now + self.config.difs;
        if is_quiet || station.immediate || !station.timers.runs(Timer::Backoff) {
            self.resume_countdown(k, now);
        }
        self.record_ending(k, reception, ending);
        self.record_state(k, now);
    }
}
