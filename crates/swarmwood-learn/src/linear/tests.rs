//! The descent against closed forms, dense Newton solves, optimality conditions and planted
//! answers.

use swarmwood_model::{Feature, Kind, LinearTerm, Target, TargetKind};

use super::*;
use crate::data::{Chunk, Column, MISSING};
use crate::objective::{Absolute, Huber, Logistic, Objective, Poisson, Quantile, Softmax, Squared};
use crate::stats::LoopbackBackends;

/// Numbers in -1 .. 1, the same on every machine.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn column(&mut self, rows: usize) -> Vec<f64> {
        (0..rows).map(|_| self.next()).collect()
    }
}

fn schema(chunk: &Chunk) -> Schema {
    let kind = |column: &Column| match column {
        Column::Number(_) => Kind::Number,
        Column::Category(codes) => {
            let levels = codes.iter().filter(|c| **c != MISSING).max().map_or(0, |c| c + 1);
            Kind::Category { levels: (0..levels).map(|l| l.to_string()).collect() }
        }
    };
    let features =
        chunk.columns.iter().map(|c| Feature { name: "x".into(), kind: kind(c) }).collect();
    Schema {
        features,
        target: Target { name: "y".into(), kind: TargetKind::Number },
        dates: Vec::new(),
    }
}

fn numbers(columns: Vec<Vec<f64>>, target: Vec<f64>) -> Chunk {
    let rows = target.len();
    Chunk {
        columns: columns.into_iter().map(Column::Number).collect(),
        target,
        weight: Vec::new(),
        rows,
    }
}

fn fit(chunk: &Chunk, objective: &dyn Objective, settings: &LinearConfig) -> LinearFit {
    let schema = schema(chunk);
    let set = LinearSet::new(chunk, None, &schema, objective);
    train(set, settings, &Budget::unlimited(), &mut |_| ()).unwrap()
}

fn thorough() -> LinearConfig {
    LinearConfig { rounds: 3000, learning_rate: 1.0, ..LinearConfig::default() }
}

/// What a reader of the model computes.
fn raw(fitted: &LinearFit, chunk: &Chunk, output: usize, row: usize) -> f64 {
    let mut sum = fitted.base[output];
    for (term, column) in fitted.outputs[output].terms.iter().zip(&chunk.columns) {
        sum += match (term, column) {
            (LinearTerm::Number { weight, centre }, Column::Number(x)) if x[row].is_finite() => {
                weight * (x[row] - centre)
            }
            (LinearTerm::Category { weights }, Column::Category(codes)) => {
                weights.get(codes[row] as usize).copied().unwrap_or(0.0)
            }
            _ => 0.0,
        };
    }
    sum
}

fn weight_and_spread(
    fitted: &LinearFit,
    chunk: &Chunk,
    output: usize,
    feature: usize,
) -> (f64, f64) {
    let (LinearTerm::Number { weight, centre }, Column::Number(x)) =
        (&fitted.outputs[output].terms[feature], &chunk.columns[feature])
    else {
        panic!("not a number");
    };
    let w = |i: usize| chunk.weight.get(i).copied().unwrap_or(1.0);
    let total: f64 = (0..chunk.rows).map(w).sum();
    let variance =
        x.iter().enumerate().map(|(i, x)| w(i) * (x - centre).powi(2)).sum::<f64>() / total;
    (*weight, variance.sqrt())
}

/// Solves `a x = b` by elimination with pivoting.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        let above = a[k].clone();
        for i in k + 1..n {
            let factor = a[i][k] / above[k];
            a[i].iter_mut().zip(&above).for_each(|(cell, above)| *cell -= factor * above);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|j| a[k][j] * b[j]).sum::<f64>()) / a[k][k];
    }
    b
}

/// Standardised columns after a column of ones.
fn standardised(chunk: &Chunk) -> Vec<Vec<f64>> {
    let w = |i: usize| chunk.weight.get(i).copied().unwrap_or(1.0);
    let total: f64 = (0..chunk.rows).map(w).sum();
    let mut all = vec![vec![1.0; chunk.rows]];
    for column in &chunk.columns {
        let Column::Number(x) = column else { panic!("not a number") };
        let mean = x.iter().enumerate().map(|(i, x)| w(i) * x).sum::<f64>() / total;
        let sd = (x.iter().enumerate().map(|(i, x)| w(i) * (x - mean).powi(2)).sum::<f64>()
            / total)
            .sqrt();
        all.push(x.iter().map(|x| (x - mean) / sd).collect());
    }
    all
}

/// Newton's method on the penalised loss with dense matrices; `derivatives` gives g and h of a row.
fn dense_newton(
    chunk: &Chunk,
    lambda: f64,
    derivatives: impl Fn(f64, f64) -> (f64, f64),
) -> Vec<f64> {
    let z = standardised(chunk);
    let mut beta = vec![0.0; z.len()];
    for _ in 0..50 {
        let mut gradient: Vec<f64> =
            beta.iter().enumerate().map(|(j, b)| if j > 0 { lambda * b } else { 0.0 }).collect();
        let mut hessian = vec![vec![0.0; z.len()]; z.len()];
        (1..z.len()).for_each(|j| hessian[j][j] = lambda);
        for i in 0..chunk.rows {
            let score: f64 = (0..z.len()).map(|j| beta[j] * z[j][i]).sum();
            let (g, h) = derivatives(score, chunk.target[i]);
            let w = chunk.weight.get(i).copied().unwrap_or(1.0);
            for j in 0..z.len() {
                gradient[j] += w * g * z[j][i];
                (0..z.len()).for_each(|k| hessian[j][k] += w * h * z[j][i] * z[k][i]);
            }
        }
        let step = solve(hessian, gradient);
        beta.iter_mut().zip(step).for_each(|(b, s)| *b -= s);
    }
    beta
}

fn same_as(fitted: &LinearFit, chunk: &Chunk, beta: &[f64], tolerance: f64) {
    assert!(
        (fitted.base[0] - beta[0]).abs() < tolerance * (1.0 + beta[0].abs()),
        "{} {}",
        fitted.base[0],
        beta[0]
    );
    for (f, expected) in beta[1..].iter().enumerate() {
        let (weight, spread) = weight_and_spread(fitted, chunk, 0, f);
        let got = weight * spread;
        assert!(
            (got - expected).abs() < tolerance * (1.0 + expected.abs()),
            "feature {f}: {got} is not {expected}"
        );
    }
}

/// Correlated columns in wildly different units, one of them far from zero.
fn wild(rows: usize) -> Chunk {
    let mut draw = Draw(7);
    let (a, b, c, d) = (draw.column(rows), draw.column(rows), draw.column(rows), draw.column(rows));
    let target = (0..rows)
        .map(|i| 1e4 + 5.0 * a[i] - 3.0 * b[i] + 0.5 * c[i] * b[i] + draw.next())
        .collect::<Vec<_>>();
    let mixed = (0..rows).map(|i| 1e-7 * (a[i] + 0.5 * b[i])).collect();
    let far = b.iter().map(|b| 4e6 + b).collect();
    numbers(vec![a, mixed, far, c.iter().map(|c| c * 1e12).collect(), d], target)
}

#[test]
fn ridge_reaches_the_closed_form() {
    let mut chunk = wild(80);
    for lambda in [0.5, 10.0] {
        let settings = LinearConfig { lambda, ..thorough() };
        // One Newton step is the closed form of a quadratic.
        let beta = dense_newton(&chunk, lambda, |s, y| (s - y, 1.0));
        same_as(&fit(&chunk, &Squared, &settings), &chunk, &beta, 2e-5);
    }
    chunk.weight = (0..80).map(|i| f64::from(i % 4)).collect();
    let beta = dense_newton(&chunk, 2.0, |s, y| (s - y, 1.0));
    same_as(
        &fit(&chunk, &Squared, &LinearConfig { lambda: 2.0, ..thorough() }),
        &chunk,
        &beta,
        2e-5,
    );
}

#[test]
fn logistic_and_poisson_reach_a_dense_newton_solve() {
    let mut draw = Draw(3);
    let columns: Vec<Vec<f64>> = (0..3).map(|_| draw.column(120)).collect();
    let score = |i: usize| 2.0 * columns[0][i] - columns[1][i] + 0.3;
    let classes: Vec<f64> = (0..120).map(|i| f64::from(score(i) + draw.next() > 0.0)).collect();
    let counts: Vec<f64> =
        (0..120).map(|i| (score(i).exp() * (1.0 + draw.next())).round()).collect();
    for learning_rate in [1.0, 0.3] {
        let settings = LinearConfig { lambda: 1.5, learning_rate, ..thorough() };
        let chunk = numbers(columns.clone(), classes.clone());
        let beta = dense_newton(&chunk, 1.5, |s, y| {
            let p = 1.0 / (1.0 + (-s).exp());
            (p - y, p * (1.0 - p))
        });
        same_as(&fit(&chunk, &Logistic, &settings), &chunk, &beta, 1e-4);
        let chunk = numbers(columns.clone(), counts.clone());
        let beta = dense_newton(&chunk, 1.5, |s, y| (s.exp() - y, s.exp()));
        same_as(&fit(&chunk, &Poisson, &settings), &chunk, &beta, 1e-4);
    }
}

#[test]
fn l1_zeroes_planted_noise_and_keeps_the_optimality_conditions() {
    let mut draw = Draw(11);
    let columns: Vec<Vec<f64>> = (0..8).map(|_| draw.column(200)).collect();
    let target =
        (0..200).map(|i| 4.0 * columns[2][i] - 2.0 * columns[5][i] + 0.3 * draw.next()).collect();
    let chunk = numbers(columns, target);
    let (alpha, lambda) = (20.0, 1.0);
    for learning_rate in [1.0, 0.1] {
        let fitted =
            fit(&chunk, &Squared, &LinearConfig { alpha, lambda, learning_rate, ..thorough() });
        let z = standardised(&chunk);
        for f in 0..8 {
            let (weight, spread) = weight_and_spread(&fitted, &chunk, 0, f);
            assert_eq!(weight != 0.0, f == 2 || f == 5, "feature {f} has weight {weight}");
            let slope: f64 = (0..200)
                .map(|i| (raw(&fitted, &chunk, 0, i) - chunk.target[i]) * z[f + 1][i])
                .sum::<f64>();
            let smooth = slope + lambda * weight * spread;
            if weight == 0.0 {
                assert!(smooth.abs() <= alpha);
            } else {
                assert!((smooth + alpha * weight.signum()).abs() < 1e-2, "{smooth}");
            }
        }
    }
}

#[test]
fn softmax_reaches_the_optimality_conditions() {
    let mut draw = Draw(5);
    let columns: Vec<Vec<f64>> = (0..2).map(|_| draw.column(150)).collect();
    let target: Vec<f64> = (0..150)
        .map(|i| {
            if columns[0][i] + 0.4 * draw.next() > 0.2 {
                2.0
            } else {
                f64::from(columns[1][i] > 0.4 * draw.next())
            }
        })
        .collect();
    let chunk = numbers(columns, target);
    let lambda = 2.0;
    let fitted = fit(&chunk, &Softmax { classes: 3 }, &LinearConfig { lambda, ..thorough() });
    assert_eq!((fitted.base.len(), fitted.outputs.len()), (3, 3));
    let z = standardised(&chunk);
    for k in 0..3 {
        let residual = |i: usize| {
            let sum: f64 = (0..3).map(|c| raw(&fitted, &chunk, c, i).exp()).sum();
            raw(&fitted, &chunk, k, i).exp() / sum - f64::from(chunk.target[i] == k as f64)
        };
        assert!((0..150).map(residual).sum::<f64>().abs() < 1e-2);
        for f in 0..2 {
            let (weight, spread) = weight_and_spread(&fitted, &chunk, k, f);
            let slope: f64 = (0..150).map(|i| residual(i) * z[f + 1][i]).sum();
            assert!((slope + lambda * weight * spread).abs() < 1e-2, "class {k}, feature {f}");
        }
    }
}

#[test]
fn robust_losses_find_the_line_behind_outliers() {
    let mut draw = Draw(9);
    let x = draw.column(100);
    // In units of thousands, so that a step of one would crawl.
    let target: Vec<f64> = (0..100)
        .map(|i| 7e3 + 2e3 * x[i] + draw.next() + if i % 5 == 0 { 5e4 } else { 0.0 })
        .collect();
    let chunk = numbers(vec![x], target);
    let settings = LinearConfig { learning_rate: 0.5, ..thorough() };
    for objective in [&Absolute as &dyn Objective, &Huber { delta: 3.0 }] {
        let fitted = fit(&chunk, objective, &settings);
        let LinearTerm::Number { weight, .. } = fitted.outputs[0].terms[0] else {
            panic!("not a number")
        };
        assert!((weight - 2e3).abs() < 4.0, "{}: {weight}", objective.name());
    }
}

#[test]
fn quantile_comes_close_to_the_best_line_of_all() {
    let mut draw = Draw(13);
    let x = draw.column(40);
    let y: Vec<f64> = (0..40).map(|i| 3.0 * x[i] + (1.5 + x[i]) * draw.next()).collect();
    let alpha = 0.8;
    let loss = |a: f64, b: f64| -> f64 {
        (0..40)
            .map(|i| y[i] - a - b * x[i])
            .map(|r| if r > 0.0 { alpha * r } else { (alpha - 1.0) * r })
            .sum()
    };
    // One of the best lines passes through two of the points.
    let mut best = f64::INFINITY;
    for i in 0..40 {
        for j in 0..i {
            let b = (y[i] - y[j]) / (x[i] - x[j]);
            best = best.min(loss(y[i] - b * x[i], b));
        }
    }
    let chunk = numbers(vec![x.clone()], y.clone());
    let fitted = fit(&chunk, &Quantile { alpha }, &thorough());
    let got = fitted.train.last().unwrap() * 40.0;
    assert!(got < best * 1.005 && got > best * 0.9999, "{got} against {best}");
}

#[test]
fn levels_reach_their_means_and_missing_adds_nothing() {
    let codes = vec![0, 0, 1, 1, 2, 2, MISSING, MISSING];
    let target = vec![1.0, 3.0, 5.0, 7.0, -4.0, -4.0, 10.0, 11.0];
    let column = vec![1.0, -1.0, f64::NAN, 1.0, -1.0, f64::INFINITY, 1.0, -1.0];
    let chunk = Chunk {
        columns: vec![Column::Category(codes), Column::Number(vec![2.0; 8])],
        target,
        weight: vec![],
        rows: 8,
    };
    let fitted = fit(&chunk, &Squared, &thorough());
    for (row, expected) in [2.0, 2.0, 6.0, 6.0, -4.0, -4.0, 10.5, 10.5].into_iter().enumerate() {
        assert!((raw(&fitted, &chunk, 0, row) - expected).abs() < 1e-3, "row {row}");
    }
    assert!(
        matches!(fitted.outputs[0].terms[1], LinearTerm::Number { weight: 0.0, .. }),
        "a constant column has no weight"
    );

    let chunk = Chunk { columns: vec![Column::Number(column)], ..chunk };
    let fitted = fit(&chunk, &Squared, &thorough());
    let loss: f64 =
        (0..8).map(|i| 0.5 * (raw(&fitted, &chunk, 0, i) - chunk.target[i]).powi(2)).sum();
    assert!(
        (loss / 8.0 - fitted.train.last().unwrap()).abs() < 1e-5,
        "the model read back has the loss it was told"
    );
}

#[test]
fn weights_are_repetitions() {
    let mut chunk = wild(30);
    chunk.weight = (0..30).map(|i| f64::from(i % 3)).collect();
    let index: Vec<usize> = (0..30).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let columns = chunk.columns.iter().map(|c| match c {
        Column::Number(x) => index.iter().map(|&i| x[i]).collect(),
        Column::Category(_) => Vec::new(),
    });
    let repeated = numbers(columns.collect(), index.iter().map(|&i| chunk.target[i]).collect());
    let settings = LinearConfig { lambda: 1.0, alpha: 0.5, ..thorough() };
    let (a, b) = (fit(&chunk, &Squared, &settings), fit(&repeated, &Squared, &settings));
    for row in 0..30 {
        assert!((raw(&a, &chunk, 0, row) - raw(&b, &chunk, 0, row)).abs() < 1e-3);
    }
}

#[test]
fn loss_never_rises_and_the_same_rows_give_the_same_bits() {
    let mut draw = Draw(21);
    let columns: Vec<Vec<f64>> = (0..3).map(|_| draw.column(60)).collect();
    // Separable classes without a penalty: weights grow without end, and full steps would
    // overshoot.
    let chunk = numbers(columns.clone(), columns[0].iter().map(|x| f64::from(*x > 0.1)).collect());
    let settings = LinearConfig { rounds: 200, ..thorough() };
    let fitted = fit(&chunk, &Logistic, &settings);
    assert!(fitted.train.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)));
    assert!(fitted.train.last().unwrap() < &0.01);
    assert_eq!(fitted, fit(&chunk, &Logistic, &settings));
}

#[test]
fn early_stopping_keeps_the_best_round() {
    let mut draw = Draw(17);
    // More columns than rows: training learns the noise.
    let columns: Vec<Vec<f64>> = (0..30).map(|_| draw.column(25)).collect();
    let chunk = numbers(columns.clone(), (0..25).map(|i| columns[0][i] + draw.next()).collect());
    let columns: Vec<Vec<f64>> = (0..30).map(|_| draw.column(50)).collect();
    let valid = numbers(columns.clone(), (0..50).map(|i| columns[0][i] + draw.next()).collect());
    let settings = LinearConfig {
        rounds: 500,
        learning_rate: 0.1,
        early_stopping_rounds: 5,
        metric: EvalMetric::Rmse,
        ..LinearConfig::default()
    };
    let schema = schema(&chunk);
    let run = |budget: &Budget, observer: &mut dyn FnMut(&Event)| {
        let set = LinearSet::new(&chunk, Some(&valid), &schema, &Squared);
        train(set, &settings, budget, observer).unwrap()
    };
    let fitted = run(&Budget::unlimited(), &mut |_| ());
    assert!(
        fitted.rounds > 0 && fitted.valid.len() == fitted.rounds + 5,
        "stops five rounds after the best"
    );
    let best = fitted.valid[fitted.rounds - 1];
    assert!(fitted.valid.iter().all(|v| *v >= best));
    let error =
        (0..50).map(|i| (raw(&fitted, &valid, 0, i) - valid.target[i]).powi(2)).sum::<f64>() / 50.0;
    assert!((error.sqrt() - best).abs() < 1e-5, "the model is the one of the best round");

    let budget = Budget::unlimited();
    let stopped = run(&budget, &mut |event| {
        if event.step == 2 {
            budget.cancel();
        }
    });
    assert_eq!(stopped.valid.len(), 2);
}

#[test]
fn unusable_rows_are_refused() {
    let run = |chunk: &Chunk, schema: &Schema, objective: &dyn Objective| {
        let set = LinearSet::new(chunk, None, schema, objective);
        train(set, &LinearConfig::default(), &Budget::unlimited(), &mut |_| ())
    };
    let good = numbers(vec![vec![1.0, 2.0]], vec![0.0, 1.0]);
    let plan = schema(&good);
    assert!(run(&good, &plan, &Squared).is_ok());
    let bad = Chunk { target: vec![0.0, 2.0], ..good.clone() };
    let message = run(&bad, &plan, &Logistic).unwrap_err().to_string();
    assert_eq!(message, "row 2: the target is 2 but it must be 0 or 1");
    let bad = Chunk { columns: vec![], ..good.clone() };
    assert_eq!(
        run(&bad, &plan, &Squared),
        Err(LinearDataError::Columns { found: 0, expected: 1 }.into())
    );
    let bad = Chunk { columns: vec![Column::Category(vec![0, 1])], ..good.clone() };
    assert_eq!(run(&bad, &plan, &Squared), Err(LinearDataError::Kind { name: "x".into() }.into()));
    let bad = Chunk { weight: vec![0.0, 0.0], ..good.clone() };
    assert_eq!(run(&bad, &plan, &Squared), Err(LinearDataError::NoRows.into()));
    let bad = Chunk { target: vec![0.0], ..good.clone() };
    assert!(matches!(
        run(&bad, &plan, &Squared),
        Err(LinearError::Data(LinearDataError::Length { .. }))
    ));
    let bad = numbers(vec![vec![]], vec![]);
    assert_eq!(run(&bad, &plan, &Squared), Err(LinearDataError::NoRows.into()));
    let lone = numbers(vec![vec![3.0]], vec![5.0]);
    let fitted = run(&lone, &plan, &Squared).unwrap();
    assert_eq!(raw(&fitted, &lone, 0, 0), 5.0);
}

/// Encoded messages change no bit, and a feature takes one message per output and round.
#[test]
fn every_backend_gives_the_same_model() {
    let chunk = wild(300);
    let schema = schema(&chunk);
    let config = LinearConfig { rounds: 5, lambda: 0.5, alpha: 0.1, ..LinearConfig::default() };
    let three: &dyn Objective = &Softmax { classes: 3 };
    for objective in [&Squared as &dyn Objective, &Logistic, three] {
        let class = |y: &f64| match objective.outputs() {
            1 => f64::from(u8::from(*y > 1e4)),
            _ => f64::from(u8::from(*y > 1e4 - 2.0)) + f64::from(u8::from(*y > 1e4 + 2.0)),
        };
        let target = chunk.target.iter().map(class).collect();
        let chunk = Chunk { target, ..chunk.clone() };
        let local = LinearSet::new(&chunk, Some(&chunk), &schema, objective);
        let loopback = LoopbackBackends::default();
        let encoded = LinearSet { backends: &loopback, ..local };
        let fit = |set| train(set, &config, &Budget::unlimited(), &mut |_| ()).unwrap();
        let (local, encoded) = (fit(local), fit(encoded));
        assert_eq!(local, encoded);
        let rounds = local.train.len() as u64;
        let each = (objective.outputs() * schema.features.len()) as u64;
        assert!(loopback.messages() <= 2 + rounds * (each + 30), "{}", loopback.messages());
    }
}
