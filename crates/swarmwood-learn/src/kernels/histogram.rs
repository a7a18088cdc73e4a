//! Sums of packed gradients by code, for all columns of a group in one pass over the rows.
//!
//! A packed value holds a gradient in its upper and a hessian in its lower half (see [`super::quantise`]); one 64-bit
//! addition sums both, exactly, in any order. The number of columns is a constant of the compiled loop, which is worth a
//! factor of 1.4 over a run-time one.

use crate::bins::CODES;
use crate::dataset::Group;

/// Entries of one column's table. The padding keeps the tables of neighbouring columns out of the same cache sets.
pub const TABLE: usize = CODES + 8;

/// Adds every row of a group to the tables of its columns.
pub fn add_all(group: &Group, packed: &[u64], tables: &mut [u64]) {
    each_width(group, Rows::All, packed, tables);
}

/// Adds the listed rows of a group to the tables of its columns.
pub fn add_listed(group: &Group, rows: &[u32], packed: &[u64], tables: &mut [u64]) {
    each_width(group, Rows::Listed(rows), packed, tables);
}

#[derive(Clone, Copy)]
enum Rows<'a> {
    All,
    Listed(&'a [u32]),
}

fn each_width(group: &Group, rows: Rows<'_>, packed: &[u64], tables: &mut [u64]) {
    macro_rules! by_count {
        ($($count:literal: $width:literal),*) => {
            match group.count {
                $($count => add::<$count, $width>(&group.records, rows, packed, tables),)*
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

fn add<const COUNT: usize, const WIDTH: usize>(records: &[u8], rows: Rows<'_>, packed: &[u64], tables: &mut [u64]) {
    let (records, _) = records.as_chunks::<WIDTH>();
    let (tables, _) = tables.as_chunks_mut::<TABLE>();
    let tables: &mut [[u64; TABLE]; COUNT] = tables.try_into().expect("one table a column");
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
        let packed: Vec<u64> = (0..rows as u64).map(|r| (r.wrapping_mul(0x9E37_79B9) << 32).wrapping_add(r)).collect();
        let list: Vec<u32> = (0..rows as u32).filter(|r| r % 3 == 1).collect();
        for count in 1..=32 {
            let width = Group::width(count);
            let group = Group { first: 0, count, records: records(rows, count, width) };
            let plain = |list: &mut dyn Iterator<Item = usize>| {
                let mut tables = vec![0u64; count * TABLE];
                for row in list {
                    for column in 0..count {
                        let code = usize::from(group.records[row * width + column]);
                        let sum = &mut tables[column * TABLE + code];
                        *sum = sum.wrapping_add(packed[row]);
                    }
                }
                tables
            };
            let mut tables = vec![0; count * TABLE];
            add_all(&group, &packed, &mut tables);
            assert_eq!(tables, plain(&mut (0..rows)));
            let mut tables = vec![0; count * TABLE];
            add_listed(&group, &list, &packed, &mut tables);
            assert_eq!(tables, plain(&mut list.iter().map(|&r| r as usize)));
        }
    }
}
