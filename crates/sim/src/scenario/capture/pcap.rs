//! A capture file: records with virtual time in nanoseconds.

use ripstop_base::Time;
use std::io::{self, Write};

/// The magic number of a pcap file, version 2.4, with nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// The snap length in the file's header: no record is longer. Readers allocate at most this much, in bytes. Half the
/// value would do as well, since records hold only headers.
const SNAP_LENGTH: u32 = 65_535;

/// How a packet in a capture file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkType {
    /// With its IP header.
    Raw = 101,
    /// With a radiotap header, and the header of an IEEE 802.11 frame.
    Radiotap = 127,
}

/// A capture file that is written.
#[derive(Debug)]
pub(super) struct PcapFile<W: Write> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> PcapFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// An error in writing the file's header.
    pub(super) fn new(mut out: W, link_type: LinkType) -> io::Result<PcapFile<W>> {
        for word in [MAGIC, 4 << 16 | 2, 0, 0, SNAP_LENGTH, link_type as u32] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(PcapFile { out, failed: None })
    }

    /// Whether all records were written so far.
    pub(super) fn is_whole(&self) -> bool {
        self.failed.is_none()
    }

    /// Writes a packet of `length` bytes, of which `captured` are known. An error is kept, and ends the file.
    pub(super) fn write(&mut self, at: Time, captured: &[u8], length: u32) {
        if self.is_whole() {
            self.failed = self.try_write(at, captured, length).err();
        }
    }

    /// Ends the file with an error, which [`PcapFile::finish`] returns.
    pub(super) fn fail(&mut self, problem: String) {
        self.failed.get_or_insert(io::Error::other(problem));
    }

    fn try_write(&mut self, at: Time, captured: &[u8], length: u32) -> io::Result<()> {
        let nanos = at.as_nanos();
        let (seconds, rest) = ((nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32);
        let known = captured.len() as u32;
        for word in [seconds, rest, known, length.max(known)] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(captured)
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// The first error in writing.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)?;
        self.out.flush()
    }
}
