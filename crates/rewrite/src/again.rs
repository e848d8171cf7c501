//! Recomputation: values that are cheap to make and live long are computed anew where they are read again.
//!
//! A node without side effects makes the same of the same operands whenever it runs. If those are stored, given by the
//! caller, or small beside what it makes, then its result need not wait from one reader to the next: it is made once
//! more just before. Masks that are broadcast, casts of inputs, positions and tables: ops that add up no products, so
//! that no multiply-add is done twice. Every bit stays the same.
//!
//! ```text
//! mask ─ read by layer 1 ────────────── waits ────────────── read by layer 2
//! mask ─ read by layer 1          given ─ expand ─ cast ─ mask ─ read by layer 2
//! ```
//!
//! Cost: a walk over the makers of every large tensor with few nodes each: linear.

use std::collections::BTreeMap;

use plimsoll_model::{Bindings, ModelNode, Operator, ShapeError, TensorId, infer};

use crate::count::node_multiply_adds;
use crate::draft::Draft;
use crate::frontier::Way;
use crate::parts::{bytes, is_in_order};
use crate::rewritten::{Rewritten, Stage};

/// Over how many nodes a tensor is at least not read.
const LEAST_GAP: usize = 8;

/// The most nodes that are computed again for one tensor.
const MOST_NODES: usize = 12;

/// What is kept for computing something again is at most this part of it.
const SMALL: u64 = 8;

/// The model with tensors of at least so many bytes computed anew wherever they are read after a long time; `None` if
/// there are none.
pub(crate) fn computed_again(
    source: &Rewritten,
    bindings: &Bindings,
    least_bytes: u64,
) -> Result<Option<Rewritten>, ShapeError> {
    let model = &source.model;
    if !is_in_order(model) {
        return Ok(None);
    }
    let inferred = infer(model, bindings)?;
    let mut makers = vec![None; model.tensors.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); model.tensors.len()];
    for (at, node) in model.body.nodes.iter().enumerate() {
        node.outputs.iter().flatten().for_each(|made| makers[made.index()] = Some(at));
        node.inputs.iter().flatten().for_each(|read| readers[read.index()].push(at));
    }
    let sizes: Vec<u64> = inferred.facts.iter().map(|fact| bytes(fact).unwrap_or(0)).collect();
    let is_cheap = |node: &ModelNode| {
        is_pure(node) && node_multiply_adds(node, &inferred.facts, &inferred.statics) == 0
    };
    let walk = Walk { source, makers, sizes, statics: &inferred.statics, is_cheap };
    let mut anew: BTreeMap<usize, Vec<Anew>> = BTreeMap::new();
    for id in (0..model.tensors.len()).map(TensorId::new) {
        let is_output = model.body.outputs.contains(&id);
        if is_output || walk.sizes[id.index()] < least_bytes {
            continue;
        }
        let Some(nodes) = walk.cone(id) else { continue };
        for late in bursts(&readers[id.index()]).into_iter().skip(1) {
            let at = late[0];
            anew.entry(at).or_default().push(Anew { id, nodes: nodes.clone(), late });
        }
    }
    Ok(if anew.is_empty() { None } else { Some(written(source, anew)) })
}

/// A tensor that is computed anew.
struct Anew {
    id: TensorId,
    /// What makes it, in an order in which they can run.
    nodes: Vec<usize>,
    /// Who reads it from there on.
    late: Vec<usize>,
}

/// The model with tensors computed anew before some nodes.
fn written(source: &Rewritten, mut anew: BTreeMap<usize, Vec<Anew>>) -> Rewritten {
    let mut draft = Draft::new(&source.model);
    let mut renamed: BTreeMap<(usize, TensorId), TensorId> = BTreeMap::new();
    for (at, node) in source.model.body.nodes.iter().enumerate() {
        for Anew { id, nodes, late } in anew.remove(&at).unwrap_or_default() {
            let region = draft.begin(Way::Again, &nodes);
            draft.enter(Some(Stage { region, step: 0 }));
            let copy = copied(&mut draft, &nodes, id);
            draft.enter(None);
            renamed.extend(late.iter().map(|reader| ((*reader, id), copy)));
        }
        let now = |id: TensorId| renamed.get(&(at, id)).copied().unwrap_or(id);
        let read: Vec<Option<TensorId>> = node.inputs.iter().map(|id| id.map(now)).collect();
        if read == node.inputs {
            draft.keep(at);
        } else {
            let operator = node.operator.clone();
            draft.node_into(&node.name, operator, &read, &node.outputs, Some(at));
        }
    }
    draft.finish().traced_through(source)
}

/// Adds nodes once more; returns what the last makes.
fn copied(draft: &mut Draft, nodes: &[usize], id: TensorId) -> TensorId {
    let mut made: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    for at in nodes {
        let node = draft.model().body.nodes[*at].clone();
        let now = |id: TensorId| made.get(&id).copied().unwrap_or(id);
        let inputs: Vec<Option<TensorId>> = node.inputs.iter().map(|id| id.map(now)).collect();
        let output = draft.node(&node.name, node.operator, &inputs, Some(*at));
        made.extend(node.outputs.iter().flatten().map(|id| (*id, output)));
    }
    made.get(&id).copied().unwrap_or(id)
}

/// Readers in groups that are far from each other.
fn bursts(readers: &[usize]) -> Vec<Vec<usize>> {
    let mut bursts: Vec<Vec<usize>> = Vec::new();
    for reader in readers {
        match bursts.last_mut() {
            Some(burst) if reader - burst[burst.len() - 1] < LEAST_GAP => burst.push(*reader),
            _ => bursts.push(vec![*reader]),
        }
    }
    bursts
}

/// From tensors to what makes them.
struct Walk<'a, F> {
    source: &'a Rewritten,
    makers: Vec<Option<usize>>,
    sizes: Vec<u64>,
    statics: &'a [bool],
    is_cheap: F,
}

impl<F: Fn(&ModelNode) -> bool> Walk<'_, F> {
    /// The nodes that make a tensor of what is there anyway or small; `None` if these are many or not cheap.
    fn cone(&self, id: TensorId) -> Option<Vec<usize>> {
        let model = &self.source.model;
        let (mut nodes, mut open) = (Vec::new(), vec![id]);
        while let Some(next) = open.pop() {
            let index = next.index();
            let Some(maker) = self.makers[index].filter(|_| !self.statics[index]) else { continue };
            let is_small = self.sizes[index] <= self.sizes[id.index()] / SMALL;
            if nodes.contains(&maker) || (next != id && is_small && self.sizes[index] > 0) {
                continue;
            }
            let node = &model.body.nodes[maker];
            let is_large = self.sizes[index] > self.sizes[id.index()];
            if !(self.is_cheap)(node) || is_large || nodes.len() == MOST_NODES {
                return None;
            }
            nodes.push(maker);
            open.extend(node.inputs.iter().flatten());
        }
        nodes.sort_unstable();
        (!nodes.is_empty()).then_some(nodes)
    }
}

/// Whether a node makes one tensor of its operands alone, and the same whenever it runs.
fn is_pure(node: &ModelNode) -> bool {
    let plain = matches!(
        node.operator,
        Operator::Unary(_)
            | Operator::Binary(_)
            | Operator::Variadic(_)
            | Operator::Where
            | Operator::Clip
            | Operator::Cast { .. }
            | Operator::CastLike(_)
            | Operator::Identity
            | Operator::Fill { .. }
            | Operator::Range
            | Operator::Reshape { .. }
            | Operator::Squeeze
            | Operator::Unsqueeze
            | Operator::Flatten { .. }
            | Operator::Transpose(_)
            | Operator::Slice
            | Operator::Concat { .. }
            | Operator::Expand
            | Operator::Tile
            | Operator::Trilu { .. }
            | Operator::Gather { .. }
    );
    plain && matches!(node.outputs[..], [Some(_)])
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Binary, Model, Unary};

    use super::*;
    use crate::FitOptions;
    use crate::frontier::Goal;
    use crate::planned::planned;
    use crate::tests::net::Net;
    use crate::tests::values::run;

    /// A row that is broadcast to a table, which is added before and behind a layer of that many products.
    fn masked(products: usize) -> Model {
        let mut net = Net::default();
        let x = net.input(&[16, 16]);
        let (row, dims) = (net.ints(&[0]), net.ints(&[16, 16]));
        let row = net.node(Operator::Gather { axis: 0 }, &[x, row]);
        let row = net.node(Operator::Unary(Unary::Neg), &[row]);
        let table = net.node(Operator::Expand, &[row, dims]);
        let mut y = net.add(x, table);
        for _ in 0..products {
            let (up, down) = (net.weights(&[16, 64]), net.weights(&[64, 16]));
            let wide = net.node(Operator::MatMul, &[y, up]);
            let wide = net.relu(wide);
            y = net.node(Operator::MatMul, &[wide, down]);
        }
        let y = net.node(Operator::Binary(Binary::Mul), &[y, table]);
        net.finish(&[y])
    }

    #[test]
    fn a_table_is_made_again_and_every_bit_stays() {
        let model = masked(3);
        let source = Rewritten::unchanged(model.clone());
        let options = FitOptions::new(Goal::Frontier);
        let plan = |rewritten: Rewritten| {
            planned(rewritten, &Bindings::default(), &options).expect("there is a plan")
        };
        let before = plan(source.clone()).arena_bytes;
        let again = computed_again(&source, &Bindings::default(), 1024).expect("shapes");
        let again = again.expect("a table is read twice");
        assert_eq!(again.regions.len(), 1);
        assert_eq!(again.regions[0].way, Way::Again);
        // Its own nodes and no others are in that region: the copies of two.
        let copies = again.stages.iter().flatten().filter(|stage| stage.region == 0);
        assert_eq!(copies.count(), again.regions[0].nodes.len());
        // The table itself of 16 × 16 floats waited beside both ends of a product; the row that is kept is 64 bytes.
        let point = plan(again.clone());
        assert_eq!((before, point.arena_bytes), (6144, 5184));
        assert_eq!(run(&again.model, &model, 3), run(&model, &model, 3));
    }

    #[test]
    fn what_is_read_soon_or_is_made_of_products_stays() {
        let soon = Rewritten::unchanged(masked(1));
        assert!(computed_again(&soon, &Bindings::default(), 1).expect("shapes").is_none());
        let small = Rewritten::unchanged(masked(3));
        assert!(computed_again(&small, &Bindings::default(), 2000).expect("shapes").is_none());
        let mut net = Net::default();
        let x = net.input(&[4, 4]);
        let w = net.weights(&[4, 4]);
        let made = net.node(Operator::MatMul, &[x, w]);
        let mut y = made;
        for _ in 0..10 {
            y = net.relu(y);
        }
        let y = net.add(y, made);
        let model = Rewritten::unchanged(net.finish(&[y]));
        assert!(computed_again(&model, &Bindings::default(), 1).expect("shapes").is_none());
    }
}
