//! The figures that the product is to reach, on the demonstration's link: medians of three runs, seed by
//! seed. Plain BBR beside it is the control: where it falls short the machine is too busy to say
//! anything. `make accept` runs this; it takes minutes, and a machine with nothing else to do.

mod common;

use common::{json, ripstop};
use serde_json::Value;

/// What headers cost: 1500 / (1436 - 52), the tunnel's MTU being 64 bytes less than the path's.
const HEADERS: f64 = 1.084;

const RUNS: usize = 3;

struct Link {
    name: &'static str,
    flags: [&'static str; 2],
    loss: f64,
    /// Least share of the tunnel.
    share: f64,
    /// Most sent/useful of the tunnel, over h/(1-p).
    sent: f64,
    /// Least share of plain BBR on a quiet machine; None where BBR itself is at its edge.
    control: Option<f64>,
    /// Most share of plain CUBIC: it is what a kernel does.
    cubic: f64,
}

const LINKS: [Link; 3] = [
    Link {
        name: "no loss",
        flags: ["--loss=0", "--loss-back=0"],
        loss: 0.0,
        share: 0.86,
        sent: 1.03,
        control: Some(0.85),
        cubic: 1.0,
    },
    Link {
        name: "5 %",
        flags: ["--loss=5%", "--loss-back=5%"],
        loss: 0.05,
        share: 0.80,
        sent: 1.07,
        control: Some(0.80),
        cubic: 0.06,
    },
    Link {
        name: "20 %",
        flags: ["--loss=20%", "--loss-back=20%"],
        loss: 0.20,
        share: 0.70,
        sent: 1.07,
        control: None,
        cubic: 0.03,
    },
];

#[test]
fn the_tunnel_reaches_its_shares() {
    let mut problems = Vec::new();
    for link in &LINKS {
        let reports: Vec<Value> = (1..=RUNS)
            .map(|seed| {
                let output = ripstop()
                    .args(["demo", "--json", &format!("--seed={seed}")])
                    .args(link.flags)
                    .output()
                    .expect("the program starts");
                json(&output)
            })
            .collect();
        let names = reports[0]["contenders"].as_array().expect("contenders").iter();
        for name in names.filter_map(|c| c["name"].as_str()) {
            println!(
                "{:8} {name:12} share {:.3}  sent/useful {:.3}",
                link.name,
                median(&reports, name, "share"),
                median(&reports, name, "sent_per_useful")
            );
        }
        let mut require = |ok: bool, what: String| {
            if !ok {
                problems.push(format!("{}: {what}", link.name));
            }
        };
        if let Some(least) = link.control {
            let bbr = median(&reports, "bbr", "share");
            // Not offered by this kernel: no control.
            require(
                bbr.is_nan() || bbr >= least,
                format!("INCONCLUSIVE, the machine is too busy: plain BBR {bbr:.3} < {least}"),
            );
        }
        let cubic = median(&reports, "cubic", "share");
        require(cubic <= link.cubic, format!("plain CUBIC {cubic:.3} > {}", link.cubic));
        let share = median(&reports, "ripstop", "share");
        require(share >= link.share, format!("ripstop: share {share:.3} < {}", link.share));
        let most = link.sent * HEADERS / (1.0 - link.loss);
        let sent = median(&reports, "ripstop", "sent_per_useful");
        require(sent <= most, format!("ripstop: sent/useful {sent:.3} > {most:.3}"));
        for report in &reports {
            let whole = contender(report, "ripstop").is_some_and(|c| c["sha256_ok"] == true);
            require(
                whole,
                format!("ripstop: the file did not arrive whole, seed {}", report["link"]["seed"]),
            );
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

fn contender<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["contenders"].as_array()?.iter().find(|c| c["name"] == name)
}

/// The median of a contender's figure; NaN, which meets no bound, when a run has none.
fn median(reports: &[Value], name: &str, figure: &str) -> f64 {
    let all = reports.iter().map(|report| contender(report, name)?[figure].as_f64());
    let Some(mut all) = all.collect::<Option<Vec<f64>>>() else { return f64::NAN };
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
