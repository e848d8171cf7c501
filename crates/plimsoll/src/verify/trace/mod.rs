//! What an executor really did, checked against the plan and against itself.
//!
//! The verifier trusts the declarations of the program. A *trace* shows whether the executor does
//! what was declared: it is recorded by the executor, after all folding and fusing, one line for
//! each step that ran, in the order in which they ran.
//!
//! # Format
//!
//! JSON lines: each line is one JSON object, lines are separated by `\n`, empty lines are skipped.
//! Sizes and offsets are whole numbers of bytes. Fields that are not listed here are an error.
//!
//! ```json
//! {"step": 0, "reads": [], "writes": [{"value": "x", "bank": "arena", "offset": 0, "bytes": 64}]}
//! {"step": 1, "reads": [{"value": "x", "bank": "arena", "offset": 0, "bytes": 64, "made_by": 0}], "writes": []}
//! ```
//!
//! A step: `step`, its id, or `name`, its name in the program (one of them, or both if they agree;
//! a name that several steps have is an error without the id); `reads` and `writes`, lists of
//! accesses, which may be left out if empty.
//!
//! An access: `value`, the name of the value, or `id`, its id (one of them, or both if they
//! agree); `bank`, the name of a bank of the plan, left out for memory outside of the plan;
//! `offset`, the first byte in the bank, or in the value if there is no bank; `bytes`, how many;
//! and, for reads, `made_by`, the id of the step whose bytes the executor believes to read, left
//! out for bytes from outside (inputs, weights, state of an earlier run).
//!
//! Several runs may follow one another in a trace: when a step comes that has already run, a new
//! run begins.
//!
//! # What is checked
//!
//! - a read finds the bytes that it was meant to: of those last written by any step in the trace,
//!   by the step of `made_by`; without `made_by`, by a step that the program declares to write
//!   that value (or its views, root, or what it overwrites in place), or by none;
//! - no step writes bytes that it reads, unless the program declares the overwrite and both are
//!   at the same first byte; no two values written by a step share bytes;
//! - every step that runs says something, unless the program declares no access of it;
//! - every access is where the plan has that value, and is declared by the program for that step
//!   (of this value or of another that is the same bytes: a view or its root).
//!
//! An access that is declared and does not happen is no violation: declarations say what *may*
//! happen. Nor is a step that does not run. O((accesses + pieces) log pieces), and the pairs of
//! accesses within a step.
//!
//! # How much is read
//!
//! A line is kept only while it is looked at. No trace takes time or memory without bound: there is
//! a limit to the bytes of a line, to those of the trace, to the pieces of memory that are
//! compared, and to the violations that are told. Beyond the last the rest is not looked at; beyond
//! any other it is an error.

mod check;
mod read;

use std::{error, fmt, io};

use super::facts::{Facts, FactsMemory};
use super::violation::Region;
use super::words::Names;
use crate::ids::{StepId, ValueId};
use crate::plan::Plan;
use crate::program::Program;

/// The most violations that are told.
pub const MOST_VIOLATIONS: usize = 1 << 16;

/// How much of a trace is looked at.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes of a line.
    line: u64,
    /// Bytes of the trace.
    trace: u64,
    /// Pieces of memory and accesses that are compared with each other.
    work: u64,
    violations: usize,
}

/// As much as millions of steps need.
const LIMITS: Limits =
    Limits { line: 1 << 20, trace: 1 << 30, work: 1 << 30, violations: MOST_VIOLATIONS };

/// Checks a trace: every way in which it is not what plan and program say, in order of the trace,
/// up to [`MOST_VIOLATIONS`].
///
/// # Errors
/// [`TraceError`] if it is not a trace of this program at all, or too large to be looked at.
pub fn check(
    program: &dyn Program,
    plan: &Plan,
    trace: impl io::BufRead,
) -> Result<Vec<TraceViolation>, TraceError> {
    check_within(program, plan, trace, LIMITS)
}

fn check_within(
    program: &dyn Program,
    plan: &Plan,
    trace: impl io::BufRead,
    limits: Limits,
) -> Result<Vec<TraceViolation>, TraceError> {
    let facts = Facts::derive(program, plan, &mut FactsMemory::default(), &mut Vec::new());
    let mut check = check::Check::new(&facts, limits);
    for line in read::Lines::new(program, plan, trace, limits) {
        let line = line?;
        check.line(&line);
        if check.is_spent() {
            let what = "its steps touch too many pieces of memory to be compared".to_owned();
            return Err(TraceError::TooLarge { line: line.number, what });
        }
        if check.found.len() >= limits.violations {
            break;
        }
    }
    check.found.truncate(limits.violations);
    Ok(check.found)
}

/// Why a trace cannot be read; with the line, from 1.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace cannot be read at all.
    Io {
        /// The line.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// A line is not an object of the format.
    Syntax {
        /// The line.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// The trace is too large to be looked at.
    TooLarge {
        /// The line that is too much.
        line: usize,
        /// Why.
        what: String,
    },
    /// A line names something that program or plan do not have, or names it ambiguously.
    Unknown {
        /// The line.
        line: usize,
        /// What.
        what: String,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io { line, source } => write!(f, "line {line}: {source}"),
            TraceError::Syntax { line, source } => write!(f, "line {line}: {source}"),
            TraceError::Unknown { line, what } | TraceError::TooLarge { line, what } => {
                write!(f, "line {line}: {what}")
            }
        }
    }
}

impl error::Error for TraceError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            TraceError::Io { source, .. } => Some(source),
            TraceError::Syntax { source, .. } => Some(source),
            TraceError::Unknown { .. } | TraceError::TooLarge { .. } => None,
        }
    }
}

/// One way in which an executor did not do what plan and program say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceViolation {
    /// The line of the trace, from 1.
    pub line: usize,
    /// The step that ran.
    pub step: StepId,
    /// What it did.
    pub kind: TraceFault,
}

/// What a step did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TraceFault {
    /// It said nothing, although it is declared to touch memory.
    Silent,
    /// It read bytes that another step has written since.
    Clobbered {
        /// What it wanted to read.
        value: ValueId,
        /// The step that made what it wanted; `None` if it came from outside.
        made_by: Option<StepId>,
        /// The step that wrote the bytes last; `None` if no step did.
        found: Option<StepId>,
        /// Where.
        at: Region,
    },
    /// It wrote bytes that it reads, and that is not declared.
    WroteOwnInput {
        /// What it reads.
        input: ValueId,
        /// What it writes.
        output: ValueId,
        /// Where.
        at: Region,
    },
    /// It wrote two values to the same bytes.
    SharedOutputs {
        /// One of them.
        first: ValueId,
        /// The other.
        second: ValueId,
        /// Where.
        at: Region,
    },
    /// It touched a value somewhere else than where the plan has it.
    NotWherePlanned {
        /// The value.
        value: ValueId,
        /// Whether it wrote.
        write: bool,
        /// Where it touched it.
        at: Region,
    },
    /// It touched a value in a way that the program does not declare.
    NotDeclared {
        /// The value.
        value: ValueId,
        /// Whether it wrote.
        write: bool,
        /// Where.
        at: Region,
    },
}

impl TraceViolation {
    /// The violation in words, with the names of the program and of the plan's banks, escaped.
    pub fn describe<'a>(
        &'a self,
        program: &'a dyn Program,
        plan: &'a Plan,
    ) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            let n = Names(Some((program, plan)));
            let maker = |s: Option<StepId>| s.map_or("outside".to_owned(), |s| n.step(s));
            write!(f, "line {}: {} ", self.line, n.step(self.step))?;
            let does = |write: bool| if write { "writes" } else { "reads" };
            match self.kind {
                TraceFault::Silent => write!(f, "says nothing"),
                TraceFault::Clobbered { value, made_by, found, at } => {
                    let (wanted, found) = (maker(made_by), maker(found));
                    let (value, at) = (n.value(value), n.region(at));
                    write!(f, "reads {value} of {wanted}, but {at} was written by {found}")
                }
                TraceFault::WroteOwnInput { input, output, at } => {
                    let (output, input) = (n.value(output), n.value(input));
                    write!(f, "writes {output} over {input}, which it reads, at {}", n.region(at))
                }
                TraceFault::SharedOutputs { first, second, at } => {
                    let (first, second) = (n.value(first), n.value(second));
                    write!(f, "writes both {first} and {second} at {}", n.region(at))
                }
                TraceFault::NotWherePlanned { value, write, at } => {
                    let (value, at) = (n.value(value), n.region(at));
                    write!(f, "{} {value} at {at}, not where the plan has it", does(write))
                }
                TraceFault::NotDeclared { value, write, at } => {
                    let (value, at) = (n.value(value), n.region(at));
                    write!(f, "{} {value} at {at}, which is not declared", does(write))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
