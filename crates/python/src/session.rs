//! `Session`: a model that runs in the memory that is planned for it.
//!
//! Inputs are copied in, from whatever numpy makes an array of. Outputs go out as copies, or as views of the arena: an object
//! with `__array_interface__` that keeps the session alive is what numpy makes an array of, so that nothing here has
//! to be `unsafe`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_cli::{dtype_by_numpy_name, numpy_name};
use plimsoll_run::{Array, Port, Session as Running};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyTuple};

use crate::arguments::{DIMS, RUNNING, arguments};
use crate::error::{raised, wrong};
use crate::plan::source;

/// A model that is planned, with its weights, ready to run: nothing is allocated in a run.
///
/// `model` is the path of an .onnx file, its bytes, or an onnx.ModelProto; None is a small sample. Options are those of
/// `plimsoll run`: `dims`, `input_shapes`, `order`, and `random_weights`, a seed for weights that are not there.
///
/// >>> import plimsoll
/// >>> session = plimsoll.Session()
/// >>> session.inputs
/// {'image': ('f32', (1, 3, 32, 32))}
/// >>> import numpy
/// >>> outputs = session.run({"image": numpy.zeros((1, 3, 32, 32), numpy.float32)})
/// >>> outputs["classes"].shape
/// (1, 10)
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Session {
    running: Mutex<Running<'static>>,
}

impl Session {
    fn running(&self) -> MutexGuard<'_, Running<'static>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ports<'py>(py: Python<'py>, ports: &[Port]) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        for port in ports {
            let shape = PyTuple::new(py, &port.dims)?;
            named.set_item(&port.name, (port.dtype.to_string(), shape))?;
        }
        Ok(named)
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (model = None, **options))]
    fn new(
        py: Python<'_>,
        model: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let source = source(model)?;
        let said = arguments("Session", options, &[DIMS, RUNNING])?;
        let running = py.detach(|| plimsoll_cli::session(source, &said)).map_err(raised)?;
        Ok(Session { running: Mutex::new(running) })
    }

    /// The inputs: names to types of elements and shapes.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Session::ports(py, self.running().inputs())
    }

    /// The outputs: names to types of elements and shapes.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Session::ports(py, self.running().outputs())
    }

    /// The bytes of the arena: all that a run writes.
    #[getter]
    fn arena_bytes(&self) -> u64 {
        self.running().arena_bytes()
    }

    /// The bytes of weights, as they are and in the order of kernels.
    #[getter]
    fn weights_bytes(&self) -> usize {
        let running = self.running();
        running.constant_bytes() + running.packed_bytes()
    }

    /// Runs the model once. `inputs` are names to arrays of the types and shapes that the inputs have. The outputs are
    /// arrays of numpy: copies, or with `copy=False` views of the arena, which the next run changes.
    #[pyo3(signature = (inputs, *, copy = true))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyDict>,
        copy: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let numpy = numpy(py)?;
        let arrays = arrays(&numpy, inputs)?;
        let session = slf.get();
        py.detach(|| {
            let mut running = session.running();
            if let Some(name) = unknown(&arrays, &running) {
                return Err(format!("there is no input `{name}`"));
            }
            running.fill(&arrays).map_err(|error| error.to_string())?;
            running.run().map_err(|error| error.to_string())
        })
        .map_err(wrong)?;
        let outputs = PyDict::new(py);
        let names: Vec<String> =
            session.running().outputs().iter().map(|port| port.name.clone()).collect();
        for name in names {
            outputs.set_item(&name, output(&numpy, slf, &name, copy)?)?;
        }
        Ok(outputs)
    }

    fn __repr__(&self) -> String {
        let running = self.running();
        let (calls, arena) = (running.calls(), running.arena_bytes());
        format!("<Session: {calls} calls, arena {arena} bytes>")
    }
}

/// What numpy makes a view of: bytes of a session, which it keeps alive.
#[pyclass(frozen, module = "plimsoll")]
struct ArenaView {
    /// The session whose bytes these are.
    #[allow(dead_code, reason = "it is kept alive")]
    session: Py<Session>,
    interface: Py<PyDict>,
}

#[pymethods]
impl ArenaView {
    #[getter]
    fn __array_interface__(&self, py: Python<'_>) -> Py<PyDict> {
        self.interface.clone_ref(py)
    }
}

/// An output of the last run, as an array of numpy.
fn output<'py>(
    numpy: &Bound<'py, PyModule>,
    session: &Bound<'py, Session>,
    name: &str,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = session.py();
    let running = session.get().running();
    let port = running.outputs().iter().find(|port| port.name == name);
    let port = port.ok_or_else(|| wrong(format!("there is no output `{name}`")))?;
    let bytes = running.output_bytes(name).unwrap_or_default();
    let kind = numpy_name(port.dtype)
        .ok_or_else(|| wrong(format!("output `{name}`: numpy has no type {}", port.dtype)))?;
    let dims = PyTuple::new(py, &port.dims)?;
    if copy || bytes.is_empty() {
        let flat = numpy.call_method1("frombuffer", (PyByteArray::new(py, bytes), kind))?;
        return flat.call_method1("reshape", (dims,));
    }
    let interface = PyDict::new(py);
    interface.set_item("data", (bytes.as_ptr() as usize, true))?;
    interface.set_item("shape", dims)?;
    interface.set_item("typestr", kind)?;
    interface.set_item("version", 3)?;
    let view = ArenaView { session: session.clone().unbind(), interface: interface.unbind() };
    numpy.call_method1("asarray", (view.into_pyobject(py)?,))
}

/// A name that is none of the inputs.
fn unknown<'a>(arrays: &'a BTreeMap<String, Array>, running: &Running<'_>) -> Option<&'a String> {
    arrays.keys().find(|name| running.inputs().iter().all(|port| port.name != **name))
}

fn numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("numpy").map_err(|_| {
        PyImportError::new_err("a session is fed arrays of numpy: `pip install numpy`")
    })
}

/// Arrays by name, each in one copy of its bytes, row by row.
fn arrays(
    numpy: &Bound<'_, PyModule>,
    inputs: &Bound<'_, PyDict>,
) -> PyResult<BTreeMap<String, Array>> {
    let array = |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let array = numpy.call_method1("asarray", (array,))?;
        let kind: String = array.getattr("dtype")?.getattr("str")?.extract()?;
        let dtype = dtype_by_numpy_name(&kind)
            .ok_or_else(|| wrong(format!("input `{name}`: elements of type {kind:?}")))?;
        let dims: Vec<u64> = array.getattr("shape")?.extract()?;
        let bytes = array.call_method0("tobytes")?;
        let bytes = bytes.cast::<PyBytes>()?.as_bytes().to_vec();
        Ok((name, Array { dtype, dims, bytes }))
    };
    inputs.iter().map(array).collect()
}
