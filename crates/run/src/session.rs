//! A model that is ready to run: planned, its weights prepared, every step resolved to bytes.
//!
//! [`Session::new`] does everything that takes time or memory. It infers shapes, chooses a kernel for every node,
//! tells the planner what scratch these need, plans through the one driver, and resolves each step of the verified
//! plan into operands that only have to be split off the arena. [`Session::run`] then goes through these:
//! nothing is allocated, locked or looked up.

use std::collections::BTreeMap;

use plimsoll::ValueId;
use plimsoll_graph::{Case, LoweringOptions, NodeId, PlannedGraph, Tries};
use plimsoll_kernels::Level;
use plimsoll_model::{
    Bindings, FusedGraph, FusedGraphError, FusedStep, Fusing, Inferred, Model, ModelNode, Operator,
    Weights, Wiring, infer,
};
use plimsoll_rewrite::fuse::{Fused, FusionKind, fuse};

use crate::arena::Arena;
use crate::at::At;
use crate::constants::{Constants, flatten};
use crate::error::{MissingKernel, RunError, SessionError};
use crate::fused::{Kernels, On};
use crate::io::{Given, Io, Operands};
use crate::kernel::{Built, Kernel, Lack};
use crate::memory::{Lines, Plain, elements, elements_mut};
use crate::ops;
use crate::place::Spot;
use crate::port::{Array, Port};
use crate::resolve::Resolver;

/// How a model is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How large the dims of inputs are.
    pub bindings: Bindings,
    /// How values are held, and what may be a view or in place.
    pub lowering: LoweringOptions,
    /// How to plan.
    pub plan: plimsoll::Options,
    /// What is tried to make the arena smaller.
    pub tries: Tries,
    /// Which instructions kernels may use.
    pub level: Level,
    /// Which nodes are one step.
    pub fuse: Fuse,
}

/// Which nodes are one step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fuse {
    /// Every node by itself.
    Nothing,
    /// Those for which there is a kernel, as long as the arena is not larger.
    Best,
    /// These.
    Steps(Vec<FusedStep>),
}

impl Default for Options {
    /// The best plan, and the instructions of this processor.
    fn default() -> Self {
        let Case { lowering, options: plan, tries, .. } =
            Case::new(plimsoll_graph::Graph::default());
        let (bindings, level) = (Bindings::default(), Level::detect());
        Options { bindings, lowering, plan, tries, level, fuse: Fuse::Best }
    }
}

impl Options {
    /// Every tensor in bytes of its own: nothing is a view, nothing works in place, nothing is used again.
    /// What a run in a plan is compared with.
    #[must_use]
    pub fn apart() -> Self {
        let mut options = Options::quick();
        options.lowering.kernels.preset = plimsoll_graph::Preset::Copying;
        options.plan =
            options.plan.with_in_place(false).with_no_share(plimsoll::NoShare::Everything);
        options.tries.join = false;
        options
    }

    /// What a session is compared with that runs these fused steps: the same steps, with every tensor apart.
    pub(crate) fn apart_from(&self, steps: &[FusedStep]) -> Self {
        Options {
            bindings: self.bindings.clone(),
            level: self.level,
            fuse: Fuse::Steps(steps.to_vec()),
            ..Options::apart()
        }
    }

    /// A plan by rules alone, in the order of the model.
    #[must_use]
    pub fn quick() -> Self {
        let mut options = Options::default();
        options.tries.order = None;
        options.plan = options.plan.with_work(0);
        options
    }

    /// The same with these dims.
    #[must_use]
    pub fn with_bindings(self, bindings: Bindings) -> Self {
        Options { bindings, ..self }
    }
}

/// A kernel with the places of its operands.
pub(crate) struct Step {
    pub(crate) node: NodeId,
    pub(crate) kernel: Kernel,
    pub(crate) operands: Operands,
    /// The values that it reads and writes, in the order in which the kernel counts them.
    pub(crate) reads: Vec<ValueId>,
    pub(crate) writes: Vec<ValueId>,
    /// Whether it writes only a part of what it writes to.
    pub(crate) joins: bool,
    /// Where the conditions are that it runs under, and what each must be.
    pub(crate) guards: Vec<(Spot, bool)>,
    /// Whether it hands on what one of two branches has made.
    pub(crate) is_branch: bool,
}

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
    planned: PlannedGraph,
    steps: Vec<Step>,
    fused: Vec<FusedStep>,
    constants: Lines,
    inputs: Lines,
    arena: Arena<'m>,
    input_ports: Vec<Port>,
    output_ports: Vec<Port>,
    packed_bytes: usize,
    /// Where every value is that a call reads or writes.
    spots: Vec<Option<Spot>>,
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
        for at in 0..self.steps.len() {
            self.run_step(at)?;
        }
        Ok(())
    }

    /// The same, with somebody who is told of every call when it is over.
    pub fn run_watched(&mut self, mut after: impl FnMut(CallInfo<'_>)) -> Result<(), RunError> {
        for at in 0..self.steps.len() {
            self.run_step(at)?;
            let node = self.planned.best.graph.node(self.steps[at].node);
            after(CallInfo { node: &node.name, op: &node.kind });
        }
        Ok(())
    }

    /// Runs one step.
    pub(crate) fn run_step(&mut self, at: usize) -> Result<(), RunError> {
        if !self.is_taken(at) {
            return Ok(());
        }
        let Step { node, kernel, operands, .. } = &self.steps[at];
        let given = Given { constants: self.constants.bytes(), inputs: self.inputs.bytes() };
        let mut io = Io::new(operands, given, self.arena.bytes_mut());
        kernel(&mut io).map_err(|fault| {
            let node = self.planned.best.graph.node(*node).name.clone();
            RunError { node, fault }
        })
    }

    /// Whether a step is in no branch that is not taken.
    pub(crate) fn is_taken(&self, at: usize) -> bool {
        let holds = |spot: &Spot| self.spot_bytes(spot).first().is_some_and(|byte| *byte != 0);
        self.steps[at].guards.iter().all(|(spot, expected)| holds(spot) == *expected)
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

    /// The elements of an input; `None` if there is no such input, or its elements are of another type.
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

    /// How many calls of kernels a run is.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.steps.len()
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

/// A model whose shapes are known.
struct Prepared<'a> {
    model: &'a Model,
    weights: &'a dyn Weights,
    options: &'a Options,
    inferred: Inferred,
}

/// A model that is planned, and whose kernels are chosen.
struct Chosen {
    planned: PlannedGraph,
    /// The value of every tensor that the graph has.
    values: Vec<Option<ValueId>>,
    /// The kernels of all nodes of the graph.
    library: Vec<Built>,
    fused: Vec<FusedStep>,
}

impl<'a> Prepared<'a> {
    fn new(
        model: &'a Model,
        weights: &'a dyn Weights,
        options: &'a Options,
    ) -> Result<Self, SessionError> {
        Ok(Prepared { model, weights, options, inferred: infer(model, &options.bindings)? })
    }

    fn into_session<'m>(
        self,
        arena: impl FnOnce(usize) -> Result<Arena<'m>, SessionError>,
    ) -> Result<Session<'m>, SessionError> {
        let Prepared { model, weights, options, inferred } = &self;
        let constants = Constants::new(model, *weights, inferred, options.level)?;
        let Chosen { planned, values, library, fused } = self.chosen(&constants)?;
        let mut resolver = Resolver::new(model, inferred, &values, &planned)?;
        let packed_bytes = library.iter().map(|built| built.packed_bytes).sum();
        let steps = resolver.steps(library)?;
        let (input_ports, output_ports) = resolver.ports()?;
        let spots = resolver.spots(&steps)?;
        let (fixed, given) = (resolver.constants(&constants)?, Lines::new(resolver.input_bytes()));
        let bytes = usize::try_from(planned.arena_bytes());
        let bytes = bytes.map_err(|_| SessionError::Memory("it is too large".to_owned()))?;
        let (constants, inputs, arena) = (fixed, given, arena(bytes)?);
        Ok(Session {
            planned,
            steps,
            fused,
            constants,
            inputs,
            arena,
            input_ports,
            output_ports,
            packed_bytes,
            spots,
        })
    }

    /// The plan and the kernels, with fused steps as the options want them.
    fn chosen(&self, constants: &Constants<'_>) -> Result<Chosen, SessionError> {
        let library = self.library(constants)?;
        let Prepared { model, options, inferred, .. } = self;
        let names = inferred.graph.node_ids().map(|id| inferred.graph.node(id).name.clone());
        let scratch = library.iter().map(|built| built.scratch_bytes as u64);
        let on = On { model, facts: &inferred.facts, constants, level: options.level };
        let kernels = Kernels { on, scratch: names.zip(scratch).collect() };
        let (steps, planned, values) = self.fused(&kernels)?;
        let mut alone = BTreeMap::new();
        for (id, built) in inferred.graph.node_ids().zip(library) {
            alone.insert(inferred.graph.node(id).name.clone(), built);
        }
        let library = self.with_fused(&kernels, &steps, &planned, alone)?;
        Ok(Chosen { planned, values, library, fused: steps })
    }

    /// The kernels of the nodes of a graph with fused steps.
    fn with_fused(
        &self,
        kernels: &Kernels<'_>,
        steps: &[FusedStep],
        planned: &PlannedGraph,
        mut alone: BTreeMap<String, Built>,
    ) -> Result<Vec<Built>, SessionError> {
        let Prepared { model, inferred: Inferred { facts, statics, order, .. }, .. } = self;
        let wiring = Wiring::new(model, order);
        let fusing = Fusing { model, facts, statics, wiring: &wiring, kernels };
        let last = |step: &FusedStep| step.nodes.last().map(|last| &model.body.nodes[*last].name);
        let graph = &planned.best.graph;
        let mut library = Vec::new();
        for id in graph.node_ids() {
            let node = graph.node(id);
            let step = steps.iter().find(|step| last(step) == Some(&node.name));
            let built = match step {
                Some(step) => kernels.built(&fusing, step),
                None => alone.remove(&node.name).ok_or_else(|| "no kernel".to_owned()),
            };
            library.push(built.map_err(|why| {
                let (node, op) = (node.name.clone(), node.kind.clone());
                SessionError::Missing(vec![MissingKernel { node, op, why }])
            })?);
        }
        Ok(library)
    }

    /// The fused steps, the plan with these, and its values.
    fn fused(
        &self,
        kernels: &Kernels<'_>,
    ) -> Result<(Vec<FusedStep>, PlannedGraph, Vec<Option<ValueId>>), SessionError> {
        let Prepared { model, options, inferred, .. } = self;
        let Options { lowering, plan, tries, .. } = options;
        let given = match &options.fuse {
            Fuse::Steps(steps) => &steps[..],
            Fuse::Nothing | Fuse::Best => &[],
        };
        let graph = inferred.fused_by(model, given, kernels);
        let FusedGraph { graph, values } = graph.map_err(|error| match error {
            FusedGraphError::Step(fault) => SessionError::Fused(fault),
            FusedGraphError::Graph(error) => SessionError::Shape(error.into()),
        })?;
        let case = Case {
            lowering: lowering.clone(),
            options: plan.clone(),
            tries: *tries,
            ..Case::new(graph)
        };
        if options.fuse != Fuse::Best {
            return Ok((given.to_vec(), case.plan()?, values));
        }
        let kinds = FusionKind::ALL.into_iter().collect();
        let Fused { steps, values, planned, .. } = fuse(model, inferred, &case, &kinds, kernels)?;
        Ok((steps, planned, values))
    }

    /// The kernels of all nodes of the graph without fused steps, or all that are missing.
    fn library(&self, constants: &Constants<'_>) -> Result<Vec<Built>, SessionError> {
        let mut nodes = Vec::new();
        flatten(&self.model.body, &self.inferred.order, &mut nodes);
        let by_name: BTreeMap<&str, &ModelNode> =
            nodes.iter().map(|node| (&node.name[..], *node)).collect();
        let (mut library, mut missing) = (Vec::new(), Vec::new());
        for id in self.inferred.graph.node_ids() {
            match self.built(id, &by_name, constants) {
                Ok(built) => library.push(built),
                Err(why) => {
                    let node = self.inferred.graph.node(id);
                    let (node, op) = (node.name.clone(), node.kind.clone());
                    missing.push(MissingKernel { node, op, why });
                }
            }
        }
        if missing.is_empty() { Ok(library) } else { Err(SessionError::Missing(missing)) }
    }

    fn built(
        &self,
        id: NodeId,
        by_name: &BTreeMap<&str, &ModelNode>,
        constants: &Constants<'_>,
    ) -> Result<Built, Lack> {
        let graph = &self.inferred.graph;
        let added = graph.node(id);
        let node = by_name.get(&added.name[..]).ok_or("no kernel")?;
        let is_view = |value| graph.value(value).view.is_some();
        if matches!(node.operator, Operator::If(_)) && added.results().all(is_view) {
            // The branch that is always taken: what it makes is handed on.
            let pairs: Vec<_> = (0..added.outputs.len()).map(|index| (index, index)).collect();
            return Ok(ops::copies(&pairs));
        }
        if matches!(node.operator, Operator::If(_)) {
            return ops::branch(node, &self.inferred.facts);
        }
        let (facts, level) = (&self.inferred.facts[..], self.options.level);
        ops::build(&At { node, facts, constants, level, wider: None })
    }
}
