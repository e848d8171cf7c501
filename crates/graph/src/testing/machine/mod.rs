//! A machine that executes what is declared.
//!
//! It runs a graph twice at once: with every value *apart*, by what the operators are defined to do
//! and nothing else; and *in the bytes of a plan*, where a step writes no more than what the program
//! says that it writes, a step that is only a view does nothing, what works in place goes over
//! the elements as a kernel would, and bytes that nobody needs any more are spoilt. Whatever a step
//! reads, makes or hands out must be the same in both. So a declaration that is wrong is found even where planner
//! and verifier agree, since both believe it.
//!
//! What nodes compute is the [`Kernel`]'s: it sees operands as tensors and moves their elements. Arithmetic is a
//! mixture of bits in which the order of what goes in matters.

mod classes;
mod index;
mod memory;

use std::ops::Range;

pub use classes::class_kernel;
pub use index::{Index, Tensors, ints, mix};
use memory::{Arena, Memory, NoShare, dims};
use plimsoll::{Access, AccessKind, Plan, Program, Role, StepId, Storage, ValueId};

use crate::graph::{Graph, NodeId, topological_order};
use crate::scheduled::ScheduledGraph;

/// What a node computes: it reads its inputs and writes all of its outputs.
pub type Kernel<'k> = dyn Fn(NodeId, &mut Tensors<'_>) + 'k;

/// What differs between the two runs.
pub type Wrong = String;

/// A graph that is run apart and within a plan.
pub struct Machine<'m> {
    /// What is computed.
    graph: &'m Graph,
    /// What is planned: the same graph, or one in which values are somewhere else.
    program: &'m ScheduledGraph<'m>,
    plan: &'m Plan,
    apart: NoShare,
    arena: Arena,
    /// The place of the last step that reads each value; by value.
    last_reads: Vec<Option<usize>>,
    /// The nodes of what is computed, in an order in which they can run.
    order: Vec<NodeId>,
    /// The place of each step in the schedule.
    positions: Vec<usize>,
}

impl<'m> Machine<'m> {
    /// A machine in which nothing has run.
    #[must_use]
    pub fn new(program: &'m ScheduledGraph<'m>, plan: &'m Plan) -> Self {
        Machine::computing(program.graph(), program, plan)
    }

    /// The same for a program in which values of a graph are somewhere else, so that operands are missing
    /// or nodes take no step, though what is computed is what the graph says. Ids are those of the graph.
    #[must_use]
    pub fn computing(graph: &'m Graph, program: &'m ScheduledGraph<'m>, plan: &'m Plan) -> Self {
        let mut last_reads = vec![None; program.values()];
        let mut positions = vec![0; program.steps()];
        for (position, step) in plan.schedule.iter().enumerate() {
            positions[step.index()] = position;
            let accesses = program.accesses(*step);
            for access in accesses.iter().filter(|access| access.kind == AccessKind::Read) {
                last_reads[access.value.index()] = Some(position);
            }
        }
        let (apart, arena) = (NoShare::new(graph), Arena::new(program, plan));
        let order = topological_order(graph);
        Machine { graph, program, plan, apart, arena, last_reads, order, positions }
    }

    /// What a value should hold.
    #[must_use]
    pub fn expected(&self, value: ValueId) -> &[u64] {
        self.apart.all(value)
    }

    /// What a value holds in the plan.
    #[must_use]
    pub fn found(&self, value: ValueId) -> Vec<u64> {
        (0..self.expected(value).len()).map(|element| self.read(value, element)).collect()
    }

    /// What an element is in the plan.
    #[must_use]
    pub fn read(&self, value: ValueId, element: usize) -> u64 {
        self.arena.get(value, element)
    }

    /// Says what a value should hold from an element on.
    pub fn expect(&mut self, value: ValueId, first: usize, numbers: &[u64]) {
        for (at, number) in numbers.iter().enumerate() {
            self.apart.set(value, first + at, *number);
        }
    }

    /// Writes a value in the plan from an element on, as somebody does who is no step.
    pub fn write(&mut self, value: ValueId, first: usize, numbers: &[u64]) {
        for (at, number) in numbers.iter().enumerate() {
            self.arena.set(value, first + at, *number);
        }
    }

    /// Fills a value, apart and in the plan.
    pub fn fill(&mut self, value: ValueId, number: impl Fn(usize) -> u64) {
        let numbers: Vec<u64> = (0..self.expected(value).len()).map(number).collect();
        self.expect(value, 0, &numbers);
        self.write(value, 0, &numbers);
    }

    /// Runs a node apart.
    pub fn run_apart(&mut self, node: NodeId, kernel: &Kernel<'_>) {
        let graph = self.graph;
        kernel(node, &mut tensors(graph, node, &mut self.apart));
    }

    /// Runs a node in the plan, after it has run apart; checks what it reads and what it makes.
    pub fn run_step(&mut self, node: NodeId, kernel: &Kernel<'_>) -> Result<(), Wrong> {
        let Some(step) = self.program.step_of(node) else { return Ok(()) };
        let accesses = self.program.accesses(step);
        for access in accesses.iter().filter(|access| access.kind == AccessKind::Read) {
            self.check(access.value, &format!("`{}` reads", self.program.step_name(step)))?;
        }
        if !accesses.is_empty() {
            let graph = self.graph;
            let mut declared = Declared::new(self.program, step, &mut self.arena);
            kernel(node, &mut tensors(graph, node, &mut declared));
        }
        // A view that nobody reads may be of bytes that are gone.
        for access in accesses.iter().filter(|access| access.kind == AccessKind::Write) {
            self.check_written(access, &format!("`{}` makes", self.program.step_name(step)))?;
        }
        Ok(())
    }

    /// Whether what a step has written of a value is what it is apart. The rest may be needed by nobody.
    fn check_written(&self, access: &Access, who: &str) -> Result<(), Wrong> {
        let elements = elements(self.program, access);
        let wrong = |element: &usize| {
            self.read(access.value, *element) != self.expected(access.value)[*element]
        };
        if self.program.value(access.value).elided || !elements.clone().any(|e| wrong(&e)) {
            return Ok(());
        }
        let value = self.program.value_name(access.value);
        let wrong: Vec<usize> = elements.filter(wrong).collect();
        Err(format!("{who}: `{value}` is something else at elements {wrong:?}"))
    }

    /// Whether a value is in the plan what it is apart.
    pub fn check(&self, value: ValueId, who: &str) -> Result<(), Wrong> {
        if self.program.value(value).elided {
            return Ok(());
        }
        let (expected, found) = (self.expected(value), self.found(value));
        if found == expected {
            return Ok(());
        }
        let value = self.program.value_name(value);
        Err(format!("{who}: `{value}` is {found:x?} instead of {expected:x?}"))
    }

    /// Spoils what nobody needs after a step.
    pub fn poison_after(&mut self, node: NodeId) {
        let Some(step) = self.program.step_of(node) else { return };
        let position = self.positions[step.index()];
        let made: Vec<bool> = self.made(position);
        let is_there = |mut value: ValueId| {
            while !made[value.index()] {
                match self.program.value(value).view_of {
                    Some(view) => value = view.of,
                    None => return false,
                }
            }
            true
        };
        let is_needed = |value: &ValueId| {
            self.last_reads[value.index()].is_some_and(|last| last > position)
                || self.is_fetched(*value)
                || is_lasting(self.program, *value)
        };
        let values = self.graph.value_ids();
        let alive: Vec<ValueId> = values.filter(|v| is_there(*v) && is_needed(v)).collect();
        self.arena.poison_all_but(&alive);
    }

    /// Whether a value is an output, or given as a part of one.
    fn is_fetched(&self, value: ValueId) -> bool {
        let info = self.program.value(value);
        let part = || info.view_of.is_some_and(|view| self.program.value(view.of).output);
        info.output || info.role == Role::Input && part()
    }

    /// The values of which something has been made so far, by value.
    fn made(&self, position: usize) -> Vec<bool> {
        let graph = self.graph;
        let mut made: Vec<bool> = graph
            .value_ids()
            .map(|value| {
                graph.value(value).role != Role::Temporary || is_lasting(self.program, value)
            })
            .collect();
        for node in self.order.iter().copied() {
            let done = match self.program.step_of(node) {
                Some(step) => self.positions[step.index()] <= position,
                None => graph.node(node).reads().any(|value| made[value.index()]),
            };
            for mut value in graph.node(node).results().filter(|_| done) {
                made[value.index()] = true;
                // What it is a part of has begun.
                while let Some(view) = self.program.value(value).view_of {
                    value = view.of;
                    made[value.index()] = true;
                }
            }
        }
        made
    }

    /// The nodes of what is computed, in an order in which they can run.
    #[must_use]
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// Runs everything once, in the order of the plan; the outputs.
    pub fn run(&mut self, kernel: &Kernel<'_>) -> Result<Vec<Vec<u64>>, Wrong> {
        for node in self.order.clone() {
            self.run_apart(node, kernel);
        }
        for step in &self.plan.schedule {
            let node = self.program.node_of(*step);
            self.run_step(node, kernel)?;
            self.poison_after(node);
        }
        self.outputs()
    }

    /// The outputs, after all steps.
    pub fn outputs(&self) -> Result<Vec<Vec<u64>>, Wrong> {
        let graph = self.graph;
        for output in graph.outputs() {
            self.check(*output, "in the end")?;
        }
        Ok(graph.outputs().iter().map(|output| self.expected(*output).to_vec()).collect())
    }
}

/// Whether a value survives from run to run.
fn is_lasting(program: &dyn Program, value: ValueId) -> bool {
    let info = program.value(value);
    matches!(info.storage, Storage::Persistent | Storage::Shared)
        || matches!(info.role, Role::Param | Role::Constant | Role::Static)
}

/// The operands of a node.
fn tensors<'a>(graph: &Graph, node: NodeId, memory: &'a mut dyn Memory) -> Tensors<'a> {
    let node = graph.node(node);
    let operands = |values: &[Option<ValueId>]| {
        values.iter().map(|value| value.map(|value| (value, dims(graph, value)))).collect()
    };
    Tensors::new(operands(&node.inputs), operands(&node.outputs), memory)
}

/// The arena as a step may touch it: what it does not declare to read it does not see, and what it
/// does not declare to write stays as it is.
struct Declared<'a> {
    arena: &'a mut Arena,
    allowed: Vec<Allowed>,
}

/// Elements that a step declares to read or to write.
struct Allowed {
    value: ValueId,
    kind: AccessKind,
    elements: Range<usize>,
}

/// The elements that an access is to.
fn elements(program: &ScheduledGraph<'_>, access: &Access) -> Range<usize> {
    let count = dims(program.graph(), access.value).iter().product::<usize>();
    let bytes = program.value(access.value).bytes;
    let element = |byte: u64| (u128::from(byte) * count as u128).div_ceil(u128::from(bytes.max(1)));
    access.bytes.map_or(0..count, |span| element(span.lo) as usize..element(span.hi) as usize)
}

impl<'a> Declared<'a> {
    fn new(program: &ScheduledGraph<'_>, step: StepId, arena: &'a mut Arena) -> Self {
        let allowed = |access: &Access| {
            let elements = elements(program, access);
            Allowed { value: access.value, kind: access.kind, elements }
        };
        let allowed = program.accesses(step).iter().map(allowed).collect();
        Declared { arena, allowed }
    }

    fn allows(&self, kind: Option<AccessKind>, value: ValueId, element: usize) -> bool {
        self.allowed.iter().any(|allowed| {
            allowed.value == value
                && kind.is_none_or(|kind| kind == allowed.kind)
                && allowed.elements.contains(&element)
        })
    }
}

impl Memory for Declared<'_> {
    fn get(&self, value: ValueId, element: usize) -> u64 {
        // What it has written it may read too.
        if self.allows(None, value, element) { self.arena.get(value, element) } else { u64::MAX }
    }

    fn set(&mut self, value: ValueId, element: usize, number: u64) {
        if self.allows(Some(AccessKind::Write), value, element) {
            self.arena.set(value, element, number);
        }
    }
}
