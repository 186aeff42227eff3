//! Requests through the tunnel and their replies: each is sent when it is due, and answered when it comes out.

use ripstop_base::Time;
use std::time::Duration;

/// Requests from the left end to the right one, each answered by a packet of its own length.
///
/// There is no TCP around them: one that the tunnel loses stays unanswered.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    due: Vec<Time>,
    latencies: Vec<Option<Duration>>,
    /// Which request each reply answers, in the order of the replies.
    replies: Vec<usize>,
}

impl Requests {
    /// Requests due at these moments.
    pub(super) fn new(due: Vec<Time>) -> Requests {
        Requests { latencies: vec![None; due.len()], due, replies: Vec::new() }
    }

    /// From the moment each request was due until its reply came out, in the order of the requests; None: not yet.
    pub fn latencies(&self) -> &[Option<Duration>] {
        &self.latencies
    }

    /// When each request is due.
    pub fn due(&self) -> &[Time] {
        &self.due
    }

    /// Request number `index` has come out, and the next reply goes in.
    pub(super) fn arrived(&mut self, index: u64) {
        self.replies.push(index as usize);
    }

    /// Reply number `index` has come out.
    pub(super) fn answered(&mut self, now: Time, index: u64) {
        let request = self.replies.get(index as usize).copied();
        if let Some((due, latency)) =
            request.and_then(|at| Some((self.due.get(at)?, self.latencies.get_mut(at)?)))
        {
            *latency = Some(now.since(*due));
        }
    }
}
