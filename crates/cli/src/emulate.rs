//! `ripstop emulate`: a lossy link between two network namespaces.

use crate::failure::{Failure, Outcome};
use crate::fates::FateLog;
use crate::fec_flags::{FecFacts, FecFlags};
use crate::link_flags::{LinkFacts, LinkFlags};
use crate::output::{self, Table};
use crate::signals::Signals;
use clap::Args;
use ipnet::IpNet;
use ripstop_base::Span;
use ripstop_net::emulate::{EmulatedDirectionReport, Emulator, EmulatorConfig, EmulatorSide, EmulatorSnapshot};
use ripstop_net::os::netns::{self, Namespace};
use ripstop_net::os::tun::{TunError, TunSetting};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Put a lossy link between two network namespaces
///
/// Each namespace gets a TUN device. The emulated link carries packets between the two devices, and loses and
/// delays packets as the flags say. With a block code, it encodes the bytes of each packet, erases the lost units, and
/// decodes the rest. The data direction ("forth") is from left to right. Runs until Ctrl-C or
/// for --seconds, then prints the link's counters. The devices disappear when the process ends.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// Namespace of the left end: a name of `ip netns`, pid:NUMBER, or a path such as /proc/NUMBER/ns/net
    #[arg(long, value_name = "NAMESPACE")]
    left: String,
    /// Namespace of the right end, in the same form as --left
    #[arg(long, value_name = "NAMESPACE")]
    right: String,
    /// Address of the left device, with the prefix that is reached through the device. May be repeated to add an
    /// IPv6 address
    #[arg(long, value_name = "ADDRESS/PREFIX", default_value = "198.18.0.1/24", value_parser = address)]
    left_address: Vec<IpNet>,
    /// Address of the right device, in the same form as --left-address
    #[arg(long, value_name = "ADDRESS/PREFIX", default_value = "198.18.0.2/24", value_parser = address)]
    right_address: Vec<IpNet>,
    /// Name of the left device, at most 15 characters
    #[arg(long, value_name = "NAME", default_value = "ripstop0")]
    left_device: String,
    /// Name of the right device, at most 15 characters
    #[arg(long, value_name = "NAME", default_value = "ripstop0")]
    right_device: String,
    /// Largest IP packet of both devices, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(68..))]
    mtu: u16,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "TIME")]
    seconds: Option<Span>,
    /// Write the fate of each packet to this file, one letter per packet (docs/operators/output.md)
    #[arg(long, value_name = "PATH")]
    fates: Option<PathBuf>,
    /// Print the counters as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    link: LinkFlags,
    #[command(flatten)]
    fec: FecFlags,
}

const EXAMPLES: &str = "\
Example: iperf3 over 20 Mbit/s, 100 ms, 5 % loss
  ip netns add a; ip netns add b
  ripstop emulate --left a --right b &
  ip netns exec b iperf3 -s -D
  ip netns exec a iperf3 -c 198.18.0.2";

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    link: LinkFacts,
    fec: Option<FecFacts>,
    #[serde(flatten)]
    counters: &'a EmulatorSnapshot,
}

/// Runs the command.
///
/// # Errors
/// A device could not be created, or the link failed while running.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let config = flags.config()?;
    flags.link.warn();
    if !netns::is_privileged() {
        return Err(Failure::Work(
            "entering the namespaces needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run this as root \
             (`sudo ripstop emulate ...`), or inside the user namespace that owns the namespaces"
                .to_owned(),
        ));
    }
    let open = |flag: &str, text: &str| Namespace::open(text).map_err(|error| Failure::flag(flag, error));
    let (left, right) = (open("--left", &flags.left)?, open("--right", &flags.right)?);
    // The signals are blocked before the emulator starts its thread, because the thread inherits the signal mask.
    let signals = Signals::block()?;
    let mut fates = flags.fates.as_deref().map(FateLog::create).transpose()?;
    let mut emulator = Emulator::start(&config, &left, &right)?;
    output::note(format_args!(
        "{}{}: {} in {left}, {} in {right}; {}",
        flags.link.words(),
        flags.fec.words(),
        flags.left_device,
        flags.right_device,
        flags.seconds.map_or("until Ctrl-C".to_owned(), |s| format!("for {s}"))
    ));
    let end = flags.seconds.and_then(|span| Instant::now().checked_add(span.duration()));
    while emulator.is_running() && !signals.should_end(end)? {
        if let Some(log) = &mut fates {
            log.write("", &emulator.take_fates())?;
        }
    }
    emulator.halt();
    if let Some(log) = &mut fates {
        log.write("", &emulator.take_fates())?;
    }
    let snapshot = emulator.stop();
    if flags.json {
        output::json(&Report { link: flags.link.facts(), fec: flags.fec.facts(), counters: &snapshot })?;
    } else {
        output::print(&table(&snapshot))?;
    }
    let disagreements = snapshot.left_to_right.coding.disagreements + snapshot.right_to_left.coding.disagreements;
    match snapshot.error {
        None if disagreements > 0 => {
            let problem = format!("the link and the decoder disagreed on {disagreements} packets; please report this");
            Err(Failure::work("the block code has an error", problem))
        }
        None => Ok(()),
        Some(error) => Err(Failure::work("the link failed", error)),
    }
}

impl Flags {
    /// The emulator's settings.
    ///
    /// # Errors
    /// A value is invalid. The message names the flag.
    fn config(&self) -> Outcome<EmulatorConfig> {
        let (left_to_right, right_to_left) = self.link.directions_with(self.fec.code()?)?;
        let config = EmulatorConfig {
            left: EmulatorSide { device: self.left_device.clone(), addresses: self.left_address.clone() },
            right: EmulatorSide { device: self.right_device.clone(), addresses: self.right_address.clone() },
            left_to_right,
            right_to_left,
            mtu: self.mtu,
            seed: self.link.seed,
            fates: self.fates.is_some(),
        };
        for (side, device, address) in
            [(&config.left, "--left-device", "--left-address"), (&config.right, "--right-device", "--right-address")]
        {
            side.check(config.mtu).map_err(|error| match error {
                TunError::Config { setting, problem, .. } => match setting {
                    TunSetting::Name => Failure::flag(device, problem),
                    TunSetting::Addresses => Failure::flag(address, problem),
                    TunSetting::Mtu => Failure::flag("--mtu", problem),
                },
                other => Failure::Work(other.to_string()),
            })?;
        }
        Ok(config)
    }
}

fn table(snapshot: &EmulatorSnapshot) -> String {
    type Row = (&'static str, fn(&EmulatedDirectionReport) -> String);
    const ROWS: [Row; 21] = [
        ("packets offered", |d| d.link.offered.to_string()),
        ("bytes offered", |d| d.link.offered_bytes.to_string()),
        ("refused: larger than the MTU", |d| (d.link.refused_mtu + d.too_large).to_string()),
        ("refused: by the policer", |d| d.link.refused_policer.to_string()),
        ("refused: queue full", |d| d.link.refused_queue.to_string()),
        ("dropped: by the queue discipline", |d| d.link.dropped_aqm.to_string()),
        ("marked: congestion experienced", |d| d.marked.to_string()),
        ("lost", |d| (d.link.lost_channel + d.link.lost_blackout).to_string()),
        ("blocks of units: recovered", |d| d.link.blocks_recovered.to_string()),
        ("blocks of units: lost", |d| d.link.blocks_lost.to_string()),
        ("delivered", |d| d.link.delivered.to_string()),
        ("delivered twice", |d| d.link.duplicated.to_string()),
        ("with a flipped bit", |d| d.link.corrupted.to_string()),
        ("overtook another packet", |d| d.link.overtakes.to_string()),
        ("in flight", |d| d.in_flight.to_string()),
        ("refused by the receiving device", |d| d.refused_by_device.to_string()),
        ("dropped: emulator full", |d| d.no_room.to_string()),
        ("dropped: emulator too slow", |d| output::or_dash(d.overflowed, |n| n.to_string())),
        ("longest queue, bytes", |d| d.link.queue_max_bytes.to_string()),
        ("late: p99", |d| output::or_dash(d.lateness.p99_s, output::time)),
        ("late: maximum", |d| output::or_dash(d.lateness.max_s, output::time)),
    ];
    /// The rows of a link with a block code.
    const BLOCK_CODE_ROWS: [Row; 5] = [
        ("blocks encoded", |d| d.coding.blocks_encoded.to_string()),
        ("blocks restored by decoding", |d| d.coding.blocks_restored.to_string()),
        ("units recovered by decoding", |d| d.coding.units_recovered.to_string()),
        ("blocks not restored", |d| d.coding.blocks_not_restored.to_string()),
        ("packets coded wrong (an error in ripstop)", |d| d.coding.disagreements.to_string()),
    ];
    let mut table = Table::titled(["", "left to right", "right to left"]);
    let coded = [&snapshot.left_to_right, &snapshot.right_to_left].iter().any(|d| d.coding.blocks_encoded > 0);
    for (name, cell) in ROWS.iter().chain(BLOCK_CODE_ROWS.iter().filter(|_| coded)) {
        table.row([(*name).to_owned(), cell(&snapshot.left_to_right), cell(&snapshot.right_to_left)]);
    }
    table.render()
}

fn address(text: &str) -> Result<IpNet, String> {
    text.trim().parse().map_err(|_| "write an address with a prefix length, for example `198.18.0.1/24`".to_owned())
}
