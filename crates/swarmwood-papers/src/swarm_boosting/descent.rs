//! Local search from the best particle: single rules are replaced as long as that makes it better.
//!
//! The published swarm moves by copying values that other particles hold, so a rule that no
//! particle holds any more never comes back (the paper's limitation 2). Here the trees are visited
//! one after the other. For each, the gains of all replacements of one of its rules are read from
//! one table ([`crate::particle::Replacements`]), those that promise most are evaluated, and the
//! best takes the particle's place if its fitness is better. The search is over when a visit to
//! every tree in a row brought nothing. It draws no random numbers: a run that is interrupted here
//! begins it again from the same particle and ends with the same one.

use crate::particle::{Evaluator, ParticleError};

/// Replacements of a tree that are evaluated in one visit. The gains are exact for the squared loss
/// and the last tree alone, so that the best is not always the first.
const TRIED: usize = 16;

/// A local search under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LocalSearch {
    /// The best particle so far.
    pub(super) sequence: Vec<u32>,
    /// The value that is minimised.
    pub(super) cost: f64,
    /// Rules replaced so far.
    pub(super) replaced: usize,
    /// Particles evaluated so far.
    pub(super) evaluations: u64,
    /// Visits so far.
    pub(super) visits: usize,
    /// The tree to visit next.
    tree: usize,
    /// Visits in a row that brought nothing.
    idle: usize,
}

impl LocalSearch {
    /// A search that starts at a particle.
    pub(super) fn from(sequence: Vec<u32>, cost: f64) -> Self {
        LocalSearch { sequence, cost, replaced: 0, evaluations: 0, visits: 0, tree: 0, idle: 0 }
    }

    /// Visits a tree; `false` if the search was over.
    pub(super) fn visit(&mut self, evaluator: &mut Evaluator<'_>) -> Result<bool, ParticleError> {
        let trees = evaluator.trees();
        if self.idle >= trees || evaluator.is_interrupted() {
            return Ok(false);
        }
        let replacements = evaluator.replacements(&self.sequence, self.tree)?.best(TRIED);
        let replaced = |replacement: &crate::particle::Replacement| {
            let mut sequence = self.sequence.clone();
            sequence[replacement.position] = replacement.rule;
            sequence
        };
        let mut sequences: Vec<Vec<u32>> = replacements.iter().map(replaced).collect();
        let found = evaluator.fitness_of_all(&sequences)?;
        self.visits += 1;
        self.evaluations += found.iter().flatten().count() as u64;
        let costs = found.into_iter().map(|found| found.map_or(f64::INFINITY, |found| found.cost));
        // Of equal ones the first, which promised most.
        let better = costs.enumerate().filter(|(_, cost)| *cost < self.cost);
        match better.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((at, cost)) => {
                (self.sequence, self.cost) = (sequences.swap_remove(at), cost);
                self.replaced += 1;
                self.idle = 0;
            }
            None => {
                self.tree = (self.tree + 1) % trees;
                self.idle += 1;
            }
        }
        Ok(true)
    }
}
