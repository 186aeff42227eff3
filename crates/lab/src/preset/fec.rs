//! The preset `fec`: TCP over a link with a block code, which sends each block of K units as N
//! units (paper 003). A preset is a network that a few parameters describe (see `mod.rs`).

use super::{GivenParameters, Parameter, ParameterKind as Kind, PresetError, measure};
use ripstop_base::{Bytes, Fraction};
use ripstop_link::{Fec, Loss};
use ripstop_sim::scenario::{FecPath, FlowSpec, RunSpec, Scenario};

// Headings of the groups in the help text.
const LINK: &str = "The link";
const FLOWS: &str = "The flows";

/// The parameters of this preset alone: name, kind, placeholder, heading and help text.
#[rustfmt::skip]
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("k", Kind::Count, "UNITS", LINK, "K: the number of source units in a block").or("20"),
    Parameter::new("n", Kind::Count, "UNITS", LINK, "N: the number of units sent for a block").or("22"),
    Parameter::new("loss", Kind::Fraction, "SHARE", LINK, "Share of units that the link loses").or("1%").or_named("unit-loss"),
    Parameter::new("stay-bad", Kind::Fraction, "SHARE", LINK, "Probability that the unit after a lost unit is lost too. The losses then follow Gilbert's model, whose state also changes while the link is idle [default: the value of --loss, which makes losses independent]"),
    Parameter::new("mu", Kind::Count, "UNITS", LINK, "Rate of the link, units per second").or("3000"),
    Parameter::new("unit", Kind::Bytes, "SIZE", LINK, "Size of a unit").or("53B"),
    Parameter::new("rtt", Kind::Span, "TIME", LINK, "Round-trip time without queueing and serialisation").or("560ms"),
    Parameter::new("queue", Kind::Queue, "QUEUE", LINK, "Capacity of the link's queue, in packets or bytes").or("100"),
    Parameter::new("other-loss", Kind::Fraction, "SHARE", LINK, "Share of packets lost elsewhere on the path").or("0"),
    Parameter::new("flows", Kind::Count, "N", FLOWS, "The number of flows").or("1"),
    Parameter::new("tcp", Kind::Other, "NAME", FLOWS, "Congestion control").or("reno"),
    Parameter::new("packet-blocks", Kind::Count, "BLOCKS", FLOWS, "Number of blocks in a packet").or("1"),
    Parameter::new("wmax", Kind::Count, "PACKETS", FLOWS, "The receiver's window, packets; the default never limits a flow").or("100000"),
];

/// Makes the scenario from the given parameters. The caller checks the result with
/// `check_scenario`.
pub(super) fn scenario(given: &GivenParameters<'_>) -> Result<Scenario, PresetError> {
    let loss = match given.optional::<Fraction>("stay-bad")? {
        Some(q) if q.get() >= 1.0 => {
            let problem = "100% is too high: a run of losses would never end; write less, for example `75%`";
            return Err(PresetError::new("stay-bad", problem));
        }
        Some(q) => Loss::gilbert(given.value("loss")?, q),
        None => Loss::bernoulli(given.value("loss")?),
    };
    let units_per_s: u64 = given.value("mu")?;
    if units_per_s == 0 {
        return Err(PresetError::new("mu", "0 units a second carry nothing; write for example 3000"));
    }
    let packet_blocks: u32 = given.value("packet-blocks")?;
    if packet_blocks == 0 {
        return Err(PresetError::new("packet-blocks", "a packet must fill at least 1 block"));
    }
    let mut run = RunSpec::default();
    measure::apply(given, &mut run)?;
    let other_loss: Fraction = given.value("other-loss")?;
    let unit: Bytes = given.value("unit")?;
    let path = FecPath {
        run,
        fec: Fec { unit, ..Fec::new(given.value("n")?, given.value("k")?, loss) },
        units_per_s,
        rtt: given.value("rtt")?,
        queue: given.value("queue")?,
        other_loss: if other_loss.get() > 0.0 { Loss::bernoulli(other_loss) } else { Loss::None },
        packet_blocks,
        flow: FlowSpec {
            count: given.value("flows")?,
            tcp: given.value("tcp")?,
            window: given.value("wmax")?,
            ..FlowSpec::new("", "")
        },
    };
    Ok(measure::expect(given, path.scenario()))
}

/// The parameter that sets a field of the scenario. None if no parameter of this preset sets the
/// field.
pub(super) fn parameter_of(field: &str) -> Option<&'static str> {
    [
        ("link[0].forth.fec.k", "k"),
        ("link[0].forth.fec.n", "n"),
        ("link[0].forth.fec.unit", "unit"),
        ("link[0].forth.fec.loss", "loss"),
        ("link[0].forth.loss", "other-loss"),
        ("run.unit", "unit"),
        ("flow[0].packet", "packet-blocks"),
        ("flow[0].count", "flows"),
        ("flow[0].window", "wmax"),
    ]
    .into_iter()
    .find_map(|(known, parameter)| field.starts_with(known).then_some(parameter))
}
