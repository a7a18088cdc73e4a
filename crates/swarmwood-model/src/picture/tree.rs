//! Draws a tree as SVG.

use std::fmt::{self, Write};

use super::layout::{CURVE, EDGE, LINE, NAME, TreeLayout};
use super::palette::{class_colour, escape, fit, position, scale_colour, width};
use super::split_side;
use crate::number_format::{exact, percent, short};
use crate::predict::Prediction;
use crate::single_tree::SingleTree;
use crate::text::printable;
use crate::tree::Child;

const MARGIN: f64 = 20.0;
const TITLE: f64 = 30.0;
/// The parts of a leaf: bar, name, share, rows.
const BAR: f64 = 110.0;
const BAR_HEIGHT: f64 = 14.0;
/// Maximum width of the name of a class.
const MAX_CLASS: f64 = 170.0;
/// Width of the square in the colour of the class.
const MARK: f64 = 15.0;
/// Half the height of a node.
const HALF: f64 = 14.0;
/// The heading of the column of predictions.
const HEADING: &str = "prediction";
const FONT: &str = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

/// A drawing under construction.
struct TreeDrawing<'a> {
    single: &'a SingleTree<'a>,
    layout: TreeLayout,
    /// Where the first line begins.
    top: f64,
    /// Width of the column of predictions.
    predictions: f64,
    range: (f64, f64),
    svg: String,
}

/// The document; `id` begins the identifiers in it.
pub(super) fn draw(single: &SingleTree<'_>, id: &str) -> String {
    let layout = TreeLayout::new(single);
    let widths = single
        .predictions
        .iter()
        .map(|prediction| width(&prediction_name(single, prediction), NAME + 1.0));

    // The column has a heading too.
    let predictions = widths.fold(width(HEADING, NAME), f64::max).min(MAX_CLASS) + MARK + 14.0;
    let page = MARGIN + layout.leaf_x + 10.0 + BAR + 12.0 + predictions + 52.0 + 62.0 + MARGIN;
    let page = page.max(width(&single.title(), 16.0) + 2.0 * MARGIN);
    let legend = legend(single, page);
    let top = MARGIN + TITLE + legend.1 + 22.0;
    let bottom = top + layout.height + 30.0;
    let range = single.number_range();
    let mut drawing = TreeDrawing { single, layout, top, predictions, range, svg: String::new() };

    // Writing to a string cannot fail.
    let _ = drawing.page(page, bottom, &legend.0, id);
    drawing.svg
}

/// A prediction as a label: a rounded number, or the name of a class.
pub(crate) fn prediction_name(single: &SingleTree<'_>, prediction: &Prediction) -> String {
    match prediction {
        Prediction::Number(number) => short(*number),
        // A single tree predicts one number or classes.
        Prediction::Numbers(_) => String::new(),
        Prediction::Class { class, .. } => single
            .classes()
            .get(*class as usize)
            .map_or_else(|| class.to_string(), |name| printable(name).into_owned()),
    }
}

/// Squares with the names of the classes, in lines as wide as the page, and how high they are.
fn legend(single: &SingleTree<'_>, page: f64) -> (String, f64) {
    let (mut x, mut y, mut svg) = (MARGIN, MARGIN + TITLE + 4.0, String::new());
    for (class, name) in single.classes().iter().enumerate() {
        let name = fit(&printable(name), NAME, MAX_CLASS);
        let wide = 16.0 + width(&name, NAME) + 18.0;
        if x + wide > page - MARGIN && x > MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        let _ = writeln!(
            svg,
            "<rect x='{x:.1}' y='{:.1}' width='11' height='11' rx='2' fill='{}'/><text x='{:.1}' y='{:.1}'>{}</text>",
            y - 9.5,
            class_colour(class),
            x + 16.0,
            y,
            escape(&name)
        );
        x += wide;
    }
    (svg, if single.classes().is_empty() { 0.0 } else { y - MARGIN - TITLE + 8.0 })
}

impl TreeDrawing<'_> {
    fn page(&mut self, page: f64, bottom: f64, legend: &str, id: &str) -> fmt::Result {
        let (title, font) = (escape(&self.single.title()), FONT.replace('\'', "&#39;"));
        writeln!(
            self.svg,
            "<svg xmlns='http://www.w3.org/2000/svg' width='{page:.0}' height='{bottom:.0}' viewBox='0 0 {page:.0} \
             {bottom:.0}' role='img' aria-labelledby='{id}title {id}desc' font-family='{font}' font-size='{NAME}' fill='#222'>"
        )?;

        writeln!(
            self.svg,
            "<title id='{id}title'>{title}</title>\n<desc id='{id}desc'>{}</desc>",
            self.description()
        )?;

        writeln!(self.svg, "<rect width='100%' height='100%' fill='white'/>")?;
        let baseline = MARGIN + 14.0;
        writeln!(
            self.svg,
            "<text x='{MARGIN}' y='{baseline}' font-size='16' font-weight='bold'>{title}</text>"
        )?;

        self.svg.push_str(legend);
        self.headings()?;
        for node in 0..self.single.tree.nodes.len() {
            self.edges(node)?;
        }

        for node in 0..self.single.tree.nodes.len() {
            self.node(node)?;
        }
        for leaf in 0..self.single.tree.leaves.len() {
            self.leaf(leaf)?;
        }

        if !self.single.tree.nodes.is_empty() {
            let y = self.top + self.layout.height + 18.0;
            writeln!(
                self.svg,
                "<text x='{MARGIN}' y='{y:.1}' font-size='10.5' fill='#777'>? marks the branch of missing values; line \
                 widths are shares of the rows</text>"
            )?;
        }
        writeln!(self.svg, "</svg>")
    }

    /// The tree in words, for screen readers.
    fn description(&self) -> String {
        let counts = self.single.predictions.len();
        let tested: std::collections::BTreeSet<u32> =
            self.single.tree.nodes.iter().map(|node| node.split.feature).collect();
        let names = tested
            .iter()
            .map(|&feature| printable(&self.single.model.schema.features[feature as usize].name));
        let names = names.collect::<Vec<_>>().join(", ");
        escape(&format!(
            "A decision tree from left to right with {counts} leaves; it tests: {names}."
        ))
    }

    /// The headings of the columns beside the leaves.
    fn headings(&mut self) -> fmt::Result {
        let (x, y) = (self.leaf_x(), self.top - 8.0);
        let has_shares = self.single.shares.iter().any(|share| *share > 0.0);
        let bar = if self.single.classes().is_empty() { "value" } else { "classes" };
        let at = [
            x,
            x + BAR + 12.0,
            x + BAR + 12.0 + self.predictions + 40.0,
            x + BAR + 12.0 + self.predictions + 102.0,
        ];

        let style = "font-size='10.5' fill='#777'";
        writeln!(self.svg, "<text x='{:.1}' y='{y:.1}' {style}>{bar}</text>", at[0])?;
        writeln!(self.svg, "<text x='{:.1}' y='{y:.1}' {style}>{HEADING}</text>", at[1])?;
        if !self.single.classes().is_empty() {
            writeln!(
                self.svg,
                "<text x='{:.1}' y='{y:.1}' text-anchor='end' {style}>share</text>",
                at[2]
            )?;
        }

        if has_shares {
            writeln!(
                self.svg,
                "<text x='{:.1}' y='{y:.1}' text-anchor='end' {style}>rows</text>",
                at[3]
            )?;
        }
        Ok(())
    }

    fn leaf_x(&self) -> f64 {
        MARGIN + self.layout.leaf_x + 10.0
    }

    fn share(&self, leaves: &[usize]) -> f64 {
        leaves.iter().map(|leaf| self.single.shares[*leaf]).sum()
    }

    /// The two edges that leave a node, with their labels.
    fn edges(&mut self, at: usize) -> fmt::Result {
        let node = &self.single.tree.nodes[at];
        let column = self.layout.columns[self.layout.depth[at]];
        let (x, y) = (MARGIN + column.left + column.nodes, self.top + self.layout.node_y[at]);
        for (child, right) in [(node.left, false), (node.right, true)] {
            let (end_x, end_y) = match child {
                Child::Node(node) => {
                    let column = self.layout.columns[self.layout.depth[node as usize]];
                    (MARGIN + column.left, self.top + self.layout.node_y[node as usize])
                }
                Child::Leaf(leaf) => {
                    (self.leaf_x() - 4.0, self.top + self.layout.leaf_y[leaf as usize])
                }
            };
            // Pages light the path of a row by these numbers, which exported programs use, too.
            let to = match child {
                Child::Node(node) => i64::from(node),
                Child::Leaf(leaf) => -1 - i64::from(leaf),
            };
            let thick = 1.1 + 7.0 * self.share(&self.single.leaves_below(child));
            let (middle, bend) = (x + CURVE / 2.0, x + CURVE);
            writeln!(
                self.svg,
                "<path d='M{x:.1} {y:.1}C{middle:.1} {y:.1} {middle:.1} {end_y:.1} {bend:.1} {end_y:.1}H{end_x:.1}' \
                 fill='none' stroke='#c3cad3' stroke-width='{thick:.2}' data-to='{to}'/>"
            )?;
            let whole = split_side(&self.single.model.schema, &node.split, right, false);
            let missing = if node.split.missing_right == right { ", or missing" } else { "" };
            // White around the letters keeps them clear of thick lines.
            writeln!(
                self.svg,
                "<text x='{:.1}' y='{:.1}' font-size='{EDGE}' stroke='white' stroke-width='3' paint-order='stroke' \
                 stroke-linejoin='round'>{}{}<title>{}</title></text>",
                bend + 3.0,
                end_y - thick / 2.0 - 3.0,
                escape(&self.layout.edges[at][usize::from(right)]),
                if missing.is_empty() { "" } else { "<tspan fill='#8a93a0' dx='3'>?</tspan>" },
                escape(&format!("{}{missing}", fit(&whole, EDGE, 2000.0))),
            )?;
        }
        Ok(())
    }

    /// A node: the feature's name above a bar of the classes, or of the mean, below it.
    fn node(&mut self, at: usize) -> fmt::Result {
        let node = &self.single.tree.nodes[at];
        let column = self.layout.columns[self.layout.depth[at]];
        let (x, y) = (MARGIN + column.left, self.top + self.layout.node_y[at]);
        let leaves = self.single.leaves_below(Child::Node(at as u32));
        let rows = self.single.rows_text(self.share(&leaves));
        let feature =
            printable(&self.single.model.schema.features[node.split.feature as usize].name);
        let rows_note = if rows.is_empty() { String::new() } else { format!(", rows: {rows}") };
        writeln!(
            self.svg,
            "<g><title>{}</title><rect x='{x:.1}' y='{:.1}' width='{:.1}' height='{}' rx='5' fill='#f5f7fa' \
             stroke='#8d98a7'/>",
            escape(&format!("{feature}{rows_note}")),
            y - HALF,
            column.nodes,
            2.0 * HALF
        )?;

        writeln!(
            self.svg,
            "<text x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            x + column.nodes / 2.0,
            y + 2.0,
            escape(&self.layout.names[at])
        )?;

        writeln!(
            self.svg,
            "<text x='{:.1}' y='{:.1}' text-anchor='end' font-size='9.5' fill='#8a93a0'>{rows}</text>",
            x + column.nodes - 2.0,
            y - HALF - 3.0
        )?;

        self.bar(&leaves, (x + 6.0, y + HALF - 8.0), (column.nodes - 12.0, 4.0))?;
        writeln!(self.svg, "</g>")
    }

    /// The distribution of the classes, or the mean relative to the range of all numbers.
    fn bar(
        &mut self,
        leaves: &[usize],
        (x, y): (f64, f64),
        (wide, high): (f64, f64),
    ) -> fmt::Result {
        if self.single.classes().is_empty() {
            return self.gauge(leaves, (x, y), (wide, high));
        }
        let mut left = x;
        for (class, share) in self.distribution(leaves).into_iter().enumerate() {
            // Invisible slivers are left out.
            if share * wide >= 0.05 {
                writeln!(
                    self.svg,
                    "<rect x='{left:.2}' y='{y:.1}' width='{:.2}' height='{high}' fill='{}'/>",
                    share * wide,
                    class_colour(class)
                )?;
            }
            left += share * wide;
        }
        Ok(())
    }

    /// The distribution of the classes below a node; leaves have equal weights if covers are
    /// unknown.
    fn distribution(&self, leaves: &[usize]) -> Vec<f64> {
        if self.share(leaves) > 0.0 {
            return self.single.distribution(leaves.iter().copied());
        }
        let mut sums = vec![0.0; self.single.classes().len()];
        for leaf in leaves {
            if let Prediction::Class { probabilities, .. } = &self.single.predictions[*leaf] {
                sums.iter_mut()
                    .zip(probabilities)
                    .for_each(|(sum, p)| *sum += p / leaves.len() as f64);
            }
        }
        sums
    }

    fn gauge(
        &mut self,
        leaves: &[usize],
        (x, y): (f64, f64),
        (wide, high): (f64, f64),
    ) -> fmt::Result {
        let total = self.share(leaves);
        let mean: f64 = leaves
            .iter()
            .map(|&leaf| {
                let weight = if total > 0.0 {
                    self.single.shares[leaf] / total
                } else {
                    1.0 / leaves.len() as f64
                };
                if let Prediction::Number(number) = self.single.predictions[leaf] {
                    weight * number
                } else {
                    0.0
                }
            })
            .sum();
        let (colour, filled) = (scale_colour(mean, self.range), position(mean, self.range) * wide);
        writeln!(
            self.svg,
            "<rect x='{x:.1}' y='{y:.1}' width='{wide:.1}' height='{high}' fill='#edf0f4'/>"
        )?;

        writeln!(
            self.svg,
            "<rect x='{x:.1}' y='{y:.1}' width='{:.1}' height='{high}' fill='{colour}' stroke='#5b7fae' \
             stroke-width='0.4'/>",
            filled.max(2.0)
        )
    }

    /// A leaf: a bar, the prediction, its share and its rows.
    fn leaf(&mut self, leaf: usize) -> fmt::Result {
        let (x, y) = (self.leaf_x(), self.top + self.layout.leaf_y[leaf]);
        let prediction = &self.single.predictions[leaf];
        let rows = self.single.rows_text(self.single.shares[leaf]);
        let name = prediction_name(self.single, prediction);
        let whole = match prediction {
            Prediction::Number(value) => exact(*value),
            Prediction::Numbers(_) => String::new(),
            Prediction::Class { probabilities, .. } => {
                let shares = self.single.classes().iter().zip(probabilities);
                shares
                    .map(|(name, share)| format!("{}: {}", printable(name), percent(*share)))
                    .collect::<Vec<_>>()
                    .join(", ")
            }
        };

        let counts = self.single.model.leaf_rows_text(0, leaf);
        let counts = counts.map_or(String::new(), |text| format!(" ({text})"));
        let title = escape(&format!("leaf {leaf}: {whole}{counts}"));
        writeln!(self.svg, "<g data-leaf='{leaf}'><title>{title}</title>")?;
        // A faint line leads the eye along the row.
        let line_end = x + BAR + 12.0 + self.predictions + 102.0;
        let under = y + LINE / 2.0;
        writeln!(self.svg, "<path d='M{x:.1} {under:.1}H{line_end:.1}' stroke='#eef0f3'/>")?;
        self.bar(&[leaf], (x, y - BAR_HEIGHT / 2.0), (BAR, BAR_HEIGHT))?;
        let label = escape(&fit(&name, NAME + 1.0, self.predictions - MARK - 10.0));
        let at = x + BAR + 12.0;
        let mark = if let Prediction::Class { class, .. } = prediction {
            let colour = class_colour(*class as usize);
            writeln!(
                self.svg,
                "<rect x='{at:.1}' y='{:.1}' width='9' height='9' rx='2' fill='{colour}'/>",
                y - 4.5
            )?;
            MARK
        } else {
            0.0
        };

        writeln!(
            self.svg,
            "<text x='{:.1}' y='{:.1}' font-weight='bold'>{label}</text>",
            at + mark,
            y + 4.5
        )?;

        if let Prediction::Class { class, probabilities } = prediction {
            let share = probabilities.get(*class as usize).copied().unwrap_or(0.0);
            let at = at + self.predictions + 40.0;
            writeln!(
                self.svg,
                "<text x='{at:.1}' y='{:.1}' text-anchor='end'>{}</text>",
                y + 4.5,
                percent(share)
            )?;
        }

        let at = x + BAR + 12.0 + self.predictions + 102.0;
        writeln!(
            self.svg,
            "<text x='{at:.1}' y='{:.1}' text-anchor='end' fill='#555'>{rows}</text></g>",
            y + 4.5
        )
    }
}
