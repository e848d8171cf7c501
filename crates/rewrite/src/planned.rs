//! A rewritten model, planned: its nodes in the order of the plan, and what it takes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::{OrderEffort, Program};
use plimsoll_graph::{Case, PlannedGraph, Tries};
use plimsoll_model::{Bindings, Model, infer};

use crate::count::multiply_adds;
use crate::frontier::{Applied, FitError, FitOptions, Point};
use crate::rewritten::Rewritten;
use crate::stored_parts::with_parts_stored;

/// Plans a rewritten model as `plan` does, and puts its nodes in the order of the plan.
pub(crate) fn planned(
    rewritten: Rewritten,
    bindings: &Bindings,
    options: &FitOptions,
    ways: Vec<Applied>,
) -> Result<Point, FitError> {
    let (planned, multiply_adds) = plan(&rewritten, bindings, options)?;
    let arena_bytes = planned.arena_bytes();
    let rewritten = if ways.is_empty() { rewritten } else { in_order(rewritten, &planned) };
    Ok(Point { rewritten, arena_bytes, multiply_adds, ways })
}

/// A point with the arena that its nodes have in the order in which they stand now: what `plan` makes of them.
pub(crate) fn settled(
    point: Point,
    bindings: &Bindings,
    options: &FitOptions,
) -> Result<Point, FitError> {
    let (planned, _) = plan(&point.rewritten, bindings, options)?;
    Ok(Point { arena_bytes: planned.arena_bytes(), ..point })
}

/// The plan of a rewritten model, and its multiply-adds.
fn plan(
    rewritten: &Rewritten,
    bindings: &Bindings,
    options: &FitOptions,
) -> Result<(PlannedGraph, u64), FitError> {
    let model = with_parts_stored(rewritten);
    let inferred = infer(&model, bindings)?;
    let multiply_adds = multiply_adds(&model, &inferred.facts, &inferred.statics);
    let mut case = Case::new(inferred.graph);
    case.lowering = options.lowering.clone();
    case.options = options.options.clone();
    case.tries = Tries { order: Some(OrderEffort::Default), join: true };
    Ok((case.plan()?, multiply_adds))
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
