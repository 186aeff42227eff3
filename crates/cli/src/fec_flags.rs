//! The flags of a block code on the link (paper 003).

use crate::failure::{Failure, Outcome, WrongFlag};
use clap::Args;
use ripstop_base::{Bytes, Fraction};
use ripstop_link::{Fec, LinkConfig, Loss};
use serde::Serialize;

/// Flags of a block code in the data direction.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "A block code, in the data direction")]
pub(crate) struct FecFlags {
    /// Send packets in blocks of this many source units. With a block code, --rate includes the redundant units,
    /// and --loss is the share of whole packets lost, in addition to the units lost
    #[arg(long, value_name = "UNITS", requires = "fec_n")]
    fec_k: Option<u32>,
    /// Number of units sent for a block. The block is restored if at least --fec-k of these units arrive
    #[arg(long, value_name = "UNITS", requires = "fec_k")]
    fec_n: Option<u32>,
    /// Size of a unit
    #[arg(long, value_name = "SIZE", default_value = "53B", requires = "fec_k")]
    unit: Bytes,
    /// Share of units lost
    #[arg(long, value_name = "SHARE", default_value = "0", requires = "fec_k")]
    unit_loss: Fraction,
    /// Probability that the unit after a lost unit is lost (Gilbert's model). The model's state changes also while
    /// the link is idle [default: as --unit-loss, independent losses]
    #[arg(long, value_name = "SHARE", requires = "fec_k")]
    stay_bad: Option<Fraction>,
}

/// The block code, for `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FecFacts {
    k_units: u32,
    n_units: u32,
    unit_bytes: u64,
    unit_loss: f64,
    stay_bad: f64,
}

impl FecFlags {
    /// The block code; None without `--fec-k` and `--fec-n`.
    ///
    /// # Errors
    /// A value is invalid. The message names the flag.
    pub(crate) fn code(&self) -> Outcome<Option<Fec>> {
        let Some((k, n)) = self.fec_k.zip(self.fec_n) else { return Ok(None) };
        let loss = unit_loss(self.unit_loss, self.stay_bad)?;
        let fec = Some(Fec { k, n, unit: self.unit, loss });
        let alone = LinkConfig { fec, ..LinkConfig::default() };
        alone.check().map_err(|error| {
            let flag = match error.field.as_str() {
                "fec.k" => "--fec-k",
                "fec.n" => "--fec-n",
                "fec.unit" => "--unit",
                "fec.loss.mean" => "--unit-loss",
                other => other,
            };
            Failure::flag(flag, &error.problem)
        })?;
        Ok(alone.fec)
    }

    /// The block code, for `--json`.
    pub(crate) fn facts(&self) -> Option<FecFacts> {
        self.fec_k.zip(self.fec_n).map(|(k_units, n_units)| FecFacts {
            k_units,
            n_units,
            unit_bytes: self.unit.get(),
            unit_loss: self.unit_loss.get(),
            stay_bad: self.stay_bad.unwrap_or(self.unit_loss).get(),
        })
    }

    /// A description of the block code in words. The caller appends this text to the description of the link. Empty
    /// without a block code.
    pub(crate) fn words(&self) -> String {
        let Some((k, n)) = self.fec_k.zip(self.fec_n) else { return String::new() };
        let after = self.stay_bad.map(|q| format!(", {q} of the units after a lost unit")).unwrap_or_default();
        format!(
            "; in the data direction {k} units of {} are sent as {n}; the link loses {} of the units{after}",
            self.unit, self.unit_loss
        )
    }
}

/// The loss model of units: Gilbert's, or independent losses without `stay_bad`.
///
/// # Errors
/// `--stay-bad` is 100 %. A run of losses would then never end.
pub(crate) fn unit_loss(mean: Fraction, stay_bad: Option<Fraction>) -> Result<Loss, WrongFlag> {
    match stay_bad {
        Some(q) if q.get() >= 1.0 => {
            let problem = "100% is too high: a run of losses would never end; write less, for example `75%`";
            Err(WrongFlag::new("--stay-bad", problem))
        }
        Some(q) => Ok(Loss::gilbert(mean, q)),
        None => Ok(Loss::bernoulli(mean)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        fec: FecFlags,
    }

    fn flags(words: &[&str]) -> FecFlags {
        Alone::try_parse_from(["alone"].iter().chain(words)).unwrap().fec
    }

    #[test]
    fn a_code_is_what_its_flags_say() {
        let share = |p| Fraction::new(p).unwrap();
        assert_eq!((flags(&[]).code().unwrap(), flags(&[]).facts()), (None, None));
        assert_eq!(flags(&[]).words(), "");
        let alike = flags(&["--fec-k=20", "--fec-n=22", "--unit-loss=1%"]);
        assert_eq!(alike.code().unwrap(), Some(Fec::new(22, 20, Loss::bernoulli(share(0.01)))));
        assert_eq!(alike.facts().map(|fec| fec.stay_bad), Some(0.01));
        let bursty = flags(&["--fec-k=20", "--fec-n=22", "--unit-loss=1%", "--stay-bad=75%", "--unit=48B"]);
        let loss = Loss::gilbert(share(0.01), share(0.75));
        let fec = Fec { unit: Bytes::new(48), ..Fec::new(22, 20, loss) };
        assert_eq!(bursty.code().unwrap(), Some(fec));
        assert_eq!(
            bursty.words(),
            "; in the data direction 20 units of 48B are sent as 22; the link loses 1% of the units, 75% of the units \
             after a lost unit"
        );
    }

    #[test]
    fn an_invalid_value_names_its_flag() {
        for (words, flag) in [
            (&["--fec-k=0", "--fec-n=2"][..], "--fec-k: "),
            (&["--fec-k=20", "--fec-n=19"], "--fec-n: "),
            (&["--fec-k=20", "--fec-n=256"], "--fec-n: "),
            (&["--fec-k=20", "--fec-n=22", "--unit=0"], "--unit: "),
            (&["--fec-k=20", "--fec-n=22", "--unit-loss=80%", "--stay-bad=50%"], "--unit-loss: "),
            (&["--fec-k=20", "--fec-n=22", "--stay-bad=1"], "--stay-bad: "),
        ] {
            match flags(words).code() {
                Err(Failure::Usage(text)) => assert!(text.starts_with(flag), "{words:?}: {text}"),
                other => panic!("{words:?}: {other:?}"),
            }
        }
        for half in ["--fec-k=20", "--fec-n=20", "--unit-loss=1%", "--stay-bad=1%", "--unit=48B"] {
            let error = Alone::try_parse_from(["alone", half]).err().expect("half of a code").to_string();
            assert!(error.contains("--fec-"), "{error}");
        }
    }
}
