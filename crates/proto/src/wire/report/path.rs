//! The part of a report about the path: the datagrams received ([`PathReport`]).

use super::super::bytes::{EmitError, Malformed, Reader, Writer, expand, varint_len, zigzag_len};
use super::super::context::WireContext;
use super::super::packet::{Batch, PathReport};
use super::super::sets::Runs;
use super::super::time::{micros, whole_micros};
use std::ops::Range;
use std::time::Duration;

impl PathReport {
    /// Rounds the delay down to microseconds, as on the wire.
    pub(super) fn round(&mut self) {
        self.delay = whole_micros(self.delay);
    }

    /// Leaves out the oldest numbers for which `room` bytes are not enough.
    pub(super) fn fit(&mut self, room: usize) -> Result<(), EmitError> {
        let (runs, _) = acked_runs(self, room)?;
        (self.acked, self.acked_from) = acked_ranges(&runs, self.largest).map_err(|_| EmitError::Value("acked"))?;
        Ok(())
    }
}

/// The length of the set in bytes, if it is shortened to `room` bytes.
pub(super) fn set_len(report: &PathReport, room: usize) -> Result<usize, EmitError> {
    Ok(acked_runs(report, room)?.0.wire_len())
}

/// The path's part of a report, with its set as run lengths.
pub(super) struct MeasuredPath<'a> {
    report: &'a PathReport,
    acked: Runs,
    len: usize,
}

impl<'a> MeasuredPath<'a> {
    pub(super) fn new(report: &'a PathReport) -> Result<MeasuredPath<'a>, EmitError> {
        let fixed = fixed_len(report)?;
        let (acked, all) = acked_runs(report, usize::MAX)?;
        if !all {
            return Err(EmitError::Value("acked"));
        }
        let len = fixed + acked.wire_len();
        Ok(MeasuredPath { report, acked, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn emit(&self, w: &mut Writer<'_>) {
        let r = self.report;
        w.uint::<4>(r.largest);
        w.uint::<4>(r.largest_at_us);
        w.varint(micros(r.delay));
        w.uint::<4>(r.received);
        w.uint::<5>(r.received_bytes);
        w.uint::<4>(r.ce);
        w.varint(r.batch.count);
        if r.batch.count > 0 {
            w.varint((r.largest - r.batch.lowest) as u32);
            w.zigzag(r.batch.mean_before_us);
            w.zigzag(r.batch.lowest_before_us);
        }
        self.acked.emit(w);
    }
}

pub(super) fn parse(r: &mut Reader<'_>, near: &WireContext) -> Result<PathReport, Malformed> {
    let largest = expand(r.uint::<4>("largest")?, 32, near.sent_number);
    let largest_at_us = expand(r.uint::<4>("largest_at")?, 32, near.reported.largest_at_us);
    let delay = Duration::from_micros(u64::from(r.varint("delay")?));
    let received = expand(r.uint::<4>("received")?, 32, near.reported.received);
    let received_bytes = expand(r.uint::<5>("received_bytes")?, 40, near.reported.received_bytes);
    let ce = expand(r.uint::<4>("ce")?, 32, near.reported.ce);
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
    let (acked, acked_from) = acked_ranges(&Runs::parse(r, "acked")?, largest)?;
    Ok(PathReport { largest, largest_at_us, delay, received, received_bytes, ce, batch, acked, acked_from })
}

/// The length in bytes of all fields except the set.
pub(super) fn fixed_len(r: &PathReport) -> Result<usize, EmitError> {
    let mut len = 4 + 4 + varint_len(micros(r.delay)) + 4 + 5 + 4 + varint_len(r.batch.count);
    if r.batch.count > 0 {
        let below = r.largest.checked_sub(r.batch.lowest).and_then(|n| u32::try_from(n).ok());
        len += varint_len(below.ok_or(EmitError::Value("batch.lowest"))?)
            + zigzag_len(r.batch.mean_before_us)
            + zigzag_len(r.batch.lowest_before_us);
    }
    Ok(len)
}

/// The run lengths of the set `acked`, from `largest` down to `acked_from`, shortened to `budget`
/// bytes. Also returns whether they describe the whole set.
fn acked_runs(f: &PathReport, budget: usize) -> Result<(Runs, bool), EmitError> {
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
