//! The settings of TCP/LT.

use super::block_code::{BlockCode, MAX_BLOCK};
use crate::nc::Factor;
use ripstop_codes::lt::LtCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use thiserror::Error;

/// How the protocol gives feedback. `mod.rs` describes the modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LtMode {
    /// Algorithms 1 and 2 of paper 004 as printed. Stops for ever when an LT-ACK is lost.
    Paper,
    /// The paper's protocol with the steps without which it stops.
    Repaired,
    /// Reliable cumulative LT-ACKs, early TCP acknowledgements and several blocks in flight.
    #[default]
    Improved,
}

/// K: how many packets a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// This number of packets. A block has fewer packets only if no more packets come.
    Fixed(u8),
    /// As many packets as wait when a block may be sent, at most [`MAX_BLOCK`].
    Auto,
}

impl BlockSize {
    /// The largest number of packets in a block.
    pub fn most(self) -> usize {
        match self {
            BlockSize::Fixed(k) => usize::from(k),
            BlockSize::Auto => MAX_BLOCK,
        }
    }
}

/// How many symbols the sender sends of a block before it knows what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstRound {
    /// ceil(K R) with R = 1/(1-P), for the measured loss P of the path. While more packets wait, the
    /// improved mode sends K symbols.
    #[default]
    Measured,
    /// ceil(K R) with this R.
    Fixed(Factor),
}

/// The settings of a session. Sender and receiver must have the same settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LtConfig {
    /// How the protocol gives feedback.
    pub mode: LtMode,
    /// The code of a block.
    pub code: BlockCode,
    /// The size of a block.
    pub block: BlockSize,
    /// How many symbols the sender sends at first.
    pub first_round: FirstRound,
    /// The number of the first packet that TCP gives to the sender. TCP of the simulator numbers
    /// the SYN 0, and the SYN does not enter the session.
    pub first: u64,
    /// L_Data: the payload of a full packet, bytes. Equation (11) needs it.
    pub packet_bytes: u32,
    /// TCP and IP headers of a packet or an LT-ACK, bytes.
    pub header_bytes: u32,
    /// Whether packets are charged with the bytes of the coding header on the wire. The paper
    /// charges none.
    pub charges_coding: bool,
    /// [`LtMode::Improved`]: how many packets may wait in front of the blocks. The sender
    /// acknowledges them to TCP, and advertises the room that is left as its window. More packets
    /// bridge longer pauses of TCP; fewer packets make a shorter queue.
    pub buffer: u32,
    /// The largest number of packets that the sender holds in front of its blocks. Further packets
    /// are dropped, and TCP sends them again.
    pub most_held: u32,
    /// The largest number of blocks in flight.
    pub most_blocks: u32,
    /// [`LtMode::Improved`]: the largest number of packets in flight.
    pub window: u32,
    /// [`LtMode::Paper`] and [`LtMode::Repaired`]: how long the receiver waits for the next packet
    /// of a block before it sends an LT-ACK.
    pub receiving_timer: Duration,
    /// [`LtMode::Paper`] and [`LtMode::Repaired`]: how long the sender waits for the next packet of
    /// TCP before it sends a block that is not full.
    pub flush: Duration,
}

impl LtConfig {
    /// The settings of a mode with blocks of 16 packets of 1000 bytes.
    ///
    /// The paper's modes have the LT code with the optimised table, and charge no coding header.
    /// The improved mode has the systematic LT code, and charges the coding header.
    pub fn new(mode: LtMode) -> LtConfig {
        let is_improved = mode == LtMode::Improved;
        LtConfig {
            mode,
            code: BlockCode::Lt(if is_improved { LtCode::Systematic } else { LtCode::Optimised }),
            block: BlockSize::Fixed(16),
            first_round: FirstRound::Measured,
            first: 0,
            packet_bytes: 1000,
            header_bytes: 40,
            charges_coding: is_improved,
            buffer: 32,
            most_held: 4096,
            most_blocks: match mode {
                LtMode::Improved => 64,
                // More blocks in flight make T_s longer, and equation (11) then allows more blocks. The repaired mode
                // breaks this circle.
                LtMode::Repaired => 1,
                LtMode::Paper => 8,
            },
            window: 24,
            receiving_timer: Duration::from_millis(200),
            flush: Duration::from_millis(100),
        }
    }

    /// The largest number of packets that a sender remembers because their fate is unknown: the packets on their way,
    /// the packets that asked for an LT-ACK, and the packets of each block.
    pub fn most_remembered(&self) -> usize {
        2 * self.most_listed() + self.most_blocks as usize * MOST_IN_FLIGHT
    }

    /// The largest number of packets on their way, and of packets that asked for an LT-ACK.
    pub(super) fn most_listed(&self) -> usize {
        self.window as usize + SPARE_PROBES
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that is not allowed.
    pub fn check(&self) -> Result<(), LtConfigError> {
        match self.block {
            BlockSize::Fixed(k) if k == 0 || usize::from(k) > MAX_BLOCK => return Err(LtConfigError::Block(k)),
            BlockSize::Auto if self.mode != LtMode::Improved => return Err(LtConfigError::Auto),
            _ => {}
        }
        if self.packet_bytes == 0 {
            return Err(LtConfigError::PacketBytes);
        }
        for (field, value) in [
            ("buffer", self.buffer),
            ("most_held", self.most_held),
            ("most_blocks", self.most_blocks),
            ("window", self.window),
        ] {
            if value == 0 || value > MOST {
                return Err(LtConfigError::Limit { field, value });
            }
        }
        if self.buffer > self.most_held {
            return Err(LtConfigError::Buffer { buffer: self.buffer, most_held: self.most_held });
        }
        Ok(())
    }
}

/// The largest limit that a setting may have. It bounds the memory of a session: a receiver holds at
/// most [`LtConfig::most_blocks`] blocks. The value allows a window of 65 536 packets.
const MOST: u32 = 1 << 16;

/// The largest number of packets of one block whose fate a sender remembers. A block of 64 packets on a path that loses
/// 90 % needs 640 symbols. In a blackout, more probes are sent, and the oldest are forgotten. With half the value, the
/// sender may send symbols again that still arrive. Double the value doubles the bound of the memory.
pub(super) const MOST_IN_FLIGHT: usize = 640;

/// How many probes may be on their way beyond the window. A probe leaves at most every 50 ms and is forgotten after 2
/// s, so there are at most 40. Double the value has no effect. With half the value, a probe may push out a packet on
/// its way.
const SPARE_PROBES: usize = 64;

/// A setting that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LtConfigError {
    /// The block is empty or too large.
    #[error("a block has 1 to {MAX_BLOCK} packets, not {0}")]
    Block(u8),
    /// The block size is automatic in a mode that has a fixed size.
    #[error("only the improved mode chooses the size of blocks by itself; write a size of 1 to {MAX_BLOCK} packets")]
    Auto,
    /// The packet has no payload.
    #[error("a packet needs a payload of at least 1 byte")]
    PacketBytes,
    /// A limit is outside its range.
    #[error("`{field}` must be 1 to {MOST}, not {value}")]
    Limit {
        /// The name of the setting.
        field: &'static str,
        /// The value of the setting.
        value: u32,
    },
    /// The sender would acknowledge more packets than it holds.
    #[error("the sender cannot acknowledge {buffer} packets early if it holds only {most_held}")]
    Buffer {
        /// The setting [`LtConfig::buffer`].
        buffer: u32,
        /// The setting [`LtConfig::most_held`].
        most_held: u32,
    },
}
