//! Writes the weights as a TOML file with one line for each term, so that a person can compare two
//! fits.

use ripstop_model::plan::efficiency::{Causes, Term};
use ripstop_model::plan::weights::DelayWeights;
use ripstop_model::plan::{PlanScheme, Weights};
use std::fmt::Write;

/// The text of the file. A program that parses the text gets exactly the same numbers.
pub(crate) fn of(weights: &Weights) -> String {
    let campaign = &weights.campaign;
    let mut text = format!(
        "# The weights of the planner's closed forms (docs/operators/plan.md). Written by `make plan-report`; do not edit.\n\n\
         [campaign]\nseed = {}\nlinks = {}\n",
        campaign.seed, campaign.links
    );
    for (key, value) in [("plain-links", campaign.plain_links), ("max-rate-bps", campaign.max_rate_bps)] {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    let _ = writeln!(text, "simulator = \"{}\"\n\n[campaign.behaviour]", campaign.simulator);
    for (scheme, behaviour) in &campaign.behaviour {
        let _ = writeln!(text, "{scheme} = \"{behaviour}\"");
    }
    delays(&mut text, "plain-requests", &weights.plain_requests);
    delays(&mut text, "tunnel-requests", &weights.tunnel_requests);
    for scheme in PlanScheme::FITTED {
        let of = weights.of(scheme);
        let _ = writeln!(text, "\n[{}]", scheme.name());
        terms(&mut text, "efficiency", &of.efficiency);
        terms(&mut text, "overhead", &of.overhead);
        delays(&mut text, &format!("{}.packets", scheme.name()), &of.packets);
    }
    text
}

/// Appends the weights of a delay to `text`.
fn delays(text: &mut String, name: &str, weights: &DelayWeights) {
    let _ = writeln!(text, "\n[{name}]\np50 = {:?}\np99 = {:?}", weights.p50, weights.p99);
}

/// Appends a list of terms to `text`.
fn terms(text: &mut String, name: &str, terms: &[Term]) {
    let _ = writeln!(text, "{name} = [");
    for Term { weight, powers } in terms {
        let named = Causes::NAMES.iter().zip(powers.values()).filter(|(_, power)| *power != 0.0);
        let powers: Vec<String> = named.map(|(name, power)| format!("{name} = {power:?}")).collect();
        let _ = writeln!(text, "  {{ weight = {weight:?}, powers = {{ {} }} }},", powers.join(", "));
    }
    text.push_str("]\n");
}

#[cfg(test)]
mod tests {
    use ripstop_model::plan::{Weights, data};

    #[test]
    fn the_committed_weights_are_written_as_they_were_read() {
        let weights: Weights = toml::from_str(data::WEIGHTS).unwrap();
        assert_eq!(super::of(&weights), data::WEIGHTS);
    }
}
