//! The driver: the one way from a graph to a verified plan.
//!
//! ```
//! use plimsoll_graph::{Case, text};
//!
//! let graph = text::parse("plim 1\ninput x: f32[256]\na = relu(x)\nb = relu(a)\noutput b\n")?;
//! let planned = Case::new(graph).plan()?;
//! assert_eq!(planned.arena_bytes(), 1024);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::ControlFlow;

use plimsoll::advise::PlanRequest;
use plimsoll::{
    Options, OrderEffort, PlanError, Program, Pulse, Scratch, StepId, VerifiedPlan, plan_watched,
    verified, with_room,
};
use thiserror::Error;

use crate::best::{Best, Tries, best_watched};
use crate::graph::Graph;
use crate::scheduled::{LoweringError, LoweringOptions, ScheduledGraph};

/// A graph, and how it is planned.
#[derive(Clone, Debug)]
pub struct Case {
    /// The graph, with all its copies.
    pub graph: Graph,
    /// How values are held, and what kernels can do.
    pub lowering: LoweringOptions,
    /// How to plan.
    pub options: Options,
    /// What is tried beside.
    pub tries: Tries,
    /// Whether only the first bank counts: the others are there to take what it has no room for.
    pub spills: bool,
}

impl Case {
    /// A graph with all defaults: the best order is searched for, and concats do without copies where
    /// that helps.
    #[must_use]
    pub fn new(graph: Graph) -> Self {
        Case {
            graph,
            lowering: LoweringOptions::default(),
            options: Options::default(),
            tries: Tries { order: Some(OrderEffort::Default), join: true },
            spills: false,
        }
    }

    /// A graph in its own order, planned by rules alone: for those who compare hundreds of graphs. It
    /// takes a few milliseconds for a thousand steps; that the plan is verified is a part of it.
    #[must_use]
    pub fn by_rules(graph: Graph) -> Self {
        let mut case = Case::new(graph);
        case.tries.order = None;
        case.options.pack.work = Some(0);
        case
    }

    /// Plans the case.
    pub fn plan(self) -> Result<PlannedGraph, CaseError> {
        self.plan_watched(&mut || ControlFlow::Continue(()))
    }

    /// The same, while somebody is asked now and then whether to go on; what was found by then is kept.
    pub fn plan_watched(self, pulse: &mut Pulse<'_>) -> Result<PlannedGraph, CaseError> {
        let Case { graph, lowering, options, tries, .. } = &self;
        let improved = improve(graph.clone(), lowering, options, *tries, pulse)?;
        let Improved { best, options } = improved;
        let program = ScheduledGraph::new(&best.graph, lowering)?;
        let plan = match &best.plan {
            Some(found) => verified(&program, found.as_ref().clone())?,
            None => plan_watched(&program, &options, &mut |_| pulse())?,
        };
        Ok(PlannedGraph { case: self, best, plan })
    }

    /// How the program of the graph is to be planned.
    #[must_use]
    pub fn request(&self) -> PlanRequest {
        PlanRequest { options: self.options.clone(), order: self.tries.order }
    }

    /// The same case, to be planned by rules alone.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.tries.order = self.tries.order.map(|_| OrderEffort::Fast);
        self.options.pack.work = Some(0);
        self
    }
}

/// A graph in its best order and without copies that it can do without, and the options that plan it so.
#[derive(Clone, Debug)]
pub struct Improved {
    /// The graph, and what was found on the way.
    pub best: Best,
    /// The options, with the order and its bound.
    pub options: Options,
}

/// Tries what makes the arena smaller, while somebody is asked now and then whether to go on.
pub fn improve(
    graph: Graph,
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
    pulse: &mut Pulse<'_>,
) -> Result<Improved, LoweringError> {
    let best = best_watched(graph, lowering, options, tries, pulse)?;
    let applied = best.ordering.as_ref().map(|ordering| ordering.applied(options));
    Ok(Improved { options: applied.unwrap_or_else(|| options.clone()), best })
}

/// Why a case has no plan.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The graph is not a program.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// The program has no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A case with its plan.
#[derive(Clone, Debug)]
pub struct PlannedGraph {
    /// The case.
    pub case: Case,
    /// The graph as it was planned, and what was found on the way.
    pub best: Best,
    /// The plan.
    pub plan: VerifiedPlan,
}

impl PlannedGraph {
    /// The program that was planned.
    ///
    /// # Panics
    /// Never: it was a program before.
    #[must_use]
    pub fn program(&self) -> ScheduledGraph<'_> {
        ScheduledGraph::new(&self.best.graph, &self.case.lowering).expect("it was planned")
    }

    /// The arena that counts: all banks, or the first one if the others only take what is left.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        let banks = if self.case.spills { &self.plan.banks[..1] } else { &self.plan.banks };
        banks.iter().map(|bank| bank.bytes).sum()
    }

    /// The same plan with more scratch for nodes that want it, from bytes that are free while they run: `wanted` by
    /// [`NodeId`](crate::NodeId). Nothing else moves, and the arena is what it was.
    pub fn with_room(self, wanted: &[u64]) -> Result<Self, CaseError> {
        let program = self.program();
        let step = |step| wanted.get(program.node_of(StepId::new(step)).index()).copied();
        let steps: Vec<u64> = (0..program.steps()).map(|at| step(at).unwrap_or(0)).collect();
        let roomy = with_room(&program, &self.plan, &steps);
        let mut best = Best { plan: None, ..self.best.clone() };
        for (step, slot) in roomy.scratch.iter().enumerate() {
            let node = program.node_of(StepId::new(step));
            if let (Some(slot), Some(scratch)) = (slot, best.graph.node(node).scratch) {
                best.graph.set_scratch(node, Some(Scratch { bytes: slot.bytes, ..scratch }));
            }
        }
        let plan = verified(&ScheduledGraph::new(&best.graph, &self.case.lowering)?, roomy)?;
        Ok(PlannedGraph { best, plan, case: self.case })
    }

    /// What is in the banks that do not count.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        let all: u64 = self.plan.banks.iter().map(|bank| bank.bytes).sum();
        all - self.arena_bytes()
    }
}
