//! Panels that are no line charts: the effect of a category, and of two features together.

use std::fmt::Write;

use swarmwood::effects::{EffectGrid, FeatureEffect, PairEffect, output_names};
use swarmwood::model::Model;

use crate::chart::{BLUE, ChartArea, GREY, escape, tick_label, ticks};
use crate::format::rounded;

/// Letters of a label.
const MAX_LABEL: usize = 16;

/// Space around the marks of a panel.
const LEFT: f64 = 112.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 44.0;

/// A text that fits beside the marks.
fn short_label(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    match clean.chars().count() > most {
        true => clean.chars().take(most - 1).chain(['…']).collect(),
        false => clean,
    }
}

/// The mean prediction per level, as dots on lines from the mean over all levels.
pub struct LevelPanel<'a> {
    name: &'a str,
    /// A level and its mean predictions, one per output.
    lines: Vec<(&'a str, Vec<f64>)>,
    colours: &'a [&'static str],
    label: &'static str,
    left_out: usize,
}

impl<'a> LevelPanel<'a> {
    /// The first `most` levels of an effect.
    pub fn new(
        model: &'a Model,
        effect: &FeatureEffect,
        most: usize,
        colours: &'a [&'static str],
    ) -> LevelPanel<'a> {
        let feature = &model.schema.features[effect.feature];
        let codes: &[u32] = match &effect.grid {
            EffectGrid::Levels { codes, .. } => codes,
            EffectGrid::Numbers { .. } => &[],
        };
        let line = |(at, code): (usize, &u32)| {
            let curves = effect.partial.iter().take(colours.len());
            let name = feature.kind.levels().get(*code as usize).map_or("", String::as_str);
            (name, curves.map(|curve| curve[at]).collect())
        };
        let lines: Vec<(&str, Vec<f64>)> = codes.iter().enumerate().map(line).take(most).collect();
        let left_out = codes.len() - lines.len();
        let is_class = !model.schema.target.kind.classes().is_empty();
        let label = if is_class { "mean probability" } else { "mean prediction" };
        LevelPanel { name: &feature.name, lines, colours, label, left_out }
    }

    /// The numbers in words, for screen readers.
    pub fn description(&self) -> String {
        let mut text = format!("The {} by {}.", self.label, self.name);
        for (name, means) in &self.lines {
            let means: Vec<String> = means.iter().map(|mean| rounded(*mean)).collect();
            // Writing to a String cannot fail.
            let _ = write!(text, " {name}: {}.", means.join(", "));
        }
        text
    }

    /// SVG elements.
    pub fn draw(&self, area: ChartArea) -> String {
        let ChartArea { left, top, width, height } = area;
        let all = || self.lines.iter().flat_map(|(_, means)| means.iter().copied());
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        let room = if high > low { 0.08 * (high - low) } else { low.abs().max(1.0) };
        let range = (low - room, high + room);
        let (start, end) = (left + LEFT, left + width - RIGHT);
        let x = |value: f64| start + (value - range.0) / (range.1 - range.0) * (end - start);
        let bottom = top + height - BOTTOM;
        let step = (bottom - top - 16.0) / self.lines.len().max(1) as f64;

        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = self.axis(&mut svg, (range, start, end), (top, bottom));
        for (at, (name, means)) in self.lines.iter().enumerate() {
            let y = top + 16.0 + (at as f64 + 0.5) * step;
            let (edge, base) = (start - 8.0, y + 4.0);
            let label = escape(&short_label(name, MAX_LABEL));
            let _ = writeln!(
                svg,
                "<path d='M{start:.1} {y:.1}H{end:.1}' stroke='#e4e4e4'/>\
                 <text x='{edge:.1}' y='{base:.1}' text-anchor='end'>{label}</text>"
            );
            for (mean, colour) in means.iter().zip(self.colours) {
                let at = x(*mean);
                let _ = writeln!(
                    svg,
                    "<circle cx='{at:.1}' cy='{y:.1}' r='5' fill='{colour}'><title>{}: {}</title></circle>",
                    escape(name),
                    rounded(*mean)
                );
            }
        }
        svg
    }

    fn axis(
        &self,
        svg: &mut String,
        (range, start, end): ((f64, f64), f64, f64),
        (top, bottom): (f64, f64),
    ) -> std::fmt::Result {
        writeln!(
            svg,
            "<path d='M{start:.1} {top:.1}V{bottom:.1}H{end:.1}' fill='none' stroke='#888'/>"
        )?;
        let mut free = start - 30.0;
        for tick in ticks(range) {
            let x = start + (tick - range.0) / (range.1 - range.0) * (end - start);
            let label = tick_label(tick, range);
            let half = 3.6 * label.chars().count() as f64;
            if x - half < free || x > end {
                continue;
            }
            free = x + half + 8.0;
            let y = bottom + 16.0;
            writeln!(svg, "<text x='{x:.1}' y='{y:.1}' text-anchor='middle'>{label}</text>")?;
        }
        let (x, y) = ((start + end) / 2.0, bottom + 34.0);
        let more = match self.left_out {
            0 => String::new(),
            count => format!("; {count} rarer left out"),
        };
        writeln!(
            svg,
            "<text x='{x:.1}' y='{y:.1}' text-anchor='middle'>{}{more}</text>",
            self.label
        )
    }
}

/// The mean prediction over two features.
pub struct EffectMap<'a> {
    model: &'a Model,
    pair: &'a PairEffect,
    /// The output that varies most.
    output: usize,
    range: (f64, f64),
}

impl<'a> EffectMap<'a> {
    pub fn new(model: &'a Model, pair: &'a PairEffect) -> EffectMap<'a> {
        let range = |map: &Vec<Vec<f64>>| {
            let all = || map.iter().flatten().copied();
            (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
        };
        let ranges: Vec<(f64, f64)> = pair.partial.iter().map(range).collect();
        let width = |output: usize| ranges[output].1 - ranges[output].0;
        let output =
            (0..ranges.len()).fold(0, |best, at| if width(at) > width(best) { at } else { best });
        let range = ranges.get(output).copied().unwrap_or((0.0, 1.0));
        EffectMap { model, pair, output, range }
    }

    fn name(&self, feature: usize) -> &'a str {
        &self.model.schema.features[feature].name
    }

    /// The caption.
    pub fn title(&self) -> String {
        let (a, b) = self.pair.features;
        let class = output_names(self.model).swap_remove(self.output);
        let of = if class.is_empty() { String::new() } else { format!(": probability of {class}") };
        format!("{} and {} together{of}", self.name(a), self.name(b))
    }

    /// The extremes in words, for screen readers.
    pub fn description(&self) -> String {
        let map = &self.pair.partial[self.output];
        let cells = map.iter().enumerate().flat_map(|(at, line)| {
            line.iter().enumerate().map(move |(across, mean)| (at, across, *mean))
        });
        let low = cells.clone().min_by(|a, b| a.2.total_cmp(&b.2));
        let high = cells.max_by(|a, b| a.2.total_cmp(&b.2));
        let mut text = "Mean predictions over two features.".to_string();
        for (name, cell) in [("lowest", low), ("highest", high)] {
            let Some((at, across, mean)) = cell else { continue };
            // Writing to a String cannot fail.
            let _ =
                write!(text, " The {name} one is {}: {}.", rounded(mean), self.place(at, across));
        }
        text
    }

    fn place(&self, at: usize, across: usize) -> String {
        let (a, b) = self.pair.features;
        let (first, second) = &self.pair.grids;
        format!(
            "{} {}, {} {}",
            self.name(a),
            cell_name(self.model, a, first, at),
            self.name(b),
            cell_name(self.model, b, second, across)
        )
    }

    /// SVG elements.
    pub fn draw(&self, area: ChartArea) -> String {
        let ChartArea { left, top, width, height } = area;
        let (a, b) = self.pair.features;
        let (first, second) = &self.pair.grids;
        let (start, end) = (left + LEFT, left + width - RIGHT);
        let (top, bottom) = (top + 18.0, top + height - BOTTOM - 8.0);
        let cell = (
            (end - start) / second.len().max(1) as f64,
            (bottom - top) / first.len().max(1) as f64,
        );
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = self.legend(&mut svg, (start, top - 8.0));
        for at in 0..first.len() {
            let y = bottom - (at as f64 + 1.0) * cell.1;
            for across in 0..second.len() {
                let mean = self.pair.partial[self.output][at][across];
                let share = (mean - self.range.0) / (self.range.1 - self.range.0);
                let opacity = if share.is_finite() { 0.06 + 0.9 * share } else { 0.5 };
                let _ = writeln!(
                    svg,
                    "<rect x='{:.1}' y='{y:.1}' width='{:.1}' height='{:.1}' fill='{BLUE}' \
                     fill-opacity='{opacity:.2}'><title>{}: {}</title></rect>",
                    start + across as f64 * cell.0,
                    cell.0 - 1.0,
                    cell.1 - 1.0,
                    escape(&self.place(at, across)),
                    rounded(mean)
                );
            }
        }
        for (label, place) in axis_labels(self.model, a, first, 12) {
            let (edge, base) = (start - 6.0, bottom - place * cell.1 + 4.0);
            let _ = writeln!(
                svg,
                "<text x='{edge:.1}' y='{base:.1}' text-anchor='end' font-size='11'>{label}</text>"
            );
        }
        let mut free = left;
        for (label, place) in axis_labels(self.model, b, second, (cell.0 / 6.0).max(3.0) as usize) {
            let (x, y) = (start + place * cell.0, bottom + 14.0);
            let half = 3.0 * label.chars().count() as f64;
            // Labels must not overlap.
            if x - half < free {
                continue;
            }
            free = x + half + 3.0;
            let _ = writeln!(
                svg,
                "<text x='{x:.1}' y='{y:.1}' text-anchor='middle' font-size='10'>{label}</text>"
            );
        }
        let (x, y) = ((start + end) / 2.0, bottom + 34.0);
        let name = escape(&short_label(self.name(b), 44));
        let _ = writeln!(svg, "<text x='{x:.1}' y='{y:.1}' text-anchor='middle'>{name}</text>");
        let (x, y) = (left + 12.0, (top + bottom) / 2.0);
        let name = escape(&short_label(self.name(a), 32));
        let _ = writeln!(
            svg,
            "<text x='{x:.1}' y='{y:.1}' text-anchor='middle' transform='rotate(-90 {x:.1} {y:.1})'>{name}</text>"
        );
        svg
    }

    /// The palest and the darkest colour with their values.
    fn legend(&self, svg: &mut String, (x, y): (f64, f64)) -> std::fmt::Result {
        for (at, (value, opacity)) in
            [(self.range.0, 0.06), (self.range.1, 0.96)].into_iter().enumerate()
        {
            let x = x + 110.0 * at as f64;
            writeln!(
                svg,
                "<rect x='{x:.1}' y='{:.1}' width='14' height='10' fill='{BLUE}' fill-opacity='{opacity}' \
                 stroke='{GREY}' stroke-width='0.5'/><text x='{:.1}' y='{y:.1}' font-size='11'>{}</text>",
                y - 9.0,
                x + 20.0,
                rounded(value)
            )?;
        }
        Ok(())
    }
}

/// The values of a cell in words.
fn cell_name(model: &Model, feature: usize, grid: &EffectGrid, at: usize) -> String {
    match grid {
        EffectGrid::Numbers { edges, .. } => {
            format!("from {} to {}", rounded(edges[at]), rounded(edges[at + 1]))
        }
        EffectGrid::Levels { codes, .. } => {
            let levels = model.schema.features[feature].kind.levels();
            levels.get(codes[at] as usize).cloned().unwrap_or_default()
        }
    }
}

/// The labels of an axis, escaped, and their places in cells: edges between ranges of numbers, or
/// levels of at most so many letters.
fn axis_labels(
    model: &Model,
    feature: usize,
    grid: &EffectGrid,
    letters: usize,
) -> Vec<(String, f64)> {
    match grid {
        EffectGrid::Numbers { edges, .. } => {
            let label = |(at, edge): (usize, &f64)| (rounded(*edge), at as f64);
            edges.iter().enumerate().map(label).collect()
        }
        EffectGrid::Levels { codes, .. } => {
            let label = |at: usize| {
                let name = cell_name(model, feature, grid, at);
                (escape(&short_label(&name, letters)), at as f64 + 0.5)
            };
            (0..codes.len()).map(label).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use swarmwood::model::{Body, Feature, Kind, Link, Provenance, Schema, Target, TargetKind};

    use super::*;

    const EVIL: &str = "<script>alert('x')</script> and a very long name of a feature";
    const AREA: ChartArea = ChartArea { left: 0.0, top: 0.0, width: 400.0, height: 290.0 };

    fn model() -> Model {
        let levels = vec!["<b>".to_string(), "two".to_string()];
        let feature = |name: &str, kind| Feature { name: name.into(), kind };
        Model {
            schema: Schema {
                features: vec![
                    feature(EVIL, Kind::Number),
                    feature("level", Kind::Category { levels }),
                ],
                target: Target { name: "y".into(), kind: TargetKind::Number },
                dates: Vec::new(),
            },
            link: Link::Identity,
            objective: "squared".into(),
            base: vec![0.0],
            body: Body::Trees(Vec::new()),
            calibration: Default::default(),
            provenance: Provenance::default(),
        }
    }

    fn levels() -> EffectGrid {
        EffectGrid::Levels { codes: vec![0, 1], is_exact: true }
    }

    #[test]
    fn a_map_names_its_extremes_and_escapes_names() {
        let (model, edges) = (model(), vec![0.0, 1.5, 4.0]);
        let grids = (EffectGrid::Numbers { edges, is_exact: true }, levels());
        let partial = vec![vec![vec![1.0, 2.0], vec![3.0, 8.0]]];
        let pair = PairEffect { features: (0, 1), grids, partial };
        let map = EffectMap::new(&model, &pair);
        let svg = map.draw(AREA);
        // Four cells, and two colours of the legend.
        assert_eq!(svg.matches("<rect").count(), 4 + 2, "{svg}");
        assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains("NaN"), "{svg}");
        let text = map.description();
        assert!(text.contains("lowest one is 1:") && text.contains("from 0 to 1.5"), "{text}");
        assert!(text.contains("highest one is 8:") && text.contains("level two"), "{text}");
    }

    #[test]
    fn a_category_has_a_dot_per_level() {
        let model = model();
        let (partial, accumulated) = (vec![vec![2.0, 2.0]], Vec::new());
        let effect = FeatureEffect { feature: 1, grid: levels(), partial, accumulated };
        let panel = LevelPanel::new(&model, &effect, 12, &[BLUE]);
        let svg = panel.draw(AREA);
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("NaN"), "{svg}");
        assert_eq!(panel.description(), "The mean prediction by level. <b>: 2. two: 2.");
        let svg = LevelPanel::new(&model, &effect, 1, &[BLUE]).draw(AREA);
        assert!(svg.contains("1 rarer left out"), "{svg}");
    }
}
