//! Splits a list of rows in two, keeping their order.

use crate::bins::layout::Route;

/// Moves the rows that go left to the front of `rows` and those that go right behind them; returns
/// how many go left. `scratch` must be as long as `rows`.
pub fn partition(rows: &mut [u32], scratch: &mut [u32], column: &[u8], route: &Route) -> usize {
    partition_by(rows, scratch, |row| usize::from(route.right[usize::from(column[row as usize])]))
}

/// The same for rows of any kind and any question: 1 is right, 0 left.
#[inline]
pub fn partition_by<R: Copy>(
    rows: &mut [R],
    scratch: &mut [R],
    goes_right: impl Fn(R) -> usize,
) -> usize {
    let scratch = &mut scratch[..rows.len()];
    let (mut left, mut right) = (0, 0);
    for at in 0..rows.len() {
        let row = rows[at];
        let goes_right = goes_right(row);
        // Both stores happen and one of them is overwritten by the next row: no branch to
        // mispredict.
        rows[left] = row;
        scratch[right] = row;
        left += 1 - goes_right;
        right += goes_right;
    }
    rows[left..].copy_from_slice(&scratch[..right]);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bins::CODES;

    #[test]
    fn order_is_kept_on_both_sides() {
        let column: Vec<u8> = (0..1000u32).map(|r| (r * 37 % 251) as u8).collect();
        let mut right = [0; CODES];
        right.iter_mut().skip(100).for_each(|side| *side = 1);
        let route = Route { column: 0, right };
        let mut rows: Vec<u32> = (0..1000).filter(|r| r % 3 != 0).collect();
        let (expected_left, expected_right): (Vec<u32>, Vec<u32>) =
            rows.iter().partition(|&&row| column[row as usize] < 100);
        let mut scratch = vec![0; rows.len()];
        let left = partition(&mut rows, &mut scratch, &column, &route);
        assert_eq!(rows[..left], expected_left);
        assert_eq!(rows[left..], expected_right);
    }
}
