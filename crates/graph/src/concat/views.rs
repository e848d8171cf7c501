//! Views that could be copies. A view keeps what it is a part of where it is: bytes that nobody needs any
//! more are free, but not for what is larger than the stretch between those that are needed.
//!
//! Cost: linear in the graph, and in the values of one root for each view of it.

use std::collections::BTreeMap;

use plimsoll::ValueId;

use super::choice::Choice;
use crate::graph::{Aliases, Graph, NodeId, topological_order};
use crate::scheduled::LoweringOptions;

/// Outputs that ops make views of something larger, and that could have bytes of their own.
pub(super) fn copyable(
    graph: &Graph,
    aliases: &Aliases,
    lowering: &LoweringOptions,
) -> Vec<Choice> {
    let sized = |value: ValueId| lowering.sizes.contains_key(&graph.value(value).name);
    let bytes = |value: ValueId| graph.value(value).native_size().known();
    let is_part = |value: ValueId| {
        let root = aliases.resolve(value).root;
        let smaller = bytes(value).zip(bytes(root)).is_some_and(|(part, whole)| part < whole);
        let by_op = aliases.view(value).is_some() && graph.value(value).view.is_none();
        by_op && smaller && !graph.value(root).is_given() && !sized(value)
    };
    let outputs = |node: NodeId| {
        let outputs = graph.node(node).outputs.iter().enumerate();
        let parts = outputs.filter(move |(_, value)| value.is_some_and(is_part));
        parts.map(move |(index, _)| Choice::Copy(node, index)).collect::<Vec<_>>()
    };
    let runs = |node: &NodeId| !graph.node(*node).elided;
    graph.node_ids().filter(runs).flat_map(outputs).collect()
}

/// Those of them that are read when something else of what they are a part of is not any more, in the
/// order of the graph; those of the largest first.
pub(super) fn outlasting(
    graph: &Graph,
    aliases: &Aliases,
    lowering: &LoweringOptions,
) -> Vec<Choice> {
    let mut copyable = copyable(graph, aliases, lowering);
    if copyable.is_empty() {
        return copyable;
    }
    let ends = ends(graph, aliases);
    let output = |choice: &Choice| match choice {
        Choice::Copy(node, output) => graph.node(*node).outputs[*output],
        Choice::Elide(_) | Choice::Join(..) | Choice::TakeOver(..) => None,
    };
    let mut of_root: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
    for value in graph.value_ids().filter(|value| ends[value.index()] > 0) {
        of_root.entry(aliases.resolve(value).root).or_default().push(value);
    }
    let outlasts = |value: ValueId| {
        let own = aliases.resolve(value);
        let size = |value: ValueId| graph.value(value).native_size().known().unwrap_or(0);
        let span = own.hull(size(value));
        // When it is over, when what has more than its bytes is, and when the first beside it is.
        let (mut own_end, mut around, mut beside) = (0, 0, None::<usize>);
        for other in of_root.get(&own.root).into_iter().flatten() {
            let (at, end) = (aliases.resolve(*other).hull(size(*other)), ends[other.index()]);
            if span.and(at) == at {
                own_end = own_end.max(end);
            } else if span.meets(at) {
                around = around.max(end);
            } else {
                beside = Some(beside.map_or(end, |first| first.min(end)));
            }
        }
        own_end > around && beside.is_none_or(|first| own_end > first)
    };
    copyable.retain(|choice| output(choice).is_some_and(outlasts));
    let whole = |choice: &Choice| {
        let root = output(choice).map(|value| aliases.resolve(value).root);
        std::cmp::Reverse(root.and_then(|root| graph.value(root).native_size().known()))
    };
    copyable.sort_by_cached_key(whole);
    copyable
}

/// The place of the last node that reads each value, from 1 on; 0 if nobody does. Nodes that only make
/// views read nothing.
fn ends(graph: &Graph, aliases: &Aliases) -> Vec<usize> {
    let mut ends = vec![0; graph.values().len()];
    let order = topological_order(graph);
    for (place, node) in order.iter().enumerate().filter(|(_, n)| !aliases.is_pure_view(**n)) {
        graph.node(*node).reads().for_each(|value| ends[value.index()] = place + 1);
    }
    graph.outputs().iter().for_each(|output| ends[output.index()] = order.len() + 1);
    ends
}
