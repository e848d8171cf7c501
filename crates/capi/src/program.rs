//! Programs: declared value by value and step by step.

use std::ffi::{CStr, c_char};

use plimsoll::{
    Access, DeclaredProgram, DeclaredStep, Overwrite, Scratch, StepId, Until, ValueId, ValueInfo,
    View,
};
use plimsoll_pack::Span;

use crate::error::{Code, Error, Failure, bad, guarded};

/// No value, no step, or the end of a run, where one of these could be.
pub const NOTHING: u32 = u32::MAX;

/// A program that is being declared.
pub struct Program {
    pub(crate) inner: DeclaredProgram,
}

/// In which order steps run.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// One after another.
    InOrder = 0,
    /// Whenever what they read has been written and what they are after is over.
    Partial = 1,
    /// Each on its queue, and after the steps that it waits for.
    Queues = 2,
}

/// Who makes a value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A step.
    Temporary = 0,
    /// The caller, before every run.
    Input = 1,
    /// Whoever loads the model, once: a weight.
    Param = 2,
    /// Whoever loads the model, once: a constant.
    Constant = 3,
}

/// Where a value lives.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In the arena; what comes from outside only if the options place it there.
    Arena = 0,
    /// In the arena, in bytes of its own: it survives from run to run.
    Persistent = 1,
    /// In the caller's memory.
    External = 2,
}

/// What is known of a value. Start from `plimsoll_value`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its size; 0 is allowed.
    pub bytes: u64,
    /// What its offset must be a multiple of; 0 for the default of the plan.
    pub align: u64,
    /// Bytes behind its end that whoever writes it may write too.
    pub guard: u64,
    /// Who makes it: a `PlimsollRole`.
    pub role: u32,
    /// Where it lives: a `PlimsollStorage`.
    pub storage: u32,
    /// The value whose bytes it is a part of; `PLIMSOLL_NOTHING` if it is no view.
    pub view_of: u32,
    /// The first byte in that value.
    pub view_offset: u64,
    /// Whether it must be there, unchanged, when the run is over.
    pub output: bool,
    /// Whether a value from outside may be overwritten once it is no longer needed.
    pub donated: bool,
    /// What to call it in messages, or NULL.
    pub name: *const c_char,
}

/// A temporary of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn plimsoll_value(bytes: u64) -> Value {
    Value {
        bytes,
        align: 0,
        guard: 0,
        role: Role::Temporary as u32,
        storage: Storage::Arena as u32,
        view_of: NOTHING,
        view_offset: 0,
        output: false,
        donated: false,
        name: std::ptr::null(),
    }
}

/// A program without values and steps; NULL if `execution` is no `PlimsollExecution`.
#[unsafe(no_mangle)]
pub extern "C" fn plimsoll_program_new(execution: u32) -> *mut Program {
    let execution = match execution {
        0 => plimsoll::Execution::InOrder,
        1 => plimsoll::Execution::Partial,
        2 => plimsoll::Execution::Queues,
        _ => return std::ptr::null_mut(),
    };
    Box::into_raw(Box::new(Program { inner: DeclaredProgram::new(execution) }))
}

/// Frees a program; NULL is fine.
///
/// # Safety
/// `program` is null or a program that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_free(program: *mut Program) {
    if !program.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and the caller has not freed it.
        drop(unsafe { Box::from_raw(program) });
    }
}

/// Adds a value and writes its id to `id`: the first is 0.
///
/// # Safety
/// `program` is a program, `value` can be read and its name is null or ends with a zero; `id` and `error` are null or
/// can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_add_value(
    program: *mut Program,
    value: *const Value,
    id: *mut u32,
    error: *mut *mut Error,
) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let (program, value) = unsafe { (inner(program)?, value.as_ref()) };
        let value = value.ok_or_else(|| bad("value is NULL"))?;
        let added = program.add(info(value)?);
        // SAFETY: the caller's promise.
        if let Some(name) = unsafe { text(value.name)? } {
            program.name_value(added, name);
        }
        // SAFETY: the caller's promise.
        unsafe { put(id, added.0) };
        Ok(())
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

fn info(value: &Value) -> Result<ValueInfo, Failure> {
    let role = match value.role {
        0 => plimsoll::Role::Temporary,
        1 => plimsoll::Role::Input,
        2 => plimsoll::Role::Param,
        3 => plimsoll::Role::Constant,
        other => return Err(bad(format!("{other} is no PlimsollRole"))),
    };
    let storage = match value.storage {
        0 => plimsoll::Storage::Arena,
        1 => plimsoll::Storage::Persistent,
        2 => plimsoll::Storage::External,
        other => return Err(bad(format!("{other} is no PlimsollStorage"))),
    };
    let view = View::new(ValueId(value.view_of), value.view_offset);
    Ok(ValueInfo {
        align: Some(value.align).filter(|align| *align > 0),
        guard: value.guard,
        role,
        storage,
        view_of: Some(view).filter(|view| view.of.0 != NOTHING),
        output: value.output,
        donated: value.donated,
        ..ValueInfo::new(value.bytes)
    })
}

/// Adds a step on a queue (0 unless the program has queues) and writes its id to `id`: the first is 0. `name` may
/// be NULL.
///
/// # Safety
/// `program` is a program, `name` is null or ends with a zero; `id` and `error` are null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_add_step(
    program: *mut Program,
    name: *const c_char,
    queue: u32,
    id: *mut u32,
    error: *mut *mut Error,
) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let (program, name) = unsafe { (inner(program)?, text(name)?) };
        let name = name.unwrap_or_default();
        program.steps.push(DeclaredStep { name, queue, ..DeclaredStep::default() });
        // SAFETY: the caller's promise.
        unsafe { put(id, program.steps.len() as u32 - 1) };
        Ok(())
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

/// Declares that a step reads the bytes `[from, to)` of a value; 0 and 0 mean all of them. `until` is the step with
/// which the read is certainly over: the step itself, a later one, or `PLIMSOLL_NOTHING` for the end of the run.
///
/// # Safety
/// `program` is a program; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_read(
    program: *mut Program,
    step: u32,
    value: u32,
    from: u64,
    to: u64,
    until: u32,
    error: *mut *mut Error,
) -> Code {
    let access =
        Access { until: until_of(step, until), ..ranged(Access::read(ValueId(value)), from, to) };
    // SAFETY: the caller's promises are the same.
    unsafe { declare(program, step, error, |step| step.accesses.push(access)) }
}

/// Declares that a step writes the bytes `[from, to)` of a value; 0 and 0 mean all of them. `begin` is the step with
/// whose start the write may begin: the step itself or an earlier one.
///
/// # Safety
/// `program` is a program; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_write(
    program: *mut Program,
    step: u32,
    value: u32,
    from: u64,
    to: u64,
    begin: u32,
    error: *mut *mut Error,
) -> Code {
    let begin = Some(StepId(begin)).filter(|begin| begin.0 != step);
    let access = Access { from: begin, ..ranged(Access::write(ValueId(value)), from, to) };
    // SAFETY: the caller's promises are the same.
    unsafe { declare(program, step, error, |step| step.accesses.push(access)) }
}

/// Declares that in a step `output` may take over the bytes of `input`, or must.
///
/// # Safety
/// `program` is a program; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_overwrite(
    program: *mut Program,
    step: u32,
    output: u32,
    input: u32,
    must: bool,
    error: *mut *mut Error,
) -> Code {
    let overwrite = Overwrite { output: ValueId(output), input: ValueId(input), must };
    // SAFETY: the caller's promises are the same.
    unsafe { declare(program, step, error, |step| step.overwrites.push(overwrite)) }
}

/// Declares memory that a step needs while it runs, and only then; `align` at least 1.
///
/// # Safety
/// `program` is a program; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_scratch(
    program: *mut Program,
    step: u32,
    bytes: u64,
    align: u64,
    error: *mut *mut Error,
) -> Code {
    // SAFETY: the caller's promises are the same.
    unsafe { declare(program, step, error, |step| step.scratch = Some(Scratch { bytes, align })) }
}

/// Declares that a step begins after another is certainly over.
///
/// # Safety
/// `program` is a program; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_program_after(
    program: *mut Program,
    step: u32,
    earlier: u32,
    error: *mut *mut Error,
) -> Code {
    // SAFETY: the caller's promises are the same.
    unsafe { declare(program, step, error, |step| step.after.push(StepId(earlier))) }
}

/// Changes the declaration of a step.
///
/// # Safety
/// `program` is a program; `error` is null or can be written.
unsafe fn declare(
    program: *mut Program,
    step: u32,
    error: *mut *mut Error,
    change: impl FnOnce(&mut DeclaredStep),
) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let program = unsafe { inner(program)? };
        let declared = program.steps.get_mut(step as usize);
        change(declared.ok_or_else(|| bad(format!("there is no step {step}")))?);
        Ok(())
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

fn ranged(access: Access, from: u64, to: u64) -> Access {
    Access { bytes: Some(Span::new(from, to)).filter(|_| (from, to) != (0, 0)), ..access }
}

fn until_of(step: u32, until: u32) -> Until {
    match until {
        NOTHING => Until::EndOfRun,
        until if until == step => Until::Step,
        until => Until::After(StepId(until)),
    }
}

/// # Safety
/// `program` is null or a program.
unsafe fn inner<'a>(program: *mut Program) -> Result<&'a mut DeclaredProgram, Failure> {
    // SAFETY: the caller's promise.
    let program = unsafe { program.as_mut() }.ok_or_else(|| bad("program is NULL"))?;
    Ok(&mut program.inner)
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe fn text(text: *const c_char) -> Result<Option<String>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, so it ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(|text| Some(text.to_owned())).map_err(|_| bad("a name is not UTF-8"))
}

/// # Safety
/// `to` is null or can be written.
unsafe fn put(to: *mut u32, id: u32) {
    // SAFETY: the caller's promise.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = id;
    }
}
