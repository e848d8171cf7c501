//! The way from a model to models that need less memory.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use plimsoll::Pulse;
use plimsoll_model::{Bindings, Inferred, Model, infer};

use crate::again::computed_again;
use crate::along::Along;
use crate::flow::{Recipe, Segment, flow};
use crate::frontier::{Applied, FitError, FitOptions, Frontier, Goal, Point, Way};
use crate::norms::written_out;
use crate::parts::{made_apart, points};
use crate::planned::planned;
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
    let source = planned(Rewritten::unchanged(model.clone()), bindings, options, Vec::new())?;
    let (source_arena_bytes, source_multiply_adds) = (source.arena_bytes, source.multiply_adds);
    let mut frontier = Frontier {
        source_arena_bytes,
        source_multiply_adds,
        points: vec![source.clone()],
        narrow: Vec::new(),
    };
    if options.fast_bytes.is_some() {
        frontier.narrow = frontier.points.clone();
    }
    let inferred = infer(model, bindings)?;
    let norms = written_out(model, &inferred.facts, source_arena_bytes / 16);
    let variants = std::iter::once(Rewritten::unchanged(model.clone())).chain(norms);
    let mut work = options.work;
    for variant in variants {
        let inferred = infer(&variant.model, bindings)?;
        let Inferred { facts, statics, order, .. } = &inferred;
        let along = Along::new(&variant.model, facts, statics, order);
        for recipe in recipes(&along, pulse) {
            if pulse().is_break() || !take(&mut work) {
                return Ok(frontier);
            }
            let rewritten = flow(&along, &recipe).traced_through(&variant);
            let ways = applied(&recipe, &variant);
            frontier.add(planned(rewritten, bindings, options, ways)?);
            for recipe in
                options.fast_bytes.iter().flat_map(|bytes| narrow(&along, &recipe, *bytes))
            {
                let rewritten = flow(&along, &recipe).traced_through(&variant);
                let ways = applied(&recipe, &variant);
                frontier.narrow.push(planned(rewritten, bindings, options, ways)?);
            }
            if is_reached(&frontier, options.goal) {
                return Ok(frontier);
            }
        }
    }
    let plan = |rewritten, ways| planned(rewritten, bindings, options, ways);
    for mut start in starts(&frontier, source) {
        start.rewritten = made_apart(&start.rewritten, bindings)?.unwrap_or(start.rewritten);
        let again = computed_again(&start.rewritten, bindings, start.arena_bytes / LONG_LIVED)?;
        let again = again.filter(|_| take(&mut work));
        let again = again.map(|(again, ways)| plan(again, [&start.ways[..], &ways].concat()));
        for start in std::iter::once(Ok(start)).chain(again) {
            let start = start?;
            let mut go_on = || if take(&mut work) { pulse() } else { ControlFlow::Break(()) };
            for point in points(&start, bindings, &mut go_on, plan)? {
                frontier.add(point);
            }
            if !start.ways.is_empty() {
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
    let smallest = frontier.at_most(0.0).filter(|point| !point.ways.is_empty()).cloned();
    std::iter::once(source).chain(smallest).collect()
}

/// Whether no later candidate is asked for: what comes has more arithmetic.
fn is_reached(frontier: &Frontier, goal: Goal) -> bool {
    match goal {
        Goal::Budget(bytes) => frontier.within(bytes).is_some(),
        Goal::MostArithmetic { .. } | Goal::Frontier => false,
    }
}

/// What a recipe for a variant of a model does otherwise than the model.
fn applied(recipe: &Recipe, variant: &Rewritten) -> Vec<Applied> {
    let of_source = |nodes: &[usize]| {
        let nodes: BTreeSet<usize> =
            nodes.iter().filter_map(|node| variant.sources[*node]).collect();
        nodes.into_iter().collect()
    };
    let mut ways = Vec::new();
    for Segment { nodes, steps, restarted } in &recipe.segments {
        if !restarted.is_empty() {
            ways.push(Applied { way: Way::Again, nodes: of_source(restarted) });
        }
        if *steps > 1 {
            ways.push(Applied { way: Way::Flow { steps: *steps }, nodes: of_source(nodes) });
            continue;
        }
        for (chain, parts) in nodes.iter().filter_map(|node| recipe.parts.get(node)) {
            if chain.nodes.iter().all(|node| nodes.contains(node)) {
                let way = Way::Channels { parts: *parts };
                ways.push(Applied { way, nodes: of_source(&chain.nodes) });
            }
        }
    }
    ways
}
