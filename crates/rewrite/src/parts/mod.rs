//! Parts along axes: tokens, heads, batches, whatever operators do not mix.
//!
//! A [region](region) of nodes that are independent along an axis is computed one part after the other: a block of
//! tokens through a perceptron, a group of heads through projections, scores and softmax, a block of queries, some
//! columns of logits. What is inside of a region is then there in parts alone. No arithmetic is added, and no sum is
//! reordered. Operators decide ([`needs`]), never names.
//!
//! Which regions there are is [searched](search) by what is alive; what comes of it is planned by whoever asks.

mod apply;
mod needs;
mod peak;
mod region;
mod search;

use plimsoll::Pulse;
use plimsoll_graph::{Fact, Shape};
use plimsoll_model::{Bindings, Model, ShapeError, infer};

use self::apply::applied;
use self::needs::Shapes;
use self::region::{Network, Region};
use crate::frontier::{Applied, FitError, Point, Way};
use crate::rewritten::Rewritten;

/// How many nodes of ranges are looked at in one search.
const WORK: u64 = 6_000_000;

/// How often parts are cut into parts.
const ROUNDS: usize = 3;

/// A model with regions in parts, so that it takes no more than a target, nearly, or as little as it can; `None` if
/// it would take no less. Says what was done.
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
    let sizes = inferred.facts.iter().zip(&inferred.statics);
    let sizes = sizes.map(|(fact, is_static)| if *is_static { None } else { bytes(fact) });
    let network = Network::new(&shapes, sizes.map(|bytes| bytes.unwrap_or(0)).collect());
    let mut work = WORK;
    let found = search::regions(&network, target, &mut work);
    let [before, after] = found.peaks;
    if found.regions.is_empty() || after >= before {
        return Ok(None);
    }
    let parted = applied(&network, &found.regions).traced_through(rewritten);
    let ways = found.regions.iter().map(|(region, parts)| told(region, *parts, rewritten));
    Ok(Some((parted, ways.collect())))
}

/// Points with less memory than one that is given, at the same arithmetic: in parts, and as long as that helps in
/// parts of parts.
pub(crate) fn points(
    from: &Point,
    bindings: &Bindings,
    pulse: &mut Pulse<'_>,
    planned: impl Fn(Rewritten, Vec<Applied>) -> Result<Point, FitError>,
) -> Result<Vec<Point>, FitError> {
    let mut points: Vec<Point> = Vec::new();
    for _ in 0..ROUNDS {
        if pulse().is_break() {
            break;
        }
        let start = points.last().unwrap_or(from);
        let Some((parted, new)) = in_parts(&start.rewritten, bindings, 0)? else { break };
        let point = planned(parted, [&start.ways[..], &new[..]].concat())?;
        if point.arena_bytes >= start.arena_bytes {
            break;
        }
        points.push(point);
    }
    Ok(points)
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
