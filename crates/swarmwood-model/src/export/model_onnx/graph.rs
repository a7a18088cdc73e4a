//! The parts of an ONNX file: tensors, attributes, nodes, the graph and the model.

use super::super::protobuf::Message;

/// Element types of tensors, as ONNX numbers them.
#[derive(Debug, Clone, Copy)]
pub(super) enum ElementType {
    Uint8 = 2,
    Int64 = 7,
    Text = 8,
    Double = 11,
}

/// A tensor of doubles.
pub(super) fn doubles(name: &str, shape: &[usize], values: &[f64]) -> Message {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, shape, ElementType::Double).blob(9, &bytes)
}

/// A tensor of whole numbers.
pub(super) fn integers(name: &str, values: &[i64]) -> Message {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, &[values.len()], ElementType::Int64).blob(9, &bytes)
}

/// A tensor of bytes.
pub(super) fn bytes(name: &str, values: &[u8]) -> Message {
    tensor(name, &[values.len()], ElementType::Uint8).blob(9, values)
}

/// A tensor of texts.
pub(super) fn texts<'a>(name: &str, values: impl ExactSizeIterator<Item = &'a str>) -> Message {
    let start = tensor(name, &[values.len()], ElementType::Text);
    values.fold(start, |tensor, text| tensor.text(6, text))
}

fn tensor(name: &str, shape: &[usize], kind: ElementType) -> Message {
    Message::default()
        .integers(1, shape.iter().map(|size| *size as i64))
        .integer(2, kind as i64)
        .text(8, name)
}

/// An attribute of a node.
pub(super) enum Attribute {
    Integer(i64),
    Integers(Vec<i64>),
    Text(String),
    Texts(Vec<String>),
    Tensor(Message),
}

impl Attribute {
    fn message(&self, name: &str) -> Message {
        let named = Message::default().text(1, name);
        // Lists are not packed in the attributes' definition of the format.
        match self {
            Attribute::Integer(value) => named.integer(3, *value).integer(20, 2),
            Attribute::Text(text) => named.text(4, text).integer(20, 3),
            Attribute::Tensor(tensor) => named.message(5, tensor).integer(20, 4),
            Attribute::Integers(values) => values
                .iter()
                .fold(named, |attribute, value| attribute.integer(8, *value))
                .integer(20, 7),
            Attribute::Texts(texts) => {
                texts.iter().fold(named, |attribute, text| attribute.text(9, text)).integer(20, 8)
            }
        }
    }
}

/// The domain of the operators for machine learning.
pub(super) const ML: &str = "ai.onnx.ml";

/// A graph under construction.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Message>,
    initializers: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    next: usize,
}

impl Graph {
    /// A name that no other value has.
    pub(super) fn fresh(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    /// Adds a node with one result; returns the result's name.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        let output = self.fresh();
        self.node_to(operator, inputs, &[&output], attributes);
        output
    }

    /// Adds a node with named results.
    pub(super) fn node_to(
        &mut self,
        operator: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        let is_ml = operator.starts_with("TreeEnsemble") || operator == "LabelEncoder";
        let mut node = Message::default();
        node = inputs.iter().fold(node, |node, input| node.text(1, input));
        node = outputs.iter().fold(node, |node, output| node.text(2, output));
        node = node.text(3, &format!("node{}", self.nodes.len())).text(4, operator);
        let attributes: Vec<Message> =
            attributes.iter().map(|(name, attribute)| attribute.message(name)).collect();
        node = node.messages(5, &attributes);
        if is_ml {
            node = node.text(7, ML);
        }
        self.nodes.push(node);
    }

    /// Adds a constant; returns its name.
    pub(super) fn constant(&mut self, make: impl FnOnce(&str) -> Message) -> String {
        let name = self.fresh();
        self.initializers.push(make(&name));
        name
    }

    /// Declares an input with a number of rows and columns.
    pub(super) fn input(&mut self, name: &str, kind: ElementType, columns: usize) {
        self.inputs.push(value_info(name, kind, Some(columns)));
    }

    /// Declares a result: rows, and columns if it has any.
    pub(super) fn output(&mut self, name: &str, kind: ElementType, columns: Option<usize>) {
        self.outputs.push(value_info(name, kind, columns));
    }

    /// The file.
    pub(super) fn file(self, ml_version: i64, metadata: &[(&str, String)]) -> Vec<u8> {
        let graph = Message::default()
            .messages(1, &self.nodes)
            .text(2, "model")
            .messages(5, &self.initializers)
            .messages(11, &self.inputs)
            .messages(12, &self.outputs);
        let operators =
            |domain: &str, version: i64| Message::default().text(1, domain).integer(2, version);
        let entry = |(key, value): &(&str, String)| Message::default().text(1, key).text(2, value);
        let metadata: Vec<Message> = metadata.iter().map(entry).collect();
        Message::default()
            .integer(1, 8)
            .text(2, "swarmwood")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, &graph)
            .message(8, &operators("", 17))
            .message(8, &operators(ML, ml_version))
            .messages(14, &metadata)
            .bytes
    }
}

fn value_info(name: &str, kind: ElementType, columns: Option<usize>) -> Message {
    let rows = Message::default().text(2, "N");
    let mut shape = Message::default().message(1, &rows);
    if let Some(columns) = columns {
        shape = shape.message(1, &Message::default().integer(1, columns as i64));
    }
    let tensor = Message::default().integer(1, kind as i64).message(2, &shape);
    let value = Message::default().message(1, &tensor);
    Message::default().text(1, name).message(2, &value)
}
