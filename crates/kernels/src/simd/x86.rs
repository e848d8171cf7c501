//! Vectors of AVX2 and AVX-512.
//!
//! [`Avx2`] and [`Avx512`] are made in [`run_avx2`] and [`run_avx512`] alone, from a [`Level`] that is proof of the
//! instructions: that is the reason of every `unsafe` block here that names an instruction. Loads and
//! stores check the lengths of their slices first; where the length is a constant the check costs nothing.
#![allow(unsafe_code, reason = "instructions that not every processor has")]

use core::arch::x86_64::{
    __m256, __m256i, __m512, _MM_HINT_T1, _mm_prefetch, _mm256_add_ps, _mm256_and_si256,
    _mm256_castpd_ps, _mm256_castps_pd, _mm256_cmpgt_epi32, _mm256_fmadd_ps, _mm256_loadu_ps,
    _mm256_maskload_ps, _mm256_maskstore_ps, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps,
    _mm256_permute4x64_pd, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi32, _mm256_shuffle_ps,
    _mm256_storeu_ps, _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_max_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_permutex2var_ps,
    _mm512_set1_ps, _mm512_setr_epi32, _mm512_storeu_ps,
};

use super::level::{Kind, Level};
use super::vector::{Kernel, Simd};

/// Proof that AVX2 and FMA are there.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Proof that AVX-512 is there.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

/// Runs a kernel with AVX2.
pub(super) fn run_avx2<K: Kernel>(level: Level, kernel: K) {
    assert_eq!(level.kind(), Kind::Avx2);
    // SAFETY: the level is proof that the processor has AVX2 and FMA.
    unsafe { with_avx2(kernel) }
}

#[target_feature(enable = "avx,avx2,fma")]
fn with_avx2<K: Kernel>(kernel: K) {
    kernel.run(Avx2(()));
}

/// Runs a kernel with AVX-512.
pub(super) fn run_avx512<K: Kernel>(level: Level, kernel: K) {
    assert_eq!(level.kind(), Kind::Avx512);
    // SAFETY: the level is proof that the processor has AVX-512 F, VL, BW and DQ, and AVX2 and FMA.
    unsafe { with_avx512(kernel) }
}

#[target_feature(enable = "avx,avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")]
fn with_avx512<K: Kernel>(kernel: K) {
    kernel.run(Avx512(()));
}

/// All ones in the first `len` lanes.
#[target_feature(enable = "avx,avx2")]
fn first_lanes(len: usize) -> __m256i {
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_cmpgt_epi32(_mm256_set1_epi32(len.cast_signed() as i32), lanes)
}

/// All ones in the lanes from `first` on.
#[target_feature(enable = "avx,avx2")]
fn lanes_from(first: usize) -> __m256i {
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(first.cast_signed() as i32 - 1))
}

/// What a shuffle of two vectors leaves half by half of 128 bits, in the order of the vectors.
#[target_feature(enable = "avx,avx2")]
fn in_order(mixed: __m256) -> __m256 {
    _mm256_castpd_ps(_mm256_permute4x64_pd::<0b1101_1000>(_mm256_castps_pd(mixed)))
}

/// The lanes of a vector that are within a slice.
#[derive(Clone, Copy)]
struct Lanes {
    first: usize,
    /// Behind the last one; not before the first.
    last: usize,
}

impl Lanes {
    /// Of `count` lanes, the first of which is at place `at` of a slice of `len`.
    #[inline(always)]
    fn new(count: isize, len: usize, at: isize) -> Lanes {
        let place = |end: isize| end.saturating_sub(at).clamp(0, count).cast_unsigned();
        Lanes { first: place(0), last: place(len.cast_signed()) }
    }
}

impl Simd for Avx2 {
    type V = __m256;
    const LANES: usize = 8;
    const ROWS: usize = 6;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        let from = &from[..8];
        // SAFETY: `self` is proof of AVX2; there are 8 numbers.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn load_part(self, from: &[f32], len: usize) -> __m256 {
        assert!(len <= 8 && len <= from.len());
        // SAFETY: `self` is proof of AVX2; there are `len` numbers, and no more lanes are read.
        unsafe { _mm256_maskload_ps(from.as_ptr(), first_lanes(len)) }
    }

    #[inline(always)]
    fn load_even(self, from: &[f32]) -> __m256 {
        let from = &from[..15];
        // SAFETY: `self` is proof of AVX2; there are 15 numbers, the last 8 of which begin at 7.
        unsafe {
            let low = _mm256_loadu_ps(from.as_ptr());
            let high = _mm256_loadu_ps(from.as_ptr().add(7));
            // Each half of 128 bits has two of the first eight and two of the last ones: 0 2 8 10 4 6 12 14.
            in_order(_mm256_shuffle_ps::<0b1101_1000>(low, high))
        }
    }

    #[inline(always)]
    fn load_clipped(self, from: &[f32], at: isize) -> __m256 {
        let Lanes { first, last } = Lanes::new(8, from.len(), at);
        // SAFETY: `self` is proof of AVX2; only lanes that are in `from` are read.
        unsafe {
            let lanes = _mm256_and_si256(first_lanes(last), lanes_from(first));
            _mm256_maskload_ps(from.as_ptr().wrapping_offset(at), lanes)
        }
    }

    #[inline(always)]
    fn evens(self, low: __m256, high: __m256) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { in_order(_mm256_shuffle_ps::<0b1000_1000>(low, high)) }
    }

    #[inline(always)]
    fn odds(self, low: __m256, high: __m256) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { in_order(_mm256_shuffle_ps::<0b1101_1101>(low, high)) }
    }

    #[inline(always)]
    fn store(self, v: __m256, to: &mut [f32]) {
        let to = &mut to[..8];
        // SAFETY: `self` is proof of AVX2; there is room for 8 numbers.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_part(self, v: __m256, to: &mut [f32], len: usize) {
        assert!(len <= 8 && len <= to.len());
        // SAFETY: `self` is proof of AVX2; there is room for `len` numbers, and no more lanes are written.
        unsafe { _mm256_maskstore_ps(to.as_mut_ptr(), first_lanes(len), v) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: `self` is proof of FMA.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn prefetch(self, from: &[f32], at: usize) {
        fetch(from, at);
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` is proof of AVX2.
        unsafe { _mm256_min_ps(a, b) }
    }
}

impl Simd for Avx512 {
    type V = __m512;
    const LANES: usize = 16;
    const ROWS: usize = 12;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        let from = &from[..16];
        // SAFETY: `self` is proof of AVX-512; there are 16 numbers.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn load_part(self, from: &[f32], len: usize) -> __m512 {
        assert!(len <= 16 && len <= from.len());
        // SAFETY: `self` is proof of AVX-512; there are `len` numbers, and no more lanes are read.
        unsafe { _mm512_maskz_loadu_ps(first_bits(len), from.as_ptr()) }
    }

    #[inline(always)]
    fn load_even(self, from: &[f32]) -> __m512 {
        let from = &from[..31];
        // SAFETY: `self` is proof of AVX-512; there are 31 numbers, the last 16 of which begin at 15.
        unsafe {
            let low = _mm512_loadu_ps(from.as_ptr());
            let high = _mm512_loadu_ps(from.as_ptr().add(15));
            // Lanes of the second vector are from 16 on; it begins at number 15.
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
            _mm512_permutex2var_ps(low, even, high)
        }
    }

    #[inline(always)]
    fn load_clipped(self, from: &[f32], at: isize) -> __m512 {
        let Lanes { first, last } = Lanes::new(16, from.len(), at);
        // SAFETY: `self` is proof of AVX-512; only lanes that are in `from` are read.
        unsafe {
            let lanes = first_bits(last) & !first_bits(first);
            _mm512_maskz_loadu_ps(lanes, from.as_ptr().wrapping_offset(at))
        }
    }

    #[inline(always)]
    fn evens(self, low: __m512, high: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            _mm512_permutex2var_ps(low, even, high)
        }
    }

    #[inline(always)]
    fn odds(self, low: __m512, high: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe {
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            _mm512_permutex2var_ps(low, odd, high)
        }
    }

    #[inline(always)]
    fn store(self, v: __m512, to: &mut [f32]) {
        let to = &mut to[..16];
        // SAFETY: `self` is proof of AVX-512; there is room for 16 numbers.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_part(self, v: __m512, to: &mut [f32], len: usize) {
        assert!(len <= 16 && len <= to.len());
        // SAFETY: `self` is proof of AVX-512; there is room for `len` numbers, and no more lanes are written.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), first_bits(len), v) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn prefetch(self, from: &[f32], at: usize) {
        fetch(from, at);
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` is proof of AVX-512.
        unsafe { _mm512_min_ps(a, b) }
    }
}

/// The lowest `len` bits.
#[inline(always)]
fn first_bits(len: usize) -> u16 {
    ((1u32 << len) - 1) as u16
}

/// Asks for the line of the cache that is `at` elements behind the first one.
#[inline(always)]
fn fetch(from: &[f32], at: usize) {
    // SAFETY: every x86-64 has the instruction, and no address is wrong for it: it reads nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(from.as_ptr().wrapping_add(at).cast()) }
}
