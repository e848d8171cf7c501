//! What would lower the arena of a program, with the program as it is.
//!
//! A [`PlanChange`] is another [`PlanRequest`]: another order, other options, more search. Nothing here is an
//! estimate: each change that could help is planned and verified like any other request, and the
//! difference of the two arenas is what it saves. What takes another program (steps in parts, values that
//! are computed again) is for whoever can make one.
//!
//! Cost: a plan for each change, of which there are a dozen at most.

use std::collections::BTreeSet;

use plimsoll_pack::Effort;

use crate::error::PlanError;
use crate::ids::ValueId;
use crate::options::{BankSpec, Boundary, Options};
use crate::order::plan_in_best_order;
use crate::pipeline::plan;
use crate::program::{Execution, Program, roots_of};
use crate::schedule::OrderEffort;
use crate::verify::VerifiedPlan;

/// How a program is to be planned.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    /// The options.
    pub options: Options,
    /// How hard to search for an order, if at all.
    pub order: Option<OrderEffort>,
}

impl PlanRequest {
    /// Plans a program as requested.
    pub fn plan(&self, program: &dyn Program) -> Result<VerifiedPlan, PlanError> {
        match self.order {
            Some(effort) => plan_in_best_order(program, &self.options, effort),
            None => plan(program, &self.options),
        }
    }
}

/// Another way to plan the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanChange {
    /// Search for an order of the steps.
    Order,
    /// Search longer, for an order and for a packing.
    Effort,
    /// Use the bytes of inputs for something else after their last read.
    ReclaimInputs,
    /// Align to fewer bytes.
    Align(u64),
    /// Leave nothing free behind values.
    NoGuards,
    /// Let outputs take over the bytes of inputs where steps declare that they may.
    InPlace,
    /// Leave outputs in the caller's memory.
    OutputsOutside,
    /// Let a second bank take what has no room in a first one of so many bytes.
    SecondBank(u64),
}

/// A program of more steps than this is not searched for longer only to tell what that would save: it
/// takes minutes.
const MOST_SEARCHED: usize = 4096;

/// Alignments that are tried, instead of larger ones.
const ALIGNS: [u64; 5] = [32, 16, 8, 4, 1];

impl PlanChange {
    /// The changes that could help a program which is planned like this, second banks aside.
    /// `is_best` says that neither its order nor its packing can be better.
    #[must_use]
    pub fn of(program: &dyn Program, request: &PlanRequest, is_best: bool) -> Vec<PlanChange> {
        let PlanRequest { options, order } = request;
        let Boundary { inputs, params, constants, outputs } = options.guards;
        let in_order = program.execution() == Execution::InOrder;
        let is_searched = options.pack.work.is_some() && order.is_some();
        let could_search = is_searched && !is_best && program.steps() <= MOST_SEARCHED;
        let could = [
            (PlanChange::Order, order.is_none() && in_order),
            (PlanChange::Effort, could_search),
            (PlanChange::InPlace, !options.in_place),
            (PlanChange::ReclaimInputs, options.place.inputs && !options.reclaim_inputs),
            (PlanChange::OutputsOutside, options.place.outputs),
            (PlanChange::NoGuards, [inputs, params, constants, outputs] != [0; 4]),
        ];
        let aligns =
            ALIGNS.into_iter().filter(|align| *align < options.align).map(PlanChange::Align);
        could
            .into_iter()
            .filter(|(_, could)| *could)
            .map(|(change, _)| change)
            .chain(aligns)
            .collect()
    }

    /// Half of an arena elsewhere, if it is all in one bank.
    #[must_use]
    pub fn second_bank(options: &Options, arena_bytes: u64) -> Option<PlanChange> {
        let capacity = arena_bytes / 2;
        (options.banks.is_empty() && capacity > 0).then_some(PlanChange::SecondBank(capacity))
    }

    /// Changes a request.
    pub fn apply(self, request: &mut PlanRequest) {
        let PlanRequest { options, order } = request;
        match self {
            PlanChange::Order => *order = Some(OrderEffort::Default),
            PlanChange::Effort => {
                *order = order.map(|_| OrderEffort::High);
                options.pack.effort = Effort::High;
                options.pack.work = None;
            }
            PlanChange::ReclaimInputs => options.reclaim_inputs = true,
            PlanChange::Align(align) => options.align = align,
            PlanChange::NoGuards => {
                options.guards = Boundary { inputs: 0, params: 0, constants: 0, outputs: 0 };
            }
            PlanChange::InPlace => options.in_place = true,
            PlanChange::OutputsOutside => options.place.outputs = false,
            PlanChange::SecondBank(capacity) => {
                let mut first = BankSpec::new("arena");
                first.capacity = Some(capacity);
                options.banks = vec![first, BankSpec::new("second")];
            }
        }
    }

    /// How much it asks of whoever does it: lower ranks are preferred. All alignments have one rank, and
    /// so have all second banks.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            PlanChange::Order => 0,
            PlanChange::Effort => 1,
            PlanChange::ReclaimInputs => 2,
            PlanChange::Align(_) => 3,
            PlanChange::NoGuards => 4,
            PlanChange::InPlace => 5,
            PlanChange::OutputsOutside => 6,
            PlanChange::SecondBank(_) => 7,
        }
    }

    /// Whether kernels must be able to do it.
    #[must_use]
    pub fn asks_for_kernels(self) -> bool {
        matches!(self, PlanChange::Align(_) | PlanChange::NoGuards | PlanChange::InPlace)
    }
}

/// A change that lowers the arena.
#[derive(Clone, Debug)]
pub struct PlanAdvice {
    /// What to do.
    pub change: PlanChange,
    /// What it saves.
    pub saved_bytes: u64,
    /// What has to be elsewhere instead: in the caller's memory, or in the second bank.
    pub elsewhere_bytes: u64,
    /// The request that was planned.
    pub request: PlanRequest,
    /// The plan that says so.
    pub plan: VerifiedPlan,
}

/// What would lower the arena of a program that is planned like this, what saves most first; of several
/// alignments the largest that saves as much.
///
/// ```
/// use plimsoll::advise::{PlanChange, PlanRequest, advise};
/// use plimsoll::{DeclaredProgram, Options};
///
/// let mut program = DeclaredProgram::default();
/// let first = program.temporary(100);
/// let second = program.output(100);
/// program.step(&[], &[first]);
/// program.step(&[first], &[second]);
///
/// let request = PlanRequest { options: Options::default(), order: None };
/// let advice = advise(&program, &request)?;
/// let best = &advice[0];
/// assert_eq!((best.change, best.saved_bytes), (PlanChange::OutputsOutside, 128));
/// assert_eq!((advice[1].change, advice[1].plan.arena_bytes()), (PlanChange::Align(4), 200));
/// # Ok::<(), plimsoll::PlanError>(())
/// ```
pub fn advise(program: &dyn Program, request: &PlanRequest) -> Result<Vec<PlanAdvice>, PlanError> {
    let before = request.plan(program)?;
    let is_best = before.derivation.optimal && order_is_best(&before);
    let mut changes = PlanChange::of(program, request, is_best);
    changes.extend(PlanChange::second_bank(&request.options, before.arena_bytes()));
    let mut advice: Vec<PlanAdvice> =
        changes.into_iter().filter_map(|change| taken(program, request, &before, change)).collect();
    advice.sort_by_cached_key(|one| {
        let moves = matches!(one.change, PlanChange::SecondBank(_));
        (moves, std::cmp::Reverse(one.saved_bytes), one.change.rank())
    });
    advice.dedup_by_key(|one| (one.change.rank(), one.saved_bytes));
    Ok(advice)
}

/// Whether no order has a smaller arena.
fn order_is_best(plan: &VerifiedPlan) -> bool {
    plan.derivation.order_bound_bytes.is_some_and(|bound| plan.arena_bytes() <= bound)
}

/// What comes of a change, if it saves anything. A plan that does not exist saves nothing.
fn taken(
    program: &dyn Program,
    request: &PlanRequest,
    before: &VerifiedPlan,
    change: PlanChange,
) -> Option<PlanAdvice> {
    let mut request = request.clone();
    change.apply(&mut request);
    let plan = request.plan(program).ok()?;
    let (arena, elsewhere_bytes) = match change {
        PlanChange::SecondBank(_) => (plan.banks[0].bytes, plan.banks[1].bytes),
        PlanChange::OutputsOutside => (plan.arena_bytes(), output_bytes(program)),
        _ => (plan.arena_bytes(), 0),
    };
    let saved_bytes = before.arena_bytes().checked_sub(arena).filter(|saved| *saved > 0)?;
    Some(PlanAdvice { change, saved_bytes, elsewhere_bytes, request, plan })
}

/// What the outputs take: each root once.
fn output_bytes(program: &dyn Program) -> u64 {
    let roots = roots_of(program);
    let is_output = |value: &ValueId| program.value(*value).output;
    let outputs = (0..program.values()).map(ValueId::new).filter(is_output);
    let roots: BTreeSet<ValueId> = outputs.map(|output| roots[output.index()].0).collect();
    roots.into_iter().map(|root| program.value(root).bytes).sum()
}
