//! Out-of-fold predictions: the score that candidates are compared by, and the factor on raw scores
//! that calibrates class probabilities.

use swarmwood_model::Link;
use swarmwood_search::{Datum, Error};

use crate::context::Context;
use crate::pool::even_ranges;

/// Raw scores of held-out rows, with their targets.
#[derive(Debug, Clone, Default)]
pub struct OutOfFold {
    /// Raw scores, row after row, one per output.
    pub raw: Vec<f64>,
    /// Targets.
    pub target: Vec<f64>,
    /// Weights; empty if every row weighs one.
    pub weight: Vec<f64>,
    /// The weighted sum of the objective's losses.
    pub loss: f64,
    /// The weighted sum of squared errors of the prediction.
    pub squares: f64,
}

impl OutOfFold {
    fn weight(&self, row: usize) -> f64 {
        self.weight.get(row).copied().unwrap_or(1.0)
    }

    /// Sum of weights.
    pub fn weights(&self) -> f64 {
        if self.weight.is_empty() { self.target.len() as f64 } else { self.weight.iter().sum() }
    }

    /// Raw scores of a row, one per output.
    fn outputs(&self, row: usize) -> &[f64] {
        let outputs = self.raw.len() / self.target.len().max(1);
        &self.raw[row * outputs..(row + 1) * outputs]
    }

    /// The probability of a row's own class, when raw scores are multiplied by `factor`.
    fn probability(&self, row: usize, link: Link, factor: f64) -> f64 {
        match link {
            Link::Softmax => {
                SoftmaxRow::new(self.outputs(row), factor).probability(self.target[row] as usize)
            }
            _ => 1.0 - self.wrong(row, factor),
        }
    }

    /// Two classes: the probability of the class that a row does not have.
    fn wrong(&self, row: usize, factor: f64) -> f64 {
        let raw = self.raw[row];
        let signed = if self.target[row] > 0.5 { raw } else { -raw } * factor;
        1.0 / (1.0 + signed.exp())
    }

    /// The sum of the log losses of all rows, or `None` if the run is interrupted. Terms are computed
    /// in parallel and added in the order of the rows.
    fn log_loss(&self, link: Link, factor: f64, context: Context<'_>) -> Option<f64> {
        let blocks = even_ranges(self.target.len(), self.target.len().div_ceil(BLOCK));
        let term = |row: usize| {
            -self.weight(row) * self.probability(row, link, factor).max(LEAST_PROBABILITY).ln()
        };
        let terms = context.pool.map(blocks.len(), |at| {
            if context.budget.is_interrupted() {
                return Vec::new();
            }
            blocks[at].clone().map(term).collect::<Vec<f64>>()
        });
        (!context.budget.is_interrupted()).then(|| terms.iter().flatten().sum::<f64>())
    }

    /// The score of a fold; `None` if the run is interrupted. `link` is that of classes.
    pub fn score(&self, link: Option<Link>, context: Context<'_>) -> Option<FoldScore> {
        let log_losses = match link {
            Some(link) => (0..FACTORS)
                .map(|at| self.log_loss(link, factor_at(at as f64), context))
                .collect::<Option<Vec<f64>>>()?,
            None => Vec::new(),
        };
        Some(FoldScore {
            weight: self.weights(),
            loss: self.loss,
            squares: self.squares,
            correct: link.map_or(0.0, |link| self.correct(link)),
            log_losses,
        })
    }

    /// The weight of all rows whose class is predicted. Of equal scores the first class is.
    fn correct(&self, link: Link) -> f64 {
        let predicted = |row: usize| match link {
            Link::Softmax => {
                let raw = self.outputs(row);
                let higher =
                    |best: usize, class: usize| if raw[class] > raw[best] { class } else { best };
                (0..raw.len()).reduce(higher).unwrap_or(0)
            }
            _ => usize::from(self.raw[row] > 0.0),
        };
        let is_correct = |row: &usize| predicted(*row) == self.target[*row] as usize;
        (0..self.target.len()).filter(is_correct).map(|row| self.weight(row)).sum()
    }
}

/// What the held-out rows of a fold say about a candidate. Scores of several folds are added up.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldScore {
    /// Sum of weights.
    pub weight: f64,
    /// The weighted sum of the objective's losses.
    pub loss: f64,
    /// The weighted sum of squared errors of the prediction.
    pub squares: f64,
    /// For classes: the weight of all rows whose class is predicted.
    correct: f64,
    /// For classes: the weighted sum of log losses, for each of a series of factors on raw scores.
    log_losses: Vec<f64>,
}

impl FoldScore {
    /// The sum of several folds; `None` without any.
    pub fn sum(folds: &[FoldScore]) -> Option<FoldScore> {
        let add = |mut sum: FoldScore, more: &FoldScore| {
            sum.weight += more.weight;
            sum.loss += more.loss;
            sum.squares += more.squares;
            sum.correct += more.correct;
            sum.log_losses.iter_mut().zip(&more.log_losses).for_each(|(sum, more)| *sum += more);
            sum
        };
        let (first, rest) = folds.split_first()?;
        Some(rest.iter().fold(first.clone(), add))
    }

    /// The mean loss; for classes the mean log loss after calibration.
    pub fn score(&self) -> f64 {
        if self.log_losses.is_empty() {
            return self.loss / self.weight;
        }
        self.minimum().1 / self.weight
    }

    /// The standard error of the score over folds; `None` with fewer than two.
    pub fn deviation(folds: &[FoldScore]) -> Option<f64> {
        let at = FoldScore::sum(folds).filter(|sum| !sum.log_losses.is_empty());
        let at = at.map(|sum| sum.minimum().0.round() as usize);
        let of_fold =
            |fold: &FoldScore| at.map_or(fold.loss, |at| fold.log_losses[at]) / fold.weight;
        standard_error(folds, of_fold)
    }

    /// The metrics of some folds: the log loss after calibration and the accuracy of classes, the
    /// root mean squared error of numbers.
    pub fn metrics(folds: &[FoldScore]) -> Vec<CrossValidatedMetric> {
        let Some(sum) = FoldScore::sum(folds) else { return Vec::new() };
        let metric =
            |name, mean: f64, standard_error| CrossValidatedMetric { name, mean, standard_error };
        if sum.log_losses.is_empty() {
            let rmse = |fold: &FoldScore| (fold.squares / fold.weight).sqrt();
            return vec![metric("rmse", rmse(&sum), standard_error(folds, rmse))];
        }
        let accuracy = |fold: &FoldScore| fold.correct / fold.weight;
        vec![
            metric("logloss", sum.score(), FoldScore::deviation(folds)),
            metric("accuracy", accuracy(&sum), standard_error(folds, accuracy)),
        ]
    }

    /// The factor on raw scores that minimises the log loss; 1 for numbers.
    pub fn factor(&self) -> f64 {
        if self.log_losses.is_empty() { 1.0 } else { factor_at(self.minimum().0) }
    }

    /// Where on the series of factors the log loss is least, and its value there: the lowest point of
    /// the parabola through the best factor and its neighbours, but not below zero, where a parabola may
    /// pass although no log loss does.
    fn minimum(&self) -> (f64, f64) {
        let losses = &self.log_losses;
        let lower = |best: usize, at: usize| if losses[at] < losses[best] { at } else { best };
        let best = (0..FACTORS).reduce(lower).unwrap_or(0);
        if best == 0 || best + 1 == FACTORS {
            return (best as f64, losses[best]);
        }
        let (left, middle, right) = (losses[best - 1], losses[best], losses[best + 1]);
        let (slope, bend) = ((right - left) / 2.0, right + left - 2.0 * middle);
        if bend <= 0.0 {
            return (best as f64, middle);
        }
        let step = -slope / bend;
        (best as f64 + step, (middle + slope * step + 0.5 * bend * step * step).max(0.0))
    }

    pub fn to_datum(&self) -> Datum {
        let losses = self.log_losses.iter().map(|&loss| Datum::Real(loss)).collect();
        let sums = [self.weight, self.loss, self.squares, self.correct].map(Datum::Real);
        Datum::List(sums.into_iter().chain([Datum::List(losses)]).collect())
    }

    pub fn from_datum(datum: &Datum) -> Result<Self, Error> {
        let [weight, loss, squares, correct, losses] = datum.tuple()?;
        let log_losses = losses.list()?.iter().map(Datum::real).collect::<Result<Vec<_>, _>>()?;
        let is_whole = log_losses.is_empty() || log_losses.len() == FACTORS;
        if !is_whole || !log_losses.iter().all(|loss| loss.is_finite()) {
            return Err(Error::Snapshot("holds half of a score; it is damaged".to_string()));
        }
        Ok(FoldScore {
            weight: weight.real()?,
            loss: loss.real()?,
            squares: squares.real()?,
            correct: correct.real()?,
            log_losses,
        })
    }
}

/// A metric of held-out rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossValidatedMetric {
    /// The name of the metric.
    pub name: &'static str,
    /// Its value over all held-out rows.
    pub mean: f64,
    /// The standard error over the folds; `None` with fewer than two.
    pub standard_error: Option<f64>,
}

/// The standard error of a figure over folds; `None` with fewer than two.
fn standard_error(folds: &[FoldScore], figure: impl Fn(&FoldScore) -> f64) -> Option<f64> {
    if folds.len() < 2 {
        return None;
    }
    let count = folds.len() as f64;
    let mean = folds.iter().map(&figure).sum::<f64>() / count;
    let squares: f64 = folds.iter().map(|fold| (figure(fold) - mean).powi(2)).sum();
    Some((squares / (count - 1.0) / count).sqrt())
}

/// The factor at a position in the series, which is geometric.
fn factor_at(position: f64) -> f64 {
    let share = position / (FACTORS - 1) as f64;
    (LEAST_FACTOR.ln() * (1.0 - share) + MOST_FACTOR.ln() * share).exp()
}

/// The softmax of raw scores that are multiplied by a factor.
struct SoftmaxRow<'a> {
    raw: &'a [f64],
    factor: f64,
    largest: f64,
    sum: f64,
}

impl<'a> SoftmaxRow<'a> {
    fn new(raw: &'a [f64], factor: f64) -> Self {
        let largest = raw.iter().fold(f64::NEG_INFINITY, |most, &r| most.max(r * factor));
        let sum = raw.iter().map(|r| (r * factor - largest).exp()).sum();
        SoftmaxRow { raw, factor, largest, sum }
    }

    fn probability(&self, class: usize) -> f64 {
        (self.raw[class] * self.factor - self.largest).exp() / self.sum
    }
}

/// Rows per block.
const BLOCK: usize = 4096;

/// Range of the calibrating factor.
const LEAST_FACTOR: f64 = 0.2;
const MOST_FACTOR: f64 = 5.0;

/// Factors at which the log loss is computed.
const FACTORS: usize = 33;

/// The log loss of a probability of 0 is that of this one.
const LEAST_PROBABILITY: f64 = 1e-15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::pool::Pool;
    use swarmwood_search::rng::Stream;

    #[test]
    fn a_nearly_perfect_fold_has_no_negative_log_loss() {
        let mut log_losses = vec![3.0; FACTORS];
        (log_losses[4], log_losses[5]) = (1e-16, 1.0);
        let fold = FoldScore { weight: 10.0, loss: 0.0, squares: 0.0, correct: 10.0, log_losses };
        assert_eq!(fold.score(), 0.0);
        assert!(fold.factor() > factor_at(4.0) && fold.factor() < factor_at(5.0));
    }

    #[test]
    fn the_factor_that_made_scores_overconfident_is_found() {
        let mut stream = Stream::new(1, 0, 0);
        let mut held_out = OutOfFold::default();
        for _ in 0..40_000 {
            let logit = 3.0 * stream.normal();
            let hit = stream.unit() < 1.0 / (1.0 + (-logit).exp());
            held_out.raw.push(logit * 2.5);
            held_out.target.push(f64::from(u8::from(hit)));
        }
        let (one, three, budget) =
            (Pool::new(1).unwrap(), Pool::new(3).unwrap(), Budget::unlimited());
        let context = Context { pool: &one, budget: &budget };
        let found = held_out.score(Some(Link::Sigmoid), context).unwrap();
        assert!((found.factor() * 2.5 - 1.0).abs() < 0.03, "{}", found.factor());
        let exact = held_out.log_loss(Link::Sigmoid, found.factor(), context).unwrap();
        assert!((found.score() - exact / 40_000.0).abs() < 1e-5, "{}", found.score());
        assert_eq!(FoldScore::from_datum(&found.to_datum()), Ok(found.clone()));

        let metrics = FoldScore::metrics(&[found.clone(), found.clone()]);
        let right = |(raw, target): (&f64, &f64)| (*raw > 0.0) == (*target > 0.5);
        let hits = held_out.raw.iter().zip(&held_out.target).filter(|&one| right(one)).count();
        assert_eq!(metrics[0].mean, found.score());
        assert_eq!(metrics[1].mean, hits as f64 / 40_000.0);
        assert_eq!(metrics[1].standard_error, Some(0.0));

        let on_three = Context { pool: &three, budget: &budget };
        assert_eq!(held_out.score(Some(Link::Sigmoid), on_three), Some(found));
        budget.cancel();
        assert_eq!(held_out.score(Some(Link::Sigmoid), context), None);
    }

    #[test]
    fn two_classes_score_alike_as_one_output_and_as_two() {
        let raw = [0.3, -1.2, 2.0, 0.1];
        let target = vec![1.0, 0.0, 0.0, 1.0];
        let one = OutOfFold { raw: raw.to_vec(), target: target.clone(), ..OutOfFold::default() };
        let two = OutOfFold {
            raw: raw.iter().flat_map(|&r| [0.0, r]).collect(),
            target,
            ..OutOfFold::default()
        };
        let (pool, budget) = (Pool::new(1).unwrap(), Budget::unlimited());
        let context = Context { pool: &pool, budget: &budget };
        let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-12;
        assert!(close(
            one.log_loss(Link::Sigmoid, 1.7, context),
            two.log_loss(Link::Softmax, 1.7, context)
        ));
    }
}
