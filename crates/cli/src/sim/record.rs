//! Records the first run of a scenario: the packets, the events, and the frames on the air.

use super::output::OutputFlags;
use crate::failure::{Failure, Outcome};
use ripstop_base::{Span, Time};
use ripstop_lab::figure::timeline_picture;
use ripstop_sim::scenario::{self, AccessName, AirCapture, AirTimeline, Capture, Scenario, Trace};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The length of a timeline without `--timeline-for`. This is about twenty exchanges of data and MAC ACK. With half the
/// value, few packets cross a string during the timeline. With double the value, a MAC ACK is hard to see.
const TIMELINE: Duration = Duration::from_millis(50);
/// The longest timeline. A picture of 1 s shows 20 times as many frames in the same width as a picture of 50 ms, so
/// nobody can read a picture of 1 s. For ten stations, the file of such a picture has some 2 MB. Double the value
/// doubles the size of the file.
const LONGEST_TIMELINE: Duration = Duration::from_secs(1);

/// How to record the frames on the air. Commands whose scenarios have no medium do not have these flags.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "The air")]
pub(super) struct AirFlags {
    /// Write the frames on the air in the first run to this file, as an IEEE 802.11 capture for Wireshark
    #[arg(long, value_name = "FILE")]
    air_pcap: Option<PathBuf>,
    /// Draw a timeline of a part of the first run as SVG. The timeline shows what each station sends, loses and waits
    /// for
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// When the timeline begins [default: the end of the warm-up]
    #[arg(long, value_name = "TIME", requires = "timeline")]
    timeline_from: Option<Span>,
    /// Length of the timeline, at most 1s [default: 50ms]
    #[arg(long, value_name = "TIME", requires = "timeline")]
    timeline_for: Option<Span>,
}

impl AirFlags {
    /// Checks the flags against the scenario. Returns the beginning and the end of the timeline.
    fn check(&self, scenario: &Scenario) -> Outcome<[Time; 2]> {
        for (flag, path) in [("--air-pcap", &self.air_pcap), ("--timeline", &self.timeline)] {
            if path.is_some() && scenario.medium.is_empty() {
                let problem = "the scenario has no stations; add a `[[medium]]`, or record links with --pcap";
                return Err(Failure::flag(flag, problem));
            }
            if path.is_some() && scenario.medium.iter().all(|medium| medium.access != AccessName::Dcf) {
                let problem = "ideal access sends no frames; remove this flag, or set the medium's access to `dcf`";
                return Err(Failure::flag(flag, problem));
            }
        }
        let (duration, warmup) = (scenario.run.duration.duration(), scenario.run.warmup.duration());
        let from = self.timeline_from.map_or(warmup, Span::duration);
        let length = self.timeline_for.map_or(TIMELINE, Span::duration);
        if self.timeline.is_none() {
            return Ok([Time::ZERO; 2]);
        }
        if length.is_zero() || length > LONGEST_TIMELINE {
            let problem = "a picture shows more than 0 s and at most 1 s; write for example `50ms`";
            return Err(Failure::flag("--timeline-for", problem));
        }
        if from >= duration {
            let problem = format!("the run ends at {}; write an earlier time", scenario.run.duration);
            return Err(Failure::flag("--timeline-from", problem));
        }
        let to = (from + length).min(duration);
        Ok([from, to].map(|at| Time::ZERO + at))
    }
}

/// Repeats the first run outside the measurement. Writes the packets (`--pcap`), the events (`--trace`) and the frames
/// on the air (`--air-pcap`, `--timeline`) to files. Does nothing without these flags.
pub(super) fn record(scenario: &Scenario, flags: &OutputFlags, air: &AirFlags) -> Outcome<()> {
    let [from, to] = air.check(scenario)?;
    if [&flags.pcap, &flags.trace, &air.air_pcap, &air.timeline].iter().all(|path| path.is_none()) {
        return Ok(());
    }
    let capture = begin(flags.pcap.as_deref(), |file| Capture::new(scenario, file))?;
    let trace = begin(flags.trace.as_deref(), |file| Trace::new(scenario, file))?;
    let air_capture = begin(air.air_pcap.as_deref(), |file| AirCapture::new(scenario, file))?;
    // The file is opened before the run, so that a wrong path is reported at once.
    let picture = begin(air.timeline.as_deref(), Ok)?;
    let timeline = picture.as_ref().map(|_| AirTimeline::new(scenario, from, to));
    let mut observers = ((capture, trace), (air_capture, timeline));
    scenario::run_once(scenario, 0, &mut observers).map_err(|error| Failure::Usage(error.to_string()))?;
    let ((capture, trace), (air_capture, timeline)) = observers;
    end(flags.pcap.as_deref(), capture, Capture::finish)?;
    end(flags.trace.as_deref(), trace, Trace::finish)?;
    end(air.air_pcap.as_deref(), air_capture, AirCapture::finish)?;
    end(air.timeline.as_deref(), picture.zip(timeline), |(mut file, timeline)| {
        file.write_all(timeline_picture(&timeline.finish(), &command()).as_bytes())?;
        file.flush()
    })
}

/// Creates the file at `path` and begins to write the file. Returns None if there is no path.
fn begin<T>(path: Option<&Path>, new: impl FnOnce(BufWriter<File>) -> io::Result<T>) -> Outcome<Option<T>> {
    let open = |path: &Path| {
        let file = File::create(path).map(BufWriter::new);
        file.and_then(new).map_err(|error| Failure::work(path.display(), error))
    };
    path.map(open).transpose()
}

/// Completes the file at `path`.
fn end<T>(path: Option<&Path>, writer: Option<T>, finish: impl FnOnce(T) -> io::Result<()>) -> Outcome<()> {
    let path = path.unwrap_or(Path::new(""));
    writer.map_or(Ok(()), finish).map_err(|error| Failure::work(path.display(), error))
}

/// The command line of this process, as a shell would read it.
fn command() -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:%+@".contains(c);
    let quoted = |word: String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let arguments = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    let words: Vec<String> = std::iter::once("ripstop".to_owned()).chain(arguments).collect();
    words.join(" ")
}
