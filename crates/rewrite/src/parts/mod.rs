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
mod selects;
mod storage;

use plimsoll_graph::{Fact, Shape};
use plimsoll_model::{Bindings, Model, ShapeError, infer};

use self::apply::applied;
use self::needs::Shapes;
pub(crate) use self::peak::Look;
use self::region::Network;
pub(crate) use self::selects::made_apart;
use crate::rewritten::Rewritten;

/// How many nodes of ranges are looked at in one search.
const WORK: u64 = 6_000_000;

/// How often parts are cut into parts.
const ROUNDS: usize = 4;

/// The most nodes that a model becomes.
const MOST_NODES: usize = 12_000;

/// A model with regions in parts.
pub(crate) struct Parted {
    pub(crate) rewritten: Rewritten,
    /// What it takes, nearly.
    pub(crate) peak: u64,
}

/// How parts are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InParts {
    pub(crate) look: Look,
    /// All that takes no more than this, nearly, is as good.
    pub(crate) target: u64,
}

impl InParts {
    /// All ways to look.
    pub(crate) const LOOKS: [Look; 3] = [
        Look { in_place: false, deep: false },
        Look { in_place: true, deep: false },
        Look { in_place: true, deep: true },
    ];
}

/// A model with regions in parts, so that it takes no more than a target, nearly, or as little as it can; `None` if
/// it would take no less.
fn in_parts(
    rewritten: &Rewritten,
    bindings: &Bindings,
    InParts { look, target }: InParts,
) -> Result<Option<Parted>, ShapeError> {
    if rewritten.model.body.nodes.len() > MOST_NODES {
        return Ok(None);
    }
    with_network(rewritten, bindings, |network| {
        let mut work = WORK;
        let found = search::regions(network, target, look, &mut work);
        let [before, peak] = found.peaks;
        if before <= target {
            return None;
        }
        // A few percent are not worth thousands of nodes.
        if found.regions.is_empty() || peak > before - before / 32 {
            return None;
        }
        let rewritten = applied(network, &found.regions).traced_through(rewritten);
        Some(Parted { rewritten, peak })
    })
}

/// What follows from a model with who makes and who reads what; `None` if its nodes are in no order.
fn with_network<T>(
    rewritten: &Rewritten,
    bindings: &Bindings,
    found: impl FnOnce(&Network<'_>) -> Option<T>,
) -> Result<Option<T>, ShapeError> {
    let model = &rewritten.model;
    if !is_in_order(model) {
        return Ok(None);
    }
    let inferred = infer(model, bindings)?;
    let known = |fact: &Fact| fact.shape.as_ref().and_then(Shape::known);
    let shapes = Shapes { model, dims: inferred.facts.iter().map(known).collect() };
    let sizes = |stored: bool| {
        let facts = inferred.facts.iter().zip(&inferred.statics);
        let sizes = facts.map(|(fact, is)| if *is == stored { bytes(fact) } else { None });
        sizes.map(|bytes| bytes.unwrap_or(0)).collect()
    };
    Ok(found(&Network::new(&shapes, sizes(false), sizes(true))))
}

/// A model in parts, and as long as that helps in parts of parts. The first round looks as it is told, all others
/// look for what takes over in place.
pub(crate) fn in_parts_of_parts(
    source: &Rewritten,
    bindings: &Bindings,
    how: InParts,
) -> Result<Option<Parted>, ShapeError> {
    let mut best: Option<Parted> = None;
    for round in 0..ROUNDS {
        let look = Look { deep: how.look.deep && round == 0, ..how.look };
        let start = best.as_ref().map_or(source, |best| &best.rewritten);
        let Some(next) = in_parts(start, bindings, InParts { look, ..how })? else { break };
        best = Some(next);
    }
    Ok(best)
}

/// Whether every node stands behind those that make what it reads.
pub(crate) fn is_in_order(model: &Model) -> bool {
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
pub(crate) fn bytes(fact: &Fact) -> Option<u64> {
    let dims = fact.shape.as_ref()?.known()?;
    let count = dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))?;
    fact.dtype?.bytes(count)
}
