//! A model as one query.
//!
//! A first table expression reads the columns as doubles and texts, with missing values as NULL.
//! Then each tree is a column with a `CASE`, and after some trees their values are added to the
//! raw scores in the order of the trees, so that no expression becomes deep and sums are the
//! model's. A comparison with NULL is unknown, and `CASE` then takes its `ELSE`: that is the branch
//! that missing values take.

mod dialect;
mod harness;

use super::limits::{check_depth, names};
use super::literal::comment;
use super::options::RESULT;
use super::scoring_form::{ScoringForm, ScoringNode, ScoringTest, ScoringTree};
use super::{
    ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions, FormatSpec, Harness,
    InputPrecision, OptionValues, Tolerance, UnsupportedModel, Verification,
};
use crate::ensemble::{LinearTerm, Link, Model};
use crate::schema::Kind;
use crate::tree::Child;
use dialect::Dialect;
use harness::{DUCKDB, POSTGRES, SCRIPT, SQLITE};

const DIALECT: ExportOption =
    ExportOption { name: "dialect", help: "dialect of SQL", values: dialect::VALUES };

const TABLE: ExportOption = ExportOption {
    name: "table",
    help: "table with the rows",
    values: OptionValues::Text { default: "input" },
};

const KEYS: ExportOption = ExportOption {
    name: "keys",
    help: "columns that the result contains, separated by commas; without any, the features",
    values: OptionValues::Text { default: "" },
};

/// Trees per table expression; databases limit the number of columns.
const TREES_PER_STEP: usize = 100;

/// Deeper trees are refused: the expressions would be too deep for some databases.
const MAX_DEPTH: usize = 400;

/// Some databases report an underflow where others return 0.
const EXP: &str = "CASE WHEN sw_r0 < -700 THEN 0 ELSE EXP(sw_r0) END";

/// One `SELECT`.
pub(super) struct ModelSql;

impl ExportFormat for ModelSql {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "sql",
            description: "one query, for eight databases",
            extensions: &["sql"],
            options: &[DIALECT, TABLE, KEYS, RESULT],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)?;
        if names(&model.schema).any(|name| name.contains('\0')) {
            return Err(UnsupportedModel::new(
                "a name contains a zero byte, which no query can; rename it",
            ));
        }
        check_depth(model, MAX_DEPTH)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let query = Query {
            form: ScoringForm::new(input.model),
            dialect: Dialect::from_name(&options.get(&DIALECT)),
            keys: keys(&options.get(&KEYS))?,
            raw_only: options.get(&RESULT) == "raw",
        };
        let table = options.get(&TABLE);
        if table.is_empty() || table.contains('\0') {
            let message = "must be the name of a table".to_string();
            return Err(ExportError::Option { name: TABLE.name.to_string(), message });
        }
        out.extend_from_slice(query.text(&table).as_bytes());
        Ok(())
    }

    fn verification(&self, _: &ExportInput<'_>, options: &ExportOptions) -> Option<Verification> {
        let database = options.get(&DIALECT);
        let connect = match Dialect::from_name(&database) {
            Dialect::Sqlite | Dialect::Ansi => SQLITE.to_string(),
            Dialect::Duckdb => DUCKDB.to_string(),
            Dialect::Postgres => POSTGRES.to_string(),
            _ => format!(
                "import sys\nprint('queries of {database} are not run here')\nsys.exit(3)\n"
            ),
        };
        Some(Verification {
            harness: Harness::Python(connect + SCRIPT),
            overrides: &[("table", "input"), ("keys", "")],
            tolerance: Tolerance::EXACT,
            inputs: InputPrecision::Double,
        })
    }
}

/// The columns of the option, which may not be empty or repeated.
fn keys(text: &str) -> Result<Vec<String>, ExportError> {
    let keys: Vec<String> =
        text.split(',').map(|key| key.trim().to_string()).filter(|key| !key.is_empty()).collect();
    let repeated = (1..keys.len()).any(|at| keys[..at].contains(&keys[at]));
    if repeated || keys.iter().any(|key| key.contains('\0')) {
        let message = "must be different names of columns".to_string();
        return Err(ExportError::Option { name: KEYS.name.to_string(), message });
    }
    Ok(keys)
}

struct Query<'a> {
    form: ScoringForm<'a>,
    dialect: Dialect,
    keys: Vec<String>,
    raw_only: bool,
}

impl Query<'_> {
    fn text(&self, table: &str) -> String {
        let dialect = self.dialect;
        // A dot separates the parts of the name of a table.
        let table: Vec<String> = table.split('.').map(|part| dialect.identifier(part)).collect();
        let mut text = format!(
            "-- Predicts {}. Written by Swarmwood.\nWITH sw_input {} (\n  SELECT\n",
            comment(&self.form.schema.target.name),
            dialect.table_expression()
        );
        text.push_str(&lines(self.input_columns()));
        text.push_str(&format!("  FROM {} sw_source\n)", table.join(".")));

        let last = if self.form.linear.is_empty() {
            self.tree_steps(&mut text)
        } else {
            self.linear_steps(&mut text)
        };
        let last = if self.form.link == Link::Softmax && !self.raw_only {
            self.softmax_steps(&mut text, &last)
        } else {
            last
        };
        text.push_str("\nSELECT\n");
        text.push_str(&lines(self.result_columns()));
        text.push_str(&format!("FROM {last}\n"));
        text
    }

    /// The columns that the result begins with: their quoted names, and how later steps call them.
    fn carried(&self) -> Vec<(String, String)> {
        let features = &self.form.schema.features;
        match self.keys.is_empty() {
            true => (0..features.len())
                .map(|at| (self.dialect.identifier(&features[at].name), format!("sw_k{at}")))
                .collect(),
            false => self
                .keys
                .iter()
                .enumerate()
                .map(|(at, key)| (self.dialect.identifier(key), format!("sw_k{at}")))
                .collect(),
        }
    }

    fn input_columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = self
            .carried()
            .iter()
            .map(|(name, alias)| format!("sw_source.{name} AS {alias}"))
            .collect();
        let used = self.form.is_used();
        for (at, feature) in
            self.form.schema.features.iter().enumerate().filter(|(at, _)| used[*at])
        {
            // SQLite takes the quoted name of a column that does not exist for a text, unless it
            // names the table.
            let name = format!("sw_source.{}", self.dialect.identifier(&feature.name));
            let column = match feature.kind {
                Kind::Number => self.dialect.number_column(&name),
                Kind::Category { .. } => self.dialect.text_column(&name),
            };
            columns.push(format!("{column} AS sw_f{at}"));
        }
        for (output, base) in self.form.base.iter().enumerate() {
            columns.push(format!("{} AS sw_r{output}", self.dialect.number(*base)));
        }
        columns
    }

    /// The columns that every step passes on.
    fn passed_on(&self) -> Vec<String> {
        let used = self.form.is_used();
        let keys = self.carried().into_iter().map(|(_, alias)| alias);
        let features = (0..used.len()).filter(|at| used[*at]).map(|at| format!("sw_f{at}"));
        keys.chain(features).collect()
    }

    /// Table expressions with one column per tree, each followed by one that adds them up; returns
    /// the name of the last one.
    fn tree_steps(&self, text: &mut String) -> String {
        let outputs = self.form.base.len();
        let mut last = "sw_input".to_string();
        for (step, trees) in self.form.trees.chunks(TREES_PER_STEP).enumerate() {
            let first = step * TREES_PER_STEP;
            let mut columns = self.passed_on();
            columns.extend((0..outputs).map(|output| format!("sw_r{output}")));
            for (at, tree) in trees.iter().enumerate() {
                columns.push(format!("{} AS sw_t{}", self.tree(tree), first + at));
            }
            self.step(text, &format!("sw_trees{step}"), columns, &last);

            let mut columns = self.passed_on();
            for output in 0..outputs {
                let mut sum = format!("sw_r{output}");
                for (at, _) in trees.iter().enumerate().filter(|(_, tree)| tree.output == output) {
                    sum.push_str(&format!(" + sw_t{}", first + at));
                }
                columns.push(format!("{sum} AS sw_r{output}"));
            }
            last = format!("sw_sums{step}");
            self.step(text, &last, columns, &format!("sw_trees{step}"));
        }
        last
    }

    /// One more table expression.
    fn step(&self, text: &mut String, name: &str, columns: Vec<String>, from: &str) {
        let begin = self.dialect.table_expression();
        let columns = lines(columns);
        text.push_str(&format!(",\n{name} {begin} (\n  SELECT\n{columns}  FROM {from}\n)"));
    }

    /// Table expressions that add the terms of some features; returns the name of the last one.
    fn linear_steps(&self, text: &mut String) -> String {
        let mut last = "sw_input".to_string();
        let features = self.form.schema.features.len();
        for (step, first) in (0..features).step_by(TREES_PER_STEP).enumerate() {
            let end = (first + TREES_PER_STEP).min(features);
            let mut columns = self.passed_on();
            for (output, function) in self.form.linear.iter().enumerate() {
                let mut sum = format!("sw_r{output}");
                for (feature, term) in function.terms.iter().enumerate().take(end).skip(first) {
                    sum.push_str(&format!(" + {}", self.term(feature, term)));
                }
                columns.push(format!("{sum} AS sw_r{output}"));
            }
            let name = format!("sw_sums{step}");
            self.step(text, &name, columns, &last);
            last = name;
        }
        last
    }

    fn term(&self, feature: usize, term: &LinearTerm) -> String {
        let zero = self.dialect.number(0.0);
        match term {
            LinearTerm::Number { weight, centre } => format!(
                "CASE WHEN sw_f{feature} IS NULL THEN {zero} ELSE {} * (sw_f{feature} - {}) END",
                self.dialect.number(*weight),
                self.dialect.number(*centre)
            ),
            LinearTerm::Category { weights } if weights.is_empty() => zero,
            LinearTerm::Category { weights } => {
                let levels = self.form.schema.features[feature].kind.levels();
                let cases: String = levels
                    .iter()
                    .zip(weights)
                    .map(|(level, weight)| {
                        format!(
                            " WHEN {} THEN {}",
                            self.dialect.text(level),
                            self.dialect.number(*weight)
                        )
                    })
                    .collect();
                format!("CASE sw_f{feature}{cases} ELSE {zero} END")
            }
        }
    }

    fn tree(&self, tree: &ScoringTree) -> String {
        if tree.depth() <= self.dialect.deepest_case() {
            self.nested(tree)
        } else {
            self.flat(tree)
        }
    }

    fn leaf(&self, tree: &ScoringTree, leaf: u32) -> String {
        self.dialect.number(tree.leaves[leaf as usize].value)
    }

    /// A tree as cases in cases.
    fn nested(&self, tree: &ScoringTree) -> String {
        enum Part {
            Child(Child),
            Text(&'static str),
        }
        let mut text = String::new();
        let mut open = vec![Part::Child(tree.root())];
        while let Some(part) = open.pop() {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Child(Child::Leaf(leaf)) => text.push_str(&self.leaf(tree, leaf)),
                Part::Child(Child::Node(node)) => {
                    let node = &tree.nodes[node as usize];
                    let condition = self.condition(node);
                    text.push_str(&format!("CASE WHEN {} THEN ", condition.text));
                    let (holds, fails) = match condition.negated {
                        true => (node.no, node.yes),
                        false => (node.yes, node.no),
                    };
                    open.push(Part::Text(" END"));
                    open.push(Part::Child(fails));
                    open.push(Part::Text(" ELSE "));
                    open.push(Part::Child(holds));
                }
            }
        }
        text
    }

    /// A tree as one case per leaf with all conditions of its path, the last leaf without any.
    fn flat(&self, tree: &ScoringTree) -> String {
        let mut paths: Vec<(Vec<String>, u32)> = Vec::new();
        let mut open: Vec<(Child, Vec<String>)> = vec![(tree.root(), Vec::new())];
        while let Some((at, path)) = open.pop() {
            match at {
                Child::Leaf(leaf) => paths.push((path, leaf)),
                Child::Node(node) => {
                    let node = &tree.nodes[node as usize];
                    let condition = self.condition(node);
                    let (holds, fails) = match condition.negated {
                        true => (node.no, node.yes),
                        false => (node.yes, node.no),
                    };
                    let column = format!("sw_f{}", node.feature);
                    let mut yes = path.clone();
                    yes.push(condition.text);
                    let mut no = path;
                    no.push(format!("({} OR {column} IS NULL)", condition.contrary));
                    open.extend([(fails, no), (holds, yes)]);
                }
            }
        }
        let mut text = String::from("CASE");
        let (last, others) = match paths.split_last() {
            Some(((_, last), others)) => (*last, others),
            None => (0, [].as_slice()),
        };
        for (conditions, leaf) in others {
            text.push_str(&format!(
                " WHEN {} THEN {}",
                conditions.join(" AND "),
                self.leaf(tree, *leaf)
            ));
        }
        text.push_str(&format!(" ELSE {} END", self.leaf(tree, last)));
        text
    }

    /// A condition that is unknown or false for missing values.
    fn condition(&self, node: &ScoringNode) -> Condition {
        let column = format!("sw_f{}", node.feature);
        match &node.test {
            ScoringTest::AtMost { threshold, missing } => {
                let threshold = self.dialect.number(*threshold);
                let above = format!("{column} > {threshold}");
                let at_most = format!("{column} <= {threshold}");
                match missing {
                    true => Condition { text: above, contrary: at_most, negated: true },
                    false => Condition { text: at_most, contrary: above, negated: false },
                }
            }
            ScoringTest::OneOf(levels) => {
                let names = self.form.schema.features[node.feature].kind.levels();
                let names: Vec<String> = levels
                    .iter()
                    .filter_map(|code| names.get(*code as usize))
                    .map(|name| self.dialect.text(name))
                    .collect();
                let list = names.join(", ");
                let (text, contrary) = match names.is_empty() {
                    true => ("1 = 0".to_string(), "1 = 1".to_string()),
                    false => (format!("{column} IN ({list})"), format!("{column} NOT IN ({list})")),
                };
                Condition { text, contrary, negated: false }
            }
        }
    }

    fn result_columns(&self) -> Vec<String> {
        let mut columns: Vec<String> =
            self.carried().iter().map(|(name, alias)| format!("{alias} AS {name}")).collect();
        let outputs = self.form.base.len();
        columns.extend((0..outputs).map(|output| format!("sw_r{output} AS raw_score_{output}")));
        if self.raw_only {
            return columns;
        }
        match self.form.link {
            Link::Identity | Link::Exp | Link::ExpM1 if outputs > 1 => {
                let number = |output| self.number().replace("sw_r0", &format!("sw_r{output}"));
                let column = |output| format!("{} AS prediction_{output}", number(output));
                columns.extend((0..outputs).map(column));
            }
            Link::Identity | Link::Exp | Link::ExpM1 => {
                columns.push(format!("{} AS prediction", self.number()));
            }
            Link::Sigmoid => self.two_classes(&mut columns),
            Link::Softmax => self.many_classes(&mut columns),
        }
        columns
    }

    /// The number that the first raw score predicts.
    fn number(&self) -> String {
        match self.form.link {
            Link::Exp => EXP.to_string(),
            Link::ExpM1 => format!(
                "CASE WHEN sw_r0 > -0.25 AND sw_r0 < 0.25 THEN {} ELSE {EXP} - 1 END",
                self.small_expm1()
            ),
            Link::Identity | Link::Sigmoid | Link::Softmax => "sw_r0".to_string(),
        }
    }

    /// The series of `exp(x) - 1`, which has no cancellation near 0.
    fn small_expm1(&self) -> String {
        let one = self.dialect.number(1.0);
        let mut series = one.clone();
        for step in (2..=14).rev() {
            let step = self.dialect.number(f64::from(step));
            series = format!("({one} + sw_r0 / {step} * {series})");
        }
        format!("sw_r0 * {series}")
    }

    /// A score between bounds beyond which some databases report an overflow of `EXP`.
    fn bounded(score: &str) -> String {
        format!("CASE WHEN {score} > 700 THEN 700 WHEN {score} < -700 THEN -700 ELSE {score} END")
    }

    fn two_classes(&self, columns: &mut Vec<String>) {
        let score = Self::bounded("sw_r0");
        let one = self.dialect.number(1.0);
        columns.push(format!("{one} / ({one} + EXP({score})) AS probability_0"));
        columns.push(format!("{one} / ({one} + EXP(-({score}))) AS probability_1"));
        let class = |class: usize| {
            self.form.classes().get(class).map_or("NULL".into(), |name| self.dialect.text(name))
        };
        let cut = match self.form.cut {
            0.0 => "0".to_string(),
            cut => self.dialect.number(cut),
        };
        columns.push(format!(
            "CASE WHEN sw_r0 > {cut} THEN {} ELSE {} END AS prediction",
            class(1),
            class(0)
        ));
    }

    /// Whether an output has the largest score; several may have.
    fn is_top(&self, output: usize) -> String {
        let others = (0..self.form.base.len()).filter(|other| *other != output);
        let conditions = others.map(|other| format!("sw_r{output} >= sw_r{other}"));
        conditions.collect::<Vec<_>>().join(" AND ")
    }

    /// Table expressions with the largest score and with the powers of the others' distances.
    fn softmax_steps(&self, text: &mut String, last: &str) -> String {
        let outputs = self.form.base.len();
        let mut columns: Vec<String> = self.carried().into_iter().map(|(_, alias)| alias).collect();
        columns.extend((0..outputs).map(|output| format!("sw_r{output}")));
        let passed_on = columns.clone();
        let cases = (0..outputs.saturating_sub(1))
            .map(|output| format!(" WHEN {} THEN sw_r{output}", self.is_top(output)))
            .collect::<String>();
        columns.push(format!("CASE{cases} ELSE sw_r{} END AS sw_top", outputs.saturating_sub(1)));
        self.step(text, "sw_largest", columns, last);

        let mut columns = passed_on;
        columns.extend((0..outputs).map(|output| {
            format!("EXP({}) AS sw_e{output}", Self::bounded(&format!("(sw_r{output} - sw_top)")))
        }));
        self.step(text, "sw_powers", columns, "sw_largest");
        "sw_powers".to_string()
    }

    fn many_classes(&self, columns: &mut Vec<String>) {
        let outputs = self.form.base.len();
        let powers: Vec<String> = (0..outputs).map(|output| format!("sw_e{output}")).collect();
        let sum = powers.join(" + ");
        for (output, power) in powers.iter().enumerate() {
            columns.push(format!("{power} / ({sum}) AS probability_{output}"));
        }
        let classes = self.form.classes();
        let case = |output: usize| {
            format!(" WHEN {} THEN {}", self.is_top(output), self.dialect.text(&classes[output]))
        };
        let cases: String = (0..outputs.saturating_sub(1)).map(case).collect();
        let last = classes.last().map_or("NULL".into(), |name| self.dialect.text(name));
        columns.push(format!("CASE{cases} ELSE {last} END AS prediction"));
    }
}

/// A condition of a node, what holds otherwise for values that are not missing, and whether it is
/// the contrary of the node's test.
struct Condition {
    text: String,
    contrary: String,
    negated: bool,
}

/// Columns of a `SELECT`, one per line.
fn lines(columns: Vec<String>) -> String {
    let columns: Vec<String> = columns.into_iter().map(|column| format!("    {column}")).collect();
    columns.join(",\n") + "\n"
}
