//! The bytes of reports ([`Feedback`]).
//!
//! A report has up to two parts: the datagrams received ([`path`]) and the source symbols that are missing
//! ([`symbols`]). Each part contains a *set* of numbers. `sets.rs` writes each set as run lengths or as a bitmap. If a
//! report is too long for a datagram, its sets are shortened.

mod path;
mod symbols;

use super::bytes::{EmitError, Malformed, Reader, Writer};
use super::context::WireContext;
use super::header::Kind;
use super::packet::Feedback;
use path::MeasuredPath;
use symbols::MeasuredSymbols;

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
        if let Some(path) = &mut self.path {
            path.round();
        }
        match self.fitting() {
            Ok((fitting, cut)) => (fitting, cut),
            Err(_) => (self, false),
        }
    }

    /// The report with the parts of its sets that fit, and whether anything is left out. The unseen symbols may use half of
    /// the room, and all the room that the acknowledged numbers leave free. The reason is that unseen
    /// symbols matter more than datagrams that arrived long ago.
    fn fitting(&self) -> Result<(Feedback, bool), EmitError> {
        let fixed = |report: &Feedback| -> Result<usize, EmitError> {
            let path = report.path.as_ref().map_or(Ok(0), path::fixed_len)?;
            Ok(path + report.symbols.as_ref().map_or(Ok(0), symbols::fixed_len)?)
        };
        let room = MAX_FEEDBACK.saturating_sub(fixed(self)?);
        let whole = self.path.as_ref().map_or(Ok(0), |path| path::set_len(path, room))?;
        let mut cut = self.clone();
        let mut taken = 0;
        if let Some(symbols) = &mut cut.symbols {
            taken = symbols.fit(room - whole.min(room / 2))?;
        }
        if let Some(path) = &mut cut.path {
            path.fit(room - taken)?;
        }
        let is_cut = cut != *self;
        Ok((cut, is_cut))
    }
}

/// A report with its sets as run lengths, and the length of its body in bytes.
pub(crate) struct Measured<'a> {
    path: Option<MeasuredPath<'a>>,
    symbols: Option<MeasuredSymbols<'a>>,
    len: usize,
}

impl<'a> Measured<'a> {
    /// Measures a report.
    ///
    /// # Errors
    /// The report is too long ([`Feedback::cut`] prevents this), its fields contradict each
    /// other, or it has no part.
    pub(crate) fn new(feedback: &'a Feedback) -> Result<Measured<'a>, EmitError> {
        let path = feedback.path.as_ref().map(MeasuredPath::new).transpose()?;
        let symbols = feedback.symbols.as_ref().map(MeasuredSymbols::new).transpose()?;
        if path.is_none() && symbols.is_none() {
            return Err(EmitError::Value("report"));
        }
        let len = path.as_ref().map_or(0, MeasuredPath::len) + symbols.as_ref().map_or(0, MeasuredSymbols::len);
        if len > MAX_FEEDBACK {
            return Err(EmitError::TooLong { needed: len, most: MAX_FEEDBACK });
        }
        Ok(Measured { path, symbols, len })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn emit(&self, buffer: &mut [u8]) -> Result<usize, EmitError> {
        let mut w = Writer::new(buffer, self.len)?;
        if let Some(path) = &self.path {
            path.emit(&mut w);
        }
        if let Some(symbols) = &self.symbols {
            symbols.emit(&mut w);
        }
        Ok(w.finish())
    }
}

/// Parses a report of kind `kind`, which says what parts the report has.
pub(crate) fn parse_feedback(kind: Kind, body: &[u8], near: &WireContext) -> Result<Feedback, Malformed> {
    if body.len() > MAX_FEEDBACK {
        return Err(Malformed::Trailing(body.len() - MAX_FEEDBACK));
    }
    let mut r = Reader::new(body);
    let path = (kind != Kind::SymbolReport).then(|| path::parse(&mut r, near)).transpose()?;
    let symbols = (kind != Kind::PathReport).then(|| symbols::parse(&mut r, near)).transpose()?;
    r.end()?;
    Ok(Feedback { path, symbols })
}
