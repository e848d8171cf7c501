//! The best order of a program: the one with the smallest arena.
//!
//! The search of [`schedule`](crate::schedule) minimises the bytes alive, and a packing can make more of
//! them. So orders are compared by what counts: the arenas of their plans, each made with the work of a
//! default plan unless its bound is not below what another has. The plan that was compared is the plan
//! that is used. So no order is taken that is worse than the program's own or than what the rules alone
//! find.

use std::ops::ControlFlow;

use crate::error::PlanError;
use crate::ids::StepId;
use crate::options::Options;
use crate::pipeline::{plan_watched, unverified, verified};
use crate::plan::Plan;
use crate::program::{Execution, Program};
use crate::schedule::{OrderEffort, Pulse, Schedule, Searched, search_watched};
use crate::verify::VerifiedPlan;

/// What came of a search for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// The steps in the order that is better than the program's own, for
    /// [`Options::schedule`]; `None` if that is the best.
    pub steps: Option<Vec<StepId>>,
    /// The arena of that order, if there is a plan.
    pub arena_bytes: Option<u64>,
    /// What the search has found.
    pub schedule: Schedule,
    /// The plan of that order, to be [verified](crate::verified): what [`plan`](crate::plan()) makes of
    /// the program with [these options](Ordering::applied), or one that is as small.
    pub plan: Option<Box<Plan>>,
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
    let Some(orders) = orders_watched(program, options, effort, pulse)? else { return Ok(None) };
    let found = smallest(&orders.contenders(program, options), pulse);
    Ok(Some(orders.chosen(found)))
}

/// Plans a program in the better of its own order and the best that is found; in its own, if its steps do
/// not run in order.
pub fn plan_in_best_order(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
) -> Result<VerifiedPlan, PlanError> {
    plan_in_best_order_watched(program, options, effort, &mut || ControlFlow::Continue(()))
}

/// The same, while somebody is asked now and then whether to go on; what was found by then is kept.
pub fn plan_in_best_order_watched(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
    pulse: &mut Pulse<'_>,
) -> Result<VerifiedPlan, PlanError> {
    match order_watched(program, options, effort, pulse)? {
        Some(Ordering { plan: Some(found), .. }) => verified(program, *found),
        Some(ordering) => plan_watched(program, &ordering.applied(options), &mut |_| pulse()),
        None => plan_watched(program, options, &mut |_| pulse()),
    }
}

/// Orders that may be the best of a program: its own is the first, so that it is taken on a tie. An
/// order that gains nothing is not worth a change.
#[derive(Clone, Debug)]
pub struct Orders {
    schedule: Schedule,
    all: Vec<Option<Vec<StepId>>>,
    /// Whether the best of them is more than what rules alone find.
    beyond_rules: bool,
}

/// Searches for orders, which are to be compared; `None` if steps do not run in order.
pub fn orders_watched(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
    pulse: &mut Pulse<'_>,
) -> Result<Option<Orders>, PlanError> {
    if program.execution() != Execution::InOrder {
        return Ok(None);
    }
    let Searched { schedule, by_rules, beyond_rules } =
        search_watched(program, options, effort, pulse)?;
    let found = Some(&schedule.steps).filter(|_| schedule.peak_bytes < schedule.own_peak_bytes);
    let mut orders = vec![None];
    orders.extend(by_rules.map(Some));
    orders.extend(found.cloned().map(Some));
    orders.dedup();
    Ok(Some(Orders { schedule, all: orders, beyond_rules }))
}

impl Orders {
    /// The program in each of the orders.
    #[must_use]
    pub fn contenders<'a>(
        &self,
        program: &'a dyn Program,
        options: &Options,
    ) -> Vec<Contender<'a>> {
        let mut options = options.clone();
        options.order_bound_bytes = Some(self.schedule.arena_bound_bytes);
        let peak = |order: &Option<Vec<StepId>>| match order {
            None => self.schedule.own_peak_bytes,
            // The other is by rules, and between the two.
            Some(steps) if *steps != self.schedule.steps => self.schedule.own_peak_bytes,
            Some(_) => self.schedule.peak_bytes,
        };
        let stage = |order: &Option<Vec<StepId>>| match order {
            None => Stage::Own,
            Some(steps) if *steps == self.schedule.steps && self.beyond_rules => Stage::Search,
            Some(_) => Stage::Rules,
        };
        let contender = |order: &Option<Vec<StepId>>| Contender {
            program,
            options: options.clone().with_schedule(order.clone()),
            estimate: peak(order),
            stage: stage(order),
        };
        self.all.iter().map(contender).collect()
    }

    /// What came of it, if the contender at that place is the best.
    #[must_use]
    pub fn chosen(mut self, best: Option<(usize, Plan)>) -> Ordering {
        let schedule = self.schedule;
        let Some((index, plan)) = best else {
            return Ordering { steps: None, arena_bytes: None, schedule, plan: None };
        };
        let arena_bytes = Some(plan.arena_bytes());
        let plan = Some(Box::new(plan));
        Ordering { steps: self.all.swap_remove(index), arena_bytes, schedule, plan }
    }
}

/// A program that could be planned, and how.
#[derive(Clone)]
pub struct Contender<'a> {
    /// The program.
    pub program: &'a dyn Program,
    /// How it would be planned.
    pub options: Options,
    /// How large its arena may be, as far as anybody can tell: the lowest is tried first.
    pub estimate: u64,
    /// What it took to find its order.
    pub stage: Stage,
}

/// What it takes to find an order: whoever asks for one stage gets what those before it find, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing: it is the program's own.
    Own,
    /// Rules.
    Rules,
    /// A search.
    Search,
}

/// How much work a plan may take at first, that is compared with others.
const COMPARED: u64 = 2_000_000;
/// How much work all may take that could be the smallest; only the smallest may take more. Whatever
/// is asked for by default is not more.
const SETTLED: u64 = 20_000_000;

/// The one with the smallest arena, the first on a tie, and its plan, which is to be
/// [verified](crate::verified); nothing if there is no plan of any.
///
/// All are planned with little work; then, the best of them first, with more, as far as that could
/// still make one the smallest. What is left of the work of a long search goes to the smallest alone, and to
/// what would be that if less had been done to find orders: so a search for an order never makes an arena
/// larger, however long that of a packing is.
pub fn smallest(contenders: &[Contender<'_>], pulse: &mut Pulse<'_>) -> Option<(usize, Plan)> {
    let first = if contenders.len() == 1 { SETTLED } else { COMPARED };
    let mut promising: Vec<usize> = (0..contenders.len()).collect();
    promising.sort_by_cached_key(|index| (contenders[*index].estimate, *index));
    let mut plans: Vec<(usize, Plan)> = Vec::new();
    for index in promising {
        let plan = contenders[index].plan(first, wanted(index, least(&plans)), pulse);
        plans.extend(plan.map(|plan| (index, plan)));
    }
    plans.sort_by_cached_key(|(index, plan)| (plan.arena_bytes(), *index));
    let mut settled: Vec<(usize, Plan)> = Vec::new();
    for (index, plan) in plans {
        let below = wanted(index, least(&settled));
        if below.is_none_or(|below| plan.derivation.lower_bound_bytes < below) {
            settled.push((index, contenders[index].longer(plan, first, SETTLED, below, pulse)));
        }
    }
    let mut best: Option<(usize, Plan)> = None;
    while let Some((index, plan)) = take_least(&mut settled) {
        let Contender { stage, .. } = contenders[index];
        let below = wanted(index, best.as_ref());
        let plan = contenders[index].longer(plan, SETTLED, u64::MAX, below, pulse);
        if below.is_none_or(|below| plan.arena_bytes() < below) {
            best = Some((index, plan));
        }
        if contenders[index].work() <= SETTLED {
            break;
        }
        settled.retain(|(other, _)| contenders[*other].stage < stage);
    }
    best
}

/// The smallest of some plans, the first on a tie.
fn least(plans: &[(usize, Plan)]) -> Option<&(usize, Plan)> {
    plans.iter().min_by_key(|(at, plan)| (plan.arena_bytes(), *at))
}

fn take_least(plans: &mut Vec<(usize, Plan)>) -> Option<(usize, Plan)> {
    plans.sort_by_key(|(at, plan)| std::cmp::Reverse((plan.arena_bytes(), *at)));
    plans.pop()
}

/// The arena below which a contender would be the best: smaller, or as small and first.
fn wanted(index: usize, best: Option<&(usize, Plan)>) -> Option<u64> {
    best.map(|(at, best)| best.arena_bytes() + u64::from(index < *at))
}

impl Contender<'_> {
    /// The plan with so much work at most, if there is one.
    fn plan(&self, most: u64, below: Option<u64>, pulse: &mut Pulse<'_>) -> Option<Plan> {
        let mut options = self.options.clone();
        options.pack.work = Some(self.work().min(most));
        options.pack.below = below.filter(|_| options.banks.len() < 2);
        unverified(self.program, &options, &mut |_| pulse()).ok()
    }

    /// The plan with more work than one had, unless there is nothing to gain. More is not always
    /// better: what was found with less is kept then.
    fn longer(
        &self,
        plan: Plan,
        had: u64,
        most: u64,
        below: Option<u64>,
        pulse: &mut Pulse<'_>,
    ) -> Plan {
        let is_optimal = plan.arena_bytes() <= plan.derivation.lower_bound_bytes;
        if is_optimal || most <= had || self.work() <= had || pulse().is_break() {
            return plan;
        }
        let longer = self.plan(most, below, pulse);
        longer.filter(|longer| longer.arena_bytes() <= plan.arena_bytes()).unwrap_or(plan)
    }

    /// All the work that the options allow.
    fn work(&self) -> u64 {
        self.options.pack.work.unwrap_or(self.options.pack.effort.work())
    }
}
