//! TCP by its public interface: sources, receiver, and the packets that senders send.

mod ns2;
mod receiver;
mod source;
