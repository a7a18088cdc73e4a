//! The types of parameters: how their values are read from text or typed values and written back.

use crate::message::ParamValue;

/// A type a parameter may have.
pub(super) trait ParamType: Sized {
    /// Reads a value; `None` if the text is no value of this type (its range is checked elsewhere).
    fn read(text: &str) -> Option<Self>;
    /// Converts a typed value that is not text; `None` if it is no value of this type.
    fn convert(_: &ParamValue) -> Option<Self> {
        None
    }
    /// Reads text, converts everything else.
    fn of(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::Text(text) => Self::read(text.trim()),
            value => Self::convert(value),
        }
    }
    /// Writes it so that [`ParamType::read`] gives it back.
    fn show(&self) -> String;
    /// The value as a number, if its range is to be checked.
    fn number(&self) -> Option<f64> {
        None
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl ParamType for $type {
            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn convert(value: &ParamValue) -> Option<Self> {
                match value {
                    ParamValue::Integer(number) => <$type>::try_from(*number).ok(),
                    _ => None,
                }
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        }
    )*};
}

whole_numbers!(usize, u64);

impl ParamType for f64 {
    fn read(text: &str) -> Option<Self> {
        // `nan` and `inf` are numbers to Rust but never to a parameter.
        text.parse::<f64>().ok().filter(|value| value.is_finite())
    }
    fn convert(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::Integer(number) => Some(*number as f64),
            ParamValue::Real(number) => Some(*number).filter(|value| value.is_finite()),
            _ => None,
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl ParamType for bool {
    fn read(text: &str) -> Option<Self> {
        match text {
            "true" | "on" | "yes" | "1" => Some(true),
            "false" | "off" | "no" | "0" => Some(false),
            _ => None,
        }
    }
    fn convert(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::Bool(value) => Some(*value),
            ParamValue::Integer(0) => Some(false),
            ParamValue::Integer(1) => Some(true),
            _ => None,
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// A square matrix of numbers, or none.
///
/// ```
/// use swarmwood::params::Matrix;
/// assert!(Matrix::default().rows().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix(Vec<Vec<f64>>);

impl Matrix {
    /// Its rows.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.0
    }

    /// The matrix with these rows, if it is a matrix of costs.
    fn of_rows(rows: Vec<Vec<f64>>) -> Option<Matrix> {
        let square = rows.len() > 1 && rows.iter().all(|row| row.len() == rows.len());
        (square && rows.iter().flatten().all(|&cost| cost >= 0.0)).then_some(Matrix(rows))
    }
}

impl ParamType for Matrix {
    fn read(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Matrix::default());
        }
        let row = |row: &str| {
            row.split(',').map(|cell| f64::read(cell.trim())).collect::<Option<Vec<f64>>>()
        };
        Matrix::of_rows(text.split(';').map(row).collect::<Option<Vec<_>>>()?)
    }
    fn convert(value: &ParamValue) -> Option<Self> {
        let row = |row: &ParamValue| match row {
            ParamValue::List(cells) => cells.iter().map(f64::of).collect::<Option<Vec<f64>>>(),
            _ => None,
        };
        match value {
            ParamValue::List(rows) => {
                Matrix::of_rows(rows.iter().map(row).collect::<Option<Vec<_>>>()?)
            }
            _ => None,
        }
    }
    fn show(&self) -> String {
        if self.0.is_empty() {
            return "none".to_string();
        }
        let row = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        self.0.iter().map(row).collect::<Vec<_>>().join(";")
    }
}

/// A value, or `auto`: what it is then follows from the data, and
/// [`Params::resolve`](super::Params::resolve) says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auto<T> {
    /// To be found.
    #[default]
    Auto,
    /// Said by the user, or found.
    Is(T),
}

impl<T> Auto<T> {
    /// The value, or another one where it is still to be found.
    pub fn unwrap_or(self, other: T) -> T {
        match self {
            Auto::Auto => other,
            Auto::Is(value) => value,
        }
    }
}

impl<T: ParamType> ParamType for Auto<T> {
    fn read(text: &str) -> Option<Self> {
        if text == "auto" { Some(Auto::Auto) } else { T::read(text).map(Auto::Is) }
    }
    fn convert(value: &ParamValue) -> Option<Self> {
        T::convert(value).map(Auto::Is)
    }
    fn show(&self) -> String {
        match self {
            Auto::Auto => "auto".to_string(),
            Auto::Is(value) => value.show(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Auto::Auto => None,
            Auto::Is(value) => value.number(),
        }
    }
}

/// One of the words a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamChoice {
    /// The word users say.
    pub name: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
}

/// Declares an enum whose variants are the words of a parameter, each with its line of help.
macro_rules! choices {
    ($(#[doc = $about:literal])+ $type:ident {
        $($(#[doc = $help:literal])+ $variant:ident = $name:literal,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[doc = $help])+ $variant,)+
        }

        impl $type {
            /// Every value, in the order of the help.
            pub const ALL: &'static [$type] = &[$($type::$variant,)+];
            /// Names and meanings, in the same order.
            pub const CHOICES: &'static [ParamChoice] =
                &[$(ParamChoice { name: $name, help: concat!($($help),+).trim_ascii() },)+];

            /// The word users say.
            pub fn name(self) -> &'static str {
                Self::CHOICES[self as usize].name
            }
        }

        impl ParamType for $type {
            fn read(text: &str) -> Option<Self> {
                // People write `squared_log` as often as `squared-log`.
                let same = |name: &str| name == text || name == text.replace('_', "-");
                Self::ALL.iter().copied().find(|value| same(value.name()))
            }
            fn show(&self) -> String {
                self.name().to_string()
            }
        }
    };
}
pub(super) use choices;
