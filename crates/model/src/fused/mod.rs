//! Fused steps: nodes that a runtime executes as one, so that what they hand to each other has no bytes.
//!
//! A [`FusedStep`] lists its nodes. What it does to memory is not believed but derived here, as
//! [`effect`](plimsoll_graph::effect) does for single operators: which tensors it reads, which one it makes, which of
//! those that it reads it may overwrite, and how much scratch it needs. A list of nodes that no kernel could execute
//! without the tensors between them is refused.
//!
//! There are four forms of such kernels:
//!
//! - **Chain**: element by element. All nodes have the elements of the output, in its order; operands may be broadcast.
//!   An element of the output depends, of every operand that is not broadcast, on the one element at the same place,
//!   so that any of them may be overwritten.
//! - **Rows**: the same with numbers that are made of all elements of a row, which is along the last axis: a
//!   normalisation or a softmax that is spelled out. An element depends on its own row of every operand that is not
//!   broadcast; rows are gone over one by one, so that any of these may be overwritten.
//! - **Product**: a convolution or a product of matrices. What follows it is a chain on its output, an *epilogue*: it is
//!   computed on sums that are not stored yet, so that an operand of the epilogue may be overwritten, unless it
//!   is read before that too. What comes before it, a *prologue*, is computed again wherever the product reads:
//!   functions of elements, elements of other layouts, of several tensors side by side, or between pixels.
//! - **Attention**: a product, a chain, a softmax along the last axis and a second product, some rows of scores at a
//!   time ([`BLOCK_ROWS`]). The scores are scratch. What it makes may be stored with its axes in another order.
//!
//! A node of a prologue may also run by itself, for others that read what it makes.

mod role;
mod scratch;
#[cfg(test)]
#[allow(clippy::many_single_char_names, reason = "operands, as formulas call them")]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use plimsoll_graph::Fact;
use plimsoll_graph::shape::product;

pub use self::role::Role;
use self::role::role;
pub use self::scratch::BLOCK_ROWS;
use self::scratch::{attention_bytes, rows_bytes};
use crate::model::{Model, TensorId};
use crate::wiring::Wiring;

/// Nodes that run as one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FusedStep {
    /// The nodes of the model's body, in an order in which they can run. The last makes the output.
    pub nodes: Vec<usize>,
}

/// How the nodes of a fused step are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Element by element.
    Chain,
    /// Row by row.
    Rows {
        /// The elements of a row.
        len: u64,
    },
    /// A convolution or a product of matrices, with what comes before and after it.
    Product {
        /// The node of the product.
        core: usize,
    },
    /// Two products with a softmax between them.
    Attention {
        /// The product that makes the scores.
        scores: usize,
        /// The product of weights and values.
        values: usize,
    },
}

/// What a fused step does to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusedAccesses {
    /// How it is executed.
    pub form: Form,
    /// What it reads, each once, in the order in which it is read first.
    pub inputs: Vec<TensorId>,
    /// What it makes.
    pub output: TensorId,
    /// Those of the inputs that the output may take over.
    pub overwrites: Vec<TensorId>,
    /// The bytes that it needs while it runs, beside what a product needs by itself.
    pub scratch_bytes: u64,
}

/// Why nodes are no fused step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FusedFault {
    /// No nodes are listed, one twice, or not in an order in which they run.
    Order,
    /// No kernel computes that node together with those before it.
    Node(String),
    /// The runtime has no kernel for all of them.
    Kernel(String),
    /// Something between the nodes is read by others.
    Read {
        /// The name of the tensor.
        tensor: String,
    },
}

impl fmt::Display for FusedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FusedFault::Order => {
                write!(f, "its nodes are not listed in the order in which they run")
            }
            FusedFault::Node(node) => {
                write!(f, "node `{node}` cannot be fused with those before it")
            }
            FusedFault::Kernel(node) => {
                write!(f, "there is no kernel that ends with node `{node}`")
            }
            FusedFault::Read { tensor } => write!(f, "tensor `{tensor}` is read by other steps"),
        }
    }
}

impl std::error::Error for FusedFault {}

/// A model, and all that fused steps are derived from.
#[derive(Clone, Copy, Debug)]
pub struct Fusing<'m> {
    /// The model.
    pub model: &'m Model,
    /// What is known of every tensor.
    pub facts: &'m [Fact],
    /// Which tensors are the same in every run.
    pub statics: &'m [bool],
    /// Who makes and reads what.
    pub wiring: &'m Wiring,
    /// The kernels of the runtime.
    pub kernels: &'m dyn FusedKernels,
}

/// What a runtime's kernels can do: everything that is fused for it is asked here first.
pub trait FusedKernels: fmt::Debug {
    /// What a step does to memory in that runtime: of what any kernel of its form `may` do, what its own one does. `None`
    /// if it has none.
    fn accesses(
        &self,
        fusing: &Fusing<'_>,
        step: &FusedStep,
        may: FusedAccesses,
    ) -> Option<FusedAccesses>;

    /// The bytes that a node needs while it runs by itself, by its name.
    fn scratch_bytes(&self, node: &str) -> u64;
}

/// Kernels for whatever can be one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllKernels;

impl FusedKernels for AllKernels {
    fn accesses(&self, _: &Fusing<'_>, _: &FusedStep, may: FusedAccesses) -> Option<FusedAccesses> {
        Some(may)
    }

    fn scratch_bytes(&self, _: &str) -> u64 {
        0
    }
}

impl Fusing<'_> {
    /// What a node can be in a fused step; nothing if it runs only once, when the model is loaded.
    #[must_use]
    pub fn role(&self, node: usize) -> Role {
        let node = &self.model.body.nodes[node];
        let runs = node.outputs.iter().flatten().any(|output| !self.statics[output.index()]);
        if runs { role(node, self.facts, self.statics) } else { Role::None }
    }

    /// The dims of a tensor, if they are known.
    #[must_use]
    pub fn dims(&self, tensor: TensorId) -> Option<Vec<u64>> {
        self.facts[tensor.index()].shape.as_ref()?.known()
    }

    /// Whether two tensors have as many elements, which is known.
    #[must_use]
    pub fn same_elements(&self, a: TensorId, b: TensorId) -> bool {
        let count = |id| product(&self.dims(id)?);
        count(a).is_some() && count(a) == count(b)
    }

    /// What a fused step does to memory.
    pub fn accesses(&self, step: &FusedStep) -> Result<FusedAccesses, FusedFault> {
        let nodes = &step.nodes;
        let place = |node: &usize| self.wiring.place(*node);
        let known = nodes.iter().all(|node| *node < self.model.body.nodes.len());
        if nodes.is_empty() || !known || !nodes.is_sorted_by(|a, b| place(a) < place(b)) {
            return Err(FusedFault::Order);
        }
        let has = |role: Role| nodes.iter().any(|node| self.role(*node) == role);
        let first = if has(Role::Product) {
            Stage::Prologue
        } else if has(Role::Reduce) {
            Stage::Rows { len: self.row_len(nodes)? }
        } else {
            Stage::Chain
        };
        let mut stages = Stages::new(self, first);
        for node in nodes {
            if !self.is_used(*node, nodes) || !stages.takes(*node) {
                return Err(FusedFault::Node(self.model.body.nodes[*node].name.clone()));
            }
        }
        let may = stages.finish(step)?;
        let last = nodes.last().map_or("", |last| &self.model.body.nodes[*last].name);
        let does = self.kernels.accesses(self, step, may);
        does.ok_or_else(|| FusedFault::Kernel(last.to_owned()))
    }

    /// The elements of a row of what the last node makes.
    fn row_len(&self, nodes: &[usize]) -> Result<u64, FusedFault> {
        let last = nodes.last().map(|last| &self.model.body.nodes[*last]);
        let made = last.and_then(|last| last.outputs.first().copied().flatten());
        let len = made.and_then(|made| self.dims(made)?.last().copied());
        let name = last.map(|last| last.name.clone()).unwrap_or_default();
        len.filter(|len| *len > 1).ok_or(FusedFault::Node(name))
    }

    /// Whether what a node makes is read by others of these, or it is the last.
    fn is_used(&self, node: usize, nodes: &[usize]) -> bool {
        let made = self.model.body.nodes[node].outputs.iter().flatten();
        let mut readers = made.flat_map(|made| self.wiring.readers(*made));
        nodes.last() == Some(&node) || readers.any(|reader| nodes.contains(reader))
    }

    /// The steps of these that are executed by themselves, by node: those that are in no fused step, and those of
    /// prologues whose results others read too.
    #[must_use]
    pub fn own_steps(&self, fused: &[FusedStep]) -> Vec<bool> {
        let mut within: Vec<Vec<usize>> = vec![Vec::new(); self.model.body.nodes.len()];
        for (index, step) in fused.iter().enumerate() {
            step.nodes.iter().for_each(|node| within[*node].push(index));
        }
        let mut nodes: Vec<usize> = (0..self.model.body.nodes.len()).collect();
        nodes.sort_by_cached_key(|node| std::cmp::Reverse(self.wiring.place(*node)));
        let mut own = vec![true; nodes.len()];
        for node in nodes {
            let is_last = |step: &usize| fused[*step].nodes.last() == Some(&node);
            let elsewhere = |reader: &usize| {
                own[*reader] || within[*reader].iter().any(|step| !within[node].contains(step))
            };
            let outputs = self.model.body.nodes[node].outputs.iter().flatten();
            let read = outputs.copied().any(|output| {
                self.wiring.is_output(output) || self.wiring.readers(output).iter().any(elsewhere)
            });
            own[node] = within[node].is_empty() || (read && !within[node].iter().any(is_last));
        }
        own
    }
}

/// How far a fused step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is no product: a chain.
    Chain,
    /// There is no product, but numbers of rows of so many elements.
    Rows { len: u64 },
    /// Before the first product.
    Prologue,
    /// Behind it.
    Product { core: usize },
    /// Behind the softmax of scores.
    Weights { scores: usize },
    /// Behind the second product.
    Values { scores: usize, values: usize },
    /// Stored in another order: nothing follows.
    Stored { scores: usize, values: usize },
}

/// A fused step, node by node.
struct Stages<'a> {
    fusing: &'a Fusing<'a>,
    stage: Stage,
    /// What prologues make.
    early: BTreeSet<TensorId>,
    /// What is made from the last product on, or by a chain.
    late: BTreeSet<TensorId>,
    /// What was made before the last product and has been used up by it.
    past: BTreeSet<TensorId>,
    /// What is read of the outside, in order.
    inputs: Vec<TensorId>,
    /// What is read of the outside otherwise than at the place of the output's element.
    elsewhere: BTreeSet<TensorId>,
    /// What was made last.
    output: Option<TensorId>,
    /// The dims of rows but for the last.
    outer: Option<Vec<u64>>,
}

impl<'a> Stages<'a> {
    fn new(fusing: &'a Fusing<'a>, stage: Stage) -> Self {
        let (early, late, past, elsewhere) = Default::default();
        Stages {
            fusing,
            stage,
            early,
            late,
            past,
            inputs: Vec::new(),
            elsewhere,
            output: None,
            outer: None,
        }
    }

    /// Adds a node, and says whether it can be computed with those before it.
    fn takes(&mut self, index: usize) -> bool {
        let node = &self.fusing.model.body.nodes[index];
        let reads: Vec<TensorId> = node.inputs.iter().flatten().copied().collect();
        let first = node.inputs.first().copied().flatten();
        let first_late = first.is_some_and(|first| self.late.contains(&first));
        let is_late = reads.iter().any(|read| self.late.contains(read));
        if reads.iter().any(|read| self.past.contains(read)) {
            return false;
        }
        let stage = match (self.fusing.role(index), self.stage) {
            (Role::Elementwise | Role::Reshape, Stage::Chain) => {
                return self.takes_elements(index, &reads);
            }
            (Role::Elementwise | Role::Reduce, Stage::Rows { len }) => {
                return self.takes_rows(index, &reads, len);
            }
            (
                Role::Elementwise | Role::Reshape,
                Stage::Product { .. } | Stage::Weights { .. } | Stage::Values { .. },
            ) if is_late => return self.takes_elements(index, &reads),
            (
                Role::Elementwise | Role::Reshape | Role::Transpose | Role::Layout,
                Stage::Prologue
                | Stage::Product { .. }
                | Stage::Weights { .. }
                | Stage::Values { .. },
            ) if !is_late => {
                self.read(&reads);
                self.early.extend(node.outputs.iter().flatten());
                return true;
            }
            (Role::Product, Stage::Prologue) => Stage::Product { core: index },
            (Role::Softmax, Stage::Product { core })
                if first_late && self.keeps_rows(core, first) =>
            {
                Stage::Weights { scores: core }
            }
            (Role::Product, Stage::Weights { scores }) if first_late => {
                Stage::Values { scores, values: index }
            }
            (Role::Transpose, Stage::Values { scores, values }) if first_late => {
                Stage::Stored { scores, values }
            }
            (
                Role::Elementwise
                | Role::Product
                | Role::Softmax
                | Role::Reduce
                | Role::Reshape
                | Role::Transpose
                | Role::Layout
                | Role::None,
                _,
            ) => return false,
        };
        self.read(&reads);
        self.past.append(&mut self.late);
        self.stage = stage;
        self.makes(index)
    }

    /// Whether rows are as long as those that a product has made.
    fn keeps_rows(&self, product: usize, rows: Option<TensorId>) -> bool {
        let made = self.fusing.model.body.nodes[product].outputs.first().copied().flatten();
        let last = |id: Option<TensorId>| self.fusing.dims(id?)?.last().copied();
        last(made).is_some() && last(made) == last(rows)
    }

    /// Adds a node that goes over the elements of what was made last.
    fn takes_elements(&mut self, index: usize, reads: &[TensorId]) -> bool {
        let before = self.output;
        let inside: Vec<TensorId> = self.late.iter().copied().collect();
        if !self.makes(index) {
            return false;
        }
        let Some(made) = self.output else { return false };
        let (aligned, broadcast): (Vec<TensorId>, Vec<TensorId>) = reads
            .iter()
            .copied()
            .filter(|read| !inside.contains(read))
            .partition(|read| self.fusing.same_elements(*read, made));
        self.aligned(&aligned);
        self.read(&broadcast);
        self.fusing.same_elements(before.unwrap_or(made), made)
    }

    /// Adds a node that makes rows, or one number for each of them.
    fn takes_rows(&mut self, index: usize, reads: &[TensorId], len: u64) -> bool {
        let inside: Vec<TensorId> = self.late.iter().copied().collect();
        if !self.makes(index) {
            return false;
        }
        let Some(made) = self.output else { return false };
        let outside = reads.iter().copied().filter(|read| !inside.contains(read));
        if self.fusing.role(index) == Role::Reduce {
            // A row of an operand, which is read at the place of the output's.
            let data: Vec<TensorId> = outside.take(1).collect();
            let fits = |id: &TensorId| self.rows(*id, len).is_some();
            let is_row = reads.first().is_some_and(fits);
            self.aligned(if reads.first() == data.first() { &data } else { &[] });
            return is_row && self.fits(reads[0], len);
        }
        let (aligned, broadcast): (Vec<TensorId>, Vec<TensorId>) = outside.partition(|read| {
            self.fusing.same_elements(*read, made) && self.rows(made, len).is_some()
        });
        self.aligned(&aligned);
        self.read(&broadcast);
        self.fits(made, len)
    }

    /// How many rows a tensor of rows of that length has.
    fn rows(&self, tensor: TensorId, len: u64) -> Option<u64> {
        let dims = self.fusing.dims(tensor)?;
        let (last, outer) = dims.split_last()?;
        if *last == len { product(outer) } else { None }
    }

    /// Whether a tensor has as many rows as all others, or one number for each of them.
    fn fits(&mut self, tensor: TensorId, len: u64) -> bool {
        let Some(dims) = self.fusing.dims(tensor) else { return false };
        let outer = match dims.split_last() {
            Some((last, outer)) if *last == len || *last == 1 => outer.to_vec(),
            _ => return false,
        };
        *self.outer.get_or_insert_with(|| outer.clone()) == outer
    }

    /// Keeps what is read of the outside at the place of the output's element.
    fn aligned(&mut self, reads: &[TensorId]) {
        for read in reads {
            if !self.early.contains(read) && !self.inputs.contains(read) {
                self.inputs.push(*read);
            }
        }
    }

    /// Keeps what is read of the outside at any place.
    fn read(&mut self, reads: &[TensorId]) {
        let outside = |read: &&TensorId| !self.early.contains(read) && !self.late.contains(read);
        let outside: Vec<TensorId> = reads.iter().filter(outside).copied().collect();
        self.elsewhere.extend(&outside);
        self.aligned(&outside);
    }

    /// Keeps what a node makes, which is one tensor.
    fn makes(&mut self, index: usize) -> bool {
        let mut outputs = self.fusing.model.body.nodes[index].outputs.iter().flatten();
        self.output = outputs.next().copied();
        self.late.extend(self.output);
        self.output.is_some() && outputs.next().is_none()
    }

    fn finish(self, step: &FusedStep) -> Result<FusedAccesses, FusedFault> {
        let Fusing { model, facts, wiring, .. } = *self.fusing;
        let last = step.nodes.last().map_or("", |last| &model.body.nodes[*last].name);
        let fault = || FusedFault::Node(last.to_owned());
        let output =
            self.output.filter(|output| wiring.maker(*output) == step.nodes.last().copied());
        let output = output.ok_or_else(fault)?;
        let is_read = |tensor: &TensorId| {
            let outside = |reader: &usize| !step.nodes.contains(reader);
            wiring.is_output(*tensor) || wiring.readers(*tensor).iter().any(outside)
        };
        let between = self.late.iter().chain(&self.past).filter(|tensor| **tensor != output);
        if let Some(tensor) = between.copied().find(is_read) {
            return Err(FusedFault::Read { tensor: model.tensor(tensor).name.clone() });
        }
        let (form, scratch_bytes) = match self.stage {
            Stage::Chain => (Form::Chain, 0),
            Stage::Rows { len } => (Form::Rows { len }, rows_bytes(len).ok_or_else(fault)?),
            Stage::Product { core } => (Form::Product { core }, 0),
            Stage::Values { scores, values } | Stage::Stored { scores, values } => {
                let bytes = attention_bytes(model, facts, scores, values).ok_or_else(fault)?;
                (Form::Attention { scores, values }, bytes)
            }
            Stage::Prologue | Stage::Weights { .. } => return Err(fault()),
        };
        let width = |id: TensorId| facts[id.index()].dtype.map(plimsoll_graph::Dtype::bits);
        let fits = |input: &TensorId| {
            let stays =
                !self.elsewhere.contains(input) && !matches!(self.stage, Stage::Stored { .. });
            stays && self.fusing.same_elements(*input, output) && width(*input) == width(output)
        };
        let overwrites = self.inputs.iter().copied().filter(fits).collect();
        Ok(FusedAccesses { form, inputs: self.inputs, output, overwrites, scratch_bytes })
    }
}
