//! The log of a daemon. [`Log`] writes lines without holding up the thread that logs them. [`LineLimit`] limits lines that
//! the network can cause.

mod limit;
mod queue;

pub use limit::{Admitted, LineLimit};
pub use queue::{Log, lost_lines};
