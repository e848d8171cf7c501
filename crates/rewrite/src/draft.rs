//! A model while it is rewritten: nodes are added one after the other, with names that nobody has yet.

use std::collections::BTreeSet;

use plimsoll_graph::Dtype;
use plimsoll_model::{Content, Model, ModelNode, Operator, Tensor, TensorId};

use crate::rewritten::Rewritten;

/// The nodes of a new body for a model, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Draft {
    model: Model,
    nodes: Vec<ModelNode>,
    sources: Vec<Option<usize>>,
    /// Names of tensors and of nodes, which are two sets.
    tensor_names: BTreeSet<String>,
    node_names: BTreeSet<String>,
}

impl Draft {
    /// Begins a new body for a model: its tensors are there, and no node yet.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        Draft {
            nodes: Vec::new(),
            sources: Vec::new(),
            tensor_names: model.tensors.iter().map(|tensor| tensor.name.clone()).collect(),
            node_names: model.body.nodes.iter().map(|node| node.name.clone()).collect(),
            model: model.clone(),
        }
    }

    /// The model whose body is replaced. Its tensors include those that were added.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Adds a node of the model as it is.
    pub fn keep(&mut self, node: usize) {
        self.nodes.push(self.model.body.nodes[node].clone());
        self.sources.push(Some(node));
    }

    /// Adds a node with one output, and returns that. It computes a part of the node `source` of the model, or only
    /// moves pieces. Both get the name, with a number behind it if somebody has it.
    pub fn node(
        &mut self,
        name: &str,
        operator: Operator,
        inputs: &[Option<TensorId>],
        source: Option<usize>,
    ) -> TensorId {
        let output = self.tensor(name);
        self.node_into(name, operator, inputs, &[Some(output)], source);
        output
    }

    /// Adds a node that makes tensors which are there already: outputs of the model, or several at once.
    pub fn node_into(
        &mut self,
        name: &str,
        operator: Operator,
        inputs: &[Option<TensorId>],
        outputs: &[Option<TensorId>],
        source: Option<usize>,
    ) {
        let name = fresh(&mut self.node_names, name);
        let kind = source.map_or_else(String::new, |node| self.model.body.nodes[node].kind.clone());
        let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
        self.nodes.push(ModelNode { name, kind, operator, inputs, outputs });
        self.sources.push(source);
    }

    /// Adds a tensor that a node will make.
    pub fn tensor(&mut self, name: &str) -> TensorId {
        let name = fresh(&mut self.tensor_names, name);
        self.model.add(Tensor::computed(name))
    }

    /// Adds stored integers, such as the bounds of a slice.
    pub fn ints(&mut self, name: &str, ints: &[i64]) -> TensorId {
        let name = fresh(&mut self.tensor_names, name);
        let mut tensor = Tensor::stored(name, Dtype::I64, &[ints.len() as u64]);
        tensor.content = Some(Content::Ints(ints.to_vec()));
        self.model.add(tensor)
    }

    /// The model with the nodes that were added.
    #[must_use]
    pub fn finish(self) -> Rewritten {
        let Draft { mut model, nodes, sources, .. } = self;
        model.body.nodes = nodes;
        Rewritten { model, sources }
    }
}

/// The name, or the first with a number behind it that nobody has.
fn fresh(names: &mut BTreeSet<String>, name: &str) -> String {
    if names.insert(name.to_owned()) {
        return name.to_owned();
    }
    let numbered = (1..).map(|number| format!("{name}.{number}"));
    let name = numbered.into_iter().find(|name| !names.contains(name)).unwrap_or_default();
    names.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Bindings, Origin, Unary, infer};

    use super::*;

    /// `x` of eight rows, negated.
    fn negated() -> Model {
        let mut model = Model::default();
        let mut x = Tensor::stored("x", Dtype::F32, &[8, 4]);
        x.origin = Origin::Caller;
        let (x, y) = (model.add(x), model.add(Tensor::computed("y")));
        model.body.inputs.push(x);
        model.body.outputs.push(y);
        model.body.nodes.push(ModelNode {
            name: "neg".to_owned(),
            kind: "Neg".to_owned(),
            operator: Operator::Unary(Unary::Neg),
            inputs: vec![Some(x)],
            outputs: vec![Some(y)],
        });
        model
    }

    #[test]
    fn a_model_without_changes_is_the_same() {
        let model = negated();
        let mut draft = Draft::new(&model);
        draft.keep(0);
        assert_eq!(draft.finish(), Rewritten::unchanged(model));
    }

    #[test]
    fn parts_get_names_and_shapes_of_their_own() {
        let model = negated();
        let (x, y) = (model.body.inputs[0], model.body.outputs[0]);
        let mut draft = Draft::new(&model);
        let mut parts = Vec::new();
        for part in 0..2 {
            let bounds = [4 * part, 4 * part + 4, 0];
            let [start, end, axis] = bounds.map(|bound| Some(draft.ints("bound", &[bound])));
            let rows = draft.node("rows", Operator::Slice, &[Some(x), start, end, axis], None);
            let negated = Operator::Unary(Unary::Neg);
            parts.push(Some(draft.node("neg", negated, &[Some(rows)], Some(0))));
        }
        draft.node_into("whole", Operator::Concat { axis: 0 }, &parts, &[Some(y)], None);
        let rewritten = draft.finish();
        assert_eq!(rewritten.sources, [None, Some(0), None, Some(0), None]);
        let names = rewritten.model.body.nodes.iter().map(|node| node.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["rows", "neg.1", "rows.1", "neg.2", "whole"]);
        let inferred = infer(&rewritten.model, &Bindings::default()).unwrap();
        assert_eq!(
            inferred.facts[y.index()].shape,
            infer(&model, &Bindings::default()).unwrap().facts[y.index()].shape
        );
    }
}
