//! The parameter `objective`: `auto`, or one of the objectives by its description.

use std::fmt;

use swarmwood_learn::objective::{OBJECTIVES, ObjectiveSpec};

use super::value::{ParamChoice, ParamType};

/// The loss that training minimises.
#[derive(Clone, Copy)]
pub enum ObjectiveChoice {
    /// What fits the target.
    Auto,
    /// This one, which need not be one of the library's.
    Is(&'static ObjectiveSpec),
}

impl ObjectiveChoice {
    /// Every value, in the order of the help.
    pub const ALL: &'static [ObjectiveChoice] = &{
        let mut all = [ObjectiveChoice::Auto; OBJECTIVES.len() + 1];
        let mut at = 0;
        while at < OBJECTIVES.len() {
            all[at + 1] = ObjectiveChoice::Is(OBJECTIVES[at]);
            at += 1;
        }
        all
    };

    /// Names and meanings, in the same order.
    pub const CHOICES: &'static [ParamChoice] = &{
        let auto = "squared for numbers, logistic for two classes, softmax for more";
        let mut all = [ParamChoice { name: "auto", help: auto }; OBJECTIVES.len() + 1];
        let mut at = 0;
        while at < OBJECTIVES.len() {
            let ObjectiveSpec { name, help, .. } = *OBJECTIVES[at];
            all[at + 1] = ParamChoice { name, help };
            at += 1;
        }
        all
    };

    /// The value of that name; `-` and `_` are the same.
    pub fn named(name: &str) -> Option<ObjectiveChoice> {
        let same = |known: &str| known == name || known == name.replace('_', "-");
        ObjectiveChoice::ALL.iter().copied().find(|choice| same(choice.name()))
    }

    /// The name users say.
    pub fn name(self) -> &'static str {
        match self {
            ObjectiveChoice::Auto => "auto",
            ObjectiveChoice::Is(spec) => spec.name,
        }
    }
}

impl PartialEq for ObjectiveChoice {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for ObjectiveChoice {}

impl fmt::Debug for ObjectiveChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectiveChoice({})", self.name())
    }
}

impl ParamType for ObjectiveChoice {
    fn read(text: &str) -> Option<Self> {
        ObjectiveChoice::named(text)
    }
    fn show(&self) -> String {
        self.name().to_string()
    }
}
