//! A drawing of a model with one tree in the language of Graphviz.

use std::fmt::{self, Write};

use super::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec,
    UnsupportedModel,
};
use crate::ensemble::Model;
use crate::number_format::percent;
use crate::picture::{class_colour, prediction_name, scale_colour, split_side};
use crate::predict::Prediction;
use crate::single_tree::SingleTree;
use crate::text::printable;
use crate::tree::Child;

/// A graph that Graphviz lays out.
pub(super) struct TreeDot;

impl ExportFormat for TreeDot {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            content: ExportContent::Drawing,
            name: "dot",
            description: "a graph for Graphviz",
            extensions: &["dot", "gv"],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        let tree = model.single_tree().map_err(UnsupportedModel::new)?;
        tree.check_drawable().map_err(UnsupportedModel::new)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let tree = input.model.single_tree().map_err(UnsupportedModel::new)?;
        out.extend_from_slice(to_dot(&tree).as_bytes());
        Ok(())
    }
}

fn to_dot(single: &SingleTree<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = graph(single, &mut out);
    out
}

fn graph(single: &SingleTree<'_>, out: &mut String) -> fmt::Result {
    writeln!(out, "digraph tree {{")?;
    writeln!(out, "  label={}; labelloc=t; rankdir=LR;", quoted(&single.title()))?;
    writeln!(
        out,
        "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f5f7fa\", fontname=\"Helvetica\"];"
    )?;

    writeln!(out, "  edge [fontname=\"Helvetica\", fontsize=11];")?;
    let schema = &single.model.schema;
    for (at, node) in single.tree.nodes.iter().enumerate() {
        let name = printable(&schema.features[node.split.feature as usize].name);
        writeln!(out, "  n{at} [label={}];", quoted(&name))?;
        for (child, right) in [(node.left, false), (node.right, true)] {
            let to = match child {
                Child::Node(node) => format!("n{node}"),
                Child::Leaf(leaf) => format!("l{leaf}"),
            };
            let missing = if node.split.missing_right == right { " or missing" } else { "" };
            let label =
                quoted(&format!("{}{missing}", split_side(schema, &node.split, right, true)));
            writeln!(out, "  n{at} -> {to} [label={label}];")?;
        }
    }

    let range = single.number_range();
    for (leaf, prediction) in single.predictions.iter().enumerate() {
        let mut label = prediction_name(single, prediction);
        let colour = match prediction {
            Prediction::Number(number) => scale_colour(*number, range),
            // A single tree predicts one number or classes.
            Prediction::Numbers(_) => scale_colour(f64::NAN, range),
            Prediction::Class { class, probabilities } => {
                let share = probabilities.get(*class as usize).copied().unwrap_or(0.0);
                label.push_str(&format!("\n{}", percent(share)));
                class_colour(*class as usize)
            }
        };
        let rows = single.rows_text(single.shares[leaf]);
        if !rows.is_empty() {
            label.push_str(&format!("\n{rows} rows"));
        }
        // A frame in the colour of the prediction keeps the text legible.
        writeln!(
            out,
            "  l{leaf} [label={}, fillcolor=white, color=\"{colour}\", penwidth=3];",
            quoted(&label)
        )?;
    }
    writeln!(out, "}}")
}

/// A string literal of DOT.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
