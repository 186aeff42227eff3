//! Helpers that several test programs share: a tunnel over one link in each direction.

use ripstop_base::{Seed, Time};
use ripstop_link::{LinkConfig, LinkConfigError};
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_sim::tcp::{SenderConfig, Variant};
use ripstop_sim::world::{Carrier, Hosts, STAMPED_HEADERS, TcpConfig, UdpConfig, World};

/// The number of the tunnel. It is 0, because the world has no other tunnel.
pub(crate) const TUNNEL: usize = 0;
/// The numbers of the link there and of the link back.
pub(crate) const LINKS: [usize; 2] = [0, 1];

/// A world with a tunnel and no traffic. Links and tunnel have the same random streams as in
/// `ripstop demo`.
pub(crate) fn tunnel(config: &TunnelConfig, links: [&LinkConfig; 2], seed: Seed) -> Result<World, LinkConfigError> {
    let mut world = World::new(seed);
    for (link, name) in links.into_iter().zip(["link/0", "link/1"]) {
        world.add_link(link, name)?;
    }
    world.add_tunnel(config, &LINKS[..1], &LINKS[1..], ["tunnel/left", "tunnel/right"]);
    Ok(world)
}

/// Adds a source of datagrams at the left end, and returns its number.
pub(crate) fn add_source(world: &mut World, source: UdpConfig) -> usize {
    let name = format!("traffic/{}", world.flows());
    world.add_udp(source, &Carrier::Tunnel { tunnel: TUNNEL, backwards: false }, &name)
}

/// A world with one endless TCP connection between kernels, through a tunnel. The links there and back
/// both have the settings `link`.
pub(crate) fn connected(variant: Variant, link: &LinkConfig, seed: Seed) -> World {
    let config = TunnelConfig::default();
    let mut world = tunnel(&config, [link, link], seed).expect("the links are valid");
    let payload = config.inner_mtu() - STAMPED_HEADERS;
    let (sender, hosts) = (SenderConfig::linux(), Hosts::Kernels);
    let flow = TcpConfig { variant, sender, hosts, payload, ack_every: 2, ..TcpConfig::default() };
    world.add_tcp(flow, &Carrier::Tunnel { tunnel: TUNNEL, backwards: false }, "flow").expect("the flow is valid");
    world
}

/// Goodput of flow `flow` between two times, bit/s. `from` and `to` are in seconds.
pub(crate) fn goodput(world: &mut World, flow: usize, from: f64, to: f64) -> f64 {
    world.run_until(Time::from_secs_f64(from), &mut ());
    let before = world.totals(flow).bytes;
    world.run_until(Time::from_secs_f64(to), &mut ());
    (world.totals(flow).bytes - before) as f64 * 8.0 / (to - from)
}
