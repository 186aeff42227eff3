//! Tests of the simulator, one file for each subject. They are one program, because linking a program with the whole
//! simulator takes longer than compiling the tests.

mod air;
mod aodv;
mod block;
mod bounds;
mod cadence;
#[path = "../common/mod.rs"]
mod common;
mod engine;
mod field;
mod gateway;
mod kernels;
mod losses;
mod mesh;
mod modern;
mod presets;
mod queues;
mod scenario;
mod scenario_file;
mod session;
mod sharing;
mod sources;
mod steady;
mod transfers;
mod udp;
mod wifi;
mod wire;
