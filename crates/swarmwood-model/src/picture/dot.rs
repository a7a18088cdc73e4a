//! The tree in the language of Graphviz.

use std::fmt::{self, Write};

use super::palette::class_colour;
use super::palette::scale_colour;
use super::side;
use super::tree::answer;
use crate::predict::Prediction;
use crate::rules::percent;
use crate::single_tree::SingleTree;
use crate::text::printable;
use crate::tree::Child;

/// The whole graph.
pub(super) fn write(single: &SingleTree<'_>) -> String {
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
            let label = quoted(&format!("{}{missing}", side(schema, &node.split, right, true)));
            writeln!(out, "  n{at} -> {to} [label={label}];")?;
        }
    }
    let range = single.number_range();
    for (leaf, prediction) in single.predictions.iter().enumerate() {
        let mut label = answer(single, prediction);
        let colour = match prediction {
            Prediction::Number(number) => scale_colour(*number, range),
            Prediction::Class { class, probabilities } => {
                let share = probabilities.get(*class as usize).copied().unwrap_or(0.0);
                label.push_str(&format!("\n{}", percent(share)));
                class_colour(*class as usize)
            }
        };
        let rows = single.rows_in_words(single.shares[leaf]);
        if !rows.is_empty() {
            label.push_str(&format!("\n{rows} rows"));
        }
        // A frame in the colour of the answer keeps the text legible.
        writeln!(
            out,
            "  l{leaf} [label={}, fillcolor=white, color=\"{colour}\", penwidth=3];",
            quoted(&label)
        )?;
    }
    writeln!(out, "}}")
}

/// A text of DOT.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
