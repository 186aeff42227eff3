//! Name resolution, on a few threads: a look-up may take seconds. Peers with the same endpoint share one look-up.

use super::config::HostPort;
use crate::os::zoned::ZonedAddress;
use nix::sys::eventfd::EventFd;
use ripstop_base::counters;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The largest number of threads, which is the number of look-ups at the same time. While a name server is silent, each
/// look-up takes 2 s ([`limit_wait`]), so the threads ask for 8 names a second. With half the value, it takes twice as long
/// until 5000 names are resolved over a slow link. Double the value takes 16 more threads, each with a descriptor.
const MOST_THREADS: usize = 16;
/// How long a thread waits for the next look-up before it ends. The value has no effect on look-ups: half of it starts
/// threads more often, and double the value keeps them for longer.
const IDLE: Duration = Duration::from_secs(10);
/// The options of the system's resolver: two questions to each name server, 1 s apart. By default, a silent name server
/// blocks a look-up for 10 s. An answer may take up to 2 s, which is long enough for a satellite link. With half the
/// value, slow links lose answers. Double the value delays the moment at which a name server that works again is noticed.
const RESOLVER_OPTIONS: &str = "timeout:1 attempts:2";

/// Resolves host names.
#[derive(Debug)]
pub(super) struct Resolver {
    pool: Arc<Pool>,
    receiver: Receiver<Answer>,
}

/// What the threads share.
#[derive(Debug)]
struct Pool {
    state: Mutex<PoolState>,
    /// Notified when there is a question, or when the resolver is gone.
    asked: Condvar,
    /// A thread writes to this descriptor when there is an answer.
    wakeup: Arc<EventFd>,
    sender: Sender<Answer>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Names that no thread looks up yet.
    questions: VecDeque<HostPort>,
    /// The peers that wait for a name, which is among `questions` or is being looked up.
    askers: HashMap<HostPort, Vec<usize>>,
    counts: LookupCounters,
    threads: usize,
    /// How many of the threads wait for a question.
    idle: usize,
    is_closed: bool,
}

counters! {
    /// How many look-ups there were.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LookupCounters {
        /// Look-ups of peers' endpoints.
        pub made: u64 => ("lookups", "lookups_total"),
        /// Peers that shared the look-up of another peer with the same endpoint.
        pub shared: u64 => ("lookups_shared", "lookups_shared_total"),
    }
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
        let pool = Pool { state: Mutex::default(), asked: Condvar::new(), wakeup, sender };
        Resolver { pool: Arc::new(pool), receiver }
    }

    /// Asks for a peer's address. [`Resolver::poll`] returns the answer later.
    pub(super) fn ask(&self, peer: usize, name: &HostPort) {
        let mut state = self.pool.lock();
        if state.ask(peer, name) {
            self.start_thread(state);
        }
    }

    /// Lets a thread take the next question.
    fn start_thread(&self, mut state: MutexGuard<'_, PoolState>) {
        if state.idle >= state.questions.len() || state.threads == MOST_THREADS {
            self.pool.asked.notify_one();
            return;
        }
        let pool = self.pool.clone();
        match std::thread::Builder::new().name("resolver".into()).spawn(move || pool.work()) {
            Ok(_) => state.threads += 1,
            // The other threads answer.
            Err(_) if state.threads > 0 => {}
            Err(error) => {
                let questions = std::mem::take(&mut state.questions);
                drop(state);
                questions.into_iter().for_each(|name| self.pool.answer(&name, &Err(error.to_string())));
            }
        }
    }

    /// How many look-ups there were.
    pub(super) fn counts(&self) -> LookupCounters {
        self.pool.lock().counts
    }

    /// The next available answer.
    pub(super) fn poll(&self) -> Option<Answer> {
        self.receiver.try_recv().ok()
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.questions.clear();
        state.is_closed = true;
        self.pool.asked.notify_all();
    }
}

impl PoolState {
    /// Adds a question. Returns false if the look-up of an equal question answers it.
    fn ask(&mut self, peer: usize, name: &HostPort) -> bool {
        if let Some(askers) = self.askers.get_mut(name) {
            askers.push(peer);
            self.counts.shared += 1;
            return false;
        }
        self.counts.made += 1;
        self.askers.insert(name.clone(), vec![peer]);
        self.questions.push_back(name.clone());
        true
    }
}

impl Pool {
    /// Answers questions until there is none for [`IDLE`].
    fn work(&self) {
        while let Some(name) = self.next() {
            let addresses = look_up(&name).map_err(|error| error.to_string());
            self.answer(&name, &addresses);
        }
    }

    fn next(&self) -> Option<HostPort> {
        let mut state = self.lock();
        state.idle += 1;
        let empty = |state: &mut PoolState| state.questions.is_empty() && !state.is_closed;
        let waited = self.asked.wait_timeout_while(state, IDLE, empty);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        let question = state.questions.pop_front();
        state.threads -= usize::from(question.is_none());
        question
    }

    /// Answers all peers that wait for this name.
    fn answer(&self, name: &HostPort, addresses: &Result<Vec<SocketAddr>, String>) {
        for peer in self.lock().askers.remove(name).unwrap_or_default() {
            // The send fails only when the resolver is gone.
            let _ = self.sender.send(Answer { peer, name: name.clone(), addresses: addresses.clone() });
        }
        let _ = self.wakeup.write(1);
    }

    /// A poisoned lock is usable: no code that can panic runs under it.
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The addresses of a host. May take seconds.
fn look_up(name: &HostPort) -> io::Result<Vec<SocketAddr>> {
    match name.to_string().parse::<ZonedAddress>() {
        // The device of the zone may have appeared since. The system's resolver does not say that the device is missing.
        Ok(address) => address.resolve().map(|address| vec![address]),
        Err(_) => (name.host.as_str(), name.port).to_socket_addrs().map(Iterator::collect),
    }
}

/// The name servers of this host: those in resolv.conf(5), and those behind the local server of systemd-resolved. A file
/// that does not exist names none.
pub(super) fn name_servers() -> BTreeSet<IpAddr> {
    let files = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
    files.into_iter().flat_map(|path| servers_in(&std::fs::read_to_string(path).unwrap_or_default())).collect()
}

fn servers_in(text: &str) -> Vec<IpAddr> {
    let lines = text.lines().map(str::split_whitespace);
    let values = lines.filter_map(|mut words| words.next().filter(|key| *key == "nameserver").and(words.next()));
    // An address in the host's own network may have a zone.
    values.filter_map(|value| value.split('%').next()?.parse().ok()).collect()
}

/// Shortens the time for which a silent name server blocks a look-up of this process to 2 s, unless the
/// environment has options of its own (`RES_OPTIONS`, resolv.conf(5)). Has an effect with glibc, and only while the process
/// has a single thread.
pub fn limit_wait() {
    const VARIABLE: &str = "RES_OPTIONS";
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    if is_alone && std::env::var_os(VARIABLE).is_none() {
        #[allow(unsafe_code, reason = "the resolver of the C library reads its options from the environment only")]
        // SAFETY: this process has a single thread, so no other thread reads the environment meanwhile.
        unsafe {
            std::env::set_var(VARIABLE, RESOLVER_OPTIONS);
        }
    }
}

/// A name's addresses in the order in which to try them. `in_vain` is an address that did not answer. If this address is
/// in the list, the order begins with the next address in the list. Otherwise it begins with the first address, because
/// the system prefers it.
pub(super) fn in_turn(mut addresses: Vec<SocketAddr>, in_vain: Option<SocketAddr>) -> VecDeque<SocketAddr> {
    if let Some(last) = addresses.iter().position(|address| Some(*address) == in_vain) {
        addresses.rotate_left(last + 1);
    }
    addresses.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;

    #[test]
    fn an_address_without_answer_is_followed_by_the_next() {
        let [a, b, c] = ["[2001:db8::1]:1", "192.0.2.1:1", "192.0.2.2:1"].map(|text| text.parse().unwrap());
        assert_eq!(in_turn(vec![a, b], None), [a, b]);
        assert_eq!(in_turn(vec![a, b, c], Some(a)), [b, c, a]);
        assert_eq!(in_turn(vec![a, b], Some(b)), [a, b]);
        assert_eq!(in_turn(vec![a, b], Some(c)), [a, b]);
        assert_eq!((in_turn(vec![a], Some(a)), in_turn(vec![], Some(a))), ([a].into(), VecDeque::new()));
    }

    #[test]
    fn name_servers_are_read_from_resolv_conf() {
        let text = "# nameserver 192.0.2.9\nsearch example\n nameserver\t192.0.2.53 # first\nnameserver fe80::1%eth0\n\
                    nameserver\nnameserver x\nnameservers 192.0.2.10\n";
        let expected: Vec<IpAddr> = ["192.0.2.53", "fe80::1"].map(|address| address.parse().unwrap()).into();
        assert_eq!(servers_in(text), expected);
    }

    #[test]
    fn a_zone_without_a_device_is_named() {
        let name = HostPort::parse("[fe80::1%no-device]:1").unwrap();
        assert!(look_up(&name).unwrap_err().to_string().contains("no network device `no-device`"));
        let here = HostPort::parse("[fe80::1%lo]:1").unwrap();
        assert_eq!(look_up(&here).unwrap(), [here.address().unwrap()]);
    }

    #[test]
    fn many_questions_share_few_threads() {
        const QUESTIONS: usize = 500;
        let wakeup = Arc::new(EventFd::new().unwrap());
        let resolver = Resolver::new(wakeup.clone());
        for peer in 0..QUESTIONS {
            resolver.ask(peer, &HostPort { host: format!("127.0.{}.{}", peer / 250, peer % 250), port: 1 });
            assert!(resolver.pool.lock().threads <= MOST_THREADS);
        }
        let mut answered = vec![false; QUESTIONS];
        while answered.contains(&false) {
            assert_eq!(poll(&mut [PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)], PollTimeout::MAX), Ok(1));
            while let Some(answer) = resolver.poll() {
                assert!(!std::mem::replace(&mut answered[answer.peer], true));
            }
        }
    }

    /// No thread runs before all questions were asked.
    #[test]
    fn equal_questions_share_one_look_up() {
        const PEERS: usize = 100;
        let wakeup = Arc::new(EventFd::new().unwrap());
        let resolver = Resolver::new(wakeup.clone());
        let (name, other) = (HostPort::parse("127.0.0.1:1").unwrap(), HostPort::parse("127.0.0.1:2").unwrap());
        let mut state = resolver.pool.lock();
        let asked: Vec<bool> =
            (0..PEERS).map(|peer| state.ask(peer, if peer < PEERS - 1 { &name } else { &other })).collect();
        drop(state);
        assert_eq!(asked.iter().filter(|is_new| **is_new).count(), 2);
        assert_eq!(resolver.counts(), LookupCounters { made: 2, shared: PEERS as u64 - 2 });
        resolver.start_thread(resolver.pool.lock());
        let mut answered = [false; PEERS];
        while answered.contains(&false) {
            assert_eq!(poll(&mut [PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)], PollTimeout::MAX), Ok(1));
            while let Some(answer) = resolver.poll() {
                assert!(!std::mem::replace(&mut answered[answer.peer], true));
                let port = if answer.peer < PEERS - 1 { 1 } else { 2 };
                assert_eq!(answer.addresses.unwrap(), [SocketAddr::from(([127, 0, 0, 1], port))]);
            }
        }
        // A later question is not answered by an old look-up.
        resolver.ask(0, &name);
        assert_eq!(resolver.counts().made, 3);
    }
}
