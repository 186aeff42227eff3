//! The integration tests of this crate. They are one program, because each program takes time to link.

mod config;
mod fec;
mod loss;
mod properties;
mod queues;
mod timing;
