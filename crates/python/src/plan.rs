//! `plan`: a model in, its plan out.

use std::ffi::OsString;
use std::path::PathBuf;

use bytes::Bytes;
use plimsoll::{Place, Program as _, ValueId, VerifiedPlan, verify};
use plimsoll_cli::{ModelSource, NoAnswer, PlannedModel, PlannedProgram};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::arguments::{CHOICES, DIMS, MODEL, PACKING, WRITING, arguments};
use crate::error::{raised, wrong};
use crate::watching::watched;

/// A verified plan: where every value is, and in which order the steps run.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Plan {
    of: Of,
    /// The plan as the object that its JSON is.
    object: PyOnceLock<Py<PyAny>>,
}

/// What is planned.
enum Of {
    Model { planned: Box<PlannedModel>, source: ModelSource, arguments: Vec<OsString> },
    Program(Box<PlannedProgram>),
}

/// Plans the memory of a model.
///
/// `model` is a path (.onnx, .plim, a training graph in .json), the bytes of such a file, or an
/// onnx.ModelProto; None is a small sample. The options are those of `plimsoll plan`: `dims`,
/// `input_shapes`, `order`, `kernels`, `align`, `place`, `budget` and so on. `progress` is called now and
/// then with a line of text.
///
/// >>> import plimsoll
/// >>> plan = plimsoll.plan(b"plim 1\ninput x: f32[256]\na = relu(x)\nb = relu(a)\noutput b\n")
/// >>> plan.arena_bytes, plan.offsets["a"]
/// (1024, 0)
#[pyfunction]
#[pyo3(signature = (model = None, *, progress = None, **options))]
pub(crate) fn plan(
    py: Python<'_>,
    model: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Plan> {
    let source = source(model)?;
    let arguments = arguments("plan", options, &[DIMS, MODEL, CHOICES, PACKING, WRITING])?;
    let planned =
        watched(py, progress, |watcher| PlannedModel::new(source.clone(), &arguments, watcher))?;
    for note in planned.notes() {
        let warn = py.import("warnings")?.getattr("warn")?;
        warn.call1((note, py.get_type::<PyUserWarning>(), 2))?;
    }
    Ok(Plan::new(Of::Model { planned: Box::new(planned), source, arguments }))
}

/// Where a model comes from.
pub(crate) fn source(model: Option<&Bound<'_, PyAny>>) -> PyResult<ModelSource> {
    let Some(model) = model else { return Ok(ModelSource::Sample) };
    if model.is_instance_of::<PyString>() || model.hasattr("__fspath__")? {
        return Ok(ModelSource::File(model.extract()?));
    }
    let model = match model.getattr_opt("SerializeToString")? {
        Some(serialise) => serialise.call0()?,
        None => model.clone(),
    };
    let bytes = model.py().import("builtins")?.getattr("bytes")?;
    if !model.is_instance_of::<PyBytes>() && !model.hasattr("__len__")? {
        let kind = model.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a model is a path, bytes or an onnx.ModelProto, not {kind}"
        )));
    }
    let model = bytes.call1((model,))?;
    Ok(ModelSource::Memory(Bytes::copy_from_slice(model.cast::<PyBytes>()?.as_bytes())))
}

impl Plan {
    fn new(of: Of) -> Self {
        Plan { of, object: PyOnceLock::new() }
    }

    /// The plan of a declared program.
    pub(crate) fn of_program(planned: PlannedProgram) -> Self {
        Plan::new(Of::Program(Box::new(planned)))
    }

    /// Where the model came from and how it was planned, if it is one.
    pub(crate) fn origin(&self) -> Option<(&ModelSource, &[OsString])> {
        match &self.of {
            Of::Model { source, arguments, .. } => Some((source, arguments)),
            Of::Program(_) => None,
        }
    }

    fn plan(&self) -> &VerifiedPlan {
        match &self.of {
            Of::Model { planned, .. } => planned.plan(),
            Of::Program(planned) => planned.plan(),
        }
    }

    fn with_program<T>(
        &self,
        ask: impl FnOnce(&dyn plimsoll::Program) -> T,
    ) -> Result<T, NoAnswer> {
        match &self.of {
            Of::Model { planned, .. } => Ok(ask(&planned.program()?)),
            Of::Program(planned) => Ok(ask(planned.program())),
        }
    }

    fn render(&self, extension: &str) -> PyResult<String> {
        let bytes = match &self.of {
            Of::Model { planned, .. } => planned.render(extension),
            Of::Program(planned) => planned.render(extension),
        };
        String::from_utf8(bytes.map_err(raised)?).map_err(wrong)
    }

    /// The plan as the object that its JSON is.
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object.get_or_try_init(py, || {
            let object = py.import("json")?.call_method1("loads", (self.render("json")?,))?;
            Ok::<_, PyErr>(object.unbind())
        })?;
        Ok(object.bind(py).clone())
    }
}

#[pymethods]
impl Plan {
    /// The bytes of the arena; of all banks, if there are several.
    #[getter]
    fn arena_bytes(&self) -> u64 {
        self.plan().arena_bytes()
    }

    /// Below this no arena can be, in this order and with this sharing.
    #[getter]
    fn lower_bound_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.get_item("lower_bound_bytes")
    }

    /// "optimal" if no arena can be smaller, in this order and with this sharing; else "feasible".
    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.get_item("status")
    }

    /// What it would take with a place of its own for every value.
    #[getter]
    fn unshared_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.get_item("unshared_bytes")
    }

    /// The names of the steps, in the order in which they run.
    #[getter]
    fn schedule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.get_item("schedule")
    }

    /// The numbers of the steps, in the order in which they run.
    #[getter]
    fn steps(&self) -> Vec<u32> {
        self.plan().schedule.iter().map(|step| step.0).collect()
    }

    /// The values, as in the JSON of the plan: a dict each, with name, bytes, start, end, storage, and bank
    /// and offset if it has a place.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py)?.get_item("values")
    }

    /// Where each value that has a place is: names to offsets.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let named = |program: &dyn plimsoll::Program| {
            let places = self.plan().places.iter().enumerate();
            let slots = places.filter_map(|(id, place)| match place {
                Place::Bank(slot) => Some((ValueId::new(id), slot.offset)),
                Place::External | Place::Outside { .. } | Place::Elided => None,
            });
            slots.map(|(id, offset)| (program.value_name(id).into_owned(), offset)).collect()
        };
        let named: Vec<(String, u64)> = self.with_program(named).map_err(raised)?;
        let offsets = PyDict::new(py);
        for (name, offset) in named {
            offsets.set_item(name, offset)?;
        }
        Ok(offsets)
    }

    /// Where the value of that number is; None if it has no place in the plan.
    fn offset(&self, value: usize) -> PyResult<Option<u64>> {
        match self.plan().places.get(value) {
            None => Err(PyKeyError::new_err(format!("there is no value {value}"))),
            Some(Place::Bank(slot)) => Ok(Some(slot.offset)),
            Some(Place::External | Place::Outside { .. } | Place::Elided) => Ok(None),
        }
    }

    /// Verifies the plan once more, by the independent verifier; raises an Error that lists all violations.
    fn verify(&self) -> PyResult<()> {
        let again = |program: &dyn plimsoll::Program| {
            verify(program, self.plan().clone().into_plan()).map(|_| ()).map_err(wrong)
        };
        self.with_program(again).map_err(raised)?
    }

    /// The plan as JSON (plimsoll.plan/1), which `plimsoll verify` takes.
    fn to_json(&self) -> PyResult<String> {
        self.render("json")
    }

    /// Writes the plan to a file, in the form that its extension says: .json, .html (the map), .svg, .tsv,
    /// .csv, .h, .rs, .trace.json and the others that `plimsoll plan --help` tells.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let saved = match &self.of {
            Of::Model { planned, .. } => planned.save(&path),
            Of::Program(planned) => planned.save(&path),
        };
        saved.map_err(raised)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        match &self.of {
            Of::Model { .. } => Ok(self.render("txt")?.trim_end().to_owned()),
            Of::Program(planned) => {
                let (steps, values) = (planned.program().steps(), planned.program().values());
                let (arena, bound) = (self.arena_bytes(), self.lower_bound_bytes(py)?);
                let status = self.status(py)?;
                Ok(format!(
                    "<Plan: {steps} steps, {values} values, arena {arena} bytes, bound {bound}, \
                     {status}>"
                ))
            }
        }
    }

    /// The map, for notebooks: a page in a frame of its own, which can do nothing beside showing itself.
    fn _repr_html_(&self) -> PyResult<String> {
        let page = self.render("html")?;
        let page = page.replace('&', "&amp;").replace('"', "&quot;");
        Ok(format!(
            "<iframe sandbox=\"allow-scripts\" style=\"width:100%;height:640px;border:0\" \
             srcdoc=\"{page}\"></iframe>"
        ))
    }
}
