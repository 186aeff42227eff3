//! Hosts outside the world: their datagrams do not pass the world's links. The caller carries them. A test uses such a
//! host as an attacker: the host can send an endpoint whatever bytes it likes.

use super::World;
use super::node::SessionId;
use ripstop_proto::endpoint::{AddPeerError, PeerConfig, PeerStatus};
use ripstop_proto::secure::PublicKey;
use std::net::SocketAddr;

impl World {
    /// Tells an endpoint the present address of its peer `other`, as a look-up of the peer's name does.
    pub fn resolve(&mut self, endpoint: usize, other: usize) {
        let address = self.endpoints[other].end.session.address;
        let now = self.now();
        self.endpoints[endpoint].resolve(now, other as u32, address);
        self.serve(endpoint);
    }

    /// The public key of an endpoint.
    pub fn public_key(&self, endpoint: usize) -> PublicKey {
        self.endpoints[endpoint].public()
    }

    /// Adds a peer outside the world to an endpoint.
    ///
    /// # Errors
    /// Another peer has the same key or the same allowed IPs.
    pub fn add_outside_peer(&mut self, endpoint: usize, peer: PeerConfig) -> Result<(), AddPeerError> {
        let now = self.now();
        self.endpoints[endpoint].add_outside_peer(now, peer)
    }

    /// Gives an endpoint a datagram that a host outside the world has sent.
    pub fn inject(&mut self, endpoint: usize, from: SocketAddr, mut bytes: Vec<u8>) {
        let now = self.now();
        self.endpoints[endpoint].inject(now, from, &mut bytes);
        self.serve(endpoint);
    }

    /// Removes and returns the oldest datagram of an endpoint to a host outside the world, with its destination. The
    /// world keeps the newest 1000.
    pub fn take_outside(&mut self, endpoint: usize) -> Option<(SocketAddr, Box<[u8]>)> {
        self.endpoints[endpoint].take_outside()
    }

    /// What an endpoint knows of its peer `index` outside the world, in the order in which these peers were added, and
    /// how many packets of all such peers the endpoint has delivered.
    pub fn outside_status(&self, endpoint: usize, index: usize) -> Option<(PeerStatus, u64)> {
        self.endpoints[endpoint].outside_status(index)
    }

    /// Lets the endpoint send what it has to send now.
    fn serve(&mut self, endpoint: usize) {
        self.make_ready(SessionId::Endpoint(endpoint as u32));
        self.settle(&mut ());
    }
}
