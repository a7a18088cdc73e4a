//! What every objective promises, as checks that any crate can run on its own.
//!
//! Nothing here knows a particular loss: derivatives are held against finite differences of the
//! loss, the start value and the leaf value against other constants, weights against repeated rows.

use super::order::weighted_quantile;
use super::{Curvature, Objective, OutputRows};

/// Rows to try an objective on.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// Targets as the user gives them, all in the objective's domain.
    pub target: &'a [f64],
    /// Raw scores, output after output.
    pub score: &'a [f32],
    /// Row weights; may be empty.
    pub weight: &'a [f32],
}

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{objective}: {rule}: {detail}")]
pub struct Breach {
    /// Name of the objective.
    pub objective: &'static str,
    /// The promise.
    pub rule: &'static str,
    /// Where it was broken.
    pub detail: String,
}

type Verdict = Result<(), (&'static str, String)>;

/// Checks every promise on these rows. Scores and targets should be of moderate size (below a
/// hundred or so), since differences of `f32` scores are taken.
///
/// ```
/// use swarmwood_learn::objective::{Logistic, contract};
/// let case = contract::Case { target: &[0.0, 1.0, 1.0], score: &[0.3, -2.0, 4.0], weight: &[1.0, 2.0, 0.5] };
/// contract::check(&Logistic, case)?;
/// # Ok::<(), contract::Breach>(())
/// ```
pub fn check(objective: &dyn Objective, case: Case<'_>) -> Result<(), Breach> {
    let rows = ContractRows::new(objective, case);
    domain(objective, case)
        .and_then(|()| derivatives_of_rows(&rows))
        .and_then(|()| sums_over_rows(&rows))
        .and_then(|()| pairs_agree(&rows))
        .and_then(|()| one_output_agrees(&rows))
        .and_then(|()| start_is_best(&rows, case))
        .and_then(|()| weights_repeat(&rows, case))
        .and_then(|()| shift(&rows))
        .and_then(|()| leaf_is_best(&rows))
        .map_err(|(rule, detail)| Breach { objective: objective.name(), rule, detail })
}

/// A case as the learner sees it.
struct ContractRows<'a> {
    objective: &'a dyn Objective,
    outputs: usize,
    target: Vec<f32>,
    score: &'a [f32],
    weight: &'a [f32],
}

impl<'a> ContractRows<'a> {
    fn new(objective: &'a dyn Objective, case: Case<'a>) -> Self {
        let target = case.target.iter().map(|&y| objective.transform_target(y) as f32).collect();
        ContractRows {
            objective,
            outputs: objective.outputs(),
            target,
            score: case.score,
            weight: case.weight,
        }
    }

    fn len(&self) -> usize {
        self.target.len()
    }

    fn weight_of(&self, row: usize) -> f64 {
        self.weight.get(row).map_or(1.0, |&w| f64::from(w))
    }

    fn scores_of(&self, row: usize) -> Vec<f32> {
        (0..self.outputs).map(|k| self.score[k * self.len() + row]).collect()
    }

    /// The unweighted loss of one row.
    fn loss(&self, row: usize, score: &[f32]) -> f64 {
        self.objective.loss(score, &self.target[row..=row], &[])
    }

    /// The unweighted derivatives of one row.
    fn derivatives(&self, row: usize, score: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (mut g, mut h) = (vec![0.0; self.outputs], vec![0.0; self.outputs]);
        self.objective.derivatives(score, &self.target[row..=row], &[], &mut g, &mut h);
        (g, h)
    }

    /// The summed loss of the scores moved by a constant an output.
    fn loss_moved(&self, base: &[f32], by: &[f64]) -> f64 {
        let rows = self.len();
        let score: Vec<f32> =
            base.iter().enumerate().map(|(i, s)| (f64::from(*s) + by[i / rows]) as f32).collect();
        self.objective.loss(&score, &self.target, self.weight)
    }
}

fn ensure(kept: bool, rule: &'static str, detail: impl FnOnce() -> String) -> Verdict {
    if kept { Ok(()) } else { Err((rule, detail())) }
}

/// Half-open comparison with room for `f32` rounding.
fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs() + b.abs())
}

fn domain(objective: &dyn Objective, case: Case<'_>) -> Verdict {
    for y in case.target {
        ensure(objective.check_target(*y).is_ok(), "the case's targets are allowed", || {
            format!("{y} is refused")
        })?;
        let seen = objective.transform_target(*y);
        ensure(seen.is_finite(), "transformed targets are finite", || {
            format!("{y} becomes {seen}")
        })?;
    }
    for y in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        ensure(objective.check_target(y).is_err(), "non-finite targets are refused", || {
            format!("{y} is allowed")
        })?;
    }
    Ok(())
}

/// Gradient and hessian of each row against differences of the loss and of the gradient.
fn derivatives_of_rows(rows: &ContractRows<'_>) -> Verdict {
    for row in 0..rows.len() {
        let at = rows.scores_of(row);
        let (g, h) = rows.derivatives(row, &at);
        for k in 0..rows.outputs {
            let place =
                || format!("row {row}, output {k}, score {}, target {}", at[k], rows.target[row]);
            let (g, h) = (f64::from(g[k]), f64::from(h[k]));
            ensure(
                g.is_finite() && h.is_finite() && h >= 0.0,
                "derivatives are finite, hessians not negative",
                || format!("g {g}, h {h} at {}", place()),
            )?;
            let kept = !rows.objective.constant_hessian() || h == 1.0;
            ensure(kept, "a constant hessian is the weight", || format!("h {h} at {}", place()))?;

            let step = |by: f32| {
                let mut moved = at.clone();
                moved[k] += by;
                (f64::from(moved[k]) - f64::from(at[k]), moved)
            };
            let ((right, up), (left, down)) = (step(1.0 / 32.0), step(-1.0 / 32.0));
            let (above, here, below) =
                (rows.loss(row, &up), rows.loss(row, &at), rows.loss(row, &down));
            if rows.objective.curvature() == Curvature::Weight {
                // Where the loss has a kink, any slope between those of its two sides is a
                // gradient.
                let (least, most) = ((below - here) / left, (above - here) / right);
                let kept =
                    least - 2e-3 * (1.0 + g.abs()) <= g && g <= most + 2e-3 * (1.0 + g.abs());
                ensure(kept, "the gradient is a slope of the loss", || {
                    format!("g {g} not in {least} ..= {most} at {}", place())
                })?;
                ensure(h == 1.0, "the hessian is the weight", || format!("h {h} at {}", place()))?;
                continue;
            }
            let slope = (above - below) / (right - left);
            ensure(near(g, slope, 2e-3), "the gradient is the slope of the loss", || {
                format!("g {g}, slope {slope} at {}", place())
            })?;
            let slopes = [rows.derivatives(row, &up).0[k], rows.derivatives(row, &down).0[k]];
            let bend = (f64::from(slopes[0]) - f64::from(slopes[1])) / (right - left);
            curvature_of_row(rows, row, k, (g, h, bend))
                .map_err(|(rule, what)| (rule, format!("{what} at {}", place())))?;
        }
    }
    Ok(())
}

/// The hessian of one output of one row against the bend of the gradient, or against the loss it
/// must lie above.
fn curvature_of_row(
    rows: &ContractRows<'_>,
    row: usize,
    k: usize,
    (g, h, bend): (f64, f64, f64),
) -> Verdict {
    let (factor, floor) = match rows.objective.curvature() {
        Curvature::Exact => (1.0, f64::NEG_INFINITY),
        Curvature::Scaled(factor) => (factor, f64::NEG_INFINITY),
        Curvature::Floored(floor) => (1.0, floor),
        Curvature::Weight => return Ok(()),
        Curvature::Majorant => {
            let at = rows.scores_of(row);
            let here = rows.loss(row, &at);
            for size in [0.01f32, 0.1, 1.0, 10.0, 100.0] {
                for by in [size, -size] {
                    let mut moved = at.clone();
                    moved[k] += by;
                    let by = f64::from(moved[k]) - f64::from(at[k]);
                    let (loss, parabola) =
                        (rows.loss(row, &moved), here + g * by + 0.5 * h * by * by);
                    let room = 1e-5 * (1.0 + here.abs() + loss.abs() + (g * by).abs());
                    ensure(loss <= parabola + room, "the parabola lies above the loss", || {
                        format!("loss {loss}, parabola {parabola} after a step of {by}")
                    })?;
                }
            }
            return Ok(());
        }
    };
    ensure(
        near(h, (factor * bend).max(floor), 2e-3),
        "the hessian is the slope of the gradient, times its factor",
        || format!("h {h}, slope {bend}, factor {factor}, floor {floor}"),
    )
}

/// A run of rows gives what its rows give, each times its weight.
fn sums_over_rows(rows: &ContractRows<'_>) -> Verdict {
    let n = rows.len();
    let (mut g, mut h) = (vec![0.0; n * rows.outputs], vec![0.0; n * rows.outputs]);
    rows.objective.derivatives(rows.score, &rows.target, rows.weight, &mut g, &mut h);
    let mut sum = 0.0;
    for row in 0..n {
        let (weight, score) = (rows.weight_of(row), rows.scores_of(row));
        sum += weight * rows.loss(row, &score);
        let (one_g, one_h) = rows.derivatives(row, &score);
        for k in 0..rows.outputs {
            let kept = near(f64::from(g[k * n + row]), weight * f64::from(one_g[k]), 1e-6)
                && near(f64::from(h[k * n + row]), weight * f64::from(one_h[k]), 1e-6);
            ensure(kept, "a weight multiplies a row's derivatives", || {
                format!("row {row}, output {k}")
            })?;
        }
    }
    let loss = rows.objective.loss(rows.score, &rows.target, rows.weight);
    ensure(near(loss, sum, 1e-5), "the loss is the weighted sum over rows", || {
        format!("{loss} is not {sum}")
    })
}

/// Pairs hold the same bits as separate derivatives; asked of one output alone.
fn pairs_agree(rows: &ContractRows<'_>) -> Verdict {
    let n = rows.len();
    if rows.outputs > 1 {
        return Ok(());
    }
    let (mut g, mut h, mut pairs) = (vec![0.0; n], vec![0.0; n], vec![[0.0; 2]; n]);
    rows.objective.derivatives(rows.score, &rows.target, rows.weight, &mut g, &mut h);
    rows.objective.derivative_pairs(rows.score, &rows.target, rows.weight, &mut pairs);
    let differs = (0..n).find(|&row| pairs[row] != [g[row], h[row]]);
    ensure(differs.is_none(), "pairs hold the derivatives", || {
        format!("row {}", differs.unwrap_or(0))
    })
}

/// The loss as a function of one output has the derivatives of all outputs, and their loss.
fn one_output_agrees(rows: &ContractRows<'_>) -> Verdict {
    let Some(one) = rows.objective.one_output() else { return Ok(()) };
    let n = rows.len();
    let (mut all_g, mut all_h) = (vec![0.0; n * rows.outputs], vec![0.0; n * rows.outputs]);
    rows.objective.derivatives(rows.score, &rows.target, rows.weight, &mut all_g, &mut all_h);
    let total = rows.objective.loss(rows.score, &rows.target, rows.weight);

    for output in 0..rows.outputs {
        let own = output * n..(output + 1) * n;
        let (mut others, mut g, mut h) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        one.others(output, rows.score, &mut others);
        let view = |score| OutputRows {
            score,
            others: &others,
            target: &rows.target,
            weight: rows.weight,
        };
        one.derivatives(output, view(&rows.score[own.clone()]), &mut g, &mut h);
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        let differs = (0..n).find(|&row| {
            !close(g[row], all_g[own.start + row]) || !close(h[row], all_h[own.start + row])
        });
        ensure(differs.is_none(), "one output has the derivatives of all", || {
            format!("output {output}, row {}", differs.unwrap_or(0))
        })?;

        let loss = one.loss(output, view(&rows.score[own])) + one.rest(output, view(rows.score));
        ensure(
            (loss - total).abs() <= 1e-5 * (n as f64 + total.abs()),
            "one output has the loss of all",
            || format!("output {output}: {loss} instead of {total}"),
        )?;
    }
    Ok(())
}

/// No constant near the start value, or anywhere among the targets, has a smaller loss.
fn start_is_best(rows: &ContractRows<'_>, case: Case<'_>) -> Verdict {
    let target: Vec<f64> =
        case.target.iter().map(|&y| rows.objective.transform_target(y)).collect();
    let weight: Vec<f64> = case.weight.iter().map(|&w| f64::from(w)).collect();
    let start = rows.objective.start(&target, &weight);
    ensure(start.len() == rows.outputs, "one start value an output", || {
        format!("{} values", start.len())
    })?;
    ensure(start.iter().all(|s| s.is_finite()), "start values are finite", || {
        format!("{start:?}")
    })?;

    let zero = vec![0.0; rows.score.len()];
    let best = rows.loss_moved(&zero, &start);
    let compare = |other: &[f64]| {
        let loss = rows.loss_moved(&zero, other);
        ensure(
            best <= loss + 1e-5 * (1.0 + loss.abs()),
            "the start value minimises the loss",
            || format!("{start:?} has loss {best}, {other:?} has {loss}"),
        )
    };
    for k in 0..rows.outputs {
        for size in [0.001, 0.01, 0.1, 0.5, 1.0, 5.0] {
            for by in [size, -size] {
                let mut other = start.clone();
                other[k] += by;
                compare(&other)?;
            }
        }
    }
    if rows.outputs == 1 {
        target.iter().try_for_each(|&y| compare(&[y]))?;
    }
    Ok(())
}

/// A row that weighs `m` is the same as `m` equal rows; one that weighs nothing is the same as
/// none.
fn weights_repeat(rows: &ContractRows<'_>, case: Case<'_>) -> Verdict {
    let n = rows.len();
    let times: Vec<usize> = (0..n).map(|row| (row * 7 + 1) % 4).collect();
    let index: Vec<usize> = (0..n).flat_map(|row| std::iter::repeat_n(row, times[row])).collect();
    let target: Vec<f64> =
        case.target.iter().map(|&y| rows.objective.transform_target(y)).collect();
    let repeated: Vec<f64> = index.iter().map(|&row| target[row]).collect();
    let weight: Vec<f64> = times.iter().map(|&m| m as f64).collect();
    let (a, b) = (rows.objective.start(&target, &weight), rows.objective.start(&repeated, &[]));
    let kept = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| near(*a, *b, 1e-6));
    ensure(kept, "weights are repetitions in the start value", || format!("{a:?} is not {b:?}"))?;

    let weight: Vec<f32> = times.iter().map(|&m| m as f32).collect();
    let score: Vec<f32> = (0..rows.outputs)
        .flat_map(|k| index.iter().map(move |&row| rows.score[k * n + row]))
        .collect();
    let seen: Vec<f32> = index.iter().map(|&row| rows.target[row]).collect();
    let a = rows.objective.loss(rows.score, &rows.target, &weight);
    let b = rows.objective.loss(&score, &seen, &[]);
    ensure(near(a, b, 1e-5), "weights are repetitions in the loss", || format!("{a} is not {b}"))
}

/// An objective that claims to depend on `score - target` alone does so.
fn shift(rows: &ContractRows<'_>) -> Verdict {
    if !rows.objective.shift_invariant() {
        return Ok(());
    }
    let here = rows.objective.loss(rows.score, &rows.target, rows.weight);
    for by in [8.0f32, -24.0] {
        let score: Vec<f32> = rows.score.iter().map(|s| s + by).collect();
        let target: Vec<f32> = rows.target.iter().map(|y| y + by).collect();
        let there = rows.objective.loss(&score, &target, rows.weight);
        ensure(near(here, there, 1e-4), "a shift of scores and targets changes nothing", || {
            format!("loss {here} becomes {there} after a shift by {by}")
        })?;
    }
    Ok(())
}

/// The leaf quantile of the residuals is the best value for one leaf that holds all rows.
fn leaf_is_best(rows: &ContractRows<'_>) -> Verdict {
    let Some(alpha) = rows.objective.leaf_quantile() else { return Ok(()) };
    let residuals: Vec<f64> =
        rows.target.iter().zip(rows.score).map(|(y, s)| f64::from(*y) - f64::from(*s)).collect();
    let mut pairs: Vec<(f64, f64)> =
        residuals.iter().enumerate().map(|(i, &r)| (r, rows.weight_of(i))).collect();
    let Some(value) = weighted_quantile(&mut pairs, alpha) else { return Ok(()) };
    let best = rows.loss_moved(rows.score, &[value]);
    for other in residuals.iter().flat_map(|r| [*r, r - 0.1, r + 0.1]) {
        let loss = rows.loss_moved(rows.score, &[other]);
        ensure(
            best <= loss + 1e-5 * (1.0 + loss.abs()),
            "the leaf quantile minimises the loss",
            || format!("{value} has loss {best}, {other} has {loss}"),
        )?;
    }
    Ok(())
}
