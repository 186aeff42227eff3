//! What a simulation prints.

use crate::output::{self, Table, or_dash};
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{FlowReport, Report, Scenario};
use serde::Serialize;

/// The result of a simulation, for `--json`.
#[derive(Serialize)]
pub(crate) struct Result<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) seed: u64,
    pub(crate) runs: u32,
    #[serde(flatten)]
    pub(crate) report: &'a Report,
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
}

/// So many flows of a kind are listed one by one.
const MOST_ROWS: usize = 20;

impl Result<'_> {
    /// The result for people.
    pub(super) fn table(&self) -> String {
        let report = self.report;
        let mut text = flows("", &report.goodput_bps, &report.flows);
        if let Some(Statistic { mean: Some(mean), ci95, .. }) = report.throughput_units_per_s {
            let interval = ci95.map_or_else(String::new, |ci95| format!(" +-{ci95:.1}"));
            text += &format!("all flows together: {mean:.1}{interval} units/s\n");
        }
        for interval in &report.intervals {
            let name = format!("\n{} s to {} s\n", interval.from_s, interval.to_s);
            text += &flows(&name, &interval.goodput_bps, &interval.flows);
        }
        text + &format!(
            "\n{} of {} of virtual time, seed {}: {} events in {} ({} of CPU time, {} virtual seconds in each)\n",
            if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs) },
            self.scenario.run.duration,
            self.seed,
            report.events,
            output::time(self.wall_s),
            output::time(self.cpu_s),
            or_dash((self.cpu_s > 0.0).then(|| report.sim_s / self.cpu_s), |ratio| format!("{ratio:.0}")),
        )
    }
}

fn flows(title: &str, goodput: &Statistic, flows: &[FlowReport]) -> String {
    let mut table = Table::titled(["", "goodput", "", "cwnd", "SRTT", "delay", "sent", "again", "time-outs"]);
    for flow in flows.iter().take(MOST_ROWS) {
        let number = |s: &Statistic| or_dash(s.mean, |mean| format!("{mean:.1}"));
        let time = |s: &Statistic| or_dash(s.mean, output::time);
        let [mean, interval] = rate(&flow.goodput_bps);
        table.row([
            flow.name.clone(),
            mean,
            interval,
            number(&flow.cwnd_packets),
            time(&flow.srtt_s),
            time(&flow.delay_s),
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

/// A rate, and half its interval behind a sign.
fn rate(statistic: &Statistic) -> [String; 2] {
    [
        or_dash(statistic.mean, output::rate),
        statistic.ci95.map_or_else(String::new, |ci95| format!("+-{}", output::rate(ci95))),
    ]
}
