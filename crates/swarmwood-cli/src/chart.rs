//! A chart with axes, ticks and lines, as a piece of SVG.

use std::fmt::Write;

pub use swarmwood::model::picture::escape;

use crate::format::number;

/// Where a chart stands on the page, axes and labels included.
#[derive(Clone, Copy)]
pub struct ChartArea {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// One line of a chart.
pub struct Series {
    pub name: String,
    pub colour: &'static str,
    pub points: Vec<(f64, f64)>,
    /// Whether the whole line must be seen; others may leave the chart where they are far off.
    pub whole: bool,
    /// How it is drawn.
    pub mark: SeriesMark,
}

/// How the points of a line are drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum SeriesMark {
    /// One after the other.
    Line,
    /// The same, in dashes.
    Dashed,
    /// Each by itself, with a radius and an opacity.
    Dots(f64, f64),
    /// Two by two, as ends of a line.
    Stems,
    /// Two by two, as corners of a bar.
    Bars,
}

/// What is drawn.
pub struct Chart {
    pub x_label: String,
    pub y_label: String,
    pub lines: Vec<Series>,
}

/// The page of a document.
pub const WIDTH: f64 = 820.0;
pub const MARGIN: f64 = 10.0;
pub const TITLE: f64 = 34.0;

/// Heights of charts.
pub const TALL: f64 = 330.0;
pub const LOW: f64 = 230.0;

pub const BLUE: &str = "#1f6fb2";
pub const ORANGE: &str = "#d9822b";
pub const GREEN: &str = "#2b8a5a";
pub const RED: &str = "#b3434f";
pub const GREY: &str = "#8a8a8a";

/// An SVG document with a headline.
pub fn page(title: &str, body: &str, height: f64) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' \
         font-family='Helvetica, Arial, sans-serif' font-size='12' fill='#333'>\n\
         <rect width='100%' height='100%' fill='white'/>\n\
         <text x='{:.0}' y='{:.0}' text-anchor='middle' font-size='15' fill='#111'>{}</text>\n{body}</svg>\n",
        WIDTH / 2.0,
        MARGIN + 16.0,
        escape(title)
    )
}

/// A picture for a page of HTML, which has a style sheet for it: no paper of its own, letters in
/// the page's colour, and a title and a description for readers that cannot see it. `id` is an
/// identifier of its own on the page.
pub fn inline(
    id: &str,
    title: &str,
    told: &str,
    (width, height): (f64, f64),
    body: &str,
) -> String {
    format!(
        "<svg class='chart' role='img' aria-labelledby='{id}-title {id}-desc' viewBox='0 0 {width:.0} {height:.0}' \
         width='{width:.0}' height='{height:.0}' font-size='12'>\n\
         <title id='{id}-title'>{}</title>\n<desc id='{id}-desc'>{}</desc>\n{body}</svg>\n",
        escape(title),
        escape(told)
    )
}

/// Room for ticks and labels around the plane.
const LEFT: f64 = 68.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 42.0;

/// Height of a line of the legend, and the room that an entry takes beside its name.
const LEGEND: f64 = 17.0;
const ENTRY: f64 = 38.0;

/// Width of a letter of the legend, and of a digit of a tick: rather too much than too little.
const LETTER: f64 = 7.0;
const DIGIT: f64 = 8.0;

/// The plane of a chart: pixels and the values they stand for.
struct PlotArea {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    x: (f64, f64),
    y: (f64, f64),
}

impl PlotArea {
    fn x_of(&self, x: f64) -> f64 {
        self.left + (x - self.x.0) / (self.x.1 - self.x.0) * self.width
    }

    fn y_of(&self, y: f64) -> f64 {
        self.top + self.height - (y - self.y.0) / (self.y.1 - self.y.0) * self.height
    }
}

impl Chart {
    /// The chart as SVG elements. `name` is an identifier of its own on the page.
    pub fn draw(&self, name: &str, place: ChartArea) -> String {
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let width = place.width - LEFT - RIGHT;
        let legend = self.legend(width);
        let top = TOP + LEGEND * legend.last().map_or(0.0, |last| last.2);
        let plane = PlotArea {
            left: place.left + LEFT,
            top: place.top + top,
            width,
            height: place.height - top - BOTTOM,
            x: range(all().map(|point| point.0), 0.0),
            y: self.y_range(),
        };
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = self.draw_axes(&mut svg, &plane);
        let _ = self.draw_lines(&mut svg, &plane, name);
        let _ = draw_legend(&mut svg, &legend, (plane.left, place.top + TOP));
        svg
    }

    /// What the chart shows, for readers that cannot see it: where each line begins and ends, or
    /// what dots and bars range over.
    pub fn tell(&self) -> String {
        let mut text = format!("{} against {}.", self.y_label, self.x_label);
        for line in self.lines.iter().filter(|line| !line.name.is_empty()) {
            let finite = || line.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            let (Some(first), Some(last)) = (finite().next(), finite().next_back()) else {
                continue;
            };
            let (low, high) = finite()
                .fold((first.1, first.1), |(low, high), (_, y)| (low.min(*y), high.max(*y)));
            let name = &line.name;
            // Writing to a String cannot fail.
            let _ = match line.mark {
                SeriesMark::Line | SeriesMark::Dashed if finite().count() > 1 => {
                    let (from, to) = (number(first.1), number(last.1));
                    write!(
                        text,
                        " {name}: from {from} at {} to {to} at {}.",
                        number(first.0),
                        number(last.0)
                    )
                }
                SeriesMark::Bars => write!(text, " {name}: bars up to {}.", number(high)),
                _ => write!(text, " {name}: between {} and {}.", number(low), number(high)),
            };
        }
        text
    }

    /// The chart as a picture for a page of HTML.
    pub fn inline(&self, id: &str, title: &str, (width, height): (f64, f64)) -> String {
        let body = self.draw(id, ChartArea { left: 0.0, top: 0.0, width, height });
        inline(id, title, &self.tell(), (width, height), &body)
    }

    /// The entries of the legend, each with where it begins and on which line; lines are as wide as
    /// the plane.
    fn legend(&self, width: f64) -> Vec<(&Series, f64, f64)> {
        let (mut x, mut row) = (0.0, 0.0);
        let mut entries = Vec::new();
        // Lines without a name belong to one that has it.
        for line in self.lines.iter().filter(|line| self.lines.len() > 1 && !line.name.is_empty()) {
            let room = ENTRY + LETTER * line.name.chars().count() as f64;
            // What stands behind the last name may leave the plane.
            if x > 0.0 && x + room - 15.0 > width {
                (x, row) = (0.0, row + 1.0);
            }
            entries.push((line, x, row));
            x += room;
        }
        entries
    }

    /// Everything that must be seen, and as much of the rest as doubles the height at most.
    fn y_range(&self) -> (f64, f64) {
        let whole = self.lines.iter().filter(|line| line.whole).flat_map(|line| &line.points);
        let (low, high) = range(whole.map(|point| point.1), 0.04);
        let others = self
            .lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.1)
            .filter(|y| y.is_finite());
        let span = high - low;
        others.fold((low, high), |(a, b), y| {
            (a.min(y.max(low - span / 2.0)), b.max(y.min(high + span / 2.0)))
        })
    }

    fn draw_axes(&self, svg: &mut String, plane: &PlotArea) -> std::fmt::Result {
        let (bottom, right) = (plane.top + plane.height, plane.left + plane.width);
        for tick in ticks(plane.y) {
            let y = plane.y_of(tick);
            let left = plane.left;
            writeln!(
                svg,
                "<line x1='{left:.1}' y1='{y:.1}' x2='{right:.1}' y2='{y:.1}' stroke='#e4e4e4'/>"
            )?;
            let text = label(tick, plane.y);
            writeln!(
                svg,
                "<text x='{:.1}' y='{:.1}' text-anchor='end'>{text}</text>",
                left - 7.0,
                y + 4.0
            )?;
        }
        let mut free = f64::NEG_INFINITY;
        for tick in ticks(plane.x) {
            let x = plane.x_of(tick);
            writeln!(
                svg,
                "<line x1='{x:.1}' y1='{bottom:.1}' x2='{x:.1}' y2='{:.1}' stroke='#888'/>",
                bottom + 4.0
            )?;
            let text = label(tick, plane.x);
            let half = DIGIT / 2.0 * text.chars().count() as f64;
            // The last label must not leave the picture, and none may run into the one before.
            let x = x.min(right + RIGHT - half);
            if x - half > free {
                writeln!(
                    svg,
                    "<text x='{x:.1}' y='{:.1}' text-anchor='middle'>{text}</text>",
                    bottom + 18.0
                )?;
                free = x + half + 4.0;
            }
        }
        writeln!(
            svg,
            "<path d='M{:.1} {:.1}V{bottom:.1}H{right:.1}' fill='none' stroke='#888'/>",
            plane.left, plane.top
        )?;
        let middle = plane.left + plane.width / 2.0;
        let x_label = escape(&self.x_label);
        writeln!(
            svg,
            "<text x='{middle:.1}' y='{:.1}' text-anchor='middle'>{x_label}</text>",
            bottom + 36.0
        )?;
        let (x, y) = (plane.left - 54.0, plane.top + plane.height / 2.0);
        let y_label = escape(&self.y_label);
        writeln!(
            svg,
            "<text x='{x:.1}' y='{y:.1}' text-anchor='middle' transform='rotate(-90 {x:.1} {y:.1})'>{y_label}</text>"
        )
    }

    fn draw_lines(&self, svg: &mut String, plane: &PlotArea, name: &str) -> std::fmt::Result {
        let PlotArea { left, top, width, height, .. } = plane;
        writeln!(
            svg,
            "<clipPath id='{name}'><rect x='{left:.1}' y='{top:.1}' width='{width:.1}' height='{height:.1}'/></clipPath>"
        )?;
        self.lines.iter().try_for_each(|line| line.draw(svg, plane, name))
    }
}

fn draw_legend(
    svg: &mut String,
    entries: &[(&Series, f64, f64)],
    (left, top): (f64, f64),
) -> std::fmt::Result {
    for (line, x, row) in entries {
        let (x, y) = (left + x, top - 8.0 + LEGEND * row);
        let (end, middle) = (x + 18.0, y - 4.0);
        let dashes = if line.mark == SeriesMark::Dashed { " stroke-dasharray='5 3'" } else { "" };
        let ends = format!("x1='{x:.1}' y1='{middle:.1}' x2='{end:.1}' y2='{middle:.1}'");
        match line.mark {
            SeriesMark::Dots(radius, _) => {
                let (x, colour) = (x + 9.0, line.colour);
                writeln!(
                    svg,
                    "<ellipse cx='{x:.1}' cy='{middle:.1}' rx='{radius}' ry='{radius}' fill='{colour}'/>"
                )?;
            }
            _ => {
                writeln!(svg, "<line {ends} stroke='{}' stroke-width='2.5'{dashes}/>", line.colour)?
            }
        }
        writeln!(svg, "<text x='{:.1}' y='{y:.1}'>{}</text>", end + 5.0, escape(&line.name))?;
    }
    Ok(())
}

impl Series {
    fn draw(&self, svg: &mut String, plane: &PlotArea, name: &str) -> std::fmt::Result {
        let finite = self.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let points: Vec<(f64, f64)> =
            finite.map(|&(x, y)| (plane.x_of(x), plane.y_of(y))).collect();
        let (colour, clip) = (self.colour, format!("clip-path='url(#{name})'"));
        match (self.mark, &points[..]) {
            (SeriesMark::Dots(radius, opacity), points) => {
                writeln!(svg, "<g fill='{colour}' fill-opacity='{opacity}' {clip}>")?;
                for (x, y) in points {
                    writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='{radius}'/>")?;
                }
                writeln!(svg, "</g>")
            }
            (SeriesMark::Stems, points) => points.chunks_exact(2).try_for_each(|ends| {
                let ((x1, y1), (x2, y2)) = (ends[0], ends[1]);
                let line = format!("x1='{x1:.1}' y1='{y1:.1}' x2='{x2:.1}' y2='{y2:.1}'");
                writeln!(svg, "<line {line} stroke='{colour}' stroke-width='2' {clip}/>")
            }),
            (SeriesMark::Bars, points) => points.chunks_exact(2).try_for_each(|corners| {
                let ((x1, y1), (x2, y2)) = (corners[0], corners[1]);
                // A gap between neighbours.
                let (width, height) = ((x2 - x1 - 1.0).max(0.5), (y1 - y2).max(0.0));
                writeln!(
                    svg,
                    "<rect x='{x1:.1}' y='{y2:.1}' width='{width:.1}' height='{height:.1}' fill='{colour}' {clip}/>"
                )
            }),
            // One point is no line; a dot can be seen.
            (SeriesMark::Line | SeriesMark::Dashed, [(x, y)]) => {
                writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='3' fill='{colour}'/>")
            }
            (SeriesMark::Line | SeriesMark::Dashed, points) => {
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let dashes = if self.mark == SeriesMark::Dashed { " stroke-dasharray='6 5'" } else { "" };
                writeln!(
                    svg,
                    "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='1.8'{dashes} {clip}/>",
                    points.join(" ")
                )
            }
        }
    }
}

/// From the least to the greatest number, widened by a share of the distance; never empty.
fn range(values: impl Iterator<Item = f64>, more: f64) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    if low == high {
        // A line that never moves runs through the middle.
        let room = if low == 0.0 { 1.0 } else { low.abs() * 0.05 };
        return (low - room, high + room);
    }
    (low - more * (high - low), high + more * (high - low))
}

/// Three to ten round numbers in a range: multiples of 1, 2 or 5 times a power of ten.
pub fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let step = tick_step(low, high);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = (last - first).clamp(0.0, 20.0) as usize;
    (0..=count).map(|at| (first + at as f64) * step).collect()
}

fn tick_step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= rough * 0.75)
        .unwrap_or(10.0);
    step * power
}

/// A tick's number with as many digits as its distance to the next one needs.
pub fn label(tick: f64, (low, high): (f64, f64)) -> String {
    let step = tick_step(low, high);
    let most = high.abs().max(low.abs());
    if (1e6..1e9).contains(&most) {
        let digits = (-(step / 1e6).log10().floor()).clamp(0.0, 9.0) as usize;
        return format!("{:.digits$} M", tick / 1e6 + 0.0);
    }
    if tick.abs() >= 1e6 || (tick != 0.0 && most < 1e-3) {
        return format!("{tick:.2e}");
    }
    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    // Minus zero is zero.
    format!("{:.digits$}", tick + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((0.0, 100.0)), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(
            ticks((0.93, 0.99))
                .iter()
                .map(|&t| label(t, (0.93, 0.99)))
                .collect::<Vec<_>>()
                .join(" "),
            { "0.93 0.94 0.95 0.96 0.97 0.98 0.99" }
        );
        for (low, high) in [(-3.2, 8.9), (1e-9, 2e-9), (1e12, 1.5e12), (0.0, 1.0)] {
            let found = ticks((low, high));
            assert!((3..=10).contains(&found.len()), "{low} {high}: {found:?}");
            assert!(found.iter().all(|tick| (low..=high).contains(tick)));
        }
        assert_eq!(label(-0.0, (-1.0, 1.0)), "0.0");
        assert_eq!(label(5e5, (0.0, 3e6)), "0.5 M");
    }

    fn chart(names: &[&str]) -> Chart {
        let line = |name: &&str| Series {
            name: name.to_string(),
            colour: BLUE,
            points: vec![(0.0, 1.0), (f64::NAN, 9.0), (4.0, 0.25)],
            whole: true,
            mark: SeriesMark::Line,
        };
        Chart {
            x_label: "round".into(),
            y_label: "loss".into(),
            lines: names.iter().map(line).collect(),
        }
    }

    #[test]
    fn a_legend_that_is_too_wide_goes_on_below() {
        let rows = |width: f64| -> Vec<f64> {
            let chart = chart(&["training loss", "", "validation loss", "a third one"]);
            chart.legend(width).into_iter().map(|(_, _, row)| row).collect()
        };
        assert_eq!(rows(800.0), [0.0, 0.0, 0.0]);
        assert_eq!(rows(300.0), [0.0, 0.0, 1.0]);
        assert_eq!(rows(10.0), [0.0, 1.0, 2.0]);
        assert!(chart(&["alone"]).legend(100.0).is_empty());
    }

    #[test]
    fn a_picture_of_a_page_tells_what_it_shows() {
        let svg = chart(&["a & b"]).inline("c7", "a <title>", (400.0, 300.0));
        assert!(
            svg.starts_with("<svg class='chart' role='img' aria-labelledby='c7-title c7-desc'"),
            "{svg}"
        );
        assert!(svg.contains("<title id='c7-title'>a &lt;title&gt;</title>"), "{svg}");
        assert!(
            svg.contains("loss against round. a &amp; b: from 1 at 0 to 0.25 at 4.</desc>"),
            "{svg}"
        );
        assert!(svg.contains("<clipPath id='c7'>") && !svg.contains("fill='white'"), "{svg}");
    }

    #[test]
    fn ranges_are_never_empty() {
        assert_eq!(range([f64::NAN].into_iter(), 0.1), (0.0, 1.0));
        assert_eq!(range([2.0].into_iter(), 0.0), (1.9, 2.1));
        assert_eq!(range([1.0, 3.0].into_iter(), 0.5), (0.0, 4.0));
    }
}
