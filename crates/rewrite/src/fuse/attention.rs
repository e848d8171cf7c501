//! Attention: a softmax, the product that makes its scores, and the one that uses its weights.
//!
//! From a softmax along the last axis the way goes up, through scales and masks, to a product, and down, through what
//! drops nothing, to the product whose first operand the weights are. Queries, keys and values are often in other
//! layouts than the products want, made by transposes, splits and scales: these are read through. What the second
//! product makes may be stored transposed.

use std::collections::BTreeSet;

use plimsoll_model::{FusedStep, Fusing, Operator, Role, TensorId};

use super::chain::only_output;

/// The attention around every softmax of a model where there is one, in the order in which they run.
pub(super) fn attentions(fusing: &Fusing<'_>) -> Vec<FusedStep> {
    let nodes = 0..fusing.model.body.nodes.len();
    let softmaxes = nodes.filter(|node| fusing.role(*node) == Role::Softmax);
    softmaxes.filter_map(|softmax| attention(fusing, softmax)).collect()
}

fn attention(fusing: &Fusing<'_>, softmax: usize) -> Option<FusedStep> {
    let mut core = BTreeSet::from([softmax]);
    let scores = up(fusing, softmax, &mut core)?;
    let values = down(fusing, softmax, &mut core)?;
    let mut through = core.clone();
    for (node, input) in [(scores, 0), (scores, 1), (values, 1)] {
        read_through(fusing, fusing.model.body.nodes[node].inputs[input]?, &mut through);
    }
    let last = only_reader(fusing, only_output(fusing, values)?);
    let stored = last.filter(|reader| fusing.role(*reader) == Role::Transpose);
    let mut tried = Vec::new();
    for nodes in [through, core] {
        tried.extend(stored.map(|stored| nodes.iter().copied().chain([stored]).collect()));
        tried.push(nodes.into_iter().collect::<Vec<usize>>());
    }
    tried.into_iter().find_map(|mut nodes| {
        nodes.sort_by_cached_key(|node| fusing.wiring.place(*node));
        let step = FusedStep { nodes };
        fusing.accesses(&step).is_ok().then_some(step)
    })
}

/// The product that makes the scores, with the nodes between it and the softmax added.
fn up(fusing: &Fusing<'_>, softmax: usize, core: &mut BTreeSet<usize>) -> Option<usize> {
    let mut tensor = fusing.model.body.nodes[softmax].inputs[0]?;
    loop {
        let maker = fusing.wiring.maker(tensor)?;
        core.insert(maker);
        match fusing.role(maker) {
            Role::Product => return Some(maker),
            Role::Elementwise | Role::Reshape => {}
            Role::Softmax | Role::Reduce | Role::Transpose | Role::Layout | Role::None => {
                return None;
            }
        }
        let operands = fusing.model.body.nodes[maker].inputs.iter().flatten().copied();
        let scores = |operand: &TensorId| {
            let made = fusing.wiring.maker(*operand).map(|node| fusing.role(node));
            let is_made = matches!(made, Some(Role::Product | Role::Elementwise | Role::Reshape));
            is_made && fusing.same_elements(*operand, tensor)
        };
        tensor = operands.into_iter().find(scores)?;
    }
}

/// The product that uses the weights, with the nodes between the softmax and it added.
fn down(fusing: &Fusing<'_>, softmax: usize, core: &mut BTreeSet<usize>) -> Option<usize> {
    let mut node = softmax;
    loop {
        let made = only_output(fusing, node)?;
        let reader = only_reader(fusing, made)?;
        core.insert(reader);
        match fusing.role(reader) {
            Role::Product => {
                let weights = fusing.model.body.nodes[reader].inputs.first().copied().flatten();
                return (weights == Some(made)).then_some(reader);
            }
            Role::Elementwise | Role::Reshape => node = reader,
            Role::Softmax | Role::Reduce | Role::Transpose | Role::Layout | Role::None => {
                return None;
            }
        }
    }
}

fn only_reader(fusing: &Fusing<'_>, tensor: TensorId) -> Option<usize> {
    match fusing.wiring.readers(tensor) {
        [reader] if !fusing.wiring.is_output(tensor) => Some(*reader),
        _ => None,
    }
}

/// Adds the nodes through which an operand can be read: layouts and scales, up to the first that is more than
/// another shape for the same bytes.
fn read_through(fusing: &Fusing<'_>, operand: TensorId, nodes: &mut BTreeSet<usize>) {
    let (mut tensor, mut shapes) = (operand, Vec::new());
    while let Some(maker) = fusing.wiring.maker(tensor) {
        let node = &fusing.model.body.nodes[maker];
        match fusing.role(maker) {
            Role::Reshape => shapes.push(maker),
            Role::Transpose => nodes.extend(shapes.drain(..).chain([maker])),
            Role::Layout if !matches!(node.operator, Operator::Concat { .. }) => {
                nodes.extend(shapes.drain(..).chain([maker]));
            }
            Role::Elementwise if is_scale(fusing, maker) => {
                nodes.extend(shapes.drain(..).chain([maker]));
            }
            Role::Elementwise
            | Role::Product
            | Role::Softmax
            | Role::Reduce
            | Role::Layout
            | Role::None => break,
        }
        let Some(next) = node.inputs.first().copied().flatten() else { break };
        tensor = next;
    }
}

/// Whether a node only multiplies its first operand by something, or divides it.
fn is_scale(fusing: &Fusing<'_>, node: usize) -> bool {
    let node = &fusing.model.body.nodes[node];
    let mut others = node.inputs.iter().skip(1).flatten();
    matches!(node.operator, Operator::Binary(_))
        && others
            .all(|other| fusing.dims(*other).is_some_and(|dims| dims.iter().all(|dim| *dim == 1)))
}
