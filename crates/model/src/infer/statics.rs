//! Which tensors are the same in every run.

use plimsoll_graph::Fact;

use crate::model::{Body, Model, ModelNode, Operator, Origin, TensorId};

/// Which tensors depend on nothing but stored tensors and what is known of shapes, by id: they can
/// be computed once, when the model is loaded.
///
/// What is found are those that may vary: the inputs, what is random or made by an operator that is
/// not ours, and what depends on these. A node with bodies varies if anything does that a node in
/// them reads; then what is handed to the bodies varies too, since it does from one iteration to
/// the next. The cost is linear in the model.
#[must_use]
pub fn statics(model: &Model, facts: &[Fact]) -> Vec<bool> {
    let nodes = nested_nodes(&model.body);
    let mut readers = vec![Vec::new(); model.tensors.len()];
    for (index, nested) in nodes.iter().enumerate() {
        let handed_out = nested.node.bodies().into_iter().flat_map(|body| &body.outputs);
        for id in nested.node.inputs.iter().flatten().chain(handed_out) {
            if let Some(readers) = readers.get_mut(id.index()) {
                readers.push(index);
            }
        }
    }
    let mut spread = Spread {
        facts,
        is_static: vec![true; model.tensors.len()],
        node_varies: vec![false; nodes.len()],
        nodes,
        open: Vec::new(),
    };
    for id in &model.body.inputs {
        if model.tensors.get(id.index()).is_some_and(|tensor| tensor.origin != Origin::Stored) {
            spread.vary(*id);
        }
    }
    for index in 0..spread.nodes.len() {
        if varies_by_itself(spread.nodes[index].node, facts) {
            spread.vary_node(index);
        }
    }
    while let Some(id) = spread.open.pop() {
        for reader in &readers[id.index()] {
            spread.vary_node(*reader);
        }
    }
    spread.is_static
}

/// A node, and the node in whose body it is.
#[derive(Clone, Copy)]
struct Nested<'a> {
    node: &'a ModelNode,
    parent: Option<usize>,
}

/// All nodes, those of bodies too.
fn nested_nodes(body: &Body) -> Vec<Nested<'_>> {
    let mut nodes: Vec<Nested<'_>> =
        body.nodes.iter().map(|node| Nested { node, parent: None }).collect();
    let mut next = 0;
    while next < nodes.len() {
        for body in nodes[next].node.bodies() {
            nodes.extend(body.nodes.iter().map(|node| Nested { node, parent: Some(next) }));
        }
        next += 1;
    }
    nodes
}

struct Spread<'a> {
    facts: &'a [Fact],
    nodes: Vec<Nested<'a>>,
    is_static: Vec<bool>,
    node_varies: Vec<bool>,
    /// Tensors that vary and whose readers are not told yet.
    open: Vec<TensorId>,
}

impl Spread<'_> {
    fn vary(&mut self, id: TensorId) {
        if self.is_static.get(id.index()) == Some(&true) {
            self.is_static[id.index()] = false;
            self.open.push(id);
        }
    }

    /// What a node makes varies, unless it is known; and so does what it hands to its bodies.
    fn vary_node(&mut self, index: usize) {
        let mut next = Some(index);
        while let Some(index) = next.filter(|index| !self.node_varies[*index]) {
            self.node_varies[index] = true;
            let Nested { node, parent } = self.nodes[index];
            let inputs = node.bodies().into_iter().flat_map(|body| &body.inputs);
            for id in node.outputs.iter().flatten().chain(inputs) {
                if !self.facts.get(id.index()).is_some_and(Fact::is_constant) {
                    self.vary(*id);
                }
            }
            next = parent;
        }
    }
}

/// Whether a node may make something else each time it runs, even of the same.
fn varies_by_itself(node: &ModelNode, facts: &[Fact]) -> bool {
    match node.operator {
        Operator::Random { .. }
        | Operator::RandomLike(_)
        | Operator::Bernoulli { .. }
        | Operator::Multinomial { .. }
        | Operator::Custom(_) => true,
        Operator::Dropout { .. } => node.inputs.get(2).copied().flatten().is_some_and(|training| {
            let training = facts.get(training.index()).and_then(Fact::known_ints);
            training.as_deref() != Some(&[0])
        }),
        _ => false,
    }
}
