//! Ideal access to a medium in a scenario: the assumptions of the bounds of paper 002.

use super::medium::{BackoffName, MediumSpec};
use crate::wifi::ideal::{IdealAccess, IdealConfig, IdealLinkConfig, PacketTimes};
use crate::wifi::{Routing, hop_counts};
use ripstop_base::Span;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The largest interference range. A string has at most 1000 stations, so a larger range would change nothing.
const MOST_INTERFERENCE: u32 = 1000;
/// The longest mean back-off and mean packet time. An exponential time is at most 37 times its mean, and must fit into
/// a run. Half or double the value changes nothing for real media, where back-offs and packet times are below 1 s.
const LONGEST_MEAN: Duration = Duration::from_secs(3600);
/// The largest number of links of a medium with ideal access: the number of links of a string of 1000 stations. Every
/// pair of links is checked for a conflict. Half the value needs a quarter of the time for these checks, and double the
/// value needs four times as much.
const MOST_LINKS: usize = 1998;

/// How stations get the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessName {
    /// The distributed coordination function of IEEE 802.11.
    #[default]
    Dcf,
    /// Ideal CSMA: exponential back-offs, no collisions, no propagation delay.
    Csma,
    /// A perfect schedule of slots.
    Scheduled,
}

/// The settings of ideal access.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdealSpec {
    /// k: a transmitter up to k hops away disturbs a receiver; 2 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<u32>,
    /// Whether packet times are `constant` or `exponential`; constant when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_times: Option<PacketTimes>,
    /// The mean time of an exchange; the time of frame, SIFS and MAC ACK when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_time: Option<Span>,
    /// The mean back-off of a link with CSMA; 360 us when left out, as in paper 002.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_backoff: Option<Span>,
    /// Links with settings of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<IdealLinkSpec>,
}

/// The settings of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdealLinkSpec {
    /// The name of the station that sends.
    pub from: String,
    /// The name of the neighbour that receives.
    pub to: String,
    /// The mean back-off; `mean-backoff` of the medium when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_backoff: Option<Span>,
    /// The mean time of an exchange; `packet-time` of the medium when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_time: Option<Span>,
    /// Whether the link always has a packet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saturated: bool,
}

impl MediumSpec {
    /// The configuration of ideal access. None with the DCF.
    pub fn ideal_config(&self) -> Option<IdealConfig> {
        let access = match self.access {
            AccessName::Dcf => return None,
            AccessName::Csma => IdealAccess::Csma,
            AccessName::Scheduled => IdealAccess::Scheduled,
        };
        let ideal = &self.ideal;
        let usual = IdealConfig::new(access, self.config());
        let span = |given: Option<Span>| given.map(Span::duration);
        let link = |link: &IdealLinkSpec| {
            Some(IdealLinkConfig {
                from: self.station(&link.from)?,
                to: self.station(&link.to)?,
                mean_backoff: span(link.mean_backoff),
                packet_time: span(link.packet_time),
                saturated: link.saturated,
            })
        };
        Some(IdealConfig {
            interference: ideal.interference.unwrap_or(usual.interference),
            packet_times: ideal.packet_times.unwrap_or(usual.packet_times),
            packet_time: span(ideal.packet_time),
            mean_backoff: span(ideal.mean_backoff).unwrap_or(usual.mean_backoff),
            links: ideal.links.iter().filter_map(link).collect(),
            ..usual
        })
    }

    /// Whether some links always have packets, even without a flow.
    pub fn has_saturated_links(&self) -> bool {
        self.access != AccessName::Dcf && self.ideal.links.iter().any(|link| link.saturated)
    }

    /// The number of the station `name`.
    fn station(&self, name: &str) -> Option<u32> {
        self.stations.iter().position(|station| station.name == name).map(|k| k as u32)
    }

    /// Checks `access` and the settings that depend on it. An error has the field and the problem.
    pub(super) fn check_access(&self) -> Result<(), (String, String)> {
        let wrong = |field: &str, problem: &str| Err((field.to_owned(), problem.to_owned()));
        let ideal = &self.ideal;
        if self.access == AccessName::Dcf {
            return match *ideal == IdealSpec::default() {
                true => Ok(()),
                false => wrong(
                    "ideal",
                    "the DCF does not use these settings; set `access` to `csma` or `scheduled`, or remove them",
                ),
            };
        }
        if let Some(field) = self.dcf_setting() {
            return wrong(field, "ideal access does not use this setting; remove it, or set `access = \"dcf\"`");
        }
        if ideal.interference.is_some_and(|k| !(1..=MOST_INTERFERENCE).contains(&k)) {
            return Err((
                "ideal.interference".to_owned(),
                format!("the range is in hops; write 1 to {MOST_INTERFERENCE}"),
            ));
        }
        let own_backoff = ideal.links.iter().position(|link| link.mean_backoff.is_some());
        if self.access == AccessName::Scheduled {
            let problem = "a schedule has no back-offs; remove the setting, or set `access = \"csma\"`";
            if ideal.mean_backoff.is_some() {
                return wrong("ideal.mean-backoff", problem);
            }
            if let Some(k) = own_backoff {
                return wrong(&format!("ideal.links[{k}].mean-backoff"), problem);
            }
            if ideal.packet_times == Some(PacketTimes::Exponential) {
                let problem = "slots have packets of one length; write `constant`, or set `access = \"csma\"`";
                return wrong("ideal.packet-times", problem);
            }
        }
        check_mean("ideal.mean-backoff", ideal.mean_backoff)?;
        check_mean("ideal.packet-time", ideal.packet_time)?;
        self.check_links()
    }

    /// The first field that is set and that only the DCF uses; None if there is no such field.
    fn dcf_setting(&self) -> Option<&'static str> {
        [
            ("capture", self.capture.is_some()),
            ("sense-range", self.sense_range.is_some()),
            ("rts", self.rts),
            ("short-retry", self.short_retry.is_some()),
            ("long-retry", self.long_retry.is_some()),
            ("loss", self.loss.is_some()),
            ("routing", self.routing != Routing::Static),
            ("xor", self.xor),
            ("backoff", self.backoff != BackoffName::Standard),
        ]
        .into_iter()
        .find_map(|(field, is_set)| is_set.then_some(field))
    }

    /// Checks the links with settings of their own, and the number of links.
    fn check_links(&self) -> Result<(), (String, String)> {
        let hops = hop_counts(&self.config(), &self.places());
        let links = hops.iter().flatten().filter(|hops| **hops == Some(1)).count();
        if links > MOST_LINKS {
            let problem =
                format!("{links} links between neighbours; remove stations, until there are at most {MOST_LINKS}");
            return Err(("stations".to_owned(), problem));
        }
        for (k, link) in self.ideal.links.iter().enumerate() {
            let field = |name: &str| format!("ideal.links[{k}].{name}");
            let station = |name: &str, value: &str| {
                let problem = format!("`{value}` is no station of this medium; name one of `stations`");
                self.station(value).ok_or_else(|| (field(name), problem))
            };
            let (from, to) = (station("from", &link.from)?, station("to", &link.to)?);
            if hops[from as usize][to as usize] != Some(1) {
                let problem = format!("`{}` and `{}` are not neighbours; name two neighbours", link.from, link.to);
                return Err((field("to"), problem));
            }
            if self.ideal.links[..k].iter().any(|other| (&other.from, &other.to) == (&link.from, &link.to)) {
                let problem = "an entry above has the same link; write one entry for each link".to_owned();
                return Err((field("to"), problem));
            }
            check_mean(&field("mean-backoff"), link.mean_backoff)?;
            check_mean(&field("packet-time"), link.packet_time)?;
        }
        Ok(())
    }
}

/// Checks a mean time, if one was written.
fn check_mean(field: &str, mean: Option<Span>) -> Result<(), (String, String)> {
    let Some(mean) = mean else { return Ok(()) };
    if mean.duration().is_zero() || mean.duration() > LONGEST_MEAN {
        return Err((field.to_owned(), format!("{mean} is out of range; write a mean time of at most 1h, not 0")));
    }
    Ok(())
}
