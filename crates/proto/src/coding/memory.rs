//! The memory of a packet besides its bytes.

/// Memory of one packet in a queue or in the coding window besides its bytes. Unit: bytes. A packet of 28 bytes takes 380
/// bytes of resident memory: an aligned slot with its counters, and the entry of the queue, half of which is spare room
/// (`small_packets_take_the_memory_that_is_counted`). Half or double the value makes the figure for small packets too low or
/// too high: with 128, a host with `memory = "32MB"` took 85 MB.
pub(crate) const PACKET: usize = 352;
/// Memory of one received symbol besides its bytes: the part of [`PACKET`] that is not the entry of a queue. Unit: bytes.
/// Half and double the value act like those of [`PACKET`].
pub(crate) const SLOT: usize = 192;
