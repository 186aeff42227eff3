//! What the page says of constants beside their figures.

/// Numbers of `crates/proto/src/control/rate` that are no constants of the controller, and why.
pub(crate) const EXCLUDED: &[(&str, &str)] = &[
    ("MOST_LASTING", "Room in an array: twice the default of `lasting`."),
    ("MOST_FLOOR", "Keeps the divisor 1 less the erasure floor above 0. The default of `erasure-cap` is lower."),
];

/// Why a constant changes no group. The page has the reason only while no group changes.
pub(crate) const SILENT: &[(&str, &str)] = &[
    (
        "fastest-start",
        "Acts in the first round trips on paths of up to 40 ms. The groups with such paths leave out the first 2 s.",
    ),
    ("least-rate", "Acts below 100 kbit/s. The slowest link has 200 kbit/s."),
    (
        "lost-reports",
        "Acts where 0.5 to 2 % of the reports are lost in runs. Links with such losses lose single packets.",
    ),
    ("blind-runs", "Acts where losses come in runs, in two groups whose figures vary by more than the effect."),
    ("clock-tolerance", "Acts when a clock jumps. The clocks of the groups do not."),
    ("erasure-cap", "At half the value it acts above 30 % loss. No group loses more for long."),
    ("crowd-window", "40 round trips are added. At 100 ms, half the value is 9 s instead of 14 s."),
    ("forgiven-for", "The reordered packets of `cubic-reorder` come 20 ms late. Half the value is two round trips."),
    ("confirmed-memory", "Acts when random loss ends, and a policer begins within a minute. No group has both."),
    ("wary-for", "Half the value is 30 s. A group with a policer ends 32 s after the policer begins."),
    ("loss-test-rounds", "Acts on paths of more than 500 ms. The paths with policers have 100 ms."),
    (
        "path-delay",
        "Decides with more than five equal flows, and when the path becomes longer. The groups have at most four flows.",
    ),
    ("most-interval", "Acts from the third queue test of a competition on, after 30 s or later."),
    ("half-packets", "Acts in a competition on a path with random loss. In `beside-cubic-2%` no competition begins."),
    ("few-erasures", "See `half-packets`."),
    ("least-erasures", "See `half-packets`."),
    ("grown", "See `half-packets`."),
    ("most-back-off", "Acts from the third back-off in a row on, after 12 s or later."),
];
