//! `fit`: the same model in less memory.

use std::path::PathBuf;

use plimsoll_cli::FittedModel;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{CHOICES, DIMS, FITTING, MODEL, PACKING, arguments};
use crate::error::raised;
use crate::plan::source;
use crate::watching::watched;

/// What was found for a model: one that meets the goal, or the frontier of arenas against arithmetic.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Fitted {
    fitted: FittedModel,
}

/// Rewrites an ONNX model so that it computes the same in less memory.
///
/// With a `budget`, the least arithmetic that fits; with `most_arithmetic` (in percent), the smallest arena
/// for that price; with neither, the frontier. `output` is where the rewritten model is written, a file
/// that any runtime executes. A budget that nothing meets raises DoesNotFit, with the smallest arena found.
///
/// >>> import plimsoll
/// >>> fitted = plimsoll.fit(most_arithmetic=0)
/// >>> fitted.source_arena_bytes, fitted.arena_bytes < 40000
/// (81920, True)
#[pyfunction]
#[pyo3(signature = (model = None, *, output = None, progress = None, **options))]
pub(crate) fn fit(
    py: Python<'_>,
    model: Option<&Bound<'_, PyAny>>,
    output: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Fitted> {
    let source = source(model)?;
    let said = arguments("fit", options, &[DIMS, MODEL, CHOICES, PACKING, FITTING])?;
    let fitted = watched(py, progress, |watcher| FittedModel::new(source, &said, watcher))?;
    if let Some(path) = output {
        fitted.save(&path).map_err(raised)?;
    }
    Ok(Fitted { fitted })
}

#[pymethods]
impl Fitted {
    /// The arena of the model as it is.
    #[getter]
    fn source_arena_bytes(&self) -> u64 {
        self.fitted.source_arena_bytes()
    }

    /// The arena of the model that meets the goal; the smallest of the frontier without one.
    #[getter]
    fn arena_bytes(&self) -> u64 {
        self.fitted.arena_bytes()
    }

    /// The points that were found, as in the JSON: a dict each, with arena_bytes, multiply_adds and more.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = py.import("json")?.call_method1("loads", (self.to_json()?,))?;
        object.get_item("points")
    }

    /// What was found, as JSON.
    fn to_json(&self) -> PyResult<String> {
        self.fitted.json().map_err(raised)
    }

    /// Writes it to a file, in the form that its extension says: the rewritten model as .onnx, the frontier as
    /// .html, .svg, .json or .txt.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.fitted.save(&path).map_err(raised)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(self.fitted.text().map_err(raised)?.trim_end().to_owned())
    }
}
