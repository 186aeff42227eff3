//! The page with the results, as Markdown.

use super::Arguments;
use super::contenders::Contender;
use super::links::CompareLink;
use super::measure::{Cell, Figures};
use std::fmt::Write as _;

/// The results so far.
#[derive(Debug)]
pub(crate) struct Page {
    links: Vec<CompareLink>,
    runs: u64,
    requests: usize,
    commit: Option<String>,
    note: Option<String>,
    /// Name, version and settings of the contenders.
    contenders: Vec<[String; 3]>,
    /// Contenders that could not run, with the reason.
    missing: Vec<(&'static str, String)>,
    rows: Vec<Row>,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) link: &'static str,
    pub(crate) contender: &'static str,
    pub(crate) cell: Cell,
}

/// What the page is, before the results.
const HEAD: &str = "\
# Ripstop beside other programs

For readers who choose a way to carry TCP over a lossy link. The page compares kernel TCP, Ripstop, and other programs
on the same emulated links, with the same losses. Measure it again with this command:

```sh
make compare                                      # all links, one run each
make compare LINKS=5 CONTENDERS=bbr,ripstop+bbr   # a part
make compare RUNS=3 PAGE=docs/researchers/compare.md NOTE=\"The machine was idle.\"   # write this page
```

The emulator of `ripstop emulate` carries the packets: a drop-tail queue of one bandwidth-delay product, then losses,
then the delay. Both directions have the same settings. Each contender carries two workloads of the kernel's TCP: first
requests and replies of 100 bytes on the idle link (20 a second, Poisson), then a bulk stream with the same requests at
the same time.

| column | meaning |
|---|---|
| Mbit/s, share | goodput from max(2 s, 20 RTT) to the end of the run, and this goodput over C (1 - p) |
| sent/useful | IP bytes offered to the link in the data direction for each byte that the application got |
| quiet, beside | median and 99th percentile of the requests on the idle link, and beside the bulk stream |
| CPU | CPU seconds of the contender's processes and of the workload's threads for each 10^9 bytes delivered; what the kernel does for plain TCP in interrupts is not counted |
| first MB | time from the start of the connection until 10^6 bytes had arrived |
| late | 99th percentile of the lateness of the emulator's packets; above 2 ms the machine was too busy for exact figures |
";

impl Page {
    pub(crate) fn new(arguments: &Arguments, links: &[CompareLink]) -> Page {
        Page {
            links: links.to_vec(),
            runs: arguments.runs,
            requests: arguments.requests,
            commit: arguments.commit.clone(),
            note: arguments.note.clone(),
            contenders: Vec::new(),
            missing: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a contender that can run.
    pub(crate) fn add_contender(&mut self, contender: &Contender, version: String) {
        self.contenders.push([contender.name.to_owned(), version, contender.settings.to_owned()]);
    }

    /// Adds a contender that cannot run.
    pub(crate) fn add_missing(&mut self, contender: &Contender, reason: String) {
        self.missing.push((contender.name, reason));
    }

    /// Adds the results of a contender on a link.
    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The whole page.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(HEAD);
        let build = self.commit.as_ref().map_or(String::new(), |id| format!(" of commit {id}"));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let _ = write!(
            text,
            "\nFigures are medians over {} run(s) with {} requests in each part, Ripstop{build}, on a machine with \
             {cores} processors. {}\n\n## Contenders\n\n| contender | version | settings |\n|---|---|---|\n",
            self.runs,
            self.requests,
            self.note.as_deref().unwrap_or_default()
        );
        for [name, version, settings] in &self.contenders {
            let _ = writeln!(text, "| {name} | {version} | {settings} |");
        }
        for (name, reason) in &self.missing {
            let _ = writeln!(text, "| {name} | missing | {reason} |");
        }
        for link in &self.links {
            let _ = write!(
                text,
                "\n## {}\n\n| contender | Mbit/s | share | sent/useful | quiet p50, p99, ms | beside p50, p99, ms | \
                 CPU, s/GB | first MB, s | late, ms |\n|---|---|---|---|---|---|---|---|---|\n",
                link.words()
            );
            for row in self.rows.iter().filter(|row| row.link == link.name) {
                let _ = writeln!(text, "| {} | {} |", row.contender, row.cell.columns().join(" | "));
            }
            for (name, _) in &self.missing {
                let _ = writeln!(text, "| {name} | missing | | | | | | | |");
            }
        }
        for row in self.rows.iter().filter(|row| row.cell.failure().is_some()) {
            let reason = row.cell.failure().unwrap_or_default();
            let _ = write!(text, "\nFailed: {} on link {}: {reason}\n", row.contender, row.link);
        }
        text
    }
}

impl Cell {
    /// The columns of a row.
    fn columns(&self) -> [String; 8] {
        let median = |digits: usize, factor: f64, figure: &dyn Fn(&Figures) -> f64| {
            self.median(figure).map_or("-".to_owned(), |value| format!("{:.digits$}", factor * value))
        };
        let pair = |figure: &dyn Fn(&Figures) -> [f64; 2]| {
            format!("{}, {}", median(0, 1e3, &|f| figure(f)[0]), median(0, 1e3, &|f| figure(f)[1]))
        };
        [
            median(2, 1e-6, &|f| f.goodput_bps),
            median(3, 1.0, &|f| f.share),
            median(3, 1.0, &|f| f.sent_per_useful),
            pair(&|f| f.quiet_s),
            pair(&|f| f.beside_s),
            median(0, 1.0, &|f| f.cpu_s_per_gb),
            median(2, 1.0, &|f| f.first_1mb_s),
            median(1, 1e3, &|f| f.late_s),
        ]
    }
}
