//! Columns as the rules of a table see them: codes that no rule tells apart are one class.
//!
//! A table of few rules has few classes per column, and sums by class need little room
//! ([`crate::kernels::cells`]). Classes are numbered in the order of their first codes, so that a
//! cut of a number sends the classes from some number on to the right. Neighbouring columns of few
//! classes are summed together, by the classes of all of them at once: a row is then added once for
//! several columns, and the sums of each column are read off in the end.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::rows::ParticleRows;
use crate::kernels::aligned::AlignedVec;
use crate::kernels::particle::RuleTest;
use crate::pool::Pool;

/// Columns that are summed together may have this many joint classes: with the 32 leaves of five
/// levels their sums still fit the first-level cache.
const JOINT: usize = 64;

/// Columns that rows are summed by together.
#[derive(Debug)]
pub(super) struct ClassedGroup {
    /// How many joint classes there are, at most 256.
    pub(super) classes: usize,
    /// The columns, at least one.
    pub(super) columns: Vec<ClassedColumn>,
    /// The joint class of every row, shard after shard.
    pub(super) rows: Vec<AlignedVec<u8>>,
}

/// One column that some rule asks about.
#[derive(Debug)]
pub(super) struct ClassedColumn {
    column: usize,
    class_of: [u8; 256],
    /// How many classes there are, at most 256.
    pub(super) classes: usize,
    /// How far joint classes lie apart that differ by one in the class of this column.
    pub(super) stride: usize,
    /// The rules that ask about it.
    pub(super) rules: Vec<ClassedRule>,
}

/// A rule as a question about classes.
#[derive(Debug, PartialEq)]
pub(super) struct ClassedRule {
    /// Its number in the table.
    pub(super) number: usize,
    /// The classes that go right, in runs.
    pub(super) right: Vec<Range<usize>>,
}

/// The columns that the questions ask about, in their order.
pub(super) fn groups(
    questions: &[RuleTest],
    rows: &[Arc<ParticleRows>],
    pool: &Pool,
) -> Vec<ClassedGroup> {
    let mut asked: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, question) in questions.iter().enumerate() {
        asked.entry(question.column).or_default().push(number);
    }
    let mut groups: Vec<ClassedGroup> = Vec::new();
    for (column, numbers) in asked {
        let (class_of, classes) = classes(numbers.iter().map(|&number| &questions[number]));
        let rule =
            |number: usize| ClassedRule { number, right: right(&questions[number], &class_of) };
        let rules = numbers.into_iter().map(rule).collect();
        let classed = |stride: usize| ClassedColumn { column, class_of, classes, stride, rules };
        match groups.last_mut() {
            Some(last) if last.classes * classes <= JOINT => {
                last.columns.push(classed(last.classes));
                last.classes *= classes;
            }
            _ => groups.push(ClassedGroup { classes, columns: vec![classed(1)], rows: Vec::new() }),
        }
    }
    pool.each(&mut groups, |_, group| {
        group.rows = rows.iter().map(|rows| joint_classes(&group.columns, rows)).collect();
    });
    groups
}

/// The joint class of every row of a shard.
fn joint_classes(columns: &[ClassedColumn], rows: &ParticleRows) -> AlignedVec<u8> {
    let mut joint = AlignedVec::zeroed(rows.binned.rows);
    for column in columns {
        let codes = &rows.binned.columns[column.column];
        for (joint, &code) in joint.iter_mut().zip(codes) {
            // At most the number of joint classes less one, which is a byte.
            *joint += (usize::from(column.class_of[usize::from(code)]) * column.stride) as u8;
        }
    }
    joint
}

/// The class of every code, and how many there are.
fn classes<'a>(questions: impl Iterator<Item = &'a RuleTest> + Clone) -> ([u8; 256], usize) {
    let mut known: BTreeMap<Vec<bool>, u8> = BTreeMap::new();
    let mut class_of = [0; 256];
    for code in 0..=255u8 {
        let sides = questions.clone().map(|question| question.goes_right(code)).collect();
        // There are no more classes than codes.
        let next = known.len() as u8;
        class_of[usize::from(code)] = *known.entry(sides).or_insert(next);
    }
    (class_of, known.len())
}

/// The classes that a question sends right, in runs.
fn right(question: &RuleTest, class_of: &[u8; 256]) -> Vec<Range<usize>> {
    let mut classes: Vec<usize> = (0..=255u8)
        .filter(|&code| question.goes_right(code))
        .map(|code| usize::from(class_of[usize::from(code)]))
        .collect();
    classes.sort_unstable();
    classes.dedup();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for class in classes {
        match runs.last_mut() {
            Some(last) if last.end == class => last.end += 1,
            _ => runs.push(class..class + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::particle::Side;

    #[test]
    fn codes_that_no_rule_tells_apart_are_one_class() {
        let above = |code: u8| RuleTest { column: 0, side: Side::Run { first: 0, beyond: code } };
        let mut odd = Box::new([0; 256]);
        odd.iter_mut().skip(3).step_by(4).for_each(|right| *right = 1);
        let questions = [above(10), above(99), RuleTest { column: 0, side: Side::Table(odd) }];
        let (class_of, classes) = classes(questions.iter());
        // Three stretches, each with codes that the last question sends right and with codes that
        // it does not.
        assert_eq!(classes, 6);
        assert_eq!(
            [0, 3, 7, 10, 11, 12, 99, 100, 255].map(|code: usize| class_of[code]),
            [0, 1, 1, 0, 2, 3, 2, 4, 5]
        );
        for question in &questions {
            let runs = right(question, &class_of);
            for code in 0..=255u8 {
                let class = usize::from(class_of[usize::from(code)]);
                assert_eq!(runs.iter().any(|run| run.contains(&class)), question.goes_right(code));
            }
        }
        assert_eq!(right(&questions[1], &class_of), std::slice::from_ref(&(4..6)));
    }
}
