//! Parts of weights: slices of stored tensors that a file can store as they are.
//!
//! A rewrite that computes with a part of a weight takes it with a [`Slice`](Operator::Slice). Nobody has to run that
//! node: whoever writes the model stores the part under the name of the slice's output, and the whole only if
//! somebody still reads it. So a part costs no memory beside the weights, and what is planned is the model
//! [with its parts stored](with_parts_stored).

use std::collections::BTreeMap;

use plimsoll_model::{Axis, Content, Model, ModelNode, Operator, Origin, Tensor, TensorId};

use crate::rewritten::Rewritten;

/// A block of a stored tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredPart {
    /// The stored tensor.
    pub weight: TensorId,
    /// Where the block begins along every axis.
    pub starts: Vec<u64>,
    /// How long it is along every axis.
    pub dims: Vec<u64>,
}

/// The tensors that new nodes of a rewritten model take out of stored ones as they are. `fits` says of a part whether
/// it can be stored.
///
/// Slices that were in the source stay: its file is to be recognised.
#[must_use]
pub fn stored_parts(
    rewritten: &Rewritten,
    fits: impl Fn(&StoredPart) -> bool,
) -> BTreeMap<TensorId, StoredPart> {
    let model = &rewritten.model;
    let mut parts = BTreeMap::new();
    for (node, source) in model.body.nodes.iter().zip(&rewritten.sources) {
        if source.is_none()
            && node.operator == Operator::Slice
            && let [Some(output)] = node.outputs[..]
            && !model.body.outputs.contains(&output)
            && let Some(part) = part(model, node, &parts)
            && fits(&part)
        {
            parts.insert(output, part);
        }
    }
    parts
}

/// The model as it is once its parts are stored: what a plan for it has to be made of.
#[must_use]
pub fn with_parts_stored(rewritten: &Rewritten) -> Model {
    let parts = stored_parts(rewritten, |_| true);
    let mut model = rewritten.model.clone();
    for (id, part) in &parts {
        let (whole, name) = (model.tensor(part.weight).dtype, model.tensor(*id).name.clone());
        let dims = part.dims.iter().map(|dim| Axis::Known(*dim)).collect();
        let (origin, content) = (Origin::Stored, None);
        let stored = Tensor { name, origin, dtype: whole, dims: Some(dims), content };
        model.tensors[id.index()] = stored;
    }
    let is_part =
        |node: &ModelNode| matches!(node.outputs[..], [Some(id)] if parts.contains_key(&id));
    model.body.nodes.retain(|node| !is_part(node));
    model
}

/// What a slice takes, if it is a block of a stored tensor and its bounds are known.
fn part(
    model: &Model,
    node: &ModelNode,
    parts: &BTreeMap<TensorId, StoredPart>,
) -> Option<StoredPart> {
    let mut operands = node.inputs.iter().copied();
    let from = operands.next()??;
    let mut part = match parts.get(&from) {
        Some(part) => part.clone(),
        None => whole(model, from)?,
    };
    let mut list = || ints(model, operands.next().flatten()?);
    let (starts, ends) = (list()?, list()?);
    let along = list().unwrap_or_else(|| (0..starts.len().cast_signed() as i64).collect());
    let has_steps = list().is_some_and(|steps| steps.iter().any(|step| *step != 1));
    if has_steps || starts.len() != ends.len() || starts.len() != along.len() {
        return None;
    }
    for ((start, end), axis) in starts.into_iter().zip(ends).zip(along) {
        let rank = part.dims.len().cast_signed() as i64;
        let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()?;
        let length = *part.dims.get(axis)?;
        let (start, end) = (bound(start, length), bound(end, length));
        part.starts[axis] += start;
        part.dims[axis] = end.saturating_sub(start);
    }
    Some(part)
}

/// A stored tensor as a block of itself.
fn whole(model: &Model, id: TensorId) -> Option<StoredPart> {
    let tensor = model.tensor(id);
    if tensor.origin != Origin::Stored {
        return None;
    }
    let known = |axis: &Axis| match axis {
        Axis::Known(dim) => Some(*dim),
        Axis::Symbol(_) | Axis::Unknown => None,
    };
    let dims: Vec<u64> = tensor.dims.as_ref()?.iter().map(known).collect::<Option<_>>()?;
    Some(StoredPart { weight: id, starts: vec![0; dims.len()], dims })
}

/// Integers that are stored.
fn ints(model: &Model, id: TensorId) -> Option<Vec<i64>> {
    let tensor = model.tensor(id);
    match (&tensor.origin, &tensor.content) {
        (Origin::Stored, Some(Content::Ints(ints))) => Some(ints.clone()),
        _ => None,
    }
}

/// A bound of a slice as a place on an axis of that length.
fn bound(bound: i64, length: u64) -> u64 {
    if bound < 0 {
        length.saturating_sub(bound.unsigned_abs())
    } else {
        bound.unsigned_abs().min(length)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_graph::Dtype;
    use plimsoll_model::{Bindings, infer};

    use super::*;
    use crate::Draft;

    /// A weight of 6 × 4 and an input of 4 × 5, multiplied.
    fn product() -> Model {
        let mut model = Model::default();
        let w = model.add(Tensor::stored("w", Dtype::F32, &[6, 4]));
        let mut x = Tensor::stored("x", Dtype::F32, &[4, 5]);
        x.origin = Origin::Caller;
        let (x, y) = (model.add(x), model.add(Tensor::computed("y")));
        model.body.inputs.push(x);
        model.body.outputs.push(y);
        model.body.nodes.push(ModelNode {
            name: "mm".to_owned(),
            kind: "MatMul".to_owned(),
            operator: Operator::MatMul,
            inputs: vec![Some(w), Some(x)],
            outputs: vec![Some(y)],
        });
        model
    }

    fn slice(draft: &mut Draft, of: TensorId, bounds: [i64; 3]) -> TensorId {
        let bounds = bounds.map(|bound| Some(draft.ints("bound", &[bound])));
        let [start, end, axis] = bounds;
        draft.node("part", Operator::Slice, &[Some(of), start, end, axis], None)
    }

    #[test]
    fn slices_of_weights_are_parts_and_need_no_node() {
        let model = product();
        let (w, x, y) = (TensorId(0), TensorId(1), model.body.outputs[0]);
        let mut draft = Draft::new(&model);
        let lower = slice(&mut draft, w, [2, i64::MAX, -2]);
        let inner = slice(&mut draft, lower, [-3, -1, 1]);
        let rows = slice(&mut draft, x, [0, 2, 0]);
        let (inputs, outputs) = ([Some(inner), Some(rows)], [Some(y)]);
        draft.node_into("mm", Operator::MatMul, &inputs, &outputs, Some(0));
        let rewritten = draft.finish();
        let parts = stored_parts(&rewritten, |_| true);
        let block = |starts, dims| StoredPart { weight: w, starts, dims };
        let expected =
            [(lower, block(vec![2, 0], vec![4, 4])), (inner, block(vec![2, 1], vec![4, 2]))];
        assert_eq!(parts, BTreeMap::from(expected));
        let model = with_parts_stored(&rewritten);
        let names: Vec<&str> = model.body.nodes.iter().map(|node| &node.name[..]).collect();
        assert_eq!(names, ["part.2", "mm.1"]);
        let found = infer(&model, &Bindings::default()).unwrap();
        assert_eq!(found.facts, infer(&rewritten.model, &Bindings::default()).unwrap().facts);
    }

    #[test]
    fn steps_and_what_does_not_fit_are_no_parts() {
        let mut draft = Draft::new(&product());
        let [start, end, axis] = [0, 6, 0].map(|bound| Some(draft.ints("bound", &[bound])));
        let step = Some(draft.ints("step", &[2]));
        let inputs = [Some(TensorId(0)), start, end, axis, step];
        draft.node("odd", Operator::Slice, &inputs, None);
        let part = slice(&mut draft, TensorId(0), [0, 2, 1]);
        let rewritten = draft.finish();
        assert_eq!(stored_parts(&rewritten, |_| true).into_keys().collect::<Vec<_>>(), [part]);
        assert!(stored_parts(&rewritten, |part| part.dims[1] == 4).is_empty());
    }
}
