//! Requests and replies of 100 bytes over one kept TCP connection, as remote procedure calls and
//! terminals make them.
//!
//! The loop is open: requests are due at moments drawn beforehand, and a request's latency counts
//! from the moment it was due. A late reply delays no later request's stamp, and a sender that
//! could not send in time is not forgiven.

use super::{Route, WorkloadError, accept, connect, join, read_full, sleep_until, thread, write_all};
use ripstop_base::Stream;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PORT: u16 = 5003;

/// Bytes of a request, and of a reply.
pub(crate) const MESSAGE_BYTES: usize = 100;

/// Mean number of requests a second.
pub(crate) const RATE_HZ: f64 = 20.0;

/// When requests are due, counted from a beginning, in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule(Vec<Duration>);

/// What a schedule counts from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Beginning {
    /// This moment.
    At(Instant),
    /// The moment at which the connection stands.
    Connected,
}

/// Requests under way. Dropping it stops them.
#[derive(Debug)]
pub(crate) struct Requests {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), WorkloadError>>>,
    /// The client's end stays open until the server has been told to stop.
    _socket: Arc<Socket>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    schedule: Schedule,
    beginning: OnceLock<Instant>,
    /// When the last request was sent.
    last_sent: OnceLock<Instant>,
    /// Bytes of requests that the server has read.
    received: AtomicU64,
    /// Latencies of the replies, in the order of the requests.
    latencies: Mutex<Vec<Duration>>,
}

/// What came of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct RequestReport {
    /// Latencies of the answered requests, in ascending order.
    latencies: Vec<Duration>,
    /// How long each unanswered request had waited in the end, in ascending order.
    waiting: Vec<Duration>,
}

impl Schedule {
    /// Poisson arrivals at [`RATE_HZ`] from `from` on: all before `end`.
    pub(crate) fn until(stream: Stream, from: Duration, end: Duration) -> Schedule {
        Schedule(arrivals(stream, from).take_while(|at| *at < end).collect())
    }

    /// Poisson arrivals at [`RATE_HZ`] from `from` on: `count` of them.
    pub(crate) fn count(stream: Stream, from: Duration, count: usize) -> Schedule {
        Schedule(arrivals(stream, from).take(count).collect())
    }

    /// When each request is due, in ascending order.
    pub(crate) fn moments(&self) -> &[Duration] {
        &self.0
    }

    /// When the last request is due; zero when there is none.
    pub(crate) fn end(&self) -> Duration {
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
    /// Starts to connect, and then to ask. Gives up connecting after `limit`.
    ///
    /// # Errors
    /// What the system refused at once.
    pub(crate) fn start(
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
        requests.threads.push(thread("request server", move || {
            server.outcome("answering requests", server.answer(&listener))
        })?);
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

    /// Bytes of requests that have arrived so far.
    pub(crate) fn received(&self) -> u64 {
        self.shared.received.load(Ordering::Relaxed)
    }

    /// How many requests have been answered.
    pub(crate) fn answered(&self) -> usize {
        self.shared.latencies().len()
    }

    /// Whether there is nothing to wait for: every request was answered, or the last one was sent
    /// `grace` ago, or something broke.
    pub(crate) fn is_settled(&self, grace: Duration) -> bool {
        self.answered() == self.shared.schedule.0.len()
            || self.shared.last_sent.get().is_some_and(|at| at.elapsed() >= grace)
            || self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops.
    ///
    /// # Errors
    /// Why it broke before.
    pub(crate) fn finish(mut self) -> Result<RequestReport, WorkloadError> {
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
    /// The first call counts.
    fn begin(&self, moment: Instant) {
        let _ = self.beginning.set(moment);
    }

    /// The server: sends every request back.
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
        // The kernel may otherwise delay the sleeper by 50 us to join it with others.
        let _ = nix::sys::prctl::set_timerslack(1);
        let Some(beginning) = self.beginning.get() else { return Ok(()) };
        for (index, due) in self.schedule.0.iter().enumerate() {
            if !sleep_until(*beginning + *due, &self.stop)
                || !write_all(socket, &message(index as u64), &self.stop)?
            {
                return Ok(());
            }
        }
        let _ = self.last_sent.set(Instant::now());
        Ok(())
    }

    /// The client: takes the replies, which come in order.
    fn collect(&self, socket: &Socket) -> io::Result<()> {
        let Some(beginning) = self.beginning.get() else { return Ok(()) };
        let mut reply = [0; MESSAGE_BYTES];
        for (index, due) in self.schedule.0.iter().enumerate() {
            if !read_full(socket, &mut reply, &self.stop)? {
                return Ok(());
            }
            let latency = (*beginning + *due).elapsed();
            if reply != message(index as u64) {
                return Err(io::Error::other(format!("reply {index} is not what was asked")));
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
        // Those that were due and could not be sent waited too.
        let unanswered = self.schedule.0.iter().skip(latencies.len()).filter_map(|due| {
            let beginning = self.beginning.get()?;
            end.checked_duration_since(*beginning + *due)
        });
        let waiting: Vec<Duration> = unanswered.collect();
        RequestReport::of(latencies.into_iter().map(Ok).chain(waiting.into_iter().map(Err)))
    }

    /// What goes wrong once the requests are being stopped is no error.
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
    /// Of the latency of each answered request, and of how long each unanswered one had waited.
    pub(crate) fn of(outcomes: impl IntoIterator<Item = Result<Duration, Duration>>) -> RequestReport {
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

    /// Requests that were due.
    pub(crate) fn n(&self) -> usize {
        self.latencies.len() + self.waiting.len()
    }

    /// Requests without a reply.
    pub(crate) fn unanswered(&self) -> usize {
        self.waiting.len()
    }

    /// The exact percentile `p` in (0, 1] of all requests due: the smallest latency that at least
    /// a share `p` did not exceed. An unanswered request counts as later than every answered one,
    /// at the time it had waited: a lower bound. None without requests.
    pub(crate) fn percentile(&self, p: f64) -> Option<Duration> {
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

/// The request of this index: no two are alike.
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
