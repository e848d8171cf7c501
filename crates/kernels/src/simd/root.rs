//! The square root of one number, which loops vectorise.
//!
//! `core` has no square root yet. The instruction for one lane of a vector is the same operation to the
//! compiler as a root of a vector, so that loops over it become vector roots.

/// The square root, rounded correctly.
#[inline(always)]
#[must_use]
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the instruction is one of every processor of this kind")]
pub fn sqrt(x: f32) -> f32 {
    use core::arch::x86_64::{_mm_cvtss_f32, _mm_set_ss, _mm_sqrt_ss};
    // SAFETY: SSE is part of every x86-64.
    unsafe { _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))) }
}

/// The square root, rounded correctly.
#[inline(always)]
#[must_use]
#[cfg(not(target_arch = "x86_64"))]
pub fn sqrt(x: f32) -> f32 {
    libm::sqrtf(x)
}
