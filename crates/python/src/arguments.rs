//! Keyword arguments, as the arguments of the command that they stand for.

use std::ffi::OsString;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

use crate::error::wrong;

/// How a keyword is said to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// `True` is the option alone, a value is that of the option, and several are joined by commas.
    Once,
    /// Every element is an option of its own.
    Each,
    /// `False` is the option.
    Negated,
}

/// Keywords, the options that they stand for, and how they are said.
pub(crate) type Keywords = &'static [(&'static str, &'static str, Said)];

/// What can be said about packing.
pub(crate) const PACKING: Keywords = &[
    ("effort", "--effort", Said::Once),
    ("algorithm", "--algorithm", Said::Once),
    ("threads", "--threads", Said::Once),
    ("time_limit", "--time-limit", Said::Once),
];

/// What can be said about a plan, whatever it is of.
pub(crate) const CHOICES: Keywords = &[
    ("order", "--order", Said::Once),
    ("align", "--align", Said::Once),
    ("place", "--place", Said::Once),
    ("preset", "--preset", Said::Once),
    ("reclaim_inputs", "--reclaim-inputs", Said::Once),
    ("guard", "--guard", Said::Once),
    ("min_slot", "--min-slot", Said::Once),
    ("in_place", "--no-in-place", Said::Negated),
    ("no_reuse", "--no-reuse", Said::Once),
    ("banks", "--bank", Said::Each),
    ("shared_from", "--shared-from", Said::Once),
];

/// What can be said about the shapes of a model's inputs.
pub(crate) const DIMS: Keywords =
    &[("dims", "--dim", Said::Each), ("input_shapes", "--input-shape", Said::Each)];

/// What can be said about a model.
pub(crate) const MODEL: Keywords = &[
    ("donate", "--donate", Said::Each),
    ("state", "--state", Said::Each),
    ("width", "--width", Said::Once),
    ("sizes", "--sizes", Said::Once),
    ("kernels", "--kernels", Said::Once),
    ("own_bytes", "--own-bytes", Said::Once),
    ("strided", "--strided", Said::Once),
    ("concat", "--concat", Said::Once),
    ("budget", "--budget", Said::Once),
];

/// What can be said about a plan that is made: near to which, and how it is written.
pub(crate) const WRITING: Keywords = &[
    ("near", "--near", Said::Once),
    ("symbol_prefix", "--symbol-prefix", Said::Once),
    ("tensor_order", "--tensor-order", Said::Once),
];

/// What can be said about fitting.
pub(crate) const FITTING: Keywords =
    &[("most_arithmetic", "--most-arithmetic", Said::Once), ("work", "--work", Said::Once)];

/// What can be said about running.
pub(crate) const RUNNING: Keywords =
    &[("order", "--order", Said::Once), ("random_weights", "--random-weights", Said::Once)];

/// What can be said about an explanation.
pub(crate) const EXPLAINING: Keywords = &[("advice", "--no-advice", Said::Negated)];

/// The arguments that keywords stand for; a keyword of none of the tables is an error, as in Python.
pub(crate) fn arguments(
    function: &str,
    keywords: Option<&Bound<'_, PyDict>>,
    tables: &[Keywords],
) -> PyResult<Vec<OsString>> {
    let mut arguments = Vec::new();
    for (keyword, value) in keywords.into_iter().flatten() {
        let keyword: String = keyword.extract()?;
        let known = tables.iter().flat_map(|table| table.iter());
        let Some((_, option, said)) = known.clone().find(|(name, ..)| *name == keyword) else {
            let unknown = format!("{function}() got an unexpected keyword argument '{keyword}'");
            return Err(PyTypeError::new_err(unknown));
        };
        say(&mut arguments, option, *said, &value).map_err(|error| match error {
            Unsaid::Kind => wrong(format!("{keyword}: cannot be {value}")),
            Unsaid::Raised(error) => error,
        })?;
    }
    Ok(arguments)
}

/// Why a value cannot be said.
enum Unsaid {
    Kind,
    Raised(PyErr),
}

impl From<PyErr> for Unsaid {
    fn from(error: PyErr) -> Self {
        Unsaid::Raised(error)
    }
}

fn say(
    arguments: &mut Vec<OsString>,
    option: &str,
    said: Said,
    value: &Bound<'_, PyAny>,
) -> Result<(), Unsaid> {
    if value.is_none() {
        return Ok(());
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        if flag.is_true() != (said == Said::Negated) {
            arguments.push(option.into());
        }
        return Ok(());
    }
    let texts = match (said, value.cast::<PyDict>()) {
        (Said::Negated, _) => return Err(Unsaid::Kind),
        (_, Ok(pairs)) => {
            pairs.iter().map(|(name, value)| pair(&name, &value)).collect::<Result<_, _>>()?
        }
        (_, Err(_)) => elements(value)?,
    };
    match said {
        Said::Each => arguments.extend(texts.iter().map(|text| format!("{option}={text}").into())),
        _ => arguments.push(format!("{option}={}", texts.join(",")).into()),
    }
    Ok(())
}

/// `name=value`; of a tuple of two, `name=lo..hi`, as a range of a dim is said.
fn pair(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<String, Unsaid> {
    let value = match value.extract::<(u64, u64)>() {
        Ok((lo, hi)) if value.is_instance_of::<PyTuple>() => format!("{lo}..{hi}"),
        _ => elements(value)?.join(","),
    };
    Ok(format!("{}={value}", text(name)?))
}

fn elements(value: &Bound<'_, PyAny>) -> Result<Vec<String>, Unsaid> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.map(|element| text(&element?)).collect();
    }
    Ok(vec![text(value)?])
}

/// Text, numbers and paths as the command reads them.
fn text(value: &Bound<'_, PyAny>) -> Result<String, Unsaid> {
    if let Ok(text) = value.extract::<String>() {
        return Ok(text);
    }
    if let Ok(number) = value.extract::<i128>() {
        return Ok(number.to_string());
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(number.to_string());
    }
    let path = value.call_method0("__fspath__").map_err(|_| Unsaid::Kind)?;
    Ok(path.extract::<String>()?)
}
