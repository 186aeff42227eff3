//! Reads files written by `--fates`, and compares two such files.

use std::collections::BTreeMap;
use std::path::Path;

/// One letter per packet, by sender and direction.
pub(crate) struct Fates(BTreeMap<(String, String), Vec<u8>>);

/// The comparison of two runs.
#[derive(Debug)]
pub(crate) struct Compared {
    /// Packets that both runs accepted.
    pub(crate) both: usize,
    /// Of the packets in `both`, the packets that both runs lost.
    pub(crate) lost: usize,
    /// The first packet with different fates: the packet's number, and both letters.
    pub(crate) differ: Option<(usize, char, char)>,
}

impl Fates {
    pub(crate) fn read(path: &Path) -> Fates {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut fates: BTreeMap<(String, String), Vec<u8>> = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (name, way, letters) = match words[..] {
                [name, way, letters] => (name, way, letters),
                [way, letters] => ("", way, letters),
                _ => panic!("{line}"),
            };
            fates.entry((name.to_owned(), way.to_owned())).or_default().extend_from_slice(letters.as_bytes());
        }
        Fates(fates)
    }

    pub(crate) fn of(&self, name: &str, way: &str) -> &[u8] {
        self.0.get(&(name.to_owned(), way.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Compares the fates of the packets that both runs accepted. A refused packet says nothing about losses,
    /// because the timing decides whether the queue is full.
    pub(crate) fn compare(&self, other: &Fates, name: &str, way: &str) -> Compared {
        let mut compared = Compared { both: 0, lost: 0, differ: None };
        for (k, (a, b)) in self.of(name, way).iter().zip(other.of(name, way)).enumerate() {
            if [a, b].iter().any(|letter| b"qpm".contains(letter)) {
                continue;
            }
            compared.both += 1;
            compared.lost += usize::from(*a == b'x' && *b == b'x');
            if a != b && compared.differ.is_none() {
                compared.differ = Some((k, char::from(*a), char::from(*b)));
            }
        }
        compared
    }
}
