//! Orders of the levels of a category along which cuts are tried.

use super::View;
use crate::ranked::Target;

/// The most classes that get an order each.
const MOST_ORDERS: usize = 8;

/// The orders: by mean target, or by the share of each class (of two classes one will do), and,
/// where the tree goes on below the node, by what the rows of a level gain on the left. Levels
/// without a row at the node come last, so that they go right.
pub(super) fn of_levels(view: &View<'_>, feature: u32) -> Vec<Vec<u16>> {
    let lot = view.lot;
    let mut scores: Vec<Box<dyn Fn(usize) -> f64>> = Vec::new();
    match lot.table.target() {
        Target::Numbers { of_row, .. } => scores.push(Box::new(|at| of_row[lot.rows[at] as usize])),
        Target::Classes { of_row, count } => {
            let orders = if *count == 2 { 1 } else { (*count).min(MOST_ORDERS) };
            for class in 0..orders as u16 {
                scores.push(Box::new(move |at| {
                    f64::from(u8::from(of_row[lot.rows[at] as usize] == class))
                }));
            }
        }
    }
    if lot.leaves > 2 {
        scores.extend(advantage(view));
    }
    scores.iter().map(|score| lot.table.levels_by_mean(feature, &lot.rows, score)).collect()
}

/// What a row costs more on the left than on the right, with the leaves as the node's rows would
/// make them on each side (Carreira-Perpiñán and Tavallali 2018 choose a node's rule by this
/// alone).
fn advantage<'v>(view: &'v View<'_>) -> Option<Box<dyn Fn(usize) -> f64 + 'v>> {
    let lot = view.lot;
    let mut books = view.start.clone()?;
    for (&row, &leaf) in lot.rows.iter().zip(&lot.left) {
        books.add(leaf, books.load(row), 1);
    }
    match lot.table.target() {
        Target::Numbers { of_row, .. } => {
            let value = move |leaf: u16| match books.of(usize::from(leaf)) {
                &[weight, sum] if weight > 0.0 => sum / weight,
                _ => 0.0,
            };
            Some(Box::new(move |at| {
                let error = |leaf: u16| (of_row[lot.rows[at] as usize] - value(leaf)).powi(2);
                error(lot.left[at]) - error(lot.right[at])
            }))
        }
        Target::Classes { of_row, .. } => Some(Box::new(move |at| {
            let class = usize::from(of_row[lot.rows[at] as usize]);
            let share = |leaf: u16| {
                let counts = books.of(usize::from(leaf));
                counts[class] / counts.iter().sum::<f64>()
            };
            share(lot.right[at]) - share(lot.left[at])
        })),
    }
}
