//! All constants of the rate controller [`Fair`](super::Fair), by concept.
//!
//! A scenario may set a constant (`tuning = { probe-gain = 1.2 }`). `make sensitivity` runs groups of simulated cells
//! with each constant at half and at double its value, and writes `docs/contributors/sensitivity.md`. For a constant
//! with the unit `gain`, half and double apply to the difference from 1.
//!
//! A number that decides what the controller does is a field here, and not a `const` elsewhere. A test
//! (`crates/sim/tests/it/world/constants.rs`) finds the others.

/// Defines a group of constants: its struct, with the defaults, and its table.
macro_rules! tuning {
    (
        $(#[$group_doc:meta])* $group:ident: $struct:ident;
        $($(#[$doc:meta])* $field:ident, $name:literal: $default:expr, $unit:literal;)+
    ) => {
        $(#[$group_doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(in crate::control::rate) struct $struct {
            $($(#[$doc])* pub(in crate::control::rate) $field: f64,)+
        }

        impl Default for $struct {
            fn default() -> $struct {
                $struct { $($field: $default,)+ }
            }
        }

        impl $struct {
            /// The constants of the group.
            pub(super) const FIELDS: &[super::TuningField] = &[
                $(super::TuningField {
                    name: $name,
                    unit: $unit,
                    get: |tuning| tuning.$group.$field,
                    set: |tuning| &mut tuning.$group.$field,
                },)+
            ];
        }
    };
}

mod compete;
mod erasure;
mod evidence;
mod loss_test;
mod path;
mod probe;
mod queue;
mod queue_test;
mod scavenge;
mod start;

pub(super) use compete::CompeteTuning;
pub(super) use erasure::ErasureTuning;
pub(super) use evidence::EvidenceTuning;
pub(super) use loss_test::LossTestTuning;
pub(super) use path::PathTuning;
pub(super) use probe::ProbeTuning;
pub(super) use queue::QueueTuning;
pub(super) use queue_test::QueueTestTuning;
pub(super) use scavenge::ScavengeTuning;
pub(super) use start::StartTuning;

/// The constants of [`Fair`](super::Fair). [`Tuning::set`] changes one by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tuning {
    pub(super) start: StartTuning,
    pub(super) path: PathTuning,
    pub(super) queue: QueueTuning,
    pub(super) probe: ProbeTuning,
    pub(super) erasure: ErasureTuning,
    pub(super) evidence: EvidenceTuning,
    pub(super) loss_test: LossTestTuning,
    pub(super) queue_test: QueueTestTuning,
    pub(super) compete: CompeteTuning,
    pub(super) scavenge: ScavengeTuning,
}

/// Describes one constant, for messages and tables.
#[derive(Clone, Copy, Debug)]
pub struct TuningField {
    /// The constant's name, as in a scenario.
    pub name: &'static str,
    /// The constant's unit. `gain`: a factor whose neutral value is 1.
    pub unit: &'static str,
    get: fn(&Tuning) -> f64,
    set: fn(&mut Tuning) -> &mut f64,
}

impl Tuning {
    /// All constants, by group.
    pub fn fields() -> impl Iterator<Item = &'static TuningField> {
        let groups = [
            StartTuning::FIELDS,
            PathTuning::FIELDS,
            QueueTuning::FIELDS,
            ProbeTuning::FIELDS,
            ErasureTuning::FIELDS,
            EvidenceTuning::FIELDS,
            LossTestTuning::FIELDS,
            QueueTestTuning::FIELDS,
            CompeteTuning::FIELDS,
            ScavengeTuning::FIELDS,
        ];
        groups.into_iter().flatten()
    }

    /// The value of the constant `name`. `None`: there is no such constant.
    pub fn get(&self, name: &str) -> Option<f64> {
        Self::field(name).map(|field| (field.get)(self))
    }

    /// Sets the constant `name`.
    ///
    /// # Errors
    /// There is no such constant, or `value` is not a positive number. The error is a sentence.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let Some(field) = Self::field(name) else {
            let names: Vec<&str> = Self::fields().map(|field| field.name).collect();
            return Err(format!(
                "the rate controller has no constant `{name}`; the constants are {}",
                names.join(", ")
            ));
        };
        if !(value.is_finite() && value > 0.0 && value <= 1e9) {
            return Err(format!("{value} is not a value of `{name}`; write a number above 0 and at most 1e9"));
        }
        *(field.set)(self) = value;
        Ok(())
    }

    fn field(name: &str) -> Option<&'static TuningField> {
        Self::fields().find(|field| field.name == name)
    }
}

impl TuningField {
    /// The constant at `factor` times its default. For the unit `gain`, the difference from 1 is
    /// multiplied.
    pub fn scaled(&self, factor: f64) -> f64 {
        let default = (self.get)(&Tuning::default());
        if self.unit == "gain" { 1.0 + (default - 1.0) * factor } else { default * factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_constant_can_be_read_and_set() {
        for field in Tuning::fields() {
            let mut tuning = Tuning::default();
            let value = field.scaled(2.0);
            tuning.set(field.name, value).unwrap();
            assert_eq!(tuning.get(field.name), Some(value), "{}", field.name);
            assert_ne!(tuning, Tuning::default(), "{}", field.name);
        }
        let error = Tuning::default().set("probe", 1.0).unwrap_err();
        assert!(error.contains("no constant `probe`") && error.contains("probe-gain"), "{error}");
        assert!(Tuning::default().set("probe-gain", f64::NAN).is_err());
    }

    #[test]
    fn each_constant_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = Tuning::fields().map(|field| field.name).collect();
        assert_eq!(names.len(), Tuning::fields().count());
    }

    #[test]
    fn a_gain_is_scaled_about_one() {
        let field = Tuning::fields().find(|field| field.name == "probe-gain").unwrap();
        assert!((field.scaled(2.0) - 1.3).abs() < 1e-9);
    }
}
