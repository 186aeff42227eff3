//! The timed cases. A *case* is a piece of code that is timed; it gives one or more of the figures.
//! The criterion benchmarks time the same code.

use super::figures::{BLOCK_K, BLOCK_N, LEN, LT_BLOCK, REPAIRS, WINDOW};
use ripstop_codes::bench as codes;
use ripstop_gf256::{Kernel, bench as gf256};
use ripstop_proto::bench as proto;
use std::time::{Duration, Instant};

/// Bytes of an inner packet in the session, and of a symbol in the LT code.
const PACKET: usize = 1400;
/// Share of the session's datagrams that is lost.
const LOSS: f64 = 0.01;

/// The bytes that a case has processed in one or more runs, and the time for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lap {
    pub(super) bytes: u64,
    pub(super) spent: Duration,
}

/// Runs a case one time.
type Run = Box<dyn FnMut(&mut [Lap])>;

/// A timed case. `run` gets one lap for each figure of the case, and adds the bytes and the time of
/// the run to each lap.
pub(super) struct Case {
    pub(super) keys: &'static [&'static str],
    pub(super) run: Run,
}

/// The cases that give at least one of the figures `wanted`. Other cases are not prepared, because
/// preparing takes time.
pub(super) fn cases(wanted: &[&str]) -> Vec<Case> {
    let kernel = Kernel::chosen();
    let mut cases = Vec::new();
    let mut add = |keys: &'static [&'static str], set_up: &dyn Fn() -> Run| {
        if keys.iter().any(|key| wanted.contains(key)) {
            cases.push(Case { keys, run: set_up() });
        }
    };
    add(&["memcpy_1408_gbs"], &|| whole(gf256::memcpy(LEN)));
    add(&["xor_1408_gbs"], &|| whole(gf256::xor(kernel, LEN)));
    add(&["mac_1408_gbs"], &|| whole(gf256::mul_add(kernel, LEN)));
    add(&["register_limit_gbs"], &|| whole(gf256::register_limit(kernel)));
    add(&["mac_fused4_1408_gbs"], &|| whole(gf256::fused(kernel, WINDOW, 4, LEN)));
    add(&["mac_fused8_1408_gbs"], &|| whole(gf256::fused(kernel, WINDOW, 8, LEN)));
    add(&["rlnc_systematic_encode_gbps"], &|| whole(codes::systematic_encode(WINDOW, REPAIRS, LEN)));
    add(&["rlnc_recover_gbps"], &|| two_steps(codes::recover(WINDOW, REPAIRS, LEN)));
    add(&["rlnc_dense_encode_gbps"], &|| whole(codes::dense_encode(WINDOW, 8, LEN)));
    add(&["rlnc_dense_decode_gbps"], &|| two_steps(codes::dense_decode(WINDOW, LEN)));
    add(&["mds_32_8_encode_gbps"], &|| whole(codes::block_encode(BLOCK_N, BLOCK_K, LEN)));
    add(&["mds_32_8_decode_gbps"], &|| two_steps(codes::block_decode(BLOCK_N, BLOCK_K, BLOCK_N - BLOCK_K, LEN)));
    add(&["rlnc_decode_us_per_packet"], &|| whole(codes::receive(WINDOW, REPAIRS, LEN)));
    add(&["lt_encode_k16_gbps"], &|| whole(codes::lt_encode(LT_BLOCK, PACKET)));
    add(&["lt_decode_k16_gbps"], &|| whole(codes::lt_decode(LT_BLOCK, PACKET)));
    add(&["aead_seal_1400_gbs"], &|| whole(proto::seal(PACKET)));
    add(&["session_send_gbps", "session_receive_gbps", "session_both_gbps"], &|| {
        session(proto::BenchSession::new(PACKET, LOSS))
    });
    cases
}

/// A case whose whole run is timed.
fn whole(mut run: impl FnMut() -> u64 + 'static) -> Run {
    let mut times = 1;
    Box::new(move |laps| {
        // Some runs take less time than reading the clock, so several are timed together.
        let lap = timed(|| (0..times).map(|_| run()).sum());
        if lap.spent < Duration::from_micros(20) {
            times = (2 * times).min(1 << 20);
        }
        laps[0].add(lap);
    })
}

/// A case that is prepared anew before each run. Only the run is timed.
fn two_steps(mut case: impl codes::TwoSteps + 'static) -> Run {
    Box::new(move |laps| {
        case.prepare();
        laps[0].add(timed(|| case.run()));
    })
}

/// Both ends of a session, timed separately and together. For the receiver, delivered bytes count.
/// For the sender, and for both together, bytes given to the sender count. In the long run both
/// counts are equal.
fn session(mut session: proto::BenchSession) -> Run {
    Box::new(move |laps| {
        // 40 steps are enough for the receiver to send reports, and for the caches to fill again after
        // the other cases.
        for _ in 0..40 {
            let send = timed(|| session.send());
            session.carry();
            let receive = timed(|| session.receive());
            laps[0].add(send);
            laps[1].add(receive);
            laps[2].add(Lap { bytes: send.bytes, spent: send.spent + receive.spent });
        }
    })
}

fn timed(run: impl FnOnce() -> u64) -> Lap {
    let start = Instant::now();
    let bytes = run();
    Lap { bytes, spent: start.elapsed() }
}

impl Lap {
    fn add(&mut self, other: Lap) {
        self.bytes += other.bytes;
        self.spent += other.spent;
    }

    /// Seconds per byte; None without any bytes.
    pub(super) fn per_byte(self) -> Option<f64> {
        (self.bytes > 0 && !self.spent.is_zero()).then(|| self.spent.as_secs_f64() / self.bytes as f64)
    }
}
