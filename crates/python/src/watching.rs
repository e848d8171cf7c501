//! Long work: without the interpreter, telling how far it has come, until Ctrl-C.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_cli::{NoAnswer, Watcher};
use pyo3::prelude::*;

use crate::error::raised;

/// Does work while other threads of Python run. Several times a second it is asked whether a signal has
/// come, and `progress` is called with a line; what either of them raises ends the work and is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(Watcher) -> Result<T, NoAnswer> + Send,
) -> PyResult<T> {
    let stopped: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let why = Arc::clone(&stopped);
    let done = py.detach(move || {
        work(Box::new(move |text| match Python::attach(|py| tell(py, progress.as_ref(), text)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ControlFlow::Break(())
            }
        }))
    });
    match stopped.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => done.map_err(raised),
    }
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, text: &str) -> PyResult<()> {
    py.check_signals()?;
    progress.map_or(Ok(()), |progress| progress.call1(py, (text,)).map(|_| ()))
}
