//! Bytes as elements: with the pool of threads the only module of the crate that may be `unsafe`.
//!
//! A plan speaks of bytes, kernels of elements. Bytes that begin where an element may, and are as many as
//! whole elements, are elements: every pattern of bits is one for the types here, none of which has
//! padding. [`Lines`] is memory that begins at a line of the cache, which is more than any type
//! asks for.

use std::borrow::Cow;

use plimsoll_kernels::half::{Bf16, F16};

/// What memory for kernels begins at a multiple of: a line of the cache.
pub(crate) const LINE: usize = 64;

/// Types of elements: plain numbers.
///
/// # Safety
/// Every pattern of bits is a value, and there is no padding.
#[allow(unsafe_code, reason = "it is what bytes are taken for")]
pub(crate) unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: numbers of the machine, or a struct around one that is laid out like it.
        #[allow(unsafe_code, reason = "see above")]
        unsafe impl Plain for $type {}
    )*};
}

plain!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 F16 Bf16);

/// Bytes as elements.
///
/// # Panics
/// If they do not begin where an element may, or are not whole elements.
#[allow(unsafe_code, reason = "this is the place for it")]
pub(crate) fn elements<T: Plain>(bytes: &[u8]) -> &[T] {
    // SAFETY: every pattern of bits is a `T`; `align_to` sees to alignment and length.
    let (before, elements, behind) = unsafe { bytes.align_to::<T>() };
    assert!(before.is_empty() && behind.is_empty(), "whole elements that are aligned");
    elements
}

/// Bytes as elements that can be changed.
///
/// # Panics
/// If they do not begin where an element may, or are not whole elements.
#[allow(unsafe_code, reason = "this is the place for it")]
pub(crate) fn elements_mut<T: Plain>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: every pattern of bits is a `T`, and every `T` is bytes; `align_to_mut` sees to alignment
    // and length.
    let (before, elements, behind) = unsafe { bytes.align_to_mut::<T>() };
    assert!(before.is_empty() && behind.is_empty(), "whole elements that are aligned");
    elements
}

/// The elements in some bytes, which may begin anywhere: copied if they have to be.
pub(crate) fn loose_elements<T: Plain>(bytes: &[u8]) -> Cow<'_, [T]> {
    if bytes.as_ptr().align_offset(align_of::<T>()) == 0 {
        return Cow::Borrowed(elements(bytes));
    }
    let mut lines = Lines::new(bytes.len());
    lines.bytes_mut().copy_from_slice(bytes);
    Cow::Owned(elements(lines.bytes()).to_vec())
}

/// A line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// Memory that begins at a line of the cache, zeros at first.
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// How many bytes are meant.
    len: usize,
}

impl Lines {
    pub(crate) fn new(len: usize) -> Self {
        Lines { lines: vec![Line([0; LINE]); len.div_ceil(LINE)], len }
    }

    #[allow(unsafe_code, reason = "this is the place for it")]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: lines are bytes without padding, one after another, and there are at least `len`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    #[allow(unsafe_code, reason = "this is the place for it")]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_elements_where_they_are_aligned_and_are_copied_elsewhere() {
        let mut lines = Lines::new(70);
        assert_eq!((lines.bytes().len(), lines.bytes().as_ptr() as usize % LINE), (70, 0));
        elements_mut::<u32>(&mut lines.bytes_mut()[4..12])[1] = 7;
        assert_eq!(elements::<u32>(&lines.bytes()[..12]), [0, 0, 7]);
        assert_eq!(*loose_elements::<u16>(&lines.bytes()[7..9]), [7 << 8]);
        assert!(matches!(loose_elements::<u16>(&lines.bytes()[8..10]), Cow::Borrowed([7])));
    }

    #[test]
    #[should_panic(expected = "whole elements")]
    fn elements_do_not_begin_between_others() {
        elements::<u32>(&Lines::new(8).bytes()[2..6]);
    }
}
