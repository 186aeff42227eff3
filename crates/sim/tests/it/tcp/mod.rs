//! TCP through its public interface: sources, the receiver, and the packets that senders send.

mod ns2;
mod receiver;
mod source;
