//! A TCP source, an LT sender, two wires, an LT receiver and a TCP sink in virtual time.
//!
//! The world is also the caller of the two sessions: it makes a new session when an end restarts, and when a session
//! reports that the other end has restarted.

use super::journal::{Bounds, Journal, Sums};
use super::scenario::{End, LtScenario};
use super::tamper::Tamper;
use super::tcp::{Sink, Source};
use super::wire::{OnTheWay, Wire};
use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_link::{LinkConfigError, LinkCounters};
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::lt::*;
use ripstop_sim::engine::{Alarm, Scheduler};

/// The largest number of packets of one block that one input may cause. The paper's modes send the first round of a
/// block at once: at most 64 symbols, times at most 10. Half the value would report these bursts. Double the value
/// finds endless output later.
const MOST_OUTPUT: usize = 640;
/// The largest number of alarms at one moment. Packets that arrive together are one alarm. Double the value finds a
/// session that does not come to rest later.
const MOST_ALARMS: u64 = 10_000;
/// The packets that are added to a finished connection when the receiver restarts.
const ADDED: u64 = 20;

/// Both ends with the path between them.
pub(crate) struct LtWorld {
    scenario: LtScenario,
    seed: Seed,
    ids: Stream,
    scheduler: Scheduler,
    alarms: [Alarm; 6],
    /// The wire of the symbols.
    pub(crate) there: Wire<LtPacket<Symbol>>,
    /// The wire of the LT-ACKs.
    pub(crate) back: Wire<LtAck>,
    /// None: the end is down.
    pub(crate) sender: Option<LtSender<Symbol>>,
    /// None: the end is down.
    pub(crate) receiver: Option<LtReceiver<Symbol>>,
    /// When each end that is down comes up.
    ups: [Time; 2],
    pub(crate) source: Source,
    pub(crate) sink: Sink,
    /// The number up to which a sink has got the connection of the source.
    delivered: u64,
    /// How many restarts of the scenario have happened.
    happened: usize,
    /// Counts the senders and the receivers. The second number of each pair is the count of the other end when the end
    /// was made.
    made: [(u64, u64); 2],
    /// What earlier sources achieved.
    achieved_before: u64,
    earlier: (Vec<LtSenderCounts>, Vec<LtReceiverCounts>),
    alarms_now: (Time, u64),
    pub(crate) bounds: Bounds,
    /// None, except in tests of the judge.
    pub(crate) tamper: Option<Tamper>,
    pub(crate) journal: Journal,
}

impl LtWorld {
    /// The world of a scenario at its start.
    ///
    /// # Errors
    /// A setting of a link that is not valid. The links of [`LtScenario::random`] are valid.
    ///
    /// # Panics
    /// A setting of the session that is not valid.
    pub(crate) fn new(scenario: &LtScenario, seed: Seed) -> Result<LtWorld, LinkConfigError> {
        let mut scheduler = Scheduler::new();
        let (config, source) = (scenario.config, scenario.source);
        let mut world = LtWorld {
            there: Wire::new(&scenario.links[0], seed, "link/0")?,
            back: Wire::new(&scenario.links[1], seed, "link/1")?,
            ids: seed.stream("sessions"),
            alarms: [(); 6].map(|()| scheduler.add()),
            scheduler,
            sender: None,
            receiver: None,
            ups: [Time::NEVER; 2],
            source: Source::new(0, source, config.mode, config.first, seed.stream("tcp/0")),
            sink: Sink::new(config.mode, config.first, source.most_bytes),
            delivered: config.first,
            happened: 0,
            made: [(0, 0); 2],
            achieved_before: 0,
            earlier: Default::default(),
            alarms_now: (Time::ZERO, 0),
            bounds: Bounds {
                held: config.most_held as usize + config.most_blocks as usize * config.block.most(),
                remembered: config.most_remembered(),
                blocks: config.most_blocks as usize,
            },
            tamper: None,
            journal: Journal::default(),
            scenario: scenario.clone(),
            seed,
        };
        world.make_receiver();
        world.make_sender();
        Ok(world)
    }

    /// The virtual time.
    pub(crate) fn now(&self) -> Time {
        self.scheduler.now()
    }

    /// Whether everything has arrived and is acknowledged, and all restarts have happened.
    pub(crate) fn is_finished(&self) -> bool {
        let is_up = self.sender.is_some() && self.receiver.is_some();
        is_up && self.is_complete() && self.happened == self.scenario.restarts.len()
    }

    /// Whether TCP waits for the session.
    pub(crate) fn waits(&self) -> bool {
        self.source.waits() || (self.source.is_done() && !self.is_complete())
    }

    /// A number that grows with each step of progress: innovative symbols, acknowledgements, and new sessions.
    pub(crate) fn achieved(&self) -> u64 {
        self.sums().innovative + self.achieved_before + self.source.progress() + self.made[0].0 + self.made[1].0
    }

    /// The state of both ends in words.
    pub(crate) fn state(&self) -> String {
        let sender = self.sender.as_ref().map_or("sender down".into(), |sender| {
            let blocks = sender.blocks_in_flight();
            format!("sender holds {} packets, {blocks} blocks in flight, loss {:.3}", sender.held(), sender.loss())
        });
        let receiver = self.receiver.as_ref().map_or("receiver down".into(), |receiver| {
            format!("receiver holds {} blocks, next packet {}", receiver.blocks(), receiver.next())
        });
        let [there, back] = self.counters().map(|counters| counters.delivered);
        format!("{}; {sender}; {receiver}; links carried {there} and {back}", self.source.state())
    }

    /// Runs until `end`, or until a fault.
    pub(crate) fn run_until(&mut self, end: Time) {
        loop {
            self.settle();
            if !self.journal.faults.is_empty() {
                return;
            }
            let Some(alarm) = self.scheduler.next_until(end) else { return };
            let now = self.now();
            if self.alarms_now.0 != now {
                self.alarms_now = (now, 0);
            }
            self.alarms_now.1 += 1;
            if self.alarms_now.1 > MOST_ALARMS {
                self.fault("the session does not come to rest".into());
                return;
            }
            self.handle(alarm.index(), now);
        }
    }

    /// The counters of the two links.
    pub(crate) fn counters(&self) -> [&LinkCounters; 2] {
        [self.there.counters(), self.back.counters()]
    }

    /// The counters of all sessions so far.
    pub(crate) fn sums(&self) -> Sums {
        let sender = self.sender.as_ref().map(LtSender::counts);
        let receiver = self.receiver.as_ref().map(LtReceiver::counts);
        let senders: Vec<_> = self.earlier.0.iter().copied().chain(sender).collect();
        let receivers: Vec<_> = self.earlier.1.iter().copied().chain(receiver).collect();
        Sums::of(&senders, &receivers)
    }

    fn is_complete(&self) -> bool {
        self.source.is_done() && self.delivered == self.source.end()
    }

    fn fault(&mut self, words: String) {
        let now = self.now().as_secs_f64();
        self.journal.faults.push(format!("at {now:.3} s: {words}"));
    }

    /// Handles an alarm.
    fn handle(&mut self, alarm: usize, now: Time) {
        match alarm {
            0 => {
                while let Some(arrived) = self.there.take(now) {
                    self.arrive_at_receiver(arrived, now);
                    self.pump(now);
                }
            }
            1 => {
                while let Some(arrived) = self.back.take(now) {
                    self.arrive_at_sender(arrived, now);
                    self.pump(now);
                }
            }
            2 => self.sender.iter_mut().for_each(|sender| sender.handle_timeout(now)),
            3 => self.receiver.iter_mut().for_each(|receiver| receiver.handle_timeout(now)),
            4 => self.source.timeout(now),
            _ => self.restart(now),
        }
    }

    fn arrive_at_receiver(&mut self, arrived: OnTheWay<LtPacket<Symbol>>, now: Time) {
        let Some(receiver) = &mut self.receiver else { return };
        match received(arrived) {
            Some(received) => receiver.handle_datagram(now, received),
            None => self.journal.damaged += 1,
        }
    }

    fn arrive_at_sender(&mut self, arrived: OnTheWay<LtAck>, now: Time) {
        let Some(sender) = &mut self.sender else { return };
        match received(arrived) {
            Some(received) => sender.handle_datagram(now, received),
            None => self.journal.damaged += 1,
        }
    }

    /// An end stops or comes up.
    fn restart(&mut self, now: Time) {
        if let Some(restart) = self.scenario.restarts.get(self.happened).copied()
            && restart.at <= now
        {
            self.happened += 1;
            self.journal.restarts[restart.end as usize] += 1;
            self.ups[restart.end as usize] = now + restart.down;
            match restart.end {
                End::Sender => self.earlier.0.extend(self.sender.take().map(|sender| sender.counts())),
                End::Receiver => self.earlier.1.extend(self.receiver.take().map(|receiver| receiver.counts())),
            }
        }
        if self.ups[0] <= now {
            self.ups[0] = Time::NEVER;
            self.make_sender();
        }
        if self.ups[1] <= now {
            self.ups[1] = Time::NEVER;
            self.make_receiver();
            if self.source.is_done() {
                self.source.extend(ADDED);
            }
        }
    }

    /// A new sender, for a new connection.
    fn make_sender(&mut self) {
        let (config, source) = (self.scenario.config, self.scenario.source);
        let mut sender = LtSender::new(config, self.ids.next_u64() as u32).expect("valid settings");
        if let Some(rate) = self.scenario.rate.filter(|_| !self.scenario.is_upload) {
            sender.set_rate(rate);
        }
        self.earlier.0.extend(self.sender.replace(sender).map(|sender| sender.counts()));
        self.achieved_before += self.source.progress();
        self.journal.connections += 1;
        let connection = self.journal.connections as u32;
        let draws = self.seed.stream(&format!("tcp/{connection}"));
        self.source = Source::new(connection, source, config.mode, config.first, draws);
        self.delivered = config.first;
        self.made[0] = (self.made[0].0 + 1, self.made[1].0);
    }

    /// A new receiver, with a new sink. A receiver that is still there has ended its session. If the end was down, the
    /// new receiver knows nothing.
    fn make_receiver(&mut self) {
        let config = self.scenario.config;
        let fresh = || LtReceiver::new(config).expect("valid settings");
        let mut receiver = self.receiver.as_ref().map_or_else(fresh, LtReceiver::renewed);
        if let Some(rate) = self.scenario.rate.filter(|_| self.scenario.is_upload) {
            receiver.set_rate(rate);
        }
        self.earlier.1.extend(self.receiver.replace(receiver).map(|receiver| receiver.counts()));
        self.sink = Sink::new(config.mode, config.first, self.scenario.source.most_bytes);
        self.made[1] = (self.made[1].0 + 1, self.made[0].0);
    }

    /// Takes all outputs, checks the bounds, and sets the alarms.
    fn settle(&mut self) {
        let now = self.now();
        self.pump(now);
        self.check_bounds();
        let restarts = self.scenario.restarts.get(self.happened).map_or(Time::NEVER, |restart| restart.at);
        // An end that is down does not restart again.
        let restarts = if self.ups == [Time::NEVER; 2] { restarts } else { Time::NEVER };
        let due = |due: Option<Option<Time>>| due.flatten().unwrap_or(Time::NEVER);
        let times = [
            self.there.next(),
            self.back.next(),
            due(self.sender.as_ref().map(Session::poll_timeout)),
            due(self.receiver.as_ref().map(Session::poll_timeout)),
            if self.sender.is_some() { self.source.due() } else { Time::NEVER },
            restarts.min(self.ups[0]).min(self.ups[1]),
        ];
        for (alarm, time) in self.alarms.into_iter().zip(times) {
            self.scheduler.set(alarm, time);
        }
    }

    /// Moves packets between TCP, the sessions and the wires until nothing moves.
    fn pump(&mut self, now: Time) {
        let most = MOST_OUTPUT * (self.scenario.config.most_blocks as usize + 2);
        let mut moved = Moved { left: most };
        while moved.left > 0 {
            let before = moved.left;
            self.pump_sender(&mut moved, now);
            self.pump_receiver(&mut moved, now);
            if moved.left == before {
                return;
            }
        }
        self.fault(format!("one input caused {most} outputs"));
    }

    fn pump_sender(&mut self, moved: &mut Moved, now: Time) {
        let Some(sender) = &mut self.sender else { return };
        while let Some(ack) = moved.one(sender.poll_deliver()) {
            self.source.acknowledge(ack, now);
        }
        if let Some(inner) = moved.one(self.source.poll(now)) {
            sender.handle_inner(now, inner);
        }
        while let Some(sent) = moved.one(sender.poll_transmit(now)) {
            match sent.packet.wrong_field() {
                _ if self.tamper.is_some_and(|tamper| matches!(tamper, Tamper::Silence(at) if at <= now)) => {}
                None => self.there.send(now, sent.packet, sent.bytes),
                Some(field) => self.journal.faults.push(format!("`{field}` does not fit into a packet")),
            }
        }
        let reports = std::iter::from_fn(|| sender.poll_event()).count();
        if let Some(words) = self.source.fault.take() {
            self.fault(words);
        }
        if reports > 0 {
            moved.one(Some(()));
            self.report(End::Sender, reports, now);
        }
    }

    fn pump_receiver(&mut self, moved: &mut Moved, now: Time) {
        let Some(receiver) = &mut self.receiver else { return };
        while let Some(delivered) = moved.one(receiver.poll_deliver()) {
            let changed = match self.tamper {
                Some(tamper) => tamper.change(delivered),
                None => vec![delivered],
            };
            for delivered in changed {
                if self.sink.take(delivered) {
                    receiver.handle_inner(now, Accepted);
                }
            }
        }
        while let Some(sent) = moved.one(receiver.poll_transmit(now)) {
            match sent.packet.wrong_field() {
                None => self.back.send(now, sent.packet, sent.bytes),
                Some(field) => self.journal.faults.push(format!("`{field}` does not fit into an LT-ACK")),
            }
        }
        let reports = std::iter::from_fn(|| receiver.poll_event()).count();
        if self.sink.connection == Some(self.source.connection) {
            self.delivered = self.delivered.max(self.sink.next);
        }
        if let Some(words) = self.sink.fault.take() {
            self.fault(words);
        }
        if reports > 0 {
            moved.one(Some(()));
            self.report(End::Receiver, reports, now);
        }
    }

    /// An end reports that the other end has restarted. It resets TCP's connection and begins again.
    fn report(&mut self, end: End, reports: usize, now: Time) {
        if reports > 1 {
            self.fault(format!("{reports} reports of one restart"));
        }
        let (here, there) = (end as usize, 1 - end as usize);
        self.journal.reports[here] += 1;
        if self.made[there].0 == self.made[here].1 {
            self.journal.needless.push(now);
        }
        match end {
            _ if self.tamper == Some(Tamper::IgnoreReports) => {}
            End::Sender => self.make_sender(),
            End::Receiver => self.make_receiver(),
        }
    }

    /// Checks that both ends keep the bounds of their settings.
    fn check_bounds(&mut self) {
        let bounds = self.bounds;
        let of_sender = |value: fn(&LtSender<Symbol>) -> usize| self.sender.as_ref().map_or(0, value);
        let broken = [
            ("packets held by the sender", of_sender(LtSender::held), bounds.held),
            ("packets remembered by the sender", of_sender(LtSender::remembered), bounds.remembered),
            ("blocks in flight", of_sender(LtSender::blocks_in_flight), bounds.blocks),
            ("blocks held by the receiver", self.receiver.as_ref().map_or(0, LtReceiver::blocks), bounds.blocks),
        ]
        .into_iter()
        .find(|(_, is, most)| is > most);
        if let Some((what, is, most)) = broken {
            self.fault(format!("{is} {what}; at most {most} are allowed"));
        }
    }
}

/// A packet that has arrived, for the session. None if the checksum rejects the packet.
fn received<T>(arrived: OnTheWay<T>) -> Option<Received<T>> {
    let OnTheWay { packet, size, is_whole } = arrived;
    is_whole.then_some(Received { packet, bytes: size, reception: Reception::default() })
}

/// Counts what moves.
struct Moved {
    /// How many items may still move.
    left: usize,
}

impl Moved {
    /// Counts an item that moves. None if no more items may move.
    fn one<T>(&mut self, item: Option<T>) -> Option<T> {
        self.left = self.left.saturating_sub(usize::from(item.is_some()));
        item.filter(|_| self.left > 0)
    }
}
