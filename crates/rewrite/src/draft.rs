//! A model while it is rewritten: nodes are added one after the other, with names that nobody has yet.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_graph::Dtype;
use plimsoll_model::{Content, Model, ModelNode, Operator, Tensor, TensorId};

use crate::frontier::{Applied, Way};
use crate::rewritten::{Rewritten, Stage};

/// The nodes of a new body for a model, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Draft {
    model: Model,
    nodes: Vec<ModelNode>,
    sources: Vec<Option<usize>>,
    regions: Vec<Applied>,
    stages: Vec<Option<Stage>>,
    /// Where in a region nodes are that are added now.
    stage: Option<Stage>,
    /// Names of tensors and of nodes, which are two sets.
    tensor_names: Names,
    node_names: Names,
}

/// The names that somebody has.
#[derive(Clone, Debug)]
struct Names {
    taken: BTreeSet<String>,
    /// The last number behind each name that was asked for twice.
    numbers: BTreeMap<String, u64>,
    /// Whether names are given at all.
    given: bool,
}

impl Draft {
    /// Begins a new body for a model: its tensors are there, and no node yet.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        Draft {
            nodes: Vec::new(),
            sources: Vec::new(),
            regions: Vec::new(),
            stages: Vec::new(),
            stage: None,
            tensor_names: Names::new(model.tensors.iter().map(|tensor| &tensor.name)),
            node_names: Names::new(model.body.nodes.iter().map(|node| &node.name)),
            model: model.clone(),
        }
    }

    /// The same without names, for a model that is only looked at and thrown away.
    pub(crate) fn trial(model: &Model) -> Self {
        let unnamed = || Names { taken: BTreeSet::new(), numbers: BTreeMap::new(), given: false };
        Draft {
            nodes: Vec::new(),
            sources: Vec::new(),
            regions: Vec::new(),
            stages: Vec::new(),
            stage: None,
            tensor_names: unnamed(),
            node_names: unnamed(),
            model: model.clone(),
        }
    }

    /// Whether it is thrown away, and nobody needs names.
    pub(crate) fn is_trial(&self) -> bool {
        !self.node_names.given
    }

    /// The model whose body is replaced. Its tensors include those that were added.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Begins a region: these nodes of the model are computed otherwise. Returns its index.
    pub fn begin<'n>(&mut self, way: Way, nodes: impl IntoIterator<Item = &'n usize>) -> usize {
        let mut nodes: Vec<usize> = nodes.into_iter().copied().collect();
        nodes.sort_unstable();
        self.regions.push(Applied { way, nodes });
        self.regions.len() - 1
    }

    /// Says where in a region the nodes are that are added from now on.
    pub fn enter(&mut self, stage: Option<Stage>) {
        self.stage = stage;
    }

    /// Says how a region is computed, once that is known.
    pub(crate) fn settle(&mut self, region: usize, way: Way) {
        self.regions[region].way = way;
    }

    /// Adds a node of the model as it is.
    pub fn keep(&mut self, node: usize) {
        self.nodes.push(self.model.body.nodes[node].clone());
        self.sources.push(Some(node));
        self.stages.push(self.stage);
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
        let name = self.node_names.fresh(name);
        let kind = source.filter(|_| self.node_names.given);
        let kind = kind.map_or_else(String::new, |node| self.model.body.nodes[node].kind.clone());
        let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
        self.nodes.push(ModelNode { name, kind, operator, inputs, outputs });
        self.sources.push(source);
        self.stages.push(self.stage);
    }

    /// Adds a tensor that a node will make.
    pub fn tensor(&mut self, name: &str) -> TensorId {
        let name = self.tensor_names.fresh(name);
        self.model.add(Tensor::computed(name))
    }

    /// Adds stored integers, such as the bounds of a slice.
    pub fn ints(&mut self, name: &str, ints: &[i64]) -> TensorId {
        self.ints_of(name, ints, &[ints.len() as u64])
    }

    /// Adds stored integers of any dims.
    pub(crate) fn ints_of(&mut self, name: &str, ints: &[i64], dims: &[u64]) -> TensorId {
        let name = self.tensor_names.fresh(name);
        let mut tensor = Tensor::stored(name, Dtype::I64, dims);
        tensor.content = Some(Content::Ints(ints.to_vec()));
        self.model.add(tensor)
    }

    /// Adds stored 32-bit numbers in one dim; one number is one for every element of what it is broadcast to.
    pub fn floats(&mut self, name: &str, floats: &[f64]) -> TensorId {
        self.floats_of(name, floats, &[floats.len() as u64])
    }

    /// Adds stored 32-bit numbers of any dims.
    pub(crate) fn floats_of(&mut self, name: &str, floats: &[f64], dims: &[u64]) -> TensorId {
        let name = self.tensor_names.fresh(name);
        let mut tensor = Tensor::stored(name, Dtype::F32, dims);
        tensor.content = Some(Content::Floats(floats.to_vec()));
        self.model.add(tensor)
    }

    /// The model with the nodes that were added.
    #[must_use]
    pub fn finish(self) -> Rewritten {
        let Draft { mut model, nodes, sources, regions, stages, .. } = self;
        model.body.nodes = nodes;
        Rewritten { model, sources, regions, stages }
    }
}

impl Names {
    fn new<'n>(names: impl Iterator<Item = &'n String>) -> Self {
        Names { taken: names.cloned().collect(), numbers: BTreeMap::new(), given: true }
    }

    /// The name, or the first with a number behind it that nobody has.
    fn fresh(&mut self, name: &str) -> String {
        if !self.given {
            return String::new();
        }
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number = self.numbers.entry(name.to_owned()).or_insert(0);
        loop {
            *number += 1;
            let numbered = format!("{name}.{number}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
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
