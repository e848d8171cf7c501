//! What the interpreter finds places for: tensors and scratch memory, each with its life.
//!
//! Time goes on by one with every operator, and when a subgraph is entered. A tensor lives from the operator
//! that makes it, or from when its subgraph is entered, to the last that reads or makes it, both included; what
//! a subgraph hands out lives to its end. What an operator reads is there until the subgraphs that it calls are
//! done. Nobody looks whether a tensor is used at all: one that is not lives before the beginning.

use crate::error::TfliteError;
use crate::file::{MOST_CALLS, Operator, Subgraph, Tensor, TfliteFile};
use crate::tflm::ALIGN;
use crate::tflm::scratch::requests;

/// When what is not used lives.
const BEFORE: i64 = -1;

/// As many operators run in a simulation, since subgraphs that call each other twice are many.
const MOST_RUNS: usize = 1 << 20;

/// What the interpreter finds a place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// As it rounds them up.
    pub(super) bytes: u64,
    /// When it is made.
    pub(super) first: i64,
    /// When it is last in use.
    pub(super) last: i64,
    /// Its place, if the plan says one.
    pub(super) offset: Option<u64>,
}

impl Request {
    pub(super) fn meets(&self, other: &Request) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// What the interpreter finds places for, in its order: the tensors of all subgraphs, those with an offset at
/// that, and then scratch memory. Weights and variables are elsewhere, and what is empty needs no place.
pub(super) fn all(file: &TfliteFile, offsets: &[i32]) -> Result<Vec<Request>, TfliteError> {
    let mut lives = Lives::new(file);
    lives.subgraph(0)?;
    let Lives { tensors, scratch, .. } = lives;
    let mut all = Vec::new();
    let mut offsets = offsets.iter().map(|offset| u64::try_from(*offset).ok());
    for (subgraph, lives) in tensors.iter().enumerate() {
        for (index, (first, last)) in lives.iter().copied().enumerate() {
            let offset = offsets.next().flatten();
            let tensor = &file.subgraphs[subgraph].tensors[index];
            if tensor.stored.is_some() || tensor.is_kept_elsewhere() {
                continue;
            }
            let bytes = rounded(tensor).ok_or_else(|| {
                let fault = "its size is not stored".to_owned();
                TfliteError::Tensor { subgraph, index, name: tensor.name.clone(), fault }
            })?;
            all.extend((bytes > 0).then_some(Request { bytes, first, last, offset }));
        }
    }
    for (subgraph, operators) in scratch.iter().enumerate() {
        let of = &file.subgraphs[subgraph];
        for (operator, (first, last)) in of.operators.iter().zip(operators.iter().copied()) {
            for bytes in requests(operator, &of.tensors) {
                let bytes = bytes.next_multiple_of(ALIGN);
                all.push(Request { bytes, first, last, offset: None });
            }
        }
    }
    Ok(all)
}

/// What the interpreter takes for a tensor.
fn rounded(tensor: &Tensor) -> Option<u64> {
    tensor.arena_bytes()?.checked_next_multiple_of(ALIGN).filter(|bytes| *bytes < 1 << 31)
}

type Life = (i64, i64);

struct Lives<'f> {
    file: &'f TfliteFile,
    now: i64,
    runs: usize,
    /// How many calls are around what runs.
    depth: usize,
    tensors: Vec<Vec<Life>>,
    /// Those of scratch memory, by operator.
    scratch: Vec<Vec<Life>>,
}

impl<'f> Lives<'f> {
    fn new(file: &'f TfliteFile) -> Self {
        let of = |count: fn(&Subgraph) -> usize| {
            let subgraphs = file.subgraphs.iter();
            subgraphs.map(|subgraph| vec![(BEFORE, BEFORE); count(subgraph)]).collect()
        };
        let (tensors, scratch) =
            (of(|graph| graph.tensors.len()), of(|graph| graph.operators.len()));
        Lives { file, now: 0, runs: 0, depth: 0, tensors, scratch }
    }

    fn subgraph(&mut self, index: usize) -> Result<(), TfliteError> {
        let graph = &self.file.subgraphs[index];
        for tensor in &graph.inputs {
            self.made(index, *tensor);
            self.used(index, *tensor);
        }
        for (at, operator) in graph.operators.iter().enumerate() {
            self.operator(index, at, operator)?;
        }
        for tensor in &graph.outputs {
            self.made(index, *tensor);
            self.used(index, *tensor);
        }
        Ok(())
    }

    fn operator(
        &mut self,
        index: usize,
        at: usize,
        operator: &Operator,
    ) -> Result<(), TfliteError> {
        self.runs += 1;
        if self.runs > MOST_RUNS || self.depth > MOST_CALLS {
            return Err(TfliteError::Model("subgraphs are called too often".to_owned()));
        }
        self.now += 1;
        for tensor in &operator.outputs {
            self.made(index, *tensor);
        }
        let begin = self.now;
        self.depth += 1;
        for callee in operator.callees() {
            self.now += 1;
            // Whoever imports the file says so if it is not there.
            if let Some(callee) = usize::try_from(*callee).ok().filter(|c| *c < self.tensors.len())
            {
                self.subgraph(callee)?;
            }
        }
        self.depth -= 1;
        for tensor in operator.inputs.iter().flatten().chain(&operator.outputs) {
            self.used(index, *tensor);
        }
        let (first, last) = &mut self.scratch[index][at];
        *first = if *first == BEFORE { begin } else { *first };
        *last = self.now;
        Ok(())
    }

    /// The first time counts.
    fn made(&mut self, index: usize, tensor: usize) {
        let (first, _) = &mut self.tensors[index][tensor];
        *first = if *first == BEFORE { self.now } else { *first };
    }

    fn used(&mut self, index: usize, tensor: usize) {
        self.tensors[index][tensor].1 = self.now;
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::testing::{Net, NetGraph, dtypes};

    /// A net of one subgraph whose operators read some of what is there, by a recipe of numbers.
    fn net(recipe: u64) -> NetGraph {
        let mut state = recipe.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = move |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut graph = NetGraph::default();
        graph.input("x", dtypes::F32, &[16]);
        for index in 0..=below(12) {
            let there = graph.tensors.len() as u64;
            let read = (0..below(3)).map(|_| (below(there) as u32).cast_signed());
            let read: Vec<i32> = read.collect();
            let length = (1 + below(64) as u32).cast_signed();
            let made = graph.tensor(&format!("t{index}"), dtypes::F32, &[length]);
            graph.op(0, &read, &[made]);
        }
        graph.outputs = vec![(below(graph.tensors.len() as u64) as u32).cast_signed()];
        graph
    }

    /// When a tensor is in use, by its definition: at each operator that reads or makes it and between these, from
    /// the start if it is handed in, to the end if it is handed out.
    fn naive(graph: &NetGraph, tensor: i32) -> Life {
        let end = i64::try_from(graph.operators.len()).expect("few");
        let uses = graph.operators.iter().zip(1..).filter_map(|(operator, now)| {
            let touched = operator.inputs.contains(&tensor) || operator.outputs.contains(&tensor);
            touched.then_some(now)
        });
        let mut uses: Vec<i64> = uses.collect();
        uses.extend(graph.inputs.contains(&tensor).then_some(0));
        uses.extend(graph.outputs.contains(&tensor).then_some(end));
        (*uses.iter().min().unwrap_or(&BEFORE), *uses.iter().max().unwrap_or(&BEFORE))
    }

    #[test]
    fn lives_are_as_defined() {
        for recipe in 0..500 {
            let graph = net(recipe);
            let file = TfliteFile::read(Net::of(graph.clone()).to_bytes()).expect("a model");
            let all = all(&file, &[]).expect("stored sizes");
            assert_eq!(all.len(), graph.tensors.len());
            for (tensor, request) in (0..).zip(&all) {
                assert_eq!(
                    (request.first, request.last),
                    naive(&graph, tensor),
                    "{recipe}: {tensor}"
                );
            }
        }
    }
}
