//! What would lower the arena of a program, with the program as it is.
//!
//! A [`Change`] is another [`Request`]: another order, other options, more search. Nothing here is an
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
pub struct Request {
    /// The options.
    pub options: Options,
    /// How hard to search for an order, if at all.
    pub order: Option<OrderEffort>,
}

impl Request {
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
pub enum Change {
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

/// Alignments that are tried, instead of larger ones.
const ALIGNS: [u64; 5] = [32, 16, 8, 4, 1];

impl Change {
    /// The changes that could help a program which is planned like this, second banks aside.
    /// `is_best` says that neither its order nor its packing can be better.
    #[must_use]
    pub fn of(program: &dyn Program, request: &Request, is_best: bool) -> Vec<Change> {
        let Request { options, order } = request;
        let Boundary { inputs, params, constants, outputs } = options.guards;
        let in_order = program.execution() == Execution::InOrder;
        let could = [
            (Change::Order, order.is_none() && in_order),
            (Change::Effort, !is_best && options.pack.work.is_some() && order.is_some()),
            (Change::InPlace, !options.in_place),
            (Change::ReclaimInputs, options.place.inputs && !options.reclaim_inputs),
            (Change::OutputsOutside, options.place.outputs),
            (Change::NoGuards, [inputs, params, constants, outputs] != [0; 4]),
        ];
        let aligns = ALIGNS.into_iter().filter(|align| *align < options.align).map(Change::Align);
        could
            .into_iter()
            .filter(|(_, could)| *could)
            .map(|(change, _)| change)
            .chain(aligns)
            .collect()
    }

    /// Half of an arena elsewhere, if it is all in one bank.
    #[must_use]
    pub fn second_bank(options: &Options, arena_bytes: u64) -> Option<Change> {
        let capacity = arena_bytes / 2;
        (options.banks.is_empty() && capacity > 0).then_some(Change::SecondBank(capacity))
    }

    /// Changes a request.
    pub fn apply(self, request: &mut Request) {
        let Request { options, order } = request;
        match self {
            Change::Order => *order = Some(OrderEffort::Default),
            Change::Effort => {
                *order = order.map(|_| OrderEffort::High);
                options.pack.effort = Effort::High;
                options.pack.work = None;
            }
            Change::ReclaimInputs => options.reclaim_inputs = true,
            Change::Align(align) => options.align = align,
            Change::NoGuards => {
                options.guards = Boundary { inputs: 0, params: 0, constants: 0, outputs: 0 };
            }
            Change::InPlace => options.in_place = true,
            Change::OutputsOutside => options.place.outputs = false,
            Change::SecondBank(capacity) => {
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
            Change::Order => 0,
            Change::Effort => 1,
            Change::ReclaimInputs => 2,
            Change::Align(_) => 3,
            Change::NoGuards => 4,
            Change::InPlace => 5,
            Change::OutputsOutside => 6,
            Change::SecondBank(_) => 7,
        }
    }

    /// Whether kernels must be able to do it.
    #[must_use]
    pub fn asks_for_kernels(self) -> bool {
        matches!(self, Change::Align(_) | Change::NoGuards | Change::InPlace)
    }
}

/// A change that lowers the arena.
#[derive(Clone, Debug)]
pub struct Advice {
    /// What to do.
    pub change: Change,
    /// What it saves.
    pub saved_bytes: u64,
    /// What has to be elsewhere instead: in the caller's memory, or in the second bank.
    pub elsewhere_bytes: u64,
    /// The request that was planned.
    pub request: Request,
    /// The plan that says so.
    pub plan: VerifiedPlan,
}

/// What would lower the arena of a program that is planned like this, what saves most first; of several
/// alignments the largest that saves as much.
///
/// ```
/// use plimsoll::advise::{Change, Request, advise};
/// use plimsoll::{DeclaredProgram, Options};
///
/// let mut program = DeclaredProgram::default();
/// let first = program.temporary(100);
/// let second = program.output(100);
/// program.step(&[], &[first]);
/// program.step(&[first], &[second]);
///
/// let request = Request { options: Options::default(), order: None };
/// let advice = advise(&program, &request)?;
/// let best = &advice[0];
/// assert_eq!((best.change, best.saved_bytes), (Change::OutputsOutside, 128));
/// assert_eq!((advice[1].change, advice[1].plan.arena_bytes()), (Change::Align(4), 200));
/// # Ok::<(), plimsoll::PlanError>(())
/// ```
pub fn advise(program: &dyn Program, request: &Request) -> Result<Vec<Advice>, PlanError> {
    let before = request.plan(program)?;
    let is_best = before.derivation.optimal && order_is_best(&before);
    let mut changes = Change::of(program, request, is_best);
    changes.extend(Change::second_bank(&request.options, before.arena_bytes()));
    let mut advice: Vec<Advice> =
        changes.into_iter().filter_map(|change| taken(program, request, &before, change)).collect();
    advice.sort_by_key(|one| {
        let moves = matches!(one.change, Change::SecondBank(_));
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
    request: &Request,
    before: &VerifiedPlan,
    change: Change,
) -> Option<Advice> {
    let mut request = request.clone();
    change.apply(&mut request);
    let plan = request.plan(program).ok()?;
    let (arena, elsewhere_bytes) = match change {
        Change::SecondBank(_) => (plan.banks[0].bytes, plan.banks[1].bytes),
        Change::OutputsOutside => (plan.arena_bytes(), output_bytes(program)),
        _ => (plan.arena_bytes(), 0),
    };
    let saved_bytes = before.arena_bytes().checked_sub(arena).filter(|saved| *saved > 0)?;
    Some(Advice { change, saved_bytes, elsewhere_bytes, request, plan })
}

/// What the outputs take: each root once.
fn output_bytes(program: &dyn Program) -> u64 {
    let roots = roots_of(program);
    let is_output = |value: &ValueId| program.value(*value).output;
    let outputs = (0..program.values()).map(ValueId::new).filter(is_output);
    let roots: BTreeSet<ValueId> = outputs.map(|output| roots[output.index()].0).collect();
    roots.into_iter().map(|root| program.value(root).bytes).sum()
}
