//! One session for every size of ranges of dims.
//!
//! The plan is made once, for the largest sizes, of a graph in which nothing is declared but what holds at every size; so it
//! is the arena of all of them. [`Session::resize`] sets kernels up for other sizes: every tensor stays where it is planned
//! and is used in part. It allocates; runs do not.
//!
//! Kernels say for each size how much scratch they need, and that need not grow with the size. So it is asked for all
//! sizes where there are few, and for some of them otherwise. A size that still asks for more than is planned is an
//! error of `resize`.

use std::collections::BTreeMap;

use plimsoll::Scratch;
use plimsoll_graph::at_sizes::plan_at;
use plimsoll_graph::{PlannedGraph, ScheduledGraph, with_choices};
use plimsoll_model::range::{Range, Ranged};
use plimsoll_model::{Bindings, Model, Weights};

use crate::constants::Constants;
use crate::error::SessionError;
use crate::kernel::Built;
use crate::memory::LINE;
use crate::prepare::Prepared;
use crate::session::Session;
use crate::state::pairs;

/// The most sizes that kernels are asked about before the plan is made.
const MOST_SIZES: usize = 48;

impl Session<'_> {
    /// Sets the session up for other sizes: one for each dim that has a range. What inputs hold is gone, states too. The
    /// model and the weights are those that the session was made of.
    pub fn resize(
        &mut self,
        model: &Model,
        weights: &dyn Weights,
        sizes: &[(&str, u64)],
    ) -> Result<(), SessionError> {
        let ranged = self.ranged.as_ref().ok_or_else(|| fault("no dim has a range".to_owned()))?;
        let bindings = bound(&self.options.bindings, &self.options.ranges, sizes)?;
        let inferred = ranged.inferred_at(model, &bindings)?;
        let planned = &self.planned;
        let lowering = &self.options.lowering;
        let graph = with_choices(&inferred.graph, &lowering.kernels, &planned.best.choices);
        let graph = graph.map_err(|error| fault(error.to_string()))?;
        let program = ScheduledGraph::new(&graph, lowering);
        let program = program.map_err(|error| SessionError::Plan(error.into()))?;
        let plan = plan_at(&planned.program(), &planned.plan, &program);
        let plan = plan.map_err(|error| fault(error.to_string()))?;
        let values = inferred.values.clone();
        let threads = self.threads.clone();
        let at = Prepared::at(model, weights, &self.options, inferred, threads);
        let constants = Constants::new(model, weights, &at.inferred, self.options.level)?;
        let library = at.library(&constants)?;
        enough_scratch(planned, &library)?;
        let copied = pairs(model, &at.inferred, &self.options.states)?;
        let on = (&graph, program);
        let resolved = at.resolved(&constants, &values, on, &plan, library, &copied)?;
        self.take(resolved);
        Ok(())
    }
}

fn fault(fault: String) -> SessionError {
    SessionError::Size(fault)
}

/// The bindings at some sizes, each of which must be within its range.
fn bound(
    largest: &Bindings,
    ranges: &[Range],
    sizes: &[(&str, u64)],
) -> Result<Bindings, SessionError> {
    let mut bindings = largest.clone();
    for Range { symbol, least, most } in ranges {
        let size = sizes.iter().find(|(name, _)| name == symbol).map(|(_, size)| *size);
        let size = size.ok_or_else(|| fault(format!("no size is given for `{symbol}`")))?;
        if !(*least..=*most).contains(&size) {
            return Err(fault(format!("`{symbol}` is {size}, planned is {least} to {most}")));
        }
        bindings.symbols.insert(symbol.clone(), size);
    }
    if let Some((name, _)) = sizes.iter().find(|(name, _)| ranges.iter().all(|r| r.symbol != *name))
    {
        return Err(fault(format!("`{name}` has no range")));
    }
    Ok(bindings)
}

/// That no kernel needs more scratch than is planned.
fn enough_scratch(planned: &PlannedGraph, library: &[Built]) -> Result<(), SessionError> {
    let graph = &planned.best.graph;
    for (id, built) in graph.node_ids().zip(library) {
        let node = graph.node(id);
        let has = node.scratch.map_or(0, |scratch| scratch.bytes);
        let needed = built.least_bytes();
        if needed as u64 > has {
            return Err(fault(format!(
                "node `{}` needs {needed} bytes of scratch at this size, {has} are planned",
                node.name
            )));
        }
    }
    Ok(())
}

impl Prepared<'_> {
    /// The plan for all sizes.
    pub(crate) fn plan_over(
        &self,
        ranged: &Ranged,
        library: &[Built],
    ) -> Result<PlannedGraph, SessionError> {
        let mut scratch: Vec<usize> = library.iter().map(|built| built.scratch_bytes).collect();
        for sizes in sampled(&self.options.ranges) {
            let mut bindings = self.options.bindings.clone();
            bindings.symbols.extend(sizes);
            // Where the model cannot run, nobody resizes to.
            let Ok(inferred) = ranged.inferred_at(self.model, &bindings) else { continue };
            let threads = self.threads.clone();
            let at = Prepared::at(self.model, self.weights, self.options, inferred, threads);
            let constants =
                Constants::new(self.model, self.weights, &at.inferred, self.options.level)?;
            for (most, built) in scratch.iter_mut().zip(at.library(&constants)?) {
                *most = (*most).max(built.scratch_bytes);
            }
        }
        let mut graph = ranged.graph.clone();
        for (id, bytes) in ranged.graph.node_ids().zip(scratch).filter(|(_, bytes)| *bytes > 0) {
            let align = LINE as u64;
            graph.set_scratch(id, Some(Scratch { bytes: bytes as u64, align }));
        }
        Ok(self.case(graph).plan()?)
    }
}

/// All sizes, or some of them, the ends of every range among these; without the largest of all.
fn sampled(ranges: &[Range]) -> Vec<BTreeMap<String, u64>> {
    let each = sizes_of_each(ranges.len());
    let mut all = vec![BTreeMap::new()];
    for Range { symbol, least, most } in ranges {
        let steps = (most - least).min(each as u64 - 1).max(1);
        let sizes = (0..=steps).map(|step| least + (most - least) * step / steps);
        let mut next = Vec::new();
        for size in sizes {
            next.extend(all.iter().map(|sizes: &BTreeMap<String, u64>| {
                let mut sizes = sizes.clone();
                sizes.insert(symbol.clone(), size);
                sizes
            }));
        }
        all = next;
    }
    all.pop();
    all
}

/// How many sizes of each of so many ranges are looked at.
fn sizes_of_each(ranges: usize) -> usize {
    let fits = |each: &usize| each.checked_pow(ranges as u32).is_some_and(|all| all <= MOST_SIZES);
    (2..=MOST_SIZES).take_while(fits).last().unwrap_or(2)
}
