//! The input columns that a model expects and the output that it predicts.

/// The input columns in the order the model was trained with, and the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// One entry per feature; splits refer to features by position in this list.
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

impl Kind {
    /// The names of the levels; none for a number.
    pub fn levels(&self) -> &[String] {
        match self {
            Kind::Number => &[],
            Kind::Category { levels } => levels,
        }
    }
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

impl TargetKind {
    /// The names of the classes; none for regression.
    pub fn classes(&self) -> &[String] {
        match self {
            TargetKind::Number => &[],
            TargetKind::Classes(classes) => classes,
        }
    }
}
