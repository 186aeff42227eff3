//! The planner's model of TCP/LT, in the improved mode: a gateway in front of the link carries TCP
//! in blocks, and sends again what the client lacks (docs/researchers/tcp-lt.md). [`settings`]
//! chooses the settings for a path, and [`predict`] predicts the goodput.
//!
//! The goodput has four bounds. The lowest of them applies:
//!
//! * The link carries C (1-p) of symbols, less headers. Symbols that are sent again replace lost
//!   ones, so they take no more than the losses.
//! * The window allows W packets in a round trip.
//! * An LT-ACK comes for each sixth packet, if neither is lost. If the LT-ACKs are further apart
//!   than the packets that wait in the queue, the link is idle in between.
//! * At most [`BLOCKS`] blocks are in flight, and a block leaves only when all blocks before it are
//!   decoded. A block that needs several rounds holds up the others. The recursion in
//!   `busy_share` follows the blocks one by one.

use super::path::{NetworkPath, PATH_MTU};
use super::scheme::PLAIN_HEADERS;
use ripstop_base::{Seed, Stream};

/// The settings of TCP/LT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LtSettings {
    /// K: packets of a block.
    pub block: u32,
    /// The largest number of packets that a connection has in flight.
    pub window: u32,
    /// Packets that the gateway acknowledges to TCP before they are in a block.
    pub buffer: u32,
    /// The rate that all connections share, payload, bit/s. The gateway sends up to
    /// [`PACE`] times as fast, and replaces losses in addition.
    pub capacity_bps: f64,
}

/// What bounds the goodput of TCP/LT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LtBound {
    /// The link's rate, less losses and headers.
    Link,
    /// The window, or LT-ACKs that are too far apart.
    Window,
    /// The number of blocks in flight.
    Blocks,
}

/// The predicted result of TCP/LT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LtPrediction {
    /// Goodput: payload that arrives in order, of all connections together, bit/s.
    pub goodput_bps: f64,
    /// What bounds the goodput.
    pub bound: LtBound,
    /// Bytes sent on the path for each byte of payload that arrives.
    pub sent_per_useful: f64,
}

/// The reason why the goodput of TCP/LT is not predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LtUnpredictable {
    /// The path holds more packets than the largest window ([`LARGEST_WINDOW`]).
    Window,
    /// A round trip through the queue is longer than [`LONGEST_ROUND`].
    Round,
}

/// K. The largest block of the protocol. The number of blocks in flight is bounded, so half the
/// value halves the goodput on paths of more than 2000 packets.
pub const BLOCK: u32 = 64;
/// The largest number of blocks in flight, the protocol's default. Double the value doubles the
/// goodput on long paths, but an LT-ACK with the state of 128 blocks has 1.2 kB.
pub const BLOCKS: u32 = 64;
/// The largest window that the protocol allows, packets.
pub const LARGEST_WINDOW: u32 = 1 << 16;
/// The gateway sends at most this number of times as fast as [`LtSettings::capacity_bps`] says
/// (`PACE` in the sender of TCP/LT). Half and double the value make the prediction disagree with
/// the protocol.
pub const PACE: f64 = 1.25;
/// The longest round trip for which a prediction is made, queue included, s. The sender takes a
/// packet for lost after 2 s at the latest. A larger value admits paths on which it sends packets
/// that have only waited; half the value refuses paths that are predicted well.
pub const LONGEST_ROUND: f64 = 1.9;

/// Bytes of payload in a full packet: the MTU, less 40 bytes of TCP and IP and at most 20 of coding
/// (`schemes/src/lt/packet.rs`). Each further byte of headers takes a byte of payload.
pub const LT_PAYLOAD: f64 = PATH_MTU - PLAIN_HEADERS - 20.0;
/// Bytes on the wire of a full packet. The coding header of most packets has 17 bytes.
const WIRE: f64 = LT_PAYLOAD + PLAIN_HEADERS + 17.0;
/// The gateway asks for an LT-ACK in each sixth packet (`REQUEST_EVERY` in the sender of TCP/LT).
pub const REQUEST_EVERY: f64 = 6.0;
/// A window asks for at least this number of LT-ACKs (`LEAST_REQUESTS` in the sender of TCP/LT).
pub const LEAST_REQUESTS: u32 = 4;
/// The part of the queue that the window may fill. The rest takes bursts. With the whole queue, the
/// window overflows it; with half the value, LT-ACKs that are lost leave a short path idle more
/// often.
const QUEUE_PART: f64 = 0.75;
/// Packets in the queue that bridge lost LT-ACKs, for each packet of a mean burst. A burst of B
/// losses on the way back takes the LT-ACKs of 6 B packets; 20 B packets bridge most bursts. With
/// half the value, lost LT-ACKs leave paths with bursts idle more often. Double the value makes the
/// queue longer.
const BRIDGED: f64 = 20.0;
/// The pace at which the gateway sends on a path whose queue takes no bursts, relative to the
/// link's rate. A value of 1 or less leaves a part of the link unused.
const LEAST_PACE: f64 = 1.02;
/// The number of blocks that [`busy_share`] follows. With half the value, the result depends more on
/// the drawn losses. Double the value takes twice the time.
const FOLLOWED: usize = 8192;

impl LtSettings {
    /// The ceiling of TCP/LT: payload divided by bytes on the wire of a symbol. The goodput cannot
    /// exceed this share of C (1-p), the link's rate less its losses.
    pub fn ceiling() -> f64 {
        LT_PAYLOAD / WIRE
    }
}

/// Chooses the settings for a path.
///
/// The window of all connections fills the bandwidth-delay product, and puts packets into the queue
/// that bridge lost LT-ACKs. The capacity is what the link carries. If the queue is too short for
/// the bursts of a gateway that sends 1.25 times as fast as the link, the capacity is lower. The
/// buffer holds two blocks, so that a block is full when it begins.
pub fn settings(path: &NetworkPath) -> LtSettings {
    let (packets, queue, flows) = (path.packets(), path.queue_packets(), f64::from(path.flows));
    let bridge = (0.25 * packets + BRIDGED * path.burst).min((0.75 * packets).max(2.0 * REQUEST_EVERY));
    let window = packets + 1.0 + bridge.min(QUEUE_PART * queue);
    // A burst of a whole window at pace r puts the share 1 - 1/r of the window into the queue.
    let pace = 1.0 / (1.0 - QUEUE_PART * queue / window).max(1.0 / PACE);
    let carried = path.capacity() * LtSettings::ceiling();
    LtSettings {
        block: BLOCK,
        window: (window / flows).clamp(2.0, f64::from(LARGEST_WINDOW)) as u32,
        buffer: 2 * BLOCK,
        capacity_bps: carried * pace.max(LEAST_PACE) / PACE,
    }
}

/// Predicts the goodput with the settings `lt`.
///
/// # Errors
/// The path is outside the limits of the protocol. The error names the reason.
pub fn predict(path: &NetworkPath, lt: LtSettings) -> Result<LtPrediction, LtUnpredictable> {
    let flows = f64::from(path.flows);
    let window = flows * f64::from(lt.window);
    if path.packets() > flows * f64::from(LARGEST_WINDOW) {
        return Err(LtUnpredictable::Window);
    }
    let symbol = 8.0 * WIRE / path.rate;
    let round = path.rtt + symbol;
    if round.max(window * symbol) > LONGEST_ROUND {
        return Err(LtUnpredictable::Round);
    }
    let by_link = path.capacity() * LtSettings::ceiling();
    // Packets leave and are answered in groups, so a packet waits for the rest of its group.
    let group = symbol * request_every(lt);
    let by_window = window * (1.0 - path.loss) * LT_PAYLOAD * 8.0 / (path.rtt + group);
    let by_answers = by_link / (1.0 + idle_share(path, lt, window - round / symbol));
    let by_blocks = by_link * busy_share(path, window);
    let bounds = [
        (LtBound::Link, by_link),
        (LtBound::Window, by_window),
        (LtBound::Window, by_answers),
        (LtBound::Blocks, by_blocks),
    ];
    let (bound, goodput_bps) = bounds.into_iter().fold(bounds[0], |low, next| if next.1 < low.1 { next } else { low });
    // A bound that takes less than a thousandth does not matter.
    let bound = if goodput_bps < 0.999 * by_link { bound } else { LtBound::Link };
    Ok(LtPrediction { goodput_bps, bound, sent_per_useful: 1.0 / (LtSettings::ceiling() * (1.0 - path.loss)) })
}

/// The number of packets from one request to the next.
fn request_every(lt: LtSettings) -> f64 {
    REQUEST_EVERY.min(f64::from(lt.window / LEAST_REQUESTS)).max(1.0)
}

/// The time for which the link is idle because no LT-ACK has come, as a share of the time in which
/// it sends. `waiting` is the number of packets in the queue.
///
/// An answer comes for a request with probability a = (1-p)(1-q), where q is the loss of the way
/// back. So the number of requests up to an answer is geometric. After G packets without an answer,
/// the queue is empty, and G - `waiting` more packets could have left.
fn idle_share(path: &NetworkPath, lt: LtSettings, waiting: f64) -> f64 {
    let every = request_every(lt);
    let answered = (1.0 - path.loss) * (1.0 - path.loss_back);
    let waiting = waiting.max(every);
    let covered = libm::floor(waiting / every);
    let idle = 1.0 - (waiting - every * covered) * answered / every;
    libm::pow(1.0 - answered, covered) * idle
}

/// The share of the time in which the link sends, if only the blocks in flight hold it up.
///
/// Block j enters the link when the link has sent block j-1, and when block j - [`BLOCKS`] has left.
/// A block is decoded after one or more rounds. It leaves when it and all blocks before it are
/// decoded. The rounds of each block are drawn from a fixed random stream.
fn busy_share(path: &NetworkPath, window: f64) -> f64 {
    let symbol = 8.0 * WIRE / path.rate;
    let held = BLOCKS as usize * path.flows as usize;
    let sending = f64::from(BLOCK) * symbol / (1.0 - path.loss);
    let answered = (1.0 - path.loss) * (1.0 - path.loss_back);
    let round = path.rtt + symbol + REQUEST_EVERY / answered * symbol;
    let most_wait = (window * symbol - path.rtt).max(0.0);
    let undecoded = undecoded_after(path);
    let mut random = Seed::new(1).stream("plan/lt");
    let mut left = vec![0.0f64; FOLLOWED];
    let (mut enters, mut last, mut idle) = (0.0f64, 0.0f64, 0.0f64);
    for block in 0..FOLLOWED {
        let free = block.checked_sub(held).map_or(0.0, |before| left[before]);
        idle += (free - enters).max(0.0);
        enters = enters.max(free);
        // The block has waited in the queue since it was free to go. Symbols that are sent again
        // wait as long.
        let wait = (enters - free).min(most_wait);
        let again = rounds(&undecoded, &mut random) - 1.0;
        last = last.max(enters + f64::from(BLOCK) * symbol + round + again * (round + wait));
        left[block] = last;
        enters += sending;
    }
    let sent = FOLLOWED as f64 * sending;
    sent / (sent + idle)
}

/// A random number of rounds after which a block is decoded. `undecoded` is the result of
/// [`undecoded_after`].
fn rounds(undecoded: &[f64], random: &mut Stream) -> f64 {
    let luck = random.unit();
    undecoded.iter().take_while(|share| **share > luck).count() as f64
}

/// The probability that a block is not decoded after r rounds, for r = 0, 1, ...
///
/// A round sends the symbols that the rounds before have lost. These follow each other, so a burst
/// may lose them together: a run of n symbols arrives whole with probability (1-p)(1-g)^(n-1), where
/// g is the probability that a burst begins after a symbol that arrived. If a run does not arrive
/// whole, n p symbols of it are lost on average, divided by the probability of a loss.
fn undecoded_after(path: &NetworkPath) -> Vec<f64> {
    let p = path.loss;
    let begins = (p / (path.burst * (1.0 - p))).min(1.0);
    let begins = if path.burst > 1.0 { begins } else { p };
    let (mut all, mut run) = (vec![1.0], f64::from(BLOCK));
    let mut open = 1.0;
    while p > 0.0 && open > LEAST_OPEN && all.len() < MOST_ROUNDS {
        let loses = 1.0 - (1.0 - p) * libm::pow(1.0 - begins, run - 1.0);
        open *= loses;
        all.push(open);
        run = (run * p / loses).max(1.0);
    }
    all
}

/// Rounds that a block needs with a smaller probability are left out. Half and double the value
/// change nothing in the first four digits.
const LEAST_OPEN: f64 = 1e-9;
/// The largest number of rounds. At 90 % of loss, a block needs 130 rounds with a probability of
/// one in 10^6.
const MOST_ROUNDS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn goodput(path: NetworkPath) -> (f64, LtBound) {
        let got = predict(&path, settings(&path)).unwrap();
        (got.goodput_bps / path.capacity(), got.bound)
    }

    #[test]
    fn the_link_bounds_the_goodput_of_usual_paths() {
        let (share, bound) = goodput(NetworkPath::default());
        assert!(bound == LtBound::Link && (share - LtSettings::ceiling()).abs() < 1e-3, "{share} {bound:?}");
        let got = predict(&NetworkPath::default(), settings(&NetworkPath::default())).unwrap();
        assert!((got.sent_per_useful - 1.0 / (0.9619 * 0.95)).abs() < 1e-3, "{got:?}");
    }

    /// 64 blocks of 64 packets are 4096 packets. At 13 % of loss, a block needs up to four rounds.
    #[test]
    fn blocks_bound_the_goodput_of_long_paths() {
        let long =
            NetworkPath { rate: 93.4e6, rtt: 0.678, loss: 0.13, loss_back: 0.13, queue: 1e7, ..NetworkPath::default() };
        let (share, bound) = goodput(long);
        // A simulation gave .210.
        assert!(bound == LtBound::Blocks && (0.16..0.24).contains(&share), "{share} {bound:?}");
        // Bursts hit fewer blocks.
        let (bursts, _) = goodput(NetworkPath { burst: 10.0, ..long });
        assert!(bursts > 1.1 * share, "{bursts} {share}");
    }

    /// A window of 19 packets on a path of 13 packets, with 6 % of loss. A simulation gave .84.
    #[test]
    fn rare_answers_bound_the_goodput_of_short_queues() {
        let short = NetworkPath {
            rate: 31e6,
            rtt: 0.0053,
            loss: 0.062,
            loss_back: 0.062,
            queue: 1e4,
            ..NetworkPath::default()
        };
        let (share, bound) = goodput(short);
        assert!(bound == LtBound::Window && (0.78..0.92).contains(&share), "{share} {bound:?}");
    }

    #[test]
    fn paths_beyond_the_limits_of_the_protocol_are_refused() {
        let of = |path: NetworkPath| predict(&path, settings(&path)).map(|got| got.bound);
        let wide = NetworkPath { rate: 10e9, rtt: 0.2, queue: 2e8, ..NetworkPath::default() };
        assert_eq!(of(wide), Err(LtUnpredictable::Window));
        let slow = NetworkPath { rtt: 1.9, ..NetworkPath::default() };
        assert_eq!(of(slow), Err(LtUnpredictable::Round));
    }

    #[test]
    fn rounds_have_the_probabilities_of_independent_losses() {
        let path = NetworkPath { loss: 0.1, ..NetworkPath::default() };
        let got = undecoded_after(&path);
        for (r, open) in got.iter().enumerate().skip(1).take(3) {
            let exact = 1.0 - libm::pow(1.0 - libm::pow(0.1, r as f64), 64.0);
            assert!((open / exact - 1.0).abs() < 0.1, "round {r}: {open}, not {exact}");
        }
        assert_eq!(undecoded_after(&NetworkPath { loss: 0.0, ..path }), [1.0]);
    }
}
