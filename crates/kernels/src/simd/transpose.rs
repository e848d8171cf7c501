//! Four lines of four numbers, turned.
//!
//! Compilers make sixteen loads and inserts of it; the processor has instructions for two lines at a time.

/// Column `i` of the lines as line `i`.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the instructions are those of every processor of this kind")]
pub(crate) fn transposed(lines: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    use core::arch::x86_64::{
        _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    let mut turned = [[0.0; 4]; 4];
    // SAFETY: SSE is part of every x86-64; each load and store is of an array of four.
    unsafe {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at: usize| _mm_loadu_ps(lines[at].as_ptr()));
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        _mm_storeu_ps(turned[0].as_mut_ptr(), _mm_movelh_ps(ab, cd));
        _mm_storeu_ps(turned[1].as_mut_ptr(), _mm_movehl_ps(cd, ab));
        let (ab, cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(turned[2].as_mut_ptr(), _mm_movelh_ps(ab, cd));
        _mm_storeu_ps(turned[3].as_mut_ptr(), _mm_movehl_ps(cd, ab));
    }
    turned
}

/// Column `i` of the lines as line `i`.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn transposed(lines: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    core::array::from_fn(|column| core::array::from_fn(|line| lines[line][column]))
}
