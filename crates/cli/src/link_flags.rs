//! The flags that describe an emulated link. Every command with an emulated link has the same flags.

use crate::failure::{Failure, Outcome};
use crate::output;
use clap::Args;
use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span};
use ripstop_lab::preset::loss_model;
use ripstop_link::{Discipline, Duplicate, Fec, LinkConfig, Mark, Policer, RateTrace, Reorder};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// A round-trip time from which on a unit was probably forgotten. No path on Earth takes so long; a bare number is in
/// seconds. Half the value would warn about paths by way of satellites with long queues. Double the value would miss
/// `--rtt 10`, which means 10 s.
const LONG_RTT: Duration = Duration::from_secs(10);

/// Warns if a round-trip time was probably meant in milliseconds.
pub(crate) fn warn_of_long_rtt(rtt: Span) {
    if rtt.duration() >= LONG_RTT {
        output::note(format_args!(
            "warning: --rtt is {rtt}. A bare number is in seconds; write for example 100ms for milliseconds"
        ));
    }
}

/// Flags of a link. "Forth" is the data direction. "Back" is the opposite direction.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The link")]
pub(crate) struct LinkFlags {
    /// Rate of the link, IP headers included
    #[arg(long, value_name = "RATE", default_value = "20Mbit/s")]
    pub(crate) rate: Rate,
    /// Rate of the way back [default: as --rate]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate_back: Option<Rate>,
    /// A file with the rate of the data direction over time, instead of --rate: a trace of Mahimahi, or a time and a
    /// rate in each line (docs/researchers/simulator.md)
    #[arg(long, value_name = "FILE", value_parser = rate_trace)]
    pub(crate) rate_trace: Option<LoadedTrace>,
    /// Round-trip time of the idle link without serialisation. Each direction has half of this delay
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub(crate) rtt: Span,
    /// Share of packets lost in the data direction. A lost packet still uses its transmission time on the link
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub(crate) loss: Fraction,
    /// Share of packets lost on the way back [default: as --loss]
    #[arg(long, value_name = "SHARE")]
    pub(crate) loss_back: Option<Fraction>,
    /// Mean length of a run of losses, in packets. Above 1, the losses follow Gilbert's model
    #[arg(long, value_name = "PACKETS", default_value = "1", value_parser = burst)]
    pub(crate) burst: f64,
    /// Queue of the link in each direction, in packets (200) or bytes (300kB) [default: one bandwidth-delay
    /// product]
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<QueueLimit>,
    /// Queue discipline of the link in each direction: fifo, codel, pie or fq
    #[arg(long, value_name = "NAME", default_value = "fifo")]
    pub(crate) aqm: Discipline,
    /// The queue discipline marks ECN-capable packets with Congestion Experienced instead of dropping them
    #[arg(long)]
    pub(crate) ecn: bool,
    /// Mark ECN-capable packets with Congestion Experienced: a share of the packets (5%), packets that wait this long
    /// (5ms), or packets that find a queue of this many packets (30) or bytes (300kB) [default: mark no packet]
    #[arg(long, value_name = "WHEN")]
    pub(crate) mark: Option<Mark>,
    /// Largest additional delay of a packet. The additional delay is random, uniform from 0 to this value. Packets
    /// stay in order
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) jitter: Span,
    /// Share of packets that are held back. --reorder-by says for how long. Later packets overtake a packet that is held back
    #[arg(long, value_name = "SHARE", default_value = "0")]
    pub(crate) reorder: Fraction,
    /// How long --reorder holds a packet back
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) reorder_by: Span,
    /// Share of packets delivered twice
    #[arg(long, value_name = "SHARE", default_value = "0")]
    pub(crate) duplicate: Fraction,
    /// Share of packets in which one bit is flipped
    #[arg(long, value_name = "SHARE", default_value = "0")]
    pub(crate) corrupt: Fraction,
    /// Drop packets above this rate in the data direction (a token bucket of 50 ms). Loss then grows with the
    /// offered rate
    #[arg(long, value_name = "RATE")]
    pub(crate) policer: Option<Rate>,
    /// Seed of all random numbers. With equal seeds, the same packets are lost
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: Seed,
}

/// A rate trace, and the file that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct LoadedTrace {
    file: String,
    trace: RateTrace,
}

/// The link's settings, for `--json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LinkFacts {
    pub(crate) rate_bps: u64,
    pub(crate) rate_back_bps: u64,
    pub(crate) rate_trace: Option<String>,
    pub(crate) rtt_s: f64,
    pub(crate) loss: f64,
    pub(crate) loss_back: f64,
    pub(crate) burst_packets: f64,
    pub(crate) queue_bytes: Option<u64>,
    pub(crate) queue_packets: Option<u64>,
    pub(crate) aqm: &'static str,
    pub(crate) ecn: bool,
    pub(crate) mark_bytes: Option<u64>,
    pub(crate) mark_packets: Option<u64>,
    pub(crate) mark_share: Option<f64>,
    pub(crate) mark_wait_s: Option<f64>,
    pub(crate) jitter_s: f64,
    pub(crate) reorder: f64,
    pub(crate) reorder_by_s: f64,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    pub(crate) policer_bps: Option<u64>,
    pub(crate) seed: u64,
}

impl LinkFlags {
    /// The data direction and the way back.
    ///
    /// # Errors
    /// A value is invalid. The message names the flag.
    pub(crate) fn directions(&self) -> Outcome<(LinkConfig, LinkConfig)> {
        let rtt = self.rtt.duration();
        let mut forth =
            LinkConfig { policer: self.policer.map(Policer::new), ..self.direction(self.mean_rate(), rtt, self.loss) };
        if let Some(loaded) = &self.rate_trace {
            (forth.rate, forth.rate_trace) = (Rate::from_bps(0), Some(loaded.trace.clone()));
        }
        let back = self.direction(self.rate_back.unwrap_or(self.rate), rtt, self.loss_back());
        check(&forth, "--loss")?;
        check(&back, "--loss-back")?;
        Ok((forth, back))
    }

    /// The data direction with a block code, and the way back.
    ///
    /// # Errors
    /// A value is invalid, or the block code does not go with the other settings. The message names the flag.
    pub(crate) fn directions_with(&self, code: Option<Fec>) -> Outcome<(LinkConfig, LinkConfig)> {
        let (mut forth, back) = self.directions()?;
        forth.fec = code;
        check(&forth, "--loss")?;
        Ok((forth, back))
    }

    /// The mean rate of the data direction.
    fn mean_rate(&self) -> Rate {
        self.rate_trace.as_ref().map_or(self.rate, |loaded| loaded.trace.mean())
    }

    /// Share of packets lost on the way back.
    pub(crate) fn loss_back(&self) -> Fraction {
        self.loss_back.unwrap_or(self.loss)
    }

    /// Warns on standard error about flags without effect, and about values that probably mean something else.
    pub(crate) fn warn(&self) {
        warn_of_long_rtt(self.rtt);
        if self.burst > 1.0 && self.loss.get() == 0.0 && self.loss_back().get() == 0.0 {
            output::note("warning: --burst has no effect without --loss: nothing is lost");
        }
    }

    /// The link's settings, for `--json`.
    pub(crate) fn facts(&self) -> LinkFacts {
        let path = LinkConfig::path(self.mean_rate(), self.rtt.duration(), self.loss);
        let (queue_bytes, queue_packets) = bytes_or_packets(self.queue.or(path.queue));
        let (mark_bytes, mark_packets) = bytes_or_packets(match self.mark {
            Some(Mark::Queue(limit)) => Some(limit),
            _ => None,
        });
        LinkFacts {
            rate_bps: self.mean_rate().bps(),
            rate_back_bps: self.rate_back.unwrap_or(self.rate).bps(),
            rate_trace: self.rate_trace.as_ref().map(|loaded| loaded.file.clone()),
            rtt_s: self.rtt.duration().as_secs_f64(),
            loss: self.loss.get(),
            loss_back: self.loss_back().get(),
            burst_packets: self.burst,
            queue_bytes,
            queue_packets,
            aqm: self.aqm.name(),
            ecn: self.ecn,
            mark_bytes,
            mark_packets,
            mark_share: match self.mark {
                Some(Mark::Share(share)) => Some(share.get()),
                _ => None,
            },
            mark_wait_s: match self.mark {
                Some(Mark::Wait(wait)) => Some(wait.duration().as_secs_f64()),
                _ => None,
            },
            jitter_s: self.jitter.duration().as_secs_f64(),
            reorder: self.reorder.get(),
            reorder_by_s: self.reorder_by.duration().as_secs_f64(),
            duplicate: self.duplicate.get(),
            corrupt: self.corrupt.get(),
            policer_bps: self.policer.map(Rate::bps),
            seed: self.seed.master(),
        }
    }

    /// The link's settings as text.
    pub(crate) fn words(&self) -> String {
        let mut words = format!("{}, RTT {}", shown_rate(self.mean_rate()), self.rtt);
        if let Some(loaded) = &self.rate_trace {
            words.push_str(&format!(", rate from {}", loaded.file));
        }
        if let Some(back) = self.rate_back.filter(|back| *back != self.rate) {
            words.push_str(&format!(", back {}", shown_rate(back)));
        }
        words.push_str(&format!(", loss {} forth and {} back", self.loss, self.loss_back()));
        if self.burst > 1.0 {
            words.push_str(&format!(" in bursts of {} packets", self.burst));
        }
        if self.aqm.is_aqm() {
            words.push_str(&format!(", queue discipline {}", self.aqm.name()));
        }
        words
    }

    fn direction(&self, rate: Rate, rtt: Duration, loss: Fraction) -> LinkConfig {
        let path = LinkConfig::path(rate, rtt, loss);
        LinkConfig {
            queue: self.queue.or(path.queue),
            queue_discipline: self.aqm,
            ecn: self.ecn,
            mark: self.mark,
            loss: loss_model(loss, self.burst),
            jitter: self.jitter,
            reorder: (self.reorder.get() > 0.0)
                .then_some(Reorder { probability: self.reorder, extra_delay: self.reorder_by }),
            duplicate: (self.duplicate.get() > 0.0)
                .then_some(Duplicate { probability: self.duplicate, extra_delay: Duration::ZERO.into() }),
            corrupt: self.corrupt,
            ..path
        }
    }
}

/// Checks a direction. `loss` is the flag of its loss.
///
/// # Errors
/// A value is invalid. The message names the flag.
fn check(direction: &LinkConfig, loss: &str) -> Outcome<()> {
    direction.check().map_err(|error| {
        let flag = match error.field.as_str() {
            "loss.mean" => loss,
            "loss.burst" => "--burst",
            "policer.rate" | "policer.burst" => "--policer",
            "reorder.extra_delay" => "--reorder-by",
            "queue_discipline" => "--aqm",
            "ecn" => "--ecn",
            "mark" => "--mark",
            other => other,
        };
        Failure::flag(flag, &error.problem)
    })
}

fn bytes_or_packets(limit: Option<QueueLimit>) -> (Option<u64>, Option<u64>) {
    match limit {
        Some(QueueLimit::Bytes(n)) => (Some(n), None),
        Some(QueueLimit::Packets(n)) => (None, Some(n)),
        None => (None, None),
    }
}

fn shown_rate(rate: Rate) -> String {
    if rate.bps() == 0 { "unlimited rate".to_owned() } else { rate.to_string() }
}

/// Reads the mean length of a run of losses.
pub(crate) fn burst(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(burst) if burst.is_finite() && burst >= 1.0 => Ok(burst),
        _ => Err("a mean burst length is 1 packet or more; write for example `4`".to_owned()),
    }
}

/// Reads the file of a rate trace.
fn rate_trace(file: &str) -> Result<LoadedTrace, String> {
    let text =
        ripstop_lab::files::read_text(Path::new(file)).map_err(|error| format!("cannot read the file: {error}"))?;
    Ok(LoadedTrace { file: file.to_owned(), trace: RateTrace::parse(&text)? })
}

fn seed(text: &str) -> Result<Seed, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a seed; write a whole number from 0 to {}, for example `42`", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use ripstop_link::Loss;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        link: LinkFlags,
    }

    fn flags(words: &[&str]) -> LinkFlags {
        Alone::try_parse_from(["alone"].iter().chain(words)).unwrap().link
    }

    #[test]
    fn the_default_is_the_link_of_the_comparisons() {
        let (forth, back) = flags(&[]).directions().unwrap();
        let want = LinkConfig::path("20Mbit/s".parse().unwrap(), Duration::from_millis(100), "5%".parse().unwrap());
        assert_eq!((&forth, &back), (&want, &want));
        assert_eq!(forth.queue, Some(QueueLimit::Bytes(250_000)));
    }

    #[test]
    fn directions_differ_where_asked() {
        let flags = flags(&["--loss=10%", "--loss-back=0", "--burst=4", "--rate-back=1Mbit/s", "--policer=5Mbit/s"]);
        let (forth, back) = flags.directions().unwrap();
        assert_eq!(forth.loss, Loss::Gilbert { mean: Fraction::new(0.1).unwrap(), burst: 4.0 });
        assert_eq!((back.loss, back.rate.bps(), back.policer), (Loss::None, 1_000_000, None));
        assert_eq!(forth.policer.map(|p| p.burst.get()), Some(31_250));
        assert_eq!(flags.facts().rate_back_bps, 1_000_000);
    }

    #[test]
    fn queues_and_marks_apply_to_both_directions() {
        let flags = flags(&["--aqm=codel", "--ecn", "--mark=5%"]);
        let (forth, back) = flags.directions().unwrap();
        for way in [&forth, &back] {
            assert_eq!((way.queue_discipline, way.ecn), (Discipline::codel(), true));
            assert_eq!(way.mark, Some(Mark::Share(Fraction::new(0.05).unwrap())));
        }
        let facts = flags.facts();
        assert_eq!((facts.aqm, facts.ecn, facts.mark_share, facts.mark_packets), ("codel", true, Some(0.05), None));
    }

    #[test]
    fn a_rate_trace_is_read_from_its_file() {
        let file = std::env::temp_dir().join(format!("ripstop-rate-trace-{}", std::process::id()));
        std::fs::write(&file, "0s 20Mbit/s\n2s 5Mbit/s\n10s repeat\n").unwrap();
        let name = file.to_str().unwrap().to_owned();
        let flags = flags(&["--rate-trace", &name]);
        let (forth, back) = flags.directions().unwrap();
        assert_eq!((forth.rate.bps(), forth.mean_rate().bps(), back.rate.bps()), (0, 8_000_000, 20_000_000));
        assert_eq!(forth.queue, Some(QueueLimit::Bytes(100_000)));
        assert_eq!((flags.facts().rate_bps, flags.facts().rate_trace), (8_000_000, Some(name.clone())));
        std::fs::write(&file, "0s fast\n").unwrap();
        let error = Alone::try_parse_from(["alone", "--rate-trace", &name]).unwrap_err().to_string();
        assert!(error.contains("--rate-trace") && error.contains("line 1"), "{error}");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn an_invalid_value_names_its_flag() {
        let words = |words: &[&str]| match flags(words).directions() {
            Err(Failure::Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(words(&["--loss=90%", "--burst=2"]).starts_with("--loss: "));
        assert!(words(&["--loss=1%", "--loss-back=90%", "--burst=2"]).starts_with("--loss-back: "));
        assert!(words(&["--reorder=1%", "--reorder-by=0"]).starts_with("--reorder-by: "));
        assert!(words(&["--policer=0"]).starts_with("--policer: "));
        assert!(words(&["--ecn"]).starts_with("--ecn: "));
        assert!(words(&["--mark=0%"]).starts_with("--mark: "));
    }
}
