//! Addresses from which a peer's datagrams came, and which are not proven yet.
//!
//! An attacker on the path can copy a datagram and send the copy from a forged source address. If
//! this end followed each new source address, the attacker could direct the stream at anybody. So a
//! new address is a *candidate*: this end sends a challenge there, and goes on to send everything
//! else to the proven address. The peer sends the challenge's token back, which proves that it
//! receives datagrams at the new address (RFC 9000, section 8.2). An answer goes to the address from
//! which the challenge came.

use super::PeerId;
use super::entropy::{Entropy, array};
use super::peers::{Peers, get};
use ripstop_base::Time;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// The largest number of candidates of a peer. An attacker who forges many addresses displaces the
/// oldest candidates. With half the value, it displaces the peer's own new address sooner; the
/// peer's next datagram brings the address back. Double the value lets one attacker cause twice the
/// number of challenges.
const MOST_CANDIDATES: usize = 4;
/// How many challenges are sent to a candidate that is not heard again. At 30 % loss in each
/// direction, four challenges without an answer have a probability of 7 %. With half the value, this
/// probability is 26 %. Double the value sends twice the bytes to a forged address.
const TRIES: u32 = 4;
/// The time from a challenge to the next; the wait doubles as long as the candidate is not heard
/// again. The value should exceed the round-trip time of most paths. With half the value, more
/// challenges are sent in vain on long paths. With double the value, a lost challenge delays the
/// change of the address by a second.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// A candidate gets at most this number of times the bytes that came from it (RFC 9000, section 8).
/// A smaller value leaves no room for a second challenge after a very short datagram.
const MOST_AMPLIFICATION: u64 = 3;
/// The length of a challenge and of an answer, UDP payload, bytes: header, token and tag.
const CHALLENGE_LEN: u64 = 33;

/// Number of the peer's challenges whose addresses are kept until the answers leave.
///
/// An answer leaves with the next datagrams. With half the value, answers to a peer that is challenged from several
/// addresses go to its proven address. Double the value helps no known case.
const MOST_ANSWERS: usize = 4;

/// Where the answers to a peer's challenges go: the address from which each challenge came (RFC 9000, section 8.2.2).
///
/// If both ends have moved, neither end has proven the new address of the other. An answer to the proven address would
/// reach nobody.
#[derive(Default)]
pub(crate) struct Answers(VecDeque<(u64, SocketAddr)>);

impl Answers {
    /// Notes that a challenge with this token came from `from`.
    pub(crate) fn note(&mut self, token: u64, from: SocketAddr) {
        self.0.retain(|(known, _)| *known != token);
        self.0.truncate(MOST_ANSWERS - 1);
        self.0.push_front((token, from));
    }

    /// The address that the answer with this token goes to. `None`: the address was forgotten.
    pub(crate) fn take(&mut self, token: u64) -> Option<SocketAddr> {
        let at = self.0.iter().position(|(known, _)| *known == token)?;
        self.0.remove(at).map(|(_, from)| from)
    }
}

/// The candidates of one peer, the oldest first.
#[derive(Default)]
pub(crate) struct Candidates(Vec<Candidate>);

struct Candidate {
    address: SocketAddr,
    token: u64,
    /// Bytes of authentic datagrams from the address, UDP payload.
    received: u64,
    /// Bytes of challenges and answers to the address, UDP payload.
    sent: u64,
    /// Challenges since the last datagram from the address.
    tries: u32,
    /// When the next challenge is due. After [`TRIES`] challenges: when the candidate is dropped.
    next: Time,
}

impl Candidates {
    /// Notes an authentic datagram of `bytes` bytes from the unproven address `from`. Returns the
    /// token of the challenge that is due, if the address is new. A known address gets [`TRIES`] more
    /// challenges: at high loss in both directions, most challenges have no answer.
    pub(crate) fn heard(
        &mut self,
        now: Time,
        from: SocketAddr,
        bytes: usize,
        entropy: &mut dyn Entropy,
    ) -> Option<u64> {
        if let Some(known) = self.0.iter_mut().find(|candidate| candidate.address == from) {
            known.received = known.received.saturating_add(bytes as u64);
            known.tries = 0;
            return None;
        }
        if self.0.len() == MOST_CANDIDATES {
            self.0.remove(0);
        }
        let token = u64::from_be_bytes(array(entropy));
        let mut fresh = Candidate { address: from, token, received: bytes as u64, sent: 0, tries: 0, next: now };
        let due = fresh.challenge(now);
        self.0.push(fresh);
        due.then_some(token)
    }

    /// The tokens of the challenges that are due. Drops the candidates that have not answered, and
    /// adds their number to `failed`.
    pub(crate) fn due(&mut self, now: Time, failed: &mut u64) -> Vec<u64> {
        let before = self.0.len();
        self.0.retain(|candidate| candidate.next > now || candidate.tries < TRIES);
        *failed += (before - self.0.len()) as u64;
        let due = self.0.iter_mut().filter(|candidate| candidate.next <= now);
        due.filter_map(|candidate| candidate.challenge(now).then_some(candidate.token)).collect()
    }

    /// When [`Candidates::due`] has something to do next.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.0.iter().map(|candidate| candidate.next).min()
    }

    /// The address that the challenge with this token goes to.
    pub(crate) fn address(&self, token: u64) -> Option<SocketAddr> {
        self.0.iter().find(|candidate| candidate.token == token).map(|candidate| candidate.address)
    }

    /// The address that the peer has proven by sending back this token. All candidates are dropped.
    pub(crate) fn prove(&mut self, token: u64) -> Option<SocketAddr> {
        let proven = self.address(token)?;
        self.0.clear();
        Some(proven)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether an answer may be sent to `to`, from where a challenge came. If `to` is a candidate, the answer counts as
    /// bytes sent to it. An answer is as long as its challenge, so one answer to another address is no amplification.
    fn admits_answer(&mut self, to: SocketAddr) -> bool {
        self.0.iter_mut().find(|candidate| candidate.address == to).is_none_or(Candidate::take)
    }
}

impl Peers {
    /// The address that the challenge with this token goes to. None if the challenge is over.
    pub fn challenged_address(&self, peer: PeerId, token: u64) -> Option<SocketAddr> {
        self.peers.get(peer.index())?.as_deref()?.candidates.address(token)
    }

    /// Notes that the peer has sent back the token of a challenge, in an authentic datagram. If the
    /// challenge is not over, the peer's datagrams go to the challenged address from now on.
    pub fn handle_answer(&mut self, peer: PeerId, token: u64) {
        let Some(peer) = get(&mut self.peers, peer) else { return };
        if let Some(proven) = peer.candidates.prove(token) {
            self.shared.counters.addresses.proven += 1;
            peer.move_to(proven, &mut self.shared);
        }
    }

    /// Notes that a challenge of the peer came from `from`, in an authentic datagram. Returns whether an answer may be
    /// sent: an address that is not proven gets at most three times the bytes that came from it.
    pub fn handle_challenge(&mut self, peer: PeerId, token: u64, from: SocketAddr) -> bool {
        let Some(peer) = get(&mut self.peers, peer) else { return false };
        let is_admitted = peer.candidates.admits_answer(from);
        if is_admitted {
            peer.answers.note(token, from);
        }
        is_admitted
    }

    /// The address that the answer with this token goes to: the address from which the challenge came. None if this
    /// address was forgotten; the answer then goes to the peer's address.
    pub fn take_answered_address(&mut self, peer: PeerId, token: u64) -> Option<SocketAddr> {
        get(&mut self.peers, peer)?.answers.take(token)
    }
}

impl Candidate {
    /// Begins the next try. Returns whether the limit on bytes allows its challenge.
    fn challenge(&mut self, now: Time) -> bool {
        self.next = now + FIRST_WAIT * (1 << self.tries);
        self.tries += 1;
        self.take()
    }

    /// Whether the limit on bytes allows one more challenge or answer. If so, counts it.
    fn take(&mut self) -> bool {
        let allowed = self.sent + CHALLENGE_LEN <= MOST_AMPLIFICATION.saturating_mul(self.received);
        self.sent += if allowed { CHALLENGE_LEN } else { 0 };
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 1))
    }

    #[test]
    fn a_candidate_gets_few_bytes_and_four_tries() {
        let mut entropy = Seed::new(1).stream("tokens");
        for (received, challenges) in [(25, 2), (44, 4), (10, 0), (1400, 4)] {
            let mut candidates = Candidates::default();
            let (mut now, mut sent, mut failed) = (Time::ZERO, 0, 0);
            sent += u64::from(candidates.heard(now, address(1), received, &mut entropy).is_some());
            while let Some(next) = candidates.next_due() {
                assert!(next > now, "no busy loop");
                now = next;
                sent += candidates.due(now, &mut failed).len() as u64;
            }
            assert_eq!((sent, failed), (challenges, 1), "{received} bytes were received");
            assert!(sent * CHALLENGE_LEN <= 3 * received as u64);
            assert_eq!(now, Time::from_millis(7500));
        }
    }

    /// A peer that sends from its new address is challenged twice a second until it answers.
    #[test]
    fn a_candidate_that_is_heard_is_challenged_further() {
        let mut entropy = Seed::new(1).stream("tokens");
        let mut candidates = Candidates::default();
        let (mut sent, mut failed) = (0, 0);
        for at in (0..60_000).step_by(100).map(Time::from_millis) {
            sent += u64::from(candidates.heard(at, address(1), 100, &mut entropy).is_some());
            sent += candidates.due(at, &mut failed).len() as u64;
        }
        assert_eq!((sent, failed), (120, 0));
    }

    #[test]
    fn an_answer_goes_where_its_challenge_came_from() {
        let mut answers = Answers::default();
        for n in 0..5 {
            answers.note(u64::from(n), address(n));
        }
        answers.note(3, address(9));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|token| answers.take(token)),
            [None, Some(1), Some(2), Some(9), Some(4)].map(|n| n.map(address))
        );
        assert_eq!(answers.take(4), None, "an answer leaves one time");
    }

    #[test]
    fn the_answer_proves_one_address() {
        let mut entropy = Seed::new(2).stream("tokens");
        let mut candidates = Candidates::default();
        let tokens: Vec<u64> =
            (0..9).filter_map(|n| candidates.heard(Time::ZERO, address(n), 100, &mut entropy)).collect();
        assert_eq!(tokens.len(), 9);
        assert_eq!(candidates.heard(Time::ZERO, address(8), 100, &mut entropy), None, "the address is known");
        assert_eq!(candidates.address(tokens[4]), None, "only the newest four are kept");
        assert_eq!(candidates.prove(tokens[4] ^ 1), None);
        assert_eq!(candidates.prove(tokens[6]), Some(address(6)));
        assert_eq!((candidates.prove(tokens[6]), candidates.next_due()), (None, None));
    }
}
