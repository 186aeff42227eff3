//! The planner's model of CUBIC in a tunnel with a block code (paper 003). Each block has K source
//! packets and N - K repairs, of which any K suffice to decode. Nothing is sent again. [`best`]
//! chooses K and N for a path, and predicts the goodput.
//!
//! The method is that of paper 003, section 3: CUBIC uses a link of rate C K/N that loses only what
//! the code does not restore. This link is the *coded link*. CUBIC halves its window one time for
//! each block that is not restored. Three parts give the goodput:
//!
//! * What CUBIC carries over the coded link if no block fails: the closed form of CUBIC in the
//!   tunnel, with its fitted weights.
//! * What the blocks that fail leave to CUBIC: RFC 9438, section 5.1, in place of the paper's
//!   square-root law.
//! * The time in which CUBIC waits for time-outs, because a burst on the way back has taken all
//!   acknowledgements of a window. A block that a burst takes as a whole cannot be restored.

use super::efficiency::next_lost;
use super::path::{NetworkPath, PATH_MTU};
use super::plain::{RTO_MIN, cubic_by_losses};
use super::predict;
use super::scheme::{PlanScheme, SOURCE_HEADERS, TUNNEL_MTU_TAKES};
use super::weights::Weights;
use crate::codes::block;
use crate::domain::DomainError;

/// A block code, and the link that CUBIC sees above the code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockCode {
    /// K: source packets in a block.
    pub k: u32,
    /// N: all packets of a block.
    pub n: u32,
    /// The residual loss: the probability that a source packet is still missing after decoding.
    pub residual_loss: f64,
    /// The mean time for which a packet waits for its block, s.
    pub mean_wait: f64,
    /// The coded link.
    pub coded: NetworkPath,
    /// The goodput that blocks that fail leave to CUBIC, bit/s, and the goodput if no block fails.
    pub bounds: [f64; 2],
    /// The share of time in which CUBIC waits because a burst has taken all acknowledgements.
    pub waiting: f64,
    /// The predicted goodput: payload that arrives in order, bit/s.
    pub goodput_bps: f64,
}

/// The reason why the goodput of the block code is not predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUnpredictable {
    /// The queue holds fewer than [`FEWEST_QUEUE`] packets, or less than [`LEAST_QUEUE`] of the
    /// bandwidth-delay product.
    Queue,
    /// The path loses packets and holds more than [`MOST_PACKETS`] packets.
    Long,
    /// The bounds by losses and by the link are too close ([`LEAST_MARGIN`]).
    Losses,
    /// Bursts of losses take all acknowledgements of a window too often ([`MOST_WAITING`]).
    Acks,
}

/// The block sizes that [`best`] tries. A larger block needs a smaller share of repairs for the same
/// residual loss, but packets wait longer for the block's end. Larger blocks than 64 need more time
/// than a plan should take. Without the block of 64, the goodput at losses in bursts is lower.
const SIZES: [u32; 4] = [8, 16, 32, 64];
/// The largest number of repairs of a block that the wire format has. A path with 30 % of loss in
/// bursts of 20 packets would need more. Half the value refuses more of these paths.
const MOST_REPAIRS: u32 = 64;
/// [`best`] tries N in steps of K divided by this number. A larger value takes more time.
const STEPS: u32 = 16;
/// The largest part of the packets of the path and its queue that a block may have. A block that
/// is longer than a window ends early each time, because the sender waits for acknowledgements. With
/// half the value, short paths have smaller blocks than they need.
const WINDOW_PART: f64 = 0.25;
/// The smallest queue for which a prediction is made, packets. With fewer packets, the tunnel's rate
/// control loses packets whenever it tests a higher rate. With double the value, paths of a few
/// packets are refused that are predicted well.
pub const FEWEST_QUEUE: f64 = 8.0;
/// The smallest queue for which a prediction is made, as a part of the bandwidth-delay product. Over
/// a shorter queue, the tunnel's rate control loses packets in bursts at the start, and nothing
/// sends them again: CUBIC leaves slow start early. With half the value, the predictions of some
/// paths are three times too high. Double the value refuses paths that are predicted well.
pub const LEAST_QUEUE: f64 = 0.4;
/// The longest path with losses for which a prediction is made, packets. On a longer path, CUBIC
/// does not reach the path's rate again within a run after a block has failed. With double the
/// value, the predictions of some paths are two times too high. Half the value refuses paths that
/// are predicted well.
pub const MOST_PACKETS: f64 = 1000.0;
/// The smallest ratio of the bound by losses to the bound by the link for which a prediction is
/// made. Below it, CUBIC's windows are small, and time-outs decide the goodput. A larger value
/// refuses paths that are predicted well.
pub const LEAST_MARGIN: f64 = 2.0;
/// The largest share of time in which CUBIC waits for acknowledgements, for which a prediction is
/// made. With double the value, a few runs that stall decide the mean on the links that are
/// admitted. Half the value refuses paths that are predicted well.
pub const MOST_WAITING: f64 = 0.05;

/// Chooses K and N so that the predicted goodput is highest.
///
/// # Errors
/// A quantity of the path is outside its domain (see [`NetworkPath::check`]).
pub fn best(path: &NetworkPath, weights: &Weights) -> Result<BlockCode, DomainError> {
    path.check()?;
    let room = WINDOW_PART * (path.packets() + path.queue_packets());
    let mut found: Option<BlockCode> = None;
    for k in SIZES.into_iter().filter(|k| *k == SIZES[0] || f64::from(*k) <= room) {
        let step = (k / STEPS).max(1);
        let all = (k..=k + MOST_REPAIRS).step_by(step as usize);
        for n in all {
            let code = coded(path, k, n, weights)?;
            if found.is_none_or(|found| code.goodput_bps > found.goodput_bps) {
                found = Some(code);
            }
            // Without losses left, more repairs only take rate.
            if code.residual_loss < NO_LOSS {
                break;
            }
        }
    }
    found.map_or_else(|| coded(path, SIZES[0], SIZES[0], weights), Ok)
}

/// A residual loss below this value does not limit CUBIC on any path of the domain. Half and double
/// the value change N by less than a step.
const NO_LOSS: f64 = 1e-9;

/// The goodput of CUBIC with the block code `code`, bit/s.
///
/// # Errors
/// The closed form is known to fail on this path. The error names the reason.
pub fn goodput(path: &NetworkPath, code: &BlockCode) -> Result<f64, BlockUnpredictable> {
    if path.queue_packets() < FEWEST_QUEUE.max(LEAST_QUEUE * path.packets()) {
        return Err(BlockUnpredictable::Queue);
    }
    if path.loss > 0.0 && path.packets() > MOST_PACKETS {
        return Err(BlockUnpredictable::Long);
    }
    let [by_losses, by_link] = code.bounds;
    if by_losses < LEAST_MARGIN * by_link {
        return Err(BlockUnpredictable::Losses);
    }
    if code.waiting > MOST_WAITING {
        return Err(BlockUnpredictable::Acks);
    }
    Ok(code.goodput_bps)
}

impl BlockCode {
    /// Bytes sent on the path for each byte of payload that arrives, if CUBIC fills the coded link.
    pub fn sent_per_useful(&self) -> f64 {
        1.0 / (source_share(self.k, self.n) * PlanScheme::TunnelCubic.ceiling() * (1.0 - self.coded.loss))
    }
}

/// The link that CUBIC sees above a code with `n` packets for `k` source packets, and the goodput.
fn coded(path: &NetworkPath, k: u32, n: u32, weights: &Weights) -> Result<BlockCode, DomainError> {
    let residual = block::residual(k, n, path.losses())?;
    let fails = block::failure(k, n, path.losses())?;
    let mean_wait = residual.mean_delay() * path.packet_time();
    let loss = residual.loss.min(path.loss);
    let coded = NetworkPath {
        rate: path.rate * source_share(k, n),
        rtt: path.rtt + mean_wait,
        loss,
        burst: if fails > 0.0 { (loss * f64::from(k) / fails).max(1.0) } else { 1.0 },
        ..*path
    };
    // The coded link of a path at the edge of the domain may be outside it.
    let (rate, rtt) = (coded.rate.max(SLOWEST_BPS), coded.rtt.min(LONGEST_RTT));
    let whole = NetworkPath { rate, rtt, loss: 0.0, loss_back: 0.0, burst: 1.0, ..coded };
    let by_link = predict(&whole, PlanScheme::TunnelCubic, weights)?.goodput_bps * (1.0 - loss) * coded.rate / rate;
    let by_losses = cubic_by_losses(&coded);
    // CUBIC's throughput is proportional to e^-3/4 at e losses per packet (RFC 9438, section 5.1). The
    // losses of blocks that fail and the losses in a full queue add up.
    let ratio = libm::pow(by_link / by_losses, 4.0 / 3.0);
    let waiting = waiting_share(path, &coded);
    let goodput_bps = by_link * libm::pow(1.0 + ratio, -0.75) * (1.0 - waiting);
    let bounds = [by_losses, by_link];
    Ok(BlockCode { k, n, residual_loss: residual.loss, mean_wait, coded, bounds, waiting, goodput_bps })
}

/// The share of the link's rate that `k` source packets have beside `n` - `k` repairs.
fn source_share(k: u32, n: u32) -> f64 {
    let sources = f64::from(k) * (PATH_MTU - TUNNEL_MTU_TAKES + SOURCE_HEADERS);
    sources / (sources + f64::from(n - k) * PATH_MTU)
}

/// The share of the measured time in which CUBIC waits because a burst on the way back has taken all
/// acknowledgements of a window.
///
/// The first windows are small: the SYN, then [`FIRST_ACKS`] acknowledgements, and twice as many in
/// each round trip. A burst that takes a window takes the answers to the retransmissions too, because
/// the simulated link draws bursts by packet and not by time. Each time-out is twice as long as the
/// time-out before.
fn waiting_share(path: &NetworkPath, coded: &NetworkPath) -> f64 {
    let back = NetworkPath { loss: path.loss_back, ..*path };
    if back.loss == 0.0 {
        return 0.0;
    }
    let stays = next_lost(&back);
    let measured = path.measured();
    let time = measured.end - measured.start;
    // The mean time, within the measured time, of a wait that begins at `from`.
    let wait = |from: f64, first: f64| {
        let (mut mean, mut open, mut end, mut next) = (0.0, 1.0, from, first);
        while open > 1e-6 && end < measured.end {
            let until = (end + next).min(measured.end);
            mean += open * (until.max(measured.start) - end.max(measured.start)).max(0.0);
            (open, end, next) = (open * stays, end + next, 2.0 * next);
        }
        mean
    };
    let full = 0.5 * (coded.packets() + 0.5 * coded.queue_packets()).max(4.0);
    let rto = RTO_MIN + coded.rtt;
    let mut goes = 1.0 - back.loss * wait(0.0, SYN_TIME_OUT) / time;
    let (mut acks, mut at) = (FIRST_ACKS.min(full), coded.rtt);
    while acks < full {
        goes *= 1.0 - back.loss * libm::pow(stays, acks - 1.0) * wait(at, rto) / time;
        acks *= 2.0;
        at += coded.rtt;
    }
    // Later windows: a burst begins at an acknowledgement with probability q/B.
    let acks_per_second = 0.5 / coded.packet_time();
    let bursts = back.loss / back.burst * libm::pow(stays, full - 1.0) * acks_per_second;
    let middle = wait(0.5 * (measured.start + measured.end), rto);
    let stalled = bursts * middle;
    1.0 - goes / (1.0 + stalled)
}

/// The least rate and the longest round-trip time that [`NetworkPath::check`] allows, bit/s and s.
const SLOWEST_BPS: f64 = 1e4;
const LONGEST_RTT: f64 = 60.0;
/// The first time-out of a SYN, s (RFC 6298).
const SYN_TIME_OUT: f64 = 1.0;
/// The acknowledgements of the first window: ten packets (RFC 6928), with one acknowledgement for two
/// packets. Half the value predicts more waits at the start.
const FIRST_ACKS: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::data::WEIGHTS;

    fn weights() -> Weights {
        toml::from_str(WEIGHTS).unwrap()
    }

    #[test]
    fn a_path_without_loss_has_no_repairs() {
        let path = NetworkPath { loss: 0.0, loss_back: 0.0, ..NetworkPath::default() };
        let code = best(&path, &weights()).unwrap();
        assert_eq!((code.k, code.n, code.residual_loss), (8, 8, 0.0));
        assert!(goodput(&path, &code).unwrap() > 0.9 * path.rate);
    }

    #[test]
    fn more_loss_needs_more_repairs_and_leaves_less_goodput() {
        let mut last = (0.0, f64::INFINITY);
        for loss in [0.01, 0.05, 0.1, 0.2] {
            let path = NetworkPath { loss, loss_back: loss, ..NetworkPath::default() };
            let code = best(&path, &weights()).unwrap();
            let now = (f64::from(code.n) / f64::from(code.k), code.goodput_bps);
            assert!(now.0 > last.0 && now.1 < last.1, "loss {loss}: {now:?} after {last:?}");
            last = now;
        }
    }

    #[test]
    fn blocks_fit_into_the_window_or_are_refused() {
        let short = NetworkPath { rate: 2e6, rtt: 0.03, queue: 2e4, ..NetworkPath::default() };
        assert_eq!(best(&short, &weights()).unwrap().k, 8);
        let tiny = NetworkPath { rate: 1e6, rtt: 0.01, queue: 3000.0, ..NetworkPath::default() };
        let shallow = NetworkPath { queue: 0.3 * 250_000.0, ..NetworkPath::default() };
        let long = NetworkPath { rtt: 0.7, queue: 2e6, ..NetworkPath::default() };
        for (path, why) in
            [(tiny, BlockUnpredictable::Queue), (shallow, BlockUnpredictable::Queue), (long, BlockUnpredictable::Long)]
        {
            let code = best(&path, &weights()).unwrap();
            assert_eq!(goodput(&path, &code), Err(why));
        }
        assert!(best(&long, &weights()).is_ok_and(|code| code.n <= code.k + MOST_REPAIRS));
    }
}
