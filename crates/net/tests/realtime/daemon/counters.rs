//! The documents say of each counter what its definition says: the schema of the status, and the table of metrics.

use ripstop_base::{Counter, Counters};
use ripstop_net::daemon::{
    BudgetCounts, ControlCounts, DeviceCounters, KeeperCounters, LookupCounters, LoopCounters, PeerCounters,
};
use ripstop_net::os::udp::UdpCounters;
use ripstop_proto::coding::{ClassCounts, CodingCounts, ReceiveCounts, RepairCounts};
use ripstop_proto::endpoint::EndpointCounters;
use ripstop_proto::packets::early_acks::EarlyAckCounts;
use ripstop_proto::packets::{HintCounts, OrderCounts, PieceCounts, QueueDrops, SupplyCounts};
use ripstop_proto::path::{PathCounts, ReceivedCounts};
use ripstop_proto::secure::{AddressCounters, SecureCounters};
use std::collections::BTreeSet;
use std::fs;

/// The groups of counters that stand in one object of the status.
const DEVICE: [&[Counter]; 2] = [DeviceCounters::COUNTERS, KeeperCounters::COUNTERS];
const TOTALS: [&[Counter]; 5] = [
    EndpointCounters::COUNTERS,
    SecureCounters::COUNTERS,
    AddressCounters::COUNTERS,
    LoopCounters::COUNTERS,
    LookupCounters::COUNTERS,
];
const SESSION: [&[Counter]; 10] = [
    ControlCounts::COUNTERS,
    PathCounts::COUNTERS,
    ReceivedCounts::COUNTERS,
    SupplyCounts::COUNTERS,
    CodingCounts::COUNTERS,
    QueueDrops::COUNTERS,
    RepairCounts::COUNTERS,
    ReceiveCounts::COUNTERS,
    OrderCounts::COUNTERS,
    PieceCounts::COUNTERS,
];
const CLASS: [&[Counter]; 3] = [ClassCounts::COUNTERS, HintCounts::COUNTERS, BudgetCounts::COUNTERS];

/// All counters, and what the page of metrics puts before their names.
fn all() -> impl Iterator<Item = (&'static str, &'static Counter)> {
    let host = [&[UdpCounters::COUNTERS][..], &DEVICE, &TOTALS].concat();
    let peer = [&[PeerCounters::COUNTERS, EarlyAckCounts::COUNTERS][..], &SESSION].concat();
    let with =
        |prefix, groups: Vec<&'static [Counter]>| groups.into_iter().flatten().map(move |counter| (prefix, counter));
    with("", host).chain(with("peer_", peer)).chain(with("peer_class_", CLASS.into()))
}

fn document(path: &str) -> String {
    fs::read_to_string(format!("{}/../../docs/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_table_of_metrics_says_what_the_definitions_say() {
    let text = document("operators/monitoring.md");
    let row = |(prefix, counter): (&str, &Counter)| {
        let name = format!("{prefix}{}", counter.metric?);
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        Some(format!("| `ripstop_{name}` | {kind} | {} |", counter.help()))
    };
    let missing: Vec<String> = all().filter_map(row).filter(|row| !text.contains(row)).collect();
    assert!(missing.is_empty(), "not in docs/operators/monitoring.md:\n{}", missing.join("\n"));
}

#[test]
fn the_schema_says_what_the_definitions_say() {
    let schema: serde_json::Value = serde_json::from_str(&document("schemas/status.schema.json")).unwrap();
    let missing: Vec<String> = all()
        .filter(|(_, counter)| !describes(&schema, counter))
        .map(|(_, counter)| format!("\"{}\": \"{}\"", counter.key, counter.help()))
        .collect();
    assert!(missing.is_empty(), "not in docs/schemas/status.schema.json:\n{}", missing.join("\n"));
}

/// Whether an object in `schema` has this key with this description.
fn describes(schema: &serde_json::Value, counter: &Counter) -> bool {
    match schema {
        serde_json::Value::Object(map) => {
            map.get(counter.key).and_then(|found| found.get("description")?.as_str()) == Some(counter.help())
                || map.values().any(|inner| describes(inner, counter))
        }
        serde_json::Value::Array(items) => items.iter().any(|inner| describes(inner, counter)),
        _ => false,
    }
}

/// Counters of several kinds stand in one object of the status.
#[test]
fn no_name_is_used_twice() {
    let objects: [&[&[Counter]]; 4] = [&DEVICE, &TOTALS, &SESSION, &CLASS];
    for object in objects {
        let mut keys = BTreeSet::new();
        object.iter().copied().flatten().for_each(|counter| assert!(keys.insert(counter.key), "{counter:?}"));
    }
    let mut metrics = BTreeSet::new();
    let named = all().filter_map(|(prefix, counter)| Some(format!("{prefix}{}", counter.metric?)));
    named.for_each(|name| assert!(metrics.insert(name.clone()), "{name}"));
}

#[test]
fn a_help_text_is_for_users() {
    let strange = |help: &str| help.is_empty() || help.contains(['[', '\n']) || help.contains("  ");
    let found: Vec<_> = all().filter(|(_, counter)| strange(counter.help())).collect();
    assert!(found.is_empty(), "{found:?}");
}
