//! A model as PMML 4.4.
//!
//! Sums of trees are a `MiningModel` whose segments are added from 0 in the order of the model; the
//! start value is a tree of one leaf before them. A single tree is a `TreeModel`, a linear function a
//! `RegressionModel` over centred fields. Where a link follows, the raw scores are the first segments
//! of a chain and a `RegressionModel` is the last, as in the converters of other libraries.
//!
//! Each inner node names the child for missing values. New categories count as missing, which is
//! never a member of a set.

mod xml;

use super::limits::{check_depth, names};
use super::options::RESULT;
use super::scoring_form::{ScoringForm, ScoringNode, ScoringTest, ScoringTree};
use super::{
    ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec, Harness, InputPrecision,
    Tolerance, UnsupportedModel, Verification,
};
use crate::ensemble::{LinearFunction, LinearTerm, Link, Model};
use crate::number_format::exact;
use crate::schema::Kind;
use crate::tree::Child;
use xml::{XmlWriter, is_representable};

/// Deeper trees are refused: readers of XML limit how deep elements are nested.
const MAX_DEPTH: usize = 200;

/// A document for scoring engines.
pub(super) struct ModelPmml;

impl ExportFormat for ModelPmml {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "pmml",
            description: "PMML 4.4, for scoring engines",
            extensions: &["pmml", "xml"],
            options: &[RESULT],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)?;
        if !model.schema.target.kind.columns().is_empty() {
            return Err(UnsupportedModel::new(
                "a model of PMML has one target, and this one predicts several columns; train one \
                 model per column, or export it as c, js, onnx, python or sql",
            ));
        }
        if let Some(name) = names(&model.schema).find(|name| !is_representable(name)) {
            return Err(UnsupportedModel::new(format!(
                "the name '{}' has a character that XML has no form for; rename it",
                name.escape_debug()
            )));
        }
        check_depth(model, MAX_DEPTH)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let form = ScoringForm::new(input.model);
        let raw_only = options.get(&RESULT) == "raw";
        let document = PmmlDocument { names: FieldNames::new(&form), form: &form, raw_only };
        out.extend_from_slice(document.text().as_bytes());
        Ok(())
    }

    fn verification(&self, input: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        let is_linear = !ScoringForm::new(input.model).linear.is_empty();
        // Engines add the terms of linear functions in any order.
        let relative = if is_linear { 1e-10 } else { 0.0 };
        Some(Verification {
            harness: Harness::Python(HARNESS.to_string()),
            tolerance: Tolerance { absolute: relative, relative },
            inputs: InputPrecision::Double,
            overrides: &[(RESULT.name, "prediction")],
        })
    }
}

/// The names of fields that are computed; none is that of a feature.
struct FieldNames {
    target: String,
    scores: Vec<String>,
    prediction: String,
    probabilities: Vec<String>,
    centred: Vec<String>,
    transformed: String,
}

impl FieldNames {
    fn new(form: &ScoringForm<'_>) -> FieldNames {
        let taken: std::collections::HashSet<&str> =
            form.schema.features.iter().map(|feature| feature.name.as_str()).collect();
        let free = |name: String| {
            let mut name = name;
            while taken.contains(name.as_str()) {
                name.insert(0, '_');
            }
            name
        };
        let numbered =
            |name: &str, count: usize| (0..count).map(|at| free(format!("{name}_{at}"))).collect();
        FieldNames {
            target: free(form.schema.target.name.clone()),
            scores: numbered("raw_score", form.base.len()),
            prediction: free("prediction".to_string()),
            probabilities: numbered("probability", form.classes().len()),
            centred: numbered("centred", form.schema.features.len()),
            transformed: free("transformed_score".to_string()),
        }
    }
}

/// What one document is written from.
struct PmmlDocument<'a> {
    form: &'a ScoringForm<'a>,
    names: FieldNames,
    /// Whether the scores are the results.
    raw_only: bool,
}

impl PmmlDocument<'_> {
    fn text(&self) -> String {
        let mut xml = XmlWriter::new();
        xml.open("PMML", &[("xmlns", "http://www.dmg.org/PMML-4_4"), ("version", "4.4")]);
        xml.open("Header", &[]);
        let version = env!("CARGO_PKG_VERSION");
        xml.empty("Application", &[("name", "Swarmwood"), ("version", version)]);
        xml.close();
        self.data_dictionary(&mut xml);

        let has_link = self.form.link != Link::Identity && !self.raw_only;
        if has_link || self.form.base.len() > 1 {
            self.chain(&mut xml, has_link);
        } else {
            self.score(&mut xml, 0, true);
        }
        xml.finish()
    }

    fn data_dictionary(&self, xml: &mut XmlWriter) {
        xml.open("DataDictionary", &[]);
        for feature in &self.form.schema.features {
            match &feature.kind {
                Kind::Number => data_field(xml, &feature.name, None),
                Kind::Category { levels } => data_field(xml, &feature.name, Some(levels)),
            }
        }
        let classes = self.form.classes();
        let classes = (!classes.is_empty() && !self.raw_only).then_some(classes);
        data_field(xml, &self.names.target, classes);
        xml.close();
    }

    /// Scores one after the other, and the link in the end.
    fn chain(&self, xml: &mut XmlWriter, has_link: bool) {
        xml.open("MiningModel", &[("functionName", self.function())]);
        self.mining_schema(xml, &vec![true; self.form.schema.features.len()], true);
        xml.open("Segmentation", &[("multipleModelMethod", "modelChain")]);
        for output in 0..self.form.base.len() {
            segment(xml, output + 1);
            self.score(xml, output, false);
            xml.close();
        }
        segment(xml, self.form.base.len() + 1);
        self.link(xml, has_link);
        xml.close();
        xml.close();
        xml.close();
    }

    fn function(&self) -> &'static str {
        let is_number = self.form.classes().is_empty() || self.raw_only;
        if is_number { "regression" } else { "classification" }
    }

    /// The model of one raw score. A part of a chain has the score as a field, the whole model as its
    /// prediction.
    fn score(&self, xml: &mut XmlWriter, output: usize, is_whole: bool) {
        if let Some(function) = self.form.linear.get(output) {
            return self.linear(xml, output, function, is_whole);
        }
        let of_output = |tree: &&ScoringTree| tree.output == output;
        let trees: Vec<&ScoringTree> = self.form.trees.iter().filter(of_output).collect();
        let base = self.form.base[output];
        if let [tree] = trees[..] {
            return self.tree(xml, tree, base, Some((output, is_whole)));
        }

        xml.open("MiningModel", &[("functionName", "regression")]);
        self.mining_schema(xml, &used(&trees, self.form.schema.features.len()), is_whole);
        self.score_output(xml, output, is_whole);
        xml.open("Segmentation", &[("multipleModelMethod", "sum")]);
        let start = ScoringTree::constant(output, base);
        let has_start = base != 0.0 || trees.is_empty();
        for (at, tree) in has_start.then_some(&start).into_iter().chain(trees).enumerate() {
            segment(xml, at + 1);
            self.tree(xml, tree, 0.0, None);
            xml.close();
        }
        xml.close();
        xml.close();
    }

    fn score_output(&self, xml: &mut XmlWriter, output: usize, is_whole: bool) {
        let name = if is_whole { &self.names.prediction } else { &self.names.scores[output] };
        let is_final = if is_whole { "true" } else { "false" };
        xml.open("Output", &[]);
        number_output(xml, name, &[("feature", "predictedValue"), ("isFinalResult", is_final)]);
        xml.close();
    }

    fn mining_schema(&self, xml: &mut XmlWriter, used: &[bool], has_target: bool) {
        xml.open("MiningSchema", &[]);
        let features = self.form.schema.features.iter().zip(used).filter(|(_, used)| **used);
        for (feature, _) in features {
            let treatment = match feature.kind {
                Kind::Number => "asIs",
                Kind::Category { .. } => "asMissing",
            };
            let attributes =
                [("name", feature.name.as_str()), ("invalidValueTreatment", treatment)];
            xml.empty("MiningField", &attributes);
        }
        if has_target {
            xml.empty("MiningField", &[("name", &self.names.target), ("usageType", "target")]);
        }
        xml.close();
    }

    /// A tree, to whose leaves a start value is added. As a model of its own it has an output.
    fn tree(
        &self,
        xml: &mut XmlWriter,
        tree: &ScoringTree,
        base: f64,
        of_score: Option<(usize, bool)>,
    ) {
        let attributes = [
            ("functionName", "regression"),
            ("missingValueStrategy", "defaultChild"),
            ("splitCharacteristic", "binarySplit"),
        ];
        xml.open("TreeModel", &attributes);
        let is_whole = of_score.is_some_and(|(_, is_whole)| is_whole);
        self.mining_schema(xml, &used(&[tree], self.form.schema.features.len()), is_whole);
        if let Some((output, is_whole)) = of_score {
            self.score_output(xml, output, is_whole);
        }
        self.nodes(xml, tree, base);
        xml.close();
    }

    /// The nodes, each inside of its parent, by a stack: trees may be deep.
    fn nodes(&self, xml: &mut XmlWriter, tree: &ScoringTree, base: f64) {
        enum NodeStep<'a> {
            Open(Child, Option<(&'a ScoringNode, bool)>),
            Close,
        }
        let id = |child: Child| match child {
            Child::Node(node) => format!("n{node}"),
            Child::Leaf(leaf) => format!("l{leaf}"),
        };
        let mut steps = vec![NodeStep::Open(tree.root(), None)];
        while let Some(step) = steps.pop() {
            let NodeStep::Open(child, branch) = step else {
                xml.close();
                continue;
            };
            steps.push(NodeStep::Close);
            match child {
                Child::Leaf(leaf) => {
                    let score = exact(base + tree.leaves[leaf as usize].value);
                    xml.open("Node", &[("id", &id(child)), ("score", &score)]);
                }
                Child::Node(at) => {
                    let node = &tree.nodes[at as usize];
                    let missing = if node.missing_yes() { node.yes } else { node.no };
                    xml.open("Node", &[("id", &id(child)), ("defaultChild", &id(missing))]);
                    steps.push(NodeStep::Open(node.no, Some((node, false))));
                    steps.push(NodeStep::Open(node.yes, Some((node, true))));
                }
            }
            match branch {
                None => xml.empty("True", &[]),
                Some((node, holds)) => self.predicate(xml, node, holds),
            }
        }
    }

    /// The condition of a branch. Attributes need no quotes of their own, as arrays would.
    fn predicate(&self, xml: &mut XmlWriter, node: &ScoringNode, holds: bool) {
        let feature = &self.form.schema.features[node.feature];
        let simple = |xml: &mut XmlWriter, operator: &str, value: &str| {
            let attributes =
                [("field", feature.name.as_str()), ("operator", operator), ("value", value)];
            xml.empty("SimplePredicate", &attributes);
        };
        match &node.test {
            ScoringTest::AtMost { threshold, .. } => {
                let operator = if holds { "lessOrEqual" } else { "greaterThan" };
                simple(xml, operator, &number(*threshold));
            }
            // The other branch is the one for missing values.
            ScoringTest::OneOf(_) if !holds => xml.empty("True", &[]),
            ScoringTest::OneOf(levels) => {
                let names = feature.kind.levels();
                match levels[..] {
                    [] => xml.empty("False", &[]),
                    [level] => simple(xml, "equal", &names[level as usize]),
                    _ => {
                        xml.open("CompoundPredicate", &[("booleanOperator", "or")]);
                        for level in levels {
                            simple(xml, "equal", &names[*level as usize]);
                        }
                        xml.close();
                    }
                }
            }
        }
    }

    /// A linear function of centred numbers, which are 0 where they are missing.
    fn linear(
        &self,
        xml: &mut XmlWriter,
        output: usize,
        function: &LinearFunction,
        is_whole: bool,
    ) {
        xml.open("RegressionModel", &[("functionName", "regression")]);
        self.mining_schema(xml, &vec![true; self.form.schema.features.len()], is_whole);
        self.score_output(xml, output, is_whole);
        xml.open("LocalTransformations", &[]);
        let terms = || self.form.schema.features.iter().zip(&function.terms).enumerate();
        for (at, (feature, term)) in terms() {
            if let LinearTerm::Number { centre, .. } = term {
                centred_field(xml, &self.names.centred[at], &feature.name, *centre);
            }
        }
        xml.close();

        xml.open("RegressionTable", &[("intercept", &number(self.form.base[output]))]);
        for (at, (_, term)) in terms() {
            if let LinearTerm::Number { weight, .. } = term {
                let name = self.names.centred[at].as_str();
                xml.empty("NumericPredictor", &[("name", name), ("coefficient", &number(*weight))]);
            }
        }
        for (_, (feature, term)) in terms() {
            let LinearTerm::Category { weights } = term else { continue };
            for (level, weight) in feature.kind.levels().iter().zip(weights) {
                let coefficient = number(*weight);
                let attributes = [
                    ("name", feature.name.as_str()),
                    ("value", level),
                    ("coefficient", &coefficient),
                ];
                xml.empty("CategoricalPredictor", &attributes);
            }
        }
        xml.close();
        xml.close();
    }

    /// From the fields of raw scores to the prediction; the last part of a chain.
    fn link(&self, xml: &mut XmlWriter, has_link: bool) {
        let normalization = match self.form.link {
            Link::Sigmoid if has_link => "logit",
            Link::Softmax if has_link => "softmax",
            Link::Exp if has_link => "exp",
            _ => "none",
        };
        let attributes =
            [("functionName", self.function()), ("normalizationMethod", normalization)];
        xml.open("RegressionModel", &attributes);
        xml.open("MiningSchema", &[]);
        xml.empty("MiningField", &[("name", &self.names.target), ("usageType", "target")]);
        for name in &self.names.scores {
            xml.empty("MiningField", &[("name", name)]);
        }
        xml.close();
        self.link_output(xml);

        let mut input = self.names.scores[0].as_str();
        if self.form.link == Link::ExpM1 && has_link {
            input = &self.names.transformed;
            xml.open("LocalTransformations", &[]);
            derived_number(xml, input);
            xml.open("Apply", &[("function", "expm1")]);
            xml.empty("FieldRef", &[("field", &self.names.scores[0])]);
            (0..3).for_each(|_| xml.close());
        }
        let classes = self.form.classes();
        let one = [("name", input), ("coefficient", "1")];
        match self.form.link {
            Link::Sigmoid if has_link => {
                xml.open("RegressionTable", &[("intercept", "0"), ("targetCategory", &classes[1])]);
                xml.empty("NumericPredictor", &one);
                xml.close();
                xml.empty(
                    "RegressionTable",
                    &[("intercept", "0"), ("targetCategory", &classes[0])],
                );
            }
            Link::Softmax if has_link => {
                for (class, score) in classes.iter().zip(&self.names.scores) {
                    xml.open("RegressionTable", &[("intercept", "0"), ("targetCategory", class)]);
                    xml.empty("NumericPredictor", &[("name", score), ("coefficient", "1")]);
                    xml.close();
                }
            }
            _ => {
                xml.open("RegressionTable", &[("intercept", "0")]);
                xml.empty("NumericPredictor", &one);
                xml.close();
            }
        }
        xml.close();
    }

    /// The results: the prediction, probabilities of classes, and the raw scores.
    fn link_output(&self, xml: &mut XmlWriter) {
        let classes = self.form.classes();
        xml.open("Output", &[]);
        if classes.is_empty() || self.raw_only {
            number_output(xml, &self.names.prediction, &[("feature", "predictedValue")]);
        } else {
            self.label_output(xml);
            for (class, name) in classes.iter().zip(&self.names.probabilities) {
                number_output(xml, name, &[("feature", "probability"), ("value", class)]);
            }
        }
        for score in &self.names.scores {
            let name = format!("output_{score}");
            let attributes = [
                ("name", name.as_str()),
                ("optype", "continuous"),
                ("dataType", "double"),
                ("feature", "transformedValue"),
            ];
            xml.open("OutputField", &attributes);
            xml.empty("FieldRef", &[("field", score)]);
            xml.close();
        }
        xml.close();
    }

    /// The predicted class: the most probable one, or the second of two above a decision threshold.
    fn label_output(&self, xml: &mut XmlWriter) {
        let cut = self.form.cut.clamp(f64::MIN, f64::MAX);
        let field = |feature| {
            [
                ("name", self.names.prediction.as_str()),
                ("optype", "categorical"),
                ("dataType", "string"),
                ("feature", feature),
            ]
        };
        if self.form.link != Link::Sigmoid || cut == 0.0 {
            return xml.empty("OutputField", &field("predictedValue"));
        }

        let cut = number(cut);
        let classes = self.form.classes();
        let bins =
            [(&classes[0], "openClosed", "rightMargin"), (&classes[1], "openOpen", "leftMargin")];
        xml.open("OutputField", &field("transformedValue"));
        xml.open("Discretize", &[("field", self.names.scores[0].as_str())]);
        for (class, closure, margin) in bins {
            xml.open("DiscretizeBin", &[("binValue", class)]);
            xml.empty("Interval", &[("closure", closure), (margin, &cut)]);
            xml.close();
        }
        xml.close();
        xml.close();
    }
}

/// Which features some trees test.
fn used(trees: &[&ScoringTree], features: usize) -> Vec<bool> {
    let mut used = vec![false; features];
    for node in trees.iter().flat_map(|tree| &tree.nodes) {
        used[node.feature] = true;
    }
    used
}

/// A number as XML Schema writes it.
fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "INF".to_string(),
        f64::NEG_INFINITY => "-INF".to_string(),
        value => exact(value),
    }
}

fn data_field(xml: &mut XmlWriter, name: &str, levels: Option<&[String]>) {
    let Some(levels) = levels else {
        let attributes = [("name", name), ("optype", "continuous"), ("dataType", "double")];
        return xml.empty("DataField", &attributes);
    };
    xml.open("DataField", &[("name", name), ("optype", "categorical"), ("dataType", "string")]);
    for level in levels {
        xml.empty("Value", &[("value", level)]);
    }
    xml.close();
}

fn number_output(xml: &mut XmlWriter, name: &str, more: &[(&str, &str)]) {
    let first = [("name", name), ("optype", "continuous"), ("dataType", "double")];
    xml.empty("OutputField", &[&first, more].concat());
}

/// Begins a computed number; the expression follows.
fn derived_number(xml: &mut XmlWriter, name: &str) {
    let attributes = [("name", name), ("optype", "continuous"), ("dataType", "double")];
    xml.open("DerivedField", &attributes);
}

/// `x - centre`, or 0 if x is missing.
fn centred_field(xml: &mut XmlWriter, name: &str, feature: &str, centre: f64) {
    derived_number(xml, name);
    xml.open("Apply", &[("function", "if")]);
    xml.open("Apply", &[("function", "isMissing")]);
    xml.empty("FieldRef", &[("field", feature)]);
    xml.close();
    xml.constant(0.0);
    xml.open("Apply", &[("function", "-")]);
    xml.empty("FieldRef", &[("field", feature)]);
    xml.constant(centre);
    (0..3).for_each(|_| xml.close());
}

/// Begins a part of a model that always applies.
fn segment(xml: &mut XmlWriter, number: usize) {
    xml.open("Segment", &[("id", &number.to_string())]);
    xml.empty("True", &[]);
}

/// Names, classes and scores, row by row.
const HARNESS: &str = r#"
import json, sys
try:
    from pypmml import Model
except ImportError as error:
    print(f"the Python package '{error.name}' is not installed")
    sys.exit(3)
table = json.load(open(sys.argv[2], encoding="utf-8"))
try:
    model = Model.fromFile(sys.argv[1])
except Exception as error:
    if "Java" not in str(error) and "JAVA" not in str(error):
        raise
    print("Java, which runs PMML, is not installed")
    sys.exit(3)
names = [feature["name"] for feature in table["features"]]
levels = [feature["levels"] for feature in table["features"]]
assert set(model.inputNames) <= set(names), "feature names differ"
results = [field.name for field in model.outputFields]
scores = [name for name in results if name.startswith("output_")]
likely = [name for name in results if name.lstrip("_").startswith("probability_")]
predicted = likely or [name for name in results if name.lstrip("_") == "prediction"]
for row in table["rows"]:
    values = {}
    for name, value, names_of in zip(names, row, levels):
        if value is not None and names_of is None:
            value = float(value)
        elif value is not None:
            value = names_of[value] if value < len(names_of) else "new" + "".join(names_of)
        values[name] = value
    found = model.predict(values)
    raw = [found[name] for name in scores or predicted]
    if likely:
        best = max(range(len(likely)), key=lambda at: found[likely[at]])
        label = found[next(name for name in results if name.lstrip("_") == "prediction")]
        ties = [found[name] == found[likely[best]] for name in likely]
        if table["cut"] != 0:
            best, ties = int(raw[0] > table["cut"]), []
        assert label == table["classes"][best] or sum(ties) > 1, "wrong class"
    print(*(repr(float(number)) for number in raw + [found[name] for name in predicted]))
Model.close()
"#;
