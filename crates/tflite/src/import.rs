//! From a file to a graph.
//!
//! A graph, not a [`Model`](https://docs.rs/plimsoll-model) of operators: the file stores every shape, so
//! that there is nothing to infer; its images have their channels last, which the operators of a model do
//! not know; and its interpreter runs every operator that is listed, those on constants too, each tensor in
//! bytes of its own unless a plan says otherwise. What a plan needs to know is exactly what a graph says.
//!
//! - What has data in the file is a weight. A *variable* is kept by the runtime, outside of the arena. What
//!   nobody makes and nobody hands in is outside too.
//! - Operators that read or write more than their tensors run in the order of the file.
//! - A subgraph that is called is part of the block of its caller: a node that hands in, the operators of
//!   the subgraph, a node that hands out. What the caller reads and makes is there for as long as the block
//!   is, since bodies run again, or not at all.
//! - The tensors of a subgraph have one place each, whoever calls it. Where it is called again, all of them
//!   are read, so that nothing else is in their places between the first call and the last.
//!
//! Cost: linear in the file, and in the tensors of subgraphs for each further call.

mod name;

use std::collections::BTreeSet;

use plimsoll::{AccessKind, Role, Scratch, Storage, ValueId};
use plimsoll_graph::effect::{Operand, misfit};
use plimsoll_graph::{Dim, Dtype, Graph, GraphBuilder, Node, NodeId, Op, Shape, Value, Window};

use self::name::Names;
use crate::builtin::BuiltinClass;
use crate::class::{class, operands};
use crate::dtype::dtype;
use crate::error::TfliteError;
use crate::file::{MOST_CALLS, Operator, TfliteFile};
use crate::tflm::scratch::requests;
use crate::tflm::{ALIGN, AT_RUN_TIME};

/// As many tensors and operators are looked at for further calls of subgraphs, in all.
const MOST_KEPT: usize = 1 << 20;

/// A file as a graph, and what of the file everything is.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The graph.
    pub graph: Graph,
    /// The value of each tensor that a run uses, by subgraph and index.
    pub values: Vec<Vec<Option<ValueId>>>,
    /// The subgraph and the index there of the operator that each node is, by node. What a call takes
    /// beside its own node is no operator.
    pub operators: Vec<Option<(usize, usize)>>,
}

impl TfliteFile {
    /// The file as a graph.
    pub fn import(&self) -> Result<Imported, TfliteError> {
        let values = self.subgraphs.iter().map(|subgraph| vec![None; subgraph.tensors.len()]);
        let mut importer = Importer {
            file: self,
            builder: GraphBuilder::new(),
            names: Names::default(),
            values: values.collect(),
            operators: Vec::new(),
            called: vec![Called::Never; self.subgraphs.len()],
            kept: 0,
            depth: 0,
            last_stateful: None,
            block: None,
            blocks: 0,
        };
        importer.main()?;
        let Importer { builder, values, operators, .. } = importer;
        Ok(Imported { graph: builder.finish()?, values, operators })
    }
}

impl Imported {
    /// The order of the first subgraph's operators in which these nodes run.
    #[must_use]
    pub fn operator_order(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<usize> {
        let operators =
            nodes.filter_map(|node| self.operators.get(node.index()).copied().flatten());
        operators.filter(|(subgraph, _)| *subgraph == 0).map(|(_, index)| index).collect()
    }

    /// The offsets that a plan has for values, with what else the interpreter wants:
    ///
    /// - A tensor that no operator reads or makes is anywhere. Left to the interpreter, all of these would lie
    ///   side by side.
    /// - The interpreter leaves the places of variables to the plan where the offset of the tensor *of that index
    ///   in the first subgraph* is one, whichever subgraph they belong to. So that tensor is left to it.
    #[must_use]
    pub fn settled_offsets(&self, file: &TfliteFile, offsets: &[i32]) -> Vec<i32> {
        let mut settled = offsets.to_vec();
        let tensors = file.subgraphs.iter().zip(&self.values);
        let tensors = tensors.flat_map(|(graph, values)| {
            // A subgraph that nobody calls has no values at all.
            let runs = values.iter().any(Option::is_some);
            graph.tensors.iter().zip(values).map(move |(tensor, value)| {
                runs && value.is_none() && tensor.stored.is_none() && !tensor.is_kept_elsewhere()
            })
        });
        for (offset, is_unused) in settled.iter_mut().zip(tensors) {
            *offset = if is_unused { 0 } else { *offset };
        }
        for (index, tensor) in
            file.subgraphs.iter().flat_map(|graph| graph.tensors.iter().enumerate())
        {
            if tensor.is_variable
                && let Some(offset) = settled.get_mut(index)
            {
                *offset = AT_RUN_TIME;
            }
        }
        settled
    }
}

/// Whether a subgraph was called yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Called {
    Never,
    /// It runs.
    Now,
    Before,
}

struct Importer<'f> {
    file: &'f TfliteFile,
    builder: GraphBuilder,
    names: Names,
    values: Vec<Vec<Option<ValueId>>>,
    operators: Vec<Option<(usize, usize)>>,
    called: Vec<Called>,
    /// How many tensors and operators were looked at for further calls.
    kept: usize,
    /// How many calls are around what is added.
    depth: usize,
    /// The last node that reads or writes more than its tensors.
    last_stateful: Option<NodeId>,
    /// The block of the nodes that are added: that of the outermost call around them.
    block: Option<u32>,
    blocks: u32,
}

type Done = Result<(), TfliteError>;

impl<'f> Importer<'f> {
    fn main(&mut self) -> Done {
        self.called[0] = Called::Now;
        for tensor in &self.file.subgraphs[0].inputs {
            self.value(0, *tensor, Role::Input)?;
        }
        self.body(0)?;
        let mut listed = BTreeSet::new();
        for tensor in &self.file.subgraphs[0].outputs {
            let value = self.read(0, *tensor)?;
            if listed.insert(value) {
                self.builder.output(value);
            }
        }
        Ok(())
    }

    fn body(&mut self, subgraph: usize) -> Done {
        let file: &'f TfliteFile = self.file;
        for (index, operator) in file.subgraphs[subgraph].operators.iter().enumerate() {
            let at = (subgraph, index);
            let callees = self.callees(at, operator)?;
            if callees.is_empty() {
                self.node(at, operator)?;
            } else {
                self.call(at, operator, &callees)?;
            }
        }
        Ok(())
    }

    /// The subgraphs that an operator calls.
    fn callees(&self, at: (usize, usize), operator: &Operator) -> Result<Vec<usize>, TfliteError> {
        let count = self.file.subgraphs.len();
        let index = |index: &i32| {
            let fault = |fault: String| fault_of(at, operator, fault);
            let callee = usize::try_from(*index).ok().filter(|index| *index < count);
            let callee =
                callee.ok_or_else(|| fault(format!("calls subgraph {index} of {count}")))?;
            if self.called[callee] == Called::Now {
                return Err(fault(format!("calls subgraph {callee}, which it is within")));
            }
            Ok(callee)
        };
        operator.callees().iter().map(index).collect()
    }

    /// An operator that calls nothing.
    fn node(&mut self, at: (usize, usize), operator: &Operator) -> Done {
        let inputs = operands(operator).into_iter();
        let inputs = inputs.map(|input| input.map(|tensor| self.read(at.0, tensor)).transpose());
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let outputs = self.made(at.0, operator)?;
        let tensors = &self.file.subgraphs[at.0].tensors;
        let op = self.fitting(class(operator, tensors), &inputs, &outputs);
        let mut node = self.named(at, operator, op);
        (node.inputs, node.outputs) = (inputs, outputs);
        node.scratch = scratch(&requests(operator, tensors));
        let touches_state = |tensor: &usize| tensors[*tensor].is_variable;
        let mut touched = operator.inputs.iter().flatten().chain(&operator.outputs);
        if operator.class == BuiltinClass::Stateful || touched.any(touches_state) {
            node.after = self.last_stateful.into_iter().collect();
            self.last_stateful = Some(NodeId::new(self.operators.len()));
        }
        self.add(Some(at), node)?;
        Ok(())
    }

    /// The class, or the one of which nothing is assumed where the stored shapes do not fit it.
    fn fitting(&mut self, op: Op, inputs: &[Option<ValueId>], outputs: &[Option<ValueId>]) -> Op {
        let mut values: Vec<Option<Value>> = Vec::new();
        for value in inputs.iter().chain(outputs) {
            values.push(value.map(|value| self.builder.value_mut(value).clone()));
        }
        let all: Vec<_> = values.iter().map(|value| value.as_ref().map(operand)).collect();
        let (inputs, outputs) = all.split_at(inputs.len());
        if misfit(&op, inputs, outputs).is_some() { Op::Custom } else { op }
    }

    /// An operator that calls subgraphs.
    fn call(&mut self, at: (usize, usize), operator: &Operator, callees: &[usize]) -> Done {
        let outermost = self.block.is_none();
        self.depth += 1;
        if self.depth > MOST_CALLS {
            return Err(fault_of(at, operator, "calls within calls go too deep".to_owned()));
        }
        if outermost {
            self.block = Some(self.blocks);
            self.blocks += 1;
        }
        let read = operator.inputs.iter().flatten();
        let read = read.map(|tensor| self.read(at.0, *tensor)).collect::<Result<Vec<_>, _>>()?;
        let mut end = self.named(at, operator, Op::Custom);
        let step = |what: &str, reads: &[ValueId], makes: &[ValueId]| {
            let name = format!("{}/{what}", end.name);
            Node::new(name, Op::Custom, reads, makes).with_kind(&operator.kind)
        };
        let mut begin = step("begin", &read, &[]);
        begin.after = self.last_stateful.into_iter().collect();
        let begin = self.add(None, begin)?;
        self.last_stateful = Some(begin);
        for (place, callee) in callees.iter().copied().enumerate() {
            if self.called[callee] == Called::Before {
                let kept = self.tensors_below(at, operator, callee)?;
                self.add(None, step(&format!("again {place}"), &kept, &[]))?;
                continue;
            }
            self.called[callee] = Called::Now;
            let handed = self.handed_in(callee)?;
            self.add(None, step(&format!("enter {place}"), &read, &handed))?;
            self.body(callee)?;
            let outputs = self.file.subgraphs[callee].outputs.iter();
            let made = outputs.map(|tensor| self.read(callee, *tensor));
            let made = made.collect::<Result<Vec<_>, _>>()?;
            self.add(None, step(&format!("leave {place}"), &made, &[]))?;
            self.called[callee] = Called::Before;
        }
        end.inputs = read.into_iter().map(Some).collect();
        end.outputs = self.made(at.0, operator)?;
        let reserved =
            |value: ValueId| Window { from: Some(begin), ..Window::new(value, AccessKind::Write) };
        end.windows = end.results().map(reserved).collect();
        self.add(Some(at), end)?;
        if outermost {
            self.block = None;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The inputs of a subgraph that its caller fills.
    fn handed_in(&mut self, subgraph: usize) -> Result<Vec<ValueId>, TfliteError> {
        let mut handed = BTreeSet::new();
        for tensor in &self.file.subgraphs[subgraph].inputs {
            handed.extend(self.write(subgraph, *tensor)?);
        }
        Ok(handed.into_iter().collect())
    }

    /// The values of a subgraph and of those that it calls, as far as they have places.
    fn tensors_below(
        &mut self,
        at: (usize, usize),
        operator: &Operator,
        subgraph: usize,
    ) -> Result<Vec<ValueId>, TfliteError> {
        let (mut below, mut kept) = (vec![subgraph], Vec::new());
        let mut seen = BTreeSet::from([subgraph]);
        while let Some(subgraph) = below.pop() {
            for value in self.values[subgraph].iter().flatten().copied() {
                let made = !self.builder.value_mut(value).is_given();
                kept.extend(made.then_some(value));
            }
            let graph = &self.file.subgraphs[subgraph];
            self.kept += 1 + graph.tensors.len() + graph.operators.len();
            if self.kept > MOST_KEPT {
                return Err(fault_of(at, operator, "subgraphs are called too often".to_owned()));
            }
            for (index, operator) in graph.operators.iter().enumerate() {
                for callee in self.callees((subgraph, index), operator)? {
                    below.extend(seen.insert(callee).then_some(callee));
                }
            }
        }
        Ok(kept)
    }

    /// A node of an operator, with nothing declared.
    fn named(&mut self, at: (usize, usize), operator: &Operator, op: Op) -> Node {
        let made = operator.outputs.first();
        let made = made.map(|tensor| &self.file.subgraphs[at.0].tensors[*tensor].name[..]);
        let name = self.names.of_node(made.unwrap_or_default(), &operator.kind, at);
        Node::new(name, op, &[], &[]).with_kind(&operator.kind)
    }

    fn add(&mut self, operator: Option<(usize, usize)>, node: Node) -> Result<NodeId, TfliteError> {
        self.operators.push(operator);
        Ok(self.builder.node(Node { block: self.block, ..node })?)
    }

    /// What an operator makes, as far as it has places.
    fn made(
        &mut self,
        subgraph: usize,
        operator: &Operator,
    ) -> Result<Vec<Option<ValueId>>, TfliteError> {
        operator.outputs.iter().map(|tensor| self.write(subgraph, *tensor)).collect()
    }

    /// The value of a tensor that somebody writes; a variable or a handle is not written as others are.
    fn write(&mut self, subgraph: usize, tensor: usize) -> Result<Option<ValueId>, TfliteError> {
        if self.file.subgraphs[subgraph].tensors[tensor].is_kept_elsewhere() {
            return Ok(None);
        }
        self.value(subgraph, tensor, Role::Temporary).map(Some)
    }

    /// The value of a tensor that somebody reads. If nobody has written it by then, nobody does.
    fn read(&mut self, subgraph: usize, tensor: usize) -> Result<ValueId, TfliteError> {
        self.value(subgraph, tensor, Role::Constant)
    }

    fn value(
        &mut self,
        subgraph: usize,
        tensor: usize,
        role: Role,
    ) -> Result<ValueId, TfliteError> {
        if let Some(value) = self.values[subgraph][tensor] {
            return Ok(value);
        }
        let name = self
            .names
            .of_value(&self.file.subgraphs[subgraph].tensors[tensor].name, (subgraph, tensor));
        let value = self.builder.value(self.described(subgraph, tensor, name, role))?;
        self.values[subgraph][tensor] = Some(value);
        Ok(value)
    }

    fn described(&self, subgraph: usize, tensor: usize, name: String, role: Role) -> Value {
        let tensor = &self.file.subgraphs[subgraph].tensors[tensor];
        let dims = tensor.dims.iter().map(|dim| match u64::try_from(*dim) {
            Ok(dim) => Dim::Known(dim),
            Err(_) => Dim::Unknown,
        });
        let mut value = match dtype(tensor.dtype) {
            Some(dtype) => Value::new(name, dtype, Shape(dims.collect())),
            None => Value::new(name, Dtype::U8, Shape(vec![Dim::Unknown])),
        };
        match tensor.stored {
            Some(bytes) => {
                value.role = Role::Param;
                // Sparse ones have fewer bytes, text has no other size.
                let other = bytes > 0 && value.native_size().known() != Some(bytes);
                value.bytes = other.then_some(bytes);
            }
            None if tensor.is_kept_elsewhere() => value.storage = Storage::External,
            None => {
                value.role = role;
                if role == Role::Constant {
                    value.storage = Storage::External;
                }
                let other = tensor
                    .arena_bytes()
                    .filter(|bytes| value.native_size().known() != Some(*bytes));
                value.bytes = other;
            }
        }
        value
    }
}

fn operand(value: &Value) -> Operand<'_> {
    Operand { dtype: value.dtype, shape: &value.shape, slot_bits: value.dtype.bits() }
}

fn fault_of(at: (usize, usize), operator: &Operator, fault: String) -> TfliteError {
    let (subgraph, index) = at;
    TfliteError::Operator { subgraph, index, kind: operator.kind.clone(), fault }
}

/// What an operator needs while it runs: its requests one behind another.
fn scratch(requests: &[u64]) -> Option<Scratch> {
    let mut rounded = requests.iter().map(|bytes| bytes.checked_next_multiple_of(ALIGN));
    let bytes = rounded.try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))?;
    (bytes > 0).then_some(Scratch { bytes, align: ALIGN })
}
