//! The columns of the table: defaults that depend on the method, and values that depend on the
//! data.
//!
//! A parameter has one default in its line of the table. A method that wants others has an arm in
//! [`Params::of`], which is its column; help, documents and [`Gather`](super::Gather) follow from
//! it. What depends on the data is `auto` until [`Params::resolve`] has seen the target, so that
//! reports and models tell the value that was used.

use swarmwood_model::TargetKind;

use super::table::{Criterion, FitnessChoice, Growth, Method, Params};
use super::value::Auto;

impl Default for Params {
    fn default() -> Self {
        Params::of(Params::of_table().method)
    }
}

impl Params {
    /// The defaults of a method.
    ///
    /// ```
    /// use swarmwood::params::{Method, Params};
    /// assert_eq!(Params::of(Method::Greedy).trees, 100);
    /// assert_eq!(Params::of(Method::Sgbdt).trees, 6);
    /// ```
    pub fn of(method: Method) -> Params {
        let base = Params { method, ..Params::of_table() };
        match method {
            Method::Greedy => base,
            Method::Swarm => Params { trees: 6, depth: 0, max_leaves: 32, ..base },
            // Rao 2022, section 7.1; its trees have no penalty.
            Method::Sgbdt | Method::Psgbdt => Params {
                growth: Growth::Oblivious,
                trees: 6,
                depth: 5,
                learning_rate: 1.0,
                lambda: 0.0,
                ..base
            },
            Method::SgbdtBins => Params { method, max_bin: 100, ..Params::of(Method::Sgbdt) },
            Method::SwarmTree | Method::Cart => Params { depth: 0, ..base },
            // Jun, Cho, Lee 2012, section 4.
            Method::ApsoTree => Params { depth: 0, iterations: 500, ..base },
            Method::TsoTree => Params { depth: 3, iterations: 200, ..base },
            // The model before is that of psgbdt.
            Method::SplitTree => Params { trees: 6, depth: 4, learning_rate: 1.0, ..base },
        }
    }

    /// Gives every `auto` that the method uses its value for this target.
    ///
    /// ```
    /// use swarmwood::model::TargetKind;
    /// use swarmwood::params::{Auto, FitnessChoice, Method, Params};
    /// let params = Params::of(Method::Sgbdt).resolve(&TargetKind::Number);
    /// assert_eq!((params.population, params.fitness), (Auto::Is(200), FitnessChoice::Rmse));
    /// ```
    #[must_use]
    pub fn resolve(self, target: &TargetKind) -> Params {
        match self.method {
            Method::Swarm => return self,
            Method::Greedy if self.growth == Growth::Auto => {
                return Params { growth: Growth::Depth, ..self };
            }
            Method::Greedy => return self,
            Method::SwarmTree | Method::Cart => return self.resolve_tree(target),
            Method::ApsoTree | Method::TsoTree | Method::SplitTree => {
                return self.resolve_tree(target).resolve_flown();
            }
            Method::Sgbdt | Method::SgbdtBins | Method::Psgbdt => {}
        }
        let (population, fitness) = match target {
            TargetKind::Number => (200, FitnessChoice::Rmse),
            TargetKind::Classes(_) => (50, FitnessChoice::Accuracy),
        };
        Params {
            population: Auto::Is(self.population.unwrap_or(population)),
            growth: if self.growth == Growth::Auto { Growth::Oblivious } else { self.growth },
            fitness: if self.fitness == FitnessChoice::Auto { fitness } else { self.fitness },
            ..self
        }
    }

    fn resolve_tree(self, target: &TargetKind) -> Params {
        let criterion = match (self.criterion, target, self.method) {
            (Criterion::Auto, TargetKind::Number, _) => Criterion::Squared,
            (Criterion::Auto, TargetKind::Classes(_), Method::SwarmTree) => Criterion::Mix,
            (Criterion::Auto, TargetKind::Classes(_), _) => Criterion::Gini,
            (said, _, _) => said,
        };
        let population = match self.method {
            Method::SwarmTree => Auto::Is(self.population.unwrap_or(4)),
            _ => self.population,
        };
        let guard = match self.method {
            Method::SwarmTree => Auto::Is(
                self.guard
                    .unwrap_or(self.criterion == Criterion::Auto && *target != TargetKind::Number),
            ),
            _ => self.guard,
        };
        let min_leaf = Auto::Is(self.min_leaf.unwrap_or(match (self.method, target) {
            (Method::SwarmTree, TargetKind::Classes(_)) => 5,
            (Method::SwarmTree, TargetKind::Number) => 20,
            _ => 1,
        }));
        Params { criterion, population, guard, min_leaf, ..self }
    }

    /// Swarms over one tree decide between classes.
    fn resolve_flown(self) -> Params {
        let population = if self.method == Method::ApsoTree { 100 } else { 50 };
        let fitness = if self.fitness == FitnessChoice::Auto {
            FitnessChoice::Accuracy
        } else {
            self.fitness
        };
        Params { population: Auto::Is(self.population.unwrap_or(population)), fitness, ..self }
    }
}
