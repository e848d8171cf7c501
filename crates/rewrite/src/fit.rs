//! The way from a model to models that need less memory.

use plimsoll::Pulse;
use plimsoll_model::{Bindings, Model, infer};

use crate::along::Along;
use crate::flow::{Recipe, Segment, flow};
use crate::frontier::{Applied, FitError, FitOptions, Frontier, Way};
use crate::planned::planned;
use crate::recipes::recipes;
use crate::rewritten::Rewritten;

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
    let mut frontier = Frontier { source_arena_bytes, source_multiply_adds, points: vec![source] };
    let inferred = infer(model, bindings)?;
    let along = Along::new(model, &inferred.facts, &inferred.statics, &inferred.order);
    for recipe in recipes(&along, pulse) {
        if pulse().is_break() {
            break;
        }
        let rewritten = flow(&along, &recipe);
        frontier.add(planned(rewritten, bindings, options, applied(&recipe))?);
    }
    Ok(frontier)
}

/// What a recipe does otherwise.
fn applied(recipe: &Recipe) -> Vec<Applied> {
    let mut ways = Vec::new();
    for Segment { nodes, steps, .. } in &recipe.segments {
        if *steps > 1 {
            let mut nodes = nodes.clone();
            nodes.sort_unstable();
            ways.push(Applied { way: Way::Flow { steps: *steps }, nodes });
            continue;
        }
        for (chain, parts) in nodes.iter().filter_map(|node| recipe.parts.get(node)) {
            if chain.nodes.iter().all(|node| nodes.contains(node)) {
                let mut nodes = chain.nodes.clone();
                nodes.sort_unstable();
                ways.push(Applied { way: Way::Channels { parts: *parts }, nodes });
            }
        }
    }
    ways
}
