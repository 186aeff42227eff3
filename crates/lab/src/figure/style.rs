//! Gives each curve a colour, dashes and a marker. Curves usually differ in more than one of the
//! three, so that no reader depends on colour alone.

use super::curve::FigureCurve;

/// Colours that people with any kind of colour blindness can distinguish (the palette of Okabe and
/// Ito). Two colours of the palette are replaced. Grey replaces the second blue, which is close to
/// the first. Brown replaces yellow, which is faint on white. The ninth curve has the first colour
/// again, with other dashes.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000", "#7f7f7f", "#8c510a"];

/// Dash patterns in SVG units: the first eight curves are solid, the next eight have long dashes,
/// and the last eight have short dashes.
const DASHES: [&str; 3] = ["", "7 3", "2 3"];

/// Length of a dash of curves that coincide, in SVG units. Such curves take turns: each curve draws
/// its dashes in the gaps of the other curves. With half the value, colours change twice as often
/// along the line; with double the value, half as often.
const SHARED_DASH: f64 = 7.0;

/// How a curve is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CurveStyle {
    /// The colour of the line and of its markers.
    pub(super) colour: &'static str,
    /// The SVG attributes `stroke-dasharray` and `stroke-dashoffset`; empty for a solid line.
    pub(super) dashes: String,
    /// Selects one of five marker shapes.
    marker: usize,
    /// Index of the first curve with the same points, if that curve comes before this one.
    pub(super) same_as: Option<usize>,
}

/// The styles of all curves. Curves with the same points are dashed so that each is visible.
pub(super) fn styles(curves: &[FigureCurve]) -> Vec<CurveStyle> {
    let first_like = |k: usize| (0..=k).find(|other| coincide(&curves[*other], &curves[k])).unwrap_or(k);
    let groups: Vec<usize> = (0..curves.len()).map(first_like).collect();
    let style = |k: usize| {
        let members = groups.iter().filter(|group| **group == groups[k]).count();
        let place = groups[..k].iter().filter(|group| **group == groups[k]).count();
        let dashes = match members {
            1 => match DASHES[k / COLOURS.len() % DASHES.len()] {
                "" => String::new(),
                dashes => format!(" stroke-dasharray=\"{dashes}\""),
            },
            _ => {
                let (gap, shift) = (SHARED_DASH * (members - 1) as f64, SHARED_DASH * place as f64);
                format!(" stroke-dasharray=\"{SHARED_DASH} {gap}\" stroke-dashoffset=\"-{shift}\"")
            }
        };
        let same_as = (groups[k] != k).then_some(groups[k]);
        CurveStyle { colour: COLOURS[k % COLOURS.len()], dashes, marker: k, same_as }
    };
    (0..curves.len()).map(style).collect()
}

/// Whether two curves have the same points. Values that differ by at most a thousandth count as the
/// same.
fn coincide(one: &FigureCurve, other: &FigureCurve) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.abs().max(b.abs());
    !one.points.is_empty()
        && one.points.len() == other.points.len()
        && one.points.iter().zip(&other.points).all(|(a, b)| near(a.0, b.0) && near(a.1, b.1))
}

impl CurveStyle {
    /// The marker at a point, as SVG text.
    pub(super) fn marker(&self, x: f64, y: f64) -> String {
        let colour = self.colour;
        match self.marker % 5 {
            0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.4\" fill=\"{colour}\"/>"),
            1 => format!("<path d=\"M{:.1} {:.1}h4.4v4.4h-4.4z\" fill=\"{colour}\"/>", x - 2.2, y - 2.2),
            2 => format!("<path d=\"M{x:.1} {:.1}l3 5h-6z\" fill=\"{colour}\"/>", y - 3.0),
            3 => format!("<path d=\"M{x:.1} {:.1}l3 3l-3 3l-3-3z\" fill=\"{colour}\"/>", y - 3.0),
            _ => format!(
                "<path d=\"M{:.1} {:.1}l5 5m0-5l-5 5\" stroke=\"{colour}\" stroke-width=\"1.4\"/>",
                x - 2.5,
                y - 2.5
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> FigureCurve {
        let points = values.iter().enumerate().map(|(k, y)| (k as f64, *y, 0.0)).collect();
        FigureCurve { points, ..FigureCurve::default() }
    }

    #[test]
    fn curves_on_each_other_take_turns() {
        let curves = [curve(&[1.0, 2.0]), curve(&[1.0, 3.0]), curve(&[1.0, 2.0]), curve(&[1.0, 2.0])];
        let all = styles(&curves);
        assert_eq!(all.iter().map(|style| style.same_as).collect::<Vec<_>>(), [None, None, Some(0), Some(0)]);
        assert_eq!(all[1].dashes, "");
        let dashes = |shift: &str| format!(" stroke-dasharray=\"7 14\" stroke-dashoffset=\"-{shift}\"");
        let turns = [&all[0], &all[2], &all[3]].map(|style| style.dashes.clone());
        assert_eq!(turns, [dashes("0"), dashes("7"), dashes("14")]);
    }

    #[test]
    fn no_two_of_many_curves_look_alike() {
        let curves: Vec<FigureCurve> = (0..18).map(|k| curve(&[f64::from(k), 1.0])).collect();
        let all = styles(&curves);
        for (k, style) in all.iter().enumerate() {
            assert!(all[..k].iter().all(|other| (other.colour, &other.dashes) != (style.colour, &style.dashes)));
        }
        // Curves without points coincide with nothing.
        assert!(styles(&[curve(&[]), curve(&[])]).iter().all(|style| style.same_as.is_none()));
    }
}
