//! From a model to a session: kernels chosen, the plan made, every step resolved to bytes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::{Plan, ValueId};
use plimsoll_graph::{Case, Graph, NodeId, PlannedGraph, ScheduledGraph};
use plimsoll_model::range::{Ranged, over_ranges};
use plimsoll_model::{
    FusedGraph, FusedGraphError, FusedStep, Fusing, Inferred, Model, ModelNode, Operator, TensorId,
    Weights, Wiring, infer,
};
use plimsoll_rewrite::fuse::{Fused, FusionKind, fuse};

use crate::arena::Arena;
use crate::at::At;
use crate::constants::{Constants, flatten};
use crate::error::{MissingKernel, SessionError};
use crate::fused::{Kernels, On};
use crate::kernel::{Built, Lack};
use crate::memory::Lines;
use crate::ops;
use crate::options::{Fuse, Options};
use crate::place::Spot;
use crate::port::Port;
use crate::resolve::Resolver;
use crate::session::Session;
use crate::split::Threads;
use crate::state::pairs;
use crate::step::{Cycle, Step};

/// Steps whose bytes are known.
pub(crate) struct Resolved {
    pub(crate) steps: Vec<Step>,
    pub(crate) cycles: Vec<Cycle>,
    pub(crate) constants: Lines,
    pub(crate) inputs: Lines,
    pub(crate) ports: (Vec<Port>, Vec<Port>),
    pub(crate) spots: Vec<Option<Spot>>,
    pub(crate) carried: Vec<(Spot, Spot)>,
    pub(crate) packed_bytes: usize,
}

/// A model whose shapes are known.
pub(crate) struct Prepared<'a> {
    pub(crate) model: &'a Model,
    pub(crate) weights: &'a dyn Weights,
    pub(crate) options: &'a Options,
    pub(crate) inferred: Inferred,
    ranged: Option<Ranged>,
    /// Made here, and kept by the kernels that use them.
    pub(crate) threads: Threads,
}

/// A model that is planned, and whose kernels are chosen.
struct Chosen {
    planned: PlannedGraph,
    /// The value of every tensor that the graph has.
    values: Vec<Option<ValueId>>,
    /// The kernels of all nodes of the graph.
    library: Vec<Built>,
    fused: Vec<FusedStep>,
    /// Inputs, each with the output that is copied to it after a run.
    copied: Vec<(TensorId, TensorId)>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(
        model: &'a Model,
        weights: &'a dyn Weights,
        options: &'a Options,
    ) -> Result<Self, SessionError> {
        let threads = Threads::new(options.threads);
        if options.ranges.is_empty() {
            let inferred = infer(model, &options.bindings)?;
            return Ok(Prepared { model, weights, options, inferred, ranged: None, threads });
        }
        let ranged = over_ranges(model, &options.bindings, &options.ranges)?;
        let inferred = ranged.inferred_at(model, &options.bindings)?;
        Ok(Prepared { model, weights, options, inferred, ranged: Some(ranged), threads })
    }

    /// The same at one size of ranges.
    pub(crate) fn at(
        model: &'a Model,
        weights: &'a dyn Weights,
        options: &'a Options,
        inferred: Inferred,
        threads: Threads,
    ) -> Self {
        Prepared { model, weights, options, inferred, ranged: None, threads }
    }

    pub(crate) fn into_session<'m>(
        self,
        arena: impl FnOnce(usize) -> Result<Arena<'m>, SessionError>,
    ) -> Result<Session<'m>, SessionError> {
        let Prepared { model, weights, options, inferred, .. } = &self;
        let constants = Constants::new(model, *weights, inferred, options.level)?;
        let chosen = self.chosen(&constants)?;
        let Chosen { planned, values, library, fused, copied } = chosen;
        let on = (&planned.best.graph, planned.program());
        let resolved = self.resolved(&constants, &values, on, &planned.plan, library, &copied)?;
        let bytes = usize::try_from(planned.arena_bytes());
        let bytes = bytes.map_err(|_| SessionError::Memory("it is too large".to_owned()))?;
        let arena = arena(bytes)?;
        let (ranged, options, threads) = (self.ranged, self.options.clone(), self.threads);
        let Resolved { steps, cycles, constants, inputs, ports, spots, carried, packed_bytes } =
            resolved;
        let (input_ports, output_ports) = ports;
        Ok(Session {
            planned,
            steps,
            cycles,
            fused,
            constants,
            inputs,
            arena,
            input_ports,
            output_ports,
            packed_bytes,
            spots,
            carried,
            options,
            ranged,
            threads,
        })
    }

    /// Every step with its bytes, as a plan says.
    pub(crate) fn resolved(
        &self,
        constants: &Constants<'_>,
        values: &[Option<ValueId>],
        on: (&Graph, ScheduledGraph<'_>),
        plan: &Plan,
        library: Vec<Built>,
        copied: &[(TensorId, TensorId)],
    ) -> Result<Resolved, SessionError> {
        let mut resolver = Resolver::new(self.model, &self.inferred, values, on, plan)?;
        let packed_bytes = library.iter().map(|built| built.packed_bytes).sum();
        let (steps, cycles) = resolver.steps(library)?;
        let ports = resolver.ports()?;
        let carried = resolver.carried(copied)?;
        let spots = resolver.spots(&steps)?;
        let inputs = Lines::new(resolver.input_bytes());
        let constants = resolver.constants(constants)?;
        Ok(Resolved { steps, cycles, constants, inputs, ports, spots, carried, packed_bytes })
    }

    /// The plan and the kernels, with fused steps as the options want them.
    fn chosen(&self, constants: &Constants<'_>) -> Result<Chosen, SessionError> {
        let library = self.library(constants)?;
        let Prepared { model, options, inferred, .. } = self;
        if let Some(ranged) = &self.ranged {
            let planned = self.plan_over(ranged, &library)?;
            let copied = pairs(model, inferred, &options.states)?;
            let (values, fused) = (inferred.values.clone(), Vec::new());
            return Ok(Chosen { planned, values, library, fused, copied });
        }
        let names = inferred.graph.node_ids().map(|id| inferred.graph.node(id).name.clone());
        let scratch = library.iter().map(|built| built.least_bytes() as u64);
        let (level, threads) = (options.level, &self.threads);
        let on = On { model, facts: &inferred.facts, constants, level, threads };
        let kernels = Kernels { on, scratch: names.zip(scratch).collect() };
        let (steps, mut planned, mut values) = self.fused(&kernels)?;
        let (donated, copied) = self.states(&planned, &values)?;
        if !donated.is_empty() {
            (planned, values) = self.donating(&kernels, &steps, &donated)?;
        }
        // What a node in a fused step has packed for itself is given back before the step packs it. A node that a step reads
        // through may still run by itself, for others.
        let ends: BTreeSet<&str> = steps.iter().filter_map(|step| last_name(model, step)).collect();
        let graph = &planned.best.graph;
        let runs: BTreeSet<&str> = graph.node_ids().map(|id| &graph.node(id).name[..]).collect();
        let mut alone = BTreeMap::new();
        for (id, built) in inferred.graph.node_ids().zip(library) {
            let name = &inferred.graph.node(id).name;
            if runs.contains(&name[..]) && !ends.contains(&name[..]) {
                alone.insert(name.clone(), built);
            }
        }
        let library = self.with_fused(&kernels, &steps, &planned, alone)?;
        // Planned is the scratch that kernels need at least; what is free while they run is theirs too.
        let fastest: Vec<u64> = library.iter().map(|built| built.scratch_bytes as u64).collect();
        let planned = planned.with_room(&fastest)?;
        Ok(Chosen { planned, values, library, fused: steps, copied })
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
        let graph = &planned.best.graph;
        let mut library = Vec::new();
        for id in graph.node_ids() {
            let node = graph.node(id);
            let step = steps.iter().find(|step| last_name(model, step) == Some(&node.name[..]));
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

    /// The graph with fused steps.
    pub(crate) fn graph_of(
        &self,
        steps: &[FusedStep],
        kernels: &Kernels<'_>,
    ) -> Result<FusedGraph, SessionError> {
        self.inferred.fused_by(self.model, steps, kernels).map_err(|error| match error {
            FusedGraphError::Step(fault) => SessionError::Fused(fault),
            FusedGraphError::Graph(error) => SessionError::Shape(error.into()),
        })
    }

    /// What is planned.
    pub(crate) fn case(&self, graph: Graph) -> Case {
        let Options { lowering, plan, tries, .. } = self.options;
        let (lowering, options, tries) = (lowering.clone(), plan.clone(), *tries);
        Case { lowering, options, tries, ..Case::new(graph) }
    }

    /// The fused steps, the plan with these, and its values.
    #[allow(clippy::type_complexity, reason = "three parts of one answer")]
    fn fused(
        &self,
        kernels: &Kernels<'_>,
    ) -> Result<(Vec<FusedStep>, PlannedGraph, Vec<Option<ValueId>>), SessionError> {
        let Prepared { model, options, inferred, .. } = self;
        let given = match &options.fuse {
            Fuse::Steps(steps) => &steps[..],
            Fuse::Nothing | Fuse::Best => &[],
        };
        let FusedGraph { graph, values } = self.graph_of(given, kernels)?;
        let case = self.case(graph);
        if options.fuse != Fuse::Best {
            return Ok((given.to_vec(), case.plan()?, values));
        }
        let kinds = FusionKind::ALL.into_iter().collect();
        let Fused { steps, values, planned, .. } = fuse(model, inferred, &case, &kinds, kernels)?;
        Ok((steps, planned, values))
    }

    /// The kernels of all nodes of the graph without fused steps, or all that are missing.
    pub(crate) fn library(&self, constants: &Constants<'_>) -> Result<Vec<Built>, SessionError> {
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
        let Some(node) = by_name.get(&added.name[..]).filter(|node| node.kind == added.kind) else {
            // What sets up the first round of a body: the node that ends it is asked.
            return Ok(Built::calls(Vec::new()));
        };
        if matches!(node.operator, Operator::Loop(_) | Operator::Scan(_)) {
            return ops::repeated(node, &self.inferred.facts);
        }
        let is_view = |value| graph.value(value).view.is_some();
        if matches!(node.operator, Operator::If(_)) && added.results().all(is_view) {
            // The branch that is always taken: what it makes is handed on.
            let pairs: Vec<_> = (0..added.outputs.len()).map(|index| (index, index)).collect();
            return Ok(ops::copies(&pairs));
        }
        if matches!(node.operator, Operator::If(_)) {
            return ops::branch(node, &self.inferred.facts);
        }
        let (facts, level, threads) = (&self.inferred.facts[..], self.options.level, &self.threads);
        ops::build(&At { node, facts, constants, level, threads, wider: None })
    }
}

/// The name of the last node of a fused step: that of the step.
fn last_name<'m>(model: &'m Model, step: &FusedStep) -> Option<&'m str> {
    step.nodes.last().map(|last| &model.body.nodes[*last].name[..])
}
