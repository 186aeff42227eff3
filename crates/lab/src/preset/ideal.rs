//! The parameters of the preset `string` for ideal access: the assumptions of the bounds of paper 002.

use super::{GivenParameters, Parameter, ParameterKind as Kind, PresetError};
use ripstop_base::{Bytes, Span};
use ripstop_sim::scenario::{AccessName, IdealLinkSpec, IdealSpec, MediumSpec};
use ripstop_sim::wifi::ideal::PacketTimes;

/// Heading of the group in the help text.
const IDEAL: &str = "Ideal access: the assumptions of the bounds of paper 002";

/// The parameters for ideal access.
#[rustfmt::skip]
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("access", Kind::Other, "NAME", IDEAL, "Medium access: `dcf` is IEEE 802.11, `csma` has exponential back-offs and no collisions, and `scheduled` is a perfect schedule").or("dcf"),
    Parameter::new("interference", Kind::Count, "K", IDEAL, "A transmitter up to K hops away disturbs a receiver [default: 2]").requires("access"),
    Parameter::new("mean-backoff", Kind::Other, "TIME,...", IDEAL, "Mean back-off with `csma`: one time for all links, or a list with a time for each link in order [default: 360us]").requires("access"),
    Parameter::new("packet-time", Kind::Other, "TIME,...", IDEAL, "Mean time of an exchange: one time for all links, or a list with a time for each link in order [default: the time of the frame, SIFS and MAC ACK]").requires("access"),
    Parameter::new("packet-times", Kind::Other, "LAW", IDEAL, "Distribution of the time of an exchange: `constant`, or `exponential` (with `csma` only) [default: constant]").requires("access"),
];

/// The names of the kinds of access.
pub(super) const ACCESSES: &[(&str, AccessName)] =
    &[("dcf", AccessName::Dcf), ("csma", AccessName::Csma), ("scheduled", AccessName::Scheduled)];

/// Bytes of a TCP acknowledgement, or of the headers of TCP and IP.
const TCP_IP: u64 = 40;

/// The settings of ideal access that were given, for the stations of `medium`. If `saturated` is true, the links always
/// have packets. If `acks` is true, the reverse link of the last hop is one of the links.
pub(super) fn settings(
    given: &GivenParameters<'_>,
    medium: &MediumSpec,
    saturated: bool,
    acks: bool,
) -> Result<IdealSpec, PresetError> {
    let laws = [("constant", PacketTimes::Constant), ("exponential", PacketTimes::Exponential)];
    let is_dcf = medium.access == AccessName::Dcf;
    if saturated && is_dcf {
        let problem = "only links with ideal access can always have packets; write --access csma or --access scheduled";
        return Err(PresetError::new("traffic", problem));
    }
    let names: Vec<&str> = medium.stations.iter().map(|station| station.name.as_str()).collect();
    let forward = names.windows(2).map(|pair| (pair[0], pair[1]));
    let last = names.windows(2).last().filter(|_| acks).map(|pair| (pair[1], pair[0]));
    let ends: Vec<(&str, &str)> = forward.chain(last).collect();
    let [backoffs, times] = [times(given, "mean-backoff", &ends)?, times(given, "packet-time", &ends)?];
    let mut ideal = IdealSpec {
        interference: given.optional("interference")?,
        packet_times: if given.is_given("packet-times") { Some(given.choice("packet-times", &laws)?) } else { None },
        packet_time: only(&times),
        mean_backoff: only(&backoffs),
        links: Vec::new(),
    };
    if is_dcf || !(saturated || backoffs.len() > 1 || times.len() > 1) {
        return Ok(ideal);
    }
    let packet: Bytes = given.value("packet")?;
    for (k, (from, to)) in ends.iter().enumerate() {
        let is_reverse = k + 1 == names.len();
        let bytes = if is_reverse { TCP_IP } else { packet.get().saturating_add(TCP_IP) };
        let usual = || Span::from(medium.config().exchange(u32::try_from(bytes).unwrap_or(u32::MAX)));
        let own = |list: &[Span]| if list.len() > 1 { list.get(k).copied() } else { None };
        ideal.links.push(IdealLinkSpec {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            mean_backoff: own(&backoffs),
            packet_time: own(&times).or_else(|| (saturated && times.is_empty()).then(usual)),
            saturated,
        });
    }
    Ok(ideal)
}

/// The given times of parameter `name`. The list is empty, or has one time for all links, or has a
/// time for each link.
fn times(given: &GivenParameters<'_>, name: &str, ends: &[(&str, &str)]) -> Result<Vec<Span>, PresetError> {
    let times: Vec<Span> = given.list(name)?;
    if times.len() > 1 && times.len() != ends.len() {
        let links: Vec<String> = ends.iter().map(|(from, to)| format!("{from}>{to}")).collect();
        let problem = format!(
            "{} times for {} links; write one time for all links, or a time for each of {}",
            times.len(),
            ends.len(),
            links.join(", ")
        );
        return Err(PresetError::new(name, problem));
    }
    Ok(times)
}

/// The value for all links, if only one time was given.
fn only(times: &[Span]) -> Option<Span> {
    if let [time] = times { Some(*time) } else { None }
}

/// The parameter that sets a field of `medium[0].ideal`.
pub(super) fn parameter_of(field: &str) -> Option<&'static str> {
    let field = field.strip_prefix("medium[0].")?;
    if field == "access" || field == "ideal" {
        return Some("access");
    }
    let field = field.strip_prefix("ideal.")?;
    PARAMETERS
        .iter()
        .map(|parameter| parameter.name)
        .find(|name| field == *name || field.ends_with(&format!(".{name}")))
}
