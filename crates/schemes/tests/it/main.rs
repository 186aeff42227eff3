//! The tests of the papers' protocols in virtual time.

mod lt;
mod nc;
