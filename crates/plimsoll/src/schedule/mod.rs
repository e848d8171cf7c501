//! Orders of steps: the search for one with a low peak, and bounds that hold for every order.
//!
//! It works on any [`Program`] whose steps run in order. What has to stay before what is found out by
//! `dependence`, what an order costs by `cost`, from the same uses of bytes that live ranges come from;
//! `bound` and `cut` say what no order is below, and `search` tries rules, exact search, beams and windows.

mod beam;
mod bound;
mod cost;
mod cut;
mod dependence;
mod depth_first;
mod exact;
mod greedy;
mod parts;
mod scope;
mod search;
mod trail;
mod windows;
mod work;

use std::ops::ControlFlow;

#[cfg(feature = "testing")]
pub(crate) use bound::lower_bound;
use cost::build::Source;
pub(crate) use cost::{CostModel, GroupId};
use dependence::dependences;
pub use work::Pulse;
use work::Work;

use crate::assignment::{Assignment, assignments};
use crate::error::PlanError;
use crate::ids::{StepId, ValueId};
use crate::liveness::{check_sizes, reserved};
use crate::options::Options;
use crate::program::Program;
use crate::validate::{self, ValidatedProgram};

/// How long to search for an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderEffort {
    /// Rules only.
    Fast,
    /// A second or so.
    #[default]
    Default,
    /// Some minutes.
    High,
}

impl OrderEffort {
    /// How much work a search may do.
    fn work(self) -> u64 {
        match self {
            OrderEffort::Fast => 0,
            OrderEffort::Default => 40_000_000,
            OrderEffort::High => 10_000_000_000,
        }
    }
}

/// The work that goes into bounds at least, and which part of that for the search it is otherwise.
const LEAST_BOUNDING: u64 = 2_000_000;
const BOUNDING: u64 = 4;

/// An order that was searched for, and how good it is. Peaks are estimates of what a plan needs;
/// see [`arena_bound_bytes`](Schedule::arena_bound_bytes) for what is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The steps in order.
    pub steps: Vec<StepId>,
    /// The most bytes that are alive in it, as estimated.
    pub peak_bytes: u64,
    /// The same in the program's own order.
    pub own_peak_bytes: u64,
    /// Whether no order has a lower estimate: a longer search finds nothing.
    pub is_settled: bool,
    /// No plan of any order has a smaller arena, with these options and the views of this program.
    pub arena_bound_bytes: u64,
}

/// Searches for the order of a program's steps with the lowest peak.
pub fn search_order(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
) -> Result<Schedule, PlanError> {
    let found = search_watched(program, options, effort, &mut || ControlFlow::Continue(()))?;
    Ok(found.schedule)
}

/// What a search has come across.
pub(crate) struct Searched {
    /// The best.
    pub(crate) schedule: Schedule,
    /// What rules alone find, if that is neither the program's own order nor the best.
    pub(crate) by_rules: Option<Vec<StepId>>,
    /// Whether the best is more than rules alone find.
    pub(crate) beyond_rules: bool,
}

pub(crate) fn search_watched(
    program: &dyn Program,
    options: &Options,
    effort: OrderEffort,
    pulse: &mut Pulse<'_>,
) -> Result<Searched, PlanError> {
    let ordered = OrderableProgram::of(program, options)?;
    let source = ordered.source(options);
    let model = CostModel::of(&source);
    let own: Vec<GroupId> = (0..model.len() as GroupId).collect();
    let found = search::search(&model, &mut Work::new(effort.work(), pulse));
    let own_peak = model.peak(&own);
    let (by_rules, peak_by_rules) = &found.by_rules;
    let beyond_rules = *by_rules != found.order;
    let by_rules = (*peak_by_rules < own_peak && beyond_rules).then(|| model.steps(by_rules));
    let mut work = Work::new((effort.work() / BOUNDING).max(LEAST_BOUNDING), pulse);
    let by_cuts = |model: &CostModel, bound: u64, work: &mut Work<'_, '_>| {
        work.with_share(2, |work| search::bound_by_cuts(model, &found.order, bound, work))
    };
    let lower_bound = by_cuts(&model, found.lower_bound, &mut work);
    let mut arena_bound = model.arena_bound(lower_bound).unwrap_or(0);
    if arena_bound < lower_bound {
        let exact = CostModel::bound_of(&source);
        let bound = bound::lower_bound(&exact, &own).max(arena_bound);
        arena_bound = by_cuts(&exact, bound, &mut work);
    }
    let schedule = Schedule {
        steps: model.steps(&found.order),
        peak_bytes: found.peak,
        own_peak_bytes: own_peak,
        is_settled: found.peak <= lower_bound,
        arena_bound_bytes: arena_bound.max(largest(&source)),
    };
    Ok(Searched { schedule, by_rules, beyond_rules })
}

/// A valid program, with what an order of it must keep to.
pub(crate) struct OrderableProgram<'p> {
    validated: ValidatedProgram<'p>,
    assignments: Vec<Assignment>,
    before: Vec<Vec<StepId>>,
    blocks: Vec<Option<u32>>,
}

impl<'p> OrderableProgram<'p> {
    pub(crate) fn of(program: &'p dyn Program, options: &Options) -> Result<Self, PlanError> {
        let validated =
            validate::validate(program, None, &mut validate::ValidationMemory::default())
                .map_err(PlanError::Program)?;
        check_sizes(&validated, options).map_err(PlanError::Program)?;
        let assignments = assignments(&validated, options).map_err(PlanError::Shared)?;
        let before = dependences(&validated);
        let blocks = (0..validated.steps()).map(|step| program.block(StepId::new(step))).collect();
        Ok(OrderableProgram { validated, assignments, before, blocks })
    }

    pub(crate) fn source<'a>(&'a self, options: &'a Options) -> Source<'a, 'p> {
        let OrderableProgram { validated, assignments, before, blocks } = self;
        Source { validated, assignments, options, before, blocks }
    }
}

/// The largest value that is placed: whatever part of it is needed when, all of it is in the arena.
fn largest(source: &Source<'_, '_>) -> u64 {
    let Source { validated, assignments, options, .. } = *source;
    let placed = |value: &ValueId| {
        matches!(assignments[value.index()], Assignment::Packed | Assignment::Kept)
    };
    let roots = validated.value_ids().filter(|value| validated.is_root(*value)).filter(placed);
    roots.map(|root| reserved(validated, root, options)).max().unwrap_or(0)
}
