//! The part of a report about symbols: the source symbols that are missing ([`SymbolReport`]).

use super::super::bytes::{EmitError, Malformed, Reader, Writer, expand, varint_len};
use super::super::context::WireContext;
use super::super::packet::SymbolReport;
use super::super::repair::{low_id, parse_id};
use super::super::sets::Runs;
use std::ops::Range;

impl SymbolReport {
    /// Leaves out the newest unseen symbols for which `room` bytes are not enough. Returns the length of the set in bytes.
    pub(super) fn fit(&mut self, room: usize) -> Result<usize, EmitError> {
        let (runs, _) = unseen_runs(self, room)?;
        self.unseen = unseen_ranges(&runs, self.next_undecoded, self.end).map_err(|_| EmitError::Value("unseen"))?;
        Ok(runs.wire_len())
    }
}

/// The symbols' part of a report, with its set as run lengths.
pub(super) struct MeasuredSymbols<'a> {
    report: &'a SymbolReport,
    unseen: Runs,
    len: usize,
}

impl<'a> MeasuredSymbols<'a> {
    pub(super) fn new(report: &'a SymbolReport) -> Result<MeasuredSymbols<'a>, EmitError> {
        let fixed = fixed_len(report)?;
        let (unseen, all) = unseen_runs(report, usize::MAX)?;
        if !all {
            return Err(EmitError::Value("unseen"));
        }
        let len = fixed + unseen.wire_len();
        Ok(MeasuredSymbols { report, unseen, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn emit(&self, w: &mut Writer<'_>) {
        let r = self.report;
        w.uint::<3>(low_id(r.next_undecoded, 0));
        w.varint((r.end - r.next_undecoded) as u32);
        w.varint(r.undecoded);
        w.varint(r.deficit);
        w.uint::<4>(r.redundant);
        self.unseen.emit(w);
    }
}

pub(super) fn parse(r: &mut Reader<'_>, near: &WireContext) -> Result<SymbolReport, Malformed> {
    let next_undecoded = parse_id(r, "next_undecoded", near.sent_id)?;
    let end = next_undecoded.checked_add(u64::from(r.varint("end")?)).ok_or(Malformed::Value("end"))?;
    let undecoded = r.varint("undecoded")?;
    let deficit = r.varint("deficit")?;
    let redundant = expand(r.uint::<4>("redundant")?, 32, near.redundant);
    let unseen = unseen_ranges(&Runs::parse(r, "unseen")?, next_undecoded, end)?;
    Ok(SymbolReport { next_undecoded, end, unseen, deficit, undecoded, redundant })
}

/// The length in bytes of all fields except the set.
pub(super) fn fixed_len(r: &SymbolReport) -> Result<usize, EmitError> {
    let span = r.end.checked_sub(r.next_undecoded).and_then(|n| u32::try_from(n).ok());
    let span = varint_len(span.ok_or(EmitError::Value("end"))?);
    Ok(3 + span + varint_len(r.undecoded) + varint_len(r.deficit) + 4)
}

/// The run lengths of the set `unseen`, from `next_undecoded` upwards, shortened to `budget` bytes.
/// Also returns whether they describe the whole set.
fn unseen_runs(f: &SymbolReport, budget: usize) -> Result<(Runs, bool), EmitError> {
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
