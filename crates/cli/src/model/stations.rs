//! `ripstop model stations`: the base stations that users need, with and without coding.

use super::arguments::{Length, Named, answer, count, length, number, watts};
use super::monte_carlo::{self, MonteCarloFlags, MonteCarloReport};
use super::print::{self, Lines};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Table};
use clap::ValueEnum;
use ripstop_base::{Bytes, Fraction, Rate, Span};
use ripstop_model::stations::{CellularNetwork, Protocol, StationsNeeded};
use ripstop_model::tcpnc::FlowDuration;
use serde::Serialize;

/// The base stations that users need, and the stations and power that TCP/NC saves (paper 000, sections VII to X)
///
/// Users start transfers at random. A station is limited by a largest rate and by a largest number of active users. The
/// number of stations is computed by Little's law, and with --monte-carlo also by simulating each user. For comparison,
/// the command also computes the other protocols with the same loss.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// The protocol of the transfers. With `ideal`, an active user gets all of --rate at any loss
    #[arg(long, value_name = "NAME", default_value = "tcpnc")]
    protocol: Name,
    /// p: loss probability
    #[arg(long, value_name = "SHARE", default_value = "0")]
    loss: Fraction,
    /// RTT: length of a round
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    rtt: Span,
    /// B: the bandwidth of an active user. Lost packets use a part of this bandwidth. Redundant packets use a part only
    /// with --charge-redundancy
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s")]
    rate: Rate,
    /// N: the number of users
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count)]
    users: u32,
    /// q: mean number of transfers that a user starts in a second
    #[arg(long, value_name = "PER SECOND", default_value = "0.02", value_parser = number)]
    arrivals: f64,
    /// mu_f: mean size of a file [default: the mean size of --file-mix, or 3.2MB]
    #[arg(long, value_name = "SIZE")]
    file_mean: Option<Bytes>,
    /// B_max: the bandwidth of a station
    #[arg(long, value_name = "RATE", default_value = "300Mbit/s")]
    max_rate: Rate,
    /// N_max: largest number of active users that a station serves at the same time
    #[arg(long, value_name = "N", default_value = "200", value_parser = count)]
    max_users: u32,
    /// W_max: the largest window, in packets
    #[arg(long, value_name = "PACKETS", default_value = "50", value_parser = number)]
    wmax: f64,
    /// Payload of a packet
    #[arg(long, value_name = "SIZE", default_value = "1000B")]
    packet: Bytes,
    /// TCP's first time-out
    #[arg(long, value_name = "TIME", default_value = "3s")]
    rto: Span,
    /// TCP/NC's R [default: 1/(1-p)]
    #[arg(long, value_name = "R", value_parser = number)]
    redundancy: Option<f64>,
    /// Count TCP/NC's redundant packets as a part of --rate: a user then gets at most B/R. Section X of the paper does
    /// not count redundant packets
    #[arg(long)]
    charge_redundancy: bool,
    /// The duration of TCP/NC's flows. Each flow starts with a window of 1 packet
    #[arg(long, value_name = "TIME", default_value = "inf", value_parser = length)]
    duration: Length,
    /// Also print the number of users that K stations can serve
    #[arg(long, value_name = "K", value_parser = count)]
    stations: Option<u32>,
    /// Power of a station (section VII: 2 to 3 kW)
    #[arg(long, value_name = "POWER", default_value = "2.5kW", value_parser = watts)]
    station_power: f64,
    #[command(flatten)]
    monte_carlo: MonteCarloFlags,
    /// Print one JSON object (docs/schemas/model.schema.json) instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Name {
    Ideal,
    Tcp,
    Tcpnc,
}

const EXAMPLES: &str = "\
Examples:
  ripstop model stations --protocol tcp --loss 2% --rate 2Mbit/s --arrivals 0.03
  ripstop model stations --protocol tcpnc --loss 2% --stations 4 --json
  ripstop model stations --protocol ideal --file-mix doc=30%,image=30%,mp3=30%,video=10% --monte-carlo    fig. 18a";

const NAMED: Named = &[
    ("the number of users", "--users"),
    ("the transfers started in a second", "--arrivals"),
    ("the mean file size in bits", "--file-mean"),
    ("the bandwidth of a user in bits a second", "--rate"),
    ("the throughput in bits a second", "--loss"),
    ("the bandwidth of a station in bits a second", "--max-rate"),
    ("the number of users of a station", "--max-users"),
    ("the loss probability", "--loss"),
    ("the bandwidth of a user over that of a station", "--rate"),
    ("the bits that a user asks for in a second", "--arrivals"),
    ("the round-trip time in seconds", "--rtt"),
    ("the time-out in seconds", "--rto"),
    ("the largest window in packets", "--wmax"),
    ("the window in packets", "--wmax"),
    ("the packet size in bytes", "--packet"),
    ("the redundancy R", "--redundancy"),
    ("the duration in seconds", "--duration"),
    ("the duration in rounds", "--duration"),
    ("the power of a station in watts", "--station-power"),
    ("the probability to start a transfer in a slot", "--arrivals"),
    ("the size of a file in bits", "--file-mix"),
    ("the probability of a file", "--file-mix"),
    ("the sum of the files' probabilities", "--file-mix"),
    ("the length of the experiment in seconds", "--seconds"),
    ("the number of slots", "--seconds"),
    ("the seconds that are not counted", "--warmup"),
];

#[derive(Serialize)]
struct Report {
    protocol: Name,
    #[serde(flatten)]
    asked: Figures,
    /// The whole number of stations that TCP needs, minus the whole number of stations that TCP/NC needs.
    tcpnc_saves_stations: f64,
    /// Power of the stations saved, in watts.
    tcpnc_saves_power_w: f64,
    protocols: Vec<Beside>,
    monte_carlo: Option<MonteCarloReport>,
}

/// The stations that a protocol needs.
#[derive(Clone, Copy, Serialize)]
struct Figures {
    stations: f64,
    whole_stations: f64,
    active_fraction: f64,
    /// The bits that a user asks for, divided by the bits that the user can transfer in the same
    /// time: q mu_f / T. A user starts q transfers per second on average. A transfer has mu_f bits
    /// on average. T is the user's throughput. With a load of 1 or more, queues of transfers grow
    /// without bound.
    load: f64,
    throughput_bps: f64,
    power_w: f64,
    users: Option<f64>,
}

#[derive(Serialize)]
struct Beside {
    protocol: Name,
    #[serde(flatten)]
    figures: Figures,
}

pub(super) fn run(flags: &Flags) -> Outcome<()> {
    let mix = flags.monte_carlo.mix(flags.file_mean.is_some())?;
    let file_bits = match (&flags.file_mean, &mix) {
        (Some(mean), _) => mean.get() as f64 * 8.0,
        (None, Some(mix)) => mix.mean_bits(),
        (None, None) => 3.2e6 * 8.0,
    };
    let network = CellularNetwork {
        users: flags.users,
        arrivals_per_s: flags.arrivals,
        file_bits,
        user_bps: flags.rate.bps() as f64,
        station_bps: flags.max_rate.bps() as f64,
        station_users: flags.max_users,
        loss: flags.loss.get(),
        protocol: Protocol::Ideal,
    };
    let mut protocols = Vec::new();
    for protocol in [Name::Ideal, Name::Tcp, Name::Tcpnc] {
        let network = CellularNetwork { protocol: flags.protocol(protocol), ..network };
        protocols.push(Beside { protocol, figures: figures(&network, flags)? });
    }
    let [_, tcp, coded] = &protocols[..] else {
        return Err(Failure::Work("internal error: not exactly three protocols were compared".to_owned()));
    };
    let saved = tcp.figures.whole_stations - coded.figures.whole_stations;
    let asked = protocols.iter().find(|one| one.protocol == flags.protocol).map_or(tcp.figures, |one| one.figures);
    let monte_carlo = match flags.monte_carlo.asked() {
        false => None,
        true => Some(monte_carlo::run(&network, asked.throughput_bps, mix, &flags.monte_carlo, NAMED)?),
    };
    let report = Report {
        protocol: flags.protocol,
        asked,
        tcpnc_saves_stations: saved,
        tcpnc_saves_power_w: saved * flags.station_power,
        protocols,
        monte_carlo,
    };
    if flags.json { output::json(&report) } else { output::print(&table(&report, flags)) }
}

impl Flags {
    fn protocol(&self, name: Name) -> Protocol {
        let (round, packet_bytes) = (self.rtt.duration().as_secs_f64(), self.packet.get() as f64);
        match name {
            Name::Ideal => Protocol::Ideal,
            Name::Tcp => Protocol::Tcp {
                rtt: round,
                first_time_out: self.rto.duration().as_secs_f64(),
                max_window: self.wmax,
                packet_bytes,
            },
            Name::Tcpnc => Protocol::TcpNc {
                srtt: round,
                max_window: self.wmax,
                first_window: 1.0,
                packet_bytes,
                // At a loss of 1 nothing arrives, whatever the redundancy.
                redundancy: self.redundancy.unwrap_or(if self.loss.get() < 1.0 {
                    1.0 / (1.0 - self.loss.get())
                } else {
                    1.0
                }),
                duration: match self.duration {
                    Length::Seconds(seconds) => FlowDuration::Seconds(seconds),
                    Length::Infinite => FlowDuration::Infinite,
                },
                redundancy_charged: self.charge_redundancy,
            },
        }
    }
}

fn figures(network: &CellularNetwork, flags: &Flags) -> Outcome<Figures> {
    let StationsNeeded { throughput_bps, active_fraction, stations, whole_stations } =
        answer(network.predict(), NAMED)?;
    let users = match flags.stations {
        // None if users transfer nothing. Such users need no station, so the number of users is unlimited.
        Some(k) => answer(network.users_served(k), NAMED)?,
        None => None,
    };
    Ok(Figures {
        stations,
        whole_stations,
        active_fraction,
        load: answer(network.load(), NAMED)?,
        throughput_bps,
        power_w: answer(network.power_w(flags.station_power), NAMED)?,
        users,
    })
}

fn table(report: &Report, flags: &Flags) -> String {
    let mut titles = vec!["", "a user gets", "load", "active", "stations", "whole", "power"];
    let served = flags.stations.map(|k| format!("users of {k} stations"));
    titles.extend(served.as_deref());
    let mut table = Table::titled(titles);
    for Beside { protocol, figures } in &report.protocols {
        let name = match protocol {
            Name::Ideal => "ideal",
            Name::Tcp => "tcp",
            Name::Tcpnc => "tcpnc",
        };
        let mut row = vec![
            if *protocol == flags.protocol { format!("{name} *") } else { name.to_owned() },
            print::rate(figures.throughput_bps),
            print::number(figures.load, ""),
            print::percent(figures.active_fraction),
            print::number(figures.stations, ""),
            print::number(figures.whole_stations, ""),
            print::power(figures.power_w),
        ];
        if flags.stations.is_some() {
            row.push(figures.users.map_or_else(|| "unlimited".to_owned(), |users| print::number(users, "")));
        }
        table.row(row);
    }
    let mut text = table.render();
    let mut lines = Lines::new();
    let saved = format!("{} stations, {}", report.tcpnc_saves_stations, print::power(report.tcpnc_saves_power_w));
    lines.line("TCP/NC saves", saved, "whole stations, compared with TCP");
    if let Some(runs) = &report.monte_carlo {
        runs.lines(&mut lines);
    }
    text += &format!("\n{}", lines.render());
    if report.asked.load >= 1.0 {
        text += "\nThe load is 1 or more: transfers pile up, and all users are active all the time.\n";
    }
    text
}
