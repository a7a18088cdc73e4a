//! The input columns that a model expects and what it predicts.

use std::collections::HashMap;

use crate::dates::{DateColumn, DatePart};

/// The input columns in the order the model was trained with, and the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// One entry per feature; splits refer to features by position in this list.
    pub features: Vec<Feature>,
    /// What is predicted.
    pub target: Target,
    /// Input columns of dates, whose parts are features.
    pub dates: Vec<DateColumn>,
}

/// Where the values of a feature come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureSource<'a> {
    /// The input column with the name of the feature.
    Column(&'a str),
    /// A part of a date.
    Date(&'a DateColumn, DatePart),
}

impl FeatureSource<'_> {
    /// The name of the input column.
    pub fn column(&self) -> &str {
        match self {
            FeatureSource::Column(name) => name,
            FeatureSource::Date(date, _) => &date.name,
        }
    }
}

impl Schema {
    /// Where the values of each feature come from.
    pub fn sources(&self) -> Vec<FeatureSource<'_>> {
        let parts = self.dates.iter().flat_map(|date| {
            date.parts.iter().map(move |&part| (date.feature_name(part), (date, part)))
        });
        let parts: HashMap<String, (&DateColumn, DatePart)> = parts.collect();
        let features = self.features.iter();
        let sources = features.map(|feature| match parts.get(&feature.name) {
            Some(&(date, part)) => FeatureSource::Date(date, part),
            None => FeatureSource::Column(&feature.name),
        });
        sources.collect()
    }

    /// The names of the input columns, each once, in the order of their features.
    pub fn input_columns(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::with_capacity(self.features.len());
        for source in self.sources() {
            let is_new = match source {
                FeatureSource::Column(_) => true,
                FeatureSource::Date(date, part) => date.parts.first() == Some(&part),
            };
            if is_new {
                names.push(source.column().to_string());
            }
        }
        names
    }
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

/// The predicted column, or the predicted columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The column's name in the training data; the list of names, as text, if there are several.
    pub name: String,
    /// Number, numbers or classes.
    pub kind: TargetKind,
}

/// What the predicted column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetKind {
    /// Regression.
    Number,
    /// Regression of several columns, one raw output each: their names.
    Numbers(Vec<String>),
    /// Classification; with two classes the second one is the positive class.
    Classes(Vec<String>),
}

impl TargetKind {
    /// The names of the classes; none for regression.
    pub fn classes(&self) -> &[String] {
        match self {
            TargetKind::Number | TargetKind::Numbers(_) => &[],
            TargetKind::Classes(classes) => classes,
        }
    }

    /// The names of the columns of a regression of several; none otherwise.
    pub fn columns(&self) -> &[String] {
        match self {
            TargetKind::Numbers(columns) => columns,
            TargetKind::Number | TargetKind::Classes(_) => &[],
        }
    }

    /// Whether numbers are predicted.
    pub fn is_regression(&self) -> bool {
        matches!(self, TargetKind::Number | TargetKind::Numbers(_))
    }
}
