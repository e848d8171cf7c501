//! What would lower the arena, and by how much.
//!
//! Nothing here is an estimate. An [`Action`] changes a [`Case`] (the graph, what its kernels can do,
//! the options of the plan); the case that results is planned and verified like any other, and the
//! difference of the two arenas is what the action saves. Which actions are worth a try follows
//! from the peak of the plan at hand; most are found out by a quick plan, by rules alone, and those
//! that help there are planned again as carefully as the case itself.

mod action;
mod budget;
mod candidates;
mod draft;
mod half;
mod recompute;
mod split;

use std::ops::ControlFlow;

pub use action::{Action, Cost};
pub use budget::{Fit, Reached, Refusal, fit};
use plimsoll::verify::VerifiedPlan;
use plimsoll::{Options, OrderEffort, PlanError, checked, plan};

use crate::best::{Best, Tries, best};
use crate::graph::Graph;
use crate::scheduled::{LoweringError, LoweringOptions, ScheduledGraph};

/// A graph, and how it is planned.
#[derive(Clone, Debug)]
pub struct Case {
    /// The graph, with all its copies.
    pub graph: Graph,
    /// How values are held, and what kernels can do.
    pub lowering: LoweringOptions,
    /// How to plan.
    pub options: Options,
    /// What is tried beside.
    pub tries: Tries,
    /// Whether only the first bank counts: the others are there to take what it has no room for.
    pub spills: bool,
}

impl Case {
    /// Plans the case.
    pub fn settle(self) -> Result<Settled, CaseError> {
        let best = best(&self.graph, &self.lowering, &self.options, self.tries)?;
        let program = ScheduledGraph::new(&best.graph, &self.lowering)?;
        let mut options = self.options.clone();
        options.schedule = best.ordering.as_ref().and_then(|ordering| ordering.steps.clone());
        options.order_bound_bytes = best.ordering.as_ref().map(|o| o.schedule.arena_bound_bytes);
        let plan = match &best.plan {
            Some(found) => checked(&program, found.as_ref().clone())?,
            None => plan(&program, &options)?,
        };
        Ok(Settled { case: self, best, plan })
    }

    /// The same, planned by rules alone.
    fn quick(mut self) -> Self {
        self.tries.order = self.tries.order.map(|_| OrderEffort::Fast);
        self.options.pack.work = Some(0);
        self
    }
}

/// Why a case has no plan.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaseError {
    /// The graph is not a program.
    Lowering(LoweringError),
    /// The program has no plan.
    Plan(PlanError),
}

impl std::fmt::Display for CaseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CaseError::Lowering(error) => error.fmt(f),
            CaseError::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CaseError {}

impl From<LoweringError> for CaseError {
    fn from(error: LoweringError) -> Self {
        CaseError::Lowering(error)
    }
}

impl From<PlanError> for CaseError {
    fn from(error: PlanError) -> Self {
        CaseError::Plan(error)
    }
}

/// A case with its plan.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The case.
    pub case: Case,
    /// The graph as it was planned, and what was found on the way.
    pub best: Best,
    /// The plan.
    pub plan: VerifiedPlan,
}

impl Settled {
    /// The program that was planned.
    ///
    /// # Panics
    /// Never: it was a program before.
    #[must_use]
    pub fn program(&self) -> ScheduledGraph<'_> {
        ScheduledGraph::new(&self.best.graph, &self.case.lowering).expect("it was planned")
    }

    /// The arena that counts: all banks, or the first one if the others only take what is left.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        let banks = if self.case.spills { &self.plan.banks[..1] } else { &self.plan.banks };
        banks.iter().map(|bank| bank.bytes).sum()
    }

    /// What is in the banks that do not count.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        let all: u64 = self.plan.banks.iter().map(|bank| bank.bytes).sum();
        all - self.arena_bytes()
    }
}

/// The same graph at smaller dims, which the caller knows how to make.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What it is called, like `batch=4`.
    pub label: String,
    /// The graph.
    pub graph: Graph,
}

/// Something that lowers the arena.
#[derive(Clone, Debug)]
pub struct Advice {
    /// What to do.
    pub action: Action,
    /// What it saves.
    pub saved_bytes: u64,
    /// What it costs.
    pub cost: Cost,
    /// The plan that says so.
    pub settled: Settled,
}

/// Every way to rewrite the graph of a case that is ever tried, wherever its peak is: for tests, which
/// show that what is computed stays the same.
#[cfg(feature = "testing")]
#[must_use]
pub fn rewrites(settled: &Settled) -> Vec<Action> {
    candidates::rewrites(settled)
}

/// So much advice is given at most.
const MOST_ADVICE: usize = 8;

/// What saves less than this part of the arena is not worth it.
const WORTH: u64 = 200;

/// Who is told of every action before it is planned, and may say that it is enough.
pub type Watch<'w> = dyn FnMut(&Action) -> ControlFlow<()> + 'w;

/// What would lower the arena of a case, what saves most first.
#[must_use]
pub fn advise(settled: &Settled, variants: &[Variant], watch: &mut Watch<'_>) -> Vec<Advice> {
    let mut advice: Vec<Advice> = Vec::new();
    let actions = candidates::all(settled, variants);
    let actions = promising(settled, variants, actions, watch);
    for action in actions.into_iter().take(MOST_ADVICE) {
        if watch(&action).is_break() {
            break;
        }
        advice.extend(taken(settled, &action, variants));
    }
    advice.retain(|advice| advice.saved_bytes.saturating_mul(WORTH) >= settled.arena_bytes());
    // A second bank does not save anything: it takes it elsewhere.
    let moves = |action: &Action| matches!(action, Action::SecondBank(_));
    let key = |a: &Advice| (moves(&a.action), std::cmp::Reverse(a.saved_bytes), a.action.rank());
    advice.sort_by_key(key);
    without_twins(advice)
}

/// What comes of an action, if it saves anything.
fn taken(settled: &Settled, action: &Action, variants: &[Variant]) -> Option<Advice> {
    let after = action.apply(&settled.case, variants)?.settle().ok()?;
    let saved_bytes = settled.arena_bytes().checked_sub(after.arena_bytes())?;
    let cost = action.cost(settled, &after);
    (saved_bytes > 0).then(|| Advice { action: action.clone(), saved_bytes, cost, settled: after })
}

/// The actions that help in a quick plan, what saves most first; and those that only a careful plan
/// can tell of.
fn promising(
    settled: &Settled,
    variants: &[Variant],
    actions: Vec<Action>,
    watch: &mut Watch<'_>,
) -> Vec<Action> {
    let quick = |case: Case| Some(case.quick().settle().ok()?.arena_bytes());
    let before = quick(settled.case.clone());
    let mut ranked = Vec::new();
    for action in actions {
        if watch(&action).is_break() {
            break;
        }
        let arena = match (&action, action.apply(&settled.case, variants)) {
            (Action::Effort, Some(_)) => Some(0),
            (_, Some(case)) => quick(case).filter(|arena| before.is_none_or(|b| *arena < b)),
            (_, None) => None,
        };
        if let Some(arena) = arena {
            ranked.push((arena, action.rank(), action));
        }
    }
    ranked.sort_by_key(|(arena, rank, _)| (*arena, *rank));
    ranked.into_iter().map(|(_, _, action)| action).collect()
}

/// Of several ways to do the same kind of thing only the best one or two are worth telling.
fn without_twins(advice: Vec<Advice>) -> Vec<Advice> {
    let mut kept: Vec<Advice> = Vec::new();
    for one in advice {
        let mut alike = kept.iter().filter(|other| other.action.rank() == one.action.rank());
        let no_better = alike.clone().any(|other| other.saved_bytes == one.saved_bytes);
        if !no_better && alike.by_ref().count() < one.action.most_alike() {
            kept.push(one);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
