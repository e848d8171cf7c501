//! Parts along axes: tokens, heads, batches, whatever operators do not mix.
//!
//! A [region](region) of nodes that are independent along an axis is computed one part after the other: a block of
//! tokens through a perceptron, a group of heads through projections, scores and softmax, a block of queries, some
//! columns of logits. What is inside of a region is then there in parts alone. No arithmetic is added, and no sum is
//! reordered. Operators decide ([`needs`]), never names.
//!
//! Which regions there are follows from a target: around every tensor that is large beside it, largest first, and in
//! as many parts as bring the region down to the target. What comes of it is planned by whoever asks.
//!
//! Cost: a region is grown in steps that each look at the region once, so it is linear in the model for every large
//! tensor, and regions are bounded.

mod apply;
mod needs;
mod region;

use plimsoll::Pulse;
use plimsoll_graph::{Fact, Shape};
use plimsoll_model::{Bindings, Model, ShapeError, TensorId, infer};

use self::apply::applied;
use self::needs::Shapes;
use self::region::{Network, Region};
use crate::frontier::{Applied, FitError, Point, Way};
use crate::rewritten::Rewritten;

/// A tensor is large if it takes more than this part of the target.
const LARGE: u64 = 6;

/// The most regions that are made at once.
const MOST_REGIONS: usize = 512;

/// A model with regions in parts, so that each takes no more than the target, as far as that can be; `None` if there
/// is nothing to do. Says what was done.
pub(crate) fn in_parts(
    rewritten: &Rewritten,
    bindings: &Bindings,
    target: u64,
) -> Result<Option<(Rewritten, Vec<Applied>)>, ShapeError> {
    let model = &rewritten.model;
    if !is_in_order(model) {
        return Ok(None);
    }
    let inferred = infer(model, bindings)?;
    let known = |fact: &Fact| fact.shape.as_ref().and_then(Shape::known);
    let shapes = Shapes { model, dims: inferred.facts.iter().map(known).collect() };
    let bytes = inferred.facts.iter().map(|fact| bytes(fact).unwrap_or(0)).collect();
    let mut network = Network::new(&shapes, bytes);
    let mut large: Vec<TensorId> = (0..model.tensors.len()).map(TensorId::new).collect();
    large.retain(|id| {
        let is_static = inferred.statics[id.index()];
        network.is_made(*id) && !is_static && network.bytes[id.index()] > target / LARGE
    });
    large.sort_by_key(|id| std::cmp::Reverse(network.bytes[id.index()]));
    let mut regions: Vec<(Region, u64)> = Vec::new();
    let mut inside = vec![false; model.tensors.len()];
    for seed in large {
        if inside[seed.index()] || regions.len() == MOST_REGIONS {
            continue;
        }
        let Some(region) = network.around(seed) else { continue };
        for node in &region.nodes {
            network.taken[*node] = true;
            let made = model.body.nodes[*node].outputs.iter().flatten();
            made.for_each(|id| inside[id.index()] = true);
        }
        let parts = region.parts(target);
        regions.push((region, parts));
    }
    if regions.is_empty() {
        return Ok(None);
    }
    let parted = applied(&network, &regions).traced_through(rewritten);
    let ways = regions.iter().map(|(region, parts)| told(region, *parts, rewritten));
    Ok(Some((parted, ways.collect())))
}

/// Arenas that are tried for, in percent of the source's.
const TARGETS: [u64; 4] = [60, 40, 28, 16];

/// Points with less memory than one that is given, at the same arithmetic: in parts, and if that helps in parts of
/// parts.
pub(crate) fn points(
    from: &Point,
    bindings: &Bindings,
    pulse: &mut Pulse<'_>,
    planned: impl Fn(Rewritten, Vec<Applied>) -> Result<Point, FitError>,
) -> Result<Vec<Point>, FitError> {
    let mut best: Vec<Point> = Vec::new();
    for _ in 0..2 {
        let (start, ways) = match best.last() {
            Some(point) => (point.clone(), point.ways.clone()),
            None => (from.clone(), from.ways.clone()),
        };
        let mut least = start.arena_bytes;
        let known = best.len();
        for percent in TARGETS {
            if pulse().is_break() {
                return Ok(best);
            }
            let target = start.arena_bytes / 100 * percent;
            let Some((parted, new)) = in_parts(&start.rewritten, bindings, target)? else {
                continue;
            };
            let point = planned(parted, [&ways[..], &new[..]].concat())?;
            if point.arena_bytes < least {
                least = point.arena_bytes;
                best.push(point);
            }
        }
        if best.len() == known {
            break;
        }
    }
    Ok(best)
}

/// What is said of a region.
fn told(region: &Region, parts: u64, rewritten: &Rewritten) -> Applied {
    let nodes = region.nodes.iter().filter_map(|node| rewritten.sources[*node]);
    let mut nodes: Vec<usize> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    Applied { way: Way::Parts { parts }, nodes }
}

/// Whether every node stands behind those that make what it reads.
fn is_in_order(model: &Model) -> bool {
    let mut is_there = vec![true; model.tensors.len()];
    let made = model.body.nodes.iter().flat_map(|node| node.outputs.iter().flatten());
    made.for_each(|id| is_there[id.index()] = false);
    model.body.nodes.iter().all(|node| {
        let is_ready = node.inputs.iter().flatten().all(|id| is_there[id.index()]);
        node.outputs.iter().flatten().for_each(|id| is_there[id.index()] = true);
        is_ready
    })
}

/// How many bytes a tensor has, if its shape is known.
fn bytes(fact: &Fact) -> Option<u64> {
    let dims = fact.shape.as_ref()?.known()?;
    let count = dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))?;
    fact.dtype?.bytes(count)
}
