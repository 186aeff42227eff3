//! Name resolution, on separate threads: a look-up may take seconds.

use super::config::HostPort;
use nix::sys::eventfd::EventFd;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Resolves host names.
#[derive(Debug)]
pub(super) struct Resolver {
    /// The thread of a look-up writes to this descriptor when there is an answer.
    wakeup: Arc<EventFd>,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
}

/// The result of a look-up.
#[derive(Debug)]
pub(super) struct Answer {
    /// The peer, by its index in the configuration.
    pub(super) peer: usize,
    /// The name that was looked up. The configuration may have changed since.
    pub(super) name: HostPort,
    /// The addresses, or why the look-up failed.
    pub(super) addresses: Result<Vec<SocketAddr>, String>,
}

impl Resolver {
    pub(super) fn new(wakeup: Arc<EventFd>) -> Resolver {
        let (sender, receiver) = channel();
        Resolver { wakeup, sender, receiver }
    }

    /// Starts a look-up of a peer's address. [`Resolver::poll`] returns the answer later.
    pub(super) fn ask(&self, peer: usize, name: &HostPort) {
        let (wakeup, sender, asked) = (self.wakeup.clone(), self.sender.clone(), name.clone());
        let thread = std::thread::Builder::new().name("resolver".into()).spawn(move || {
            let addresses = (asked.host.as_str(), asked.port)
                .to_socket_addrs()
                .map(Iterator::collect)
                .map_err(|error| error.to_string());
            // The send fails only when the resolver is gone.
            if sender.send(Answer { peer, name: asked, addresses }).is_ok() {
                let _ = wakeup.write(1);
            }
        });
        if let Err(error) = thread {
            let _ = self.sender.send(Answer { peer, name: name.clone(), addresses: Err(error.to_string()) });
        }
    }

    /// The next available answer.
    pub(super) fn poll(&self) -> Option<Answer> {
        self.receiver.try_recv().ok()
    }
}

/// Chooses one of a name's addresses. `in_vain` is an address that did not answer. If this address is in the list, the
/// next address in the list is chosen. Otherwise the first address is chosen, because the system prefers it.
pub(super) fn choose(addresses: &[SocketAddr], in_vain: Option<SocketAddr>) -> Option<SocketAddr> {
    let last = addresses.iter().position(|address| Some(*address) == in_vain);
    let next = last.map_or(0, |index| (index + 1) % addresses.len());
    addresses.get(next).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_answer_is_followed_by_the_next() {
        let [a, b, c] = ["[2001:db8::1]:1", "192.0.2.1:1", "192.0.2.2:1"].map(|text| text.parse().unwrap());
        assert_eq!(choose(&[a, b], None), Some(a));
        assert_eq!(choose(&[a, b], Some(a)), Some(b));
        assert_eq!(choose(&[a, b], Some(b)), Some(a));
        assert_eq!(choose(&[a, b], Some(c)), Some(a));
        assert_eq!((choose(&[a], Some(a)), choose(&[], Some(a))), (Some(a), None));
    }
}
