//! Requests and replies of 100 bytes over one TCP connection that stays open, like remote procedure calls or
//! a terminal.
//!
//! The requests do not wait for replies: the times of all requests are drawn in advance. The
//! latency of a request counts from the time when the request was due. So no latency is hidden,
//! even if a reply is late or the sender could not send in time.

use super::{Route, WorkloadError, accept, connect, join, read_full, sleep_until, thread, write_all};
use ripstop_base::Stream;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// TCP port of the server of the requests.
pub const PORT: u16 = 5003;

/// The length of a request, and of a reply, in bytes.
pub const MESSAGE_BYTES: usize = 100;

/// Mean number of requests per second.
pub const RATE_HZ: f64 = 20.0;

/// The times at which requests are due, in ascending order, counted from the schedule's
/// [`Beginning`].
#[derive(Clone, Debug)]
pub struct Schedule(Vec<Duration>);

/// When a schedule begins.
#[derive(Clone, Copy, Debug)]
pub enum Beginning {
    /// This moment.
    At(Instant),
    /// The moment when the connection is established.
    Connected,
}

/// Running requests. Dropping this value stops the requests.
#[derive(Debug)]
pub struct Requests {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), WorkloadError>>>,
    /// Keeps the client's socket open until the server has been told to stop.
    _socket: Arc<Socket>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    schedule: Schedule,
    /// When the schedule began; empty until then.
    beginning: OnceLock<Instant>,
    /// When the last request was sent.
    last_sent: OnceLock<Instant>,
    /// Bytes of requests that the server has read.
    received: AtomicU64,
    /// Latencies of the replies, in the order of the requests.
    latencies: Mutex<Vec<Duration>>,
}

/// The results of a schedule.
#[derive(Clone, Debug)]
pub struct RequestReport {
    /// Latencies of the answered requests, in ascending order.
    latencies: Vec<Duration>,
    /// Waiting times of the unanswered requests at the end, in ascending order.
    waiting: Vec<Duration>,
}

impl Schedule {
    /// Poisson arrivals at [`RATE_HZ`] from `from` until `end`.
    pub fn until(stream: Stream, from: Duration, end: Duration) -> Schedule {
        Schedule(arrivals(stream, from).take_while(|at| *at < end).collect())
    }

    /// `count` Poisson arrivals at [`RATE_HZ`] from `from` on.
    pub fn count(stream: Stream, from: Duration, count: usize) -> Schedule {
        Schedule(arrivals(stream, from).take(count).collect())
    }

    /// The times of all requests, in ascending order.
    pub fn moments(&self) -> &[Duration] {
        &self.0
    }

    /// The time of the last request; zero without requests.
    pub fn end(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

fn arrivals(mut stream: Stream, from: Duration) -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(from), move |last| {
        Some(*last + Duration::from_secs_f64(stream.exponential(1.0 / RATE_HZ)))
    })
    .skip(1)
}

impl Requests {
    /// Starts to connect and then to send requests. If connecting takes longer than `limit`, no
    /// request is sent.
    ///
    /// # Errors
    /// A socket or a thread cannot be set up. Later errors come from [`Requests::finish`].
    pub fn start(
        route: &Route,
        schedule: Schedule,
        beginning: Beginning,
        limit: Duration,
    ) -> Result<Requests, WorkloadError> {
        let listener = route.listen(PORT)?;
        let socket = Arc::new(route.socket(&route.client)?);
        socket.set_tcp_nodelay(true).map_err(WorkloadError::system("setting TCP_NODELAY"))?;
        let to = SocketAddr::new(route.address, PORT);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            schedule,
            beginning: OnceLock::new(),
            last_sent: OnceLock::new(),
            received: AtomicU64::new(0),
            latencies: Mutex::new(Vec::new()),
        });
        if let Beginning::At(moment) = beginning {
            shared.begin(moment);
        }
        let mut requests = Requests { shared: shared.clone(), threads: Vec::new(), _socket: socket.clone() };

        let server = shared.clone();
        requests
            .threads
            .push(thread("request server", move || server.outcome("answering requests", server.answer(&listener)))?);
        requests.threads.push(thread("request client", move || {
            let ask = || -> io::Result<()> {
                if !connect(&socket, to, limit)? {
                    return Ok(());
                }
                shared.begin(Instant::now());
                std::thread::scope(|scope| {
                    let reader = scope.spawn(|| shared.collect(&socket));
                    let sent = shared.ask(&socket);
                    sent.and(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                })
            };
            shared.outcome("sending requests", ask())
        })?);
        Ok(requests)
    }

    /// Bytes of requests that the server has received so far.
    pub fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// How many requests have been answered.
    pub fn answered(&self) -> usize {
        self.shared.latencies().len()
    }

    /// Whether waiting longer is useless: every request is answered, the last request was sent at
    /// least `grace` ago, or a thread has ended.
    pub fn is_settled(&self, grace: Duration) -> bool {
        self.answered() == self.shared.schedule.0.len()
            || self.shared.last_sent.get().is_some_and(|at| at.elapsed() >= grace)
            || self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops the requests and returns the results.
    ///
    /// # Errors
    /// The error that ended the requests.
    pub fn finish(mut self) -> Result<RequestReport, WorkloadError> {
        let end = Instant::now();
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in std::mem::take(&mut self.threads) {
            join(thread)?;
        }
        Ok(self.shared.report(end))
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Sets when the schedule begins. Only the first call has an effect.
    fn begin(&self, moment: Instant) {
        let _ = self.beginning.set(moment);
    }

    /// The server: sends every request back as its reply.
    fn answer(&self, listener: &Socket) -> io::Result<()> {
        let Some(socket) = accept(listener, &self.stop)? else { return Ok(()) };
        socket.set_tcp_nodelay(true)?;
        let mut message = [0; MESSAGE_BYTES];
        while read_full(&socket, &mut message, &self.stop)? {
            self.received.fetch_add(MESSAGE_BYTES as u64, Ordering::Relaxed);
            write_all(&socket, &message, &self.stop)?;
        }
        Ok(())
    }

    /// The client: sends each request when it is due.
    fn ask(&self, socket: &Socket) -> io::Result<()> {
        // Without this call the kernel may delay each wake-up by 50 us to combine timers (timerslack).
        let _ = nix::sys::prctl::set_timerslack(1);
        let Some(beginning) = self.beginning.get() else { return Ok(()) };
        for (index, due) in self.schedule.0.iter().enumerate() {
            if !sleep_until(*beginning + *due, &self.stop) || !write_all(socket, &message(index as u64), &self.stop)? {
                return Ok(());
            }
        }
        let _ = self.last_sent.set(Instant::now());
        Ok(())
    }

    /// The client: reads the replies, which come in order.
    fn collect(&self, socket: &Socket) -> io::Result<()> {
        let Some(beginning) = self.beginning.get() else { return Ok(()) };
        let mut reply = [0; MESSAGE_BYTES];
        for (index, due) in self.schedule.0.iter().enumerate() {
            if !read_full(socket, &mut reply, &self.stop)? {
                return Ok(());
            }
            let latency = (*beginning + *due).elapsed();
            if reply != message(index as u64) {
                return Err(io::Error::other(format!("reply {index} differs from its request")));
            }
            self.latencies().push(latency);
        }
        Ok(())
    }

    fn latencies(&self) -> std::sync::MutexGuard<'_, Vec<Duration>> {
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, end: Instant) -> RequestReport {
        let latencies = self.latencies().clone();
        // Requests that were due but could not be sent have waited too.
        let unanswered = self.schedule.0.iter().skip(latencies.len()).filter_map(|due| {
            let beginning = self.beginning.get()?;
            end.checked_duration_since(*beginning + *due)
        });
        let waiting: Vec<Duration> = unanswered.collect();
        RequestReport::of(latencies.into_iter().map(Ok).chain(waiting.into_iter().map(Err)))
    }

    /// The result of one side. Errors after the stop are ignored, because the stop causes them.
    fn outcome(&self, what: &str, outcome: io::Result<()>) -> Result<(), WorkloadError> {
        match outcome {
            Err(source) if !self.stop.load(Ordering::Relaxed) => {
                Err(WorkloadError::System { what: what.to_owned(), source })
            }
            _ => Ok(()),
        }
    }
}

impl RequestReport {
    /// The report for these outcomes: `Ok` is the latency of an answered request, and `Err` is how long an unanswered
    /// request waited.
    pub fn of(outcomes: impl IntoIterator<Item = Result<Duration, Duration>>) -> RequestReport {
        let mut report = RequestReport { latencies: Vec::new(), waiting: Vec::new() };
        for outcome in outcomes {
            match outcome {
                Ok(latency) => report.latencies.push(latency),
                Err(waited) => report.waiting.push(waited),
            }
        }
        report.latencies.sort_unstable();
        report.waiting.sort_unstable();
        report
    }

    /// Number of requests that were due.
    pub fn n(&self) -> usize {
        self.latencies.len() + self.waiting.len()
    }

    /// Number of requests without a reply.
    pub fn unanswered(&self) -> usize {
        self.waiting.len()
    }

    /// The exact percentile `p` of all requests that were due: the smallest latency that at least the share `p` of
    /// these requests did not exceed. `p` is above 0 and at most 1. An unanswered request counts as slower than every
    /// answered request: its latency is the larger of its waiting time and the longest measured latency. None without
    /// requests.
    pub fn percentile(&self, p: f64) -> Option<Duration> {
        let rank = (p * self.n() as f64).ceil() as usize;
        let index = rank.clamp(1, self.n().max(1)) - 1;
        match index.checked_sub(self.latencies.len()) {
            None => self.latencies.get(index).copied(),
            Some(late) => {
                let longest = self.latencies.last().copied().unwrap_or_default();
                self.waiting.get(late).map(|waited| (*waited).max(longest))
            }
        }
    }
}

/// The request with this index. All requests differ.
fn message(index: u64) -> [u8; MESSAGE_BYTES] {
    let mut bytes = [0; MESSAGE_BYTES];
    ripstop_base::Seed::new(index).stream("request").fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    fn ms(millis: &[u64]) -> Vec<Duration> {
        millis.iter().map(|m| Duration::from_millis(*m)).collect()
    }

    #[test]
    fn percentiles_are_exact() {
        let report = RequestReport { latencies: ms(&(1..=100).collect::<Vec<_>>()), waiting: vec![] };
        let p = |p| report.percentile(p).unwrap().as_millis();
        assert_eq!([p(0.5), p(0.9), p(0.99), p(1.0), p(0.001)], [50, 90, 99, 100, 1]);
        let none = RequestReport { latencies: vec![], waiting: vec![] };
        assert_eq!((none.percentile(0.5), none.n()), (None, 0));
    }

    #[test]
    fn unanswered_requests_are_the_latest() {
        let report = RequestReport { latencies: ms(&[10, 20, 900]), waiting: ms(&[100, 2000]) };
        let p = |p| report.percentile(p).unwrap().as_millis();
        assert_eq!([p(0.5), p(0.6), p(0.8), p(1.0)], [900, 900, 900, 2000]);
        assert_eq!((report.n(), report.unanswered()), (5, 2));
    }

    #[test]
    fn schedules_are_poisson_and_fixed_by_their_stream() {
        let stream = || Seed::new(1).stream("requests");
        let schedule = Schedule::count(stream(), Duration::from_secs(2), 20_000);
        assert_eq!(schedule.0.len(), 20_000);
        assert!(schedule.0.is_sorted() && schedule.0[0] > Duration::from_secs(2));
        let mean = (schedule.end().as_secs_f64() - 2.0) / 20_000.0;
        assert!((mean * RATE_HZ - 1.0).abs() < 0.03, "{mean}");
        let until = Schedule::until(stream(), Duration::from_secs(2), Duration::from_secs(10));
        assert_eq!(until.0[..], schedule.0[..until.0.len()]);
        assert!(until.end() < Duration::from_secs(10) && schedule.0[until.0.len()].as_secs() >= 10);
    }
}
