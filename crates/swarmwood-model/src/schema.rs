//! What a model expects of its input and what it promises of its output.

/// The input columns in the order the model was trained with, and the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// One entry a feature; splits refer to features by position in this list.
    pub features: Vec<Feature>,
    /// What is predicted.
    pub target: Target,
}

/// One input column.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// The column's name in the training data.
    pub name: String,
    /// How its values are read.
    pub kind: Kind,
}

/// How the values of an input column are read.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A number; NaN stands for a missing value.
    Number,
    /// One of a fixed list of levels; a value's code is its position in the list.
    Category {
        /// The level names, in code order.
        levels: Vec<String>,
    },
}

/// The predicted column.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The column's name in the training data.
    pub name: String,
    /// Number or classes.
    pub kind: TargetKind,
}

/// What the predicted column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetKind {
    /// Regression.
    Number,
    /// Classification; with two classes the second one is the positive class.
    Classes(Vec<String>),
}
