//! Threads that are made once, with the session, and wait for parts of calls.
//!
//! A kernel that has enough to do cuts its outputs into as many parts as there are threads, each with scratch of its own, and
//! hands them to [`Pool::each`]. Kernels compute an element alike whatever it is computed with, so that outputs have the
//! same bits with any number of threads. Nothing is allocated: a call is a pointer to what is on the caller's stack. A
//! thread that waits looks for work for some microseconds and sleeps then.
#![allow(
    unsafe_code,
    reason = "parts of one call are on the stack of the thread that waits for them"
)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The most threads of a session.
pub(crate) const MOST_THREADS: usize = 16;
/// How often a thread looks for work before it sleeps: some microseconds.
const LOOKS: usize = 4000;

/// Threads that wait for parts of calls.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads see.
struct Shared {
    job: Mutex<Option<Job>>,
    /// How many calls there have been: a thread has work when that changes.
    round: AtomicU64,
    begin: Condvar,
    /// How many threads are not done with the call.
    left: AtomicUsize,
    has_panicked: AtomicBool,
    is_over: AtomicBool,
}

/// A call: a function of what it is about and the number of a part.
#[derive(Clone, Copy)]
struct Job {
    // SAFETY: see `call`.
    work: unsafe fn(*const (), usize),
    about: *const (),
    parts: usize,
}

// SAFETY: what it points to is shared by the threads as `Pool::each` wants it: `F: Sync`, `T: Send`.
unsafe impl Send for Job {}

/// The parts of a call and what is done with each.
struct About<'a, T, F> {
    parts: *mut T,
    work: &'a F,
}

/// # Safety
/// `about` is an `About<T, F>` that is there until this returns; part `at` is there, and nobody else uses it.
unsafe fn call<T, F: Fn(&mut T)>(about: *const (), at: usize) {
    // SAFETY: the caller's promise.
    let (about, part) = unsafe {
        let about = &*about.cast::<About<'_, T, F>>();
        (about, &mut *about.parts.add(at))
    };
    (about.work)(part);
}

impl Pool {
    /// So many threads, that of the caller included.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        let shared = Arc::new(Shared {
            job: Mutex::new(None),
            round: AtomicU64::new(0),
            begin: Condvar::new(),
            left: AtomicUsize::new(0),
            has_panicked: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let more = threads.clamp(1, MOST_THREADS) - 1;
        let spawned = |at: usize| {
            let shared = Arc::clone(&shared);
            let named = std::thread::Builder::new().name(format!("plimsoll-{}", at + 1));
            named.spawn(move || shared.serve(at + 1)).ok()
        };
        let threads = (0..more).map_while(spawned).collect();
        Arc::new(Pool { shared, threads })
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Does something with each part, of which there are no more than threads, and returns when all are done.
    ///
    /// # Panics
    /// If one does.
    pub(crate) fn each<T: Send, F: Fn(&mut T) + Sync>(&self, parts: &mut [T], work: F) {
        assert!(parts.len() <= self.threads(), "a thread for each part");
        let [first, others @ ..] = parts else { return };
        if others.is_empty() {
            return work(first);
        }
        let about = About { parts: others.as_mut_ptr(), work: &work };
        let about: *const About<'_, T, F> = &raw const about;
        self.shared.start(Job { work: call::<T, F>, about: about.cast(), parts: others.len() });
        // All threads are waited for before what they use is gone, also where this one panics.
        let own = catch_unwind(AssertUnwindSafe(|| work(first)));
        self.shared.wait();
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!self.shared.has_panicked.swap(false, Ordering::Relaxed), "a thread has panicked");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        {
            let _job = self.shared.lock();
            self.shared.round.fetch_add(1, Ordering::Release);
            self.shared.begin.notify_all();
        }
        for thread in self.threads.drain(..) {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives every thread that has a part its number.
    fn start(&self, job: Job) {
        let mut current = self.lock();
        self.left.store(job.parts, Ordering::Relaxed);
        *current = Some(job);
        self.round.fetch_add(1, Ordering::Release);
        self.begin.notify_all();
    }

    /// Until no part is left. Parts are alike, so that the others are nearly done when the caller is.
    fn wait(&self) {
        let mut looks = 0;
        while self.left.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    /// What thread `at` does, the caller's being 0.
    fn serve(&self, at: usize) {
        let mut seen = 0;
        loop {
            self.next(seen);
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let job;
            (job, seen) = self.current();
            let Some(job) = job.filter(|job| at <= job.parts) else { continue };
            // SAFETY: the thread that has started the call waits until `left` is zero, so that all is still there; each
            // thread has a number, and a part, of its own, and takes it once, since it knows the number of the call.
            let done = catch_unwind(AssertUnwindSafe(|| unsafe { (job.work)(job.about, at - 1) }));
            if done.is_err() {
                self.has_panicked.store(true, Ordering::Relaxed);
            }
            self.left.fetch_sub(1, Ordering::Release);
        }
    }

    /// The call of now, and its number.
    fn current(&self) -> (Option<Job>, u64) {
        let job = self.lock();
        (*job, self.round.load(Ordering::Relaxed))
    }

    /// Waits for a call that is not the one of that number.
    fn next(&self, seen: u64) {
        for _ in 0..LOOKS {
            if self.round.load(Ordering::Acquire) != seen {
                return;
            }
            std::hint::spin_loop();
        }
        let mut job = self.lock();
        while self.round.load(Ordering::Acquire) == seen {
            job = self.begin.wait(job).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once_by_threads_that_are_there() {
        for threads in 1..=4 {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads);
            for round in 0..200 {
                let mut parts: Vec<usize> = (0..=round % threads).collect();
                pool.each(&mut parts, |part| *part += 10);
                let expected: Vec<usize> = (10..=10 + round % threads).collect();
                assert_eq!(parts, expected);
            }
        }
    }

    #[test]
    fn a_panic_of_a_thread_is_one_of_the_call_and_the_pool_goes_on() {
        let pool = Pool::new(2);
        for bad in 0..2 {
            let fails = || pool.each(&mut [0, 1], |part| assert_ne!(*part, bad));
            assert!(catch_unwind(AssertUnwindSafe(fails)).is_err());
        }
        let mut parts = [1, 2];
        pool.each(&mut parts, |part| *part *= 2);
        assert_eq!(parts, [2, 4]);
    }
}
