//! The record of the air: every frame that the counters know is in the capture, and the timeline agrees with what the
//! stations counted.

use ripstop_base::{Seed, Time};
use ripstop_sim::scenario::{AirCapture, AirTimeline, Scenario, Timeline, TimelineKind};
use ripstop_sim::tcp::SenderConfig;
use ripstop_sim::wifi::{AirEvent, AirFate, FrameKind, StationCounters};
use ripstop_sim::world::{Carrier, Happening, Observer, StationStatus, TcpConfig, World};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Command;

/// The master seed of all tests here.
const SEED: u64 = 7;
/// Bytes of the header of a pcap file, and of a record.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// A string of 8 stations with a TCP flow over it. `settings` are keys of the medium.
fn scenario(settings: &str) -> Scenario {
    let station = |k: u32| format!("{{ name = \"n{k}\", x = \"{}m\" }}", 200 * k);
    let stations: Vec<String> = (0..8).map(station).collect();
    let text = format!(
        "[run]\nduration = \"4s\"\n[[medium]]\nstations = [{}]\ncapture = 20\n{settings}\n[[flow]]\nfrom = \"n0\"\n\
         to = \"n7\"\npacket = \"1460B\"\nwindow = 20\n",
        stations.join(", ")
    );
    Scenario::parse(&text).unwrap()
}

/// The world of [`scenario`], run for 4 s.
fn run(scenario: &Scenario, observer: &mut impl Observer) -> World {
    let mut world = World::new(Seed::new(SEED));
    let medium = &scenario.medium[0];
    let number = world.add_medium(medium.config(), &medium.places(), "medium/0");
    let last = medium.stations.len() - 1;
    let there = [world.add_radio_link(number, 0, last)];
    let back = [world.add_radio_link(number, last, 0)];
    let tcp = TcpConfig {
        sender: SenderConfig { window: 20, ..SenderConfig::default() },
        payload: 1460,
        ..TcpConfig::default()
    };
    world.add_tcp(tcp, &Carrier::Links(&there, &back), "flow/there").unwrap();
    // The run pauses in the middle, as a scenario pauses after its warm-up to read the counters.
    world.run_until(Time::from_millis(1500), observer);
    world.run_until(Time::from_millis(4000), observer);
    world
}

/// The sum of a counter over the stations.
fn sum(stations: &[StationStatus], value: impl Fn(&StationCounters) -> u64) -> u64 {
    stations.iter().map(|station| value(&station.counters)).sum()
}

/// The settings to test, and the kinds of frames that they must put on the air.
const CASES: [(&str, &str, &[FrameKind]); 6] = [
    ("plain", "", &[FrameKind::Data, FrameKind::Ack]),
    ("rts", "rts = true", &[FrameKind::Data, FrameKind::Ack, FrameKind::Rts, FrameKind::Cts]),
    ("xor", "xor = true\nbackoff = \"adaptive\"", &[FrameKind::Data, FrameKind::Ack, FrameKind::Xor]),
    ("aodv", "routing = \"aodv\"\nxor = true", &[FrameKind::Data, FrameKind::Xor, FrameKind::Broadcast]),
    ("standard", "preset = \"standard\"\nrts = true\nxor = true", &[FrameKind::Rts, FrameKind::Xor]),
    ("lossy", "loss = \"5%\"\nerrors = \"per-frame\"", &[FrameKind::Data, FrameKind::Ack]),
];

/// The capture of a run, the world after the run, and the numbers of captured frames.
fn capture(settings: &str) -> (Vec<u8>, World, ripstop_sim::scenario::AirFrameCounts) {
    let scenario = scenario(settings);
    let mut bytes = Vec::new();
    let mut capture = AirCapture::new(&scenario, &mut bytes).unwrap();
    let world = run(&scenario, &mut capture);
    let counts = capture.counts();
    capture.finish().unwrap();
    (bytes, world, counts)
}

/// The records of a capture: time in ns, captured bytes, length.
fn records(bytes: &[u8]) -> Vec<(u64, &[u8], usize)> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 127));
    let (mut all, mut at) = (Vec::new(), FILE_HEADER);
    while at < bytes.len() {
        let [seconds, nanos, captured, length] = [0, 4, 8, 12].map(|k| word(at + k));
        let from = at + RECORD_HEADER;
        let record = &bytes[from..from + captured as usize];
        all.push((u64::from(seconds) * 1_000_000_000 + u64::from(nanos), record, length as usize));
        at = from + captured as usize;
    }
    all
}

/// The kind of a record's frame.
fn kind(record: &[u8]) -> FrameKind {
    let frame = &record[usize::from(record[2])..];
    match frame[0] {
        0xb4 => FrameKind::Rts,
        0xc4 => FrameKind::Cts,
        0xd4 => FrameKind::Ack,
        0x08 if frame[4..10] == [0xff; 6] => FrameKind::Broadcast,
        0x08 if frame[30..32] == [0x88, 0xb5] => FrameKind::Xor,
        0x08 => FrameKind::Data,
        other => panic!("{other:#x} is no frame that a station sends"),
    }
}

#[test]
fn every_frame_that_was_counted_is_in_the_capture() {
    for (name, settings, kinds) in CASES {
        let (bytes, world, counts) = capture(settings);
        let records = records(&bytes);
        assert!(records.is_sorted_by_key(|(at, ..)| *at), "{name}");
        let of = |wanted: FrameKind| records.iter().filter(|(_, record, _)| kind(record) == wanted).count() as u64;
        for wanted in kinds {
            assert!(of(*wanted) > 0, "{name} has no {wanted:?} frame, seed {SEED}");
        }
        let stations = world.stations(0);
        assert_eq!(of(FrameKind::Xor), sum(&stations, |c| c.xor_frames), "{name}");
        let data = of(FrameKind::Data) + of(FrameKind::Xor) + of(FrameKind::Broadcast);
        assert_eq!(data, sum(&stations, |c| c.data_frames), "{name}");
        let control = of(FrameKind::Rts) + of(FrameKind::Cts) + of(FrameKind::Ack);
        assert_eq!(control, sum(&stations, |c| c.control_frames), "{name}");
        assert_eq!(
            (counts.data, counts.xor, counts.broadcasts),
            (of(FrameKind::Data), of(FrameKind::Xor), of(FrameKind::Broadcast))
        );
        assert_eq!([counts.rts, counts.cts, counts.acks].iter().sum::<u64>(), control, "{name}");
        assert_eq!(counts.unknown, 0, "{name}");
        assert!(records.iter().all(|(_, record, length)| record.len() <= *length), "{name}");
        // A full data frame has 1532 bytes after the radiotap header of 22 or 23 bytes: MAC header 24, LLC 8, IP and
        // TCP headers 40, payload 1460.
        let full = records.iter().filter(|(_, record, length)| length - usize::from(record[2]) == 1532).count();
        assert!(full as u64 > counts.data / 5, "{name}: {full} full frames of {}", counts.data);
    }
}

#[test]
fn a_frame_that_is_sent_again_keeps_its_number_and_has_the_retry_bit() {
    let (bytes, world, _) = capture("");
    let (mut last, mut again) = (BTreeMap::new(), 0_u64);
    for (_, record, _) in records(&bytes) {
        let frame = &record[usize::from(record[2])..];
        if kind(record) != FrameKind::Data {
            continue;
        }
        let number = u16::from_le_bytes([frame[22], frame[23]]) >> 4;
        let before = last.insert(frame[10..16].to_vec(), number);
        let retry = frame[1] & 0x08 != 0;
        let next = before.map_or(0, |before| (before + 1) & 0x0fff);
        assert_eq!(number, if retry { before.unwrap() } else { next });
        again += u64::from(retry);
    }
    let stations = world.stations(0);
    // A failure is followed by a retransmission, unless the packet is dropped or the run ends.
    let failures = sum(&stations, |c| c.failures);
    assert!(
        again > 0 && again <= failures && again + sum(&stations, |c| c.retry_drops) + 8 >= failures,
        "{again} {failures}"
    );
}

/// Counts receptions by fate, and collisions of frames that carry packets.
#[derive(Default)]
struct Fates {
    fates: [u64; 6],
    collisions: u64,
}

impl Observer for Fates {
    fn hears_air(&self) -> bool {
        true
    }

    fn note(&mut self, _: Time, happening: Happening<'_>) {
        let Happening::Air { event: AirEvent::Heard(reception), .. } = happening else { return };
        let at = match reception.fate {
            AirFate::Decoded => 0,
            AirFate::TooWeak => 1,
            AirFate::Deaf => 2,
            AirFate::Ignored => 3,
            AirFate::Collided { .. } => 4,
            AirFate::Lost => 5,
        };
        self.fates[at] += 1;
        let carries = matches!(reception.kind, FrameKind::Data | FrameKind::Xor | FrameKind::Broadcast);
        self.collisions += u64::from(carries && reception.is_collision());
    }
}

#[test]
fn a_record_changes_no_result_and_agrees_with_the_counters() {
    for (name, settings, _) in CASES.into_iter().chain([("capture", "preset = \"standard\"", &[][..])]) {
        let mut scenario = scenario(settings);
        if name == "capture" {
            scenario.medium[0].capture = Some(10.0);
        }
        let mut fates = Fates::default();
        let (plain, recorded) = (run(&scenario, &mut ()), run(&scenario, &mut fates));
        let stations = recorded.stations(0);
        assert_eq!(stations, plain.stations(0), "{name}");
        assert_eq!(recorded.totals(0), plain.totals(0), "{name}");
        let counted = [
            sum(&stations, |c| c.received),
            sum(&stations, |c| c.too_weak),
            sum(&stations, |c| c.deaf),
            sum(&stations, |c| c.ignored),
            sum(&stations, |c| c.collided),
            sum(&stations, |c| c.lost_frames),
        ];
        assert_eq!(fates.fates, counted, "{name}");
        assert_eq!(fates.collisions, sum(&stations, |c| c.collisions), "{name}");
        assert_eq!(counted[3] > 0, name == "capture", "{name}");
        assert_eq!(counted[5] > 0, name == "lossy", "{name}");
    }
}

/// The timeline of a whole run, and the world after the run.
fn timeline(settings: &str) -> (Timeline, World) {
    let scenario = scenario(settings);
    let mut timeline = AirTimeline::new(&scenario, Time::ZERO, Time::from_millis(4000));
    let world = run(&scenario, &mut timeline);
    (timeline.finish(), world)
}

#[test]
fn a_timeline_has_every_station_and_every_mechanism() {
    use TimelineKind::*;
    for (name, settings, wanted) in [
        ("plain", "", &[Data, TcpAck, MacAck, Senses, Collision, Missed, Backoff, Paused, Reserved][..]),
        ("rts", "rts = true", &[Rts, Cts]),
        ("xor", "xor = true\nbackoff = \"adaptive\"", &[Xor, Protection]),
        ("aodv", "routing = \"aodv\"", &[Routing]),
        ("lossy", "loss = \"5%\"\nerrors = \"per-frame\"", &[Lost]),
    ] {
        let (timeline, world) = timeline(settings);
        for kind in wanted {
            assert!(timeline.count(*kind) > 0, "{name} has no {kind:?}, seed {SEED}");
        }
        assert!(timeline.rows.len() == 8 && timeline.rows.iter().all(|row| !row.spans.is_empty()), "{name}");
        let stations = world.stations(0);
        let frames = [Data, TcpAck, Xor, Routing].iter().map(|kind| timeline.count(*kind)).sum::<usize>();
        assert_eq!(frames as u64, sum(&stations, |c| c.data_frames), "{name}");
        assert!(timeline.count(Collision) as u64 >= sum(&stations, |c| c.collisions), "{name}");
        if name != "xor" {
            assert_eq!(timeline.count(Protection), 0, "{name}");
        }
    }
}

/// A back-off counts slots only while its station sends no frame and senses no frame, and while no NAV or EIFS keeps
/// the station silent.
#[test]
fn back_offs_run_only_on_an_idle_medium() {
    use TimelineKind::*;
    for (name, settings, _) in CASES {
        let (timeline, _) = timeline(settings);
        let mut checked = 0;
        for row in &timeline.rows {
            let quiet = |kind| matches!(kind, Backoff | Paused | Protection);
            let busy: Vec<_> = row.spans.iter().filter(|span| !quiet(span.kind)).collect();
            for slots in row.spans.iter().filter(|span| span.kind == Backoff) {
                let overlaps = busy.iter().find(|span| span.from < slots.to && slots.from < span.to);
                assert_eq!(overlaps, None, "{name}: {} {slots:?}", row.name);
                checked += 1;
            }
        }
        assert!(checked > 100, "{name}: {checked}");
    }
}

/// Whether `tshark` is installed. If not, prints a line with which the totals of the tests count the test as skipped.
fn has_tshark(test: &str) -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        // `eprintln!` would be captured by the test harness.
        let line = format!("\nSKIPPED {test}: tshark is not installed\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    found
}

/// Opens each capture with Wireshark's dissectors. An XOR frame has the ethertype 0x88b5 and goes to a group address
/// that begins with 03:00.
#[test]
fn tshark_reads_every_frame_of_a_capture() {
    if !has_tshark("tshark_reads_every_frame_of_a_capture") {
        return;
    }
    for (name, settings, _) in CASES {
        let (bytes, world, counts) = capture(settings);
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("air-{name}.pcap"));
        std::fs::write(&path, &bytes).unwrap();
        let fields = [
            "frame.time_epoch",
            "wlan.fc.type_subtype",
            "llc.type",
            "wlan.da",
            "udp.port",
            "_ws.malformed",
            "wlan.duration",
        ];
        let mut command = Command::new("tshark");
        command.arg("-n").arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=;"]);
        fields.iter().for_each(|field| {
            command.args(["-e", field]);
        });
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
        let count = |wanted: &dyn Fn(&[&str]) -> bool| rows.iter().filter(|row| wanted(row)).count() as u64;
        let subtype = |number: u32| {
            count(&|row| {
                let text = row[1].trim_start_matches("0x");
                let radix = if row[1].starts_with("0x") { 16 } else { 10 };
                u32::from_str_radix(text, radix) == Ok(number)
            })
        };
        assert_eq!((subtype(0x1b), subtype(0x1c), subtype(0x1d)), (counts.rts, counts.cts, counts.acks), "{name}");
        assert_eq!(subtype(0x20), counts.data + counts.xor + counts.broadcasts, "{name}");
        let stations = world.stations(0);
        let xor = count(&|row| row[2].contains("88b5") && row[3].starts_with("03:00:"));
        assert_eq!(xor, sum(&stations, |c| c.xor_frames), "{name}");
        assert_eq!(xor > 0, settings.contains("xor = true"), "{name} has {xor} XOR frames, seed {SEED}");
        let broadcasts = count(&|row| row[3] == "ff:ff:ff:ff:ff:ff" && row[4] == "654,654");
        assert_eq!(broadcasts, counts.broadcasts, "{name}");
        assert_eq!(count(&|row| !row[5].is_empty()), 0, "{name} has malformed frames");
        assert!(count(&|row| row[6].parse::<u32>().is_ok_and(|us| us > 0)) > 0, "{name}");
        let times: Vec<f64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
        assert!(
            times.is_sorted() && times.len() as u64 == sum(&stations, |c| c.data_frames + c.control_frames),
            "{name}"
        );
    }
}
