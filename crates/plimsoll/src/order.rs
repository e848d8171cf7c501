//! The best order of a program, taken where its arena is smaller.
//!
//! The search of [`schedule`](crate::schedule) minimises the bytes alive, and a packing can make more of
//! them. So what was found is held against the program's own order by what counts: the arena.

use std::ops::ControlFlow;

use crate::error::PlanError;
use crate::ids::StepId;
use crate::options::Options;
use crate::pipeline::arena_bytes;
use crate::program::{Execution, Program};
use crate::schedule::{OrderEffort, Pulse, Schedule, search_watched};

/// What came of a search for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// The steps in the order that is better than the program's own, for
    /// [`Options::schedule`]; `None` if that is the best.
    pub steps: Option<Vec<StepId>>,
    /// The arena of that order in a plan that took little work, if there is one.
    pub arena_bytes: Option<u64>,
    /// What the search has found.
    pub schedule: Schedule,
}

impl Ordering {
    /// The options with this order and its bound in them.
    #[must_use]
    pub fn applied(&self, options: &Options) -> Options {
        let mut options = options.clone().with_schedule(self.steps.clone());
        options.order_bound_bytes = Some(self.schedule.arena_bound_bytes);
        options
    }
}

/// The better of a program's own order and the best that is found, by the arenas of their plans; `None`
/// if its steps do not run in order, so that there is nothing to search for.
///
/// ```
/// # use plimsoll::{Access, Options, OrderEffort, Program, StepId, ValueId, ValueInfo, order, plan};
/// # use std::borrow::Cow;
/// # /// Two branches that are both begun before either is finished.
/// # struct Branches;
/// # impl Program for Branches {
/// #     fn steps(&self) -> usize { 5 }
/// #     fn values(&self) -> usize { 5 }
/// #     fn value(&self, value: ValueId) -> ValueInfo {
/// #         ValueInfo { output: value.0 == 4, ..ValueInfo::new([1024, 1024, 64, 64, 64][value.index()]) }
/// #     }
/// #     fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
/// #         let reads: &[u32] = [&[][..], &[], &[0], &[1], &[2, 3]][step.index()];
/// #         let read = reads.iter().map(|value| Access::read(ValueId(*value)));
/// #         Cow::Owned(read.chain([Access::write(ValueId(step.0))]).collect())
/// #     }
/// # }
/// let options = Options::default();
/// let ordering = order(&Branches, &options, OrderEffort::Default)?.expect("steps run in order");
/// let plan = plan(&Branches, &ordering.applied(&options))?;
/// assert_eq!((plan.banks[0].bytes, ordering.schedule.arena_bound_bytes), (1152, 1152));
/// # Ok::<(), plimsoll::PlanError>(())
/// ```
pub fn order(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
) -> Result<Option<Ordering>, PlanError> {
    order_watched(program, options, effort, &mut || ControlFlow::Continue(()))
}

/// The same, while somebody is asked now and then whether to go on; what was found by then is kept.
pub fn order_watched(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Ordering>, PlanError> {
    if program.execution() != Execution::InOrder {
        return Ok(None);
    }
    let schedule = search_watched(program, options, effort, pulse)?;
    let own = compared_arena(program, options, pulse);
    if schedule.peak_bytes >= schedule.own_peak_bytes {
        return Ok(Some(Ordering { steps: None, arena_bytes: own, schedule }));
    }
    let found = options.clone().with_schedule(Some(schedule.steps.clone()));
    let found = compared_arena(program, &found, pulse);
    // Whatever fits is better than what does not.
    let is_better = found.is_some_and(|found| own.is_none_or(|own| found < own));
    let steps = is_better.then(|| schedule.steps.clone());
    let arena_bytes = if is_better { found } else { own };
    Ok(Some(Ordering { steps, arena_bytes, schedule }))
}

/// How much work a plan may take that is only compared with others.
const COMPARED: u64 = 2_000_000;

/// The arena of a plan that took little work, if there is one.
pub fn compared_arena(
    program: &dyn Program,
    options: &Options,
    pulse: &mut Pulse<'_>,
) -> Option<u64> {
    let mut options = options.clone();
    options.pack.work = Some(options.pack.work.unwrap_or(COMPARED).min(COMPARED));
    arena_bytes(program, &options, pulse).ok()
}
