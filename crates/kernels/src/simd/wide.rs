//! Portable loops compiled a second time for wider vectors.
//!
//! What every x86-64 has is vectors of four `f32`, and no conversions from `u32`, roundings or shifts by lanes.
//! [`wide`] runs a closure inside of a function for which the compiler may use AVX2; the closure and what is
//! inlined into it are then compiled for eight lanes, by [`widest`] for sixteen as well. There are no fused multiply-adds, and nothing is
//! reassociated: the bits are the same as without.

use super::Level;

/// Runs `body` with the vectors that the level has. What is to be compiled for them must be
/// inlined into it.
#[inline(always)]
pub(crate) fn wide<R>(level: Level, body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if level > Level::portable() {
        // SAFETY: every level above the portable one is proof that the processor has AVX2.
        #[allow(unsafe_code, reason = "the level is the proof that the call is sound")]
        return unsafe { with_avx2(body) };
    }
    let _ = level;
    body()
}

/// The same with the widest vectors: for functions of one element that take long.
#[inline(always)]
pub(crate) fn widest<R>(level: Level, body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if level.has_avx512() {
        // SAFETY: the level is proof that the processor has AVX-512 F, VL, BW and DQ.
        #[allow(unsafe_code, reason = "the level is the proof that the call is sound")]
        return unsafe { with_avx512(body) };
    }
    wide(level, body)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512bw,avx512dq")]
fn with_avx512<R>(body: impl FnOnce() -> R) -> R {
    body()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(body: impl FnOnce() -> R) -> R {
    body()
}
