//! Names of peers, looked up beside the thread that moves packets: a resolver may take seconds.

use super::config::HostPort;
use nix::sys::eventfd::EventFd;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Looks names up.
#[derive(Debug)]
pub(super) struct Resolver {
    /// Rung when there is an answer.
    bell: Arc<EventFd>,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
}

/// What a look-up brought.
#[derive(Debug)]
pub(super) struct Answer {
    /// Which peer, by its place in the configuration.
    pub(super) peer: usize,
    /// Its addresses, or why there are none.
    pub(super) addresses: Result<Vec<SocketAddr>, String>,
}

impl Resolver {
    pub(super) fn new(bell: Arc<EventFd>) -> Resolver {
        let (sender, receiver) = channel();
        Resolver { bell, sender, receiver }
    }

    /// Looks up where a peer is; the answer comes later.
    pub(super) fn ask(&self, peer: usize, name: &HostPort) {
        let (bell, sender, name) = (self.bell.clone(), self.sender.clone(), name.clone());
        let thread = std::thread::Builder::new().name("resolver".into()).spawn(move || {
            let addresses = (name.host.as_str(), name.port)
                .to_socket_addrs()
                .map(Iterator::collect)
                .map_err(|error| error.to_string());
            // It fails only when nobody waits any more.
            if sender.send(Answer { peer, addresses }).is_ok() {
                let _ = bell.write(1);
            }
        });
        if let Err(error) = thread {
            let _ = self.sender.send(Answer { peer, addresses: Err(error.to_string()) });
        }
    }

    /// The next answer that has come.
    pub(super) fn poll(&self) -> Option<Answer> {
        self.receiver.try_recv().ok()
    }
}

/// Which of a name's addresses to call: the first, which the system thinks the best, or the one after the
/// one that was called in vain.
pub(super) fn choose(addresses: &[SocketAddr], in_vain: Option<SocketAddr>) -> Option<SocketAddr> {
    let last = addresses.iter().position(|address| Some(*address) == in_vain);
    let next = last.map_or(0, |index| (index + 1) % addresses.len());
    addresses.get(next).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_called_in_vain_makes_way_for_the_next() {
        let [a, b, c] = ["[2001:db8::1]:1", "192.0.2.1:1", "192.0.2.2:1"].map(|text| text.parse().unwrap());
        assert_eq!(choose(&[a, b], None), Some(a));
        assert_eq!(choose(&[a, b], Some(a)), Some(b));
        assert_eq!(choose(&[a, b], Some(b)), Some(a));
        assert_eq!(choose(&[a, b], Some(c)), Some(a));
        assert_eq!((choose(&[a], Some(a)), choose(&[], Some(a))), (Some(a), None));
    }
}
