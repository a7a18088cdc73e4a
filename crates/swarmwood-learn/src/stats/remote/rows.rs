//! Rows on their way to the hosts of their shards: binned where they are read, in one piece per
//! host.

use std::ops::Range;
use std::sync::Arc;

use crate::bins::Layout;
use crate::data::Chunk;
use crate::dataset::{BinnedShard, Plan};
use crate::stats::backend::BackendError;
use crate::stats::codec::{CodecError, Encode, encode_struct, of_bytes, to_bytes};

/// The bytes of a layout.
pub fn encode_layout(layout: &Layout) -> Vec<u8> {
    to_bytes(layout)
}

/// The layout of bytes.
pub fn decode_layout(bytes: &[u8]) -> Result<Arc<Layout>, CodecError> {
    of_bytes::<Layout>(bytes).map(Arc::new)
}

/// Which places of the data set the rows of a chunk take.
#[derive(Debug, Clone, Copy)]
pub enum RowDeal<'a> {
    /// Consecutive ones, from this one on.
    From(usize),
    /// Some rows of the chunk, with their places; a row may have several or none.
    At {
        /// The rows of the chunk.
        rows: &'a [u32],
        /// The place of each of them.
        places: &'a [u64],
    },
}

/// Binned rows for one host.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPiece {
    /// First place and number of rows that follow each other in the data set.
    runs: Vec<[usize; 2]>,
    /// Stored codes, column after column.
    codes: Vec<u8>,
}

encode_struct!(RowPiece { runs, codes });

impl RowPiece {
    /// The piece as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    /// The piece of bytes.
    pub fn of_bytes(bytes: &[u8]) -> Result<RowPiece, CodecError> {
        of_bytes(bytes)
    }
}

/// Bins the rows of a chunk, and parts them by host: `shards` are the shards of each, `rows` the
/// number of all rows. The error is the columns whose features turn out not to be exclusive.
pub fn encode_rows(
    layout: &Layout,
    chunk: &Chunk,
    deal: RowDeal<'_>,
    rows: usize,
    shards: &[Range<usize>],
) -> Result<Vec<RowPiece>, Vec<usize>> {
    let (mut columns, mut conflicts) = (Vec::new(), Vec::new());
    for column in 0..layout.columns().len() {
        let mut codes = vec![0u8; chunk.rows];
        match layout.encode(column, chunk, &mut codes) {
            Ok(()) => columns.push(codes),
            Err(conflict) => conflicts.push(conflict.column),
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }

    let plan = Plan::new(rows);
    let mut taken: Vec<(Vec<[usize; 2]>, Vec<usize>)> = vec![Default::default(); shards.len()];
    let mut take = |row: usize, place: usize| {
        let (shard, _) = plan.local(place);
        let host = shards.iter().position(|shards| shards.contains(&shard));
        let Some((runs, own)) = host.and_then(|host| taken.get_mut(host)) else { return };
        match runs.last_mut() {
            Some([first, count]) if *first + *count == place => *count += 1,
            _ => runs.push([place, 1]),
        }
        own.push(row);
    };
    match deal {
        RowDeal::From(first) => (0..chunk.rows).for_each(|row| take(row, first + row)),
        RowDeal::At { rows, places } => {
            let known = rows.iter().zip(places).filter(|(row, _)| (**row as usize) < chunk.rows);
            known.for_each(|(&row, &place)| take(row as usize, place as usize));
        }
    }
    let piece = |(runs, rows): (Vec<[usize; 2]>, Vec<usize>)| {
        let codes = columns.iter().flat_map(|codes| rows.iter().map(|&row| codes[row])).collect();
        RowPiece { runs, codes }
    };
    Ok(taken.into_iter().map(piece).collect())
}

/// Puts pieces together to shards; every row must come once.
pub(super) fn assemble(
    layout: &Layout,
    plan: Plan,
    shards: Range<usize>,
    pieces: &[RowPiece],
) -> Result<Vec<BinnedShard>, BackendError> {
    let columns = layout.columns();
    let sizes = plan.sizes();
    let mut stored: Vec<Vec<Vec<u8>>> =
        shards.clone().map(|shard| vec![vec![0; sizes[shard]]; columns.len()]).collect();
    let mut filled: Vec<Vec<bool>> =
        shards.clone().map(|shard| vec![false; sizes[shard]]).collect();

    for piece in pieces {
        let mut places = Vec::new();
        for &[first, count] in &piece.runs {
            if first.checked_add(count).is_none_or(|end| end > plan.rows) {
                return Err(broken(format!("row {first} is none of {} rows", plan.rows)));
            }
            places.extend((first..first + count).map(|place| plan.local(place)));
        }
        if piece.codes.len() != places.len() * columns.len() {
            return Err(broken("a piece lacks columns".to_string()));
        }
        for &(shard, row) in &places {
            let own = shard.checked_sub(shards.start).and_then(|at| filled.get_mut(at));
            match own.map(|filled| std::mem::replace(&mut filled[row], true)) {
                Some(false) => {}
                Some(true) => return Err(broken("a row came twice".to_string())),
                None => return Err(broken(format!("shard {shard} is held elsewhere"))),
            }
        }
        let parts = piece.codes.chunks_exact(places.len().max(1));
        for (column, codes) in parts.enumerate() {
            let most = columns[column].codes;
            for (&(shard, row), &code) in places.iter().zip(codes) {
                if usize::from(code) >= most {
                    return Err(broken(format!("column {column} has no code {code}")));
                }
                stored[shard - shards.start][column][row] = code;
            }
        }
    }

    if filled.iter().flatten().any(|&is_filled| !is_filled) {
        return Err(broken("rows are missing: the data changed between two readings".to_string()));
    }
    let sizes = shards.map(|shard| sizes[shard]);
    Ok(stored.into_iter().zip(sizes).map(|(codes, rows)| BinnedShard::new(codes, rows)).collect())
}

fn broken(reason: String) -> BackendError {
    BackendError::Lost { reason }
}
