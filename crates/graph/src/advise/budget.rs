//! What it takes to fit a budget.
//!
//! Sets of actions are built one action at a time, the smallest sets first: every single action,
//! then what can be done beside the few that came lowest, and so on. First only with actions that
//! keep the result; those that change it come into question where nothing else fits. What was found
//! is freed of actions that turn out not to be needed.

use plimsoll::advise::PlanChange;
use plimsoll::{BankSpec, NoRoom, PlanError};

use super::{Action, Cost, Variant, Watch, candidates, promising, taken};
use crate::driver::{Case, PlannedGraph};

/// Sets of more actions are not looked at.
const MOST_ACTIONS: usize = 3;

/// So many sets of each size are built upon.
const BEAM: usize = 2;

/// So many actions are planned carefully beside each of these.
const MOST_TRIED: usize = 4;

/// How a budget is met, or why it is not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fit {
    /// As it is.
    AsItIs,
    /// With these actions.
    With(Box<Reached>),
    /// By nothing that was tried.
    No(Box<Refusal>),
}

/// A plan, and the actions that led to it, each for the case after those before it.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The actions with their costs, each told for the case that it was applied to.
    pub steps: Vec<(Action, Cost, PlannedGraph)>,
    /// The plan with all of them.
    pub settled: PlannedGraph,
}

/// Why a budget is not met.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The smallest arena that was found.
    pub lowest: Reached,
    /// Below this no arena is, whatever the order of that graph.
    pub any_order_bytes: Option<u64>,
    /// What does not fit the budget together.
    pub no_room: Option<NoRoom>,
    /// What a second bank would have to hold, if one may take what has no room.
    pub second_bank: Option<u64>,
}

/// What it takes for a case to fit.
#[must_use]
pub fn fit(
    settled: &PlannedGraph,
    variants: &[Variant],
    budget: u64,
    watch: &mut Watch<'_>,
) -> Fit {
    if settled.arena_bytes() <= budget {
        return Fit::AsItIs;
    }
    let start = Reached { steps: Vec::new(), settled: settled.clone() };
    let mut lowest = start.clone();
    for keep_result in [true, false] {
        let mut sets = vec![start.clone()];
        for _ in 0..MOST_ACTIONS {
            let grow = |set: &Reached| grown(set, variants, keep_result, watch);
            sets = sets.iter().flat_map(grow).collect();
            sets.sort_by_cached_key(|set| (set.settled.arena_bytes(), set.rank()));
            let fitting = sets.iter().filter(|set| set.settled.arena_bytes() <= budget);
            if let Some(found) = fitting.min_by_key(|set| (set.rank(), set.settled.arena_bytes())) {
                let needed = needed(settled, found, variants, budget);
                return Fit::With(Box::new(needed));
            }
            sets.truncate(BEAM);
            if let Some(best) = sets.first()
                && best.settled.arena_bytes() < lowest.settled.arena_bytes()
            {
                lowest = best.clone();
            }
        }
    }
    Fit::No(Box::new(refusal(settled, lowest, variants, budget)))
}

impl Reached {
    /// How much its actions ask.
    fn rank(&self) -> u32 {
        self.steps.iter().map(|(action, ..)| u32::from(action.rank())).sum()
    }
}

/// The set with one action more.
fn grown(
    set: &Reached,
    variants: &[Variant],
    keep_result: bool,
    watch: &mut Watch<'_>,
) -> Vec<Reached> {
    // Variants are of the graph as it was.
    let variants = if set.steps.is_empty() { variants } else { &[] };
    let mut actions = candidates::all(&set.settled, variants);
    actions.retain(|action| {
        let keeps = action.keeps_result() || !keep_result;
        // A longer search takes minutes each time: it is advised, and not built upon.
        keeps && !matches!(action, Action::Plan(PlanChange::SecondBank(_) | PlanChange::Effort))
    });
    let actions = promising(&set.settled, variants, actions, watch).into_iter().take(MOST_TRIED);
    actions
        .take_while(|action| watch(action).is_continue())
        .filter_map(|action| {
            let advice = taken(&set.settled, &action, variants)?;
            let mut steps = set.steps.clone();
            steps.push((action, advice.cost, set.settled.clone()));
            Some(Reached { steps, settled: advice.settled })
        })
        .collect()
}

/// The set without actions that it fits without. Those that change the graph refer to the graph as
/// they found it, so only what options do is tried to be left out.
fn needed(settled: &PlannedGraph, found: &Reached, variants: &[Variant], budget: u64) -> Reached {
    let mut kept = found.clone();
    let mut index = 0;
    while index < kept.steps.len() {
        if kept.steps[index].0.changes_graph() {
            index += 1;
            continue;
        }
        let mut rest = kept.steps.clone();
        rest.remove(index);
        match replayed(settled, rest.iter().map(|(action, ..)| action), variants) {
            Some(without) if without.settled.arena_bytes() <= budget => kept = without,
            _ => index += 1,
        }
    }
    kept
}

/// The actions once more, from the start.
fn replayed<'a>(
    settled: &PlannedGraph,
    actions: impl Iterator<Item = &'a Action>,
    variants: &[Variant],
) -> Option<Reached> {
    let mut reached = Reached { steps: Vec::new(), settled: settled.clone() };
    for action in actions {
        let after = action.apply(&reached.settled.case, variants)?.plan().ok()?;
        let cost = action.cost(&reached.settled, &after);
        reached.steps.push((action.clone(), cost, reached.settled));
        reached.settled = after;
    }
    Some(reached)
}

fn refusal(settled: &PlannedGraph, lowest: Reached, variants: &[Variant], budget: u64) -> Refusal {
    let best = &lowest.settled;
    let ordering = best.best.ordering.as_ref();
    let any_order = ordering.map(|ordering| ordering.schedule.arena_bound_bytes);
    let second = Action::Plan(PlanChange::SecondBank(budget)).apply(&settled.case, variants);
    let second = second.filter(|_| settled.case.options.banks.is_empty());
    let second = second.and_then(|case| case.plan().ok());
    Refusal {
        any_order_bytes: any_order.filter(|bytes| *bytes > budget),
        no_room: no_room(best, budget),
        second_bank: second.map(|second| second.spilled_bytes()),
        lowest,
    }
}

/// What does not fit the budget together in the plan's own order.
fn no_room(settled: &PlannedGraph, budget: u64) -> Option<NoRoom> {
    let Case { options, .. } = &settled.case;
    if !options.banks.is_empty() {
        return None;
    }
    let mut options = options.clone();
    let mut bank = BankSpec::new("arena");
    bank.capacity = Some(budget);
    options.banks = vec![bank];
    options.schedule = settled.best.ordering.as_ref().and_then(|ordering| ordering.steps.clone());
    match plimsoll::plan(&settled.program(), &options) {
        Err(PlanError::NoRoom(why)) => Some(*why),
        _ => None,
    }
}
