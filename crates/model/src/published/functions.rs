//! The model functions by name, for [`evaluate`](super::evaluate). An argument that a paper never
//! varies defaults to the paper's value. Words such as `printed` or `ceil` select a *reading*: one
//! of several ways to understand an equation of the paper.

use super::{EvaluateError, Reader};
use crate::domain::EquationForm;
use crate::fec::gilbert::{Gilbert, PacketSpacing};
use crate::fec::{CodedLink, TcpLaw, UnitLosses};
use crate::mesh::path::MeshFrames;
use crate::mesh::shares::{BlocksInFlight, GatewayFlow, shares};
use crate::prediction::{ConnectionPrediction, TcpConnection, path_loss};
use crate::redundancy::{RedundancyRounding, achievable, mask_probability, redundancy};
use crate::stations::monte_carlo::{MIX_A, MIX_B, MonteCarlo};
use crate::stations::{CellularNetwork, Protocol};
use crate::string::airtime::{Airtime, Exchange};
use crate::string::{bound, sets};
use crate::tcp::{TimeOutDuration, WindowReading};
use crate::tcpnc::{CodedFlow, FlowDuration, chain};
use ripstop_base::Seed;

/// The names of all functions that [`super::evaluate`] knows.
pub const FUNCTIONS: &[&str] = &[
    "path_loss",
    "needed_redundancy",
    "time_out_rounds",
    "tcp_mbps",
    "tcp_td_factor",
    "tcp_mean_window",
    "tcp_timeout_probability",
    "window_limit_mbps",
    "tcpnc_mbps",
    "tcpnc_packets",
    "tcpnc_window",
    "chain_states",
    "redundancy",
    "mask_probability",
    "achievable",
    "stations",
    "stations_load",
    "stations_drawn",
    "user_throughput_mbps",
    "unstable_below_mbps",
    "station_crossover_mbps",
    "mean_file_mb",
    "most_active",
    "scheduling_bound",
    "string_pairs",
    "string_sets",
    "string_rho",
    "string_attempts",
    "string_kbps",
    "exchange_us",
    "exchange_ratio",
    "field_us",
    "one_packet_kbps",
    "string_bound_kbps",
    "fec_throughput",
    "fec_clean_rate",
    "fec_clean_below",
    "fec_gain",
    "fec_n_real",
    "fec_ratio_real",
    "fec_n_best",
    "fec_worst_burst",
    "fec_cells_mbps",
    "mesh_packet_us",
    "mesh_kbps",
    "mesh_share_kbps",
    "mesh_ratio",
    "mesh_blocks",
];

/// Computes the value of `from.function`. The functions of each paper are tried in turn.
pub(super) fn evaluate(from: &Reader) -> Result<f64, EvaluateError> {
    for paper in [tcp_and_coding, base_stations, string_of_nodes, block_fec, mesh_gateway] {
        if let Some(value) = paper(from)? {
            return Ok(value);
        }
    }
    Err(EvaluateError::Function(from.function.to_owned()))
}

/// Papers 000 and 001: TCP, TCP/NC and redundancy. `None` if the name is not one of these
/// functions.
fn tcp_and_coding(from: &Reader) -> Result<Option<f64>, EvaluateError> {
    Ok(Some(match from.function {
        "path_loss" => path_loss(from.number("link_loss")?, from.whole("links")?)?,
        "needed_redundancy" => 1.0 / (1.0 - loss(from)?),
        "time_out_rounds" => from.number("time_out")? / from.number("rtt")?,
        "tcp_mbps" => tcp(from)?.throughput_bps / 1e6,
        "tcp_td_factor" => {
            // Equation (11) divided by (1-p)/(p RTT), which the text of the paper uses instead.
            let p = loss(from)?;
            let rtt = from.number_or("rtt", TcpConnection::default().rtt)?;
            tcp(from)?.throughput_td_only_pps * rtt * p / (1.0 - p)
        }
        "tcp_mean_window" => tcp(from)?.expected_window,
        "tcp_timeout_probability" => tcp(from)?.timeout_probability,
        "window_limit_mbps" => tcp_without_loss(from)?.throughput_bps / 1e6,
        "tcpnc_mbps" => coded(from)?.predict()?.throughput_bps / 1e6,
        "tcpnc_packets" => {
            let flow = coded(from)?;
            let got = flow.predict()?;
            got.throughput_pps * flow.srtt * got.rounds
        }
        "tcpnc_window" => coded(from)?.predict()?.window_final,
        "chain_states" => match form(from)? {
            EquationForm::Corrected => chain::states_below(1.0, from.number("window")?)?,
            EquationForm::AsPrinted => chain::packets_as_printed(from.number("window")?, 0.0)?,
        },
        "redundancy" => redundancy(loss(from)?, from.whole("window")?, from.number("target")?, rounding(from)?)?,
        "mask_probability" => {
            mask_probability(loss(from)?, from.whole("window")?, from.number("redundancy")?, rounding(from)?)?
        }
        "achievable" => {
            let flows = from.whole_or("flows", 1)?;
            let needed = 1.0 / (1.0 - loss(from)?);
            let redundancy = from.number_or("redundancy", needed)?;
            achievable(from.number("rate")?, loss(from)?, redundancy)? / f64::from(flows)
        }
        _ => return Ok(None),
    }))
}

/// Paper 000, sections VII to X: base stations. `None` if the name is not one of these functions.
fn base_stations(from: &Reader) -> Result<Option<f64>, EvaluateError> {
    Ok(Some(match from.function {
        "stations" => network(from)?.predict()?.stations,
        "stations_load" => network(from)?.load()?,
        "stations_drawn" => stations_drawn(from)?,
        "user_throughput_mbps" => network(from)?.predict()?.throughput_bps / 1e6,
        // The throughput T at which a user offers exactly T: the load is 1.
        "unstable_below_mbps" => from.number("arrivals")? * from.number("file_mb")? * 8.0,
        "station_crossover_mbps" => from.number("station_mbps")? / f64::from(from.whole("station_users")?),
        "mean_file_mb" => MonteCarlo { files: mix(from)?, ..MonteCarlo::default() }.mean_file()? / 8e6,
        _ => return Ok(None),
    }))
}

/// Paper 002: the string of 802.11 nodes. `None` if the name is not one of these functions.
fn string_of_nodes(from: &Reader) -> Result<Option<f64>, EvaluateError> {
    Ok(Some(match from.function {
        "most_active" => f64::from(sets::most_active(from.whole("nodes")?, from.whole("k")?)?),
        "scheduling_bound" => {
            bound::scheduling_bound(from.whole("nodes")?, from.whole("k")?, from.whole_or("window", u32::MAX)?)?
        }
        "string_pairs" => {
            let conflicts = sets::Conflicts::of_both_ways(from.whole("nodes")?, from.whole("k")?, form(from)?)?;
            let sets = conflicts.independent_sets()?;
            sets.iter().filter(|set| set.count_ones() == 2).count() as f64
        }
        "string_sets" => {
            let ranges = vec![from.whole("k")?; from.whole("nodes")?.min(1000) as usize];
            sets::Conflicts::of_string(&ranges)?.independent_sets()?.len() as f64
        }
        "string_rho" => string(from)?.rho,
        "string_attempts" => {
            let attempts = string(from)?.attempts;
            let link = from.whole("link")? as usize;
            let x = link.checked_sub(1).and_then(|i| attempts.get(i));
            *x.ok_or(EvaluateError::Kind { argument: "link", wanted: "a link of the string, from 1 on" })?
        }
        "string_kbps" => {
            // For table III, the paper first rounds rho to its three printed digits.
            let digits = from.whole_or("digits", 15)?.min(15);
            let scale = libm::pow(10.0, f64::from(digits));
            libm::round(string(from)?.rho * scale) / scale * exchange(from)?.full_bps / 1e3
        }
        "exchange_us" => {
            let exchange = exchange(from)?;
            1e6 * from.word(
                "which",
                &[
                    ("data", exchange.data),
                    ("ack", exchange.ack),
                    ("back_off", exchange.back_off),
                    ("eifs", exchange.eifs),
                ],
                "`data`, `ack`, `back_off` or `eifs`",
            )?
        }
        "exchange_ratio" => {
            let exchange = exchange(from)?;
            from.word(
                "which",
                &[
                    ("eta", exchange.ack_ratio),
                    ("attempt_cap", exchange.attempt_cap),
                    ("full_mbps", exchange.full_bps / 1e6),
                ],
                "`eta`, `attempt_cap` or `full_mbps`",
            )?
        }
        "field_us" => from.number("bytes")? * 8.0 / from.number("mbps")?,
        "one_packet_kbps" => {
            let ride = from.word("acks", &[("sent", false), ("ride", true)], "`sent` or `ride`")?;
            bound::one_packet_at_a_time(from.whole("nodes")?, &Airtime::default(), ride)? / 1e3
        }
        "string_bound_kbps" => string_bound(from)?,
        _ => return Ok(None),
    }))
}

/// Paper 003: block FEC. `None` if the name is not one of these functions.
fn block_fec(from: &Reader) -> Result<Option<f64>, EvaluateError> {
    Ok(Some(match from.function {
        "fec_throughput" => fec(from)?.throughput(from.whole("n")?)?,
        "fec_clean_rate" => fec(from)?.clean_rate(from.whole("n")?)?,
        "fec_clean_below" => clean_below(from)?,
        // At N = K, FEC costs nothing and gains nothing.
        "fec_gain" => fec(from)?.gain(from.whole("n")?)?.unwrap_or(0.0),
        "fec_n_real" => fec(from)?.n_real()?.unwrap_or(f64::INFINITY),
        "fec_ratio_real" => {
            let link = fec(from)?;
            link.n_real()?.unwrap_or(f64::INFINITY) / f64::from(link.k)
        }
        "fec_n_best" => f64::from(fec(from)?.n_best()?),
        // The q at which the derivative of equation (7) by q is 0.
        "fec_worst_burst" => {
            let (k, r) = (from.number("k")?, from.number("redundant")?);
            r * k / ((k - 1.0) * (r + 1.0))
        }
        "fec_cells_mbps" => from.number("cells")? * 53.0 * 8.0 / 1e6,
        _ => return Ok(None),
    }))
}

/// Paper 004: the mesh gateway. `None` if the name is not one of these functions.
fn mesh_gateway(from: &Reader) -> Result<Option<f64>, EvaluateError> {
    Ok(Some(match from.function {
        "mesh_packet_us" => MeshFrames::default().packet_time()? * 1e6,
        "mesh_kbps" => mesh(from)? / 1e3,
        "mesh_share_kbps" => {
            let flows = vec![GatewayFlow::default(); from.whole("flows")?.min(1000) as usize];
            shares(mesh(from)?, &flows)?[0] / 1e3
        }
        "mesh_ratio" => {
            let capacity = mesh(from)?;
            capacity / MeshFrames::default().path_capacity(from.whole("hops")?, 0.0)?
        }
        "mesh_blocks" => {
            let flow = BlocksInFlight {
                rate_bps: mesh(from)?,
                loss: path_loss(from.number_or("link_loss", 0.0)?, from.whole("hops")?)?,
                block_time: from.number("block_time")?,
                packet_bytes: 1000.0,
                block: from.whole_or("block", 16)?,
            };
            flow.most(form(from)?)?
        }
        _ => return Ok(None),
    }))
}

/// The loss p of the path, given directly, or by the loss `link_loss` of each of `links` links. The
/// paper prints p with four digits, but its results need more digits.
fn loss(from: &Reader) -> Result<f64, EvaluateError> {
    match (from.number_if("loss")?, from.number_if("link_loss")?) {
        (Some(loss), None) => Ok(loss),
        (None, Some(link)) => Ok(path_loss(link, from.whole_or("links", 4)?)?),
        _ => Err(EvaluateError::Kind { argument: "loss", wanted: "given, or `link_loss` instead" }),
    }
}

/// The form of an equation: corrected or as printed.
fn form(from: &Reader) -> Result<EquationForm, EvaluateError> {
    let words = [("corrected", EquationForm::Corrected), ("printed", EquationForm::AsPrinted)];
    from.word("form", &words, "`corrected` or `printed`")
}

/// How the redundancy's losses and packets are rounded.
fn rounding(from: &Reader) -> Result<RedundancyRounding, EvaluateError> {
    let words = [
        ("ceil", RedundancyRounding::Ceil),
        ("floor", RedundancyRounding::Floor),
        ("continuous", RedundancyRounding::Continuous),
        ("gamma", RedundancyRounding::Gamma),
    ];
    from.word("rounding", &words, "`ceil`, `floor`, `continuous` or `gamma`")
}

/// The prediction for a TCP connection without loss.
fn tcp_without_loss(from: &Reader) -> Result<ConnectionPrediction, EvaluateError> {
    let paper = TcpConnection::default();
    let connection = TcpConnection {
        rtt: from.number_or("rtt", paper.rtt)?,
        max_window: from.number_or("max_window", paper.max_window)?,
        packet_bytes: from.number_or("packet_bytes", paper.packet_bytes)?,
        ..paper
    };
    Ok(connection.predict()?)
}

/// The prediction for a TCP connection.
fn tcp(from: &Reader) -> Result<ConnectionPrediction, EvaluateError> {
    let paper = TcpConnection::default();
    let windows = [
        ("floor", WindowReading::Floor),
        ("nearest", WindowReading::Nearest),
        ("ceiling", WindowReading::Ceiling),
        ("continuous", WindowReading::Continuous),
    ];
    let durations = [("printed", TimeOutDuration::AsPrinted), ("conditional", TimeOutDuration::Conditional)];
    let connection = TcpConnection {
        window: from.word("window_reading", &windows, "`floor`, `nearest`, `ceiling` or `continuous`")?,
        duration: from.word("timeout_duration", &durations, "`printed` or `conditional`")?,
        rtt: from.number_or("rtt", paper.rtt)?,
        first_time_out: from.number_or("time_out", paper.first_time_out)?,
        max_window: from.number_or("max_window", paper.max_window)?,
        packet_bytes: from.number_or("packet_bytes", paper.packet_bytes)?,
        ack_every: from.whole_or("ack_every", paper.ack_every)?,
        loss: loss(from)?,
    };
    Ok(connection.predict()?)
}

/// The TCP/NC flow that the arguments describe.
fn coded(from: &Reader) -> Result<CodedFlow, EvaluateError> {
    let paper = CodedFlow::default();
    let duration = match (from.number_if("rounds")?, from.number_if("seconds")?) {
        (Some(rounds), None) => FlowDuration::Rounds(rounds),
        (None, Some(seconds)) => FlowDuration::Seconds(seconds),
        _ => FlowDuration::Infinite,
    };
    Ok(CodedFlow {
        srtt: from.number_or("srtt", paper.srtt)?,
        first_window: from.number_or("first_window", paper.first_window)?,
        max_window: from.number_or("max_window", paper.max_window)?,
        packet_bytes: from.number_or("packet_bytes", paper.packet_bytes)?,
        redundancy: from.number_or("redundancy", paper.redundancy)?,
        loss: loss(from)?,
        duration,
        form: form(from)?,
    })
}

/// The cellular network that the arguments describe.
fn network(from: &Reader) -> Result<CellularNetwork, EvaluateError> {
    let paper = CellularNetwork::default();
    let loss = from.number_or("loss", 0.0)?;
    let words = [("ideal", Protocol::Ideal), ("tcp", Protocol::PAPER_TCP), ("tcpnc", Protocol::paper_tcp_nc(loss))];
    let protocol = from.word("protocol", &words, "`ideal`, `tcp` or `tcpnc`")?;
    let protocol = from.number_if("rtt")?.map_or(protocol, |rtt| protocol.with_rtt(rtt));
    let protocol = from.number_if("max_window")?.map_or(protocol, |window| protocol.with_max_window(window));
    Ok(CellularNetwork {
        users: from.whole_or("users", paper.users)?,
        arrivals_per_s: from.number("arrivals")?,
        file_bits: from.number("file_mb")? * 8e6,
        user_bps: from.number("mbps")? * 1e6,
        protocol,
        loss,
        ..paper
    })
}

/// The mix of files by its letter, `a` or `b`.
fn mix(from: &Reader) -> Result<Vec<(f64, f64)>, EvaluateError> {
    Ok(from.word("mix", &[("a", MIX_A), ("b", MIX_B)], "`a` or `b`")?.to_vec())
}

/// The mean of the experiment of section IX-B over `runs` runs (1 to 1000, 10 by default). The
/// number of stations in each slot is rounded up; with `count = "real"`, this number is not
/// rounded.
fn stations_drawn(from: &Reader) -> Result<f64, EvaluateError> {
    let paper = CellularNetwork::default();
    let user_bps = from.number("mbps")? * 1e6;
    let experiment = MonteCarlo {
        arrivals_per_s: from.number("arrivals")?,
        files: mix(from)?,
        throughput_bps: user_bps,
        station_share: (user_bps / paper.station_bps).max(1.0 / f64::from(paper.station_users)),
        seconds: from.number_or("seconds", 1000.0)?,
        warm_up: from.number_or("warm_up", 0.0)?,
        ..MonteCarlo::default()
    };
    let whole = from.word("count", &[("whole", true), ("real", false)], "`whole` or `real`")?;
    let runs = from.whole_or("runs", 10)?.clamp(1, 1000);
    if from.only_check {
        return Ok(experiment.check().map(|_slots| 0.0)?);
    }
    let mut sum = 0.0;
    for run in 0..runs {
        let run = experiment.run(Seed::new(18).run(u64::from(run)))?;
        sum += if whole { run.stations_whole } else { run.stations };
    }
    Ok(sum / f64::from(runs))
}

/// The bound of fig. 7 for a window of W packets, kbit/s. For W of at least ceil((n-1)/(k+2))
/// (lemma 3.1), the result is the bound of table III, with three digits of rho*. For smaller W, the
/// result is interpolated linearly from the bound at W = 1. The paper does not say how it computes
/// the bound at W = 1, so the argument `first` selects a reading.
fn string_bound(from: &Reader) -> Result<f64, EvaluateError> {
    let (nodes, k, window) = (from.whole_or("nodes", 10)?, from.whole_or("k", 2)?, from.number("window")?);
    let full = Airtime::default().exchange()?.full_bps;
    let scheduled = bound::scheduling_bound(nodes, k, 1)? * full;
    let one = |ride| bound::one_packet_at_a_time(nodes, &Airtime::default(), ride);
    let first = from.word(
        "first",
        &[("scheduled", scheduled), ("sent", one(false)?), ("ride", one(true)?)],
        "`scheduled`, `sent` or `ride`",
    )?;
    let rho = bound::equal_load(nodes, k, 4.108, 0.3027)?.rho;
    let level = libm::round(rho * 1e3) / 1e3 * full;
    let saturates = f64::from(sets::most_active(nodes, k)?);
    let way = if saturates > 1.0 { ((window - 1.0) / (saturates - 1.0)).clamp(0.0, 1.0) } else { 1.0 };
    Ok((first + way * (level - first)) / 1e3)
}

/// The exchange of table II. The argument `mac_header_bytes` replaces the length of the MAC header.
fn exchange(from: &Reader) -> Result<Exchange, EvaluateError> {
    let paper = Airtime::default();
    let mac_header_bytes = from.number_or("mac_header_bytes", paper.mac_header_bytes)?;
    Ok(Airtime { mac_header_bytes, ..paper }.exchange()?)
}

/// The optimum under random access. With the argument `mac_header_bytes`, the cap of attempts and
/// eta follow from this length. Otherwise, the cap and eta are arguments, with the printed values
/// as defaults.
fn string(from: &Reader) -> Result<bound::EqualLoad, EvaluateError> {
    let header = from.number_if("mac_header_bytes")?;
    let (cap, eta) = match header {
        Some(mac_header_bytes) => {
            let exchange = Airtime { mac_header_bytes, ..Airtime::default() }.exchange()?;
            (exchange.attempt_cap, exchange.ack_ratio)
        }
        None => (from.number_or("attempt_cap", 4.108)?, from.number_or("ack_ratio", 0.3027)?),
    };
    Ok(bound::equal_load(from.whole("nodes")?, from.whole_or("k", 2)?, cap, eta)?)
}

/// The coded link that the arguments describe.
fn fec(from: &Reader) -> Result<CodedLink, EvaluateError> {
    let paper = CodedLink::default();
    let loss = from.number("loss")?;
    let losses = match from.number_if("stay_bad")? {
        None => UnitLosses::Independent(loss),
        Some(stay_bad) => {
            let chain = Gilbert { loss, stay_bad };
            let words = [
                ("single", UnitLosses::SingleBurst(chain)),
                ("chain", UnitLosses::Bursts(chain, PacketSpacing::Independent)),
                ("back_to_back", UnitLosses::Bursts(chain, PacketSpacing::BackToBack)),
            ];
            from.word("bursts", &words, "`single`, `chain` or `back_to_back`")?
        }
    };
    Ok(CodedLink {
        losses,
        k: from.whole_or("k", paper.k)?,
        rate: from.number_or("rate", paper.rate)?,
        rtt: from.number_or("rtt", paper.rtt)?,
        flows: from.whole_or("flows", 1)?,
        packet_blocks: from.whole_or("packet_blocks", 1)?,
        law: from.number_if("time_out")?.map_or(TcpLaw::SquareRoot, TcpLaw::TimeOuts),
    })
}

/// log10 of the largest loss probability p of a unit for which `n` units make the link clean:
/// equation (4) solved for p.
fn clean_below(from: &Reader) -> Result<f64, EvaluateError> {
    let (k, n) = (from.whole_or("k", 20)?, from.whole("n")?);
    let (mut low, mut high) = (-300.0f64, 0.0f64);
    for _ in 0..80 {
        let middle = low.midpoint(high);
        let losses = UnitLosses::Independent(libm::pow(10.0, middle));
        let link = CodedLink { k, losses, ..CodedLink::default() };
        if link.clean_rate(n)? >= link.rate { low = middle } else { high = middle }
    }
    Ok(low)
}

/// The capacity of a mesh path, bit/s.
fn mesh(from: &Reader) -> Result<f64, EvaluateError> {
    // One reading of table I adds the preamble to the lengths of RTS and CTS a second time.
    let again = from.number_or("control_extra_bytes", 0.0)?;
    let paper = MeshFrames::default();
    let frames = MeshFrames { rts_bytes: paper.rts_bytes + again, cts_bytes: paper.cts_bytes + again, ..paper };
    Ok(frames.path_capacity(from.whole("hops")?, from.number_or("link_loss", 0.0)?)?)
}
