//! Particles on the shards of a host: some of them side by side, each in a lane of its own.

use std::ops::Range;
use std::sync::Arc;

use super::check::{check_rule, unknown};
use super::fit_state::{HostRows, check_rows, objective_of};
use super::message::{ObjectiveName, ParticleTrees, ShardReply, ShardTargets, ShardWork};
use crate::kernels::leaf_values::LeafValues;
use crate::kernels::particle::{LEVELS, RuleTest};
use crate::metric::EvalMetric;
use crate::objective::Objective;
use crate::pool::Pool;
use crate::stats::backend::BackendError;
use crate::stats::particles::{
    ClassedGroup, ParticleRows, ParticleShard, RoundPass, RoundValues, TreeForm, TreeRows, groups,
    question,
};

/// Bytes of the lanes of a host at most; one lane there always is.
pub(super) const LANE_BYTES: usize = 1 << 28;

/// Bytes of a row in a lane, for each output: its score and its leaf.
pub(super) const ROW_BYTES: usize = 5;

/// Lanes at most.
pub(super) const MOST_LANES: usize = 256;

/// Rounds of a particle at most: more would only fill memory.
const MOST_ROUNDS: usize = 1 << 16;

/// What a fit by particles is on one host.
pub(super) struct ParticleFit {
    objective: Box<dyn Objective>,
    questions: Vec<RuleTest<u8>>,
    form: TreeForm,
    depth: usize,
    rows: Vec<Arc<ParticleRows<u8>>>,
    /// Lane after lane, shard after shard.
    lanes: Vec<Vec<ParticleShard<u8>>>,
    /// Rounds whose leaves are known.
    rounds: usize,
    /// Whether the scores hold all rounds.
    finished: bool,
    /// The rows before the tree whose rules are to be replaced.
    tree: Vec<TreeRows>,
    /// Columns as the rules see them; made when replacements are asked for.
    classed: Vec<ClassedGroup<u8>>,
}

impl ParticleFit {
    /// Begins a fit.
    pub fn open(
        rows: &HostRows,
        name: &ObjectiveName,
        start: &[f32],
        trees: &ParticleTrees,
        targets: Vec<ShardTargets>,
        pool: &Pool,
    ) -> Result<ParticleFit, BackendError> {
        let objective = objective_of(name)?;
        check_rows(rows, &*objective, name, start, &targets)?;
        if !(1..=LEVELS).contains(&trees.depth) {
            return Err(unknown("OpenParticles", "level", trees.depth));
        }
        for rule in &trees.rules {
            check_rule(&rows.layout, rule, "OpenParticles")?;
        }
        let questions = trees.rules.iter().map(|rule| question(&rows.layout, rule)).collect();
        let made = pool.map(targets.len(), |at| {
            let ShardTargets { target, weight, .. } = targets[at].clone();
            let binned = rows.shards[at].clone();
            Arc::new(ParticleRows::new(binned, target, weight, start, &*objective))
        });
        Ok(ParticleFit {
            objective,
            questions,
            form: if trees.is_free { TreeForm::Free } else { TreeForm::Oblivious },
            depth: trees.depth,
            rows: made,
            lanes: Vec::new(),
            rounds: 0,
            finished: false,
            tree: Vec::new(),
            classed: Vec::new(),
        })
    }

    /// Executes work on the shards.
    pub fn execute(
        &mut self,
        rows: &HostRows,
        work: &ShardWork,
        pool: &Pool,
    ) -> Result<ShardReply, BackendError> {
        match work {
            ShardWork::BeginParticles { lanes } => self.begin(*lanes)?,
            ShardWork::ParticleRound { round, rules, values } => {
                return self.round(*round, rules, values, pool);
            }
            ShardWork::ParticleResiduals { start } => return self.residuals(*start),
            ShardWork::ParticleFinish { values, metric } => {
                return self.finish(values, *metric, pool);
            }
            ShardWork::MeasureParticles { metric } => return self.measure(*metric, pool),
            ShardWork::ParticleScores {} => {
                let lane = self.lanes.first().filter(|_| self.finished);
                let lane = lane.ok_or_else(|| unknown("ParticleScores", "lane", 0))?;
                let shards = lane.iter().map(|part| part.scores().to_vec()).collect();
                return Ok(ShardReply::Scores { shards });
            }
            ShardWork::ParticleTree { rules, values, output } => {
                self.set_tree(rows, rules, values, *output, pool)?;
            }
            ShardWork::ParticleCells { groups } => {
                return self.cells(groups[0]..groups[1], pool);
            }
            _ => return Err(BackendError::Unsupported { work: work.name() }),
        }
        Ok(ShardReply::Done {})
    }

    fn outputs(&self) -> usize {
        self.objective.outputs()
    }

    /// Makes lanes for so many particles.
    fn begin(&mut self, lanes: usize) -> Result<(), BackendError> {
        let outputs = self.outputs();
        let rows: usize = self.rows.iter().map(|rows| rows.binned.rows).sum();
        let bytes = lanes.saturating_mul(rows * outputs * ROW_BYTES);
        if lanes > MOST_LANES || lanes > 1 && bytes > LANE_BYTES {
            return Err(unknown("BeginParticles", "lane", lanes));
        }
        let lane = |_| {
            let part = |rows: &Arc<ParticleRows<u8>>| ParticleShard::new(rows.clone(), outputs, 1);
            self.rows.iter().map(part).collect()
        };
        if self.lanes.len() != lanes {
            self.lanes = (0..lanes).map(lane).collect();
        }
        (self.rounds, self.finished) = (0, false);
        Ok(())
    }

    /// Adds the values of the round before, and sums derivatives by leaf of a round's trees.
    fn round(
        &mut self,
        round: usize,
        rules: &[Vec<u32>],
        values: &[Vec<Vec<f32>>],
        pool: &Pool,
    ) -> Result<ShardReply, BackendError> {
        let name = "ParticleRound";
        if round != self.rounds || self.finished || round >= MOST_ROUNDS {
            return Err(unknown(name, "round", round));
        }
        if rules.len() != self.lanes.len() {
            return Err(unknown(name, "lane", rules.len()));
        }
        let questions: Vec<Vec<Vec<&RuleTest<u8>>>> = rules
            .iter()
            .map(|rules| trees_of(&self.questions, self.form.rules(self.depth), rules, name))
            .collect::<Result<_, _>>()?;
        let outputs = self.outputs();
        if let Some(trees) = questions.iter().find(|trees| trees.len() != outputs) {
            return Err(unknown(name, "tree", trees.len()));
        }
        let pending = match round {
            0 => vec![Vec::new(); self.lanes.len()],
            _ => {
                let values = self.lane_values(name, values)?.into_iter();
                values.map(|values| vec![(round - 1, values)]).collect::<Vec<_>>()
            }
        };

        let (form, leaves, objective) = (self.form, 1 << self.depth, &*self.objective);
        let mut parts: Vec<(usize, &mut ParticleShard<u8>)> = self
            .lanes
            .iter_mut()
            .enumerate()
            .flat_map(|(lane, parts)| parts.iter_mut().map(move |part| (lane, part)))
            .collect();
        pool.each(&mut parts, |_, (lane, part)| {
            let (questions, pending) = (&questions[*lane][..], &pending[*lane][..]);
            part.pass(&RoundPass { round, form, leaves, questions, pending }, objective);
        });
        self.rounds += 1;
        let shard = |at: usize| self.lanes.iter().map(|parts| parts[at].sums.clone()).collect();
        Ok(ShardReply::ParticleSums { shards: (0..self.rows.len()).map(shard).collect() })
    }

    /// Residuals by leaf of the latest round.
    fn residuals(&self, start: f32) -> Result<ShardReply, BackendError> {
        let Some(round) = self.rounds.checked_sub(1).filter(|_| self.outputs() == 1) else {
            return Err(unknown("ParticleResiduals", "round", self.rounds));
        };
        let of_part = |part: &ParticleShard<u8>| {
            let mut residuals = vec![Vec::new(); 1 << self.depth];
            part.residuals(round, start, &mut residuals);
            let plain = |leaf: Vec<(f32, f32)>| leaf.into_iter().map(|(r, w)| [r, w]).collect();
            residuals.into_iter().map(plain).collect()
        };
        let shard = |at: usize| self.lanes.iter().map(|parts| of_part(&parts[at])).collect();
        Ok(ShardReply::ParticleResiduals { shards: (0..self.rows.len()).map(shard).collect() })
    }

    /// Adds the values of the last round and measures.
    fn finish(
        &mut self,
        values: &[Vec<Vec<f32>>],
        metric: EvalMetric,
        pool: &Pool,
    ) -> Result<ShardReply, BackendError> {
        let name = "ParticleFinish";
        self.check_metric(name, metric)?;
        let Some(round) = self.rounds.checked_sub(1).filter(|_| !self.finished) else {
            return Err(unknown(name, "round", self.rounds));
        };
        let values = self.lane_values(name, values)?;
        let objective = &*self.objective;
        let mut parts: Vec<(&RoundValues, &mut ParticleShard<u8>)> = self
            .lanes
            .iter_mut()
            .zip(&values)
            .flat_map(|(parts, values)| parts.iter_mut().map(move |part| (values, part)))
            .collect();
        pool.each(&mut parts, |_, (values, part)| part.finish(round, values, metric, objective));
        self.finished = true;
        let shard = |at: usize| self.lanes.iter().map(|parts| parts[at].measured).collect();
        Ok(ShardReply::ParticleNumbers { shards: (0..self.rows.len()).map(shard).collect() })
    }

    /// Another metric of the particles that were finished.
    fn measure(&self, metric: EvalMetric, pool: &Pool) -> Result<ShardReply, BackendError> {
        self.check_metric("MeasureParticles", metric)?;
        if !self.finished {
            return Err(unknown("MeasureParticles", "round", self.rounds));
        }
        let objective = &*self.objective;
        let of_shard = |at: usize| {
            self.lanes.iter().map(|parts| parts[at].measure(metric, objective)).collect()
        };
        Ok(ShardReply::ParticleNumbers { shards: pool.map(self.rows.len(), of_shard) })
    }

    /// Looks at the rows before a tree whose rules are to be replaced. `rules` are those of all
    /// trees up to the end of its round, `values` those of the rounds before.
    fn set_tree(
        &mut self,
        rows: &HostRows,
        rules: &[u32],
        values: &[Vec<Vec<f32>>],
        output: usize,
        pool: &Pool,
    ) -> Result<(), BackendError> {
        let name = "ParticleTree";
        if output >= self.outputs() || self.form != TreeForm::Oblivious {
            return Err(unknown(name, "output", output));
        }
        let trees = trees_of(&self.questions, self.depth, rules, name)?;
        let rounds = values.len();
        if rounds >= MOST_ROUNDS || trees.len() != (rounds + 1) * self.outputs() {
            return Err(unknown(name, "tree", trees.len()));
        }
        let before: Vec<RoundValues> = values
            .iter()
            .map(|values| self.round_values(name, values))
            .collect::<Result<_, _>>()?;
        let objective = &*self.objective;
        self.tree = pool.map(self.rows.len(), |at| {
            TreeRows::new(&self.rows[at], &trees, &before, output, objective)
        });
        if self.classed.is_empty() {
            let columns = rows.layout.columns();
            let codes = |column: usize| columns[column].codes;
            self.classed = groups(&self.questions, codes, &self.rows, pool);
        }
        Ok(())
    }

    /// Sums by cell and joint class of some groups of columns.
    fn cells(&self, range: Range<usize>, pool: &Pool) -> Result<ShardReply, BackendError> {
        let known = range.start <= range.end && !self.tree.is_empty();
        let Some(groups) = self.classed.get(range.clone()).filter(|_| known) else {
            return Err(unknown("ParticleCells", "group", range.end));
        };
        let cells = 1 << self.depth;
        let shards = pool.map(self.tree.len(), |at| {
            let sums = |group: &ClassedGroup<u8>| {
                self.tree[at].sums(cells, group.classes, &group.rows[at])
            };
            groups.iter().map(sums).collect()
        });
        Ok(ShardReply::ParticleCells { shards })
    }

    fn check_metric(&self, work: &'static str, metric: EvalMetric) -> Result<(), BackendError> {
        let suits = !metric.takes_all_rows() && metric.suits(&*self.objective).is_ok();
        if suits { Ok(()) } else { Err(unknown(work, "metric", 0)) }
    }

    /// Leaf values of one round by lane.
    fn lane_values(
        &self,
        work: &'static str,
        values: &[Vec<Vec<f32>>],
    ) -> Result<Vec<RoundValues>, BackendError> {
        if values.len() != self.lanes.len() {
            return Err(unknown(work, "lane", values.len()));
        }
        values.iter().map(|values| self.round_values(work, values)).collect()
    }

    fn round_values(
        &self,
        work: &'static str,
        values: &[Vec<f32>],
    ) -> Result<RoundValues, BackendError> {
        let is_whole = values.iter().all(|values| values.len() == 1 << self.depth);
        if values.len() != self.outputs() || !is_whole {
            return Err(unknown(work, "tree", values.len()));
        }
        Ok(values.iter().map(|values| LeafValues::new(values.iter().copied())).collect())
    }
}

/// The rules of trees, which take `each` numbers.
fn trees_of<'q>(
    questions: &'q [RuleTest<u8>],
    each: usize,
    rules: &[u32],
    work: &'static str,
) -> Result<Vec<Vec<&'q RuleTest<u8>>>, BackendError> {
    if !rules.len().is_multiple_of(each) {
        return Err(unknown(work, "position", rules.len()));
    }
    let rule = |&index: &u32| {
        questions.get(index as usize).ok_or_else(|| unknown(work, "rule", index as usize))
    };
    rules.chunks_exact(each).map(|tree| tree.iter().map(rule).collect()).collect()
}
