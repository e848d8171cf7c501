//! Packing: arrays in, offsets out.

use std::slice;

use plimsoll_pack::{Buffer, Life, Problem, solve};

use crate::error::{Code, Error, Failure, bad, guarded};
use crate::options::Effort;

/// How good an answer is known to be.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No arena can be smaller.
    Optimal = 0,
    /// Valid; whether a smaller one exists is not known.
    Feasible = 1,
}

/// How to pack.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PackOptions {
    /// What every offset is a multiple of; at least 1.
    pub align: u64,
    /// How large the arena may be; 0 if there is no limit.
    pub capacity: u64,
    /// How long to search: a `PlimsollEffort`.
    pub effort: u32,
}

/// What came of packing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// The size of the arena.
    pub arena_bytes: u64,
    /// No arena can be smaller than this.
    pub lower_bound_bytes: u64,
    /// How good the packing is known to be.
    pub status: Status,
}

/// The defaults: offsets at any byte, no limit.
#[unsafe(no_mangle)]
pub extern "C" fn plimsoll_pack_options() -> PackOptions {
    PackOptions { align: 1, capacity: 0, effort: Effort::Default as u32 }
}

/// Packs `count` buffers: buffer i takes `sizes[i]` bytes during the half-open time
/// `[starts[i], ends[i])`. Writes an offset for each to `offsets`, and the totals to `packing`.
/// `PLIMSOLL_CODE_NO` if it does not fit the capacity; then nothing is written.
///
/// # Safety
/// `sizes`, `starts` and `ends` can be read and `offsets` written, `count` elements each (they may be null if
/// `count` is 0); `options` is null for the defaults or can be read; `packing` and `error` are null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_pack(
    count: usize,
    sizes: *const u64,
    starts: *const i64,
    ends: *const i64,
    options: *const PackOptions,
    offsets: *mut u64,
    packing: *mut Packing,
    error: *mut *mut Error,
) -> Code {
    let body = || {
        // SAFETY: the caller's promise.
        let options = unsafe { options.as_ref() }.copied().unwrap_or(plimsoll_pack_options());
        // SAFETY: the caller's promise, for each of the arrays.
        let (sizes, starts, ends) =
            unsafe { (array(sizes, count)?, array(starts, count)?, array(ends, count)?) };
        let (found, result) = packed(sizes, starts, ends, &options)?;
        if count > 0 {
            if offsets.is_null() {
                return Err(bad("offsets is NULL"));
            }
            // SAFETY: it is not null, so `count` elements may be written.
            unsafe { slice::from_raw_parts_mut(offsets, count) }.copy_from_slice(&found);
        }
        // SAFETY: the caller's promise.
        if let Some(packing) = unsafe { packing.as_mut() } {
            *packing = result;
        }
        Ok(())
    };
    // SAFETY: the caller's promise about `error`.
    unsafe { guarded(error, body) }
}

/// # Safety
/// `count` elements can be read, if the pointer is not null.
unsafe fn array<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(bad("an array is NULL")),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { slice::from_raw_parts(pointer, count) }),
    }
}

fn packed(
    sizes: &[u64],
    starts: &[i64],
    ends: &[i64],
    options: &PackOptions,
) -> Result<(Vec<u64>, Packing), Failure> {
    let buffer = |((size, start), end): ((&u64, &i64), &i64)| {
        Buffer::new(*size, Life::new(*start, *end)).aligned(options.align)
    };
    let buffers = sizes.iter().zip(starts).zip(ends).map(buffer).collect();
    let capacity = Some(options.capacity).filter(|capacity| *capacity > 0);
    let problem = Problem::new(buffers).map_err(bad)?.with_capacity(capacity);
    let mut choices = plimsoll_pack::Options::default();
    choices.effort = Effort::read(options.effort)?.into();
    let outcome = solve(&problem, &choices);
    let status = match &outcome.status {
        plimsoll_pack::Status::Optimal => Status::Optimal,
        plimsoll_pack::Status::Infeasible(reason) => return Err((Code::No, reason.to_string())),
        _ => Status::Feasible,
    };
    let fits = outcome.fits(&problem);
    let Some(solution) = outcome.solution.filter(|_| fits) else {
        let (arena, most) = (outcome.arena_bytes, options.capacity);
        let why = format!("the smallest arena found has {arena} bytes, and {most} are allowed");
        return Err((Code::No, why));
    };
    let packing = Packing {
        arena_bytes: outcome.arena_bytes,
        lower_bound_bytes: outcome.lower_bound.bytes,
        status,
    };
    Ok((solution.offsets().to_vec(), packing))
}
