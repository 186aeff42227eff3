//! `make compare`: Ripstop beside kernel TCP and other programs on the same emulated links.
//!
//! `compare [--links NAMES] [--contenders NAMES] [--runs N] [--requests N] [--tools DIRECTORY] [--page FILE] [--commit ID]
//! [--note TEXT]`
//!
//! Each contender carries the same workload over the same links, with the same losses: requests on the idle link, then
//! a bulk stream with requests at the same time. `--requests` is the number of requests in each part, 20 of them a
//! second. `--tools` is searched before `PATH` for the other programs. A contender whose program is not installed is
//! listed as missing. The page is Markdown, and is written anew after each contender.
//!
//! Hosts are network namespaces without a name, the other programs die with this process, and their files are on a
//! private file system in memory. So nothing is left behind after an error, Ctrl-C or kill -9.

mod contenders;
mod hysteria;
mod kcptun;
mod links;
mod measure;
mod page;
mod programs;
mod wireguard;

use contenders::Contender;
use links::CompareLink;
use measure::Cell;
use page::{Page, Row};
use programs::Tools;
use ripstop_net::os::netns::gain_privilege;
use std::error::Error;
use std::path::PathBuf;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The number of requests on the idle link, and again beside the bulk stream. 20 requests take a second. Half the
/// number leaves two requests above the 99th percentile. Double the number doubles the time of the comparison.
const REQUESTS: usize = 400;

/// What to measure.
#[derive(Debug)]
struct Arguments {
    links: Option<String>,
    contenders: Option<String>,
    runs: u64,
    requests: usize,
    tools: Option<PathBuf>,
    page: Option<PathBuf>,
    commit: Option<String>,
    /// A sentence about the machine and the runs, for the page.
    note: Option<String>,
}

fn main() -> Outcome<()> {
    let arguments = Arguments::read()?;
    let links = chosen(arguments.links.as_deref(), links::all(), |link| link.name)?;
    let contenders = chosen(arguments.contenders.as_deref(), contenders::all(), |contender| contender.name)?;
    // Both calls must come before the first thread is started.
    gain_privilege()?;
    programs::hide_files()?;
    let tools = Tools::new(arguments.tools.clone());
    let mut page = Page::new(&arguments, &links);
    let mut failures = 0;
    for contender in &contenders {
        let version = match contender.version(&tools) {
            Ok(version) => version,
            Err(reason) => {
                eprintln!("{}: missing: {reason}", contender.name);
                page.add_missing(contender, reason);
                continue;
            }
        };
        page.add_contender(contender, version);
        for link in &links {
            let cell = measure_cell(contender, link, &arguments, &tools);
            failures += usize::from(cell.failure().is_some());
            page.add(Row { link: link.name, contender: contender.name, cell });
        }
        if let Some(file) = &arguments.page {
            std::fs::write(file, page.text())?;
        }
    }
    if arguments.page.is_none() {
        print!("{}", page.text());
    }
    if failures > 0 {
        return Err(format!("{failures} measurements failed; the page names them").into());
    }
    Ok(())
}

/// All runs of one contender on one link.
fn measure_cell(contender: &Contender, link: &CompareLink, arguments: &Arguments, tools: &Tools) -> Cell {
    let mut cell = Cell::default();
    for seed in 1..=arguments.runs {
        match measure::measure(contender, link, seed, arguments.requests, tools) {
            Ok(figures) => {
                eprintln!("{}, {}, seed {seed}: {figures}", contender.name, link.name);
                cell.runs.push(figures);
            }
            Err(reason) => {
                eprintln!("{}, {}, seed {seed}: failed: {reason}", contender.name, link.name);
                cell.failures.push(reason);
            }
        }
    }
    cell
}

/// The items that the comma-separated `names` choose, in their usual order; all without names.
fn chosen<T>(names: Option<&str>, all: Vec<T>, name: impl Fn(&T) -> &'static str) -> Outcome<Vec<T>> {
    let Some(names) = names.filter(|names| !names.is_empty()) else { return Ok(all) };
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    let known: Vec<&str> = all.iter().map(&name).collect();
    if let Some(wrong) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no `{wrong}`; write some of {}", known.join(",")).into());
    }
    Ok(all.into_iter().filter(|item| names.contains(&name(item))).collect())
}

impl Arguments {
    fn read() -> Outcome<Arguments> {
        let mut read = Arguments {
            links: None,
            contenders: None,
            runs: 1,
            requests: REQUESTS,
            tools: None,
            page: None,
            commit: None,
            note: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(flag) = words.next() {
            let value = words.next().ok_or(format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--links" => read.links = Some(value),
                "--contenders" => read.contenders = Some(value),
                "--runs" => read.runs = value.parse().map_err(|_| "--runs takes a whole number from 1 on")?,
                "--requests" => read.requests = value.parse().map_err(|_| "--requests takes a whole number")?,
                "--tools" => read.tools = Some(value.into()),
                "--page" => read.page = Some(value.into()),
                "--commit" => read.commit = Some(value),
                "--note" => read.note = Some(value).filter(|note| !note.is_empty()),
                _ => return Err(format!("there is no flag {flag}").into()),
            }
        }
        if read.runs == 0 || read.requests == 0 {
            return Err("--runs and --requests must be at least 1".into());
        }
        Ok(read)
    }
}
