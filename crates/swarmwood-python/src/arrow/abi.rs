//! The structures of the Arrow C data and stream interfaces, and their ownership.
//!
//! Reference: the Arrow project's "C data interface" and "C stream interface", whose layouts are
//! stable. They are declared here because the `arrow` crates would take longer to compile than
//! everything else in this crate.
//!
//! **Unsafe code.** Pointers come from a producer; they are checked for null, as their counts are,
//! before anything else is read (`validate.rs`). Everything lives as long as the structure that frees
//! it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The type of an array.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The values of an array.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// A sequence of arrays of one schema.
#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// A structure that is freed by its own `release` callback.
#[derive(Debug)]
pub struct OwnedStruct<T: ReleaseCallback>(T);

/// How a structure is freed.
pub trait ReleaseCallback {
    /// Frees what the structure points to, once.
    fn release(&mut self);
}

macro_rules! release {
    ($type:ident) => {
        impl ReleaseCallback for $type {
            fn release(&mut self) {
                if let Some(release) = self.release.take() {
                    // The callback wants to find itself; it sets the field to null again.
                    self.release = Some(release);
                    // SAFETY: the structure was filled by its producer and not freed before.
                    unsafe { release(self) };
                    self.release = None;
                }
            }
        }
    };
}
release!(ArrowSchema);
release!(ArrowArray);
release!(ArrowArrayStream);

impl<T: ReleaseCallback> Drop for OwnedStruct<T> {
    fn drop(&mut self) {
        self.0.release();
    }
}

// SAFETY: the structures are only read after they were filled, and the interface lets any thread
// free them.
unsafe impl<T: ReleaseCallback> Send for OwnedStruct<T> {}
// SAFETY: as above.
unsafe impl<T: ReleaseCallback> Sync for OwnedStruct<T> {}

/// A schema and the arrays that came with it.
pub struct ArrowBatches {
    pub schema: Arc<OwnedStruct<ArrowSchema>>,
    pub batches: Vec<Arc<OwnedStruct<ArrowArray>>>,
}

/// Reads all arrays of the stream that a capsule holds.
pub fn read_stream(capsule: &Bound<'_, PyAny>) -> PyResult<ArrowBatches> {
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("expected an Arrow stream"))?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<ArrowArrayStream>();
    // SAFETY: a capsule of this name holds such a structure. It is moved out: with `release` gone
    // the capsule frees nothing, and a stream that was used up before is seen by its missing
    // function.
    let mut stream = unsafe {
        let moved = pointer.read();
        (*pointer.as_ptr()).release = None;
        OwnedStruct(moved)
    };
    if stream.0.release.is_none() {
        return Err(PyRuntimeError::new_err("the Arrow stream has already been consumed"));
    }
    let mut schema = OwnedStruct(ArrowSchema::empty());
    let get_schema = stream.0.get_schema;
    call(&mut stream.0, |stream| get_schema.map(|get| (get, stream)), &mut schema.0)?;
    let mut batches = Vec::new();
    loop {
        let mut batch = OwnedStruct(ArrowArray::empty());
        let get_next = stream.0.get_next;
        call(&mut stream.0, |stream| get_next.map(|get| (get, stream)), &mut batch.0)?;
        if batch.0.release.is_none() {
            return Ok(ArrowBatches { schema: Arc::new(schema), batches });
        }
        batches.push(Arc::new(batch));
    }
}

/// A function of the stream, and the stream.
type StreamCallback<T> =
    (unsafe extern "C" fn(*mut ArrowArrayStream, *mut T) -> c_int, *mut ArrowArrayStream);

fn call<T>(
    stream: &mut ArrowArrayStream,
    getter: impl FnOnce(*mut ArrowArrayStream) -> Option<StreamCallback<T>>,
    out: &mut T,
) -> PyResult<()> {
    let wrong = || PyRuntimeError::new_err("the Arrow stream lacks a callback");
    let (get, pointer) = getter(stream).ok_or_else(wrong)?;
    // SAFETY: both pointers are valid for the call, and the stream was not freed.
    if unsafe { get(pointer, out) } == 0 {
        return Ok(());
    }
    // SAFETY: as above; the answer is null or a text that lives until the next call.
    let message =
        unsafe { stream.get_last_error.map(|ask| ask(pointer)).filter(|text| !text.is_null()) };
    // SAFETY: a text that is not null ends with a zero byte.
    let message =
        message.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    Err(PyRuntimeError::new_err(message.unwrap_or_else(|| "the Arrow stream failed".to_string())))
}

impl ArrowSchema {
    fn empty() -> Self {
        ArrowSchema {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }

    /// The type, as the interface spells it.
    pub fn format(&self) -> &str {
        text(self.format)
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        text(self.name)
    }

    /// Checks that the children that are counted exist.
    pub fn check_children(&self) -> Result<(), String> {
        check_pointers(self.n_children, self.children)
            .map_err(|message| format!("the schema {message}"))
    }

    /// The types of the columns of a struct.
    pub fn children(&self) -> impl Iterator<Item = &ArrowSchema> {
        // SAFETY: the interface promises as many valid pointers, which live as long as this
        // structure.
        (0..self.n_children as usize).map(|at| unsafe { &**self.children.add(at) })
    }

    /// The type of a dictionary's values, if these are codes.
    pub fn dictionary(&self) -> Option<&ArrowSchema> {
        // SAFETY: null, or a structure that lives as long as this one.
        unsafe { self.dictionary.as_ref() }
    }
}

fn text<'a>(pointer: *const c_char) -> &'a str {
    if pointer.is_null() {
        return "";
    }
    // SAFETY: the interface promises text in UTF-8 that ends with a zero byte.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or("")
}

impl OwnedStruct<ArrowSchema> {
    pub fn get(&self) -> &ArrowSchema {
        &self.0
    }
}

impl OwnedStruct<ArrowArray> {
    pub fn get(&self) -> &ArrowArray {
        &self.0
    }
}

impl ArrowArray {
    fn empty() -> Self {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: std::ptr::null_mut(),
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }

    /// Checks the numbers and pointers that every array has.
    pub fn check_counts(&self) -> Result<(), String> {
        // Positions in buffers are computed in bits and bytes, which must not overflow.
        const MOST: i64 = i64::MAX / 64;
        let (length, offset) = (self.length, self.offset);
        if !(0..=MOST).contains(&length) || !(0..=MOST).contains(&offset) {
            return Err(format!("has {length} values from the index {offset}"));
        }
        if !(-1..=length).contains(&self.null_count) {
            return Err(format!("has {} nulls among {length} values", self.null_count));
        }
        if self.n_buffers < 0 || (self.n_buffers > 0 && self.buffers.is_null()) {
            return Err(format!("has {} buffers, which are missing", self.n_buffers));
        }
        check_pointers(self.n_children, self.children)
    }

    /// Number of buffers.
    pub fn buffer_count(&self) -> usize {
        self.n_buffers as usize
    }

    /// Whether there certainly are nulls; their number may be unknown.
    pub fn has_nulls(&self) -> bool {
        self.null_count > 0
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Where the first row is in the buffers.
    pub fn offset(&self) -> usize {
        self.offset as usize
    }

    /// The columns of a struct.
    pub fn child(&self, at: usize) -> Option<&ArrowArray> {
        // SAFETY: the interface promises as many valid pointers, which live as long as this
        // structure.
        (at < self.n_children as usize).then(|| unsafe { &**self.children.add(at) })
    }

    /// The values that codes stand for.
    pub fn dictionary(&self) -> Option<&ArrowArray> {
        // SAFETY: null, or a structure that lives as long as this one.
        unsafe { self.dictionary.as_ref() }
    }

    /// A buffer; null if there is none.
    pub fn buffer(&self, at: usize) -> *const u8 {
        if at >= self.n_buffers as usize {
            return std::ptr::null();
        }
        // SAFETY: the interface promises as many pointers.
        unsafe { (*self.buffers.add(at)).cast() }
    }

    /// The value at index `at` of a buffer of such values.
    ///
    /// # Safety
    /// The buffer must hold values of the type, and more than `at` of them.
    pub unsafe fn value<T: Copy>(&self, buffer: usize, at: usize) -> T {
        // SAFETY: the caller's.
        unsafe { self.buffer(buffer).cast::<T>().add(at).read_unaligned() }
    }

    /// Whether an index, counted from the start of the buffers, holds a value.
    pub fn is_valid(&self, index: usize) -> bool {
        // With a null count of zero there may be no bitmap.
        self.null_count == 0 || bit(self.buffer(0), index).unwrap_or(true)
    }

    /// A bit of a buffer of bits.
    pub fn bit(&self, buffer: usize, index: usize) -> bool {
        bit(self.buffer(buffer), index).unwrap_or(false)
    }

    /// Bytes of a buffer.
    ///
    /// # Safety
    /// The buffer must hold them.
    pub unsafe fn bytes(&self, buffer: usize, start: usize, length: usize) -> &[u8] {
        let first = self.buffer(buffer);
        if first.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(first.add(start), length) }
    }
}

/// Checks that as many structures exist as are counted.
fn check_pointers<T>(count: i64, pointers: *mut *mut T) -> Result<(), String> {
    if count < 0 || (count > 0 && pointers.is_null()) {
        return Err(format!("has {count} children, which are missing"));
    }
    // SAFETY: the producer counts as many pointers.
    let missing = (0..count as usize).find(|&at| unsafe { (*pointers.add(at)).is_null() });
    missing.map_or(Ok(()), |at| Err(format!("has no child {at} of {count}")))
}

fn bit(bits: *const u8, index: usize) -> Option<bool> {
    // SAFETY: a bitmap that exists covers every index of its array.
    (!bits.is_null()).then(|| unsafe { *bits.add(index / 8) } >> (index % 8) & 1 == 1)
}
