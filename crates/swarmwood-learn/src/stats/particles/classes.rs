//! Columns as the rules of a table see them: codes that no rule tells apart are one class.
//!
//! A table of few rules has few classes per column, and sums by class need little room
//! ([`crate::kernels::cells`]). Classes are numbered in the order of their first codes, so that a
//! cut of a number sends the classes from some number on to the right. Neighbouring columns of few
//! classes are summed together, by the classes of all of them at once: a row is then added once for
//! several columns, and the sums of each column are read off in the end.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use swarmwood_search::rng::fingerprint;

use super::rows::ParticleRows;
use crate::bins::CODES;
use crate::kernels::aligned::AlignedVec;
use crate::kernels::particle::{RuleTest, Side};
use crate::pool::Pool;
use crate::rule::Code;

/// Columns that are summed together may have this many joint classes: with the 32 leaves of five
/// levels their sums still fit the first-level cache.
const JOINT: usize = 64;

/// Columns that rows are summed by together.
#[derive(Debug)]
pub(in crate::stats) struct ClassedGroup<C> {
    /// How many joint classes there are, at most as many as codes.
    pub(in crate::stats) classes: usize,
    /// The columns, at least one.
    pub(in crate::stats) columns: Vec<ClassedColumn<C>>,
    /// The joint class of every row, shard after shard.
    pub(in crate::stats) rows: Vec<AlignedVec<C>>,
}

/// One column that some rule asks about.
#[derive(Debug)]
pub(in crate::stats) struct ClassedColumn<C> {
    column: usize,
    class_of: Vec<C>,
    /// How many classes there are, at most as many as codes.
    pub(in crate::stats) classes: usize,
    /// How far joint classes lie apart that differ by one in the class of this column.
    pub(super) stride: usize,
    /// The rules that ask about it.
    pub(super) rules: Vec<ClassedRule>,
}

/// A rule as a question about classes.
#[derive(Debug, PartialEq)]
pub(in crate::stats) struct ClassedRule {
    /// Its number in the table.
    pub(super) number: usize,
    /// The classes that go right, in runs.
    pub(super) right: Vec<Range<usize>>,
}

/// The columns that the questions ask about, in their order; `codes` says how many codes a column
/// has.
pub(in crate::stats) fn groups<C: Code>(
    questions: &[RuleTest<C>],
    codes: impl Fn(usize) -> usize + Sync,
    rows: &[Arc<ParticleRows<C>>],
    pool: &Pool,
) -> Vec<ClassedGroup<C>> {
    let mut asked: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, question) in questions.iter().enumerate() {
        asked.entry(question.column).or_default().push(number);
    }
    let asked: Vec<(usize, Vec<usize>)> = asked.into_iter().collect();
    let columns = pool.map(asked.len(), |at| {
        let (column, numbers) = &asked[at];
        // Bytes have all their classes, whether or not each code occurs.
        classed_column(*column, numbers, questions, codes(*column).max(CODES))
    });

    let mut groups: Vec<ClassedGroup<C>> = Vec::new();
    for column in columns {
        let classes = column.classes;
        match groups.last_mut() {
            Some(last) if last.classes * classes <= JOINT => {
                last.columns.push(ClassedColumn { stride: last.classes, ..column });
                last.classes *= classes;
            }
            _ => groups.push(ClassedGroup { classes, columns: vec![column], rows: Vec::new() }),
        }
    }
    pool.each(&mut groups, |_, group| {
        group.rows = rows.iter().map(|rows| joint_classes(&group.columns, rows)).collect();
    });
    groups
}

/// A column of so many codes as the questions with these numbers see it.
fn classed_column<C: Code>(
    column: usize,
    numbers: &[usize],
    questions: &[RuleTest<C>],
    codes: usize,
) -> ClassedColumn<C> {
    let (class_of, first_codes) = classes(numbers.iter().map(|&at| &questions[at]), codes);
    let rule =
        |&number: &usize| ClassedRule { number, right: right(&questions[number], &first_codes) };
    let rules = numbers.iter().map(rule).collect();
    ClassedColumn { column, class_of, classes: first_codes.len(), stride: 1, rules }
}

/// The joint class of every row of a shard.
fn joint_classes<C: Code>(columns: &[ClassedColumn<C>], rows: &ParticleRows<C>) -> AlignedVec<C> {
    let mut joint = AlignedVec::<C>::zeroed(rows.binned.rows);
    for column in columns {
        let codes = &rows.binned.columns[column.column];
        for (joint, &code) in joint.iter_mut().zip(codes) {
            // At most the number of joint classes less one, which is a code.
            let class = column.class_of[code.index()].index();
            *joint = C::from_index(joint.index() + class * column.stride);
        }
    }
    joint
}

/// The class of every code, and the first code of every class.
///
/// The questions that send a code right are known by the exclusive or of their 128-bit
/// fingerprints, which changes only where a run begins or ends: comparing all questions of all
/// codes would take as many steps as there are pairs of values.
fn classes<'a, C: Code>(
    questions: impl Iterator<Item = &'a RuleTest<C>>,
    codes: usize,
) -> (Vec<C>, Vec<usize>) {
    let mut changes = vec![0u128; codes];
    for (number, question) in (0..).zip(questions) {
        let name = fingerprint([number]);
        for range in right_codes(question, codes) {
            changes[range.start] ^= name;
            if let Some(after) = changes.get_mut(range.end) {
                *after ^= name;
            }
        }
    }

    let mut known: HashMap<u128, usize> = HashMap::new();
    let (mut class_of, mut first_codes) = (Vec::with_capacity(codes), Vec::new());
    let mut sides = 0;
    for (code, change) in changes.into_iter().enumerate() {
        sides ^= change;
        let class = *known.entry(sides).or_insert_with(|| {
            first_codes.push(code);
            first_codes.len() - 1
        });
        // There are no more classes than codes.
        class_of.push(C::from_index(class));
    }
    (class_of, first_codes)
}

/// The codes that a question sends right, in runs.
fn right_codes<C: Code>(question: &RuleTest<C>, codes: usize) -> Vec<Range<usize>> {
    let goes_right = |code: usize| question.goes_right(C::from_index(code));
    // The sides can change at the ends of the run that goes left only, or anywhere in a table.
    let ends: Vec<usize> = match &question.side {
        Side::Run { first, beyond } => {
            let after = C::from_index((first.index() + beyond.index() + 1) & C::GREATEST.index());
            let (a, b) = (first.index().min(after.index()), first.index().max(after.index()));
            [0, a, b].into_iter().filter(|&code| code < codes).collect()
        }
        Side::Table(_) => (0..codes).collect(),
    };
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, &start) in ends.iter().enumerate() {
        let end = ends.get(at + 1).copied().unwrap_or(codes);
        if start == end || !goes_right(start) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

/// The classes that a question sends right, in runs, given the first code of every class.
fn right<C: Code>(question: &RuleTest<C>, first_codes: &[usize]) -> Vec<Range<usize>> {
    let codes = first_codes.last().map_or(0, |last| last + 1);
    let mut runs: Vec<Range<usize>> = Vec::new();
    for range in right_codes(question, codes) {
        // A class is on the side of its first code, and first codes ascend.
        let class = |code: usize| first_codes.partition_point(|&first| first < code);
        let (start, end) = (class(range.start), class(range.end));
        match runs.last_mut() {
            _ if start == end => {}
            Some(last) if last.end == start => last.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<C: Code>(questions: &[RuleTest<C>], codes: usize, expected: usize) {
        let (class_of, first_codes) = classes(questions.iter(), codes);
        assert_eq!(first_codes.len(), expected);
        // The plain way: codes with the same answers are one class, numbered as they come.
        let mut known: Vec<Vec<bool>> = Vec::new();
        for (code, found) in class_of.iter().enumerate() {
            let sides: Vec<bool> =
                questions.iter().map(|one| one.goes_right(C::from_index(code))).collect();
            let class = known.iter().position(|other| *other == sides).unwrap_or(known.len());
            if class == known.len() {
                known.push(sides);
                assert_eq!(first_codes[class], code);
            }
            assert_eq!(found.index(), class, "code {code}");
        }
        for question in questions {
            let runs = right(question, &first_codes);
            assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start), "{runs:?}");
            for (code, class) in class_of.iter().enumerate() {
                let is_right = runs.iter().any(|run| run.contains(&class.index()));
                assert_eq!(is_right, question.goes_right(C::from_index(code)));
            }
        }
    }

    fn cuts<C: Code>(lasts: &[usize]) -> Vec<RuleTest<C>> {
        lasts.iter().map(|&last| RuleTest::above(0, C::from_index(last), false)).collect()
    }

    #[test]
    fn codes_that_no_rule_tells_apart_are_one_class() {
        let mut odd = [0; 256];
        odd.iter_mut().skip(3).step_by(4).for_each(|right| *right = 1);
        let mut questions: Vec<RuleTest<u8>> = cuts(&[10, 99]);
        questions.push(RuleTest::of_sides(0, &odd));
        // Three stretches, each with codes that the last question sends right and with codes that
        // it does not.
        check(&questions, 256, 6);
        let (class_of, first_codes) = classes(questions.iter(), 256);
        assert_eq!(
            [0, 3, 7, 10, 11, 12, 99, 100, 255].map(|code: usize| class_of[code]),
            [0, 1, 1, 0, 2, 3, 2, 4, 5]
        );
        assert_eq!(right(&questions[1], &first_codes), std::slice::from_ref(&(4..6)));
    }

    #[test]
    fn wide_codes_have_the_classes_of_a_plain_loop() {
        let mut questions: Vec<RuleTest<u16>> = cuts(&[10, 99, 700, 1999]);
        questions.push(RuleTest::above(0, 1999, true));
        questions.push(RuleTest::above(0, 700, true));
        questions.push(RuleTest::of_sides(0, &[0, 0, 0, 1, 0, 0]));
        check(&questions, 2000, 6);
        check::<u32>(&cuts(&[5, 70_000]), 70_010, 3);
        check::<u16>(&cuts(&[5, 65_535]), 65_536, 2);
    }
}
