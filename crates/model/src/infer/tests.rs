//! Whole models, from their inputs to what is known of everything.

mod binding;
mod chains;
mod control;
mod hostile;
mod statics;

use plimsoll_graph::{Dtype, Int};

use super::*;
use crate::model::{Binary, Content};

/// A model in the making.
struct Build {
    model: Model,
    /// The nodes of the bodies that are open, innermost last.
    open: Vec<Vec<ModelNode>>,
    names: usize,
}

impl Build {
    fn new() -> Self {
        Build { model: Model::default(), open: vec![Vec::new()], names: 0 }
    }

    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}{}", self.names)
    }

    fn tensor(&mut self, origin: Origin, dtype: Dtype, dims: Vec<Axis>) -> TensorId {
        let name = self.name("t");
        let (dtype, dims) = (Some(dtype), Some(dims));
        self.model.add(Tensor { origin, dtype, dims, ..Tensor::computed(name) })
    }

    /// An input of the model.
    fn input(&mut self, name: &str, dtype: Dtype, dims: Vec<Axis>) -> TensorId {
        let id = self.tensor(Origin::Caller, dtype, dims);
        name.clone_into(&mut self.model.tensors[id.index()].name);
        self.model.body.inputs.push(id);
        id
    }

    /// An input of the model of known dims.
    fn known(&mut self, name: &str, dtype: Dtype, dims: &[u64]) -> TensorId {
        self.input(name, dtype, dims.iter().map(|dim| Axis::Known(*dim)).collect())
    }

    /// An input of a body, of which nothing is declared.
    fn handed_in(&mut self) -> TensorId {
        let name = self.name("in");
        self.model.add(Tensor { origin: Origin::Caller, ..Tensor::computed(name) })
    }

    fn stored(&mut self, dtype: Dtype, dims: &[u64], content: Content) -> TensorId {
        let name = self.name("c");
        let content = Some(content);
        self.model.add(Tensor { content, ..Tensor::stored(name, dtype, dims) })
    }

    fn list(&mut self, ints: &[i64]) -> TensorId {
        self.stored(Dtype::I64, &[ints.len() as u64], Content::Ints(ints.to_vec()))
    }

    fn scalar(&mut self, int: i64) -> TensorId {
        self.stored(Dtype::I64, &[], Content::Ints(vec![int]))
    }

    fn truth(&mut self, truth: bool) -> TensorId {
        self.stored(Dtype::Bool, &[], Content::Ints(vec![i64::from(truth)]))
    }

    /// A node with one output.
    fn node(&mut self, operator: Operator, inputs: &[TensorId]) -> TensorId {
        self.nodes(operator, inputs, 1)[0]
    }

    fn nodes(&mut self, operator: Operator, inputs: &[TensorId], count: usize) -> Vec<TensorId> {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.optional(operator, inputs, count)
    }

    fn optional(
        &mut self,
        operator: Operator,
        inputs: Vec<Option<TensorId>>,
        count: usize,
    ) -> Vec<TensorId> {
        let mut outputs = Vec::new();
        for _ in 0..count {
            let name = self.name("v");
            outputs.push(self.model.add(Tensor::computed(name)));
        }
        let node = ModelNode {
            name: self.name("n"),
            kind: String::new(),
            operator,
            inputs,
            outputs: outputs.iter().copied().map(Some).collect(),
        };
        self.open.last_mut().expect("an open body").push(node);
        outputs
    }

    /// What is added until it is closed is in a body.
    fn open(&mut self) {
        self.open.push(Vec::new());
    }

    fn close(&mut self, inputs: &[TensorId], outputs: &[TensorId]) -> Body {
        let nodes = self.open.pop().expect("an open body");
        Body { inputs: inputs.to_vec(), outputs: outputs.to_vec(), nodes }
    }

    /// The model, which hands out these.
    fn finish(mut self, outputs: &[TensorId]) -> Model {
        let Body { outputs, nodes, .. } = self.close(&[], outputs);
        self.model.body = Body { inputs: self.model.body.inputs, outputs, nodes };
        self.model
    }
}

/// What is known of everything in a model whose inputs are known.
fn all(model: &Model) -> Vec<Fact> {
    facts(model, &Bindings::default()).expect("a good model")
}

/// What is known of a tensor that such a model hands out.
fn found(build: Build, id: TensorId) -> Fact {
    all(&build.finish(&[id]))[id.index()].clone()
}

/// The dims of a tensor that a good model hands out.
fn found_dims(build: Build, id: TensorId) -> Vec<u64> {
    let shape = found(build, id).shape.expect("dims");
    shape.known().expect("known dims")
}

fn symbol(name: &str) -> Axis {
    Axis::Symbol(name.to_owned())
}

/// What does not fit is told with operator, names, types and shapes; of many operands that are alike
/// the first and the odd one.
#[test]
fn what_does_not_fit_is_told_with_its_operands() {
    let told = |operator: Operator, kind: &str, shapes: &[&[u64]]| {
        let mut model = Model::default();
        let mut inputs = Vec::new();
        for (index, dims) in shapes.iter().enumerate() {
            let dims = Some(dims.iter().map(|dim| Axis::Known(*dim)).collect());
            let (origin, dtype) = (Origin::Caller, Some(Dtype::F32));
            let name = format!("x{index}");
            inputs.push(model.add(Tensor { origin, dtype, dims, ..Tensor::computed(&name) }));
        }
        let output = model.add(Tensor::computed("y"));
        let (name, kind) = ("n1".to_owned(), kind.to_owned());
        let (read, outputs) = (inputs.iter().copied().map(Some).collect(), vec![Some(output)]);
        model.body.nodes.push(ModelNode { name, kind, operator, inputs: read, outputs });
        (model.body.inputs, model.body.outputs) = (inputs, vec![output]);
        facts(&model, &Bindings::default()).expect_err("it does not fit").to_string()
    };
    assert_eq!(
        told(Operator::Binary(Binary::Add), "Add", &[&[2, 4], &[2, 3]]),
        "node `n1` (Add): `x0` is f32[2, 4], `x1` is f32[2, 3]: 4 and 3 do not broadcast"
    );
    assert_eq!(
        told(Operator::Concat { axis: 0 }, "", &[&[1, 2], &[1, 2], &[1, 3], &[1, 2]]),
        "node `n1`: `x0` is f32[1, 2], `x2` is f32[1, 3]: 2 is not 3"
    );
}
