//! Norms over space, written out: statistics first, and then one multiplication and one addition for each element.
//!
//! A norm of groups of channels needs all rows before the first comes out, and as one node it needs them in one
//! piece. Written out, its statistics are sums over rows, which a flow adds up step by step, and what is done with
//! them goes row by row. The mean is taken off before squares are added up, so that no digits are lost:
//!
//! ```text
//! mean = Σ x / n        var = Σ (x - mean)² / n        a = scale / √(var + ε)        y = a·x + (bias - a·mean)
//! ```
//!
//! ONNX files have norms of groups as a reshape to `[1, groups, …]`, a norm of instances, and a reshape back: the
//! three are one here.

use plimsoll_graph::{Dtype, Fact};
use plimsoll_model::{Binary, Model, Norm, Operator, Reduce, Reduction, TensorId, Unary};

use crate::draft::Draft;
use crate::rewritten::Rewritten;

/// A norm over space: nodes of the model, in the order in which they run.
struct Spatial {
    /// The norm, with the reshapes around it.
    nodes: Vec<usize>,
    norm: usize,
    x: TensorId,
    y: TensorId,
    /// The dims of `x`: batch 1, channels, rows and more.
    dims: Vec<u64>,
    groups: u64,
    epsilon: f32,
}

/// The model with all norms of at least so many bytes written out; `None` if there are none.
pub(crate) fn written_out(model: &Model, facts: &[Fact], least_bytes: u64) -> Option<Rewritten> {
    let found: Vec<Spatial> = (0..model.body.nodes.len())
        .filter_map(|node| spatial(model, facts, node))
        .filter(|norm| norm.dims.iter().product::<u64>() * 4 >= least_bytes)
        .collect();
    if found.is_empty() {
        return None;
    }
    let mut draft = Draft::new(model);
    for node in 0..model.body.nodes.len() {
        match found.iter().find(|norm| norm.nodes.contains(&node)) {
            None => draft.keep(node),
            Some(norm) if norm.nodes.last() == Some(&node) => write_out(&mut draft, norm),
            Some(_) => {}
        }
    }
    Some(draft.finish())
}

/// The norm that a node is, with the reshapes around it.
fn spatial(model: &Model, facts: &[Fact], at: usize) -> Option<Spatial> {
    let dims = |tensor: TensorId| facts[tensor.index()].shape.as_ref()?.known();
    let node = &model.body.nodes[at];
    let (x, y) = ((*node.inputs.first()?)?, (*node.outputs.first()?)?);
    let (groups, epsilon) = match node.operator {
        Operator::Norm(Norm::Instance { epsilon }) => (dims(x)?[1], epsilon),
        _ => return None,
    };
    let is_float = facts[x.index()].dtype == Some(Dtype::F32);
    let whole = Spatial { nodes: vec![at], norm: at, x, y, dims: dims(x)?, groups, epsilon };
    if !is_float || whole.dims[0] != 1 {
        return None;
    }
    if whole.dims.len() == 4 {
        return Some(whole);
    }
    let is_reshape =
        |node: &usize| matches!(model.body.nodes[*node].operator, Operator::Reshape { .. });
    let makes = |node: &usize| model.body.nodes[*node].outputs.contains(&Some(x));
    let first = (0..model.body.nodes.len()).find(makes).filter(is_reshape)?;
    let [last] = readers(model, y)[..] else { return None };
    let [_] = readers(model, x)[..] else { return None };
    let (x, y) = (model.body.nodes[first].inputs[0]?, model.body.nodes[last].outputs[0]?);
    let shape = dims(x).filter(|from| from.len() == 4 && dims(y).as_ref() == Some(from))?;
    (is_reshape(&last) && shape[0] == 1 && shape[1] % groups == 0).then_some(Spatial {
        nodes: vec![first, at, last],
        dims: shape,
        x,
        y,
        ..whole
    })
}

fn readers(model: &Model, tensor: TensorId) -> Vec<usize> {
    let reads = |node: &usize| model.body.nodes[*node].inputs.contains(&Some(tensor));
    let handed_out =
        model.body.outputs.iter().filter(|output| **output == tensor).map(|_| usize::MAX);
    (0..model.body.nodes.len()).filter(reads).chain(handed_out).collect()
}

/// Adds the nodes of a norm.
fn write_out(draft: &mut Draft, norm: &Spatial) {
    let node = draft.model().body.nodes[norm.norm].clone();
    let (name, x) = (node.name.clone(), norm.x);
    let (channels, each) = (norm.dims[1], norm.dims[1] / norm.groups);
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 elements")]
    let share = 1.0 / (each * norm.dims[2..].iter().product::<u64>()) as f64;
    let mut adds = Adds { draft, name: &name, norm: norm.norm };
    let by_group = adds.dims(&[1, norm.groups, each]);
    let by_channel = adds.dims(&[1, channels, 1, 1]);
    let of_group = adds.dims(&[1, norm.groups, 1]);
    let (space, inner) = (adds.dims(&[2, 3]), adds.dims(&[2]));
    let share = adds.draft.floats(&format!("{name}.share"), &[share]);
    let spread = |adds: &mut Adds<'_>, x: TensorId| {
        let wide = adds.add("spread", Operator::Expand, &[x, by_group]);
        adds.add("channels", Operator::Reshape { allow_zero: false }, &[wide, by_channel])
    };
    let summed = |adds: &mut Adds<'_>, x: TensorId, function: Reduction| {
        let sums = adds.add("sums", reduce(function), &[x, space]);
        let sums = adds.add("groups", Operator::Reshape { allow_zero: false }, &[sums, by_group]);
        let sums = adds.add("sums", reduce(Reduction::Sum), &[sums, inner]);
        adds.add("mean", Operator::Binary(Binary::Mul), &[sums, share])
    };
    let mean = summed(&mut adds, x, Reduction::Sum);
    let mean_of_channel = spread(&mut adds, mean);
    let apart = adds.add("apart", Operator::Binary(Binary::Sub), &[x, mean_of_channel]);
    let variance = summed(&mut adds, apart, Reduction::SumSquare);
    let epsilon = adds.draft.floats(&format!("{name}.epsilon"), &[f64::from(norm.epsilon)]);
    let more = adds.add("more", Operator::Binary(Binary::Add), &[variance, epsilon]);
    let root = adds.add("root", Operator::Unary(Unary::Sqrt), &[more]);
    let operand = |at: usize| node.inputs.get(at).copied().flatten().unwrap_or(x);
    let [scale, bias] = [1, 2].map(|at| {
        adds.add("stored", Operator::Reshape { allow_zero: false }, &[operand(at), of_group])
    });
    let factor = adds.add("factor", Operator::Binary(Binary::Div), &[scale, root]);
    let moved = adds.add("moved", Operator::Binary(Binary::Mul), &[mean, factor]);
    let offset = adds.add("offset", Operator::Binary(Binary::Sub), &[bias, moved]);
    let (factor, offset) = (spread(&mut adds, factor), spread(&mut adds, offset));
    let scaled = adds.add("scaled", Operator::Binary(Binary::Mul), &[x, factor]);
    let inputs = [Some(scaled), Some(offset)];
    draft.node_into(
        &name,
        Operator::Binary(Binary::Add),
        &inputs,
        &[Some(norm.y)],
        Some(norm.norm),
    );
}

fn reduce(function: Reduction) -> Operator {
    Operator::Reduce(Reduce { function, keep_dims: true, none_if_empty: false })
}

/// Adds nodes of a norm to a draft.
struct Adds<'d> {
    draft: &'d mut Draft,
    name: &'d str,
    norm: usize,
}

impl Adds<'_> {
    fn add(&mut self, name: &str, operator: Operator, inputs: &[TensorId]) -> TensorId {
        let inputs: Vec<_> = inputs.iter().map(|input| Some(*input)).collect();
        self.draft.node(&format!("{}.{name}", self.name), operator, &inputs, Some(self.norm))
    }

    fn dims(&mut self, dims: &[u64]) -> TensorId {
        let dims: Vec<i64> =
            dims.iter().map(|dim| i64::try_from(*dim).unwrap_or(i64::MAX)).collect();
        self.draft.ints(&format!("{}.dims", self.name), &dims)
    }
}
