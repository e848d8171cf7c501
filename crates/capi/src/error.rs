//! Errors: a code, and a message that the caller may ask for.

use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Ok = 0,
    /// The answer is no: it does not fit, or a plan is not valid.
    No = 1,
    /// An argument is wrong; the message says which.
    BadInput = 2,
    /// A fault of this library; the message says where.
    Internal = 3,
}

/// What went wrong.
pub struct Error {
    message: CString,
}

/// A code that is not [`Code::Ok`], and why.
pub(crate) type Failure = (Code, String);

/// The failure of a wrong argument.
pub(crate) fn bad(why: impl Display) -> Failure {
    (Code::BadInput, why.to_string())
}

/// Runs the body of a function. No panic leaves it.
///
/// # Safety
/// `error` is null, or may be written.
pub(crate) unsafe fn guarded(
    error: *mut *mut Error,
    body: impl FnOnce() -> Result<(), Failure>,
) -> Code {
    let done = catch_unwind(AssertUnwindSafe(body));
    let (code, message) = match done {
        Ok(Ok(())) => return Code::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => (Code::Internal, panic_message(&*panic)),
    };
    if !error.is_null() {
        let message = CString::new(message.replace('\0', "\u{fffd}")).unwrap_or_default();
        // SAFETY: it is not null, so it may be written.
        unsafe { *error = Box::into_raw(Box::new(Error { message })) };
    }
    code
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic".to_owned())
}

/// The message of an error, in UTF-8, as long as the error is there; NULL for NULL.
///
/// # Safety
/// `error` is null or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_error_message(error: *const Error) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { error.as_ref() }.map_or(ptr::null(), |error| error.message.as_ptr())
}

/// Frees an error; NULL is fine.
///
/// # Safety
/// `error` is null or an error that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plimsoll_error_free(error: *mut Error) {
    if !error.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and the caller has not freed it.
        drop(unsafe { Box::from_raw(error) });
    }
}
