//! Sessions: the state machines that two ends run against each other.
//!
//! # The contract
//!
//! A session does no I/O, reads no clock and draws no entropy. All sessions are driven alike:
//!
//! 1. **One input.** `handle_*(now, ..)`: an inner packet from the user ([`handle_inner`]), a typed
//!    datagram from the peer ([`handle_datagram`]), or the time-out that was asked for ([`handle_timeout`]).
//! 2. **All outputs.** `poll_*` until each is empty: datagrams to send ([`poll_transmit`]), inner
//!    packets to deliver ([`poll_deliver`]), events ([`poll_event`]); then the next time-out ([`poll_timeout`]).
//! 3. Wait for the next input, or for that time-out, whichever comes first.
//!
//! `now` never goes back; if it does, it is taken to have stood still. Calling `handle_timeout` early or late is harmless:
//! early, nothing is due; late, all that is due is done. `poll_transmit` takes `now` because pacing
//! decides how much may leave at a time.
//!
//! Sessions exchange typed packets ([`crate::wire`]); what turns them into sealed bytes is the
//! endpoint's concern, or nobody's: in virtual time they need never be bytes.
//!
//! [`handle_inner`]: tunnel::Tunnel::handle_inner
//! [`handle_datagram`]: tunnel::Tunnel::handle_datagram
//! [`handle_timeout`]: tunnel::Tunnel::handle_timeout
//! [`poll_transmit`]: tunnel::Tunnel::poll_transmit
//! [`poll_deliver`]: tunnel::Tunnel::poll_deliver
//! [`poll_event`]: tunnel::Tunnel::poll_event
//! [`poll_timeout`]: tunnel::Tunnel::poll_timeout

pub mod nc;
pub mod tunnel;
