//! Two memories: a fast one that is small, and a slow one in which values wait between uses.
//!
//! A step has to have all that it touches in the fast memory. Between two uses a value stays there, or leaves: it is
//! copied out once, and copied back before each later use. These copies are steps of another [`Program`], in which
//! every stay and the wait are values of their own, each bound to its bank. So that program is planned and verified
//! like any other, and the planner knows nothing of spilling. What is minimised is the bytes moved.
//!
//! ```text
//! program    a ─────────────────────▶ use a          with copies    a ▶ out   …   back ▶ a.fast.1 ▶ use
//!                 much is needed here                               └── a.slow ──────┘
//! ```
//!
//! Weights are not placed by default and do not count: they stream. The same holds for inputs in the caller's memory,
//! which steps read where they are; [placed](crate::Options::place) ones wait in the slow memory and are brought in
//! like anything else. What is written for several steps, kept from run to run, changed in place or touched by a
//! branch or a loop never leaves in between.
//!
//! A step that [only moves bytes](Program::only_moves) and has no room in the fast memory works in the slow one, on
//! what waits there: an output that is put together of more pieces than there is room for. What it reads and writes
//! is moved too.
//!
//! Cost: choosing is a few passes over the steps for every value that leaves ([`choose`]), then a plan; where what
//! was chosen does not pack into the fast memory, both are done again with less room.

mod choose;
mod program;
mod uses;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::choose::{Chosen, choose};
use self::program::Writing;
use self::uses::{Used, can_stream, choices, streamable, used};
use crate::assignment::{SharedError, assignments};
use crate::declared::DeclaredProgram;
use crate::error::PlanError;
use crate::ids::{StepId, ValueId};
use crate::options::{BankSpec, Options};
use crate::pipeline::{unverified_plan, verified};
use crate::program::{Execution, Program};
use crate::schedule::Pulse;
use crate::validate::{ProgramError, ValidationMemory, validate};
use crate::verify::VerifiedPlan;

/// The two memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpillBanks {
    /// What the fast one is called.
    pub fast: String,
    /// How large it is.
    pub capacity: u64,
    /// What the slow one is called.
    pub slow: String,
}

/// A value that leaves the fast memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Leave {
    /// Which.
    pub value: ValueId,
    /// The step that uses it last before it leaves.
    pub after: StepId,
}

/// What is copied in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Bytes from the fast memory to the slow one.
    pub out_bytes: u64,
    /// Bytes back.
    pub back_bytes: u64,
    /// How many copies out there are.
    pub out: u64,
    /// How many copies back.
    pub back: u64,
    /// Bytes that steps read and write in the slow memory.
    #[serde(default)]
    pub streamed_bytes: u64,
}

impl Moved {
    /// All of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.out_bytes + self.back_bytes + self.streamed_bytes
    }
}

/// A program with copies, and its plan.
#[derive(Clone, Debug)]
pub struct Spilled {
    /// The program, whose steps are in order.
    pub program: DeclaredProgram,
    /// Its plan.
    pub plan: VerifiedPlan,
    /// What leaves when.
    pub leaves: Vec<Leave>,
    /// The steps that work in the slow memory.
    pub streamed: Vec<StepId>,
    /// What is copied.
    pub moved: Moved,
    /// Whether no other choice for this order moves less, as far as bytes in use are concerned.
    pub proven: bool,
}

/// Why a program does not run in two memories.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpillError {
    /// Steps that overlap have no moment at which something could leave.
    #[error("only programs whose steps run in order can wait for copies")]
    NotInOrder,
    /// A step has no room for what it touches.
    #[error("step {step} needs {bytes} bytes at once, where the fast memory has {capacity}")]
    NoRoom {
        /// What the step is called.
        step: String,
        /// What it touches.
        bytes: u64,
        /// What there is.
        capacity: u64,
    },
    /// What fits by its bytes was not packed.
    #[error("no packing was found in which the fast memory has room for every step")]
    NotPacked,
    /// A value is said to leave where it cannot.
    #[error("{value} cannot leave the fast memory behind {step}")]
    BadLeave {
        /// Which.
        value: ValueId,
        /// Behind which step.
        step: StepId,
    },
    /// A step is said to work in the slow memory, and cannot.
    #[error("{step} cannot work in the slow memory")]
    BadStream {
        /// Which.
        step: StepId,
    },
    /// The program is not right.
    #[error(transparent)]
    Program(ProgramError),
    /// Shared values are not where they are said to be.
    #[error(transparent)]
    Shared(SharedError),
    /// The program with copies has no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// How often less room is tried where a choice does not pack.
const TRIES: usize = 12;

/// Lets values wait in the slow memory so that the rest fits the fast one, for few bytes moved.
///
/// The order of steps is that of the options, or the program's own. Their banks are replaced by the two.
pub fn spill(
    program: &dyn Program,
    options: &Options,
    banks: &SpillBanks,
    pulse: &mut Pulse<'_>,
) -> Result<Spilled, SpillError> {
    let mut room = banks.capacity;
    for _ in 0..TRIES {
        let Choice { leaves, streamed, proven } = chosen(program, options, banks, room)?;
        let (program, moved) = with_copies(program, options, banks, &leaves, &streamed)?;
        let options = planning(options, banks);
        let mut plan = unverified_plan(&program, &options, pulse)?;
        let bytes = plan.banks[0].bytes;
        if bytes <= banks.capacity {
            plan.banks[0].capacity = Some(banks.capacity);
            let proven = proven && room == banks.capacity;
            let plan = verified(&program, plan)?;
            return Ok(Spilled { program, plan, leaves, streamed, moved, proven });
        }
        room = room.saturating_sub((bytes - banks.capacity).max(banks.capacity / 64));
    }
    Err(SpillError::NotPacked)
}

/// How the program with copies is planned.
fn planning(options: &Options, banks: &SpillBanks) -> Options {
    let specs = vec![BankSpec::new(&banks.fast), BankSpec::new(&banks.slow)];
    let mut options = options.clone().with_banks(specs).with_schedule(None);
    options.order_bound_bytes = None;
    options
}

/// What was chosen.
struct Choice {
    leaves: Vec<Leave>,
    streamed: Vec<StepId>,
    /// Whether no other choice moves less.
    proven: bool,
}

/// What leaves when, if there is so much room.
fn chosen(
    program: &dyn Program,
    options: &Options,
    banks: &SpillBanks,
    room: u64,
) -> Result<Choice, SpillError> {
    if program.execution() != Execution::InOrder {
        return Err(SpillError::NotInOrder);
    }
    let validated =
        validate(program, options.schedule.as_deref(), &mut ValidationMemory::default())
            .map_err(SpillError::Program)?;
    let assignments = assignments(&validated, options).map_err(SpillError::Shared)?;
    let whole = used(&validated, &assignments, options, &[]);
    let streamed = streamable(&validated, &whole, room);
    let used = used(&validated, &assignments, options, &streamed);
    let (choices, owners) = choices(&validated, &used, room);
    let Chosen { leaves, proven, .. } = choose(&choices).map_err(|at| {
        if choices.base[at] <= banks.capacity {
            return SpillError::NotPacked;
        }
        SpillError::NoRoom {
            step: program.step_name(validated.schedule[at]).into_owned(),
            bytes: choices.base[at],
            capacity: banks.capacity,
        }
    })?;
    let leave = |one: &Used, which: usize| Leave {
        value: one.root,
        after: validated.schedule[one.at[which]],
    };
    let free = owners.iter().zip(leaves).filter(|(_, leaves)| *leaves);
    let free = free.map(|((index, which), _)| leave(&used[*index], *which));
    let musts = used
        .iter()
        .flat_map(|one| one.must_leave().into_iter().map(move |which| leave(one, which)));
    let leaves = free.chain(musts).collect();
    Ok(Choice { leaves, streamed, proven })
}

/// The program in which these values leave, and what is copied: what a plan with copies is verified against.
pub fn with_copies(
    program: &dyn Program,
    options: &Options,
    banks: &SpillBanks,
    leaves: &[Leave],
    streamed: &[StepId],
) -> Result<(DeclaredProgram, Moved), SpillError> {
    let validated =
        validate(program, options.schedule.as_deref(), &mut ValidationMemory::default())
            .map_err(SpillError::Program)?;
    let assignments = assignments(&validated, options).map_err(SpillError::Shared)?;
    let whole = used(&validated, &assignments, options, &[]);
    for step in streamed {
        if step.index() >= validated.steps() || !can_stream(&validated, &whole, *step) {
            return Err(SpillError::BadStream { step: *step });
        }
    }
    let used = used(&validated, &assignments, options, streamed);
    for Leave { value, after } in leaves {
        let position = validated.position.get(after.index());
        let can = |one: &Used| position.is_some_and(|at| one.can_leave_behind(*at));
        if !used.iter().any(|one| one.root == *value && can(one)) {
            return Err(SpillError::BadLeave { value: *value, step: *after });
        }
    }
    // What a streamed step reads has left before it.
    for one in used.iter().filter(|one| !one.is_given) {
        let left = leaves.iter().filter(|leave| leave.value == one.root);
        let first = left.map(|leave| validated.position[leave.after.index()]).min();
        for at in &one.streamed {
            if first.is_none_or(|first| first >= *at) {
                return Err(SpillError::BadStream { step: validated.schedule[*at] });
            }
        }
    }
    Ok(Writing::new(&validated, &used, banks).write(leaves, streamed))
}
