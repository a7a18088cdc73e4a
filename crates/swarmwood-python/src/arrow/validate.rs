//! Validation of imported arrays: nothing that a producer wrote into an array is believed before it
//! is checked here.
//!
//! The C data interface passes no sizes of buffers, except for string views. What can be checked
//! without them is checked: counts, null pointers, the order of offsets, views, codes of
//! dictionaries, UTF-8. An offsets buffer that is consistent in itself and longer than its text
//! cannot be recognized here; the Python side asks pyarrow, which knows the sizes, to validate its
//! own tables.
//!
//! **Unsafe code.** Reads within the lengths that were checked before.
#![allow(unsafe_code)]

use super::abi::{ArrowArray, ArrowSchema};
use super::{NumberType, number_at, number_type};

/// What is wrong with an array.
type Validity = Result<(), String>;

/// Levels of nested types; deeper ones are not supported anyway.
const MAX_DEPTH: usize = 8;

/// Checks a schema: children that are counted exist.
pub fn check_schema(schema: &ArrowSchema) -> Validity {
    check_nested_schema(schema, 0)
}

fn check_nested_schema(schema: &ArrowSchema, depth: usize) -> Validity {
    if depth > MAX_DEPTH {
        return Err(format!("the schema is nested more than {MAX_DEPTH} levels deep"));
    }
    schema.check_children()?;
    let dictionary = schema.dictionary();
    schema.children().chain(dictionary).try_for_each(|child| check_nested_schema(child, depth + 1))
}

/// Checks a batch against the schema of its stream.
pub fn check_batch(schema: &ArrowSchema, batch: &ArrowArray) -> Validity {
    if schema.format() != "+s" {
        return check_column(schema, batch, batch.offset(), batch.len());
    }

    batch.check_counts()?;
    let end = batch.offset() + batch.len();
    for (at, child_schema) in schema.children().enumerate() {
        let Some(child) = batch.child(at) else {
            return Err(format!("a batch has no column {at}, which the schema has"));
        };
        let named = |message: String| format!("column '{}': {message}", child_schema.name());

        child.check_counts().map_err(named)?;
        if child.len() < end {
            let message = format!("has {} values, but its batch has {end} rows", child.len());
            return Err(named(message));
        }

        // The offset and length of a struct apply to its columns as well.
        let first = batch.offset() + child.offset();
        check_column(child_schema, child, first, batch.len()).map_err(named)?;
    }
    Ok(())
}

/// Checks the rows of a column; `first` is the index of the first one in the buffers.
fn check_column(schema: &ArrowSchema, array: &ArrowArray, first: usize, rows: usize) -> Validity {
    array.check_counts()?;
    let format = schema.format();
    match (schema.dictionary(), array.dictionary()) {
        (None, None) => check_values(format, array, first, rows),
        (Some(values), Some(dictionary)) => {
            check_values(format, array, first, rows)?;
            if values.dictionary().is_some() || dictionary.dictionary().is_some() {
                return Err("a dictionary has a dictionary of its own".to_string());
            }
            dictionary.check_counts()?;
            let offset = dictionary.offset();
            check_values(values.format(), dictionary, offset, dictionary.len())?;
            check_codes(format, array, first, rows, dictionary.len())
        }
        (Some(_), None) => Err("its dictionary is missing".to_string()),
        (None, Some(_)) => Err("has a dictionary, which its schema has not".to_string()),
    }
}

/// Checks the buffers of a layout. Unknown layouts are refused by the import.
fn check_values(format: &str, array: &ArrowArray, first: usize, rows: usize) -> Validity {
    match (format, number_type(format)) {
        (_, Some(NumberType::Null)) => return Ok(()),
        (_, Some(_)) | ("b", _) => check_buffers(array, 2, rows > 0)?,
        ("u" | "U", _) => check_buffers(array, 3, rows > 0)?,
        ("vu", _) => check_buffers(array, 3, rows > 0)?,
        _ => return Ok(()),
    }

    // SAFETY: the buffers of the layout exist, and rows are within the length of the array.
    unsafe {
        match format {
            "u" => {
                check_offsets(array, first, rows, |array, at| i64::from(array.value::<i32>(1, at)))
            }
            "U" => check_offsets(array, first, rows, |array, at| array.value::<i64>(1, at)),
            "vu" => check_views(array, first, rows),
            _ => Ok(()),
        }
    }
}

/// Checks the number of buffers, and that the one with the values exists if there are any.
fn check_buffers(array: &ArrowArray, least: usize, has_rows: bool) -> Validity {
    if array.buffer_count() < least {
        return Err(format!("has {} buffers, must have {least}", array.buffer_count()));
    }
    if has_rows && array.buffer(1).is_null() {
        return Err("its values are missing".to_string());
    }
    if array.has_nulls() && array.buffer(0).is_null() {
        return Err("has nulls, but no bitmap that says which".to_string());
    }
    Ok(())
}

/// Checks that offsets never decrease, so that every text is within the buffer that ends where the
/// last text ends, and that texts are UTF-8.
fn check_offsets(
    array: &ArrowArray,
    first: usize,
    rows: usize,
    offset: impl Fn(&ArrowArray, usize) -> i64,
) -> Validity {
    if rows == 0 {
        return Ok(());
    }

    let mut start = offset(array, first);
    let (begin, end) = (start, offset(array, first + rows));
    if begin < 0 || end < begin {
        return Err(format!("its text is from byte {begin} to byte {end}"));
    }
    if end > begin && array.buffer(2).is_null() {
        return Err("its text is missing".to_string());
    }

    for row in 0..rows {
        let stop = offset(array, first + row + 1);
        if stop < start || stop > end {
            return Err(format!(
                "row {row}: its text is from byte {start} to byte {stop} of {end}"
            ));
        }
        if array.is_valid(first + row) {
            // SAFETY: offsets do not decrease, and the buffer reaches to the last one.
            let bytes = unsafe { array.bytes(2, start as usize, (stop - start) as usize) };
            check_utf8(bytes, row)?;
        }
        start = stop;
    }
    Ok(())
}

fn check_utf8(bytes: &[u8], row: usize) -> Validity {
    std::str::from_utf8(bytes)
        .map(|_| ())
        .map_err(|error| format!("row {row}: its text is not UTF-8: {error}"))
}

/// Checks string views: buffers and positions of long texts are within the sizes that the last
/// buffer of the array lists.
///
/// # Safety
/// There must be a view for every row.
unsafe fn check_views(array: &ArrowArray, first: usize, rows: usize) -> Validity {
    let text_buffers = array.buffer_count() - 3;
    let sizes = array.buffer_count() - 1;
    if text_buffers > 0 && array.buffer(sizes).is_null() {
        return Err("the sizes of its buffers are missing".to_string());
    }

    for row in 0..rows {
        let index = first + row;
        if !array.is_valid(index) {
            continue;
        }

        // SAFETY: the caller's; a view is four words: length, start of the text, buffer, offset.
        let [length, buffer, offset] =
            unsafe { [0, 2, 3].map(|word| i64::from(array.value::<i32>(1, 4 * index + word))) };
        if length > 12 {
            if !(0..text_buffers as i64).contains(&buffer) {
                return Err(format!("row {row}: its text is in buffer {buffer} of {text_buffers}"));
            }
            // SAFETY: there are as many sizes as buffers of text.
            let size = unsafe { array.value::<i64>(sizes, buffer as usize) };
            if offset < 0 || offset + length > size || array.buffer(2 + buffer as usize).is_null() {
                return Err(format!(
                    "row {row}: its text is {length} bytes from byte {offset} of {size}"
                ));
            }
        } else if length < 0 {
            return Err(format!("row {row}: its text has {length} bytes"));
        }

        // SAFETY: the view is valid.
        check_utf8(unsafe { super::view(array, index) }, row)?;
    }
    Ok(())
}

/// Checks that codes are within a dictionary.
fn check_codes(
    format: &str,
    array: &ArrowArray,
    first: usize,
    rows: usize,
    values: usize,
) -> Validity {
    let kind = match number_type(format) {
        None
        | Some(
            NumberType::F16
            | NumberType::F32
            | NumberType::F64
            | NumberType::Null
            | NumberType::Days
            | NumberType::Moment { .. },
        ) => {
            return Err(format!("its codes have the type '{format}', must be integers"));
        }
        Some(kind) => kind,
    };

    for row in (0..rows).filter(|row| array.is_valid(first + row)) {
        let code = number_at(array, kind, first + row);
        if !(0.0..values as f64).contains(&code) {
            return Err(format!("row {row}: its code is {code}, but the dictionary has {values}"));
        }
    }
    Ok(())
}
