//! Deserialising functions, one for each setting. They put the setting's name in front of an error.

use serde::{Deserialize, Deserializer, de::Error};

macro_rules! fields {
    ($($name:ident)*) => {$(
        pub(crate) fn $name<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
            T::deserialize(from).map_err(|error| D::Error::custom(format_args!("`{}`: {error}", stringify!($name))))
        }
    )*};
}

fields! {
    rate rate_trace queue mark delay jitter mtu policer loss reorder duplicate corrupt blackouts schedule schedule_period
    queue_discipline ecn target interval quantum flows
    burst probability extra_delay at length from to every fec k n unit
}
