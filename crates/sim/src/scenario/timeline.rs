//! A part of a run as a timeline: what each station of the media sends, loses and waits for.

use super::Scenario;
use crate::wifi::{AirBackoff, AirEvent, AirFrame, AirReception, AirState, FrameKind, Load};
use crate::world::{Happening, NetworkPacket, Observer};
use ripstop_base::Time;

/// What a station does during a span of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimelineKind {
    /// The station sends data of TCP or UDP.
    Data,
    /// The station sends a TCP acknowledgement.
    TcpAck,
    /// The station sends two packets, XORed.
    Xor,
    /// The station sends a MAC ACK.
    MacAck,
    /// The station sends a request to send.
    Rts,
    /// The station sends a clear to send.
    Cts,
    /// The station sends a message of the routing protocol: a broadcast, or a reply to one neighbour.
    Routing,
    /// The station senses a frame: the medium is busy. The frame may be for this station or for another station.
    Senses,
    /// A frame is for the station, and a collision destroys the frame at the station.
    Collision,
    /// A frame is for the station, and the station misses the frame, because it sends or follows another frame.
    Missed,
    /// A frame is for the station, and a random loss destroys the frame at the station.
    Lost,
    /// The station's back-off counts slots.
    Backoff,
    /// The station's back-off stands still, because the medium is busy or the station is in an exchange.
    Paused,
    /// The station's NAV or EIFS keeps the station silent.
    Reserved,
    /// The station's protection timer runs (adaptive back-off).
    Protection,
}

impl TimelineKind {
    /// All kinds.
    pub const ALL: [TimelineKind; 15] = [
        TimelineKind::Data,
        TimelineKind::TcpAck,
        TimelineKind::Xor,
        TimelineKind::MacAck,
        TimelineKind::Rts,
        TimelineKind::Cts,
        TimelineKind::Routing,
        TimelineKind::Senses,
        TimelineKind::Collision,
        TimelineKind::Missed,
        TimelineKind::Lost,
        TimelineKind::Backoff,
        TimelineKind::Paused,
        TimelineKind::Reserved,
        TimelineKind::Protection,
    ];
}

/// A part of a run, station by station. Times without a span are idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// When the timeline begins.
    pub from: Time,
    /// When the timeline ends.
    pub to: Time,
    /// The stations of all media, in the order of the scenario.
    pub rows: Vec<TimelineRow>,
}

/// The spans of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineRow {
    /// The name of the station.
    pub name: String,
    /// The station's spans, cut to the timeline. Spans of different kinds may overlap.
    pub spans: Vec<TimelineSpan>,
}

/// A time during which a station does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSpan {
    /// What the station does.
    pub kind: TimelineKind,
    /// When the span begins.
    pub from: Time,
    /// When the span ends; later than `from`.
    pub to: Time,
}

impl Timeline {
    /// The number of spans of this kind, over all stations.
    pub fn count(&self, kind: TimelineKind) -> usize {
        self.rows.iter().flat_map(|row| &row.spans).filter(|span| span.kind == kind).count()
    }
}

/// Records the timeline of a run.
#[derive(Debug)]
pub struct AirTimeline {
    timeline: Timeline,
    /// For each medium, the index of its first row.
    first_rows: Vec<usize>,
    /// For each row, the time since which the station waits, and the reason.
    waits: Vec<Option<(Time, AirState)>>,
}

impl AirTimeline {
    /// A timeline of runs of `scenario`, between the times `from` and `to`.
    pub fn new(scenario: &Scenario, from: Time, to: Time) -> AirTimeline {
        let mut first_rows = Vec::with_capacity(scenario.medium.len());
        let mut rows = Vec::new();
        for medium in &scenario.medium {
            first_rows.push(rows.len());
            let row = |name: &String| TimelineRow { name: name.clone(), spans: Vec::new() };
            rows.extend(medium.stations.iter().map(|station| row(&station.name)));
        }
        let waits = vec![None; rows.len()];
        AirTimeline { timeline: Timeline { from, to, rows }, first_rows, waits }
    }

    /// The timeline.
    pub fn finish(mut self) -> Timeline {
        let end = self.timeline.to;
        for (row, wait) in std::mem::take(&mut self.waits).into_iter().enumerate() {
            if let Some((since, state)) = wait {
                self.push_wait(row, state, since, end);
            }
        }
        for row in &mut self.timeline.rows {
            row.spans = joined(std::mem::take(&mut row.spans));
        }
        self.timeline
    }

    /// Adds a span, cut to the timeline.
    fn push(&mut self, row: usize, kind: TimelineKind, from: Time, to: Time) {
        let (from, to) = (from.max(self.timeline.from), to.min(self.timeline.to));
        if from < to
            && let Some(row) = self.timeline.rows.get_mut(row)
        {
            row.spans.push(TimelineSpan { kind, from, to });
        }
    }

    fn push_frame(&mut self, row: usize, frame: &AirFrame<NetworkPacket>) {
        let load = frame.packets[0].as_ref().map_or(Load::Data, |packet| packet.load);
        let kind = match (frame.kind, load) {
            (FrameKind::Rts, _) => TimelineKind::Rts,
            (FrameKind::Cts, _) => TimelineKind::Cts,
            (FrameKind::Ack, _) => TimelineKind::MacAck,
            (FrameKind::Xor, _) => TimelineKind::Xor,
            (FrameKind::Broadcast, _) | (FrameKind::Data, Load::Routing) => TimelineKind::Routing,
            (FrameKind::Data, Load::Ack) => TimelineKind::TcpAck,
            (FrameKind::Data, Load::Data) => TimelineKind::Data,
        };
        self.push(row, kind, frame.at, frame.at + frame.airtime);
    }

    fn push_reception(&mut self, row: usize, reception: &AirReception) {
        let kind = match reception {
            lost if lost.is_collision() => TimelineKind::Collision,
            lost if lost.is_missed() => TimelineKind::Missed,
            lost if lost.is_random_loss() => TimelineKind::Lost,
            _ => TimelineKind::Senses,
        };
        self.push(row, kind, reception.began, reception.ends);
    }

    /// Adds what a station waited for from `since` to `until`.
    fn push_wait(&mut self, row: usize, state: AirState, since: Time, until: Time) {
        match state.backoff {
            AirBackoff::Off => {}
            AirBackoff::Paused => self.push(row, TimelineKind::Paused, since, until),
            AirBackoff::Running { from, ends } => {
                self.push(row, TimelineKind::Backoff, since.max(from), until.min(ends));
            }
        }
        self.push(row, TimelineKind::Reserved, since, until.min(state.nav.max(state.eifs)));
        self.push(row, TimelineKind::Protection, since, until.min(state.protection));
    }
}

/// The spans in order of time. Spans of a wait that follow each other without a gap are joined, because the record cuts
/// a span wherever another wait begins or ends.
fn joined(mut spans: Vec<TimelineSpan>) -> Vec<TimelineSpan> {
    spans.sort_by_key(|span| (span.kind, span.from, span.to));
    spans.dedup_by(|next, span| {
        let joins = next.kind == span.kind && next.kind >= TimelineKind::Backoff && next.from == span.to;
        if joins {
            span.to = next.to;
        }
        joins
    });
    spans.sort_by_key(|span| (span.from, span.to, span.kind));
    spans
}

impl Observer for AirTimeline {
    fn hears_air(&self) -> bool {
        true
    }

    fn note(&mut self, _: Time, happening: Happening<'_>) {
        let Happening::Air { medium, event, .. } = happening else { return };
        let Some(first) = self.first_rows.get(medium).copied() else { return };
        match event {
            AirEvent::Sent(frame) => self.push_frame(first + frame.station as usize, frame),
            AirEvent::Heard(reception) => self.push_reception(first + reception.station as usize, reception),
            AirEvent::Waits { station, at, state } => {
                let row = first + *station as usize;
                let before = self.waits.get_mut(row).and_then(|wait| wait.replace((*at, *state)));
                if let Some((since, before)) = before {
                    self.push_wait(row, before, since, *at);
                }
            }
        }
    }
}
