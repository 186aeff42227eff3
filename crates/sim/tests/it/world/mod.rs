//! Tests of the simulator, one file for each subject.

mod air;
mod aodv;
mod block;
mod bounds;
mod cadence;
mod constants;
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
