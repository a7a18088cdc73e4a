//! Suggestions for misspelled names.

/// The candidate with the smallest edit distance to `word`, if it is small enough for a typing
/// error.
///
/// ```
/// use swarmwood_search::nearest::nearest;
///
/// assert_eq!(nearest("leraning_rate", ["learning_rate", "lambda"]), Some("learning_rate"));
/// assert_eq!(nearest("colour", ["learning_rate", "lambda"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|&(edits, _)| edits <= allowed)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, exchange two neighbours) from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", "acb"), 1);
        assert_eq!(distance("abc", "xbcd"), 2);
    }

    #[test]
    fn nothing_is_near_a_stranger() {
        assert_eq!(nearest("zzzz", ["depth", "trees"]), None);
        assert_eq!(nearest("Tree", ["depth", "trees"]), Some("trees"));
        assert_eq!(nearest("", ["depth"]), None);
    }
}
