//! The rules of a graph, checked once.
//!
//! In this order, so that each rule can rely on those before it: ids are there; every value has
//! one writer or comes from outside; what nodes declare refers to their own operands; views lie
//! within their roots; nobody reads what is never written or has no bytes; nothing waits for itself.

use std::collections::HashSet;

use plimsoll::{AccessKind, Execution, Layout, Overwrite, Role, ValueId};
use plimsoll_pack::Span;

use super::error::{GraphError, NodeFault, ValueFault};
use super::{
    Aliases, Bytes, End, Flow, Folds, Graph, Node, NodeId, Resolved, Window, cycle_error,
    read_through,
};
use crate::effect::misfit;
use crate::graph::{Kernels, order_of};

type Check = Result<(), GraphError>;

/// The graph, if it follows the rules.
pub(super) fn check(mut graph: Graph) -> Result<Graph, GraphError> {
    check_ids(&graph)?;
    for value in graph.value_ids() {
        check_value(&graph, value)?;
    }
    check_outputs(&graph)?;
    find_producers(&mut graph)?;
    for node in graph.node_ids() {
        check_node(&graph, node)?;
    }
    check_sharing(&graph)?;
    Ok(graph)
}

/// Those of the rules that depend on which values are views and which nodes are elided; what follows
/// from a graph that keeps to them.
pub(super) fn check_sharing(graph: &Graph) -> Result<Resolved, GraphError> {
    check_referred(graph)?;
    let aliases = Aliases::of(graph, &Kernels::default())?;
    check_views(graph, &aliases)?;
    check_written(graph, &aliases)?;
    let folds = Folds::of(graph, &aliases)?;
    for node in graph.node_ids().filter(|node| !graph.node(*node).elided) {
        check_read_once(graph, &aliases, &folds, node)?;
    }
    let flow = Flow::of(graph, &aliases, &folds);
    let order = order_of(graph, &flow).map_err(|cycle| cycle_error(graph, &cycle))?;
    Ok(Resolved { aliases, folds, flow, order })
}

/// Nobody refers to the step of a node that takes none.
fn check_referred(graph: &Graph) -> Check {
    for node in graph.nodes.iter() {
        if let Some(other) = referred_nodes(node).find(|other| graph.node(*other).elided) {
            let fault = NodeFault::ElidedNode { node: graph.node(other).name.clone() };
            return Err(GraphError::node(&node.name, fault));
        }
    }
    Ok(())
}

/// Every id that is used belongs to something.
fn check_ids(graph: &Graph) -> Check {
    for value in graph.values.iter() {
        if value.view.is_some_and(|view| view.of.index() >= graph.values.len()) {
            return Err(GraphError::value(&value.name, ValueFault::UnknownRoot));
        }
    }
    for value in &graph.outputs {
        if value.index() >= graph.values.len() {
            return Err(GraphError::value(&value.to_string(), ValueFault::UnknownOutput));
        }
    }
    let mut names = HashSet::new();
    for node in graph.nodes.iter() {
        let fault = |fault| Err(GraphError::node(&node.name, fault));
        if !names.insert(&node.name) {
            return fault(NodeFault::Duplicate);
        }
        let overwrites = node.overwrites.iter().flat_map(|o| [o.output, o.input]);
        let windows = node.windows.iter().map(|window| window.value);
        let mut values = node.reads().chain(node.results()).chain(overwrites).chain(windows);
        if let Some(value) = values.find(|value| value.index() >= graph.values.len()) {
            return fault(NodeFault::UnknownValue { what: value.to_string() });
        }
        let unknown = |other: &NodeId| other.index() >= graph.nodes.len();
        if let Some(other) = referred_nodes(node).find(unknown) {
            return fault(NodeFault::UnknownNode { what: other.to_string() });
        }
    }
    Ok(())
}

/// The nodes whose steps a node refers to.
fn referred_nodes(node: &Node) -> impl Iterator<Item = NodeId> + '_ {
    let windows = node.windows.iter().flat_map(|window| {
        let until = match window.until {
            End::After(node) => Some(node),
            End::Writes | End::Step | End::EndOfRun => None,
        };
        window.from.into_iter().chain(until)
    });
    node.after.iter().copied().chain(windows)
}

fn check_value(graph: &Graph, id: ValueId) -> Check {
    let value = graph.value(id);
    let fault = |fault| Err(GraphError::value(&value.name, fault));
    if value.native_size() == Bytes::TooMany {
        return fault(ValueFault::TooLarge);
    }
    if value.align == Some(0) {
        return fault(ValueFault::BadAlign);
    }
    if value.donated && !value.is_given() {
        return fault(ValueFault::NotGiven);
    }
    Ok(())
}

fn check_outputs(graph: &Graph) -> Check {
    let mut seen = HashSet::new();
    for output in &graph.outputs {
        let value = graph.value(*output);
        let fault = |fault| Err(GraphError::value(&value.name, fault));
        if value.elided {
            return fault(ValueFault::ElidedOutput);
        }
        if !seen.insert(*output) {
            return fault(ValueFault::DuplicateOutput);
        }
    }
    Ok(())
}

fn find_producers(graph: &mut Graph) -> Check {
    for (index, node) in graph.nodes.iter().enumerate() {
        for value in node.results() {
            let by = node.name.clone();
            let fault = |fault| Err(GraphError::value(&graph.values[value.index()].name, fault));
            if graph.values[value.index()].role != Role::Temporary {
                return fault(ValueFault::Boundary { by });
            }
            if graph.producers[value.index()].is_some() {
                return fault(ValueFault::WrittenTwice { by });
            }
            if node.reads().any(|read| read == value) {
                return fault(ValueFault::WrittenByWhoReadsIt { node: by });
            }
            graph.producers[value.index()] = Some(NodeId::new(index));
        }
    }
    Ok(())
}

fn check_node(graph: &Graph, id: NodeId) -> Check {
    let node = graph.node(id);
    let fault = |fault| Err(GraphError::node(&node.name, fault));
    let (inputs, outputs) = graph.operands(id);
    if let Some(why) = misfit(&node.op, &inputs, &outputs) {
        return fault(NodeFault::Misfit { why });
    }
    if node.scratch.is_some_and(|scratch| scratch.align == 0) {
        return fault(NodeFault::BadScratch);
    }
    if node.queue != 0 && graph.execution != Execution::Queues {
        return fault(NodeFault::QueueWithoutQueues);
    }
    if node.after.contains(&id) {
        return fault(NodeFault::WaitsForItself);
    }
    check_overwrites(graph, node)?;
    check_windows(graph, node)
}

fn check_overwrites(graph: &Graph, node: &Node) -> Check {
    let fault = |fault| Err(GraphError::node(&node.name, fault));
    let name = |value: ValueId| graph.value(value).name.clone();
    let mut forced = HashSet::new();
    for overwrite in &node.overwrites {
        if !node.outputs.contains(&Some(overwrite.output)) {
            return fault(NodeFault::OverwriteOfOthers { value: name(overwrite.output) });
        }
        if overwrite.must && !forced.insert(overwrite.output) {
            return fault(NodeFault::OverwriteTwice { value: name(overwrite.output) });
        }
        let size = |value: ValueId| graph.value(value).native_size().known();
        let sizes = size(overwrite.output).zip(size(overwrite.input));
        if overwrite.must && sizes.is_some_and(|(output, input)| output > input) {
            let (output, input) = (name(overwrite.output), name(overwrite.input));
            return fault(NodeFault::OverwriteSmaller { output, input });
        }
    }
    Ok(())
}

/// In place is a matter of an operand: what a step overwrites, for itself or in place of elided
/// nodes behind it, it does not read by another operand too, unless all of them go element by
/// element together.
fn check_read_once(graph: &Graph, aliases: &Aliases, folds: &Folds, id: NodeId) -> Check {
    let behind = folds.behind(id).map_or(&[][..], |behind| &behind.nodes);
    let doers = || std::iter::once(&id).chain(behind);
    if doers().all(|node| graph.node(*node).overwrites.is_empty()) {
        return Ok(());
    }
    let reads = reads_of_step(graph, aliases, folds, id);
    for doer in doers() {
        let node = graph.node(*doer);
        for Overwrite { output, input, .. } in node.overwrites.iter().copied() {
            let operands = node.inputs.iter().filter(|read| **read == Some(input)).count();
            let all = reads.iter().filter(|read| **read == input).count();
            let together = all == operands && graph.goes_together(*doer, output, input);
            if all > 1 && !together {
                let name = |value: ValueId| graph.value(value).name.clone();
                let (output, input) = (name(output), name(input));
                return Err(GraphError::node(
                    &node.name,
                    NodeFault::OverwriteReadTwice { output, input },
                ));
            }
        }
    }
    Ok(())
}

/// What a step reads, once for every operand: for itself, and in place of elided nodes around it.
fn reads_of_step(graph: &Graph, aliases: &Aliases, folds: &Folds, id: NodeId) -> Vec<ValueId> {
    let own = graph.node(id).reads();
    let own = own.flat_map(|value| read_through(graph, aliases, value).unwrap_or_default());
    let folded = folds.behind(id).map_or(&[][..], |behind| &behind.reads);
    own.chain(folded.iter().copied()).collect()
}

fn check_windows(graph: &Graph, node: &Node) -> Check {
    let fault = |fault| Err(GraphError::node(&node.name, fault));
    for (index, window) in node.windows.iter().enumerate() {
        let value = graph.value(window.value).name.clone();
        let of_it = |other: &Window| other.value == window.value && other.kind == window.kind;
        let accessed = match window.kind {
            AccessKind::Read => node.reads().any(|read| read == window.value),
            AccessKind::Write => node.results().any(|made| made == window.value),
        };
        if !accessed {
            return fault(NodeFault::WindowOfOthers { value });
        }
        if node.windows[..index].iter().any(of_it) {
            return fault(NodeFault::WindowTwice { value });
        }
        if window.kind == AccessKind::Write && window.until == End::Writes {
            return fault(NodeFault::WriteUntilWrites { value });
        }
        let bytes = graph.value(window.value).native_size().known().unwrap_or(u64::MAX);
        if window.bytes.is_some_and(|span| span.lo > span.hi || span.hi > bytes) {
            return fault(NodeFault::WindowBytes { value });
        }
    }
    Ok(())
}

fn check_views(graph: &Graph, aliases: &Aliases) -> Check {
    for value in graph.value_ids() {
        let Some(view) = aliases.view(value) else { continue };
        let (part, root) = (graph.value(value), graph.value(view.of));
        let (Some(bytes), Some(all)) = (part.native_size().known(), root.native_size().known())
        else {
            continue; // Checked once the sizes are known.
        };
        let overflows = view.offset.checked_add(bytes).is_none();
        if overflows || !view.fits(bytes, all) {
            let root = root.name.clone();
            let end = Layout { first: view.offset, rows: view.rows }.hull(Span::new(0, bytes)).hi;
            let fault = ValueFault::ViewOutside { root, end, bytes: all };
            return Err(GraphError::value(&part.name, fault));
        }
    }
    Ok(())
}

/// Whatever is read or fetched is written by somebody, in whole or in parts.
fn check_written(graph: &Graph, aliases: &Aliases) -> Check {
    let mut written = vec![false; graph.values.len()];
    for value in graph.value_ids() {
        if graph.producer(value).is_some() || graph.value(value).is_given() {
            written[aliases.resolve(value).root.index()] = true;
            written[value.index()] = true;
        }
    }
    let never =
        |value: &ValueId| !written[value.index()] && !written[aliases.resolve(*value).root.index()];
    let overwritten = graph.nodes.iter().flat_map(|node| &node.overwrites).map(|o| o.input);
    let mut read = graph.nodes.iter().flat_map(Node::reads).chain(overwritten);
    let read = read.find(never).map(|value| (value, ValueFault::NeverWritten));
    let fetched = || graph.outputs.iter().copied().find(never);
    match read.or_else(|| fetched().map(|value| (value, ValueFault::OutputNeverWritten))) {
        Some((value, fault)) => Err(GraphError::value(&graph.value(value).name, fault)),
        None => Ok(()),
    }
}
