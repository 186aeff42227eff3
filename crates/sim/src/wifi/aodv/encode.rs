//! The messages of AODV as bytes (RFC 3561, section 5).

use super::messages::{Message, RouteError, RouteReply, RouteRequest};

/// The flag "unknown sequence number" of a route request.
const UNKNOWN_SEQUENCE: u8 = 0x08;

impl Message {
    /// The message in the format of RFC 3561. `address` gives the IPv4 address of a station.
    ///
    /// The simulator counts the hops to the station that receives a message, as ns-2 does. RFC 3561 counts the hops to
    /// the station that sends the message, which is one hop less.
    pub(in crate::wifi) fn encode(&self, address: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
        let hops = |hops: u32| hops.saturating_sub(1).min(255) as u8;
        let mut bytes = Vec::with_capacity(24);
        match self {
            Message::Request(request) => {
                let RouteRequest { id, originator, originator_sequence, destination, destination_sequence, .. } =
                    *request;
                let flags = if destination_sequence == 0 { UNKNOWN_SEQUENCE } else { 0 };
                bytes.extend([1, flags, 0, hops(request.hops)]);
                bytes.extend(id.to_be_bytes());
                bytes.extend(address(destination));
                bytes.extend(destination_sequence.to_be_bytes());
                bytes.extend(address(originator));
                bytes.extend(originator_sequence.to_be_bytes());
            }
            Message::Reply(reply) => {
                let RouteReply { originator, destination, destination_sequence, lifetime, .. } = *reply;
                bytes.extend([2, 0, 0, hops(reply.hops)]);
                bytes.extend(address(destination));
                bytes.extend(destination_sequence.to_be_bytes());
                bytes.extend(address(originator));
                bytes.extend((lifetime.as_millis().min(u128::from(u32::MAX)) as u32).to_be_bytes());
            }
            Message::Error(RouteError { unreachable }) => {
                // The number of destinations has 8 bits, so the message names only the first 255 unreachable stations.
                let named = &unreachable[..unreachable.len().min(255)];
                bytes.extend([3, 0, 0, named.len() as u8]);
                for (station, sequence) in named {
                    bytes.extend(address(*station));
                    bytes.extend(sequence.to_be_bytes());
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Time;
    use std::time::Duration;

    fn address(station: u32) -> [u8; 4] {
        [10, 0, 0, station as u8 + 1]
    }

    #[test]
    fn messages_have_the_layout_of_rfc_3561() {
        let request = Message::Request(RouteRequest {
            id: 5,
            originator: 0,
            originator_sequence: 4,
            destination: 9,
            destination_sequence: 0,
            hops: 1,
            time_to_live: 5,
            since: Time::ZERO,
        });
        let bytes = request.encode(address);
        assert_eq!(bytes, [1, 8, 0, 0, 0, 0, 0, 5, 10, 0, 0, 10, 0, 0, 0, 0, 10, 0, 0, 1, 0, 0, 0, 4]);
        let reply = Message::Reply(RouteReply {
            originator: 0,
            destination: 9,
            destination_sequence: 6,
            hops: 3,
            lifetime: Duration::from_secs(10),
            time_to_live: 4,
            since: Time::ZERO,
        });
        assert_eq!(reply.encode(address), [2, 0, 0, 2, 10, 0, 0, 10, 0, 0, 0, 6, 10, 0, 0, 1, 0, 0, 0x27, 0x10]);
        let error = Message::Error(RouteError { unreachable: vec![(9, 7), (8, 2)] });
        assert_eq!(error.encode(address), [3, 0, 0, 2, 10, 0, 0, 10, 0, 0, 0, 7, 10, 0, 0, 9, 0, 0, 0, 2]);
    }
}
