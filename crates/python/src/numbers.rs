//! Numbers from lists and arrays, and back.
//!
//! An array (of numpy, of the module `array`, or whatever has a buffer) is taken as its bytes, in one copy,
//! and a list number by number. Where an array came in, an array of numpy goes out.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::error::wrong;

/// A column of numbers.
pub(crate) struct Column {
    pub(crate) numbers: Vec<i64>,
    /// Whether it came as an array.
    pub(crate) is_array: bool,
}

/// Reads a column.
pub(crate) fn column(name: &str, source: &Bound<'_, PyAny>) -> PyResult<Column> {
    if source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>() {
        return Ok(Column { numbers: listed(name, source)?, is_array: false });
    }
    let builtins = source.py().import("builtins")?;
    let Ok(view) = builtins.getattr("memoryview")?.call1((source,)) else {
        return Ok(Column { numbers: listed(name, source)?, is_array: false });
    };
    let format: String = view.getattr("format")?.extract()?;
    if view.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(wrong(format!("{name}: has to have one dimension")));
    }
    let width: usize = view.getattr("itemsize")?.extract()?;
    let bytes = view.call_method0("tobytes")?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    let numbers = decoded(bytes, format.trim_start_matches(['@', '=']), width);
    let numbers = numbers.ok_or_else(|| {
        wrong(format!("{name}: elements have to be integers below 2^63, not {format:?}"))
    })?;
    Ok(Column { numbers, is_array: true })
}

fn listed(name: &str, source: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let number = |(row, element): (usize, PyResult<Bound<'_, PyAny>>)| {
        let element = element?;
        let number = element.extract::<i64>();
        number.map_err(|_| wrong(format!("{name}: row {row}: {element} is no integer below 2^63")))
    };
    source.try_iter()?.enumerate().map(number).collect()
}

/// The integers that bytes in the order of the machine are; `None` if they are none, or too large.
fn decoded(bytes: &[u8], format: &str, width: usize) -> Option<Vec<i64>> {
    macro_rules! each {
        ($number:ty) => {
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| <$number>::from_ne_bytes(*b).try_into().ok())
                .collect()
        };
    }
    let is_signed = matches!(format, "b" | "h" | "i" | "l" | "q" | "n");
    let is_unsigned = matches!(format, "B" | "H" | "I" | "L" | "Q" | "N");
    match (is_signed, is_unsigned, width) {
        (true, _, 1) => each!(i8),
        (true, _, 2) => each!(i16),
        (true, _, 4) => each!(i32),
        (true, _, 8) => each!(i64),
        (_, true, 1) => each!(u8),
        (_, true, 2) => each!(u16),
        (_, true, 4) => each!(u32),
        (_, true, 8) => each!(u64),
        _ => None,
    }
}

/// Offsets as an array of numpy, or as a list.
pub(crate) fn offsets<'py>(
    py: Python<'py>,
    offsets: &[u64],
    as_array: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if !as_array {
        return Ok(PyList::new(py, offsets)?.into_any());
    }
    let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect();
    py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, &bytes), "u8"))
}
