//! What can be wrong with a program, with the names of those concerned.

use std::fmt;

use crate::ids::{StepId, ValueId};
use crate::program::Program;

/// Why a program was rejected: what is wrong, with the names of those concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// What is wrong.
    pub fault: Fault,
    message: String,
}

/// What can be wrong with a program; each is one of the preconditions of [`Program`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A value that does not exist.
    UnknownValue(ValueId),
    /// A step that does not exist.
    UnknownStep(StepId),
    /// A step that the schedule has twice.
    StepTwice(StepId),
    /// A step that the schedule does not have.
    StepMissing(StepId),
    /// A view that is, in the end, a view of itself.
    ViewCycle(ValueId),
    /// A view that goes beyond the value that it is a view of.
    ViewOutside {
        /// The view.
        view: ValueId,
        /// What it is a view of.
        of: ValueId,
    },
    /// An access beyond the bytes of its value.
    AccessOutside {
        /// By which step.
        step: StepId,
        /// To which value.
        value: ValueId,
    },
    /// An access to a value that has no bytes.
    ElidedTouched {
        /// By which step.
        step: StepId,
        /// To which value.
        value: ValueId,
    },
    /// An access that begins after its step, or is over before it.
    WindowBackwards {
        /// By which step.
        step: StepId,
        /// To which value.
        value: ValueId,
    },
    /// A value that is read before anything of it is written.
    ReadBeforeWrite {
        /// By which step.
        step: StepId,
        /// Which value.
        value: ValueId,
    },
    /// Bytes that a step reads and that no step ever writes.
    NeverWritten {
        /// By which step.
        step: StepId,
        /// Of which value.
        value: ValueId,
        /// Which bytes of it: the first, and the one behind the last.
        bytes: (u64, u64),
    },
    /// A read that begins before a write that was begun is over, where steps run in order.
    Unfinished {
        /// The step that reads.
        reader: StepId,
        /// The step that writes.
        writer: StepId,
        /// What is read.
        value: ValueId,
    },
    /// Bytes of an output that no step ever writes.
    OutputNeverWritten {
        /// The output.
        value: ValueId,
        /// Which bytes of it: the first, and the one behind the last.
        bytes: (u64, u64),
    },
    /// An output that is larger than what it overwrites, or the same.
    OverwriteTooSmall {
        /// In which step.
        step: StepId,
        /// The output.
        output: ValueId,
        /// What it overwrites.
        input: ValueId,
    },
    /// An output that overwrites a value which its step reads by another access too.
    OverwriteReadTwice {
        /// In which step.
        step: StepId,
        /// The output.
        output: ValueId,
        /// What it overwrites.
        input: ValueId,
    },
    /// An output that must overwrite a value which somebody still needs, or which is not ours.
    OverwriteImpossible {
        /// In which step.
        step: StepId,
        /// The output.
        output: ValueId,
        /// What it should overwrite.
        input: ValueId,
    },
    /// Scratch memory with an alignment of 0.
    ScratchAlign(StepId),
    /// A step that reads what another makes without waiting for it.
    Race {
        /// The step that reads.
        reader: StepId,
        /// The step that writes.
        writer: StepId,
        /// The value.
        value: ValueId,
    },
    /// A step that comes before one that it is declared to be after.
    OutOfOrder {
        /// The step.
        step: StepId,
        /// What it waits for.
        needs: StepId,
    },
    /// An alignment of 0, or a view at an offset that its alignment does not allow.
    Misaligned(ValueId),
    /// A view of rows that cannot be: with a guard, of a view that is not made so, written where all
    /// rows are the same bytes, or where steps do not run in order.
    BadStrides(ValueId),
    /// A part that the caller fills of what steps make, where steps do not run in order.
    FilledPart(ValueId),
    /// A value that is too large to be planned: its bytes and its guard come to more than 2⁶².
    TooLarge(ValueId),
    /// More steps than the order of an unordered program can be worked out for.
    TooManySteps(usize),
}

impl Fault {
    /// The error, with names.
    pub(crate) fn named(self, program: &dyn Program) -> ProgramError {
        let message = self.describe(program);
        ProgramError { fault: self, message }
    }

    fn describe(&self, program: &dyn Program) -> String {
        let value = |v: ValueId| format!("value {:?}", program.value_name(v));
        let step = |s: StepId| format!("step {:?}", program.step_name(s));
        match self {
            Fault::UnknownValue(v) => format!("{v} does not exist"),
            Fault::UnknownStep(s) => format!("{s} does not exist"),
            Fault::StepTwice(s) => format!("{} is in the schedule twice", step(*s)),
            Fault::StepMissing(s) => format!("{} is not in the schedule", step(*s)),
            Fault::ViewCycle(v) => format!("{} is a view of itself", value(*v)),
            Fault::ViewOutside { view, of } => {
                format!("{} goes beyond {}, which it is a view of", value(*view), value(*of))
            }
            Fault::AccessOutside { step: s, value: v } => {
                format!("{} accesses bytes beyond {}", step(*s), value(*v))
            }
            Fault::ElidedTouched { step: s, value: v } => {
                format!("{} accesses {}, which is elided", step(*s), value(*v))
            }
            Fault::WindowBackwards { step: s, value: v } => format!(
                "{} accesses {} from after itself, or until before itself",
                step(*s),
                value(*v)
            ),
            Fault::ReadBeforeWrite { step: s, value: v } => {
                format!("{} reads {} before anything of it is written", step(*s), value(*v))
            }
            Fault::NeverWritten { step: s, value: v, bytes: (lo, hi) } => {
                format!(
                    "{} reads bytes {lo}..{hi} of {}, which no step writes",
                    step(*s),
                    value(*v)
                )
            }
            Fault::Unfinished { reader, writer, value: v } => {
                let (reader, writer) = (step(*reader), step(*writer));
                format!("{reader} reads {} before {writer} has finished to write it", value(*v))
            }
            Fault::OutputNeverWritten { value: v, bytes: (0, hi) }
                if *hi == program.value(*v).bytes =>
            {
                let v = value(*v);
                format!("{v} is an output that no step writes and that does not come from outside")
            }
            Fault::OutputNeverWritten { value: v, bytes: (lo, hi) } => {
                format!("{} is an output, but no step writes its bytes {lo}..{hi}", value(*v))
            }
            Fault::OverwriteTooSmall { step: s, output, input } => format!(
                "{}: {} does not fit into {}, which it is to overwrite",
                step(*s),
                value(*output),
                value(*input)
            ),
            Fault::OverwriteReadTwice { step: s, output, input } => format!(
                "{}: {} cannot overwrite {}, which the step reads twice",
                step(*s),
                value(*output),
                value(*input)
            ),
            Fault::OverwriteImpossible { step: s, output, input } => format!(
                "{}: {} must overwrite {}, which is still needed or not ours to overwrite",
                step(*s),
                value(*output),
                value(*input)
            ),
            Fault::ScratchAlign(s) => format!("{}: scratch has an alignment of 0", step(*s)),
            Fault::Race { reader, writer, value: v } => format!(
                "{} reads {} without waiting for {}, which writes it",
                step(*reader),
                value(*v),
                step(*writer)
            ),
            Fault::OutOfOrder { step: s, needs } => {
                format!("{} is to run after {}, but comes before it", step(*s), step(*needs))
            }
            Fault::Misaligned(v) => {
                format!("{} has an alignment of 0, or one that its offset breaks", value(*v))
            }
            Fault::BadStrides(v) => format!(
                "{} is a view of rows that cannot be: of other rows, with a guard, written though \
                 all are the same bytes, or where steps are not in order",
                value(*v)
            ),
            Fault::FilledPart(v) => format!(
                "{} is filled by the caller and a part of what steps make, which have to be in order",
                value(*v)
            ),
            Fault::TooLarge(v) => {
                format!("{} is too large: its bytes and guard are more than 2^62", value(*v))
            }
            Fault::TooManySteps(count) => format!(
                "{count} steps are too many for a program that is not in order: at most {}",
                super::happens_before::MAX_STEPS
            ),
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProgramError {}
