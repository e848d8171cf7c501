//! Parts in channels: an inner width that is larger than what goes in and what comes out.
//!
//! A convolution makes many channels of few, every channel is worked on by itself (activations, norms, depthwise
//! convolutions, pools), and another convolution makes few of them again. The channels in between are computed in
//! parts: a part of the first convolution's filters, what follows of these channels, and the last convolution of
//! these channels alone, whose results are added up. Not one multiply-add is done twice, and no more than a part
//! of the inner channels is ever there. Sums are added up in another order.

use std::collections::BTreeMap;

use plimsoll_model::{Binary, Convolution, ModelNode, Operator, TensorId};

use crate::along::Along;
use crate::rewritten::Stage;

/// Nodes that can be computed in parts of the channels between the first and the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// In an order in which they can run: a convolution, what works channel by channel, and a convolution.
    pub(crate) nodes: Vec<usize>,
    /// How many channels there are in between.
    pub(crate) channels: u64,
}

/// All chains of a model, by their first node.
pub(crate) fn chains(along: &Along<'_>) -> BTreeMap<usize, Chain> {
    along.order.iter().filter_map(|node| Some((*node, chain(along, *node)?))).collect()
}

/// The chain that begins with a node.
fn chain(along: &Along<'_>, first: usize) -> Option<Chain> {
    let nodes = &along.model.body.nodes;
    let channels = dense_filters(along, &nodes[first])?;
    let mut inner = vec![(*nodes[first].outputs.first()?)?];
    let mut chain = vec![first];
    // A node joins when all that it reads is inside; the last one is dense, and there is only one.
    loop {
        let readers = inner.iter().flat_map(|tensor| along.readers[tensor.index()].iter().copied());
        let mut waiting: Vec<usize> = readers.filter(|reader| !chain.contains(reader)).collect();
        waiting.sort_unstable();
        waiting.dedup();
        let handed_out = inner.iter().any(|tensor| along.model.body.outputs.contains(tensor));
        if handed_out || waiting.is_empty() {
            return None;
        }
        let joins = |node: &usize| is_by_channel(along, &nodes[*node], &inner, channels);
        if let Some(next) = waiting.iter().copied().find(joins) {
            chain.push(next);
            inner.push((*nodes[next].outputs.first()?)?);
            continue;
        }
        let [last] = waiting[..] else { return None };
        let reads = nodes[last].inputs.first().copied().flatten()?;
        dense_filters(along, &nodes[last])?;
        chain.push(last);
        return (inner.contains(&reads) && chain.len() > 2)
            .then_some(Chain { nodes: chain, channels });
    }
}

/// How many filters a convolution of all channels has, if its weights are stored.
fn dense_filters(along: &Along<'_>, node: &ModelNode) -> Option<u64> {
    let Operator::Conv(Convolution { group: 1, .. }) = node.operator else { return None };
    let stored = node.inputs[1..].iter().flatten().all(|operand| along.statics[operand.index()]);
    let weights = along.dims((*node.inputs.get(1)?)?)?;
    stored.then(|| weights.first().copied())?
}

/// Whether a node works channel by channel on what is inside.
fn is_by_channel(along: &Along<'_>, node: &ModelNode, inner: &[TensorId], channels: u64) -> bool {
    let is_inner = |operand: &TensorId| inner.contains(operand);
    let is_static = |operand: &TensorId| along.statics[operand.index()];
    let is_scalar = |operand: &TensorId| {
        along.dims(*operand).is_some_and(|dims| dims.iter().product::<u64>() == 1)
    };
    let mut operands = node.inputs.iter().flatten();
    let by_first = node.inputs.first().copied().flatten().is_some_and(|x| is_inner(&x));
    match &node.operator {
        Operator::Unary(_) | Operator::Pool(_) => node.outputs.len() == 1 && operands.all(is_inner),
        Operator::Clip | Operator::Binary(_) => {
            operands.all(|operand| is_inner(operand) || (is_static(operand) && is_scalar(operand)))
        }
        Operator::BatchNorm(norm) => {
            by_first && !norm.training && node.outputs.len() == 1 && operands.skip(1).all(is_static)
        }
        Operator::Conv(conv) => {
            let weights =
                node.inputs.get(1).copied().flatten().and_then(|weights| along.dims(weights));
            let depthwise = weights.is_some_and(|dims| dims[0] == channels && dims[1] == 1);
            by_first && conv.group == channels && depthwise && operands.skip(1).all(is_static)
        }
        _ => false,
    }
}

/// Who adds the nodes of a chain.
pub(crate) trait Adds {
    /// Says which part the nodes are of that are added from now on.
    fn enter(&mut self, stage: Stage);
    /// Adds a node, and returns its output, which has so many bytes.
    fn add(&mut self, node: Part<'_>) -> TensorId;
    /// A range of a stored tensor along an axis.
    fn stored_part(&mut self, tensor: TensorId, axis: usize, from: u64, to: u64) -> TensorId;
}

/// A node of a part.
pub(crate) struct Part<'p> {
    pub(crate) name: &'p str,
    pub(crate) operator: Operator,
    pub(crate) inputs: Vec<Option<TensorId>>,
    pub(crate) source: Option<usize>,
    /// What is made a part of, and how much of it: so many of so many.
    pub(crate) of: (TensorId, u64, u64),
    /// Whether it is made into that tensor itself.
    pub(crate) into: bool,
}

/// Adds a chain that reads `x`, in so many parts of a region.
pub(crate) fn in_parts(
    along: &Along<'_>,
    chain: &Chain,
    parts: u64,
    (x, region): (TensorId, usize),
    adds: &mut impl Adds,
) {
    let mut sum = None;
    for part in 0..parts {
        adds.enter(Stage { region, step: part });
        let (from, to) = (chain.channels * part / parts, chain.channels * (part + 1) / parts);
        let is_last = part + 1 == parts;
        sum = add_part(along, chain, (from, to), x, sum, is_last, adds);
    }
}

/// Adds one part of a chain, and what it is added to.
fn add_part(
    along: &Along<'_>,
    chain: &Chain,
    (from, to): (u64, u64),
    x: TensorId,
    sum: Option<TensorId>,
    is_last: bool,
    adds: &mut impl Adds,
) -> Option<TensorId> {
    let nodes = &along.model.body.nodes;
    let (first, last) = (chain.nodes[0], *chain.nodes.last()?);
    let mut made: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    for at in &chain.nodes {
        let node = &nodes[*at];
        let mut inputs = node.inputs.clone();
        for (position, operand) in inputs.iter_mut().enumerate() {
            let Some(tensor) = *operand else { continue };
            *operand = if *at == first && position == 0 {
                Some(x)
            } else if let Some(part) = made.get(&tensor) {
                Some(*part)
            } else if *at == last {
                // The filters of these channels; what is added to every result is added once.
                (position == 1 || from == 0).then(|| match position {
                    1 => adds.stored_part(tensor, 1, from, to),
                    _ => tensor,
                })
            } else if along.dims(tensor).is_some_and(|dims| dims.first() == Some(&chain.channels)) {
                Some(adds.stored_part(tensor, 0, from, to))
            } else {
                Some(tensor)
            };
        }
        let operator = match &node.operator {
            Operator::Conv(conv) if conv.group > 1 => {
                Operator::Conv(Convolution { group: to - from, ..conv.clone() })
            }
            other => other.clone(),
        };
        let output = (*node.outputs.first()?)?;
        let of = if *at == last { (output, 1, 1) } else { (output, to - from, chain.channels) };
        let name = format!("{}.{from}", node.name);
        let part = Part { name: &name, operator, inputs, source: Some(*at), of, into: false };
        made.insert(output, adds.add(part));
    }
    let output = (*nodes[last].outputs.first()?)?;
    let part = made.get(&output).copied();
    let Some(sum) = sum else { return part };
    let name = format!("{}.sum", nodes[last].name);
    let (operator, inputs) = (Operator::Binary(Binary::Add), vec![Some(sum), part]);
    let of = (output, 1, 1);
    Some(adds.add(Part { name: &name, operator, inputs, source: None, of, into: is_last }))
}
