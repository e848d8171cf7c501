//! Plans: made of a program, and asked for places, order and JSON.

use std::ffi::{CString, c_char};
use std::ptr;

use plimsoll::{
    DeclaredProgram, PlanError, Program as _, Recorded, StepId, ValueId, VerifiedPlan,
    plan_in_best_order, root_of, write_plan,
};

use crate::error::{Code, Error, Failure, bad, guarded};
use crate::options::{Options, Order, plimsoll_options};
use crate::pack::Status;
use crate::program::{NOTHING, Program};

/// A verified plan, with the program that it is for.
pub struct Plan {
    program: DeclaredProgram,
    verified: VerifiedPlan,
    /// The steps in order of execution.
    schedule: Vec<u32>,
}

/// Where a value is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedIn {
    /// In the arena, at an offset.
    Arena = 0,
    /// In the caller's memory: in that of the value `root`, at an offset.
    Caller = 1,
}

/// The place of a value or of scratch memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// In which memory.
    pub placed_in: PlacedIn,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// In the caller's memory: the value that it is a part of, which may be itself; else `PLIMSOLL_NOTHING`.
    pub root: u32,
}

/// Plans a program, verifies the plan, and writes it to `plan`. The program is copied, and can be changed or freed
/// afterwards. `PLIMSOLL_CODE_NO` if it does not fit the capacity.
///
/// # Safety
/// `program` is a program; `options` is null for the defaults or can be read; `plan` can be written; `error` is null
/// or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan(
    program: *const Program,
    options: *const Options,
    plan: *mut *mut Plan,
    error: *mut *mut Error,
) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let program = unsafe { program.as_ref() }.ok_or_else(|| bad("program is NULL"))?;
        // SAFETY: the caller's promise.
        let options = unsafe { options.as_ref() }.copied().unwrap_or(plimsoll_options());
        // SAFETY: the caller's promise.
        let to = unsafe { plan.as_mut() }.ok_or_else(|| bad("plan is NULL"))?;
        let made = planned(program.inner.clone(), &options)?;
        *to = Box::into_raw(Box::new(made));
        Ok(())
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

fn planned(program: DeclaredProgram, options: &Options) -> Result<Plan, Failure> {
    let choices = options.choices()?;
    let plan = match Order::effort(options.order)? {
        Some(effort) => plan_in_best_order(&program, &choices, effort),
        None => plimsoll::plan(&program, &choices),
    };
    let plan = plan.map_err(|error| failure(&error))?;
    let schedule = plan.schedule.iter().map(|step| step.0).collect();
    Ok(Plan { program, verified: plan, schedule })
}

fn failure(error: &PlanError) -> Failure {
    let code = match error {
        PlanError::NoRoom(_) => Code::No,
        PlanError::Rejected(_) | PlanError::BoundAboveArena { .. } => Code::Internal,
        _ => Code::BadInput,
    };
    (code, error.to_string())
}

/// Frees a plan; NULL is fine.
///
/// # Safety
/// `plan` is null or a plan that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_free(plan: *mut Plan) {
    if !plan.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and the caller has not freed it.
        drop(unsafe { Box::from_raw(plan) });
    }
}

/// The bytes of the arena; 0 for NULL.
///
/// # Safety
/// `plan` is null or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_arena_bytes(plan: *const Plan) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { plan.as_ref() }.map_or(0, |plan| plan.verified.arena_bytes())
}

/// Below this no arena can be, in this order and with this sharing; 0 for NULL.
///
/// # Safety
/// `plan` is null or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_lower_bound_bytes(plan: *const Plan) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { plan.as_ref() }.map_or(0, |plan| plan.verified.derivation.lower_bound_bytes)
}

/// How good the plan is known to be, in this order and with this sharing.
///
/// # Safety
/// `plan` is null or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_status(plan: *const Plan) -> Status {
    // SAFETY: the caller's promise.
    match unsafe { plan.as_ref() } {
        Some(plan) if plan.verified.derivation.optimal => Status::Optimal,
        _ => Status::Feasible,
    }
}

/// Writes where a value is to `placement`. `PLIMSOLL_CODE_NO` if it has no bytes.
///
/// # Safety
/// `plan` is a plan, `placement` can be written; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_place(
    plan: *const Plan,
    value: u32,
    placement: *mut Placement,
    error: *mut *mut Error,
) -> Code {
    // SAFETY: the caller's promise.
    unsafe { put(plan, placement, error, |plan| plan.place(value)) }
}

/// Writes where the scratch memory of a step is to `placement`. `PLIMSOLL_CODE_NO` if it has none.
///
/// # Safety
/// `plan` is a plan, `placement` can be written; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_scratch(
    plan: *const Plan,
    step: u32,
    placement: *mut Placement,
    error: *mut *mut Error,
) -> Code {
    // SAFETY: the caller's promise.
    unsafe { put(plan, placement, error, |plan| plan.scratch(step)) }
}

/// Writes the answer of a plan.
///
/// # Safety
/// `plan` is a plan, `placement` can be written; `error` is null or can be written.
unsafe fn put(
    plan: *const Plan,
    placement: *mut Placement,
    error: *mut *mut Error,
    find: impl FnOnce(&Plan) -> Result<Placement, Failure>,
) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let (plan, to) = unsafe { (plan.as_ref(), placement.as_mut()) };
        let plan = plan.ok_or_else(|| bad("plan is NULL"))?;
        *to.ok_or_else(|| bad("placement is NULL"))? = find(plan)?;
        Ok(())
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

impl Plan {
    fn place(&self, value: u32) -> Result<Placement, Failure> {
        let id = ValueId(value);
        let place = self.verified.places.get(id.index());
        let bytes = || self.program.value(id).bytes;
        let caller = |root: ValueId, offset: u64| Placement {
            placed_in: PlacedIn::Caller,
            offset,
            bytes: bytes(),
            root: root.0,
        };
        match place {
            None => Err(bad(format!("there is no value {value}"))),
            Some(plimsoll::Place::Bank(slot)) => Ok(Placement {
                placed_in: PlacedIn::Arena,
                offset: slot.offset,
                bytes: bytes(),
                root: NOTHING,
            }),
            Some(plimsoll::Place::External) => {
                let (root, layout) = root_of(&self.program, id);
                Ok(caller(root, layout.first))
            }
            Some(plimsoll::Place::Outside { root, offset }) => Ok(caller(*root, *offset)),
            Some(plimsoll::Place::Elided) => {
                Err((Code::No, format!("value {value} is elided and has no bytes")))
            }
        }
    }

    fn scratch(&self, step: u32) -> Result<Placement, Failure> {
        let scratch = self.verified.scratch.get(StepId(step).index());
        let slot = scratch.ok_or_else(|| bad(format!("there is no step {step}")))?;
        let slot = slot.ok_or_else(|| (Code::No, format!("step {step} has no scratch memory")))?;
        let (offset, bytes) = (slot.offset, slot.bytes);
        Ok(Placement { placed_in: PlacedIn::Arena, offset, bytes, root: NOTHING })
    }
}

/// The steps in order of execution, as many as were declared; NULL for NULL. They are there as long as the plan is.
///
/// # Safety
/// `plan` is null or a plan; `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_schedule(
    plan: *const Plan,
    count: *mut usize,
) -> *const u32 {
    // SAFETY: the caller's promise.
    let (plan, count) = unsafe { (plan.as_ref(), count.as_mut()) };
    let schedule = plan.map(|plan| &plan.schedule[..]);
    if let Some(count) = count {
        *count = schedule.map_or(0, <[u32]>::len);
    }
    schedule.map_or(ptr::null(), <[u32]>::as_ptr)
}

/// Verifies the plan once more, by the independent verifier. `PLIMSOLL_CODE_NO` with all violations in the message
/// if it is not valid.
///
/// # Safety
/// `plan` is a plan; `error` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_verify(plan: *const Plan, error: *mut *mut Error) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let plan = unsafe { plan.as_ref() }.ok_or_else(|| bad("plan is NULL"))?;
        let again = plimsoll::verify(&plan.program, plan.verified.clone().into_plan());
        again.map(|_| ()).map_err(|rejected| (Code::No, rejected.to_string()))
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

/// The plan as JSON (`plimsoll.plan/1`), to be freed by `plimsoll_string_free`; NULL for NULL.
///
/// # Safety
/// `plan` is null or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_plan_json(plan: *const Plan) -> *mut c_char {
    // SAFETY: the caller's promise.
    let Some(plan) = (unsafe { plan.as_ref() }) else { return ptr::null_mut() };
    let json = write_plan(&plan.program, &plan.verified, Recorded::new(), Recorded::new());
    CString::new(json).map_or(ptr::null_mut(), CString::into_raw)
}

/// Frees a string that this library has made; NULL is fine.
///
/// # Safety
/// `text` is null or such a string that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it was made by `CString::into_raw`, and the caller has not freed it.
        drop(unsafe { CString::from_raw(text) });
    }
}
