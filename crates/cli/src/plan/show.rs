//! Formats a plan as text.

use crate::output::{self, Table};
use ripstop_lab::plan::answer::{PlanAnswer, SchemePlan};
use std::fmt::Write;

/// The plan as text.
pub(super) fn text(plan: &PlanAnswer) -> String {
    let mut text = link(plan);
    let verified = plan.schemes.iter().any(|scheme| scheme.simulated.is_some_and(|one| one.request_p99_s.is_some()));
    let simulated = plan.schemes.iter().any(|scheme| scheme.simulated.is_some());
    text.push_str(&table(plan, simulated, verified).render());
    text.push_str(&notes(plan));
    text.push_str(&advice(plan));
    if let Some(config) = &plan.config {
        let _ = write!(text, "\n{config}");
    }
    if let Some(stations) = &plan.stations {
        let _ = writeln!(
            text,
            "\n{} users need {} stations with TCP and {} stations with TCP/NC. TCP/NC saves {} stations and {:.1} kW \
             (paper 000, equation (22))",
            stations.users,
            stations.tcp,
            stations.tcpnc,
            stations.saved,
            stations.saved_power_w / 1e3
        );
    }
    text
}

fn link(plan: &PlanAnswer) -> String {
    let link = &plan.link;
    let mut text = format!(
        "link: {}, RTT {}, loss {} for data and {} for acknowledgements",
        output::rate(link.rate_bps),
        output::time(link.rtt_s),
        percent(link.loss),
        percent(link.loss_back)
    );
    if link.burst_packets > 1.0 {
        let _ = write!(text, " in bursts of {} packets", link.burst_packets);
    }
    let _ = writeln!(
        text,
        ", queue {}; at most {} arrive, and {:.0} packets fill the path\n",
        output::bytes(link.queue_bytes),
        output::rate(link.capacity_bps),
        link.bdp_packets
    );
    text
}

fn table(plan: &PlanAnswer, simulated: bool, verified: bool) -> Table {
    let mut titles = vec!["", "goodput", "share", "sent/useful", "packet p50", "p99", "request p50", "p99", "error"];
    if simulated {
        titles.extend(["simulated", "+-"]);
    }
    if verified {
        titles.extend(["request p50", "p99"]);
    }
    let mut table = Table::titled(titles);
    for scheme in &plan.schemes {
        table.row(row(scheme, simulated, verified));
    }
    table
}

fn row(scheme: &SchemePlan, simulated: bool, verified: bool) -> Vec<String> {
    let error = match (scheme.error_median, scheme.error_p95) {
        // If a scheme's goodput is very small, the prediction may be wrong by any factor.
        (Some(median), Some(p95)) if p95 >= 10.0 => format!("{:.0} / > 1000 %", median * 100.0),
        (Some(median), Some(p95)) => format!("{:.0} / {:.0} %", median * 100.0, p95 * 100.0),
        _ => "not known".to_owned(),
    };
    // A closed form whose error was never measured is an upper bound, because the closed form leaves out causes of
    // loss.
    let goodput = match scheme.goodput_bps {
        Some(bps) if scheme.available || scheme.error_median.is_some() => output::rate(bps),
        Some(bps) => format!("<= {}", output::rate(bps)),
        None => "not predicted".to_owned(),
    };
    let mut row = vec![
        scheme.scheme.to_owned(),
        goodput,
        output::or_dash(scheme.share, output::share),
        output::or_dash(scheme.sent_per_useful, output::share),
        output::or_dash(scheme.packet_p50_s, output::time),
        output::or_dash(scheme.packet_p99_s, output::time),
        output::or_dash(scheme.request_p50_s, output::time),
        output::or_dash(scheme.request_p99_s, output::time),
        error,
    ];
    let one = scheme.simulated;
    if simulated {
        row.push(output::or_dash(one, |one| output::rate(one.goodput_bps)));
        row.push(output::or_dash(one.and_then(|one| one.ci95_bps), output::rate));
    }
    if verified {
        row.push(output::or_dash(one.and_then(|one| one.request_p50_s), output::time));
        row.push(output::or_dash(one.and_then(|one| one.request_p99_s), output::time));
    }
    row
}

fn notes(plan: &PlanAnswer) -> String {
    let mut text = "\nerror: how far the predicted goodput is from the simulated goodput on links with similar \
                    losses, median and 95th percentile (docs/plan-report.md)\n"
        .to_owned();
    for scheme in &plan.schemes {
        let settings = scheme.settings.as_ref().map_or(String::new(), |settings| format!("; {settings}"));
        let only = if scheme.available { "" } else { "; this scheme exists only in the simulator or on paper" };
        let why = scheme.not_predicted.map_or(String::new(), |why| format!("; not predicted: {why}"));
        let _ = writeln!(text, "{}: {}{settings}{only}{why}", scheme.scheme, scheme.model);
    }
    text
}

fn advice(plan: &PlanAnswer) -> String {
    let mut text = match plan.recommended {
        Some(scheme) => format!("\nuse {scheme}: {}\n", plan.reason),
        None => format!("\nno recommendation: {}\n", plan.reason),
    };
    for step in &plan.setup {
        let _ = writeln!(text, "- {step}");
    }
    if let Some(accuracy) = &plan.accuracy {
        let _ = writeln!(
            text,
            "- how sure: on {:.1} % of {} simulated links, the scheme that plan names by closed forms alone was within \
             3 % of the best scheme. On the {} links with {}, this share was {:.1} %. The best scheme of the named \
             family (plain or tunnel) was within 3 % of the best scheme on {:.1} % of the {} links",
            accuracy.scheme * 100.0,
            accuracy.links,
            accuracy.pattern_links,
            accuracy.pattern,
            accuracy.pattern_scheme * 100.0,
            accuracy.family * 100.0,
            accuracy.links
        );
    }
    for line in &plan.outlook {
        let _ = writeln!(text, "- {line}");
    }
    for caution in &plan.cautions {
        let _ = writeln!(text, "- {caution}");
    }
    let _ = writeln!(text, "- the closed forms were compared with simulations of these links: {}", plan.domain);
    text
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e5).round() / 1e3)
}
