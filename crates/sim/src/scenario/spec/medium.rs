//! A shared medium in a scenario: its stations, their places, and the rules of its MAC.

use super::ideal::{AccessName, IdealSpec};
use crate::wifi::{
    AdaptiveBackoff, BackoffRule, Cadence, Errors, Position, PostBackoff, ProtectionK, RandomLoss, Residual, Routing,
    TimerEffect, TimerStart, WifiConfig, XorConfig,
};
use ripstop_base::{Distance, Fraction, Rate, Span};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The largest number of stations of a medium. The table of ways between stations grows with the square of the number
/// of stations: 1000 stations need some 30 MB. Half the value needs a quarter of this memory, and double the value
/// needs four times as much.
const MOST_STATIONS: usize = 1000;

/// The contention windows that can be set, slots. At 20 us a slot, a back-off from the largest window takes 0.7 s on
/// average. A larger window would keep a station silent for seconds. The standard's largest window has 1024 slots.
const WINDOWS: RangeInclusive<u32> = 1..=65_536;

/// A medium that stations share (IEEE 802.11). Two stations that decode each other are neighbours. Any two stations
/// that a chain of neighbours joins can exchange packets. With AODV, a flow may name any two stations as its ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MediumSpec {
    /// The name of the medium.
    #[serde(default = "defaults::name")]
    pub name: String,
    /// The stations. A station is a node, which links may name as well.
    pub stations: Vec<StationSpec>,
    /// Where parameters that are left out come from: ns-2, or IEEE 802.11.
    #[serde(default)]
    pub preset: MediumPreset,
    /// How stations get the medium: `dcf`, or one of the two kinds of ideal access.
    #[serde(default, skip_serializing_if = "is_default")]
    pub access: AccessName,
    /// The settings of ideal access.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ideal: IdealSpec,
    /// If two frames overlap, the earlier frame survives if it is stronger by at least this factor; 10 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<f64>,
    /// Rate of data frames; 11 Mbit/s when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_rate: Option<Rate>,
    /// Rate of MAC ACKs, RTS, CTS and broadcasts; 2 Mbit/s when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<Rate>,
    /// Up to this distance a frame is decoded; 250 m when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_range: Option<Distance>,
    /// Up to this distance a frame is sensed and disturbs other frames; 550 m when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sense_range: Option<Distance>,
    /// Whether data frames are announced by RTS and CTS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rts: bool,
    /// Transmissions after which a frame without RTS, or an RTS, is dropped; 7 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_retry: Option<u32>,
    /// Transmissions after which a frame with RTS is dropped; 4 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_retry: Option<u32>,
    /// The share of random losses on each hop; no random losses when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Fraction>,
    /// What a random loss destroys: a datagram `above-mac`, or each frame on the air (`per-frame`); `above-mac` when
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
    /// The largest number of packets that may wait in a station's queue; 50 when left out. With the preset `ns2` the
    /// queue holds one packet less, as in ns-2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// How stations find routes: `static` or `aodv`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub routing: Routing,
    /// Whether stations XOR packets that travel in opposite directions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub xor: bool,
    /// Bytes of coding header in each XOR frame.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub xor_header: u32,
    /// How stations draw back-offs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backoff: BackoffName,
    /// Changes to the settings of the adaptive back-off that `backoff` names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adaptive: AdaptiveSpec,
    /// Changes to the parameters of `backoff = "cadence"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cadence: CadenceSpec,
}

/// A station and its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StationSpec {
    /// The name of the node.
    pub name: String,
    /// The place along the string.
    #[serde(default)]
    pub x: Distance,
    /// The place across the string.
    #[serde(default)]
    pub y: Distance,
}

/// The origin of the parameters that a medium leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediumPreset {
    /// The semantics of ns-2.35.
    #[default]
    Ns2,
    /// IEEE 802.11: immediate access on an idle medium, EIFS in place of DIFS, sizes of headers.
    Standard,
}

/// A named rule for back-offs. The letters in parentheses are the names that the independent study of paper 002 uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackoffName {
    /// The contention window doubles with each failure.
    #[default]
    Standard,
    /// Paper 002, algorithm 1 read literally (L).
    #[serde(alias = "L", alias = "l")]
    Adaptive,
    /// Like `adaptive`, but the residual back-off is drawn anew when the timer ends (R).
    #[serde(alias = "R", alias = "r")]
    AdaptiveRedrawn,
    /// Like `adaptive-redrawn`, but with small back-offs after exchanges (AB').
    #[serde(alias = "AB'", alias = "AB", alias = "ab")]
    AdaptiveSmallPost,
    /// An adaptive back-off with which the station is silent while its timer runs.
    #[serde(alias = "hold")]
    AdaptiveHold,
    /// Cadence: stations release packets in the rhythm of the next hops.
    Cadence,
}

/// The settings of the adaptive back-off that paper 002 leaves open. A setting that is left out has the value of the
/// rule that `backoff` names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AdaptiveSpec {
    /// k, the number of hops over which a packet is protected: `learned`, or a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<KSpec>,
    /// The largest k that a station learns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_k: Option<u32>,
    /// The window in slots while the timer does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small_window: Option<u32>,
    /// The window in slots while the timer runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_window: Option<u32>,
    /// What happens to a back-off that is not over when the timer ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual: Option<Residual>,
    /// What starts the timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<TimerStart>,
    /// How the back-off after an exchange is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post: Option<PostBackoff>,
    /// Whether TCP acknowledgements always use the small window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acks_use_small_window: Option<bool>,
    /// Whether the window also doubles with each failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubling: Option<bool>,
    /// What the timer does to the station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<TimerEffect>,
}

/// The parameters of Cadence. A parameter that is left out has its default (`Cadence::default`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CadenceSpec {
    /// The contention window before a failure, slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// How long a station waits after it has overheard its packet being passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Span>,
    /// How long a station waits at most for its packet to be passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// How long a relay holds a TCP acknowledgement at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Span>,
}

impl CadenceSpec {
    fn parameters(&self) -> Cadence {
        let usual = Cadence::default();
        Cadence {
            window: self.window.unwrap_or(usual.window),
            lag: self.lag.map_or(usual.lag, Span::duration),
            timeout: self.timeout.map_or(usual.timeout, Span::duration),
            hold: self.hold.map_or(usual.hold, Span::duration),
        }
    }
}

/// How a station finds k: `learned` from drops, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`learned` or a whole number, such as 2")]
pub enum KSpec {
    /// A given k.
    Fixed(u32),
    /// The word `learned`.
    Word(LearnedWord),
}

/// The word `learned`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearnedWord {
    /// k begins at 1 and grows with each drop.
    Learned,
}

impl StationSpec {
    /// The stations `n0`, `n1`, ... of a string, with these gaps between neighbours.
    pub fn string(gaps: &[Distance]) -> Vec<StationSpec> {
        let mut x = 0.0;
        let places = gaps.iter().map(|gap| {
            x += gap.meters();
            x
        });
        let places: Vec<f64> = std::iter::once(0.0).chain(places).collect();
        let station = |(k, x): (usize, f64)| StationSpec {
            name: format!("n{k}"),
            x: Distance::from_meters(x),
            y: Distance::default(),
        };
        places.into_iter().enumerate().map(station).collect()
    }
}

impl MediumSpec {
    /// A medium with these stations and default settings.
    pub fn new(stations: Vec<StationSpec>) -> MediumSpec {
        MediumSpec {
            name: defaults::name(),
            stations,
            preset: MediumPreset::default(),
            access: AccessName::default(),
            ideal: IdealSpec::default(),
            capture: None,
            data_rate: None,
            basic_rate: None,
            receive_range: None,
            sense_range: None,
            rts: false,
            short_retry: None,
            long_retry: None,
            loss: None,
            errors: None,
            queue: None,
            routing: Routing::Static,
            xor: false,
            xor_header: 0,
            backoff: BackoffName::default(),
            adaptive: AdaptiveSpec::default(),
            cadence: CadenceSpec::default(),
        }
    }

    /// The places of the stations, in order.
    pub fn places(&self) -> Vec<Position> {
        self.stations.iter().map(|station| Position { x: station.x.meters(), y: station.y.meters() }).collect()
    }

    /// The parameters of the medium.
    pub fn config(&self) -> WifiConfig {
        let usual = match self.preset {
            MediumPreset::Ns2 => WifiConfig::ns2(),
            MediumPreset::Standard => WifiConfig::standard(),
        };
        let reserve = if self.preset == MediumPreset::Ns2 { 1 } else { 0 };
        WifiConfig {
            data_rate: self.data_rate.map_or(usual.data_rate, Rate::bps),
            basic_rate: self.basic_rate.map_or(usual.basic_rate, Rate::bps),
            capture: self.capture.unwrap_or(usual.capture),
            receive_range: self.receive_range.map_or(usual.receive_range, Distance::meters),
            sense_range: self.sense_range.map_or(usual.sense_range, Distance::meters),
            rts_threshold: if self.rts { 0 } else { usual.rts_threshold },
            short_retry: self.short_retry.unwrap_or(usual.short_retry),
            long_retry: self.long_retry.unwrap_or(usual.long_retry),
            loss: self.random_loss(),
            queue: self.queue.map_or(usual.queue, |queue| queue.saturating_sub(reserve) as usize),
            routing: self.routing,
            xor: self.xor.then(|| XorConfig { header_bytes: self.xor_header, ..XorConfig::default() }),
            backoff: self.backoff_rule(),
            ..usual
        }
    }

    /// The random losses. None if nothing is lost at random.
    fn random_loss(&self) -> Option<RandomLoss> {
        let probability = self.loss.map(Fraction::get).filter(|loss| *loss > 0.0)?;
        Some(RandomLoss { probability, errors: self.errors.unwrap_or_default() })
    }

    /// The rule for back-offs, with the changes of `adaptive`.
    fn backoff_rule(&self) -> BackoffRule {
        let usual = match self.backoff {
            BackoffName::Standard => return BackoffRule::Standard,
            BackoffName::Cadence => return BackoffRule::Cadence(self.cadence.parameters()),
            BackoffName::Adaptive => AdaptiveBackoff::literal(),
            BackoffName::AdaptiveRedrawn => AdaptiveBackoff::redrawn(),
            BackoffName::AdaptiveSmallPost => AdaptiveBackoff::redrawn_small_post(),
            BackoffName::AdaptiveHold => AdaptiveBackoff::hold(),
        };
        let change = &self.adaptive;
        let k = match change.k {
            Some(KSpec::Fixed(k)) => ProtectionK::Fixed(k),
            Some(KSpec::Word(LearnedWord::Learned)) | None => {
                ProtectionK::Learned { most: change.most_k.unwrap_or(u32::MAX) }
            }
        };
        BackoffRule::Adaptive(AdaptiveBackoff {
            k,
            small_window: change.small_window.unwrap_or(usual.small_window),
            large_window: change.large_window.unwrap_or(usual.large_window),
            residual: change.residual.unwrap_or(usual.residual),
            start: change.start.unwrap_or(usual.start),
            post: change.post.unwrap_or(usual.post),
            acks_use_small_window: change.acks_use_small_window.unwrap_or(usual.acks_use_small_window),
            doubling: change.doubling.unwrap_or(usual.doubling),
            effect: change.effect.unwrap_or(usual.effect),
            data_time: usual.data_time,
        })
    }

    /// Checks the settings. An error has the field and the problem.
    pub(in crate::scenario) fn check(&self) -> Result<(), (String, String)> {
        let wrong = |field: &str, problem: &str| Err((field.to_owned(), problem.to_owned()));
        if self.stations.len() > MOST_STATIONS {
            let problem = format!("{} stations; write at most {MOST_STATIONS}", self.stations.len());
            return Err(("stations".to_owned(), problem));
        }
        if self.stations.len() < 2 {
            return wrong("stations", "a medium joins at least two stations; add a station");
        }
        for (k, station) in self.stations.iter().enumerate() {
            if self.stations[..k].iter().any(|other| other.name == station.name) {
                let problem = format!("`{}` is a station already; give each station its own name", station.name);
                return Err((format!("stations[{k}].name"), problem));
            }
            if self.stations[..k].iter().any(|other| (other.x, other.y) == (station.x, station.y)) {
                let problem = format!("`{}` has the place of another station; write another place", station.name);
                return Err((format!("stations[{k}].x"), problem));
            }
        }
        let config = self.config();
        if self.capture.is_some_and(|ratio| ratio.is_nan() || ratio < 1.0) {
            return wrong("capture", "a frame survives only weaker frames; write at least 1, for example 10");
        }
        for (field, rate) in [("data-rate", config.data_rate), ("basic-rate", config.basic_rate)] {
            if rate == 0 {
                return wrong(field, "at 0 bit/s a frame never ends; write for example `11Mbit/s`");
            }
        }
        if config.sense_range < config.receive_range {
            return wrong("sense-range", "a frame that is decoded is also sensed; write at least `receive-range`");
        }
        for (field, retry) in [("short-retry", config.short_retry), ("long-retry", config.long_retry)] {
            if retry == 0 {
                return wrong(field, "a frame is sent at least once; write at least 1");
            }
        }
        if self.errors.is_some() && self.loss.is_none() {
            return wrong("errors", "nothing is lost at random; set `loss`, for example `5%`, or remove `errors`");
        }
        if self.queue == Some(0) {
            return wrong("queue", "a queue of 0 packets holds none; write for example 50");
        }
        if !self.xor && self.xor_header > 0 {
            return wrong("xor-header", "nothing is XORed; set `xor = true`, or remove `xor-header`");
        }
        if self.backoff != BackoffName::Cadence && self.cadence != CadenceSpec::default() {
            return wrong("cadence", "only Cadence uses these settings; set `backoff = \"cadence\"`, or remove them");
        }
        if self.cadence.window.is_some_and(|window| !WINDOWS.contains(&window)) {
            return wrong("cadence.window", "a window has 1 to 65536 slots");
        }
        self.check_adaptive()?;
        self.check_access()
    }

    fn check_adaptive(&self) -> Result<(), (String, String)> {
        let wrong = |field: &str, problem: &str| Err((format!("adaptive.{field}"), problem.to_owned()));
        let change = &self.adaptive;
        if matches!(self.backoff, BackoffName::Standard | BackoffName::Cadence) {
            if *change != AdaptiveSpec::default() {
                let problem =
                    "only an adaptive back-off uses these settings; set `backoff` to an adaptive rule, or remove them";
                return Err(("adaptive".to_owned(), problem.to_owned()));
            }
            return Ok(());
        }
        for (field, window) in [("small-window", change.small_window), ("large-window", change.large_window)] {
            if window.is_some_and(|window| !WINDOWS.contains(&window)) {
                return wrong(field, "a window has 1 to 65536 slots");
            }
        }
        if matches!(change.k, Some(KSpec::Fixed(k)) if k > 1000) {
            return wrong("k", "a string has at most 1000 stations; write at most 1000");
        }
        if matches!(change.k, Some(KSpec::Fixed(_))) && change.most_k.is_some() {
            return wrong("most-k", "k is fixed; remove `most-k`, or set `k` to `learned`");
        }
        if change.most_k == Some(0) {
            return wrong("most-k", "k begins at 1; write at least 1");
        }
        Ok(())
    }
}

/// Whether a setting is 0, so that it need not be written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// Whether a setting has its default value, so that it need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Defaults of fields.
mod defaults {
    pub(super) fn name() -> String {
        "medium".to_owned()
    }
}
