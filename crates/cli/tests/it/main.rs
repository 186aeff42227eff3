//! The tests of the program that compute. They are one program, because each program takes time to link. The tests in
//! real time are in `realtime`.

mod architecture;
mod arguments;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod documents;
mod keys;
mod lab;
mod model;
mod papers;
mod plan;
mod sim;
mod sim_mesh;
mod sim_string;
mod speed;
mod sweep;
mod virtual_time;
