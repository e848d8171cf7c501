//! `explain`: why the arena is as large as it is.

use plimsoll_cli::Explanation as Explained;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{CHOICES, DIMS, EXPLAINING, MODEL, PACKING, arguments};
use crate::error::wrong;
use crate::plan::{Plan, source};
use crate::watching::watched;

/// Why an arena is as large as it is, and what would lower it by how much.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Explanation {
    explained: Explained,
}

/// Explains the peak of a model, or of the model of a plan, and what would lower it. With a `budget`, what
/// it takes to fit. Every saving that is told was planned again and verified.
///
/// >>> import plimsoll
/// >>> explanation = plimsoll.explain(budget="64KiB")
/// >>> explanation.fits
/// True
#[pyfunction]
#[pyo3(signature = (model = None, *, progress = None, **options))]
pub(crate) fn explain(
    py: Python<'_>,
    model: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Explanation> {
    let said = arguments("explain", options, &[DIMS, MODEL, CHOICES, PACKING, EXPLAINING])?;
    let (source, said) = match model.and_then(|model| model.cast::<Plan>().ok()) {
        None => (source(model)?, said),
        Some(plan) => {
            let (source, planned_with) = plan
                .get()
                .origin()
                .ok_or_else(|| wrong("a plan of a declared program: only models are explained"))?;
            (source.clone(), [planned_with, &said].concat())
        }
    };
    let explained = watched(py, progress, |watcher| Explained::new(source, &said, watcher))?;
    Ok(Explanation { explained })
}

#[pymethods]
impl Explanation {
    /// Whether it fits the budget, or something makes it fit; true without a budget.
    #[getter]
    fn fits(&self) -> bool {
        self.explained.fits
    }

    /// The explanation as JSON.
    fn to_json(&self) -> &str {
        &self.explained.json
    }

    fn __repr__(&self) -> &str {
        self.explained.text.trim_end()
    }
}
