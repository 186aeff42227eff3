//! The bytes of window announcements ([`Window`]).

use super::bytes::{EmitError, Malformed, Reader, Writer, varint_len};
use super::context::WireContext;
use super::packet::Window;
use super::repair::{low_id, parse_id};
use super::time::micros;
use std::time::Duration;

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
