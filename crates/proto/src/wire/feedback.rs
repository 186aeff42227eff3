//! The bytes of reports ([`Feedback`]) and window announcements ([`Window`]).
//!
//! A report contains two *sets* of numbers: the datagrams received (`acked`) and the source symbols
//! that are not seen (`unseen`). `sets.rs` writes each set as run lengths or as a bitmap. If a
//! report is too long for a datagram, its sets are shortened.

use super::bytes::{EmitError, Malformed, Reader, Writer, expand, varint_len, zigzag_len};
use super::context::WireContext;
use super::packet::{Batch, Feedback, Window};
use super::repair::{ID_BITS, low_id};
use super::sets::Runs;
use std::ops::Range;
use std::time::Duration;

/// The largest length of a report's body, bytes. With all headers, a body of this length fits into
/// the minimum MTU of IPv6 (1280 bytes). The receiver of the data shortens the sets of a longer
/// report. With half the value, sets are shortened at lower loss rates. Double the value needs a
/// larger path MTU.
pub const MAX_FEEDBACK: usize = 1200;

impl Feedback {
    /// Shortens a report that is too long for a datagram. The oldest acknowledged numbers and the
    /// newest unseen symbols are then left out. Each set covers at most 2^19 numbers. Returns the
    /// report, and whether anything was left out.
    ///
    /// The delay is rounded down to microseconds, as on the wire. If the fields of the report
    /// contradict each other, the sets are not changed, and the report cannot be emitted.
    pub fn cut(mut self) -> (Feedback, bool) {
        self.delay = whole_micros(self.delay);
        let Ok((acked, unseen)) = self.fitting_sets() else { return (self, false) };
        let (fitting, acked_from) = match acked_ranges(&acked, self.largest) {
            Ok(ranges) => ranges,
            Err(_) => return (self, false),
        };
        let Ok(listed) = unseen_ranges(&unseen, self.next_undecoded, self.end) else { return (self, false) };
        let cut = fitting != self.acked || acked_from != self.acked_from || listed != self.unseen;
        (self.acked, self.acked_from, self.unseen) = (fitting, acked_from, listed);
        (self, cut)
    }

    /// The parts of the two sets that fit into a report. The unseen symbols may use half of the
    /// room, and all the room that the acknowledged numbers leave free. The reason is that unseen
    /// symbols matter more than datagrams that arrived long ago.
    fn fitting_sets(&self) -> Result<(Runs, Runs), EmitError> {
        let room = MAX_FEEDBACK - fixed_len(self)?;
        let (whole, _) = acked_runs(self, room)?;
        let (unseen, _) = unseen_runs(self, room - whole.wire_len().min(room / 2))?;
        let (acked, _) = acked_runs(self, room - unseen.wire_len())?;
        Ok((acked, unseen))
    }
}

/// A report with its sets as run lengths, and the length of its body in bytes.
pub(crate) struct Measured<'a> {
    feedback: &'a Feedback,
    acked: Runs,
    unseen: Runs,
    len: usize,
}

impl<'a> Measured<'a> {
    /// Measures a report.
    ///
    /// # Errors
    /// The report is too long ([`Feedback::cut`] prevents this), or its fields contradict each
    /// other.
    pub(crate) fn new(feedback: &'a Feedback) -> Result<Measured<'a>, EmitError> {
        let fixed = fixed_len(feedback)?;
        let (acked, all_acked) = acked_runs(feedback, usize::MAX)?;
        let (unseen, all_unseen) = unseen_runs(feedback, usize::MAX)?;
        let len = fixed + acked.wire_len() + unseen.wire_len();
        if len > MAX_FEEDBACK || !all_acked || !all_unseen {
            return Err(EmitError::TooLong { needed: len, most: MAX_FEEDBACK });
        }
        Ok(Measured { feedback, acked, unseen, len })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn emit(&self, buffer: &mut [u8]) -> Result<usize, EmitError> {
        let f = self.feedback;
        let mut w = Writer::new(buffer, self.len)?;
        w.uint::<4>(f.largest);
        w.uint::<4>(f.largest_at_us);
        w.varint(micros(f.delay));
        w.uint::<4>(f.received);
        w.uint::<5>(f.received_bytes);
        w.varint(f.batch.count);
        if f.batch.count > 0 {
            w.varint((f.largest - f.batch.lowest) as u32);
            w.zigzag(f.batch.mean_before_us);
            w.zigzag(f.batch.lowest_before_us);
        }
        w.uint::<4>(f.redundant);
        w.uint::<4>(f.ce);
        w.uint::<3>(low_id(f.next_undecoded, 0));
        w.varint((f.end - f.next_undecoded) as u32);
        w.varint(f.undecoded);
        w.varint(f.deficit);
        self.acked.emit(&mut w);
        self.unseen.emit(&mut w);
        Ok(w.finish())
    }
}

pub(crate) fn parse_feedback(body: &[u8], near: &WireContext) -> Result<Feedback, Malformed> {
    if body.len() > MAX_FEEDBACK {
        return Err(Malformed::Trailing(body.len() - MAX_FEEDBACK));
    }
    let mut r = Reader::new(body);
    let largest = expand(r.uint::<4>("largest")?, 32, near.sent_number);
    let largest_at_us = expand(r.uint::<4>("largest_at")?, 32, near.reported.largest_at_us);
    let delay = Duration::from_micros(u64::from(r.varint("delay")?));
    let received = expand(r.uint::<4>("received")?, 32, near.reported.received);
    let received_bytes = expand(r.uint::<5>("received_bytes")?, 40, near.reported.received_bytes);
    let batch = match r.varint("batch.count")? {
        0 => Batch::default(),
        count => Batch {
            count,
            lowest: largest
                .checked_sub(u64::from(r.varint("batch.lowest")?))
                .ok_or(Malformed::Value("batch.lowest"))?,
            mean_before_us: r.zigzag("batch.mean_before")?,
            lowest_before_us: r.zigzag("batch.lowest_before")?,
        },
    };
    let redundant = expand(r.uint::<4>("redundant")?, 32, near.reported.redundant);
    let ce = expand(r.uint::<4>("ce")?, 32, near.reported.ce);
    let next_undecoded = parse_id(&mut r, "next_undecoded", near.sent_id)?;
    let end = next_undecoded.checked_add(u64::from(r.varint("end")?)).ok_or(Malformed::Value("end"))?;
    let undecoded = r.varint("undecoded")?;
    let deficit = r.varint("deficit")?;
    let acked = Runs::parse(&mut r, "acked")?;
    let unseen = Runs::parse(&mut r, "unseen")?;
    r.end()?;
    let (acked, acked_from) = acked_ranges(&acked, largest)?;
    Ok(Feedback {
        largest,
        largest_at_us,
        delay,
        received,
        received_bytes,
        batch,
        acked,
        acked_from,
        next_undecoded,
        end,
        unseen: unseen_ranges(&unseen, next_undecoded, end)?,
        deficit,
        undecoded,
        redundant,
        ce,
    })
}

pub(crate) fn window_len(window: &Window) -> usize {
    3 + varint_len(window.reach) + varint_len(micros(window.report_every)) + varint_len(micros(window.deadline))
}

pub(crate) fn emit_window(buffer: &mut [u8], window: &Window) -> Result<usize, EmitError> {
    let mut w = Writer::new(buffer, window_len(window))?;
    w.uint::<3>(low_id(window.base, 0));
    w.varint(window.reach);
    w.varint(micros(window.report_every));
    w.varint(micros(window.deadline));
    Ok(w.finish())
}

pub(crate) fn parse_window(body: &[u8], near: &WireContext) -> Result<Window, Malformed> {
    let mut r = Reader::new(body);
    let window = Window {
        base: parse_id(&mut r, "base", near.id_near)?,
        reach: r.varint("reach")?,
        report_every: Duration::from_micros(u64::from(r.varint("report_every")?)),
        deadline: Duration::from_micros(u64::from(r.varint("deadline")?)),
    };
    r.end()?;
    Ok(window)
}

fn parse_id(r: &mut Reader<'_>, field: &'static str, near: u64) -> Result<u64, Malformed> {
    let word = r.uint::<3>(field)?;
    if word & 15 == 0 { Ok(expand(word >> 4, ID_BITS, near)) } else { Err(Malformed::Form(field)) }
}

/// A duration as the wire carries it: rounded down to microseconds, and at most 2^32 - 1 us (71
/// minutes).
pub(crate) fn whole_micros(span: Duration) -> Duration {
    Duration::from_micros(u64::from(micros(span)))
}

/// The duration in whole microseconds, at most 2^32 - 1.
fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

/// The length in bytes of all fields except the sets.
fn fixed_len(f: &Feedback) -> Result<usize, EmitError> {
    let within = |from: u64, to: u64, field| {
        to.checked_sub(from).and_then(|n| u32::try_from(n).ok()).ok_or(EmitError::Value(field))
    };
    let mut len = 4 + 4 + varint_len(micros(f.delay)) + 4 + 5 + varint_len(f.batch.count);
    if f.batch.count > 0 {
        len += varint_len(within(f.batch.lowest, f.largest, "batch.lowest")?)
            + zigzag_len(f.batch.mean_before_us)
            + zigzag_len(f.batch.lowest_before_us);
    }
    len += 4 + 4 + 3 + varint_len(within(f.next_undecoded, f.end, "end")?);
    Ok(len + varint_len(f.undecoded) + varint_len(f.deficit))
}

/// The run lengths of the set `acked`, from `largest` down to `acked_from`, shortened to `budget`
/// bytes. Also returns whether they describe the whole set.
fn acked_runs(f: &Feedback, budget: usize) -> Result<(Runs, bool), EmitError> {
    let wrong = EmitError::Value("acked");
    let mut runs = Runs::default();
    // All numbers from `at` up are already written. The runs go down from `at` - 1. If `largest` is
    // 2^64 - 1, then `largest` + 1 does not exist, which is an error.
    let mut at = f.largest.checked_add(1).ok_or(wrong)?;
    if f.acked_from > at || (f.acked_from < at && f.acked.first().is_none_or(|first| first.end != at)) {
        return Err(wrong);
    }
    for range in &f.acked {
        if range.is_empty() || range.end > at || range.start < f.acked_from {
            return Err(wrong);
        }
        if !runs.push(false, at - range.end, budget) || !runs.push(true, range.end - range.start, budget) {
            return Ok((runs, false));
        }
        at = range.start;
    }
    let all = runs.push(false, at - f.acked_from, budget);
    Ok((runs, all))
}

/// The ranges of the set `acked`, from high to low, and the lowest number that the set covers.
fn acked_ranges(runs: &Runs, largest: u64) -> Result<(Vec<Range<u64>>, u64), Malformed> {
    let wrong = Malformed::Value("acked");
    let mut at = largest.checked_add(1).ok_or(wrong)?;
    let mut acked = Vec::new();
    for (i, (member, length)) in runs.iter().enumerate() {
        let end = at;
        at = at.checked_sub(u64::from(length)).ok_or(wrong)?;
        if member {
            acked.push(at..end);
        } else if i == 0 {
            // If the set covers any numbers, the first one is `largest`, and `largest` is a member.
            return Err(wrong);
        }
    }
    Ok((acked, at))
}

/// The run lengths of the set `unseen`, from `next_undecoded` upwards, shortened to `budget` bytes.
/// Also returns whether they describe the whole set.
fn unseen_runs(f: &Feedback, budget: usize) -> Result<(Runs, bool), EmitError> {
    let wrong = EmitError::Value("unseen");
    let (mut runs, mut all) = (Runs::default(), true);
    let mut at = f.next_undecoded;
    for range in &f.unseen {
        if range.is_empty() || range.start < at || range.end > f.end {
            return Err(wrong);
        }
        if !runs.push(false, range.start - at, budget) || !runs.push(true, range.end - range.start, budget) {
            all = false;
            break;
        }
        at = range.end;
    }
    runs.trim();
    Ok((runs, all))
}

/// The ranges of the set `unseen`, ascending.
fn unseen_ranges(runs: &Runs, next_undecoded: u64, end: u64) -> Result<Vec<Range<u64>>, Malformed> {
    let wrong = Malformed::Value("unseen");
    let mut at = next_undecoded;
    let mut unseen = Vec::new();
    let mut last_is_member = true;
    for (member, length) in runs.iter() {
        let start = at;
        at = at.checked_add(u64::from(length)).filter(|at| *at <= end).ok_or(wrong)?;
        if member {
            unseen.push(start..at);
        }
        last_is_member = member;
    }
    if last_is_member { Ok(unseen) } else { Err(Malformed::Form("unseen")) }
}
