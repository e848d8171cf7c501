//! The Python package `plimsoll-planner`, module `plimsoll`: packing, planning, explaining, fitting and running from
//! Python.
//!
//! Thin: arguments become those of the command, so that there is one set of options with one meaning, and
//! results are asked for what the command would print. Long work releases the interpreter, tells how far it
//! has come, and is interrupted by Ctrl-C.

mod arguments;
mod error;
mod explanation;
mod fitted;
mod numbers;
mod packing;
mod plan;
mod program;
mod session;
mod watching;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The command, with its arguments, its name first; the exit status.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| plimsoll_cli::command(arguments))
}

/// The bytes that a size means: a number, or text like "256KiB".
#[pyfunction]
fn size_bytes(size: &Bound<'_, PyAny>) -> PyResult<u64> {
    match size.extract::<u64>() {
        Ok(bytes) => Ok(bytes),
        Err(_) => plimsoll_cli::parse_size(&size.extract::<String>()?).map_err(error::wrong),
    }
}

/// What is written in Rust; `plimsoll` shows it.
#[pymodule]
fn _plimsoll(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add("DoesNotFit", module.py().get_type::<error::DoesNotFit>())?;
    module.add_class::<packing::Packing>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<explanation::Explanation>()?;
    module.add_class::<fitted::Fitted>()?;
    module.add_class::<session::Session>()?;
    module.add_function(wrap_pyfunction!(packing::pack, module)?)?;
    module.add_function(wrap_pyfunction!(packing::check, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(explanation::explain, module)?)?;
    module.add_function(wrap_pyfunction!(fitted::fit, module)?)?;
    module.add_function(wrap_pyfunction!(size_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)
}
