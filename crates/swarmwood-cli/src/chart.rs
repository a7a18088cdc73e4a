//! A chart with axes, ticks and series of points, as a fragment of SVG.

use std::fmt::Write;

pub use swarmwood::model::picture::escape;

use crate::format::number;

/// The area of a chart on the page, axes and labels included.
#[derive(Clone, Copy)]
pub struct ChartArea {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Points that are drawn alike.
pub struct Series {
    /// The name in the legend; a series without a name has no entry.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    colour: &'static str,
    mark: SeriesMark,
    /// Whether points far outside the range of the other series may be cut off.
    clipped: bool,
}

impl Series {
    /// A solid line.
    pub fn new(name: impl Into<String>, colour: &'static str, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points, colour, mark: SeriesMark::Line, clipped: false }
    }

    /// The same points with another mark.
    pub fn with_mark(self, mark: SeriesMark) -> Series {
        Series { mark, ..self }
    }

    /// The same points, which do not determine the range of the axis.
    pub fn clipped(self) -> Series {
        Series { clipped: true, ..self }
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum SeriesMark {
    /// A solid line.
    Line,
    /// A dashed line.
    Dashed,
    /// Dots with a radius and an opacity.
    Dots(f64, f64),
    /// Line segments: each pair of points is the ends of one.
    Segments,
    /// Bars: each pair of points is two opposite corners of one.
    Bars,
}

/// A chart with linear axes.
pub struct Chart {
    pub x_label: String,
    pub y_label: String,
    pub series: Vec<Series>,
}

/// The size of a document.
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

/// An SVG document with a title.
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

/// An SVG element for an HTML page, which styles it: no background, text in the colour of the page,
/// and a title and a description for screen readers. `id` is unique on the page.
pub fn inline(
    id: &str,
    title: &str,
    description: &str,
    (width, height): (f64, f64),
    body: &str,
) -> String {
    format!(
        "<svg class='chart' role='img' aria-labelledby='{id}-title {id}-desc' viewBox='0 0 {width:.0} {height:.0}' \
         width='{width:.0}' height='{height:.0}' font-size='12'>\n\
         <title id='{id}-title'>{}</title>\n<desc id='{id}-desc'>{}</desc>\n{body}</svg>\n",
        escape(title),
        escape(description)
    )
}

/// Space for ticks and labels around the plot area.
const LEFT: f64 = 68.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 42.0;

/// Height of a row of the legend, and the width of an entry without its name.
const LEGEND: f64 = 17.0;
const ENTRY: f64 = 38.0;

/// How far outside of the plot area lines end, in pixels, where they leave it: more than their width.
const BEYOND: f64 = 6.0;

/// Upper bounds of the width of a letter of the legend and of a digit of a tick label.
const LETTER: f64 = 7.0;
const DIGIT: f64 = 8.0;

/// The area between the axes, in pixels, and the ranges of the axes.
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

    /// The heights between which something is drawn. Browsers count what a clip path hides as part
    /// of a drawing, so that a point far away would make it overlap the rest of the page.
    fn drawn_heights(&self) -> (f64, f64) {
        (self.top - BEYOND, self.top + self.height + BEYOND)
    }

    /// The part of a straight line that is drawn.
    fn drawn_part(&self, ends: [(f64, f64); 2]) -> Option<[(f64, f64); 2]> {
        let (low, high) = self.drawn_heights();
        let [from, to] = ends;
        if (from.1 < low && to.1 < low) || (from.1 > high && to.1 > high) {
            return None;
        }

        let slope = (to.0 - from.0) / (to.1 - from.1);
        Some(ends.map(|end| match end.1.clamp(low, high) {
            y if y == end.1 => end,
            y => (from.0 + (y - from.1) * slope, y),
        }))
    }

    /// The parts of a line through several points that are drawn.
    fn drawn_parts(&self, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
        let lines = points.windows(2).filter_map(|ends| self.drawn_part([ends[0], ends[1]]));
        for [from, to] in lines {
            match parts.last_mut() {
                Some(part) if part.last() == Some(&from) => part.push(to),
                _ => parts.push(vec![from, to]),
            }
        }
        parts
    }
}

impl Chart {
    /// The chart as SVG elements. `id` is unique on the page.
    pub fn draw(&self, id: &str, area: ChartArea) -> String {
        let all = || self.series.iter().flat_map(|line| &line.points);
        let width = area.width - LEFT - RIGHT;
        let legend = self.legend(width);
        let top = TOP + LEGEND * legend.last().map_or(0.0, |last| last.2);

        let plot = PlotArea {
            left: area.left + LEFT,
            top: area.top + top,
            width,
            height: area.height - top - BOTTOM,
            x: range(all().map(|point| point.0), 0.0),
            y: self.y_range(),
        };

        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = self.draw_axes(&mut svg, &plot);
        let _ = self.draw_series(&mut svg, &plot, id);
        let _ = draw_legend(&mut svg, &legend, (plot.left, area.top + TOP));
        svg
    }

    /// A description for screen readers: the ends of lines, and the range of dots and bars.
    fn description(&self) -> String {
        let mut text = format!("{} against {}.", self.y_label, self.x_label);
        for line in self.series.iter().filter(|line| !line.name.is_empty()) {
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

    /// The chart as an SVG element for an HTML page.
    pub fn inline(&self, id: &str, title: &str, (width, height): (f64, f64)) -> String {
        let body = self.draw(id, ChartArea { left: 0.0, top: 0.0, width, height });
        inline(id, title, &self.description(), (width, height), &body)
    }

    /// The entries of the legend, each with its horizontal position and its row. Rows are as wide as
    /// the plot area.
    fn legend(&self, width: f64) -> Vec<(&Series, f64, f64)> {
        let (mut x, mut row) = (0.0, 0.0);
        let mut entries = Vec::new();
        // A series without a name belongs to another one that has it.
        for line in self.series.iter().filter(|line| self.series.len() > 1 && !line.name.is_empty())
        {
            let room = ENTRY + LETTER * line.name.chars().count() as f64;
            // The gap behind the last name may exceed the width.
            if x > 0.0 && x + room - 15.0 > width {
                (x, row) = (0.0, row + 1.0);
            }
            entries.push((line, x, row));
            x += room;
        }

        entries
    }

    /// The range of all series that are not clipped, widened by the clipped ones to at most twice
    /// its height.
    fn y_range(&self) -> (f64, f64) {
        let visible = self.series.iter().filter(|one| !one.clipped).flat_map(|line| &line.points);
        let (low, high) = range(visible.map(|point| point.1), 0.04);
        let others = self
            .series
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.1)
            .filter(|y| y.is_finite());
        let span = high - low;
        others.fold((low, high), |(a, b), y| {
            (a.min(y.max(low - span / 2.0)), b.max(y.min(high + span / 2.0)))
        })
    }

    fn draw_axes(&self, svg: &mut String, plot: &PlotArea) -> std::fmt::Result {
        let (bottom, right) = (plot.top + plot.height, plot.left + plot.width);
        for tick in ticks(plot.y) {
            let y = plot.y_of(tick);
            let left = plot.left;
            writeln!(
                svg,
                "<line x1='{left:.1}' y1='{y:.1}' x2='{right:.1}' y2='{y:.1}' stroke='#e4e4e4'/>"
            )?;
            let text = tick_label(tick, plot.y);
            writeln!(
                svg,
                "<text x='{:.1}' y='{:.1}' text-anchor='end'>{text}</text>",
                left - 7.0,
                y + 4.0
            )?;
        }

        let mut free = f64::NEG_INFINITY;

        for tick in ticks(plot.x) {
            let x = plot.x_of(tick);
            writeln!(
                svg,
                "<line x1='{x:.1}' y1='{bottom:.1}' x2='{x:.1}' y2='{:.1}' stroke='#888'/>",
                bottom + 4.0
            )?;
            let text = tick_label(tick, plot.x);
            let half = DIGIT / 2.0 * text.chars().count() as f64;
            // The last label must stay inside the chart, and no label may overlap the previous one.
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
            plot.left, plot.top
        )?;

        let middle = plot.left + plot.width / 2.0;
        let x_label = escape(&self.x_label);
        writeln!(
            svg,
            "<text x='{middle:.1}' y='{:.1}' text-anchor='middle'>{x_label}</text>",
            bottom + 36.0
        )?;

        let (x, y) = (plot.left - 54.0, plot.top + plot.height / 2.0);
        let y_label = escape(&self.y_label);

        writeln!(
            svg,
            "<text x='{x:.1}' y='{y:.1}' text-anchor='middle' transform='rotate(-90 {x:.1} {y:.1})'>{y_label}</text>"
        )
    }

    fn draw_series(&self, svg: &mut String, plot: &PlotArea, name: &str) -> std::fmt::Result {
        let PlotArea { left, top, width, height, .. } = plot;
        writeln!(
            svg,
            "<clipPath id='{name}'><rect x='{left:.1}' y='{top:.1}' width='{width:.1}' height='{height:.1}'/></clipPath>"
        )?;
        self.series.iter().try_for_each(|line| line.draw(svg, plot, name))
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
    fn draw(&self, svg: &mut String, plot: &PlotArea, name: &str) -> std::fmt::Result {
        let finite = self.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let points: Vec<(f64, f64)> = finite.map(|&(x, y)| (plot.x_of(x), plot.y_of(y))).collect();
        let (colour, clip) = (self.colour, format!("clip-path='url(#{name})'"));
        let (low, high) = plot.drawn_heights();

        match (self.mark, &points[..]) {
            (SeriesMark::Dots(radius, opacity), points) => {
                writeln!(svg, "<g fill='{colour}' fill-opacity='{opacity}' {clip}>")?;
                for (x, y) in points.iter().filter(|(_, y)| (low..=high).contains(y)) {
                    writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='{radius}'/>")?;
                }
                writeln!(svg, "</g>")
            }
            (SeriesMark::Segments, points) => points.chunks_exact(2).try_for_each(|ends| {
                let Some([(x1, y1), (x2, y2)]) = plot.drawn_part([ends[0], ends[1]]) else {
                    return Ok(());
                };
                let line = format!("x1='{x1:.1}' y1='{y1:.1}' x2='{x2:.1}' y2='{y2:.1}'");
                writeln!(svg, "<line {line} stroke='{colour}' stroke-width='2' {clip}/>")
            }),
            (SeriesMark::Bars, points) => points.chunks_exact(2).try_for_each(|corners| {
                let ((x1, y1), (x2, y2)) = (corners[0], corners[1]);
                let (y1, y2) = (y1.clamp(low, high), y2.clamp(low, high));
                // A gap between neighbours.
                let (width, height) = ((x2 - x1 - 1.0).max(0.5), (y1 - y2).max(0.0));
                writeln!(
                    svg,
                    "<rect x='{x1:.1}' y='{y2:.1}' width='{width:.1}' height='{height:.1}' fill='{colour}' {clip}/>"
                )
            }),
            // A line through one point is invisible; a dot is not.
            (SeriesMark::Line | SeriesMark::Dashed, [(x, y)]) => {
                writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='3' fill='{colour}'/>")
            }
            (SeriesMark::Line | SeriesMark::Dashed, points) => {
                let dashes = if self.mark == SeriesMark::Dashed { " stroke-dasharray='6 5'" } else { "" };
                plot.drawn_parts(points).into_iter().try_for_each(|part| {
                    let part: Vec<String> = part.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                    writeln!(
                        svg,
                        "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='1.8'{dashes} {clip}/>",
                        part.join(" ")
                    )
                })
            }
        }
    }
}

/// The range of some numbers, widened by a fraction on both sides; never empty.
fn range(values: impl Iterator<Item = f64>, padding: f64) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    if low == high {
        // A constant series is drawn in the middle.
        let room = if low == 0.0 { 1.0 } else { low.abs() * 0.05 };
        return (low - room, high + room);
    }
    (low - padding * (high - low), high + padding * (high - low))
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

/// The label of a tick, with as many digits as the distance of ticks needs.
pub fn tick_label(tick: f64, (low, high): (f64, f64)) -> String {
    let step = tick_step(low, high);
    let most = high.abs().max(low.abs());
    // Longer labels would reach into that of the axis.
    if (1e6..1e9).contains(&most) || (1e4..1e6).contains(&most) && step >= 100.0 {
        let (unit, name) = if most < 1e6 { (1e3, "k") } else { (1e6, "M") };
        let digits = (-(step / unit).log10().floor()).clamp(0.0, 9.0) as usize;
        return match tick {
            0.0 => "0".to_string(),
            _ => format!("{:.digits$} {name}", tick / unit),
        };
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
                .map(|&t| tick_label(t, (0.93, 0.99)))
                .collect::<Vec<_>>()
                .join(" "),
            { "0.93 0.94 0.95 0.96 0.97 0.98 0.99" }
        );
        for (low, high) in [(-3.2, 8.9), (1e-9, 2e-9), (1e12, 1.5e12), (0.0, 1.0)] {
            let ticks = ticks((low, high));
            assert!((3..=10).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (low..=high).contains(tick)));
        }
        assert_eq!(tick_label(-0.0, (-1.0, 1.0)), "0.0");
        assert_eq!(tick_label(5e5, (0.0, 3e6)), "0.5 M");
        assert_eq!(tick_label(-1.5e5, (-1.6e5, 2e5)), "-150 k");
        assert_eq!(tick_label(12500.0, (1.1e4, 1.3e4)), "12.5 k");
        assert_eq!(tick_label(31450.0, (31250.0, 31500.0)), "31450");
        assert_eq!(tick_label(0.0, (0.0, 2e4)), "0");
    }

    fn chart(names: &[&str]) -> Chart {
        let points = vec![(0.0, 1.0), (f64::NAN, 9.0), (4.0, 0.25)];
        let series = names.iter().map(|name| Series::new(*name, BLUE, points.clone()));
        Chart { x_label: "round".into(), y_label: "loss".into(), series: series.collect() }
    }

    #[test]
    fn a_wide_legend_is_broken_into_rows() {
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
    fn an_inline_chart_has_a_title_and_a_description() {
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
    fn nothing_is_drawn_far_outside_of_the_plot_area() {
        let near = Series::new("near", BLUE, vec![(0.0, 1.0), (4.0, 2.0)]);
        let far = vec![(0.0, 1.5), (1.0, 9e9), (2.0, 1.5), (3.0, -1e6), (4.0, -2e6)];
        let marks = [
            (SeriesMark::Line, "<polyline", 3),
            (SeriesMark::Dots(2.0, 0.5), "<circle", 2),
            (SeriesMark::Segments, "<line", 2),
            (SeriesMark::Bars, "<rect", 2),
        ];
        for (mark, element, count) in marks {
            let far = Series::new("", RED, far.clone()).with_mark(mark).clipped();
            let series = vec![Series::new("near", BLUE, near.points.clone()), far];
            let chart = Chart { x_label: "x".into(), y_label: "y".into(), series };
            let svg = chart.inline("c", "title", (400.0, 290.0));

            let drawn = svg.split_once("</clipPath>").unwrap().1;
            let heights = drawn.split([' ', '\'']).filter_map(|word| word.split_once(','));
            let named = [" y='", " y1='", " y2='", " cy='"].into_iter().flat_map(|name| {
                drawn.split(name).skip(1).filter_map(|rest| rest.split_once('\''))
            });
            let heights = heights.map(|pair| pair.1).chain(named.map(|pair| pair.0));
            let heights: Vec<f64> = heights.map(|text| text.parse().unwrap()).collect();
            assert!(heights.iter().all(|y| (0.0..=290.0).contains(y)), "{svg}");
            let marks =
                drawn.lines().filter(|line| line.contains(element) && !line.contains("'2.5'"));
            assert_eq!(marks.count(), count, "{svg}");
        }
    }

    #[test]
    fn ranges_are_never_empty() {
        assert_eq!(range([f64::NAN].into_iter(), 0.1), (0.0, 1.0));
        assert_eq!(range([2.0].into_iter(), 0.0), (1.9, 2.1));
        assert_eq!(range([1.0, 3.0].into_iter(), 0.5), (0.0, 4.0));
    }
}
