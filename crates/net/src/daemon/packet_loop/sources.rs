//! The descriptors of the packet thread, and what a turn reads.
//!
//! A front end is a module that brings data into the tunnel and takes data out of it. It registers its descriptors with the
//! reactor under a [`Source`] of its own. The TUN device (`device.rs`) is the only one so far.
//!
//! In bulk traffic the thread pauses between two turns (`waiting.rs`). A pause ignores descriptors of the urgency `Bulk`, so
//! after a pause the turn must read all of them, as it reads all sockets. What must end a pause is registered as `Prompt`.

use crate::os::epoll::{Ready, Token};

/// What a descriptor of the packet thread belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Another thread: it wants the status, has a new configuration, has news of the device or the answer to a look-up, or
    /// stops the daemon.
    Wakeup,
    /// A UDP socket.
    Socket(Port),
    /// The TUN device.
    Device,
}

/// A UDP port of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// The port that the daemon listens on.
    Listening,
    /// The spare port to the peer with this index.
    Spare(u32),
}

impl Source {
    /// The name of the source in the reactor.
    pub(super) fn token(self) -> Token {
        let (owner, index) = match self {
            Source::Wakeup => (0, 0),
            Source::Socket(Port::Listening) => (1, 0),
            Source::Socket(Port::Spare(peer)) => (2, peer),
            Source::Device => (3, 0),
        };
        Token { owner, index }
    }

    /// The source with this name.
    fn of(token: Token) -> Option<Source> {
        Some(match (token.owner, token.index) {
            (0, _) => Source::Wakeup,
            (1, _) => Source::Socket(Port::Listening),
            (2, peer) => Source::Socket(Port::Spare(peer)),
            (3, _) => Source::Device,
            _ => return None,
        })
    }
}

/// What the next turn reads.
#[derive(Debug, Default)]
pub(super) struct Readable {
    /// Whether another thread has woken this one.
    pub(super) wakeup: bool,
    /// The device.
    pub(super) device: bool,
    /// The UDP sockets.
    pub(super) ports: Vec<Port>,
}

impl Readable {
    /// Notes what a wait has reported. A socket that is only writable needs no reading: each turn sends what it can.
    pub(super) fn note(&mut self, ready: Ready) {
        match Source::of(ready.token) {
            Some(Source::Wakeup) => self.wakeup = true,
            Some(Source::Device) => self.device |= ready.readable,
            Some(Source::Socket(port)) if ready.readable => self.ports.push(port),
            Some(Source::Socket(_)) | None => {}
        }
    }

    /// Nothing is to be read.
    pub(super) fn clear(&mut self) {
        (self.wakeup, self.device) = (false, false);
        self.ports.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_its_name() {
        let ports = [Port::Listening, Port::Spare(0), Port::Spare(u32::MAX)];
        let sources = [Source::Wakeup, Source::Device].into_iter().chain(ports.map(Source::Socket));
        sources.for_each(|source| assert_eq!(Source::of(source.token()), Some(source)));
        assert_eq!(Source::of(Token { owner: 9, index: 0 }), None);
    }

    #[test]
    fn a_writable_socket_is_not_read() {
        let mut readable = Readable::default();
        let mut note = |source: Source, is_readable| {
            readable.note(Ready { token: source.token(), readable: is_readable, writable: true });
        };
        note(Source::Socket(Port::Listening), false);
        note(Source::Socket(Port::Spare(4)), true);
        note(Source::Wakeup, true);
        assert_eq!((readable.wakeup, readable.device, &readable.ports[..]), (true, false, &[Port::Spare(4)][..]));
        readable.clear();
        assert!(!readable.wakeup && readable.ports.is_empty());
    }
}
