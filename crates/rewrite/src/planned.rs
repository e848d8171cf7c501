//! A rewritten model, planned: its nodes in the order of the plan, and what it takes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::explain::{self, GroupPeak, account, alive, group_peaks, peaks, step_loads};
use plimsoll::{OrderEffort, Program, StepId};
use plimsoll_graph::{Case, PlannedGraph, Tries};
use plimsoll_model::{AllKernels, Bindings, Model, TensorId, infer};

use crate::count::multiply_adds;
use crate::frontier::{AtPeak, FitError, FitOptions, Point, RegionPeak};
use crate::fuse::fuse;
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
) -> Result<Point, FitError> {
    let (first, counts) = plan(&rewritten, bindings, options)?;
    let (rewritten, planned) = if rewritten.regions.is_empty() {
        (rewritten, first)
    } else {
        let rewritten = in_order(rewritten, &first);
        let (planned, _) = plan(&rewritten, bindings, options)?;
        (rewritten, planned)
    };
    Ok(point(rewritten, &planned, counts))
}

/// A model as it is, planned; and by node the most bytes in use while it runs, 0 if it takes no step.
pub(crate) fn as_it_is(
    model: &Model,
    bindings: &Bindings,
    options: &FitOptions,
) -> Result<(Point, Vec<u64>), FitError> {
    let rewritten = Rewritten::unchanged(model.clone());
    let (planned, counts) = plan(&rewritten, bindings, options)?;
    let mut loads = vec![0; model.body.nodes.len()];
    let of_step = nodes_of_steps(model, &planned);
    for (step, bytes) in planned.plan.schedule.iter().zip(step_loads(&planned.plan)) {
        if let Some(node) = of_step[step.index()] {
            loads[node] = bytes;
        }
    }
    Ok((point(rewritten, &planned, counts), loads))
}

fn point(rewritten: Rewritten, planned: &PlannedGraph, counts: Counts) -> Point {
    let (arena_bytes, peak) = (planned.arena_bytes(), at_peak(planned));
    let Counts { multiply_adds, overhead_bytes } = counts;
    let regions = regions(&rewritten, planned);
    Point { rewritten, arena_bytes, multiply_adds, overhead_bytes, peak, regions }
}

/// What each region of a model takes in its plan.
fn regions(rewritten: &Rewritten, planned: &PlannedGraph) -> Vec<Option<RegionPeak>> {
    if rewritten.regions.is_empty() {
        return Vec::new();
    }
    let of_step = nodes_of_steps(&rewritten.model, planned);
    let stage = |node: usize| {
        let stage = rewritten.stages[node]?;
        Some(explain::Stage { group: stage.region, stage: stage.step })
    };
    let stages: Vec<_> = of_step.iter().map(|node| node.and_then(stage)).collect();
    let source = |peak: &GroupPeak| rewritten.sources[of_step[peak.peak.step?.index()]?];
    let told = |peak: GroupPeak| RegionPeak {
        bytes: peak.peak.bytes,
        step: peak.stage,
        source: source(&peak),
        carried_bytes: peak.carried_bytes,
    };
    let peaks = group_peaks(&planned.plan, &stages, rewritten.regions.len());
    peaks.into_iter().map(|peak| peak.map(told)).collect()
}

/// By step of a plan, the node of a model that it is.
fn nodes_of_steps(model: &Model, planned: &PlannedGraph) -> Vec<Option<usize>> {
    let names = model.body.nodes.iter().enumerate().map(|(at, node)| (&node.name[..], at));
    let places: BTreeMap<&str, usize> = names.collect();
    let program = planned.program();
    let name = |step: usize| program.step_name(StepId::new(step));
    (0..program.steps()).map(|step| places.get(&*name(step)).copied()).collect()
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
#[derive(Clone, Copy)]
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
    let mut case = Case::new(inferred.graph.clone());
    case.lowering = options.lowering.clone();
    case.options = options.options.clone();
    case.tries = Tries { order: Some(OrderEffort::Default), join: true };
    let planned = if options.fusions.is_empty() {
        case.plan()?
    } else {
        fuse(&model, &inferred, &case, &options.fusions, &AllKernels)?.planned
    };
    Ok((planned, Counts { multiply_adds, overhead_bytes }))
}

/// The nodes of a model in the order of a plan. Those that take no step are where they are first needed.
fn in_order(rewritten: Rewritten, planned: &PlannedGraph) -> Rewritten {
    let Rewritten { mut model, sources, regions, stages } = rewritten;
    let of_step = nodes_of_steps(&model, planned);
    let mut order = Ordered { makers: makers(&model), done: BTreeSet::new(), order: Vec::new() };
    for at in planned.plan.schedule.iter().filter_map(|step| of_step[step.index()]) {
        order.add(&model, at);
    }
    for at in 0..model.body.nodes.len() {
        order.add(&model, at);
    }
    let sources = order.order.iter().map(|at| sources[*at]).collect();
    let stages = order.order.iter().map(|at| stages[*at]).collect();
    model.body.nodes = order.order.iter().map(|at| model.body.nodes[*at].clone()).collect();
    Rewritten { model, sources, regions, stages }
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
