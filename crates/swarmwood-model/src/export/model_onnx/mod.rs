//! A model as ONNX.
//!
//! Trees are one `TreeEnsemble` of version 5 of the operators for machine learning, in doubles, with
//! sets of categories; or, for older runtimes, a `TreeEnsembleRegressor` of version 3. The start
//! values are trees of one leaf before the others, because runtimes add base values last. Links and
//! classes are ordinary operators on the raw scores.

mod graph;
mod trees;

use super::options::RESULT;
use super::scoring_form::ScoringForm;
use super::{
    ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions, FormatSpec, Harness,
    OptionValues, Tolerance, UnsupportedModel, Verification,
};
use crate::ensemble::{LinearTerm, Link, Model};
use crate::schema::Kind;
use graph::{Attribute, ElementType, Graph};

const OPSET: ExportOption = ExportOption {
    name: "opset",
    help: "version of the operators for machine learning",
    values: OptionValues::Choice(&[
        ("5", "TreeEnsemble with sets of categories"),
        ("3", "TreeEnsembleRegressor, for models without categories"),
    ]),
};

const INPUTS: ExportOption = ExportOption {
    name: "inputs",
    help: "inputs of the graph",
    values: OptionValues::Choice(&[
        ("tensor", "one tensor of doubles, with the numbers of categories"),
        ("columns", "one input per column, with categories as texts"),
    ]),
};

/// The name of the raw scores, an output of every graph. The node that computes them has no copy
/// behind it: for single rows every node counts.
const RAW_SCORES: &str = "raw_scores";

/// The name of a predicted number.
const PREDICTION: &str = "variable";

/// A file of protocol buffers.
pub(super) struct ModelOnnx;

impl ExportFormat for ModelOnnx {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "onnx",
            description: "ONNX, in doubles",
            extensions: &["onnx"],
            options: &[OPSET, INPUTS, RESULT],
            is_binary: true,
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)?;
        match model.schema.features.is_empty() {
            true => Err(UnsupportedModel::new(
                "the model has no features and a graph needs an input; export it as c, js or python",
            )),
            false => Ok(()),
        }
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let form = ScoringForm::new(input.model);
        let opset = if options.get(&OPSET) == "3" { 3 } else { 5 };
        let mut graph = Graph::default();
        let rows = match options.get(&INPUTS).as_str() {
            "columns" => columns(&form, &mut graph),
            _ => {
                graph.input("X", ElementType::Double, form.schema.features.len());
                "X".to_string()
            }
        };
        let metadata = metadata(&form);
        let (link, cut, outputs) = (form.link, form.cut, form.base.len());
        let classes = form.classes();
        let is_raw = options.get(&RESULT) == "raw";
        let is_prediction = link == Link::Identity && !is_raw;
        let scores = if is_prediction { PREDICTION } else { RAW_SCORES };
        if form.linear.is_empty() {
            trees::raw_scores(form, &rows, opset, scores, &mut graph)?;
        } else {
            linear(&form, &rows, scores, &mut graph);
        }
        if !is_raw {
            predictions((link, cut), (classes, outputs), scores, &mut graph);
        }
        if !is_prediction {
            graph.output(RAW_SCORES, ElementType::Double, Some(outputs));
        }
        out.extend(graph.file(opset, &metadata));
        Ok(())
    }

    fn verification(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
    ) -> Option<Verification> {
        let mut verification = Verification::exact(Harness::Python(HARNESS.to_string()));
        if options.get(&OPSET) == "3" && !input.model.members().is_empty() {
            // Its raw scores are rounded to 32 bits.
            verification.tolerance =
                Tolerance { absolute: f64::from(f32::MIN_POSITIVE), relative: 6e-8 };
        }
        Some(verification)
    }
}

/// What the file says about its inputs.
fn metadata(form: &ScoringForm<'_>) -> Vec<(&'static str, String)> {
    let names: Vec<String> =
        form.schema.features.iter().map(|feature| super::literal::quoted(&feature.name)).collect();
    vec![
        ("features", format!("[{}]", names.join(", "))),
        ("target", form.schema.target.name.clone()),
    ]
}

/// One input per column, put together as doubles: the number of a category, -1 if it is not known.
fn columns(form: &ScoringForm<'_>, graph: &mut Graph) -> String {
    let mut parts = Vec::new();
    for (at, feature) in form.schema.features.iter().enumerate() {
        // Graphs name their values, and an empty name means that there is none.
        let name = match feature.name.is_empty() {
            true => format!("feature {at}"),
            false => format!("x:{}", feature.name),
        };
        match &feature.kind {
            Kind::Number => {
                graph.input(&name, ElementType::Double, 1);
                parts.push(name);
            }
            Kind::Category { levels } => {
                graph.input(&name, ElementType::Text, 1);
                if levels.is_empty() {
                    // There is nothing to look up, and no test depends on it.
                    let code = graph.node(
                        "LabelEncoder",
                        &[&name],
                        &[
                            ("keys_strings", Attribute::Texts(vec![String::new()])),
                            ("values_int64s", Attribute::Integers(vec![-1])),
                            ("default_int64", Attribute::Integer(-1)),
                        ],
                    );
                    parts.push(graph.node("Cast", &[&code], &[("to", Attribute::Integer(11))]));
                    continue;
                }
                let codes = (0..levels.len() as i64).collect();
                let code = graph.node(
                    "LabelEncoder",
                    &[&name],
                    &[
                        ("keys_strings", Attribute::Texts(levels.clone())),
                        ("values_int64s", Attribute::Integers(codes)),
                        ("default_int64", Attribute::Integer(-1)),
                    ],
                );
                parts.push(graph.node("Cast", &[&code], &[("to", Attribute::Integer(11))]));
            }
        }
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    graph.node("Concat", &parts, &[("axis", Attribute::Integer(1))])
}

/// The raw scores of a linear model: its terms added in the order of the features.
fn linear(form: &ScoringForm<'_>, rows: &str, name: &str, graph: &mut Graph) {
    let features = form.schema.features.len();
    let names: Vec<String> = (0..features).map(|_| graph.fresh()).collect();
    let outputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let sizes = graph.constant(|name| graph::integers(name, &vec![1; features]));
    graph.node_to("Split", &[rows, &sizes], &outputs, &[("axis", Attribute::Integer(1))]);

    let zero = graph.constant(|name| graph::doubles(name, &[1, 1], &[0.0]));
    let mut scores = Vec::new();
    for (function, base) in form.linear.iter().zip(form.base) {
        let mut sum = graph.constant(|name| graph::doubles(name, &[1, 1], &[*base]));
        for ((term, value), feature) in function.terms.iter().zip(&names).zip(&form.schema.features)
        {
            let term = match term {
                LinearTerm::Number { weight, centre } => {
                    let centre = graph.constant(|name| graph::doubles(name, &[1, 1], &[*centre]));
                    let weight = graph.constant(|name| graph::doubles(name, &[1, 1], &[*weight]));
                    let distance = graph.node("Sub", &[value, &centre], &[]);
                    graph.node("Mul", &[&weight, &distance], &[])
                }
                LinearTerm::Category { weights } => {
                    let count = feature.kind.levels().len();
                    // A missing or new level takes the last weight, which is 0.
                    let table: Vec<f64> = weights.iter().copied().chain([0.0]).collect();
                    let table = graph.constant(|name| graph::doubles(name, &[count + 1], &table));
                    let end = graph.constant(|name| graph::doubles(name, &[1, 1], &[count as f64]));
                    let low = graph.node("Less", &[value, &zero], &[]);
                    let high = graph.node("GreaterOrEqual", &[value, &end], &[]);
                    let missing = graph.node("IsNaN", &[value], &[]);
                    let outside = graph.node("Or", &[&low, &high], &[]);
                    let outside = graph.node("Or", &[&outside, &missing], &[]);
                    let code = graph.node("Where", &[&outside, &end, value], &[]);
                    let code = graph.node("Cast", &[&code], &[("to", Attribute::Integer(7))]);
                    graph.node("Gather", &[&table, &code], &[])
                }
            };
            let missing = graph.node("IsNaN", &[value], &[]);
            let term = graph.node("Where", &[&missing, &zero, &term], &[]);
            sum = graph.node("Add", &[&sum, &term], &[]);
        }
        scores.push(sum);
    }
    let scores: Vec<&str> = scores.iter().map(String::as_str).collect();
    graph.node_to("Concat", &scores, &[name], &[("axis", Attribute::Integer(1))]);
}

/// Numbers, or probabilities and the label; the second of two classes above the raw score `cut`.
fn predictions(
    (link, cut): (Link, f64),
    (classes, outputs): (&[String], usize),
    raw: &str,
    graph: &mut Graph,
) {
    match link {
        // The raw score is the prediction.
        Link::Identity => {}
        Link::Exp => graph.node_to("Exp", &[raw], &[PREDICTION], &[]),
        Link::ExpM1 => {
            // The series of exp(x) - 1 near 0, where the difference would lose digits.
            let mut number =
                |value: f64| graph.constant(|name| graph::doubles(name, &[1, 1], &[value]));
            let (one, near) = (number(1.0), number(0.25));
            let steps: Vec<String> = (2..=14).rev().map(|step| number(f64::from(step))).collect();
            let mut series = one.clone();
            for step in &steps {
                let factor = graph.node("Div", &[raw, step], &[]);
                let product = graph.node("Mul", &[&factor, &series], &[]);
                series = graph.node("Add", &[&one, &product], &[]);
            }
            let series = graph.node("Mul", &[raw, &series], &[]);
            let power = graph.node("Exp", &[raw], &[]);
            let difference = graph.node("Sub", &[&power, &one], &[]);
            let distance = graph.node("Abs", &[raw], &[]);
            let is_near = graph.node("Less", &[&distance, &near], &[]);
            graph.node_to("Where", &[&is_near, &series, &difference], &[PREDICTION], &[]);
        }
        Link::Sigmoid => {
            // As the model does it: each probability by its own exponential function.
            let one = graph.constant(|name| graph::doubles(name, &[1, 1], &[1.0]));
            let signs = graph.constant(|name| graph::doubles(name, &[1, 2], &[1.0, -1.0]));
            let score = graph.node("Mul", &[raw, &signs], &[]);
            let power = graph.node("Exp", &[&score], &[]);
            let sum = graph.node("Add", &[&one, &power], &[]);
            graph.node_to("Div", &[&one, &sum], &["probabilities"], &[]);
        }
        Link::Softmax => {
            graph.node_to(
                "Softmax",
                &[raw],
                &["probabilities"],
                &[("axis", Attribute::Integer(1))],
            );
        }
    }
    if !link.is_classification() {
        graph.output(PREDICTION, ElementType::Double, Some(outputs));
        return;
    }

    label((link, cut), classes, raw, graph);
    graph.output("probabilities", ElementType::Double, Some(classes.len()));
}

/// The predicted class: a number where all names of classes are whole numbers, as in the converters
/// of other libraries, and a text otherwise.
fn label((link, cut): (Link, f64), classes: &[String], raw: &str, graph: &mut Graph) {
    let number =
        |name: &String| name.parse().ok().filter(|number: &i64| number.to_string() == *name);
    let numbers: Option<Vec<i64>> = classes.iter().map(number).collect();
    let constant = |graph: &mut Graph, classes: std::ops::Range<usize>, names: &[String]| {
        graph.constant(|name| match &numbers {
            Some(numbers) => graph::integers(name, &numbers[classes]),
            None => graph::texts(name, names[classes].iter().map(String::as_str)),
        })
    };
    if link == Link::Sigmoid {
        let cut = graph.constant(|name| graph::doubles(name, &[1, 1], &[cut]));
        let positive = graph.node("Greater", &[raw, &cut], &[]);
        let negative_class = constant(graph, 0..1, classes);
        let positive_class = constant(graph, 1..2, classes);
        let label = graph.node("Where", &[&positive, &positive_class, &negative_class], &[]);
        let axis = graph.constant(|name| graph::integers(name, &[1]));
        graph.node_to("Squeeze", &[&label, &axis], &["label"], &[]);
    } else {
        let attributes = [("axis", Attribute::Integer(1)), ("keepdims", Attribute::Integer(0))];
        let class = graph.node("ArgMax", &[raw], &attributes);
        let names = constant(graph, 0..classes.len(), classes);
        graph.node_to("Gather", &[&names, &class], &["label"], &[]);
    }
    let element = if numbers.is_some() { ElementType::Int64 } else { ElementType::Text };
    graph.output("label", element, None);
}

const HARNESS: &str = r#"
import json, sys
try:
    import numpy, onnxruntime
except ImportError as error:
    print(f"the Python package '{error.name}' is not installed")
    sys.exit(3)
try:
    import onnx
    onnx.checker.check_model(onnx.load(sys.argv[1]), full_check=True)
except ImportError:
    pass
table = json.load(open(sys.argv[2], encoding="utf-8"))
options = onnxruntime.SessionOptions()
# Several threads add the trees in another order.
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
inputs = [each.name for each in session.get_inputs()]
nan = float("nan")
if inputs == ["X"]:
    rows = [[nan if value is None else float(value) for value in row] for row in table["rows"]]
    feed = {"X": numpy.array(rows, dtype=float)}
else:
    feed = {}
    for at, (name, feature) in enumerate(zip(inputs, table["features"])):
        values, levels = [row[at] for row in table["rows"]], feature["levels"]
        if levels is None:
            values = numpy.array([nan if value is None else float(value) for value in values])
        else:
            known = lambda code: code is not None and code < len(levels)
            new = "new" + "".join(levels)
            values = [levels[code] if known(code) else new for code in values]
            values = numpy.array(values, dtype=object)
        feed[name] = values.reshape(-1, 1)
names = [each.name for each in session.get_outputs()]
found = dict(zip(names, session.run(None, feed)))
raw = found.get("raw_scores", found.get("variable"))
predicted = found.get("variable", found.get("probabilities"))
if "label" in found:
    best = raw.argmax(axis=1) if raw.shape[1] > 1 else (raw[:, 0] > table["cut"]).astype(int)
    assert [table["classes"][at] for at in best] == [str(label) for label in found["label"]], "labels differ"
for at in range(len(raw)):
    numbers = list(raw[at]) + ([] if predicted is None else list(predicted[at]))
    print(*(repr(float(number)) for number in numbers))
"#;
