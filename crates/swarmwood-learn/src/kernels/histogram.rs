//! Sums of packed gradients by code, for all columns of a group in one pass over the rows.
//!
//! A packed value holds a gradient in its upper and a hessian in its lower half (see
//! [`super::quantise`]); one 64-bit addition sums both, exactly, in any order. The number of
//! columns is a constant of the compiled loop, which is worth a factor of 1.4 over a run-time one.

use std::ops::Range;

use crate::bins::CODES;
use crate::dataset::ColumnGroup;

/// Entries of one column's table. The padding keeps the tables of neighbouring columns out of the
/// same cache sets.
pub const TABLE: usize = CODES + 8;

/// Adds every row of a group to the tables of some of its columns.
pub fn add_all(group: &ColumnGroup, columns: Range<usize>, packed: &[u64], tables: &mut [u64]) {
    each_count(group, columns, Rows::All, packed, tables);
}

/// Adds the listed rows of a group to the tables of some of its columns.
pub fn add_listed(
    group: &ColumnGroup,
    columns: Range<usize>,
    rows: &[u32],
    packed: &[u64],
    tables: &mut [u64],
) {
    each_count(group, columns, Rows::Listed(rows), packed, tables);
}

#[derive(Clone, Copy)]
enum Rows<'a> {
    All,
    Listed(&'a [u32]),
}

fn each_count(
    group: &ColumnGroup,
    columns: Range<usize>,
    rows: Rows<'_>,
    packed: &[u64],
    tables: &mut [u64],
) {
    let (width, first) = (ColumnGroup::width(group.count), columns.start);
    let whole = columns.len() == group.count;
    macro_rules! by_count {
        ($($count:literal: $width:literal),*) => {
            match columns.len() {
                $($count if whole => add::<$count, $width>(&group.records, rows, packed, tables),
                $count => add_part::<$count>(&group.records, width, first, rows, packed, tables),)*
                _ => unreachable!("a group holds 1 to 32 columns"),
            }
        };
    }
    by_count!(
        1: 4, 2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 8: 8, 9: 12, 10: 12, 11: 12, 12: 12, 13: 16, 14: 16, 15: 16,
        16: 16, 17: 20, 18: 20, 19: 20, 20: 20, 21: 24, 22: 24, 23: 24, 24: 24, 25: 28, 26: 28, 27: 28, 28: 28, 29: 32,
        30: 32, 31: 32, 32: 32
    );
}

fn add<const COUNT: usize, const WIDTH: usize>(
    records: &[u8],
    rows: Rows<'_>,
    packed: &[u64],
    tables: &mut [u64],
) {
    let (records, _) = records.as_chunks::<WIDTH>();
    let tables = each_table::<COUNT>(tables);
    match rows {
        Rows::All => {
            for (record, &packed) in records.iter().zip(packed) {
                add_row(record, packed, tables);
            }
        }
        Rows::Listed(rows) => {
            let packed = &packed[..records.len()];
            for &row in rows {
                add_row(&records[row as usize], packed[row as usize], tables);
            }
        }
    }
}

/// The same for some columns of wider records.
fn add_part<const COUNT: usize>(
    records: &[u8],
    width: usize,
    first: usize,
    rows: Rows<'_>,
    packed: &[u64],
    tables: &mut [u64],
) {
    let tables = each_table::<COUNT>(tables);
    let part = |record: &[u8]| -> [u8; COUNT] {
        *record.first_chunk().expect("records hold their columns")
    };
    match rows {
        Rows::All => {
            for (record, &packed) in records.chunks_exact(width).zip(packed) {
                add_row(&part(&record[first..]), packed, tables);
            }
        }
        Rows::Listed(rows) => {
            for &row in rows {
                add_row(
                    &part(&records[row as usize * width + first..]),
                    packed[row as usize],
                    tables,
                );
            }
        }
    }
}

fn each_table<const COUNT: usize>(tables: &mut [u64]) -> &mut [[u64; TABLE]; COUNT] {
    let (tables, _) = tables.as_chunks_mut::<TABLE>();
    tables.try_into().expect("one table a column")
}

/// A call a row would cost as much as the additions.
#[inline(always)]
fn add_row<const COUNT: usize, const WIDTH: usize>(
    record: &[u8; WIDTH],
    packed: u64,
    tables: &mut [[u64; TABLE]; COUNT],
) {
    for column in 0..COUNT {
        let sum = &mut tables[column][usize::from(record[column])];
        *sum = sum.wrapping_add(packed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(rows: usize, count: usize, width: usize) -> Vec<u8> {
        let mut records = vec![0; rows * width];
        for row in 0..rows {
            for column in 0..count {
                records[row * width + column] = (row * 31 + column * 17 + row * column) as u8;
            }
        }
        records
    }

    #[test]
    fn every_width_equals_the_plain_loop() {
        let rows = 500;
        let packed: Vec<u64> =
            (0..rows as u64).map(|r| (r.wrapping_mul(0x9E37_79B9) << 32).wrapping_add(r)).collect();
        let list: Vec<u32> = (0..rows as u32).filter(|r| r % 3 == 1).collect();
        for count in 1..=32 {
            let width = ColumnGroup::width(count);
            let group = ColumnGroup { first: 0, count, records: records(rows, count, width) };
            let plain = |columns: Range<usize>, list: &mut dyn Iterator<Item = usize>| {
                let mut tables = vec![0u64; columns.len() * TABLE];
                for row in list {
                    for (at, column) in columns.clone().enumerate() {
                        let code = usize::from(group.records[row * width + column]);
                        let sum = &mut tables[at * TABLE + code];
                        *sum = sum.wrapping_add(packed[row]);
                    }
                }
                tables
            };
            for columns in [0..count, 0..count.div_ceil(2), count / 3..count] {
                let mut tables = vec![0; columns.len() * TABLE];
                add_all(&group, columns.clone(), &packed, &mut tables);
                assert_eq!(tables, plain(columns.clone(), &mut (0..rows)));
                let mut tables = vec![0; columns.len() * TABLE];
                add_listed(&group, columns.clone(), &list, &packed, &mut tables);
                assert_eq!(tables, plain(columns, &mut list.iter().map(|&r| r as usize)));
            }
        }
    }
}
