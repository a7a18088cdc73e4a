//! Our own learners as the thing to tune: a trial is a cross-validation, a piece of it the fit of
//! one fold.
//!
//! What does not depend on a configuration is done once and shared by all fits, read-only: rows are
//! read once, binned once for every `max_bin`, and cut into the same folds for every trial, so that
//! folds of two trials can be compared. A fit has one thread; many of them run side by side. Bins
//! are made from all rows of the tuning part, their targets unseen, so the rows of a fold help to
//! place the boundaries that it is then predicted with; the outer holdout does not. That moves the
//! loss of a fold of few rows, up or down, but does not flatter it (`bench/fold_edges.py`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use swarmwood_learn::data::Chunk;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::event::Flow;
use swarmwood_learn::pool::Pool;
use swarmwood_search::{Point, Space, rng};

use super::native_space;
use super::objective::{Objective, Piece, Proposal};
use super::score::Score;
use crate::checkpoint::Identity;
use crate::params::{Booster, Checked, Method, Params};
use crate::read::Rows;
use crate::train::fold::{self, FoldFit};
use crate::train::{Aids, train_with};
use crate::{Error, Result, evaluate};

/// One part in so many validates where there is a single split.
const SINGLE: usize = 4;

/// What every trial of a tuning has in common.
#[derive(Debug, Clone)]
pub struct Common {
    /// Parameters that are not tuned; tuned ones override them.
    pub params: Params,
    /// What configurations are judged by.
    pub score: Score,
    /// Folds of the cross-validation; 1 is a single split, a quarter of the rows for validation.
    pub folds: usize,
    /// Threads for what is done once; 0 is one a core.
    pub threads: usize,
}

/// Our own learners on rows that are read once.
pub struct Native {
    rows: Rows,
    common: Common,
    space: Space,
    /// The fold of each row.
    folds: Vec<usize>,
    /// By `max_bin`.
    binned: Mutex<BTreeMap<usize, Arc<Binned>>>,
    values: OnceLock<std::result::Result<Vec<(Chunk, Chunk)>, String>>,
    parts: OnceLock<Vec<(Rows, Rows)>>,
}

/// For each fold the binned rows outside of it and in it.
type Binned = Vec<(Dataset, Dataset)>;

impl Native {
    /// Checks the space against the table of parameters, cuts the rows into folds and bins them.
    ///
    /// ```
    /// use swarmwood::params::{Method, Params};
    /// use swarmwood::read::{self, ReadOptions, Source};
    /// use swarmwood::search::{Param, Space};
    /// use swarmwood::tune::{Common, Native, Objective, Proposal, Score};
    ///
    /// let csv = b"x,y\n1,1\n2,1\n3,1\n4,1\n5,9\n6,9\n7,9\n8,9\n";
    /// let options = ReadOptions { target: "y".into(), task: read::TaskChoice::Regression, ..ReadOptions::default() };
    /// let rows = read::training(&Source::Bytes("step.csv".into(), csv), &options)?;
    /// let space = Space::new(vec![Param::list("learning_rate", &[0.01, 1.0])]).unwrap();
    /// let score = Score::named("rmse", &rows.schema.target.kind)?;
    /// let params = Params { lambda: 0.0, ..Params::of(Method::Greedy) };
    /// let native = Native::new(rows, Common { params, score, folds: 2, threads: 1 }, &space)?;
    /// let loss = |number| {
    ///     let point = space.nth(number).unwrap();
    ///     native.piece(&Proposal { id: 0, space: &space, point: &point }, 0, &|| false).unwrap().loss
    /// };
    /// assert!(loss(1) < loss(0));
    /// # Ok::<(), swarmwood::Error>(())
    /// ```
    pub fn new(rows: Rows, common: Common, space: &Space) -> Result<Native> {
        native_space::check(space, &common.params)?;
        let mut common = common;
        common.params.metric = common.score.watched();
        // Fits run side by side; threads within them would only take the cores from each other.
        common.params.threads = 1;
        if common.params.method != Method::Greedy {
            common.params.early_stopping_rounds = 0;
        }
        let cuts = if common.folds == 1 { SINGLE } else { common.folds };
        let folds = rows.folds(cuts, common.params.seed)?;
        let native = Native {
            rows,
            common,
            space: space.clone(),
            folds,
            binned: Mutex::new(BTreeMap::new()),
            values: OnceLock::new(),
            parts: OnceLock::new(),
        };
        let pool = Pool::new(native.common.threads).map_err(Error::Run)?;
        native.check_losses(&pool)?;
        if native.common.params.method == Method::Greedy {
            native.binned(&native.common.params, &pool)?;
        }
        Ok(native)
    }

    /// The rows that trials see.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The fold of each row.
    pub fn folds(&self) -> &[usize] {
        &self.folds
    }

    /// What trials have in common.
    pub fn common(&self) -> &Common {
        &self.common
    }

    /// The parameters of a configuration.
    pub fn params(&self, point: &Point) -> Result<Checked<Params>> {
        native_space::params(&self.common.params, &self.space, point)
    }

    /// Changes with everything that changes a loss: rows, folds, fixed parameters, the metric.
    pub fn fingerprint(&self) -> Result<u128> {
        let identity = Identity::of(&self.common.params, &self.rows, None)?;
        let mut text = format!("{} {}", self.common.score.name, self.common.folds);
        identity
            .parameters
            .iter()
            .for_each(|(name, value)| text.push_str(&format!("\n{name} {value}")));
        let words =
            text.bytes().map(u64::from).chain([identity.data as u64, (identity.data >> 64) as u64]);
        Ok(rng::fingerprint(words))
    }

    /// The figures of one fold.
    pub(super) fn fit(
        &self,
        params: &Checked<Params>,
        fold: usize,
        halt: &dyn Fn() -> bool,
    ) -> Result<FoldFit> {
        let pool = Pool::new(1).map_err(Error::Run)?;
        match (params.method, params.booster) {
            (Method::Greedy, Booster::Gbtree | Booster::Dart) => {
                let binned = self.binned(params, &pool)?;
                let (data, test) = &binned[fold];
                fold::fit_trees(&self.rows, (data, test), params, &pool, halt)
            }
            (Method::Greedy, Booster::Gblinear) => {
                let values = self
                    .values
                    .get_or_init(|| self.cut_values().map_err(|error| error.to_string()));
                let (data, test) = &values.as_ref().map_err(|text| Error::Run(text.clone()))?[fold];
                fold::fit_linear(&self.rows, (data, test), params, &pool, halt)
            }
            _ => self.fit_any(params, fold, halt),
        }
    }

    /// Any other method: it reads its rows as it always does.
    fn fit_any(
        &self,
        params: &Checked<Params>,
        fold: usize,
        halt: &dyn Fn() -> bool,
    ) -> Result<FoldFit> {
        let parts = self.parts.get_or_init(|| {
            let part = |fold, inside| self.rows.some(|row| (self.folds[row] == fold) == inside);
            (0..self.common.folds).map(|fold| (part(fold, false), part(fold, true))).collect()
        });
        let (data, test) = &parts[fold];
        let mut halted = false;
        let trained =
            train_with(data, None, params, &Aids { cut: true, ..Aids::default() }, &mut |_| {
                halted |= halt();
                if halted { Flow::Stop } else { Flow::Continue }
            })?;
        if halted {
            return Err(Error::Run("halted".to_string()));
        }
        let metrics = evaluate::evaluate(&trained.model, test, None, 1)?.metrics;
        Ok(FoldFit { metrics, rounds: trained.rounds })
    }

    /// The folds in bins, made when they are first asked for; whoever comes second waits.
    fn binned(&self, params: &Params, pool: &Pool) -> Result<Arc<Binned>> {
        let mut all = self.binned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binned) = all.get(&params.max_bin) {
            return Ok(binned.clone());
        }
        let data = fold::bins(&self.rows, params, pool)?;
        let fold = |fold| {
            let (test, rest): (Vec<usize>, Vec<usize>) =
                (0..self.rows.rows).partition(|&row| self.folds[row] == fold);
            (data.subset(&rest, pool), data.subset(&test, pool))
        };
        let binned = Arc::new((0..self.common.folds).map(fold).collect::<Vec<_>>());
        all.insert(params.max_bin, binned.clone());
        Ok(binned)
    }

    fn cut_values(&self) -> Result<Vec<(Chunk, Chunk)>> {
        let part =
            |fold, inside| fold::values(&self.rows.some(|row| (self.folds[row] == fold) == inside));
        (0..self.common.folds).map(|fold| Ok((part(fold, false)?, part(fold, true)?))).collect()
    }

    /// Refuses losses that the target cannot have before any trial fails by them.
    fn check_losses(&self, pool: &Pool) -> Result<()> {
        let mut target = Vec::with_capacity(self.rows.rows);
        self.rows.for_each_chunk(&mut |chunk| {
            target.extend_from_slice(&chunk.target);
            Ok(())
        })?;
        let labels = native_space::labels(&self.space, "objective");
        let mut tried = vec![self.common.params.clone()];
        for label in labels {
            let mut params = self.common.params.clone();
            params
                .set("objective", &label)
                .map_err(|violation| Error::Parameters(vec![violation]))?;
            tried.push(params);
        }
        // The fixed loss counts only where no other is chosen.
        let from = usize::from(tried.len() > 1);
        tried[from..]
            .iter()
            .try_for_each(|params| fold::check_targets(&self.rows, params, &target, pool))
    }
}

#[cfg(test)]
mod tests;

impl Objective for Native {
    fn pieces(&self) -> usize {
        self.common.folds
    }

    fn piece(
        &self,
        trial: &Proposal<'_>,
        piece: usize,
        halt: &(dyn Fn() -> bool + Sync),
    ) -> std::result::Result<Piece, String> {
        let told = |error: Error| error.to_string();
        let params =
            native_space::params(&self.common.params, trial.space, trial.point).map_err(told)?;
        let fit = self.fit(&params, piece, &|| halt()).map_err(told)?;
        let loss = self.common.score.loss(self.common.score.find(&fit.metrics)?);
        if !loss.is_finite() {
            return Err(format!("the metric {} is {loss}", self.common.score.name));
        }
        let stops = params.method == Method::Greedy && params.early_stopping_rounds > 0;
        Ok(Piece { loss, rounds: stops.then_some(fit.rounds) })
    }
}
