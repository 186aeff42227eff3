//! A plan for people.

use super::compute::{Plan, SchemePlan};
use crate::output::{self, Table};
use std::fmt::Write;

/// The text.
pub(super) fn text(plan: &Plan) -> String {
    let link = &plan.link;
    let mut text = format!(
        "link: {}, RTT {}, loss {} forth and {} back",
        output::rate(link.rate_bps),
        output::time(link.rtt_s),
        percent(link.loss),
        percent(link.loss_back)
    );
    if link.burst_packets > 1.0 {
        let _ = write!(text, " in runs of {} packets", link.burst_packets);
    }
    let _ = writeln!(
        text,
        ", queue {}; {} arrive at most, {:.0} packets fill it\n",
        output::bytes(link.queue_bytes),
        output::rate(link.capacity_bps),
        link.bdp_packets
    );
    let simulated = plan.schemes.iter().any(|scheme| scheme.simulated.is_some());
    let mut titles =
        vec!["", "goodput", "share", "sent/useful", "packet p50", "p99", "request p50", "p99", "error"];
    if simulated {
        titles.extend(["simulated", "+-"]);
    }
    let mut table = Table::titled(titles);
    for scheme in &plan.schemes {
        table.row(row(scheme, simulated));
    }
    text.push_str(&table.render());
    text.push_str("\nerror: median and 95th percentile of the closed form beside the simulator on such links (docs/plan-report.md)\n");
    for scheme in &plan.schemes {
        let settings = scheme.settings.as_ref().map_or(String::new(), |settings| format!("; {settings}"));
        let only = if scheme.available { "" } else { "; in the simulator or on paper only" };
        let _ = writeln!(text, "{}: {}{settings}{only}", scheme.scheme, scheme.model);
    }
    let _ = writeln!(text, "\nuse {}: {}", plan.recommended, plan.reason);
    for caution in &plan.cautions {
        let _ = writeln!(text, "- {caution}");
    }
    if let Some(config) = &plan.config {
        let _ = write!(text, "\n{config}");
    }
    if let Some(stations) = &plan.stations {
        let _ = writeln!(
            text,
            "\n{} users need {} stations with TCP and {} with TCP/NC: {} and {:.1} kW less (paper 000, (22))",
            stations.users,
            stations.tcp,
            stations.tcpnc,
            stations.saved,
            stations.saved_power_w / 1e3
        );
    }
    text
}

fn row(scheme: &SchemePlan, simulated: bool) -> Vec<String> {
    let error = match (scheme.error_median, scheme.error_p95) {
        // A scheme that may get next to nothing is missed by any factor.
        (Some(median), Some(p95)) if p95 >= 10.0 => format!("{:.0} / > 1000 %", median * 100.0),
        (Some(median), Some(p95)) => format!("{:.0} / {:.0} %", median * 100.0, p95 * 100.0),
        _ => "-".to_owned(),
    };
    let mut row = vec![
        scheme.scheme.to_owned(),
        output::rate(scheme.goodput_bps),
        output::share(scheme.share),
        output::or_dash(scheme.sent_per_useful, output::share),
        output::time(scheme.packet_p50_s),
        output::time(scheme.packet_p99_s),
        output::time(scheme.request_p50_s),
        output::time(scheme.request_p99_s),
        error,
    ];
    if simulated {
        let one = scheme.simulated;
        row.push(output::or_dash(one, |one| output::rate(one.goodput_bps)));
        row.push(output::or_dash(one.and_then(|one| one.ci95_bps), output::rate));
    }
    row
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e5).round() / 1e3)
}
