//! A trace of a run: its events as CSV, one line each.

use super::{FlowSpec, Scenario};
use crate::world::{Body, Happening, NetworkPacket, Observer, Owner};
use ripstop_base::Time;
use ripstop_link::Fate;
use ripstop_schemes::lt::{LtPacket, LtReport};
use std::io::{self, Write};

/// Writes the events of a run as CSV. The columns are: time, event, link, flow or tunnel, kind of packet, packet
/// number, packet bytes, packet fate, congestion window in packets, SRTT in seconds. A column that does not apply to
/// the event is empty.
///
/// The events are:
///
/// * `offered`: a link was offered a packet. The fate is the arrival time, or the reason for the loss. On a medium the
///   fate is `sent`. The fate is `waits` if the queue discipline decides later.
/// * `decided`: a link has decided the fate of a packet that waited.
/// * `arrived`: a packet arrived at the end of a link.
/// * `window`: a sender handled an acknowledgement, a time-out or new data. The line has the sender's window and SRTT.
/// * `completed`: a transfer is complete. The line has the transfer's bytes and duration.
#[derive(Debug)]
pub struct Trace<W: Write> {
    out: W,
    links: Vec<String>,
    flows: Vec<String>,
    tunnels: Vec<String>,
    failed: Option<io::Error>,
}

impl<W: Write> Trace<W> {
    /// Begins a trace of runs of `scenario`.
    ///
    /// # Errors
    /// An error in writing the first line.
    pub fn new(scenario: &Scenario, mut out: W) -> io::Result<Trace<W>> {
        writeln!(out, "time_s,event,link,owner,kind,number,bytes,fate,window_packets,srtt_s")?;
        Ok(Trace {
            out,
            links: scenario.link_names(),
            flows: scenario.flow.iter().flat_map(FlowSpec::names).collect(),
            tunnels: scenario.tunnel.iter().map(|tunnel| tunnel.name.clone()).collect(),
            failed: None,
        })
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)?;
        self.out.flush()
    }

    fn write(&mut self, now: Time, happening: &Happening<'_>) -> io::Result<()> {
        // `Received` and `Air` get no line. The arrivals in the trace imply `Received`, and the frames on the air have
        // files of their own.
        if matches!(happening, Happening::Received { .. } | Happening::Air { .. }) {
            return Ok(());
        }
        let (nanos, out) = (now.as_nanos(), &mut self.out);
        write!(out, "{}.{:09},", nanos / 1_000_000_000, nanos % 1_000_000_000)?;
        let owner = |owner: &Owner| match owner {
            Owner::Flow(k) => self.flows[*k as usize].as_str(),
            Owner::Tunnel(k) => &self.tunnels[*k as usize],
            // A scenario has no endpoints.
            Owner::Endpoints(_) => "",
        };
        match happening {
            Happening::Offered { link, packet, owner: whose, fate, .. } => {
                let (kind, number) = kind_and_number(packet);
                write!(out, "offered,{},{},{kind},{number},{},", self.links[*link], owner(whose), packet.bytes)?;
                let Some(fate) = fate else { return writeln!(out, "sent,,") };
                write_fate(out, fate)
            }
            Happening::Decided { link, packet, owner: whose, fate } => {
                let (kind, number) = kind_and_number(packet);
                write!(out, "decided,{},{},{kind},{number},{},", self.links[*link], owner(whose), packet.bytes)?;
                write_fate(out, fate)
            }
            Happening::Arrived { link, packet, owner: whose, .. } => {
                let (kind, number) = kind_and_number(packet);
                writeln!(out, "arrived,{},{},{kind},{number},{},,,", self.links[*link], owner(whose), packet.bytes)
            }
            Happening::Window { flow, cwnd, srtt } => {
                write!(out, "window,,{},,,,,{cwnd:.4},", self.flows[*flow])?;
                srtt.map_or(Ok(()), |srtt| write!(out, "{srtt:.6}"))?;
                writeln!(out)
            }
            Happening::Completed { flow, completion } => {
                let took = completion.ended.since(completion.began).as_secs_f64();
                writeln!(out, "completed,,{},transfer,,{},took {took:.9},,", self.flows[*flow], completion.bytes)
            }
            Happening::Received { .. } | Happening::Air { .. } => Ok(()),
        }
    }
}

/// Writes the fate of a packet, and the end of its line.
fn write_fate(out: &mut impl Write, fate: &Fate) -> io::Result<()> {
    match fate {
        Fate::Delivered(delivery) => writeln!(out, "arrives {:.9},,", delivery.arrival.as_secs_f64()),
        Fate::Queued => writeln!(out, "waits,,"),
        Fate::Lost { reason, .. } => writeln!(out, "lost {reason:?},,"),
        Fate::Refused { reason } => writeln!(out, "refused {reason:?},,"),
    }
}

impl<W: Write> Observer for Trace<W> {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        if self.failed.is_none() {
            self.failed = self.write(now, &happening).err();
        }
    }
}

/// The kind of a packet, and a number. An LT-ACK has the number of its block, or one more than the highest packet number
/// that it reports. An acknowledgement has the number of the next segment that it requests. Any other packet has its own
/// number; sealed bytes have 0.
fn kind_and_number(packet: &NetworkPacket) -> (&'static str, u64) {
    match &packet.body {
        Body::Data(number) => ("data", *number),
        Body::Both(both) => ("data", both.0),
        Body::Ack(ack) => ("ack", ack.next),
        Body::Coded(combination) => ("combination", combination.number),
        Body::Seen(answer) => ("seen", answer.first_unseen),
        Body::Symbol(packet) => match &**packet {
            LtPacket::Open { .. } => ("open", 0),
            LtPacket::Symbol(symbol) => ("symbol", symbol.number),
        },
        Body::LtAck(ack) => match &ack.report {
            LtReport::Block { block, .. } => ("lt-ack", *block),
            LtReport::All { heard, .. } => ("lt-ack", *heard),
            LtReport::Opened | LtReport::Unknown => ("lt-ack", 0),
        },
        Body::Granted { next, .. } => ("ack", *next),
        Body::Admitted(admitted) => ("ack", admitted.0.next),
        Body::Datagram(datagram) => ("datagram", datagram.number),
        Body::Udp(number) => ("udp", *number),
        Body::Sealed(_) => ("sealed", 0),
    }
}
