//! `pack`: columns in, offsets out.

use std::path::PathBuf;

use plimsoll_cli::PackedProblem;
use plimsoll_pack::{Buffer, Claim, Life, Problem, Status, check_at_most};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{PACKING, arguments};
use crate::error::{raised, wrong};
use crate::numbers::{Column, column, offsets};
use crate::watching::watched;

/// More violations are not listed.
const MOST_VIOLATIONS: usize = 1000;

/// A packing: an offset for every buffer.
#[pyclass(frozen, module = "plimsoll")]
pub(crate) struct Packing {
    packed: PackedProblem,
    /// Whether the sizes came as an array.
    has_arrays: bool,
}

/// Packs buffers into one arena: buffer i takes sizes[i] bytes during the half-open time
/// [starts[i], ends[i]).
///
/// Lists or arrays. `align` is what every offset is a multiple of, `capacity` how large the arena may be
/// (else DoesNotFit is raised), `effort` one of "fast", "default", "high" and "exhaustive". Also
/// `algorithm`, `threads` and `time_limit`, as `plimsoll solve --help` tells them.
///
/// >>> import plimsoll
/// >>> p = plimsoll.pack([4096, 8192, 4096], [0, 1, 2], [2, 3, 4])
/// >>> p.arena_bytes, p.lower_bound_bytes, p.status
/// (12288, 12288, 'optimal')
/// >>> p.check()
#[pyfunction]
#[pyo3(signature = (sizes, starts, ends, align = 1, capacity = None, effort = "default", *, progress = None, **options))]
#[allow(clippy::too_many_arguments, reason = "a function of Python, called with keywords")]
pub(crate) fn pack(
    py: Python<'_>,
    sizes: &Bound<'_, PyAny>,
    starts: &Bound<'_, PyAny>,
    ends: &Bound<'_, PyAny>,
    align: u64,
    capacity: Option<u64>,
    effort: &str,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Packing> {
    let mut said = arguments("pack", options, &[PACKING])?;
    said.push(format!("--effort={effort}").into());
    let (problem, has_arrays) = problem(sizes, starts, ends, align, capacity)?;
    let packed = watched(py, progress, |watcher| PackedProblem::new(problem, &said, watcher))?;
    Ok(Packing { packed, has_arrays })
}

/// Everything that is wrong with a packing, whoever made it: a list of texts, empty if it is valid.
///
/// >>> import plimsoll
/// >>> plimsoll.check([64, 64], [0, 1], [2, 3], [0, 32])
/// ['buffer 0 and buffer 1 both use bytes [32, 64) at [1, 2)']
#[pyfunction]
#[pyo3(signature = (sizes, starts, ends, offsets, align = 1, capacity = None))]
pub(crate) fn check(
    sizes: &Bound<'_, PyAny>,
    starts: &Bound<'_, PyAny>,
    ends: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    align: u64,
    capacity: Option<u64>,
) -> PyResult<Vec<String>> {
    let (problem, _) = problem(sizes, starts, ends, align, capacity)?;
    let offsets = column("offsets", offsets)?.numbers;
    if offsets.len() != problem.len() {
        return Err(wrong(format!("{} buffers have {} offsets", problem.len(), offsets.len())));
    }
    let offset = |(row, offset): (usize, i64)| {
        u64::try_from(offset).map(Some).map_err(|_| wrong(format!("offsets: row {row}: {offset}")))
    };
    let offsets = offsets.into_iter().enumerate().map(offset).collect::<PyResult<_>>()?;
    Ok(violations(&problem, &Claim { offsets, ..Claim::default() }))
}

fn violations(problem: &Problem, claim: &Claim) -> Vec<String> {
    let found = check_at_most(problem, claim, MOST_VIOLATIONS);
    found.iter().map(|violation| violation.describe(|id| id.to_string()).to_string()).collect()
}

fn problem(
    sizes: &Bound<'_, PyAny>,
    starts: &Bound<'_, PyAny>,
    ends: &Bound<'_, PyAny>,
    align: u64,
    capacity: Option<u64>,
) -> PyResult<(Problem, bool)> {
    let Column { numbers: sizes, is_array } = column("sizes", sizes)?;
    let (starts, ends) = (column("starts", starts)?.numbers, column("ends", ends)?.numbers);
    if (starts.len(), ends.len()) != (sizes.len(), sizes.len()) {
        let (sizes, starts, ends) = (sizes.len(), starts.len(), ends.len());
        return Err(wrong(format!("{sizes} sizes, {starts} starts and {ends} ends: not the same")));
    }
    let buffer = |(row, ((size, start), end)): (usize, ((i64, i64), i64))| {
        let size = u64::try_from(size).map_err(|_| wrong(format!("sizes: row {row}: {size}")))?;
        Ok(Buffer::new(size, Life::new(start, end)).aligned(align))
    };
    let rows = sizes.into_iter().zip(starts).zip(ends).enumerate();
    let buffers = rows.map(buffer).collect::<PyResult<_>>()?;
    Ok((Problem::new(buffers).map_err(wrong)?.with_capacity(capacity), is_array))
}

#[pymethods]
impl Packing {
    /// The size of the arena.
    #[getter]
    fn arena_bytes(&self) -> u64 {
        self.packed.outcome().arena_bytes
    }

    /// No arena can be smaller than this.
    #[getter]
    fn lower_bound_bytes(&self) -> u64 {
        self.packed.outcome().lower_bound.bytes
    }

    /// What it would take with a place of its own for every buffer.
    #[getter]
    fn unshared_bytes(&self) -> u64 {
        self.packed.problem().unshared_bytes()
    }

    /// "optimal" if no arena can be smaller, else "feasible".
    #[getter]
    fn status(&self) -> &'static str {
        match self.packed.outcome().status {
            Status::Optimal => "optimal",
            _ => "feasible",
        }
    }

    /// Where each buffer is: an array of numpy if the sizes came as an array, else a list.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        offsets(py, self.packed.solution().offsets(), self.has_arrays)
    }

    /// Checks the packing once more, by the independent checker; raises an Error that lists all violations.
    fn check(&self) -> PyResult<()> {
        match &violations(self.packed.problem(), &self.packed.solution().into())[..] {
            [] => Ok(()),
            violations => Err(wrong(violations.join("\n"))),
        }
    }

    /// Writes the packing to a file, in the form that its extension says: .csv, .json, .svg, .html, .txt.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.packed.save(&path).map_err(raised)
    }

    fn __repr__(&self) -> String {
        let (buffers, arena) = (self.packed.problem().len(), self.arena_bytes());
        let (bound, status) = (self.lower_bound_bytes(), self.status());
        format!("<Packing: {buffers} buffers in {arena} bytes, bound {bound}, {status}>")
    }
}
