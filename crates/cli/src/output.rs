//! Prints on standard output (one JSON object, or tables), and notes for people on standard error.

pub(crate) use ripstop_base::readable::{bytes, rate, share, time};

use crate::failure::{Failure, Outcome};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ripstop_base::text::printable;
use serde::Serialize;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};

/// The longest wait for the reader of a note, ms. With half the value, a note to a busy terminal may be left out. With
/// double the value, a command whose standard error is stuck ends 10 s later.
const LONGEST_WAIT: u16 = 10_000;
/// A write of at most this number of bytes to a writable pipe does not block (PIPE_BUF of pipe(7)).
const PIPE_BUF: usize = 4096;

/// Prints `value` as one JSON object on one line.
pub(crate) fn json(value: &impl Serialize) -> Outcome<()> {
    let text = serde_json::to_string(value).map_err(|e| Failure::work("writing JSON", e))?;
    print(&(text + "\n"))
}

/// Prints `text` unchanged.
pub(crate) fn print(text: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::printing)
}

/// Prints `text`, such as a warning, as a line on standard error. Unlike `eprintln!`, ends no command: a note that cannot
/// be written, or that nobody reads for [`LONGEST_WAIT`], is left out.
pub(crate) fn note(text: impl std::fmt::Display) {
    // A note may repeat a text that a user or a file gave.
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    write_note(std::io::stderr().as_fd(), &format!("{}\n", lines.join("\n")));
}

fn write_note(to: BorrowedFd<'_>, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match poll(&mut [PollFd::new(to, PollFlags::POLLOUT)], PollTimeout::from(LONGEST_WAIT)) {
            Err(Errno::EINTR) => continue,
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        match nix::unistd::write(to, rest.get(..PIPE_BUF).unwrap_or(rest)) {
            Ok(written) if written > 0 => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            _ => return,
        }
    }
}

/// A table. The first column is aligned left. All other columns are aligned right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table that starts with a row of titles.
    pub(crate) fn titled<S: Into<String>>(titles: impl IntoIterator<Item = S>) -> Table {
        let mut table = Table::default();
        table.row(titles);
        table
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell.into()).into_owned()).collect());
    }

    /// The table as text, one line per row.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().filter_map(|row| row.get(c)).map(|t| t.chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, width))| match c {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// The text of a value, or `-` if it is missing.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_nobody_can_read_ends_nothing() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        write_note(full.as_fd(), "lost\n");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        write_note(writer.as_fd(), "lost\n");
        let (mut reader, writer) = std::io::pipe().unwrap();
        let text = "long ".repeat(2_000);
        write_note(writer.as_fd(), &text);
        drop(writer);
        let mut read = String::new();
        std::io::Read::read_to_string(&mut reader, &mut read).unwrap();
        assert_eq!(read, text);
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::titled(["scheme", "share"]);
        table.row(["cubic", ".9"]);
        table.row(["a longer name"]);
        assert_eq!(table.render(), "scheme         share\ncubic             .9\na longer name\n");
    }
}
