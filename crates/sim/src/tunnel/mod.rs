//! Two ends of the shipped tunnel session, with two links between them, in virtual time.
//!
//! [`World`] is the instrument for the session itself, under hostile links; whole connections through it run on
//! [`Network`](crate::network::Network). A [`Trial`] measures either as the demonstration does. The world drives [`ripstop_proto::session::tunnel::Tunnel`] by its contract and no other way; the
//! links are those of [`ripstop_link`], the very ones that the emulator runs. It watches what it delivers: each packet
//! is one that was sent, at most once, in order within its flow.

mod cargo;
mod requests;
mod traffic;
mod trial;
mod watch;
mod world;

pub use cargo::{Cargo, Label, Parcel};
pub use requests::Requests;
pub use traffic::{Pattern, Traffic};
pub use trial::{Bulk, Measured, REQUEST_BYTES, Scheme, Trial, Way};
pub(crate) use watch::Watch;
pub use watch::{FlowReport, Violation};
pub use world::{Side, World};
