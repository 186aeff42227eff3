//! Draws a timeline as SVG: a row for each station, with four lanes. From top to bottom the lanes
//! show what the station sends, what it hears, why it waits, and its protection timer.

use super::axis::Axis;
use super::chart::escape;
use ripstop_sim::scenario::{Timeline, TimelineKind};
use std::fmt::Write as _;

/// Width of a picture, in SVG units. Pages scale the picture. In a picture of 50 ms, a MAC ACK of
/// 248 us is 5 units wide. With half the value, a MAC ACK is hard to see. Double the value needs a
/// very wide screen.
const WIDTH: f64 = 1200.0;
/// Margins left and right of the rows, in SVG units. The left margin holds names of up to 8 letters. The right margin
/// holds half of the last number below the rows. With half the values texts are cut; with double the values the rows
/// are shorter.
const SIDES: [f64; 2] = [60.0, 26.0];
/// Height of a row, in SVG units: the lanes of [`look`], and a gap of 4. At half the value rows
/// overlap; at double the value ten stations fill more than a screen.
const ROW: f64 = 38.0;
/// Height of a line of text, in SVG units. The font size is 11. At half the value lines overlap.
const LINE: f64 = 16.0;
/// The largest number of letters of the command in one line. Longer lines would leave the picture.
const COMMAND_LETTERS: usize = 165;
/// Number of entries in a line of the legend, and the width of each entry in SVG units. The longest
/// entry needs 210 units.
const LEGEND: (usize, f64) = (5, 225.0);
/// The smallest width of a span, in SVG units. Thinner spans would be invisible.
const THINNEST: f64 = 0.4;

/// The lane, the colour and the name of a kind of span.
struct Look {
    /// Distance of the lane from the top of the row, and its height, in SVG units.
    lane: (f64, f64),
    colour: &'static str,
    name: &'static str,
    /// The name of the kind in the SVG text.
    class: &'static str,
}

/// How each kind of span looks. The blues, the pink and the oranges come from the palette of Okabe
/// and Ito, which people with any kind of colour blindness can distinguish. Kinds of similar colour
/// are in different lanes.
fn look(kind: TimelineKind) -> Look {
    const SENDS: (f64, f64) = (1.0, 13.0);
    const HEARS: (f64, f64) = (15.0, 8.0);
    const WAITS: (f64, f64) = (24.0, 6.0);
    const TIMER: (f64, f64) = (31.0, 3.0);
    let (lane, colour, name, class) = match kind {
        TimelineKind::Data => (SENDS, "#0072b2", "sends data", "data"),
        TimelineKind::TcpAck => (SENDS, "#56b4e9", "sends a TCP ACK", "tcp-ack"),
        TimelineKind::Xor => (SENDS, "#cc79a7", "sends an XOR frame", "xor"),
        TimelineKind::MacAck => (SENDS, "#000000", "sends a MAC ACK", "mac-ack"),
        TimelineKind::Rts => (SENDS, "#8c510a", "sends an RTS", "rts"),
        TimelineKind::Cts => (SENDS, "#e69f00", "sends a CTS", "cts"),
        TimelineKind::Routing => (SENDS, "#009e73", "sends a broadcast or AODV reply", "routing"),
        TimelineKind::Senses => (HEARS, "#d4d4d4", "senses a frame", "senses"),
        TimelineKind::Collision => (HEARS, "#d00000", "a frame for it collides", "collision"),
        TimelineKind::Missed => (HEARS, "#e69f00", "misses a frame for it", "missed"),
        TimelineKind::Lost => (HEARS, "#cc79a7", "loses a frame at random", "lost"),
        TimelineKind::Backoff => (WAITS, "#3f9b46", "its back-off runs", "backoff"),
        TimelineKind::Paused => (WAITS, "#c5e3c2", "its back-off is paused", "paused"),
        TimelineKind::Reserved => (WAITS, "#f0c27a", "NAV or EIFS", "reserved"),
        TimelineKind::Protection => (TIMER, "#7b4fa3", "its protection timer runs", "protection"),
    };
    Look { lane, colour, name, class }
}

/// The kinds in the order in which they are drawn. A later kind covers an earlier kind in the same
/// lane.
fn drawing_order() -> Vec<TimelineKind> {
    let mut kinds = TimelineKind::ALL.to_vec();
    let rank = |kind: &TimelineKind| match kind {
        TimelineKind::Reserved => 0,
        TimelineKind::Paused => 1,
        _ => 2,
    };
    kinds.sort_by_key(rank);
    kinds
}

/// Draws `timeline` as SVG text. `command` is the command that made the timeline. The header of the
/// picture shows this command. The legend names the kinds that occur.
pub fn timeline_picture(timeline: &Timeline, command: &str) -> String {
    let lines = wrap(command);
    let kinds: Vec<TimelineKind> = TimelineKind::ALL.into_iter().filter(|kind| timeline.count(*kind) > 0).collect();
    let legend_lines = (kinds.len() + 1).div_ceil(LEGEND.0);
    let legend_top = 24.0 + LINE * lines.len() as f64;
    let top = legend_top + LINE * legend_lines as f64 + 12.0;
    let bottom = top + ROW * timeline.rows.len() as f64;
    let height = bottom + 38.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (k, line) in lines.iter().enumerate() {
        let y = 18.0 + LINE * k as f64;
        let _ = writeln!(svg, "<text x=\"8\" y=\"{y}\" font-family=\"monospace\">{}</text>", escape(line));
    }
    legend(&mut svg, &kinds, legend_top);
    let [from, to] = [timeline.from, timeline.to].map(|at| at.as_nanos() as f64 / 1e6);
    let axis = Axis::over([from, to].into_iter(), false, false);
    let x = |ms: f64| SIDES[0] + axis.part(ms) * (WIDTH - SIDES[0] - SIDES[1]);
    axes(&mut svg, &axis, x, [top, bottom]);
    for (k, row) in timeline.rows.iter().enumerate() {
        let y = top + ROW * k as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{} {y:.1}H{}\" stroke=\"#bbb\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            SIDES[0],
            WIDTH - SIDES[1],
            SIDES[0] - 6.0,
            y + 18.0,
            escape(&row.name)
        );
    }
    for kind in drawing_order() {
        let Look { lane, colour, class, .. } = look(kind);
        let mut path = String::new();
        for (k, row) in timeline.rows.iter().enumerate() {
            for span in row.spans.iter().filter(|span| span.kind == kind) {
                let [left, right] = [span.from, span.to].map(|at| x(at.as_nanos() as f64 / 1e6));
                let width = (right - left).max(THINNEST);
                let y = top + ROW * k as f64 + lane.0;
                let _ = write!(path, "M{left:.1} {y:.0}h{width:.1}v{}h-{width:.1}z", lane.1);
            }
        }
        if !path.is_empty() {
            let _ = writeln!(svg, "<path class=\"{class}\" fill=\"{colour}\" d=\"{path}\"/>");
        }
    }
    svg + "</svg>\n"
}

/// Writes the legend: the kinds that occur, and what an empty row means.
fn legend(svg: &mut String, kinds: &[TimelineKind], top: f64) {
    let place = |k: usize| (SIDES[0] + LEGEND.1 * (k % LEGEND.0) as f64, top + LINE * (k / LEGEND.0) as f64);
    for (k, kind) in kinds.iter().enumerate() {
        let (x, y) = place(k);
        let Look { lane, colour, name, .. } = look(*kind);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"18\" height=\"{}\" fill=\"{colour}\"/><text x=\"{}\" y=\"{}\">{name}</text>",
            y + 6.0 - lane.1 / 2.0,
            lane.1,
            x + 24.0,
            y + 10.0
        );
    }
    let (x, y) = place(kinds.len());
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\">empty: the medium is idle here</text>", y + 10.0);
}

/// Writes the axis of time with its ticks. Thin lines divide each step between ticks into five
/// parts.
fn axes(svg: &mut String, axis: &Axis, x: impl Fn(f64) -> f64, [top, bottom]: [f64; 2]) {
    let ticks = axis.ticks();
    let step = if let [first, second, ..] = ticks[..] { second - first } else { 0.0 };
    for tick in &ticks {
        for part in 0..5 {
            let at = tick + step * f64::from(part) / 5.0;
            if at > axis.high {
                break;
            }
            let colour = if part == 0 { "#bbb" } else { "#eee" };
            let _ = writeln!(svg, "<path d=\"M{:.1} {top:.1}V{bottom:.1}\" stroke=\"{colour}\"/>", x(at));
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(*tick),
            bottom + 14.0,
            // Steps are powers of ten times 1, 2 or 5. Rounding removes the error of the binary
            // fraction.
            (tick * 1e6).round() / 1e6
        );
    }
    let middle = (SIDES[0] + WIDTH - SIDES[1]) / 2.0;
    let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">time, ms</text>", bottom + 30.0);
}

/// Cuts a command into lines at spaces.
fn wrap(command: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in command.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + 1 + word.len() > COMMAND_LETTERS {
            lines.push(format!("    {word}"));
        } else {
            let space = if lines[last].is_empty() { "" } else { " " };
            let _ = write!(lines[last], "{space}{word}");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Time;
    use ripstop_sim::scenario::{TimelineRow, TimelineSpan};

    #[test]
    fn a_picture_has_its_command_each_station_and_each_kind() {
        let spans = TimelineKind::ALL.iter().enumerate().map(|(k, kind)| TimelineSpan {
            kind: *kind,
            from: Time::from_millis(k as u64),
            to: Time::from_millis(k as u64 + 1),
        });
        let busy = TimelineRow { name: "n<0>".to_owned(), spans: spans.collect() };
        let idle = TimelineRow { name: "n1".to_owned(), spans: Vec::new() };
        let timeline = Timeline { from: Time::ZERO, to: Time::from_millis(20), rows: vec![busy, idle] };
        let command = format!("ripstop sim string {}", "--flag value ".repeat(20));
        let svg = timeline_picture(&timeline, &command);
        for text in ["ripstop sim string --flag", ">n&lt;0&gt;</text>", ">n1</text>", "time, ms", "the medium is idle"]
        {
            assert!(svg.contains(text), "{text}");
        }
        for kind in TimelineKind::ALL {
            let Look { class, name, colour, .. } = look(kind);
            assert_eq!(svg.matches(&format!("class=\"{class}\"")).count(), 1, "{class}");
            assert_eq!(svg.matches(&format!(">{name}</text>")).count(), 1, "{name}");
            let same_lane = TimelineKind::ALL.into_iter().filter(|other| look(*other).lane == look(kind).lane);
            assert_eq!(same_lane.filter(|other| look(*other).colour == colour).count(), 1, "{name}");
        }
        // A span of 1 ms of 20 covers a twentieth of the width.
        assert!(svg.contains("h55.7v13h-55.7z"), "{svg}");
        let longest = svg.lines().filter(|line| line.contains("monospace")).map(str::len).max();
        assert!(longest < Some(COMMAND_LETTERS + 60), "{longest:?}");
    }

    #[test]
    fn kinds_that_do_not_occur_are_not_drawn() {
        let rows = vec![TimelineRow { name: "n0".to_owned(), spans: Vec::new() }];
        let svg = timeline_picture(&Timeline { from: Time::ZERO, to: Time::from_millis(1), rows }, "ripstop");
        assert!(!svg.contains("class=") && !svg.contains("collides"), "{svg}");
    }
}
