//! The integration tests of this crate. They are one program, because each program takes time to link. The comparison
//! with ns-2 is a program of its own: `make oracle` builds only that program, with optimisation.

mod closed_forms;
mod common;
mod hostile;
mod tcp;
mod world;
