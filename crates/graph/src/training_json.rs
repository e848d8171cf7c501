//! Reads graphs of forward and backward passes from JSON.
//!
//! One object: `tensors` (id, name, bytes, dtype, shape, stride, kind), `nodes` in program order
//! (id, op, inputs, outputs and optionally `view_of`, `view_like`, `mutates`), and `outputs`, the
//! ids of tensors that live to the end. Other fields are left alone.
//!
//! - A view has no bytes of its own. Where in the other tensor it begins is known only for the
//!   whole of it and for the parts of a split on the outermost axis. Any other (a slice, something
//!   transposed or expanded) is taken for a view of the whole: a read of it reads all of the root.
//! - Ops are those of `ATen`. Elementwise ones, softmaxes and norms become the classes that may
//!   overwrite, if input and output are laid out alike; all others get the safe default.
//! - An op that `mutates` a tensor must write over it. `true` stands for what `view_of` names, and
//!   without that for the first operand of an op whose name says that it works in place (`add_`).
//!   Whoever reads the tensor afterwards reads what the op has made of it.

mod aten;

use std::collections::HashMap;

use aten::{class, dtype};
use plimsoll::{JsonFault, Overwrite, Role, ValueId, View, object_from_json};
use serde::Deserialize;
use thiserror::Error;

use crate::graph::{Graph, GraphBuilder, GraphError, Node, Value};
use crate::op::Op;
use crate::shape::Shape;

/// Why bytes are no such graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TrainingJsonError {
    /// Not JSON, or not of that form.
    #[error("{line}:{column}: {message}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column in it.
        column: usize,
        /// What was expected.
        message: String,
    },
    /// Something is wrong with a tensor.
    #[error("tensor `{name}`: {fault}")]
    Tensor {
        /// Its name.
        name: String,
        /// What.
        fault: String,
    },
    /// Something is wrong with a node.
    #[error("node {id} ({op}): {fault}")]
    Node {
        /// Its id.
        id: u64,
        /// Its op.
        op: String,
        /// What.
        fault: String,
    },
    /// An output that is not there.
    #[error("there is no tensor {0} to output")]
    UnknownOutput(u64),
    /// The graph breaks a rule.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

#[derive(Deserialize)]
struct Document {
    tensors: Vec<Tensor>,
    nodes: Vec<Step>,
    outputs: Vec<u64>,
}

#[derive(Deserialize)]
struct Tensor {
    id: u64,
    name: String,
    bytes: u64,
    dtype: String,
    shape: Vec<u64>,
    stride: Option<Vec<i64>>,
    kind: Kind,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Input,
    Param,
    Constant,
    Intermediate,
    Output,
}

#[derive(Deserialize)]
struct Step {
    id: u64,
    op: String,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    view_of: Option<u64>,
    view_like: Option<u64>,
    mutates: Option<Mutates>,
}

/// The tensors that an op changes.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`mutates` has to be true, false, an id or a list of ids")]
enum Mutates {
    /// Whether it changes any; which, its schema says.
    Some(bool),
    One(u64),
    Many(Vec<u64>),
}

impl Step {
    fn fault(&self, fault: impl Into<String>) -> TrainingJsonError {
        TrainingJsonError::Node { id: self.id, op: self.op.clone(), fault: fault.into() }
    }

    /// What its outputs are views of. What it changes is no view: it is made anew.
    fn root(&self) -> Result<Option<u64>, TrainingJsonError> {
        let root = self.view_of.or(self.view_like);
        let changed = self.mutated()?;
        Ok(root.filter(|root| !changed.contains(root)))
    }

    /// The tensors that it changes.
    fn mutated(&self) -> Result<Vec<u64>, TrainingJsonError> {
        let in_place = || self.base().ends_with('_').then(|| self.inputs.first().copied())?;
        match &self.mutates {
            None | Some(Mutates::Some(false)) => Ok(Vec::new()),
            Some(Mutates::Some(true)) => match self.view_of.or_else(in_place) {
                Some(changed) => Ok(vec![changed]),
                None => Err(self
                    .fault("which tensors it changes is not said: `mutates` has to be their ids")),
            },
            Some(Mutates::One(id)) => Ok(vec![*id]),
            Some(Mutates::Many(ids)) => Ok(ids.clone()),
        }
    }

    fn base(&self) -> &str {
        base(&self.op)
    }
}

/// Whether a node of such a graph makes the same of the same whenever it runs: ops that are known to, and none that
/// draw numbers or change what they read.
#[must_use]
pub fn is_repeatable(node: &Node) -> bool {
    node.overwrites.is_empty() && aten::is_repeatable(base(&node.kind))
}

/// The op without its name space and overload: `aten.add.Tensor` is `add`.
fn base(op: &str) -> &str {
    let name = op.strip_prefix("aten.").unwrap_or(op);
    name.split('.').next().unwrap_or(name)
}

/// The graph that the bytes of such a file describe.
pub fn read(bytes: &[u8]) -> Result<Graph, TrainingJsonError> {
    let document: Document = document(bytes).map_err(|fault| {
        let JsonFault { line, column, message } = fault;
        TrainingJsonError::Json { line, column, message }
    })?;
    let mut reader = Reader {
        document: &document,
        builder: GraphBuilder::new(),
        index: HashMap::new(),
        sizes: Vec::new(),
        latest: Vec::new(),
    };
    for (index, tensor) in document.tensors.iter().enumerate() {
        reader.tensor(index, tensor)?;
    }
    for step in &document.nodes {
        reader.step(step)?;
    }
    reader.outputs()?;
    Ok(reader.builder.finish()?)
}

fn document(bytes: &[u8]) -> Result<Document, JsonFault> {
    match str::from_utf8(bytes) {
        Ok(text) => object_from_json(text),
        Err(_) => Ok(serde_json::from_slice(bytes)?),
    }
}

struct Reader<'d> {
    document: &'d Document,
    builder: GraphBuilder,
    /// From ids of tensors to their indices, which are those of values.
    index: HashMap<u64, usize>,
    /// Of values: of views, that of the part that is taken for them.
    sizes: Vec<u64>,
    /// By tensor: what has its bytes by now.
    latest: Vec<Latest>,
}

/// What has the bytes of a tensor at some place of the program.
#[derive(Clone, Copy)]
struct Latest {
    /// The value that is the tensor, or what was made of it in place.
    value: ValueId,
    /// The tensor that it is a view of in the end, or was made of in place.
    alias_set: usize,
    /// The node that has changed another tensor of the alias set since: what the bytes are is not known.
    changed_by: Option<u64>,
}

impl Reader<'_> {
    fn tensor(&mut self, index: usize, tensor: &Tensor) -> Result<(), TrainingJsonError> {
        let fault = |fault: String| TrainingJsonError::Tensor { name: tensor.name.clone(), fault };
        let dtype = dtype(&tensor.dtype)
            .ok_or_else(|| fault(format!("`{}` is not an element type", tensor.dtype)))?;
        if self.index.insert(tensor.id, index).is_some() {
            return Err(fault(format!("there is another tensor {}", tensor.id)));
        }
        let rank = tensor.stride.as_ref().map_or(tensor.shape.len(), Vec::len);
        if rank != tensor.shape.len() {
            return Err(fault(format!("{rank} strides for {} dims", tensor.shape.len())));
        }
        let role = match tensor.kind {
            Kind::Input => Role::Input,
            Kind::Param => Role::Param,
            Kind::Constant => Role::Constant,
            Kind::Intermediate | Kind::Output => Role::Temporary,
        };
        let mut value =
            Value::new(&tensor.name, dtype, Shape::from(&tensor.shape[..])).with_role(role);
        value.bytes = Some(tensor.bytes);
        let id = self.builder.value(value)?;
        self.sizes.push(tensor.bytes);
        self.latest.push(Latest { value: id, alias_set: index, changed_by: None });
        self.drop_plain_size(id);
        Ok(())
    }

    /// A size that follows from type and shape need not be said.
    fn drop_plain_size(&mut self, id: ValueId) {
        let value = self.builder.value_mut(id);
        let plain = value.shape_size(value.dtype.bits()).known();
        if plain == value.bytes {
            value.bytes = None;
        }
    }

    fn index(&self, step: &Step, id: u64) -> Result<usize, TrainingJsonError> {
        let index = self.index.get(&id).copied();
        index.ok_or_else(|| step.fault(format!("there is no tensor {id}")))
    }

    /// What a step reads under these ids.
    fn read(&self, step: &Step, ids: &[u64]) -> Result<Vec<ValueId>, TrainingJsonError> {
        let latest = |id: &u64| {
            let index = self.index(step, *id)?;
            let Latest { value, changed_by, .. } = self.latest[index];
            match changed_by {
                None => Ok(value),
                Some(by) => {
                    let name = &self.document.tensors[index].name;
                    Err(step.fault(format!("it reads `{name}`, {}", part_of_changed(by))))
                }
            }
        };
        ids.iter().map(latest).collect()
    }

    fn step(&mut self, step: &Step) -> Result<(), TrainingJsonError> {
        let inputs = self.read(step, &step.inputs)?;
        let outputs = step.outputs.iter().map(|id| self.index(step, *id).map(ValueId::new));
        let outputs = outputs.collect::<Result<Vec<ValueId>, _>>()?;
        let first = outputs.first();
        let name = first.map_or_else(
            || format!("{} {}", step.op, step.id),
            |value| self.document.tensors[value.index()].name.clone(),
        );
        let root = step.root()?;
        let op = if root.is_some() { Op::Custom } else { self.op(step, &inputs, &outputs) };
        let mut node = Node::new(name, op, &inputs, &outputs).with_kind(&step.op);
        if let Some(root) = root {
            let of = self.read(step, &[root])?[0];
            self.views(step, of, &outputs)?;
            let alias_set = self.latest[self.index(step, root)?].alias_set;
            for value in &outputs {
                self.latest[value.index()].alias_set = alias_set;
            }
        }
        for (at, id) in step.mutated()?.into_iter().enumerate() {
            let output = *outputs
                .get(at)
                .ok_or_else(|| step.fault("it changes more tensors than it has outputs"))?;
            node.overwrites.push(self.change(step, id, output)?);
        }
        self.builder.node(node)?;
        Ok(())
    }

    /// From now on the output is what the tensor was, and other tensors of its bytes are not known.
    fn change(
        &mut self,
        step: &Step,
        id: u64,
        output: ValueId,
    ) -> Result<Overwrite, TrainingJsonError> {
        let input = self.read(step, &[id])?[0];
        let alias_set = self.latest[self.index(step, id)?].alias_set;
        for latest in self.latest.iter_mut().filter(|latest| latest.alias_set == alias_set) {
            if latest.value == input {
                latest.value = output;
            } else {
                latest.changed_by = Some(step.id);
            }
        }
        self.latest[output.index()].alias_set = alias_set;
        let target = self.builder.value_mut(input);
        target.donated |= target.is_given();
        Ok(Overwrite { output, input, must: true })
    }

    /// Declares the outputs of a step to be views.
    fn views(
        &mut self,
        step: &Step,
        root: ValueId,
        outputs: &[ValueId],
    ) -> Result<(), TrainingJsonError> {
        let all = self.sizes[root.index()];
        let parts: Vec<u64> = outputs.iter().map(|value| self.sizes[value.index()]).collect();
        if step.view_like.is_some() && parts.iter().any(|part| *part != all) {
            return Err(step.fault(format!("a reshape of {all} bytes into {parts:?}")));
        }
        let dense = |value: &ValueId| is_contiguous(&self.document.tensors[value.index()]);
        let sum = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part));
        let split = dense(&root) && outputs.iter().all(dense) && sum == Some(all);
        let mut offset = 0;
        for (value, part) in outputs.iter().zip(parts) {
            let bytes = if split { part } else { all };
            let declared = self.builder.value_mut(*value);
            declared.view = Some(View::new(root, if split { offset } else { 0 }));
            declared.bytes = Some(bytes);
            self.sizes[value.index()] = bytes;
            self.drop_plain_size(*value);
            offset += part;
        }
        Ok(())
    }

    /// The class of an op. One that may overwrite an operand only if the two are laid out alike.
    fn op(&self, step: &Step, inputs: &[ValueId], outputs: &[ValueId]) -> Op {
        let Some(output) = outputs.first().map(|value| &self.document.tensors[value.index()])
        else {
            return Op::ShapeOf;
        };
        let inputs: Vec<&Tensor> =
            inputs.iter().map(|value| &self.document.tensors[value.index()]).collect();
        let alike = inputs.iter().all(|i| i.shape != output.shape || strides(i) == strides(output));
        let class = match step.base() {
            "_to_copy" if inputs.first().is_some_and(|i| i.dtype == output.dtype) => Op::Copy,
            "_to_copy" => Op::Cast,
            // In place or not, it is the same op.
            base => class(base.trim_end_matches('_'), inputs.len()),
        };
        if alike { class } else { Op::Custom }
    }

    fn outputs(&mut self) -> Result<(), TrainingJsonError> {
        let tensors = &self.document.tensors;
        let listed = self
            .document
            .outputs
            .iter()
            .map(|id| self.index.get(id).copied().ok_or(TrainingJsonError::UnknownOutput(*id)));
        let listed = listed.collect::<Result<Vec<usize>, _>>()?;
        let by_kind = (0..tensors.len()).filter(|index| tensors[*index].kind == Kind::Output);
        let mut is_output = vec![false; tensors.len()];
        for index in listed.into_iter().chain(by_kind) {
            let Latest { value, changed_by, .. } = self.latest[index];
            if let Some(by) = changed_by {
                let (name, fault) = (tensors[index].name.clone(), part_of_changed(by));
                return Err(TrainingJsonError::Tensor { name, fault });
            }
            if !std::mem::replace(&mut is_output[value.index()], true) {
                self.builder.output(value);
            }
        }
        Ok(())
    }
}

/// What is wrong with reading a tensor whose bytes are no longer known.
fn part_of_changed(by: u64) -> String {
    format!("a part of what node {by} has changed since")
}

/// The strides of axes that have more than one element; the others mean nothing.
fn strides(tensor: &Tensor) -> Option<Vec<i64>> {
    let strides = tensor.stride.as_ref()?.iter().zip(&tensor.shape);
    Some(strides.filter(|(_, dim)| **dim != 1).map(|(stride, _)| *stride).collect())
}

/// Whether elements follow each other in order, without holes.
fn is_contiguous(tensor: &Tensor) -> bool {
    let Some(stride) = &tensor.stride else {
        return true;
    };
    let mut expected = 1u64;
    for (dim, stride) in tensor.shape.iter().zip(stride).rev() {
        if *dim != 1 && u64::try_from(*stride) != Ok(expected) {
            return false;
        }
        expected = expected.saturating_mul(*dim);
    }
    true
}

#[cfg(test)]
mod tests;
