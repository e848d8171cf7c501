//! A model that is ready to run: planned, its weights prepared, every step resolved to bytes.
//!
//! [`Session::new`] does everything that takes time or memory. It infers shapes, chooses a kernel for every node,
//! tells the planner what scratch these need, plans through the one driver, and resolves each step of the verified
//! plan into operands that only have to be split off the arena. [`Session::run`] then goes through these:
//! nothing is allocated, locked or looked up.

use std::collections::BTreeMap;

use plimsoll::ValueId;
use plimsoll_graph::PlannedGraph;
use plimsoll_model::range::Ranged;
use plimsoll_model::{FusedStep, Model, Weights};

use crate::arena::Arena;
use crate::error::{RunError, SessionError};
use crate::io::{Given, Io};
use crate::memory::{Lines, Plain, elements, elements_mut};
use crate::options::Options;
use crate::place::Spot;
use crate::port::{Array, Port};
use crate::prepare::{Prepared, Resolved};
use crate::split::Threads;
use crate::step::{Action, Cycle, Most, Step};

/// A call of a kernel, as it is told to who watches a run.
#[derive(Clone, Copy, Debug)]
pub struct CallInfo<'s> {
    /// The node.
    pub node: &'s str,
    /// What its operator is called.
    pub op: &'s str,
}

/// A model that is ready to run.
pub struct Session<'m> {
    pub(crate) planned: PlannedGraph,
    pub(crate) steps: Vec<Step>,
    /// The bodies that run again and again, and how far each is.
    pub(crate) cycles: Vec<Cycle>,
    pub(crate) fused: Vec<FusedStep>,
    pub(crate) constants: Lines,
    pub(crate) inputs: Lines,
    pub(crate) arena: Arena<'m>,
    pub(crate) input_ports: Vec<Port>,
    pub(crate) output_ports: Vec<Port>,
    pub(crate) packed_bytes: usize,
    /// Where every value is that a call reads or writes.
    pub(crate) spots: Vec<Option<Spot>>,
    /// What is copied after each run: outputs to the inputs that they are in the next one.
    pub(crate) carried: Vec<(Spot, Spot)>,
    pub(crate) options: Options,
    /// The model for all sizes, if dims have ranges.
    pub(crate) ranged: Option<Ranged>,
    /// What kernels divide their work among.
    pub(crate) threads: Threads,
}

impl Session<'static> {
    /// A session with memory of its own.
    pub fn new(
        model: &Model,
        weights: &dyn Weights,
        options: &Options,
    ) -> Result<Self, SessionError> {
        Prepared::new(model, weights, options)?.into_session(|bytes| Ok(Arena::own(bytes)))
    }
}

impl<'m> Session<'m> {
    /// A session in memory of the caller's: as many bytes as the plan needs ([`Session::arena_bytes`] says how many),
    /// which begin at a multiple of 64.
    pub fn in_arena(
        arena: &'m mut [u8],
        model: &Model,
        weights: &dyn Weights,
        options: &Options,
    ) -> Result<Self, SessionError> {
        Prepared::new(model, weights, options)?.into_session(|bytes| Arena::lent(arena, bytes))
    }

    /// Runs the model once on what is in the inputs.
    pub fn run(&mut self) -> Result<(), RunError> {
        let mut at = 0;
        while at < self.steps.len() {
            at = self.run_step(at)?;
        }
        self.carry();
        Ok(())
    }

    /// The same, with somebody who is told of every call when it is over.
    pub fn run_watched(&mut self, mut after: impl FnMut(CallInfo<'_>)) -> Result<(), RunError> {
        let mut at = 0;
        while at < self.steps.len() {
            let next = self.run_step(at)?;
            let node = self.planned.best.graph.node(self.steps[at].node);
            after(CallInfo { node: &node.name, op: &node.kind });
            at = next;
        }
        self.carry();
        Ok(())
    }

    /// Copies outputs to the inputs that they are in the next run.
    fn carry(&mut self) {
        let Session { carried, constants, inputs, arena, .. } = self;
        for (from, to) in &*carried {
            match (from, to) {
                (Spot::Arena(from), Spot::Arena(to)) => {
                    arena.bytes_mut().copy_within(from.clone(), to.start);
                }
                (Spot::Arena(from), Spot::Input(to)) => {
                    inputs.bytes_mut()[to.clone()].copy_from_slice(&arena.bytes()[from.clone()]);
                }
                (Spot::Input(from), Spot::Input(to)) => {
                    inputs.bytes_mut().copy_within(from.clone(), to.start);
                }
                (Spot::Input(from), Spot::Arena(to)) => {
                    arena.bytes_mut()[to.clone()].copy_from_slice(&inputs.bytes()[from.clone()]);
                }
                (Spot::Constant(from), Spot::Input(to)) => {
                    inputs.bytes_mut()[to.clone()]
                        .copy_from_slice(&constants.bytes()[from.clone()]);
                }
                (Spot::Constant(from), Spot::Arena(to)) => {
                    arena.bytes_mut()[to.clone()].copy_from_slice(&constants.bytes()[from.clone()]);
                }
                (_, Spot::Constant(_)) => {}
            }
        }
    }

    /// Runs one step, and says which one is next.
    pub(crate) fn run_step(&mut self, at: usize) -> Result<usize, RunError> {
        if !self.is_taken(at) {
            return Ok(at + 1);
        }
        let given = Given { constants: self.constants.bytes(), inputs: self.inputs.bytes() };
        let Step { node, action, .. } = &self.steps[at];
        match action {
            Action::Call { kernel, operands } => {
                kernel(&mut Io::new(operands, given, self.arena.bytes_mut())).map_err(|fault| {
                    let node = self.planned.best.graph.node(*node).name.clone();
                    RunError { node, fault }
                })?;
            }
            Action::Move(moved) => {
                let round = moved.cycle.map_or(0, |cycle| self.cycles[cycle].over as usize);
                moved.run(round, given, self.arena.bytes_mut());
            }
            Action::Count { cycle, to } => {
                let round = self.cycles[*cycle].over;
                self.arena.bytes_mut()[to.clone()].copy_from_slice(&round.to_le_bytes());
            }
            Action::Hold { to } => self.arena.bytes_mut()[to.clone()].fill(1),
            Action::Enter { cycle, behind } => {
                let (cycle, behind) = (*cycle, *behind);
                self.cycles[cycle].over = 0;
                self.cycles[cycle].goes = self.says(self.cycles[cycle].starts.as_ref());
                return Ok(if self.has_round(cycle) { at + 1 } else { behind });
            }
            Action::Decide { cycle } => {
                let cycle = *cycle;
                self.cycles[cycle].goes = self.says(self.cycles[cycle].goes_on.as_ref());
            }
            Action::Repeat { cycle, first } => {
                let (cycle, first) = (*cycle, *first);
                self.cycles[cycle].over += 1;
                return Ok(if self.has_round(cycle) { first } else { at + 1 });
            }
        }
        Ok(at + 1)
    }

    /// Whether a cycle has another round.
    fn has_round(&self, cycle: usize) -> bool {
        let Cycle { most, over, goes, .. } = &self.cycles[cycle];
        let most = match most {
            Most::Fixed(most) => *most,
            Most::Said(spot) => {
                let said = elements::<i64>(self.spot_bytes(spot)).first().copied();
                u64::try_from(said.unwrap_or(0)).unwrap_or(0)
            }
            Most::Any => u64::MAX,
        };
        *goes && *over < most
    }

    /// Whether a condition holds; what nobody says does.
    fn says(&self, spot: Option<&Spot>) -> bool {
        spot.is_none_or(|spot| self.spot_bytes(spot).first().is_some_and(|byte| *byte != 0))
    }

    /// Whether a step is in no branch that is not taken.
    pub(crate) fn is_taken(&self, at: usize) -> bool {
        self.steps[at].guards.iter().all(|(spot, expected)| self.says(Some(spot)) == *expected)
    }

    /// The inputs.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        &self.input_ports
    }

    /// The outputs, in the order of the model.
    #[must_use]
    pub fn outputs(&self) -> &[Port] {
        &self.output_ports
    }

    /// The bytes of an input, to be filled before a run; `None` if there is no such input.
    pub fn input_bytes_mut(&mut self, name: &str) -> Option<&mut [u8]> {
        let port = self.input_ports.iter().find(|port| port.name == name)?;
        match &port.spot {
            Spot::Input(range) => Some(&mut self.inputs.bytes_mut()[range.clone()]),
            Spot::Arena(range) => Some(&mut self.arena.bytes_mut()[range.clone()]),
            Spot::Constant(_) => None,
        }
    }

    /// Fills inputs, each with a tensor of its type and dims.
    pub fn fill(&mut self, inputs: &BTreeMap<String, Array>) -> Result<(), SessionError> {
        for port in self.input_ports.clone() {
            let wrong = |fault: String| SessionError::Input { name: port.name.clone(), fault };
            let array =
                inputs.get(&port.name).ok_or_else(|| wrong("nothing is given".to_owned()))?;
            if (array.dtype, &array.dims) != (port.dtype, &port.dims) {
                let given = format!("{} {:?}", array.dtype, array.dims);
                return Err(wrong(format!(
                    "{given}, where {} {:?} is needed",
                    port.dtype, port.dims
                )));
            }
            let bytes = self.input_bytes_mut(&port.name).unwrap_or_default();
            if bytes.len() != array.bytes.len() {
                let (given, needed) = (array.bytes.len(), bytes.len());
                return Err(wrong(format!("{given} bytes, where {needed} are needed")));
            }
            bytes.copy_from_slice(&array.bytes);
        }
        Ok(())
    }

    /// Fills the arena with bytes that nobody reads in a run that is right: numbers that are none.
    pub fn poison(&mut self) {
        self.arena.bytes_mut().fill(0xff);
    }

    /// The bytes of an output, as the last run has left them; `None` if there is no such output.
    #[must_use]
    pub fn output_bytes(&self, name: &str) -> Option<&[u8]> {
        let port = self.output_ports.iter().find(|port| port.name == name)?;
        Some(self.spot_bytes(&port.spot))
    }

    /// The bytes of an input, as they were filled in or as a state was left; `None` if there is no such input.
    #[must_use]
    pub fn input_bytes(&self, name: &str) -> Option<&[u8]> {
        let port = self.input_ports.iter().find(|port| port.name == name)?;
        Some(self.spot_bytes(&port.spot))
    }

    /// The elements of an input, to be filled before a run; `None` if there is no such input, or its elements are of
    /// another type.
    pub fn input_mut<T: Element>(&mut self, name: &str) -> Option<&mut [T]> {
        let port = self.input_ports.iter().find(|port| port.name == name)?;
        if !T::is_of(port.dtype) {
            return None;
        }
        self.input_bytes_mut(name).map(elements_mut)
    }

    /// The elements of an output; `None` if there is no such output, or its elements are of another type.
    #[must_use]
    pub fn output<T: Element>(&self, name: &str) -> Option<&[T]> {
        let port = self.output_ports.iter().find(|port| port.name == name)?;
        if !T::is_of(port.dtype) {
            return None;
        }
        self.output_bytes(name).map(elements)
    }

    /// The calls of a run.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The arena.
    pub(crate) fn arena(&self) -> &[u8] {
        self.arena.bytes()
    }

    /// The arena, to be changed.
    pub(crate) fn arena_mut(&mut self) -> &mut [u8] {
        self.arena.bytes_mut()
    }

    /// Where a value is; `None` if nobody reads or writes it.
    pub(crate) fn spot(&self, value: ValueId) -> Option<&Spot> {
        self.spots[value.index()].as_ref()
    }

    /// The bytes that are at a place.
    pub(crate) fn spot_bytes(&self, spot: &Spot) -> &[u8] {
        match spot {
            Spot::Constant(range) => &self.constants.bytes()[range.clone()],
            Spot::Input(range) => &self.inputs.bytes()[range.clone()],
            Spot::Arena(range) => &self.arena.bytes()[range.clone()],
        }
    }

    /// The plan that is run in, with the graph that it is of.
    #[must_use]
    pub fn planned(&self) -> &PlannedGraph {
        &self.planned
    }

    /// The fused steps of the plan, each with its nodes.
    #[must_use]
    pub fn fused(&self) -> &[FusedStep] {
        &self.fused
    }

    /// How many bytes the arena has: all that a run writes.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        self.planned.arena_bytes()
    }

    /// How many bytes of weights, and of what is computed of them once, kernels read as they are.
    #[must_use]
    pub fn constant_bytes(&self) -> usize {
        self.constants.bytes().len()
    }

    /// How many bytes of weights kernels have in an order of their own.
    #[must_use]
    pub fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }

    /// How many bytes the inputs have that are not in the arena.
    #[must_use]
    pub fn input_memory_bytes(&self) -> usize {
        self.inputs.bytes().len()
    }

    /// The node whose kernel has the most scratch in the arena, and how many bytes; `None` if none has any.
    #[must_use]
    pub fn largest_scratch(&self) -> Option<(&str, u64)> {
        let graph = &self.planned.best.graph;
        let scratch = graph.node_ids().filter_map(|id| {
            let node = graph.node(id);
            Some((&node.name[..], node.scratch?.bytes))
        });
        scratch.max_by_key(|(_, bytes)| *bytes)
    }

    /// How many calls of kernels a run is, if every body runs once.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| step.is_call()).count()
    }
}

/// Types of elements that inputs and outputs can be seen as.
#[allow(private_bounds, reason = "which types there are is not for others to say")]
pub trait Element: Plain {
    /// Whether tensors of a type have such elements.
    fn is_of(dtype: plimsoll_graph::Dtype) -> bool;
}

macro_rules! element {
    ($($type:ty: $($dtype:ident)|*;)*) => {$(
        impl Element for $type {
            fn is_of(dtype: plimsoll_graph::Dtype) -> bool {
                matches!(dtype, $(plimsoll_graph::Dtype::$dtype)|*)
            }
        }
    )*};
}

element! {
    f32: F32;
    f64: F64;
    i64: I64;
    i32: I32;
    i16: I16;
    i8: I8;
    u64: U64;
    u32: U32;
    u16: U16;
    u8: U8 | Bool;
}

impl Session<'_> {
    /// Takes other steps, in the same arena.
    pub(crate) fn take(&mut self, resolved: Resolved) {
        let Resolved { steps, cycles, constants, inputs, ports, spots, carried, packed_bytes } =
            resolved;
        (self.steps, self.cycles) = (steps, cycles);
        (self.constants, self.inputs) = (constants, inputs);
        (self.input_ports, self.output_ports) = ports;
        (self.spots, self.carried, self.packed_bytes) = (spots, carried, packed_bytes);
    }
}
