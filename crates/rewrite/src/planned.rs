//! A rewritten model, planned: its nodes in the order of the plan, and what it takes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::explain::{account, alive, peaks};
use plimsoll::{OrderEffort, Program};
use plimsoll_graph::{Case, PlannedGraph, Tries};
use plimsoll_model::{Bindings, Model, TensorId, infer};

use crate::count::multiply_adds;
use crate::frontier::{Applied, AtPeak, FitError, FitOptions, Point};
use crate::overhead::overhead;
use crate::parts::bytes;
use crate::rewritten::Rewritten;
use crate::stored_parts::with_parts_stored;

/// Plans a rewritten model as `plan` does, and puts its nodes in the order of the plan.
///
/// Ties are broken by the order of nodes, so the model is planned once more in the new one: what is promised is
/// what `plan` says of the file.
pub(crate) fn planned(
    rewritten: Rewritten,
    bindings: &Bindings,
    options: &FitOptions,
    ways: Vec<Applied>,
) -> Result<Point, FitError> {
    let (first, counts) = plan(&rewritten, bindings, options)?;
    let (rewritten, planned) = if ways.is_empty() {
        (rewritten, first)
    } else {
        let rewritten = in_order(rewritten, &first);
        let (planned, _) = plan(&rewritten, bindings, options)?;
        (rewritten, planned)
    };
    let (arena_bytes, peak) = (planned.arena_bytes(), at_peak(&planned));
    let Counts { multiply_adds, overhead_bytes } = counts;
    Ok(Point { rewritten, arena_bytes, multiply_adds, overhead_bytes, ways, peak })
}

/// What is there at the highest peak of a plan.
fn at_peak(planned: &PlannedGraph) -> AtPeak {
    let (program, plan) = (planned.program(), &planned.plan);
    let Some(peak) = peaks(plan, 1).pop() else { return AtPeak::default() };
    let alive = alive(&program, plan, &account(&program, plan, peak.point));
    let tensors = alive.iter().map(|alive| (program.value_name(alive.value).into(), alive.bytes));
    let node = peak.step.map(|step| program.step_name(step).into_owned());
    AtPeak { node, tensors: tensors.collect() }
}

/// What a model costs beside memory.
pub(crate) struct Counts {
    multiply_adds: u64,
    overhead_bytes: u64,
}

/// The plan of the model that will be read from the file, and what it costs beside memory.
pub(crate) fn plan(
    rewritten: &Rewritten,
    bindings: &Bindings,
    options: &FitOptions,
) -> Result<(PlannedGraph, Counts), FitError> {
    let model = with_parts_stored(rewritten);
    let inferred = infer(&model, bindings)?;
    let multiply_adds = multiply_adds(&model, &inferred.facts, &inferred.statics);
    let size = |id: TensorId, stored: bool| {
        let is_asked = inferred.statics[id.index()] == stored;
        if is_asked { bytes(&inferred.facts[id.index()]).unwrap_or(0) } else { 0 }
    };
    let overhead_bytes = overhead(&model, |id| size(id, false), |id| size(id, true));
    let counts = Counts { multiply_adds, overhead_bytes };
    let mut case = Case::new(inferred.graph);
    case.lowering = options.lowering.clone();
    case.options = options.options.clone();
    case.tries = Tries { order: Some(OrderEffort::Default), join: true };
    Ok((case.plan()?, counts))
}

/// The nodes of a model in the order of a plan. Those that take no step are where they are first needed.
fn in_order(rewritten: Rewritten, planned: &PlannedGraph) -> Rewritten {
    let Rewritten { mut model, sources } = rewritten;
    let program = planned.program();
    let names = model.body.nodes.iter().enumerate().map(|(at, node)| (node.name.clone(), at));
    let places: BTreeMap<String, usize> = names.collect();
    let steps = planned.plan.schedule.iter().map(|step| program.step_name(*step).into_owned());
    let mut order = Ordered { makers: makers(&model), done: BTreeSet::new(), order: Vec::new() };
    for at in steps.filter_map(|name| places.get(&name).copied()).collect::<Vec<_>>() {
        order.add(&model, at);
    }
    for at in 0..model.body.nodes.len() {
        order.add(&model, at);
    }
    let sources = order.order.iter().map(|at| sources[*at]).collect();
    model.body.nodes = order.order.iter().map(|at| model.body.nodes[*at].clone()).collect();
    Rewritten { model, sources }
}

/// By tensor, the node that makes it.
fn makers(model: &Model) -> Vec<Option<usize>> {
    let mut makers = vec![None; model.tensors.len()];
    for (at, node) in model.body.nodes.iter().enumerate() {
        node.outputs.iter().flatten().for_each(|made| makers[made.index()] = Some(at));
    }
    makers
}

struct Ordered {
    makers: Vec<Option<usize>>,
    done: BTreeSet<usize>,
    order: Vec<usize>,
}

impl Ordered {
    /// Adds a node behind all that it reads.
    fn add(&mut self, model: &Model, node: usize) {
        let mut open = vec![node];
        while let Some(at) = open.pop() {
            if self.done.contains(&at) {
                continue;
            }
            let reads = model.body.nodes[at].inputs.iter().flatten();
            let makers = reads.filter_map(|read| self.makers[read.index()]);
            let waits: Vec<usize> = makers.filter(|maker| !self.done.contains(maker)).collect();
            if waits.is_empty() {
                self.done.insert(at);
                self.order.push(at);
            } else {
                open.push(at);
                open.extend(waits);
            }
        }
    }
}
