//! Trees as indented splits.

use std::borrow::Cow;
use std::fmt::{self, Write};

use crate::ensemble::{Body, LinearFunction, LinearTerm, Member, Model, Shape};
use crate::number_format::{exact, quantity};
use crate::schema::Kind;
use crate::tree::{Child, ObliviousTree, Split, Test, Tree};

/// Maximum number of names of a list that are shown.
const SHOWN_NAMES: usize = 8;

/// How much of a model to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// How many trees.
    pub trees: usize,
    /// How many lines of one tree or linear function.
    pub lines: usize,
}

impl Default for TextOptions {
    /// Three trees of 200 lines.
    fn default() -> Self {
        TextOptions { trees: 3, lines: 200 }
    }
}

/// A name on one line, without control characters, which could drive a terminal.
pub(crate) fn printable(name: &str) -> Cow<'_, str> {
    if name.chars().any(char::is_control) {
        Cow::Owned(name.escape_debug().to_string())
    } else {
        Cow::Borrowed(name)
    }
}

/// The first names of a list, and how many more there are.
pub(super) fn some_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let more = names.clone().count().saturating_sub(SHOWN_NAMES);
    let mut text = names.take(SHOWN_NAMES).map(printable).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(", and {more} more");
    }
    text
}

impl Model {
    /// The summary and the first trees as text.
    ///
    /// ```
    /// use swarmwood_model::{*, text::TextOptions};
    /// # let split = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
    /// # let leaf = |value| Leaf { value, cover: 1.0 };
    /// # let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 7.0, cover: 2.0 };
    /// # let tree = Tree { nodes: vec![node], leaves: vec![leaf(1.0), leaf(2.0)] };
    /// # let model = Model {
    /// #     schema: Schema {
    /// #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
    /// #         target: Target { name: "price".into(), kind: TargetKind::Number },
    /// #         dates: Vec::new(),
    /// #     },
    /// #     link: Link::Identity,
    /// #     objective: "squared".into(),
    /// #     base: vec![0.5],
    /// #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
    /// #     provenance: Provenance::default(),
    /// #     calibration: Calibration::default(),
    /// # };
    /// let text = model.to_text(&TextOptions { trees: 1, lines: 50 });
    /// assert!(text.ends_with("\
    /// tree 0: 2 leaves, depth 1
    ///   age <= 30
    ///     leaf 0: 1
    ///   age > 30 or missing
    ///     leaf 1: 2
    /// "));
    /// ```
    pub fn to_text(&self, options: &TextOptions) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(options, &mut text);
        text
    }

    fn write(&self, options: &TextOptions, out: &mut impl Write) -> fmt::Result {
        write!(out, "{}", self.summary())?;
        let starts: Vec<String> = self.base.iter().copied().map(exact).collect();
        writeln!(out, "start      {}", some_names(starts.iter().map(String::as_str)))?;
        match &self.body {
            Body::Trees(members) => {
                for (index, member) in members.iter().take(options.trees).enumerate() {
                    self.write_member(index, member, options.lines, out)?;
                }
                let more = members.len().saturating_sub(options.trees);
                if more > 0 {
                    let noun = if more == 1 { "tree" } else { "trees" };
                    writeln!(out, "... and {more} more {noun}")?;
                }
            }
            Body::Linear(functions) => {
                for (output, function) in functions.iter().enumerate() {
                    writeln!(out, "linear function{}", self.output_name(output))?;
                    self.write_linear(function, options.lines, out)?;
                }
            }
        }
        Ok(())
    }

    /// One of the trees as text, of so many lines at most; `None` if there is no such tree.
    pub fn tree_text(&self, tree: usize, lines: usize) -> Option<String> {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_member(tree, self.members().get(tree)?, lines, &mut text);
        Some(text)
    }

    /// Which class or column an output belongs to, if there are several outputs.
    fn output_name(&self, output: usize) -> String {
        let Some(name) = self.output_names().get(output) else { return String::new() };
        let kind = if self.link.is_classification() { "class " } else { "" };
        format!(" for {kind}{}", printable(name))
    }

    fn write_member(
        &self,
        index: usize,
        member: &Member,
        lines: usize,
        out: &mut impl Write,
    ) -> fmt::Result {
        let name = match &member.shape {
            Shape::Vector(_) if self.link.is_classification() => " for all classes".to_string(),
            Shape::Vector(_) => " for all columns".to_string(),
            _ => self.output_name(member.output as usize),
        };
        let (leaves, depth) = (member.shape.leaves().len(), member.shape.depth());
        let kind = if matches!(member.shape, Shape::Oblivious(_)) { "oblivious, " } else { "" };
        let leaves = quantity(leaves, "leaf");
        writeln!(out, "tree {index}{name}: {kind}{leaves}, depth {depth}")?;
        match &member.shape {
            Shape::Ordinary(tree) => {
                let value = |leaf: usize| {
                    format!("{}{}", exact(tree.leaves[leaf].value), self.rows_note(index, leaf))
                };
                self.write_tree(tree, value, lines, out)
            }
            Shape::Oblivious(tree) => self.write_oblivious(index, tree, lines, out),
            Shape::Vector(vector) => {
                let values = |leaf: usize| {
                    let values = vector.leaf_values(leaf).iter().copied().map(exact);
                    let values = some_names(values.collect::<Vec<_>>().iter().map(String::as_str));
                    format!("{values}{}", self.rows_note(index, leaf))
                };
                self.write_tree(&vector.tree, values, lines, out)
            }
        }
    }

    fn write_tree(
        &self,
        tree: &Tree,
        value: impl Fn(usize) -> String,
        lines: usize,
        out: &mut impl Write,
    ) -> fmt::Result {
        // A stack instead of recursion, because the depth of a tree has no bound. An entry is an
        // indentation, the side of the split above (if any) and the child below it.
        let mut stack = vec![(1, None, tree.root())];
        let mut written = 0;
        while let Some((indent, edge, at)) = stack.pop() {
            if written >= lines {
                return writeln!(out, "  ... cut after {lines} lines");
            }
            let mut indent = indent;
            if let Some((split, right)) = edge {
                writeln!(out, "{:width$}{}", "", self.side(split, right), width = 2 * indent)?;
                written += 1;
                indent += 1;
            }
            match at {
                Child::Leaf(leaf) => {
                    let value = value(leaf as usize);
                    writeln!(out, "{:width$}leaf {leaf}: {value}", "", width = 2 * indent)?;
                    written += 1;
                }
                Child::Node(index) => {
                    let node = &tree.nodes[index as usize];
                    stack.push((indent, Some((&node.split, true)), node.right));
                    stack.push((indent, Some((&node.split, false)), node.left));
                }
            }
        }
        Ok(())
    }

    /// The counts of a leaf as text: `120 rows: 80 yes, 40 no`.
    pub(crate) fn leaf_rows_text(&self, tree: usize, leaf: usize) -> Option<String> {
        let counts = self.leaf_classes(tree, leaf)?;
        let rows: u64 = counts.iter().sum();
        let plural = if rows == 1 { "" } else { "s" };
        let classes = self.schema.target.kind.classes().iter().zip(counts);
        let classes = classes.filter(|(_, count)| **count > 0);
        let classes: Vec<String> =
            classes.map(|(class, count)| format!("{count} {}", printable(class))).collect();
        let colon = if classes.is_empty() { "" } else { ": " };
        Some(format!("{rows} row{plural}{colon}{}", classes.join(", ")))
    }

    /// The counts of the training rows of a leaf, in parentheses.
    fn rows_note(&self, tree: usize, leaf: usize) -> String {
        self.leaf_rows_text(tree, leaf).map_or(String::new(), |text| format!(" ({text})"))
    }

    fn write_oblivious(
        &self,
        at: usize,
        tree: &ObliviousTree,
        lines: usize,
        out: &mut impl Write,
    ) -> fmt::Result {
        let depth = tree.levels.len();
        for (index, level) in tree.levels.iter().enumerate().take(lines) {
            writeln!(out, "  level {index}: {}", self.side(&level.split, true))?;
        }

        if depth > 0 {
            writeln!(out, "  leaves by side of each level (y = right), level 0 first:")?;
        }
        let left = lines.saturating_sub(depth);
        for (index, leaf) in tree.leaves.iter().enumerate().take(left) {
            let sides: String =
                (0..depth).map(|level| if index >> level & 1 == 1 { 'y' } else { 'n' }).collect();
            let gap = if depth > 0 { " " } else { "" };
            let rows = self.rows_note(at, index);
            writeln!(out, "    leaf {index}{gap}{sides}: {}{rows}", exact(leaf.value))?;
        }

        if tree.leaves.len() > left {
            writeln!(out, "  ... cut after {lines} lines")
        } else {
            Ok(())
        }
    }

    fn write_linear(
        &self,
        function: &LinearFunction,
        lines: usize,
        out: &mut impl Write,
    ) -> fmt::Result {
        for (term, feature) in function.terms.iter().zip(&self.schema.features).take(lines) {
            let name = printable(&feature.name);
            match (term, &feature.kind) {
                (LinearTerm::Number { weight, centre }, _) => {
                    writeln!(out, "  {weight} x ({name} - {centre})")?
                }
                (LinearTerm::Category { weights }, Kind::Category { levels }) => {
                    let parts: Vec<String> = levels
                        .iter()
                        .zip(weights)
                        .map(|(level, weight)| format!("{level}: {weight}"))
                        .collect();
                    writeln!(out, "  {name}: {}", some_names(parts.iter().map(String::as_str)))?;
                }
                (LinearTerm::Category { .. }, Kind::Number) => {}
            }
        }

        if function.terms.len() > lines {
            writeln!(out, "  ... cut after {lines} lines")
        } else {
            Ok(())
        }
    }

    /// The condition of one side of a split.
    fn side(&self, split: &Split, right: bool) -> String {
        let Some(feature) = self.schema.features.get(split.feature as usize) else {
            return format!("feature {} (not in the schema)", split.feature);
        };
        let name = printable(&feature.name);
        let missing = if split.missing_right == right { " or missing" } else { "" };
        match (&split.test, &feature.kind) {
            // Only infinity is greater: the split separates missing values from numbers.
            (Test::Above(threshold), _) if *threshold == f64::MAX => {
                match (right, split.missing_right) {
                    (true, true) => format!("{name} is missing or infinite"),
                    (true, false) => format!("{name} is infinite"),
                    (false, _) => format!("{name} is finite{missing}"),
                }
            }
            (Test::Above(threshold), _) => {
                let operator = if right { ">" } else { "<=" };
                format!("{name} {operator} {}{missing}", exact(*threshold))
            }
            (Test::In(set), Kind::Category { levels }) => {
                let names =
                    set.iter().filter_map(|code| levels.get(code as usize).map(String::as_str));
                let operator = if right { "in" } else { "not in" };
                format!("{name} {operator} {{{}}}{missing}", some_names(names))
            }
            (Test::In(_), Kind::Number) => format!("{name} in a set of levels"),
        }
    }
}

impl fmt::Display for Model {
    /// As [`Model::to_text`] with the default options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&TextOptions::default(), f)
    }
}
