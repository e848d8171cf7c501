//! Exceptions, with the words of the command.

use plimsoll_cli::NoAnswer;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    plimsoll,
    Error,
    PyValueError,
    "The input is wrong; the message names the place, in the words of the command."
);
create_exception!(
    plimsoll,
    DoesNotFit,
    Error,
    "The answer is no: there is no room, or none was found."
);

/// The exception for what has no answer.
pub(crate) fn raised(no: NoAnswer) -> PyErr {
    match no {
        NoAnswer::No(why) => DoesNotFit::new_err(why),
        NoAnswer::Bad(why) => Error::new_err(why),
    }
}

/// The exception for what is wrong.
pub(crate) fn wrong(why: impl ToString) -> PyErr {
    Error::new_err(why.to_string())
}
