//! `Program`: steps and what they do to memory, declared one by one.

use plimsoll::{
    Access, AccessKind, DeclaredProgram, DeclaredStep, Execution, Labels, Overwrite, Role, Scratch,
    StepId, Storage, Strided, Until, ValueId, ValueInfo, ValueLabel, View,
};
use plimsoll_cli::PlannedProgram;
use plimsoll_pack::Span;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{CHOICES, PACKING, arguments};
use crate::error::wrong;
use crate::plan::Plan;
use crate::watching::watched;

/// A program that is declared value by value and step by step.
///
/// >>> import plimsoll
/// >>> program = plimsoll.Program()
/// >>> x = program.add_value(1024, role="input")
/// >>> hidden = program.add_value(4096)
/// >>> y = program.add_value(4096, output=True)
/// >>> conv = program.add_step("conv", reads=[x], writes=[hidden])
/// >>> relu = program.add_step("relu", reads=[hidden], writes=[y])
/// >>> program.may_overwrite(relu, y, hidden)
/// >>> program.plan().arena_bytes
/// 4096
#[pyclass(module = "plimsoll")]
pub(crate) struct Program {
    declared: DeclaredProgram,
    labels: Labels,
}

#[pymethods]
impl Program {
    /// A program without values and steps. `execution` is "in-order", "partial" (steps run whenever what
    /// they read has been written) or "queues".
    #[new]
    #[pyo3(signature = (execution = "in-order", *, title = "program"))]
    fn new(execution: &str, title: &str) -> PyResult<Self> {
        let execution = match execution {
            "in-order" => Execution::InOrder,
            "partial" => Execution::Partial,
            "queues" => Execution::Queues,
            other => return Err(unknown("execution", other, "in-order, partial, queues")),
        };
        let labels = Labels { title: title.to_owned(), ..Labels::default() };
        Ok(Program { declared: DeclaredProgram::new(execution), labels })
    }

    /// Adds a value and gives its number.
    ///
    /// `role` says who makes it: "temporary" (a step), "input", "param" or "constant". `storage` says where
    /// it lives: "arena", "persistent" (it survives from run to run), "external" (the caller's memory) or
    /// "shared". A value with `view_of` is a part of another: from byte `view_offset` on, or in rows of
    /// `row_bytes` that are `row_stride` apart.
    #[pyo3(signature = (bytes, *, name = None, role = "temporary", storage = "arena", align = None,
        guard = 0, output = false, donated = false, elided = false, view_of = None, view_offset = 0,
        row_bytes = None, row_stride = None, dtype = "", shape = ""))]
    #[allow(clippy::too_many_arguments, reason = "a function of Python, called with keywords")]
    #[allow(
        clippy::fn_params_excessive_bools,
        reason = "a function of Python, called with keywords"
    )]
    fn add_value(
        &mut self,
        bytes: u64,
        name: Option<&str>,
        role: &str,
        storage: &str,
        align: Option<u64>,
        guard: u64,
        output: bool,
        donated: bool,
        elided: bool,
        view_of: Option<u32>,
        view_offset: u64,
        row_bytes: Option<u64>,
        row_stride: Option<u64>,
        dtype: &str,
        shape: &str,
    ) -> PyResult<u32> {
        let rows = match (row_bytes, row_stride) {
            (Some(bytes), Some(stride)) => Some(Strided { bytes, stride }),
            (None, None) => None,
            _ => return Err(wrong("row_bytes and row_stride belong together")),
        };
        let view = |of| View { rows, ..View::new(ValueId(of), view_offset) };
        let info = ValueInfo {
            align,
            guard,
            role: role_of(role)?,
            storage: storage_of(storage)?,
            view_of: view_of.map(view),
            output,
            elided,
            donated,
            ..ValueInfo::new(bytes)
        };
        let value = self.declared.add(info);
        if let Some(name) = name {
            self.declared.name_value(value, name);
        }
        let (dtype, shape) = (dtype.to_owned(), shape.to_owned());
        self.labels.values.push(ValueLabel { dtype, shape, ..ValueLabel::default() });
        Ok(value.0)
    }

    /// Adds a step and gives its number. It reads and writes these values as wholes; more can be declared
    /// with `reads`, `writes`, `may_overwrite`, `must_overwrite` and `scratch`.
    #[pyo3(signature = (name = None, *, op = "", reads = Vec::new(), writes = Vec::new(), queue = 0,
        after = Vec::new(), flows_from = Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "a function of Python, called with keywords")]
    fn add_step(
        &mut self,
        name: Option<&str>,
        op: &str,
        reads: Vec<u32>,
        writes: Vec<u32>,
        queue: u32,
        after: Vec<u32>,
        flows_from: Vec<u32>,
    ) -> u32 {
        let reads = reads.into_iter().map(|value| Access::read(ValueId(value)));
        let writes = writes.into_iter().map(|value| Access::write(ValueId(value)));
        self.declared.steps.push(DeclaredStep {
            accesses: reads.chain(writes).collect(),
            queue,
            after: after.into_iter().map(StepId).collect(),
            flows_from: flows_from.into_iter().map(StepId).collect(),
            name: name.unwrap_or_default().to_owned(),
            ..DeclaredStep::default()
        });
        self.labels.ops.push(op.to_owned());
        self.declared.steps.len() as u32 - 1
    }

    /// Declares that a step reads a value, or the bytes [start, end) of it. The read is certainly over
    /// with the step, with the later step `until`, or with the run if that is "end".
    #[pyo3(signature = (step, value, *, bytes = None, until = None))]
    fn reads(
        &mut self,
        step: u32,
        value: u32,
        bytes: Option<(u64, u64)>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let until = until_of(until)?;
        self.access(step, Access { until, ..ranged(AccessKind::Read, value, bytes) })
    }

    /// Declares that a step writes a value, or the bytes [start, end) of it. The write may begin with the
    /// step, or with the earlier step `since`.
    #[pyo3(signature = (step, value, *, bytes = None, since = None, until = None))]
    fn writes(
        &mut self,
        step: u32,
        value: u32,
        bytes: Option<(u64, u64)>,
        since: Option<u32>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (from, until) = (since.map(StepId), until_of(until)?);
        self.access(step, Access { from, until, ..ranged(AccessKind::Write, value, bytes) })
    }

    /// Declares that in a step `output` may take over the bytes of `input`.
    fn may_overwrite(&mut self, step: u32, output: u32, input: u32) -> PyResult<()> {
        self.overwrite(step, output, input, false)
    }

    /// Declares that in a step `output` takes over the bytes of `input`, whatever else.
    fn must_overwrite(&mut self, step: u32, output: u32, input: u32) -> PyResult<()> {
        self.overwrite(step, output, input, true)
    }

    /// Declares memory that a step needs while it runs, and only then.
    #[pyo3(signature = (step, bytes, align = 64))]
    fn scratch(&mut self, step: u32, bytes: u64, align: u64) -> PyResult<()> {
        self.step(step)?.scratch = Some(Scratch { bytes, align });
        Ok(())
    }

    /// Declares that a step begins after another is certainly over.
    fn after(&mut self, step: u32, earlier: u32) -> PyResult<()> {
        self.step(step)?.after.push(StepId(earlier));
        Ok(())
    }

    /// Plans the program. The options are those of `plimsoll plan` that are not about a model: `order`,
    /// `align`, `place`, `in_place`, `banks`, `effort` and so on.
    #[pyo3(signature = (*, progress = None, **options))]
    fn plan(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Plan> {
        let said = arguments("plan", options, &[CHOICES, PACKING])?;
        let (program, labels) = (self.declared.clone(), self.labels.clone());
        let planned =
            watched(py, progress, |watcher| PlannedProgram::new(program, labels, &said, watcher))?;
        Ok(Plan::of_program(planned))
    }

    fn __repr__(&self) -> String {
        let DeclaredProgram { values, steps, .. } = &self.declared;
        format!("<Program: {} steps, {} values>", steps.len(), values.len())
    }
}

impl Program {
    fn step(&mut self, step: u32) -> PyResult<&mut DeclaredStep> {
        let declared = self.declared.steps.get_mut(step as usize);
        declared.ok_or_else(|| PyIndexError::new_err(format!("there is no step {step}")))
    }

    fn access(&mut self, step: u32, access: Access) -> PyResult<()> {
        self.step(step)?.accesses.push(access);
        Ok(())
    }

    fn overwrite(&mut self, step: u32, output: u32, input: u32, must: bool) -> PyResult<()> {
        let (output, input) = (ValueId(output), ValueId(input));
        self.step(step)?.overwrites.push(Overwrite { output, input, must });
        Ok(())
    }
}

fn ranged(kind: AccessKind, value: u32, bytes: Option<(u64, u64)>) -> Access {
    let bytes = bytes.map(|(start, end)| Span::new(start, end));
    Access { kind, bytes, ..Access::read(ValueId(value)) }
}

fn until_of(until: Option<&Bound<'_, PyAny>>) -> PyResult<Until> {
    let Some(until) = until else { return Ok(Until::Step) };
    match (until.extract::<u32>(), until.extract::<String>()) {
        (Ok(step), _) => Ok(Until::After(StepId(step))),
        (_, Ok(word)) if word == "end" => Ok(Until::EndOfRun),
        _ => Err(wrong(format!("until: {until} is neither a step nor \"end\""))),
    }
}

fn role_of(role: &str) -> PyResult<Role> {
    match role {
        "temporary" => Ok(Role::Temporary),
        "input" => Ok(Role::Input),
        "param" => Ok(Role::Param),
        "constant" => Ok(Role::Constant),
        other => Err(unknown("role", other, "temporary, input, param, constant")),
    }
}

fn storage_of(storage: &str) -> PyResult<Storage> {
    match storage {
        "arena" => Ok(Storage::Arena),
        "persistent" => Ok(Storage::Persistent),
        "external" => Ok(Storage::External),
        "shared" => Ok(Storage::Shared),
        other => Err(unknown("storage", other, "arena, persistent, external, shared")),
    }
}

fn unknown(what: &str, word: &str, known: &str) -> PyErr {
    wrong(format!("unknown {what} {word:?}; known are {known}"))
}
