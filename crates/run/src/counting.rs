//! An allocator that counts: whether a run really allocates nothing is measured, not asserted.

#![allow(unsafe_code, reason = "an allocator is")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The allocator of the system, with a count of how often it was asked for memory. A program that wants to know
/// makes it its own: `#[global_allocator] static COUNTED: Counted = Counted::new();`.
#[derive(Debug)]
pub struct Counted {
    count: AtomicU64,
}

impl Counted {
    /// Nothing is counted yet.
    #[must_use]
    pub const fn new() -> Self {
        Counted { count: AtomicU64::new(0) }
    }

    /// How often it was asked for memory, by all threads.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn asked(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Default for Counted {
    fn default() -> Self {
        Counted::new()
    }
}

// SAFETY: all is handed to the allocator of the system.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.asked();
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.asked();
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.asked();
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
