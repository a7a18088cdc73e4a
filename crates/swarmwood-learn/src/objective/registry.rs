//! The list of objectives: what users can name, and how each is made.

use super::{
    Absolute, Cut, Huber, Logistic, Objective, Poisson, Quantile, Softmax, Squared, SquaredLog,
};

/// An objective with its parameters, as plain data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spec {
    /// [`Squared`].
    Squared,
    /// [`SquaredLog`].
    SquaredLog,
    /// [`Absolute`].
    Absolute,
    /// [`Huber`].
    Huber {
        /// Where the loss turns from squared to absolute.
        delta: f64,
    },
    /// [`Quantile`].
    Quantile {
        /// Which quantile.
        alpha: f64,
    },
    /// [`Poisson`].
    Poisson,
    /// [`Logistic`].
    Logistic,
    /// [`Softmax`].
    Softmax {
        /// Number of classes.
        classes: usize,
    },
    /// [`Cut`]; no name leads here, because nobody asks for it but a tuning of losses of numbers on
    /// two classes.
    Cut {
        /// Whether the number is taken as `ln(1 + y)`.
        log: bool,
    },
}

/// The names users say, in the order of [`Spec`] as far as they have one.
pub const NAMES: [&str; 8] =
    ["squared", "squared-log", "absolute", "huber", "quantile", "poisson", "logistic", "softmax"];

impl Spec {
    /// The objective of that name, with the parameters it has use for; `None` if there is no such
    /// name.
    ///
    /// ```
    /// use swarmwood_learn::objective::Spec;
    /// assert_eq!(Spec::named("huber", 1.5, 0.5, 0), Some(Spec::Huber { delta: 1.5 }));
    /// assert_eq!(Spec::named("cosine", 1.5, 0.5, 0), None);
    /// ```
    pub fn named(name: &str, delta: f64, alpha: f64, classes: usize) -> Option<Spec> {
        Some(match name {
            "squared" => Spec::Squared,
            "squared-log" => Spec::SquaredLog,
            "absolute" => Spec::Absolute,
            "huber" => Spec::Huber { delta },
            "quantile" => Spec::Quantile { alpha },
            "poisson" => Spec::Poisson,
            "logistic" => Spec::Logistic,
            "softmax" => Spec::Softmax { classes },
            _ => return None,
        })
    }

    /// Whether the target is a class.
    pub fn is_classification(&self) -> bool {
        matches!(self, Spec::Logistic | Spec::Softmax { .. } | Spec::Cut { .. })
    }

    /// Whether the parameters are in range; the message says what is allowed.
    pub fn check(&self) -> Result<(), &'static str> {
        match *self {
            Spec::Huber { delta } if !(delta > 0.0 && delta.is_finite()) => {
                Err("the delta of the huber loss must be a finite number greater than 0")
            }
            Spec::Quantile { alpha } if !(alpha > 0.0 && alpha < 1.0) => {
                Err("the quantile must lie between 0 and 1, both excluded")
            }
            Spec::Softmax { classes } if classes < 2 => {
                Err("the softmax loss needs at least two classes")
            }
            _ => Ok(()),
        }
    }
}

/// The objective of a spec, whose parameters should have passed [`Spec::check`].
///
/// ```
/// use swarmwood_learn::objective::{Spec, make};
/// let objective = make(&Spec::Logistic);
/// // One row of the second class at a probability of one half.
/// let (mut g, mut h) = ([0.0], [0.0]);
/// objective.derivatives(&[0.0], &[1.0], &[], &mut g, &mut h);
/// assert_eq!((g, h), ([-0.5], [0.25]));
/// assert!((objective.loss(&[0.0], &[1.0], &[]) - 2f64.ln()).abs() < 1e-7);
/// ```
pub fn make(spec: &Spec) -> Box<dyn Objective> {
    match *spec {
        Spec::Squared => Box::new(Squared),
        Spec::SquaredLog => Box::new(SquaredLog),
        Spec::Absolute => Box::new(Absolute),
        Spec::Huber { delta } => Box::new(Huber { delta }),
        Spec::Quantile { alpha } => Box::new(Quantile { alpha }),
        Spec::Poisson => Box::new(Poisson),
        Spec::Logistic => Box::new(Logistic),
        Spec::Softmax { classes } => Box::new(Softmax { classes }),
        Spec::Cut { log } => Box::new(Cut { log }),
    }
}
