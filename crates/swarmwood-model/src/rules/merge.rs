//! Phase 3 of Jun, Cho, Lee 2012: adjacent cells of a grid with equal predictions are combined, in
//! the order of the paper.
//!
//! Step 3-1 writes each cell as a binary number with one digit per threshold, set if the cell lies
//! above it, and sorts the cells by that number; this is the order of their intervals, the first
//! axis being the most significant. Steps 3-2 and 3-3 start from the least cell, find an adjacent one
//! with the same prediction and combine the two; step 3-4 begins again until nothing can be
//! combined. A combined box is numbered by its least cell, and adjacent means that the union is a
//! box again. Of several adjacent boxes the least is taken.

use std::collections::{BTreeMap, BTreeSet};

/// Combines boxes of equal predictions. `cells` are in ascending order; `line` is what two boxes
/// that differ on one axis only have in common, their prediction included; `join` is the union of
/// two boxes of a line if they adjoin. The result is in ascending order too.
///
/// ```
/// use swarmwood_model::rules::merge_ascending;
/// // Five intervals of one axis with their classes.
/// let cells = vec![([0, 1], 'a'), ([1, 2], 'a'), ([2, 3], 'b'), ([3, 4], 'a'), ([4, 5], 'a')];
/// let join = |a: &([u8; 2], char), b: &([u8; 2], char), _axis: usize| {
///     (a.0[1] == b.0[0]).then_some(([a.0[0], b.0[1]], a.1))
/// };
/// let merged = merge_ascending(cells, 1, |cell, _axis| cell.1, join);
/// assert_eq!(merged, [([0, 2], 'a'), ([2, 3], 'b'), ([3, 5], 'a')]);
/// ```
pub fn merge_ascending<B, K: Ord>(
    cells: Vec<B>,
    axes: usize,
    line: impl Fn(&B, usize) -> K,
    join: impl Fn(&B, &B, usize) -> Option<B>,
) -> Vec<B> {
    let mut todo: BTreeSet<usize> = (0..cells.len()).collect();
    let boxes = cells.into_iter().map(Some).collect();
    let mut state = MergeState { boxes, lines: BTreeMap::new(), axes, line, join };
    (0..todo.len()).for_each(|number| state.enter(number));

    while let Some(number) = todo.pop_first() {
        let Some((partner, union)) = state.least_partner(number) else { continue };
        state.leave(number);
        state.leave(partner);
        let kept = number.min(partner);
        state.boxes[number.max(partner)] = None;
        state.boxes[kept] = Some(union);
        state.enter(kept);

        // Only what adjoins the new box can have become combinable.
        todo.insert(kept);
        todo.extend(state.partners(kept).into_iter().map(|(partner, _)| partner));
    }
    state.boxes.into_iter().flatten().collect()
}

/// The boxes by the number of their least cell, and which of them share a line.
struct MergeState<B, K, L, J> {
    boxes: Vec<Option<B>>,
    lines: BTreeMap<(usize, K), BTreeSet<usize>>,
    axes: usize,
    line: L,
    join: J,
}

impl<B, K: Ord, L: Fn(&B, usize) -> K, J: Fn(&B, &B, usize) -> Option<B>> MergeState<B, K, L, J> {
    fn enter(&mut self, number: usize) {
        let Some(of) = &self.boxes[number] else { return };
        for axis in 0..self.axes {
            self.lines.entry((axis, (self.line)(of, axis))).or_default().insert(number);
        }
    }

    fn leave(&mut self, number: usize) {
        let Some(of) = &self.boxes[number] else { return };
        for axis in 0..self.axes {
            let key = (axis, (self.line)(of, axis));
            if let Some(line) = self.lines.get_mut(&key) {
                line.remove(&number);
                if line.is_empty() {
                    self.lines.remove(&key);
                }
            }
        }
    }

    /// The boxes that one can be combined with, and the unions.
    fn partners(&self, number: usize) -> Vec<(usize, B)> {
        let Some(own) = &self.boxes[number] else { return Vec::new() };
        let mut partners = Vec::new();
        for axis in 0..self.axes {
            let line = self.lines.get(&(axis, (self.line)(own, axis)));
            for &other in line.into_iter().flatten().filter(|&&other| other != number) {
                let union =
                    self.boxes[other].as_ref().and_then(|other| (self.join)(own, other, axis));
                partners.extend(union.map(|union| (other, union)));
            }
        }
        partners
    }

    fn least_partner(&self, number: usize) -> Option<(usize, B)> {
        self.partners(number).into_iter().min_by_key(|(partner, _)| *partner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rectangle = [[u8; 2]; 2];

    fn merge(classes: [[char; 3]; 3]) -> Vec<(Rectangle, char)> {
        let cell =
            |x: u8, y: u8| ([[x, x + 1], [y, y + 1]], classes[usize::from(x)][usize::from(y)]);
        let cells = (0..3).flat_map(|x| (0..3).map(move |y| cell(x, y))).collect();
        let line = |of: &(Rectangle, char), axis: usize| (of.0[1 - axis], of.1);
        merge_ascending(cells, 2, line, |a, b, axis| {
            let (a, b) = if a.0[axis][0] < b.0[axis][0] { (a, b) } else { (b, a) };
            let mut union = *a;
            union.0[axis][1] = b.0[axis][1];
            (a.0[axis][1] == b.0[axis][0]).then_some(union)
        })
    }

    /// The least cell (0, 0) takes (0, 1) before (1, 0), so that the first row is a box and the
    /// column below it another.
    #[test]
    fn the_least_cell_is_combined_first() {
        let merged = merge([['a', 'a', 'b'], ['a', 'b', 'b'], ['a', 'b', 'b']]);
        let expected = [
            ([[0, 1], [0, 2]], 'a'),
            ([[0, 3], [2, 3]], 'b'),
            ([[1, 3], [0, 1]], 'a'),
            ([[1, 3], [1, 2]], 'b'),
        ];
        assert_eq!(merged, expected);
        assert_eq!(merge([['a'; 3]; 3]), [([[0, 3], [0, 3]], 'a')]);
    }

    /// A box that could not be combined can be once another has grown beside it.
    #[test]
    fn earlier_boxes_are_looked_at_again() {
        // Row 0 becomes [0..3]; then rows 1 and 2, whose cells are combined one after the other,
        // can be added to it.
        let merged = merge([['a', 'a', 'a'], ['a', 'a', 'a'], ['b', 'a', 'a']]);
        assert_eq!(
            merged,
            [([[0, 2], [0, 3]], 'a'), ([[2, 3], [0, 1]], 'b'), ([[2, 3], [1, 3]], 'a')]
        );
    }
}
