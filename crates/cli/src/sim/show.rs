//! Formats the result of a simulation as text.

use crate::output::{self, Table, or_dash};
use ripstop_lab::cell::CellResult;
use ripstop_lab::expect::ExpectVerdict;
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{
    CadenceReport, FlowReport, IdealReport, LinkReport, LossReport, MeshSummary, ScenarioReport, StationReport,
    TunnelReport,
};
use serde_json::Value;

/// The largest number of rows in a table. Further flows, links or stations are not listed.
const MOST_ROWS: usize = 20;

/// The result as tables.
pub(super) fn table(result: &CellResult<'_>) -> String {
    let report = result.report;
    let mut text = String::new();
    if !report.flows.is_empty() {
        text += &flows("", &report.goodput_bps, &report.flows);
    }
    if let Some(Statistic { mean: Some(mean), ci95, .. }) = report.throughput_units_per_s {
        let interval = ci95.map_or_else(String::new, |ci95| format!(" +-{ci95:.1}"));
        text += &format!("all flows together: {mean:.1}{interval} units/s\n");
    }
    for interval in report.intervals.iter().filter(|interval| !interval.flows.is_empty()) {
        let name = format!("\n{} s to {} s\n", interval.from_s, interval.to_s);
        text += &flows(&name, &interval.goodput_bps, &interval.flows);
    }
    text += &mesh(&report.mesh);
    text += &blocks(&report.flows);
    text += &transfers(&report.flows);
    text += &links(&report.links);
    text += &tunnels(&report.tunnels);
    text += &media(report);
    text += &expectations(&result.expectations);
    text + &format!(
        "\n{} of {} of virtual time, seed {}: {} events in {} ({} of CPU time; {} virtual seconds per second of CPU time)\n",
        if result.runs == 1 { "1 run".to_owned() } else { format!("{} runs", result.runs) },
        result.scenario.run.duration,
        result.seed,
        report.events,
        output::time(result.wall_s),
        output::time(result.cpu_s),
        or_dash((result.cpu_s > 0.0).then(|| report.sim_s / result.cpu_s), |ratio| format!("{ratio:.0}")),
    )
}

/// The message about an expectation that was not met, or that cannot be evaluated.
pub(super) fn not_met(expect: &ExpectVerdict) -> String {
    let how = if expect.met.is_some() { "does not hold" } else { "cannot be evaluated" };
    format!("`{}` {how}: {}", expect.claim, expect.values)
}

/// The table of expectations, which says whether each expectation was met. Empty without expectations.
fn expectations(all: &[ExpectVerdict]) -> String {
    let mut table = Table::titled(["expected", "", ""]);
    for expect in all {
        let met = match expect.met {
            Some(true) => "as expected",
            Some(false) => "NOT AS EXPECTED",
            None => "ERROR",
        };
        table.row([expect.claim.clone(), expect.values.clone(), met.to_owned()]);
    }
    if all.is_empty() { String::new() } else { format!("\n{}", table.render()) }
}

/// The report of one run. Each statistic over runs is replaced by its mean. A statistic with
/// percentiles keeps the percentiles and the mean.
pub(super) fn numbers(report: &ScenarioReport) -> Value {
    fn plain(value: Value) -> Value {
        match value {
            Value::Object(mut fields) if fields.contains_key("mean") && fields.contains_key("ci95") => {
                let mean = fields.remove("mean").unwrap_or(Value::Null);
                fields.retain(|key, _| key == "p50" || key == "p99");
                if fields.is_empty() {
                    return mean;
                }
                fields.insert("mean".to_owned(), mean);
                Value::Object(fields)
            }
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(key, value)| (key, plain(value))).collect())
            }
            Value::Array(list) => Value::Array(list.into_iter().map(plain).collect()),
            other => other,
        }
    }
    serde_json::to_value(report).map_or(Value::Null, plain)
}

/// The line with the figures of a mesh. Empty if the scenario is not a mesh.
fn mesh(mesh: &MeshSummary) -> String {
    let (Some(acks), Some(delay), Some(jain)) = (&mesh.acks_per_packet, &mesh.delay_s, &mesh.jain) else {
        return String::new();
    };
    let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.3}"));
    format!(
        "\npath capacity (paper 004, eq. 12) {}; delay {} (99 %: {}); acknowledgements per packet {}; Jain's index {}\n",
        or_dash(mesh.capacity_bps, output::rate),
        or_dash(delay.mean, output::time),
        or_dash(delay.p99, output::time),
        number(acks),
        number(jain),
    )
}

/// The table of TCP/LT sessions. Empty without a gateway.
fn blocks(flows: &[FlowReport]) -> String {
    let titles =
        ["TCP/LT", "blocks", "symbols", "sent again", "overhead", "LT-ACKs per packet", "loss", "block time", "rate"];
    let mut table = Table::titled(titles);
    let mut rows = 0;
    for (flow, lt) in flows.iter().filter_map(|flow| Some((flow, flow.lt.as_ref()?))).take(MOST_ROWS) {
        rows += 1;
        let number = |s: &Statistic, digits: usize| or_dash(s.mean, |mean| format!("{mean:.digits$}"));
        let percent = |s: &Statistic| or_dash(s.mean, |mean| format!("{:.1} %", 100.0 * mean));
        table.row([
            flow.name.clone(),
            number(&lt.blocks, 1),
            number(&lt.symbols, 1),
            number(&lt.topped_up, 1),
            percent(&lt.block_overhead),
            number(&lt.lt_acks_per_packet, 3),
            percent(&lt.loss),
            or_dash(lt.block_time_s.mean, output::time),
            or_dash(lt.rate_bps.mean, output::rate),
        ]);
    }
    if rows == 0 { String::new() } else { format!("\n{}", table.render()) }
}

/// The table of the transfers of files, requests and answers. Empty without transfers.
fn transfers(flows: &[FlowReport]) -> String {
    let any = flows.iter().filter_map(|flow| Some((flow, flow.completed?, flow.unfinished?)));
    let mut table = Table::titled(["transfers", "complete", "under way", "time", "p50", "p99"]);
    let mut rows = 0;
    for (flow, completed, unfinished) in any.take(MOST_ROWS) {
        rows += 1;
        let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
        let times = [flow.completion_s.mean, flow.completion_s.p50, flow.completion_s.p99];
        let [mean, p50, p99] = times.map(|time| or_dash(time, output::time));
        table.row([flow.name.clone(), number(&completed), number(&unfinished), mean, p50, p99]);
    }
    if rows == 0 { String::new() } else { format!("\n{}", table.render()) }
}

/// The table of the links' counters. Empty without links.
fn links(links: &[LinkReport]) -> String {
    let mut table =
        Table::titled(["link", "offered", "queue full", "refused", "lost", "delivered", "in use", "queue", "waiting"]);
    let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
    for link in links.iter().take(MOST_ROWS) {
        table.row([
            link.name.clone(),
            number(&link.offered_packets),
            number(&link.dropped_queue_packets),
            number(&link.dropped_other_packets),
            number(&link.lost_packets),
            number(&link.delivered_packets),
            or_dash(link.utilisation.mean, |share| format!("{:.1} %", 100.0 * share)),
            number(&link.queue_packets),
            or_dash(link.queue_s.mean, output::time),
        ]);
    }
    if links.len() > MOST_ROWS {
        table.row([format!("and {} more", links.len() - MOST_ROWS)]);
    }
    let mut text = if links.is_empty() { String::new() } else { format!("\n{}", table.render()) };
    // Most scenarios have no active queue management, so its counters have a table of their own.
    let mut managed = Table::titled(["link", "dropped by AQM", "marked"]);
    let acted = |s: &Statistic| s.mean.is_some_and(|mean| mean > 0.0);
    let any = links.iter().filter(|link| acted(&link.dropped_aqm_packets) || acted(&link.marked_packets));
    let mut rows = 0;
    for link in any.take(MOST_ROWS) {
        rows += 1;
        managed.row([link.name.clone(), number(&link.dropped_aqm_packets), number(&link.marked_packets)]);
    }
    if rows > 0 {
        text.push_str(&format!("\n{}", managed.render()));
    }
    for link in links.iter().filter(|link| !link.unfired.is_empty()).take(MOST_ROWS) {
        text.push_str(&format!("\nlink {}: these settings had no effect: {}\n", link.name, link.unfired.join(", ")));
    }
    text
}

/// The table of the tunnels' counters. Empty without tunnels.
fn tunnels(tunnels: &[TunnelReport]) -> String {
    let mut table = Table::titled([
        "tunnel",
        "sent/useful",
        "delivered",
        "repairs",
        "recovered",
        "wasted",
        "never came",
        "rate",
        "RTT",
        "loss",
    ]);
    for tunnel in tunnels {
        for way in &tunnel.directions {
            let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
            let share = |s: &Statistic| or_dash(s.mean, |share| format!("{:.2} %", 100.0 * share));
            let of_blocks = way.block.as_ref().and_then(|block| block.repairs.mean).unwrap_or(0.0);
            let repairs = way.repairs_exact.mean.zip(way.repairs_ahead.mean).map(|(a, b)| a + b + of_blocks);
            table.row([
                format!("{} {}>{}", tunnel.name, way.from, way.to),
                or_dash(way.sent_per_useful.mean, |ratio| format!("{ratio:.3}")),
                number(&way.delivered_packets),
                or_dash(repairs, |repairs| format!("{repairs:.1}")),
                number(&way.recovered),
                number(&way.redundant),
                share(&way.residual_loss),
                or_dash(way.rate_bps.mean, output::rate),
                or_dash(way.rtt_s.mean, output::time),
                share(&way.loss),
            ]);
        }
    }
    if tunnels.is_empty() { String::new() } else { format!("\n{}", table.render()) }
}

/// The tables of the media and of the stations. Empty without media.
fn media(report: &ScenarioReport) -> String {
    let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
    let mut text = String::new();
    if let Some(throughput) = &report.summary.throughput_ip_bps {
        let [mean, interval] = rate(throughput);
        text += &format!("\nall flows together, headers included: {mean} {interval}\n");
    }
    let mut table = Table::titled(["medium", "gamma", "MAC drops", "collisions", "undecodable", "alone"]);
    for medium in &report.media {
        let per_s = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.2}/s"));
        table.row([
            medium.name.clone(),
            or_dash(medium.gamma.mean, |gamma| format!("{gamma:.3}")),
            per_s(&medium.mac_drops_per_s),
            per_s(&medium.collisions_per_s),
            per_s(&medium.undecodable_per_s),
            per_s(&medium.missed_partners_per_s),
        ]);
    }
    for (name, cadence) in report.media.iter().filter_map(|m| Some((&m.name, m.cadence.as_ref()?))) {
        let CadenceReport { overheard_per_s, held_per_s, free_rides_per_s, rider_losses_per_s } = cadence;
        let [overheard, held, free, lost] = [overheard_per_s, held_per_s, free_rides_per_s, rider_losses_per_s]
            .map(|s| or_dash(s.mean, |mean| format!("{mean:.2}/s")));
        text += &format!(
            "\ncadence on {name}: packets overheard {overheard}, queues held {held}, free rides {free}, riding TCP ACKs \
             lost {lost}\n"
        );
    }
    for (name, losses) in report.media.iter().filter_map(|m| Some((&m.name, m.losses.as_ref()?))) {
        let LossReport { packets, frames } = losses;
        let never =
            if packets.mean == Some(0.0) && frames.mean == Some(0.0) { "; no random loss happened" } else { "" };
        text += &format!(
            "\nlost at random on {name}: {} packets above the MAC, {} frames on the air{never}\n",
            number(packets),
            number(frames)
        );
    }
    let mut stations = Table::titled(["station", "k", "frames", "XORed", "failed", "dropped", "queue full", "again"]);
    let all: Vec<&StationReport> = report.media.iter().flat_map(|medium| &medium.stations).collect();
    for station in all.iter().take(MOST_ROWS) {
        stations.row([
            station.name.clone(),
            number(&station.k),
            number(&station.data_frames),
            number(&station.xor_frames),
            number(&station.failures),
            number(&station.mac_drops),
            number(&station.queue_drops),
            number(&station.duplicates),
        ]);
    }
    if all.len() > MOST_ROWS {
        stations.row([format!("and {} more", all.len() - MOST_ROWS)]);
    }
    let ideal: String = report.media.iter().filter_map(|medium| medium.ideal.as_ref()).map(ideal).collect();
    if all.is_empty() { text } else { format!("{text}\n{}\n{}{ideal}", table.render(), stations.render()) }
}

/// The table of the links of a medium with ideal access, and how many links were active together.
fn ideal(report: &IdealReport) -> String {
    let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
    let load = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.4}"));
    let mut table = Table::titled(["link", "packets/s", "load", "attempts", "deferrals"]);
    for link in report.links.iter().take(MOST_ROWS) {
        let [per_s, attempts, deferrals] = [&link.packets_per_s, &link.attempts, &link.deferrals].map(number);
        table.row([link.name.clone(), per_s, load(&link.load), attempts, deferrals]);
    }
    if report.links.len() > MOST_ROWS {
        table.row([format!("and {} more", report.links.len() - MOST_ROWS)]);
    }
    let together = report.together.iter().enumerate().map(|(m, share)| format!("{m}: {}", load(share)));
    let together: Vec<String> = together.collect();
    format!("\n{}links active together, share of time: {}\n", table.render(), together.join(", "))
}

fn flows(title: &str, goodput: &Statistic, flows: &[FlowReport]) -> String {
    let mut table = Table::titled(["", "goodput", "", "cwnd", "SRTT", "delay", "sent", "again", "time-outs"]);
    for flow in flows.iter().take(MOST_ROWS) {
        let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
        let time = |mean: Option<f64>| or_dash(mean, output::time);
        let [mean, interval] = rate(&flow.goodput_bps);
        table.row([
            flow.name.clone(),
            mean,
            interval,
            number(&flow.cwnd_packets),
            time(flow.srtt_s.mean),
            time(flow.delay_s.mean),
            number(&flow.packets_sent),
            number(&flow.retransmits),
            number(&flow.timeouts),
        ]);
    }
    if flows.len() > MOST_ROWS {
        table.row([format!("and {} more", flows.len() - MOST_ROWS)]);
    }
    if flows.len() > 1 {
        let [mean, interval] = rate(goodput);
        table.row(["mean of the flows".to_owned(), mean, interval]);
    }
    format!("{title}{}", table.render())
}

/// A mean rate, and half of its confidence interval after `+-`.
fn rate(statistic: &Statistic) -> [String; 2] {
    [
        or_dash(statistic.mean, output::rate),
        statistic.ci95.map_or_else(String::new, |ci95| format!("+-{}", output::rate(ci95))),
    ]
}
