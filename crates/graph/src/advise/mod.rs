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
use plimsoll::advise::PlanChange;

use crate::driver::{Case, PlannedGraph};
use crate::graph::Graph;

/// The same program as another graph, which the caller knows how to make.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What is different.
    pub kind: VariantKind,
    /// What it is called, like `batch=4` or `attention`.
    pub label: String,
    /// The graph.
    pub graph: Graph,
}

/// What is different in another graph of the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantKind {
    /// Dims are smaller.
    Smaller,
    /// Kernels that compute several nodes as one are used.
    Fused,
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
    pub settled: PlannedGraph,
}

/// Every way to rewrite the graph of a case that is ever tried, wherever its peak is: for tests, which
/// show that what is computed stays the same.
#[cfg(feature = "testing")]
#[must_use]
pub fn rewrites(settled: &PlannedGraph) -> Vec<Action> {
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
pub fn advise(settled: &PlannedGraph, variants: &[Variant], watch: &mut Watch<'_>) -> Vec<Advice> {
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
    let moves = |action: &Action| matches!(action, Action::Plan(PlanChange::SecondBank(_)));
    let key = |a: &Advice| (moves(&a.action), std::cmp::Reverse(a.saved_bytes), a.action.rank());
    advice.sort_by_cached_key(key);
    without_twins(advice)
}

/// What comes of an action, if it saves anything.
fn taken(settled: &PlannedGraph, action: &Action, variants: &[Variant]) -> Option<Advice> {
    let after = action.apply(&settled.case, variants)?.plan().ok()?;
    let saved_bytes = settled.arena_bytes().checked_sub(after.arena_bytes())?;
    let cost = action.cost(settled, &after);
    (saved_bytes > 0).then(|| Advice { action: action.clone(), saved_bytes, cost, settled: after })
}

/// The actions that help in a quick plan, what saves most first; and those that only a careful plan
/// can tell of.
fn promising(
    settled: &PlannedGraph,
    variants: &[Variant],
    actions: Vec<Action>,
    watch: &mut Watch<'_>,
) -> Vec<Action> {
    let quick = |case: Case| Some(case.quick().plan().ok()?.arena_bytes());
    let before = quick(settled.case.clone());
    let mut ranked = Vec::new();
    for action in actions {
        if watch(&action).is_break() {
            break;
        }
        let arena = match (&action, action.apply(&settled.case, variants)) {
            (Action::Plan(PlanChange::Effort), Some(_)) => Some(0),
            (_, Some(case)) => quick(case).filter(|arena| before.is_none_or(|b| *arena < b)),
            (_, None) => None,
        };
        if let Some(arena) = arena {
            ranked.push((arena, action.rank(), action));
        }
    }
    ranked.sort_by_cached_key(|(arena, rank, _)| (*arena, *rank));
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
