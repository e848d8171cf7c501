//! The way from a model to models that need less memory.

use std::ops::ControlFlow;

use plimsoll::Pulse;
use plimsoll_model::{Bindings, Inferred, Model, infer};

use crate::again::computed_again;
use crate::along::Along;
use crate::flow::{Recipe, flow};
use crate::frontier::{FitError, FitOptions, Frontier, Goal, Point};
use crate::norms::written_out;
use crate::parts::{made_apart, points};
use crate::planned::{as_it_is, planned};
use crate::recipes::{narrowed, recipes};
use crate::rewritten::Rewritten;
use crate::search::cut;

/// What lives long is computed again if it takes more than this part of the arena.
const LONG_LIVED: u64 = 100;

/// Finds models that compute the same as this one in less memory, while somebody is asked now and then whether to
/// go on; what was found by then is kept.
pub fn fit(
    model: &Model,
    bindings: &Bindings,
    options: &FitOptions,
    pulse: &mut Pulse<'_>,
) -> Result<Frontier, FitError> {
    let (source, source_loads) = as_it_is(model, bindings, options)?;
    let (source_arena_bytes, source_multiply_adds) = (source.arena_bytes, source.multiply_adds);
    let mut frontier = Frontier {
        source_arena_bytes,
        source_multiply_adds,
        source_loads,
        points: vec![source.clone()],
        narrow: Vec::new(),
    };
    if options.fast_bytes.is_some() {
        frontier.narrow.clone_from(&frontier.points);
    }
    let inferred = infer(model, bindings)?;
    let norms = written_out(model, &inferred.facts, source_arena_bytes / 16);
    let variants = std::iter::once(Rewritten::unchanged(model.clone())).chain(norms);
    let mut work = options.work;
    for variant in variants {
        let inferred = infer(&variant.model, bindings)?;
        let Inferred { facts, statics, order, .. } = &inferred;
        let along = Along::new(&variant.model, facts, statics, order);
        let mut is_first = true;
        for recipe in recipes(&along, pulse) {
            if pulse().is_break() || !take(&mut work) {
                return Ok(frontier);
            }
            let rewritten = flow(&along, &recipe).traced_through(&variant);
            frontier.add(planned(rewritten, bindings, options)?);
            // The first recipe computes no more than the model: what is moved depends little on the others.
            let fast_bytes = options.fast_bytes.filter(|_| is_first);
            is_first = false;
            for recipe in fast_bytes.iter().flat_map(|bytes| narrow(&along, &recipe, *bytes)) {
                let rewritten = flow(&along, &recipe).traced_through(&variant);
                frontier.narrow.push(planned(rewritten, bindings, options)?);
            }
            if is_reached(&frontier, options.goal) {
                return Ok(frontier);
            }
        }
    }
    let plan = |rewritten| planned(rewritten, bindings, options);
    for mut start in starts(&frontier, source) {
        start.rewritten = made_apart(&start.rewritten, bindings)?.unwrap_or(start.rewritten);
        let again = computed_again(&start.rewritten, bindings, start.arena_bytes / LONG_LIVED)?;
        let again = again.filter(|_| take(&mut work));
        let again = again.map(plan);
        for start in std::iter::once(Ok(start)).chain(again) {
            let start = start?;
            let mut go_on = || if take(&mut work) { pulse() } else { ControlFlow::Break(()) };
            for point in points(&start, bindings, &mut go_on, plan)? {
                frontier.add(point);
            }
            if !start.rewritten.regions.is_empty() {
                frontier.add(start);
            }
        }
    }
    Ok(frontier)
}

/// Recipes for two memories: whole segments, and segments that are cut where little has to wait.
fn narrow(along: &Along<'_>, recipe: &Recipe, bytes: u64) -> [Recipe; 3] {
    let cut = cut(along, recipe);
    [(recipe, bytes / 2), (&cut, bytes), (&cut, bytes / 2)]
        .map(|(recipe, bytes)| narrowed(along, recipe, bytes))
}

/// Takes one of what is left.
fn take(work: &mut u64) -> bool {
    let is_left = *work > 0;
    *work = work.saturating_sub(1);
    is_left
}

/// What is computed in parts: the model as it is, and the smallest that flows without more arithmetic.
fn starts(frontier: &Frontier, source: Point) -> Vec<Point> {
    let smallest =
        frontier.at_most(0.0).filter(|point| !point.rewritten.regions.is_empty()).cloned();
    std::iter::once(source).chain(smallest).collect()
}

/// Whether no later candidate is asked for: what comes has more arithmetic.
fn is_reached(frontier: &Frontier, goal: Goal) -> bool {
    match goal {
        Goal::Budget(bytes) => frontier.within(bytes).is_some(),
        Goal::MostArithmetic { .. } | Goal::Frontier => false,
    }
}
